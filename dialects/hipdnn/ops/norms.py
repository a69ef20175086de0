"""Normalisation over trailing dimensions."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import (
    Form,
    Operand,
    OptionalOperand,
    OptionalResult,
    Result,
    defaulted,
    optional,
)
from hipgraft.dialects.framework.kinds import INT, enum_kind
from hipgraft.dialects.hipdnn.enums import NormFwdPhase
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import broadcast, shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, element_type_of, shape_of


class NormBaseOp(ComputeOp):
    """Common base of layer and RMS normalisation, forward and backward."""

    def check_parameter(self, name: str, value: ir.Value, x: Shape) -> None:
        """Checks that `value`, called `name`, broadcasts to the shape `x`."""
        if broadcast(shape_of(value), x) != x:
            raise self.error(
                f"'{name}' ({shape_text(shape_of(value))}) does not broadcast to 'x' "
                f"({shape_text(x)})"
            )


class NormOp(NormBaseOp):
    """Common base of the forward normalisations."""

    forward_phase = defaulted(
        enum_kind(NormFwdPhase), NormFwdPhase.INFERENCE, "whether statistics are results too"
    )

    def check_phase(self) -> None:
        """Checks that statistics are results only in the training phase."""
        if self.forward_phase == NormFwdPhase.TRAINING:
            return
        for field in self.result_fields[1:]:
            if self.result_values(field):
                raise self.error(f"result '{field.name}' belongs to forward phase TRAINING")


def normalized_dims(x: Shape, scale: Shape) -> list[int]:
    """Returns the dimensions of `x` in which `scale` has an extent of more than 1."""
    aligned = (1,) * (len(x) - len(scale)) + scale
    return [dim for dim, extent in enumerate(aligned) if extent > 1]


def _rms_dims(x: Shape, scale: Shape, inv_rms: Shape | None) -> list[int]:
    """The dimensions of RMS normalisation: from `scale`, or spatial if the statistics are."""
    by_scale, spatial = normalized_dims(x, scale), list(range(2, len(x)))
    is_per_channel = by_scale == [1] and inv_rms == _statistics_shape(x, spatial)
    return spatial if is_per_channel else by_scale


def _statistics_shape(x: Shape, dims: list[int]) -> Shape:
    return tuple(1 if dim in dims else extent for dim, extent in enumerate(x))


class LayernormBaseOp(NormBaseOp):
    """Common base of layer normalisation and its gradient: the normalised dimensions."""

    x: Operand
    scale: Operand
    normalized_dim_count = optional(INT, "number of trailing dimensions that are normalised")

    @property
    def dims(self) -> list[int]:
        """The normalised dimensions of `x`."""
        x, count = shape_of(self.x), self.normalized_dim_count
        if count is None:
            return normalized_dims(x, shape_of(self.scale))
        return list(range(len(x) - count, len(x)))

    def check_dims(self) -> None:
        """Checks the number of normalised dimensions, and that `scale` covers no other dims."""
        x, count = shape_of(self.x), self.normalized_dim_count
        if count is not None and not 1 <= count <= len(x):
            raise self.error(f"expected 'normalized_dim_count' in [1, {len(x)}], but found {count}")
        self.check_parameter("scale", self.scale, x)
        if not set(normalized_dims(x, shape_of(self.scale))) <= set(self.dims):
            raise self.error(
                f"'scale' ({shape_text(shape_of(self.scale))}) reaches beyond the last "
                f"{count} dimensions"
            )


class LayernormOp(LayernormBaseOp, NormOp, mnemonic="layernorm"):
    """Layer normalisation: `y = (x - mean) / sqrt(variance + epsilon) · scale + bias`.

    Mean and variance are taken over the last `normalized_dim_count` dimensions; without that
    attribute over those in which `scale` has an extent of more than 1.
    """

    x = Operand("activations")
    scale = Operand("factor, which broadcasts to `x`")
    bias = Operand("summand, shaped like `scale`")
    epsilon = Operand("summand of the variance", Form.SCALAR)
    y = Result("normalised activations, shaped like `x`")
    mean = OptionalResult("mean, with extent 1 in the normalised dimensions")
    inv_variance = OptionalResult("inverse standard deviation, shaped like `mean`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        x = shape_of(self.x)
        statistics = _statistics_shape(x, self.dims)
        return {"y": x, "mean": statistics, "inv_variance": statistics}

    def verify(self) -> None:  # noqa: D102
        self.check_dims()
        self.check_shape("bias", self.bias, shape_of(self.scale))
        self.check_phase()


class RmsnormOp(NormOp, mnemonic="rmsnorm"):
    """Normalisation by the root mean square: `y = x / sqrt(mean(x²) + epsilon) · scale + bias`.

    The mean is taken over the dimensions in which `scale` has an extent of more than 1. hipDNN
    also has a form with a scale per channel, `[1, C, 1...]`, and statistics per sample and channel:
    with `inv_rms` of shape `[N, C, 1...]` the mean is taken over the spatial dimensions.
    """

    x = Operand("activations")
    scale = Operand("factor, which broadcasts to `x`")
    epsilon = Operand("summand of the mean square", Form.SCALAR)
    bias = OptionalOperand("summand, shaped like `scale`")
    y = Result("normalised activations, shaped like `x`")
    inv_rms = OptionalResult("inverse root mean square, extent 1 in the normalised dimensions")

    @property
    def dims(self) -> list[int]:
        """The normalised dimensions of `x`."""
        # A builder infers types before the results exist.
        inv_rms = self.inv_rms if self.has_results else None
        statistics = None if inv_rms is None else shape_of(inv_rms)
        return _rms_dims(shape_of(self.x), shape_of(self.scale), statistics)

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        x = shape_of(self.x)
        return {"y": x, "inv_rms": _statistics_shape(x, self.dims)}

    def verify(self) -> None:  # noqa: D102
        self.check_parameter("scale", self.scale, shape_of(self.x))
        self.check_shape("bias", self.bias, shape_of(self.scale))
        self.check_phase()


class LayernormBackwardOp(LayernormBaseOp, mnemonic="layernorm_backward"):
    """Gradients of layer normalisation.

    With `z = (x - mean) · inv_variance`, `g = dy · scale` and means over the normalised
    dimensions: `dbias = Σ dy`, `dscale = Σ dy · z` over the dimensions in which `scale` has an
    extent of 1, `dx = inv_variance · (g - mean(g) - z · mean(g · z))`. Absent statistics are
    those of `x`, with `epsilon`.
    """

    dy = Operand("gradient of `y`, shaped like `x`")
    x = Operand("activations")
    scale = Operand("factor, which broadcasts to `x`")
    mean = OptionalOperand("mean, with extent 1 in the normalised dimensions")
    inv_variance = OptionalOperand("inverse standard deviation, shaped like `mean`")
    epsilon = OptionalOperand("summand of the variance, 1e-5 if absent", Form.SCALAR)
    dx = Result("gradient of `x`")
    dscale = Result("gradient of `scale`")
    dbias = Result("gradient of the bias, shaped like `dscale`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        scale = shape_of(self.scale)
        return {"dx": shape_of(self.x), "dscale": scale, "dbias": scale}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        return element_type_of(self.x if result == "dx" else self.scale)

    def verify(self) -> None:  # noqa: D102
        self.check_dims()
        self.check_shape("dy", self.dy, shape_of(self.x))
        statistics = _statistics_shape(shape_of(self.x), self.dims)
        self.check_shape("mean", self.mean, statistics)
        self.check_shape("inv_variance", self.inv_variance, statistics)
        if (self.mean is None) != (self.inv_variance is None):
            raise self.error("expected both or none of 'mean' and 'inv_variance'")


class RmsnormBackwardOp(NormBaseOp, mnemonic="rmsnorm_backward"):
    """Gradients of RMS normalisation.

    With `z = x · inv_rms`, `g = dy · scale` and means over the normalised dimensions, which are
    those of `rmsnorm`: `dbias = Σ dy` and `dscale = Σ dy · z` over the dimensions in which `scale`
    has an extent of 1, `dx = inv_rms · (g - z · mean(g · z))`.
    """

    dy = Operand("gradient of `y`, shaped like `x`")
    x = Operand("activations")
    scale = Operand("factor, which broadcasts to `x`")
    inv_rms = Operand("inverse root mean square, extent 1 in the normalised dimensions")
    dx = Result("gradient of `x`")
    dscale = Result("gradient of `scale`")
    dbias = OptionalResult("gradient of the bias, shaped like `dscale`")

    @property
    def dims(self) -> list[int]:
        """The normalised dimensions of `x`."""
        return _rms_dims(shape_of(self.x), shape_of(self.scale), shape_of(self.inv_rms))

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        scale = shape_of(self.scale)
        return {"dx": shape_of(self.x), "dscale": scale, "dbias": scale}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        return element_type_of(self.x if result == "dx" else self.scale)

    def verify(self) -> None:  # noqa: D102
        x = shape_of(self.x)
        self.check_parameter("scale", self.scale, x)
        self.check_shape("dy", self.dy, x)
        self.check_shape("inv_rms", self.inv_rms, _statistics_shape(x, self.dims))

"""Batch normalisation, with statistics per channel."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import (
    Form,
    Operand,
    OptionalOperand,
    OptionalResult,
    Result,
    VariadicOperand,
)
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, element_type_of, shape_of


class BatchnormBaseOp(ComputeOp):
    """Common base of the batch normalisations: an `x`, and values per channel of it."""

    x: Operand

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        x, channels = self._shapes()
        return {
            field.name: channels if field.form is Form.CHANNEL else x
            for field in self.result_fields
        }

    def verify(self) -> None:  # noqa: D102
        _, channels = self._shapes()
        for field in self.operand_fields:
            for value in self.operand_values(field):
                if field.form is Form.CHANNEL:
                    self.check_shape(field.name, value, channels)

    def _shapes(self) -> tuple[Shape, Shape]:
        x = shape_of(self.x)
        if len(x) < 2:
            raise self.error(f"expected 'x' of rank 2 or more, but found rank {len(x)}")
        return x, (1, x[1], *[1] * (len(x) - 2))


class BatchnormInferenceOp(BatchnormBaseOp, mnemonic="batchnorm_inference"):
    """Batch normalisation by given statistics.

    `y = (x - mean) · inv_variance · scale + bias`, where `inv_variance` is
    `1 / sqrt(variance + epsilon)`.
    """

    x = Operand("activations `[N, C, spatial...]`")
    mean = Operand("mean", Form.CHANNEL)
    inv_variance = Operand("inverse standard deviation", Form.CHANNEL)
    scale = Operand("factor", Form.CHANNEL)
    bias = Operand("summand", Form.CHANNEL)
    y = Result("normalised activations, shaped like `x`")


class BatchnormInferenceVarianceExtOp(BatchnormBaseOp, mnemonic="batchnorm_inference_variance_ext"):
    """Batch normalisation by given statistics, with the variance itself.

    `y = (x - mean) / sqrt(variance + epsilon) · scale + bias`. The form of ONNX and PyTorch.
    """

    x = Operand("activations `[N, C, spatial...]`")
    mean = Operand("mean", Form.CHANNEL)
    variance = Operand("variance", Form.CHANNEL)
    scale = Operand("factor", Form.CHANNEL)
    bias = Operand("summand", Form.CHANNEL)
    epsilon = Operand("summand of the variance", Form.SCALAR)
    y = Result("normalised activations, shaped like `x`")


class BatchnormOp(BatchnormBaseOp, mnemonic="batchnorm"):
    """Batch normalisation by the statistics of the batch, for training.

    `y` uses the biased variance; the running variance the unbiased one. The next running
    statistics are `(1 - momentum) · previous + momentum · current`.
    """

    x = Operand("activations `[N, C, spatial...]`")
    scale = Operand("factor", Form.CHANNEL)
    bias = Operand("summand", Form.CHANNEL)
    epsilon = Operand("summand of the variance", Form.SCALAR)
    prev_running_mean = OptionalOperand("running mean before this batch", Form.CHANNEL)
    prev_running_variance = OptionalOperand("running variance before this batch", Form.CHANNEL)
    momentum = OptionalOperand("weight of this batch in the running statistics", Form.SCALAR)
    peer_stats = VariadicOperand(
        "statistics of other devices; hipDNN does not define their contents"
    )
    y = Result("normalised activations, shaped like `x`")
    mean = OptionalResult("mean of the batch", Form.CHANNEL)
    inv_variance = OptionalResult("inverse standard deviation of the batch", Form.CHANNEL)
    next_running_mean = OptionalResult("running mean after this batch", Form.CHANNEL)
    next_running_variance = OptionalResult("running variance after this batch", Form.CHANNEL)

    def verify(self) -> None:  # noqa: D102
        super().verify()
        running = (self.prev_running_mean, self.prev_running_variance, self.momentum)
        present = [value is not None for value in running]
        if any(present) != all(present):
            raise self.error(
                "expected all or none of 'prev_running_mean', 'prev_running_variance' and "
                "'momentum'"
            )
        updated = self.next_running_mean, self.next_running_variance
        if not any(present) and any(value is not None for value in updated):
            raise self.error("yields running statistics, but takes none")


class BatchnormBackwardOp(BatchnormBaseOp, mnemonic="batchnorm_backward"):
    """Gradients of the training batch normalisation.

    With `z = (x - mean) · inv_variance` and means over the batch and the spatial dimensions:
    `dbias = Σ dy`, `dscale = Σ dy · z`, `dx = scale · inv_variance · (dy - mean(dy) - z ·
    mean(dy · z))`. Absent statistics are those of `x`, with an epsilon of 1e-5.
    """

    dy = Operand("gradient of `y`, shaped like `x`")
    x = Operand("activations `[N, C, spatial...]`")
    scale = Operand("factor", Form.CHANNEL)
    mean = OptionalOperand("mean of the batch", Form.CHANNEL)
    inv_variance = OptionalOperand("inverse standard deviation of the batch", Form.CHANNEL)
    peer_stats = VariadicOperand(
        "statistics of other devices; hipDNN does not define their contents"
    )
    dx = Result("gradient of `x`")
    dscale = Result("gradient of `scale`", Form.CHANNEL)
    dbias = Result("gradient of the bias", Form.CHANNEL)

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        return element_type_of(self.x if result == "dx" else self.scale)

    def verify(self) -> None:  # noqa: D102
        super().verify()
        self.check_shape("dy", self.dy, shape_of(self.x))
        if (self.mean is None) != (self.inv_variance is None):
            raise self.error("expected both or none of 'mean' and 'inv_variance'")

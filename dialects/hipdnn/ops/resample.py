"""Resampling: pooling and interpolation."""

from __future__ import annotations

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.enums import PaddingMode, ResampleMode
from hipgraft.dialects.hipdnn.fields import Operand, OptionalResult, Result, defaulted, required
from hipgraft.dialects.hipdnn.kinds import BOOL, INTS, enum_kind
from hipgraft.dialects.hipdnn.ops.window import WindowOp
from hipgraft.dialects.hipdnn.shapes import shape_of


class ResampleFwdOp(WindowOp, mnemonic="resample_fwd"):
    """Combines the elements of a sliding window, per channel."""

    x = Operand("activations `[N, C, spatial...]`")
    y = Result("resampled activations `[N, C, spatial...]`")
    index = OptionalResult("positions of the maxima, shaped like `y`")
    window = required(INTS, "extent of the window, per spatial dimension")
    resample_mode = required(enum_kind(ResampleMode), "what is computed")
    padding_mode = required(enum_kind(PaddingMode), "what is read outside of `x`")
    generate_index = defaulted(BOOL, False, "whether `index` is a result")

    def infer(self) -> dict[str, list[int]]:  # noqa: D102
        x = shape_of(self.x)
        if len(x) < 3:
            raise self.error(f"expected 'x' of rank 3 or more, but found rank {len(x)}")
        self.check_values("window", self.window, len(x) - 2, 1)
        y = [*x[:2], *self.window_positions(x[2:], self.window)]
        return {"y": y, "index": y}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        i32 = ir.IntegerType.get_signless(32)
        return i32 if result == "index" else super().infer_element_type(result)

    def verify(self) -> None:  # noqa: D102
        if self.generate_index != (self.index is not None):
            raise self.error("expected result 'index' exactly with 'generate_index = true'")
        if self.generate_index and self.resample_mode != ResampleMode.MAXPOOL:
            raise self.error(f"yields no index in mode '{self.resample_mode}'")

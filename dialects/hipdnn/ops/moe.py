"""Matrix products of a mixture of experts: each row of tokens meets one expert's weights."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import Operand, OptionalOperand, Result, defaulted
from hipgraft.dialects.framework.kinds import INT, enum_kind
from hipgraft.dialects.hipdnn.enums import MoeGroupedMatmulMode
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, element_type_of, shape_of


class MoeOp(ComputeOp):
    """Common base of the product and its gradient."""

    token: Operand
    first_token_offset: Operand

    def check_matrix(self, name: str, value: ir.Value) -> Shape:
        """Returns the shape `[1, rows, columns]` of a value, after checking it."""
        shape = self.check_rank(name, value)
        if shape[0] != 1:
            raise self.error(f"expected '{name}' of shape 1xMxN, but found {shape_text(shape)}")
        return shape

    def check_rank(self, name: str, value: ir.Value) -> Shape:
        """Returns the shape of a value, after checking that its rank is 3."""
        shape = shape_of(value)
        if len(shape) != 3:
            raise self.error(f"expected '{name}' of rank 3, but found rank {len(shape)}")
        return shape

    def check_offsets(self, experts: int) -> None:
        """Checks that each expert has an offset per batch."""
        shape = self.check_rank("first_token_offset", self.first_token_offset)
        if shape[1:] != (1, 1) or shape[0] % experts:
            raise self.error(
                f"expected 'first_token_offset' of shape Gx1x1, G a multiple of the {experts} "
                f"experts, but found {shape_text(shape)}"
            )
        self.check_i32("first_token_offset", self.first_token_offset)

    def check_i32(self, name: str, value: ir.Value) -> None:
        """Checks that a value holds `i32`."""
        if element_type_of(value) != ir.IntegerType.get_signless(32):
            raise self.error(f"expected '{name}' to hold i32, but found {element_type_of(value)}")


class MoeGroupedMatmulOp(MoeOp, mnemonic="moe_grouped_matmul"):
    """Multiplies groups of rows with the weights of their expert.

    Group `g` is the routed rows from `first_token_offset[g]` up to the next offset (the last up
    to the end) and meets expert `g mod E`. Routed row `r` is row `r` of `token` and of `output`,
    but in mode `gather` it is row `token_index[r]` of `token`, and in mode `scatter` row
    `token_index[r] · top_k + token_ks[r]` of `output`. Rows of `output` that no group writes are
    0. In mode `scatter` the type of `output` must be given.
    """

    token = Operand("tokens `[1, T, K]`")
    weight = Operand("weights of the experts `[E, K, N]`")
    first_token_offset = Operand("first routed row of each group, `i32`, `[G, 1, 1]`")
    token_index = OptionalOperand("row of each routed row, `i32`, `[1, R, 1]`")
    token_ks = OptionalOperand("which of the `top_k` choices it is, `i32`, `[1, R, 1]`")
    output = Result("products `[1, R, N]`")
    mode = defaulted(
        enum_kind(MoeGroupedMatmulMode), MoeGroupedMatmulMode.NONE, "how rows are routed"
    )
    top_k = defaulted(INT, 0, "experts per token, for `scatter`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        token, weight = self._check_products()
        if self.mode is MoeGroupedMatmulMode.SCATTER:
            return {}
        rows = token[1] if self.token_index is None else shape_of(self.token_index)[1]
        return {"output": (1, rows, weight[2])}

    def verify(self) -> None:  # noqa: D102
        self._check_routing()
        _, weight = self._check_products()
        self.check_offsets(weight[0])
        output = self.check_matrix("output", self.output)
        self.check_shape("output", self.output, [1, output[1], weight[2]])

    def _check_products(self) -> tuple[Shape, Shape]:
        token = self.check_matrix("token", self.token)
        weight = self.check_rank("weight", self.weight)
        if token[2] != weight[1]:
            raise self.error(
                f"columns of 'token' ({token[2]}) differ from rows of 'weight' ({weight[1]})"
            )
        for name, value in (("token_index", self.token_index), ("token_ks", self.token_ks)):
            if value is not None:
                self.check_shape(name, value, [1, self.check_rank(name, value)[1], 1])
                self.check_i32(name, value)
        return token, weight

    def _check_routing(self) -> None:
        mode = self.mode
        scatters = mode is MoeGroupedMatmulMode.SCATTER
        if (self.token_index is None) != (mode is MoeGroupedMatmulMode.NONE):
            raise self.error("expected 'token_index' exactly in modes 'gather' and 'scatter'")
        if (self.token_ks is not None) != scatters:
            raise self.error("expected 'token_ks' exactly in mode 'scatter'")
        if (self.top_k > 0) != scatters:
            raise self.error(
                f"expected 'top_k' of 1 or more in mode 'scatter' and 0 in others, "
                f"but found {self.top_k} in '{mode}'"
            )


class MoeGroupedMatmulBwdOp(MoeOp, mnemonic="moe_grouped_matmul_bwd"):
    """Gradient of `moe_grouped_matmul` in mode `none` with respect to the weights.

    `dweight[e]` is the product of the transposed rows of `token` and the rows of `doutput` from
    `first_token_offset[e]` up to the next offset (the last up to the end).
    """

    doutput = Operand("gradient of the output `[1, R, N]`")
    token = Operand("tokens `[1, R, K]`")
    first_token_offset = Operand("first row of each expert, `i32`, `[E, 1, 1]`")
    dweight = Result("gradient of the weights `[E, K, N]`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        doutput = self.check_matrix("doutput", self.doutput)
        token = self.check_matrix("token", self.token)
        if doutput[1] != token[1]:
            raise self.error(f"rows of 'doutput' ({doutput[1]}) differ from 'token' ({token[1]})")
        experts = self.check_rank("first_token_offset", self.first_token_offset)[0]
        return {"dweight": (experts, token[2], doutput[2])}

    def verify(self) -> None:  # noqa: D102
        self.check_offsets(self.infer()["dweight"][0])

"""Reads the ops of a block as a program to partition."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod

from hipgraft.codegen.chips import Gpu
from hipgraft.codegen.products import Product, products_of
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.tensors import Shape, shape_of
from hipgraft.transforms.dequantization import RIGHT, computes_factor
from hipgraft.transforms.fusion import ELEMENTWISE, NORMS
from hipgraft.transforms.outlining import is_splat
from hipgraft.transforms.partition.kindred import mark_kindred
from hipgraft.transforms.partition.program import FIXED, Facts, Program, Role

# The extents of a contraction's tiles, on a GPU that these keep busy, and else.
_TILE = (64, 64)
_SMALL_TILE = (16, 32)

# The elements of a workgroup that only walks a tensor, as IREE chooses them most often. A workgroup
# has at most as many elements of a long reduction.
_ELEMENTS = 1024
_REDUCED = 8192

# Vector operations per element. Functions count as the instructions of their polynomials.
_OPERATIONS = {"hipdnn.layernorm": 8, "hipdnn.rmsnorm": 6}
_FUNCTION = 20
_CHEAP_MODES = frozenset(
    {"abs", "add", "add_square", "binary_select", "ceil", "cmp_eq", "cmp_ge", "cmp_gt", "cmp_le",
     "cmp_lt", "cmp_neq", "floor", "identity", "logical_and", "logical_not", "logical_or", "max_op",
     "min_op", "mul", "neg", "relu_bwd", "relu_fwd", "sub"}
)  # fmt: skip

_PARAMETERS = ("mode", "normalized_dim_count")


class ProgramReader:
    """Builds programs from blocks, for one GPU.

    Args:
        gpu: GPU whose peak rates determine the time of arithmetic.
        scales: factors of the time by these peaks, by op name without the dialect; `*` is for all
            other ops.
        joins_products: whether products of one left factor may share a kernel.
    """

    def __init__(self, gpu: Gpu, scales: Mapping[str, float], *, joins_products: bool = True):
        self._gpu = gpu
        self._joins_products = joins_products
        self._scales = scales
        self._facts: dict[Hashable, Facts] = {}
        self._sizes: dict[ir.Type, int] = {}

    def read(
        self, units: Sequence[tuple[Sequence[ir.Operation], bool]], returned: Sequence[ir.Value]
    ) -> tuple[Program, list[int]]:
        """Returns the program of a block.

        Args:
            units: ops, or groups of ops that are not to be changed, in a topological order; each
                with whether it may share a graph.
            returned: values that the block's terminator reads.

        Returns:
            The program, and the unit index of each of its ops. Units that read only
            arguments and may not share a graph are left out.
        """
        program = Program()
        numbers: dict[ir.Value, int] = {}
        kept: list[int] = []
        for index, (ops, is_free) in enumerate(units):
            reads: dict[int, None] = {}
            for op in ops:
                for value in op.operands:
                    number = numbers.get(value)
                    if number is None:
                        number = numbers[value] = program.value(self._size(value))
                    reads[number] = None
            if not is_free and all(program.producer[value] < 0 for value in reads):
                for op in ops:
                    for value in op.results:
                        numbers.setdefault(value, program.value(self._size(value)))
                continue
            made = [value for op in ops for value in op.results]
            facts = self._facts_of(ops[0]) if is_free else FIXED
            new = program.op(facts, list(reads), map(self._size, made))
            numbers.update(zip(made, program.made[new], strict=True))
            kept.append(index)
        for value in returned:
            if value in numbers:
                program.exported[numbers[value]] = True
        self._mark_products(program, [units[unit] for unit in kept])
        return program, kept

    def _mark_products(
        self, program: Program, units: Sequence[tuple[Sequence[ir.Operation], bool]]
    ) -> None:
        if self._joins_products:
            free = {op: ops[0] for op, (ops, is_free) in enumerate(units) if is_free}
            mark_kindred(program, free)

    def _size(self, value: ir.Value) -> int:
        """Returns a tensor's bytes in memory; a view's visible bytes; 0 for copied constants."""
        kind = value.type
        size = self._sizes.get(kind)
        if size is None:
            is_tensor = isinstance(kind, ir.RankedTensorType)
            size = (byte_size(kind.shape, kind.element_type) or 0) if is_tensor else 0
            self._sizes[kind] = size
        owner = value.owner
        if isinstance(owner, ir.Block):
            return size
        if owner.name == "hipdnn.view":
            return min(size, self._size(owner.operands[0]))
        return 0 if is_splat(value) else size

    def _facts_of(self, op: ir.Operation) -> Facts:
        attributes = op.attributes
        key = (
            op.name,
            *(attributes.get(name) for name in _PARAMETERS),
            *(value.type for value in op.operands),
            None,
            *(value.type for value in op.results),
            computes_factor(op),
        )
        found = self._facts.get(key)
        if found is None:
            found = self._facts[key] = self._new_facts(op)
        return found

    def _new_facts(self, op: ir.Operation) -> Facts:
        name = op.name.removeprefix("hipdnn.")
        shape = shape_of(op.results[0])
        scale = self._scales.get(name, self._scales.get("*", 1.0))
        vector = self._gpu.peaks["vector"]
        if op.name in ELEMENTWISE:
            mode = op.attributes.get("mode")
            label = mode.value if isinstance(mode, ir.StringAttr) else name
            operations = 1 if label in _CHEAP_MODES else 4 if mode is None else _FUNCTION
            seconds = scale * operations * prod(shape) / vector
            workgroups = -(-prod(shape) // _ELEMENTS)
            return Facts(label, Role.ELEMENTWISE, shape, shape, seconds, workgroups)
        if op.name == "hipdnn.reduction" or op.name in NORMS:
            return self._of_rows(op, name, shape, scale / vector)
        products = products_of(op)
        seconds = sum(one.flops / self._peak(one.element) for one in products)
        seconds = seconds or prod(shape) / vector
        tiles = (self._tiles(one) for one in products)
        workgroups = max(tiles, default=-(-prod(shape) // _ELEMENTS))
        factor: Shape = ()
        if computes_factor(op):
            factor = shape_of(op.operands[RIGHT])
            workgroups = prod(factor[:-2]) * factor[-1]  # one for each column
        return Facts(name, Role.ANCHOR, shape, shape, scale * seconds, workgroups, factor)

    def _of_rows(self, op: ir.Operation, name: str, shape: Shape, second: float) -> Facts:
        """Returns the facts of a reduction or norm, given the seconds of an operation."""
        walked = shape_of(op.operands[0])
        elements = prod(walked)
        is_norm = op.name in NORMS
        dimensions = op.attributes.get("normalized_dim_count") if is_norm else None
        count = dimensions.value if isinstance(dimensions, ir.IntegerAttr) else 1
        rows = prod(walked[: len(walked) - count]) if is_norm else prod(shape)
        # IREE splits long reductions over workgroups, but no norms, which read their rows again.
        workgroups = max(rows, 1 if is_norm else elements // _REDUCED)
        role = Role.NORM if is_norm else Role.REDUCTION
        seconds = second * _OPERATIONS.get(op.name, 1) * elements
        return Facts(name, role, shape, walked, seconds, workgroups)

    def _tiles(self, product: Product) -> int:
        """Returns the number of a product's tiles, which are smaller if they are few."""
        many, few = (
            product.count * prod(-(-product.extents[side] // tile[side]) for side in (0, 1))
            for tile in (_SMALL_TILE, _TILE)
        )
        return min(many, max(few, self._gpu.fewest_tiles))

    def _peak(self, element: str) -> float:
        return self._gpu.peaks.get(element, self._gpu.peaks["vector"])

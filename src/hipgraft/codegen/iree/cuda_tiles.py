"""Sets tile sizes for CUDA where IREE's own choice leaves most of the GPU idle.

IREE 3.13.0 multiplies f32 matrices without shared memory, and it uses 64x64 tiles even if a product
then has fewer tiles than the GPU has multiprocessors. The attribute `compilation_info`, which
IREE's tuning specs also set, overrides that choice. The tile sizes here were the fastest of those
timed on an H200.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.iree.compilation_info import (
    CUDA_OPTIONS,
    compilation_info,
    largest_divisor,
)
from hipgraft.codegen.iree.linalg_loops import extents_of, generics_of, iterators, loops_of, tensor
from hipgraft.codegen.iree.row_tiles import set_rows_of
from hipgraft.codegen.iree.vector_tiles import set_product_of
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds.cuda_products import is_confused, is_partial
from hipgraft.ir.bindings import ir

# Workgroups that keep a GPU busy: an A100 has 108 multiprocessors, an H100 or H200 has 132.
_WORKGROUPS = 80
_MANY_WORKGROUPS = 2 * 132

_WARP = 32
_MATRIX = 16  # extent of K in one matrix instruction
_FEWEST_STEPS = 8  # least step along K; with a shorter one, IREE's own tiles are better
_MOST_STEPS = 32
_FEWEST_ROWS = 8  # IREE lowers products with fewer rows as vectors

_MATRIX_KINDS = {"f16": "NV_MMA_SYNC_F32_16x8x16_F16", "bf16": "NV_MMA_SYNC_F32_16x8x16_BF16"}
_PRODUCT_BODY = ("arith.mulf", "arith.addf", "linalg.yield")


@dataclass(frozen=True)
class _Product:
    """A matrix product in a dispatch.

    Attributes:
        loops: the role of each loop: `b` (batch), `m`, `n` or `k`.
        extents: extent of each loop.
        elements: element types of the factors and the result.
        is_swapped: whether the first factor indexes the later dim of the result.
    """

    loops: str
    extents: tuple[int, ...]
    elements: tuple[str, ...]
    is_swapped: bool

    def extent(self, loop: str) -> int:
        """The product of the extents of all loops in the role `loop`."""
        pairs = zip(self.loops, self.extents, strict=True)
        return math.prod(extent for kind, extent in pairs if kind == loop)

    def workgroups(self, m: int, n: int) -> int:
        """The number of tiles [m, n] in the result, over all batches."""
        return self.extent("b") * -(-self.extent("m") // m) * -(-self.extent("n") // n)

    def sizes(self, **sizes: int) -> str:
        """The text of a list with one number per loop, 0 where none is given."""
        return f"[{', '.join(str(sizes.get(loop, 0)) for loop in self.loops)}]"

    @property
    def step(self) -> int:
        """The largest step along K that divides K and is at most `_MOST_STEPS`.

        If a step pads K, IREE 3.13.0 reads the row after K instead of zeros, and 0 times an unknown
        element may be NaN.
        """
        return largest_divisor(self.extent("k"), _MOST_STEPS)

    def padding(self, m: int, n: int, k: int) -> str:
        """The padding that completes partial tiles, empty if all are whole. `k` must divide K."""
        if self.extent("m") % m == 0 and self.extent("n") % n == 0:
            return ""
        return f"padding = {self.sizes(b=1, m=m, n=n, k=k)}, "


def set_tiles(module: ir.Module, target: Target) -> bool:
    """Sets tile sizes in a module after the phase `flow`; returns whether it set any."""
    with module.context, ir.Location.unknown():
        return sum(_set_tiles(ops, target) for ops in generics_of(module)) > 0


def _set_tiles(ops: Sequence[ir.Operation], target: Target) -> bool:
    if set_product_of(ops, target):
        return True
    products = [(op, product) for op in ops if (product := _product(op)) is not None]
    if not products:
        return set_rows_of(ops, target)
    op, product = products[0]
    info = _tiles(product)
    if not info or len(products) > 1:
        return False
    op.attributes["compilation_info"] = ir.Attribute.parse(info)
    return True


def _tiles(product: _Product) -> str:
    """The compilation info of a product; empty where IREE's own choice is good."""
    is_narrow = product.elements[0] in _MATRIX_KINDS and product.elements[0] == product.elements[1]
    if is_narrow and (is_confused(product.is_swapped) or is_partial(product.extent("k"))):
        return _plain_info(product)
    if min(product.extent("m"), product.extent("n")) < _FEWEST_ROWS:
        return ""
    if is_narrow:
        return _matrix_info(product)
    return _plain_info(product) if product.step >= _FEWEST_STEPS else ""


def _product(op: ir.Operation) -> _Product | None:
    """Returns the product that an op computes, of two matrices or stacks; None for other ops."""
    body = [each.operation.name for each in op.regions[0].blocks[0].operations]
    if tuple(name for name in body if name != "arith.extf") != _PRODUCT_BODY:
        return None
    if len(op.operands) != 3:
        return None
    kinds, extents = iterators(op), extents_of(op)
    a, b, c = loops_of(op)
    loops = "".join(_loop(loop, kinds, a, b) for loop in range(len(kinds)))
    # Any other loop slides a window, as in a convolution.
    if "?" in loops or any(loops.count(kind) != 1 for kind in "mnk"):
        return None
    is_swapped = c.index(loops.index("m")) > c.index(loops.index("n"))
    if is_swapped:
        loops = loops.translate(str.maketrans("mn", "nm"))
    elements = tuple(str(tensor(value).element_type) for value in op.operands)
    if elements[2] != "f32" or not {*elements} <= {"f32", *_MATRIX_KINDS}:
        return None
    sizes = tuple(extents[loop] for loop in range(len(kinds)))
    is_static = ir.ShapedType.get_dynamic_size() not in sizes
    return _Product(loops, sizes, elements, is_swapped) if is_static else None


def _loop(loop: int, kinds: Sequence[str], a: Sequence[int], b: Sequence[int]) -> str:
    if kinds[loop] == "reduction":
        return "k" if loop in a and loop in b else "?"
    if loop in a:
        return "b" if loop in b else "m"
    return "n" if loop in b else "?"


def _matrix_info(product: _Product) -> str:
    """Tile sizes for matrix instructions; empty where IREE's own tiles fill a GPU."""
    if product.workgroups(64, 64) >= _MANY_WORKGROUPS:
        return ""
    is_wide = product.workgroups(32, 64) >= _WORKGROUPS
    m, n, columns, most = (32, 64, 4, 4) if is_wide else (32, 32, 2, 8)
    step = math.gcd(product.extent("k") // _MATRIX, most)
    config = (
        f"convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<{_MATRIX_KINDS[product.elements[0]]}>, "
        f"{product.padding(m, n, _MATRIX * step)}promote_operands = [0, 1], "
        f"reduction = {product.sizes(k=step)}, subgroup = {product.sizes(m=1, n=columns)}, "
        f"workgroup = {product.sizes(b=1, m=m, n=n)}"
    )
    options = f"prefetch_num_stages = 2, {CUDA_OPTIONS}"
    return compilation_info(config, "TileAndFuse", 128, _WARP, options)


def _plain_info(product: _Product) -> str:
    """Tile sizes for scalar arithmetic on operands in shared memory."""
    is_large = product.workgroups(64, 64) >= _MANY_WORKGROUPS
    m, n, rows, columns = (64, 64, 4, 4) if is_large else (32, 32, 2, 2)
    if product.extent("m") <= 16:
        m = 16
    config = (
        f"{product.padding(m, n, product.step)}promote_operands = [0, 1], "
        f"reduction = {product.sizes(k=product.step)}, "
        f"thread = {product.sizes(b=1, m=rows, n=columns)}, "
        f"workgroup = {product.sizes(b=1, m=m, n=n)}"
    )
    threads = (m // rows) * (n // columns)
    return compilation_info(config, "TileAndFuse", threads, _WARP, CUDA_OPTIONS)

"""Tiles for CUDA, where IREE's own choice leaves most of the GPU idle.

IREE 3.13.0 multiplies f32 matrices without shared memory, and takes tiles of 64x64 also where
a product has too few of them for all multiprocessors. Its `compilation_info`, which its tuning
specs set too, decides instead. The tiles are the best of those timed on an H200.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.bindings import ir
from hipgraft.codegen.compilation_info import compilation_info, largest_divisor
from hipgraft.codegen.linalg_loops import extents_of, generics_of, iterators, loops_of, tensor
from hipgraft.codegen.rows import CUDA_OPTIONS, set_rows_of
from hipgraft.codegen.target import Target

# What a GPU has multiprocessors for: 108 of an A100, 132 of an H100 or H200.
_WORKGROUPS = 80
_MANY_WORKGROUPS = 2 * 132

_WARP = 32
_MATRIX = 16  # K of one matrix instruction
_FEWEST_STEPS = 8  # of K at once, for tiles to be better than IREE's own
_MOST_STEPS = 32
_FEWEST_ROWS = 8  # fewer are vectors, for which IREE has other ways

_MATRIX_KINDS = {"f16": "NV_MMA_SYNC_F32_16x8x16_F16", "bf16": "NV_MMA_SYNC_F32_16x8x16_BF16"}
_PRODUCT_BODY = ("arith.mulf", "arith.addf", "linalg.yield")


@dataclass(frozen=True)
class _Product:
    """A matrix product in a dispatch.

    Attributes:
        loops: what each loop is for, of `b` (batch), `m`, `n`, `k`.
        extents: of the loops.
        elements: element types of the factors and the result.
        is_swapped: whether the first factor has the result's later dim.
    """

    loops: str
    extents: tuple[int, ...]
    elements: tuple[str, ...]
    is_swapped: bool

    def extent(self, loop: str) -> int:
        """The product of the extents of such loops."""
        pairs = zip(self.loops, self.extents, strict=True)
        return math.prod(extent for kind, extent in pairs if kind == loop)

    def workgroups(self, m: int, n: int) -> int:
        """How many tiles [m, n] the result has."""
        return self.extent("b") * -(-self.extent("m") // m) * -(-self.extent("n") // n)

    def sizes(self, **sizes: int) -> str:
        """A list with a number for each loop; 0 where none is given."""
        return f"[{', '.join(str(sizes.get(loop, 0)) for loop in self.loops)}]"

    @property
    def step(self) -> int:
        """The most steps of K at once that divide it.

        Where K is padded, IREE 3.13.0 reads a row behind it instead of zeros, and 0 times what lies
        there may be NaN.
        """
        return largest_divisor(self.extent("k"), _MOST_STEPS)

    def padding(self, m: int, n: int, k: int) -> str:
        """What whole tiles need; empty if the product has only such. `k` must divide K."""
        if self.extent("m") % m == 0 and self.extent("n") % n == 0:
            return ""
        return f"padding = {self.sizes(b=1, m=m, n=n, k=k)}, "


def set_tiles(module: ir.Module, target: Target) -> bool:
    """Sets the tiles of dispatches, in a module after the phase `flow`; False if of none."""
    with module.context, ir.Location.unknown():
        return sum(_set_tiles(ops, target) for ops in generics_of(module)) > 0


def _set_tiles(ops: Sequence[ir.Operation], target: Target) -> bool:
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
    """The tiles of a product; empty where IREE's own choice is good."""
    is_narrow = product.elements[0] in _MATRIX_KINDS and product.elements[0] == product.elements[1]
    # IREE's matrix instructions confuse rows and columns of swapped factors, and read beyond K.
    if is_narrow and (product.is_swapped or product.extent("k") % _MATRIX):
        return _plain_info(product)
    if min(product.extent("m"), product.extent("n")) < _FEWEST_ROWS:
        return ""
    if is_narrow:
        return _matrix_info(product)
    return _plain_info(product) if product.step >= _FEWEST_STEPS else ""


def _product(op: ir.Operation) -> _Product | None:
    """Reads a product of two matrices, or stacks of them, into f32; None for other ops."""
    body = [each.operation.name for each in op.regions[0].blocks[0].operations]
    if tuple(name for name in body if name != "arith.extf") != _PRODUCT_BODY:
        return None
    if len(op.operands) != 3:
        return None
    kinds, extents = iterators(op), extents_of(op)
    a, b, c = loops_of(op)
    loops = "".join(_loop(loop, kinds, a, b) for loop in range(len(kinds)))
    # Other loops are windows, as of a convolution.
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
    """Tiles for matrix instructions; empty where IREE's own fill a GPU."""
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
    """Tiles for plain arithmetic, through shared memory."""
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

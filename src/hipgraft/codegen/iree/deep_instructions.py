"""Matrix instructions for which lanes hold contiguous elements along K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.iree.few_filters import matrix_instruction
from hipgraft.codegen.target import Target

SIDE = 16
"""Rows and columns of a matrix instruction's results."""

WIDE = 32
"""The same of the instructions for 8 elements along K."""

_WIDE_LAYOUTS = {"f16": "MFMA_F32_32x32x8_F16", "bf16": "MFMA_F32_32x32x8_BF16"}

FEWEST_PARTS = 2
"""The fewest parts of a sum."""


@dataclass(frozen=True)
class Instruction:
    """A matrix instruction for which lanes hold elements along K.

    Attributes:
        layout: IREE's attribute.
        depth: extent of K.
        repeats: instructions whose elements a lane loads at once; they are contiguous.
    """

    layout: str
    depth: int
    repeats: int = 1

    @property
    def step(self) -> int:
        """Elements along K for which a lane loads its factors at once."""
        return self.depth * self.repeats


def instructions(element: str, target: Target) -> list[Instruction]:
    """Returns the matrix instructions for an element type, the best first."""
    found = matrix_instruction(element, target)
    if found is None or not target.is_gfx9:
        return []
    name, depth = found
    if element == "f32":
        return [Instruction(f"mma_layout<{name}>", depth, repeats) for repeats in (4, 2)]
    if depth < SIDE:  # bf16 of CDNA 1 and 2, whose kernels would spill
        return []
    kind, known = element.upper(), [Instruction(f"mma_layout<{name}>", depth)]
    if target.name == "gfx950":
        known.insert(0, Instruction(f"mma_layout<MFMA_F32_16x16x32_{kind}>", 32))
    elif element == "f16":
        known.insert(0, Instruction("virtual_mma_layout<VMFMA_F32_16x16x32_F16>", 32))
    return known


def wide_instructions(element: str, target: Target) -> list[Instruction]:
    """Returns the instructions of half the depth, and of twice the rows and columns."""
    if element not in _WIDE_LAYOUTS or not target.is_gfx9 or not instructions(element, target):
        return []
    return [Instruction(f"mma_layout<{_WIDE_LAYOUTS[element]}>", SIDE // 2)]


def divided(
    choices: Sequence[Instruction], depth: int, most: int, fewest: int = FEWEST_PARTS
) -> tuple[Instruction, int] | None:
    """Returns a matrix instruction, and into how many parts, at most `most`, its sums are split.

    More elements that a lane loads at once are worth up to half of the parts.
    """
    found = [
        (one, parts)
        for one in choices
        for parts in range(most, fewest - 1, -1)
        if depth % (parts * one.step) == 0
    ]
    enough = [pair for pair in found if 2 * pair[1] >= most]
    return next(iter(enough or sorted(found, key=lambda pair: -pair[1])), None)

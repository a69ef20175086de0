"""Compares the estimated time of products and convolutions with that of IREE's own tiles.

    python benchmarks/matrix_tiles.py [--targets gfx942,gfx1100] [--match conv]

Prints the estimated microseconds with hipgraft's tiles, with IREE's, and the ratio. Both are
compiled from the same graph in the same run. Exits with 1 if a case takes longer.
"""

from __future__ import annotations

import argparse
import sys

from alternatives import Case, container, convolution, product

from hipgraft.codegen import provider
from hipgraft.codegen.plan import DEFAULT_PLAN
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context
from hipgraft.service.tuning.estimated import EstimatedCostModel
from hipgraft.service.tuning.plans import Choices

CASES = [
    product(128, 768, 768, "f16"),
    product(197, 768, 768, "f16"),
    product(128, 768, 768, "f32"),
    product(197, 3072, 768, "f16"),
    product(128, 768, 3072, "f16"),
    product(128, 768, 3072, "f32"),
    product(49, 512, 2048, "f32"),
    product(1024, 1024, 1024, "f16"),
    product(4096, 4096, 4096, "f16"),
    convolution(64, 56, 64, 3, 1, "f16"),
    convolution(128, 28, 128, 3, 1, "f16"),
    convolution(64, 28, 64, 3, 1, "f32"),
    convolution(64, 224, 3, 3, 1, "f16"),
]


def microseconds(case: Case, target: Target, *, is_corrected: bool) -> float:
    """Returns the estimated time of a case's kernels."""
    correct = provider.correct_tiles
    if not is_corrected:
        provider.correct_tiles = lambda *_: False
    try:
        with make_context(), ir.Location.unknown():
            module = ir.Module.create()
            choices = Choices(container(module, case), target)
            text = choices.lower(DEFAULT_PLAN)
            kernel = provider.compile_text(text, target, target.default_flags)
            return EstimatedCostModel().cost(kernel, choices.work()).metrics["microseconds"]
    finally:
        provider.correct_tiles = correct


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default="gfx942,gfx1100")
    parser.add_argument("--match", default="")
    arguments = parser.parse_args()
    worst = 0.0
    print("| case | target | us | IREE's tiles | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for name in arguments.targets.split(","):
        target = Target.parse(name)
        for case in CASES:
            if arguments.match not in case.name:
                continue
            if target.is_rdna and case.element not in target.matrix_elements:
                continue
            ours, theirs = (microseconds(case, target, is_corrected=each) for each in (True, False))
            worst = max(worst, ours / theirs)
            row = f"{ours:.3g} | {theirs:.3g} | {ours / theirs:.2f}"
            print(f"| {case.name} | {name} | {row} |", flush=True)
    return int(worst > 1.01)


if __name__ == "__main__":
    sys.exit(main())

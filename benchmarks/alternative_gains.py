"""Compares each alternative's estimated time and wave instructions with the default lowering's.

    python benchmarks/alternative_gains.py [--target gfx942]
        [--match split]

Each alternative is measured on one shape of a published model. An alternative that never gains
should be removed.
"""

from __future__ import annotations

import argparse
from typing import Any

from alternatives import Case, measure, product, tensor

from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.service.tuning.search import open_cost_models


def convolution(c: int, size: int, k: int, window: int, stride: int = 1, groups: int = 1) -> Case:
    pad, out = window // 2, (size + 2 * (window // 2) - window) // stride + 1
    result = (1, k, out, out)

    def build(x: Any, w: Any) -> ir.Value:
        sliding = {"stride": [stride] * 2, "dilation": [1, 1]}
        padding = {"pre_padding": [pad] * 2, "post_padding": [pad] * 2}
        return hipdnn.conv_fprop(x, w, **sliding, **padding, result_type=tensor(result, "f16"))

    name = f"conv {c}x{size}x{size} to {k}, {window}x{window} by {stride}, {groups} groups"
    operands = [(1, c, size, size), (k, c // groups, window, window)]
    return Case(name, "f16", operands, result, build)


def gradient(images: int, c: int, size: int, k: int, stride: int) -> Case:
    """Returns the gradient of 3x3 filters."""
    sliding = {"stride": [stride] * 2, "dilation": [1, 1]}
    padding = {"pre_padding": [1, 1], "post_padding": [1, 1]}
    out, result = (size - 1) // stride + 1, (k, c, 3, 3)

    def build(x: Any, dy: Any) -> ir.Value:
        return hipdnn.conv_wgrad(x, dy, **sliding, **padding, result_type=tensor(result, "f16"))

    name = f"gradient of {images}x{c}x{size}x{size} to {k} by {stride}"
    return Case(name, "f16", [(images, c, size, size), (images, k, out, out)], result, build)


def reduction(mode: str, length: int) -> Case:
    def build(x: Any) -> ir.Value:
        return hipdnn.reduction(x, mode=mode, result_type=tensor((1, 1), "f16"))

    return Case(f"{mode} of {length}", "f16", [(1, length)], (1, 1), build)


CASES = {
    "hipdnn.conv_fprop=matmul": convolution(256, 65, 21, 1),
    "hipdnn.conv_fprop=channels-last": convolution(3, 224, 64, 7, 2),
    "hipdnn.conv_fprop=materialized-channels-last": convolution(64, 56, 64, 3),
    "hipdnn.conv_fprop=split-k": convolution(512, 7, 2048, 1),
    "hipdnn.conv_fprop=padded-channels": convolution(24, 56, 144, 1),
    "hipdnn.conv_fprop=merged-groups": convolution(256, 28, 256, 3, groups=32),
    "hipdnn.conv_wgrad=batch-last": gradient(4, 64, 28, 128, 2),
    "hipdnn.matmul=padded-rows": product(2, 1280, 320, "f16"),
    "hipdnn.matmul=split-k": product(64, 8192, 64, "f16"),
    "hipdnn.matmul=swapped": product(128, 3072, 768, "f16"),
    "hipdnn.matmul=materialized-widening": product(128, 3072, 768, "f8E4M3FN"),
    "hipdnn.reduction=padded": reduction("MAX", 50257),
    "hipdnn.reduction=split": reduction("ADD", 1000000),
    "flags=materialized-padding": convolution(320, 64, 320, 3),
    "flags=whole-reductions": product(64, 8192, 64, "f16"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--match", default="")
    arguments = parser.parse_args()
    (cost_model,) = open_cost_models(["estimated"])
    for name, case in CASES.items():
        if arguments.match not in name:
            continue
        costs = measure(case, Target.parse(arguments.target), cost_model, False)
        chosen = min(
            (cost for plan, cost in costs.items() if plan.startswith(name)),
            key=lambda cost: cost.metrics["microseconds"],
        )
        best = min(costs, key=lambda plan: costs[plan].metrics["microseconds"])
        pair = (costs["default"].metrics, chosen.metrics)
        times, counts = (
            " ".join(f"{each[name]:{form}}" for each in pair)
            for name, form in (("microseconds", "7.4g"), ("instructions", ".2e"))
        )
        print(f"{name:44} {case.name:46} us {times} instructions {counts} best {best}", flush=True)


if __name__ == "__main__":
    main()

"""Each fault that is worked around still shows in the compiler, and does not with the workaround.

A test of `FAULTS` that fails with "remove me" means that the compiler no longer has the fault.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import ml_dtypes
import numpy as np
from lowering_cases import Case, run_case, tensor_type
from test_lowering_block_scale import cast_case, rounding_case
from test_lowering_contractions import conv_case, gradient_cases, matmul_case
from test_lowering_gradients import CASES as GRADIENTS

from hipgraft.codegen.workarounds import without, workarounds
from hipgraft.dialects import hipdnn
from hipgraft.ir.diagnostics import HipgraftError

ELSEWHERE = {
    "extract-of-slice": "test_extract_of_slice.py",
    "narrow-floats": "test_cpu_code.py",
}
"""Faults with tests of their own."""

UNTESTED = {
    "cuda-partial-depth": "needs a CUDA GPU",
    "cuda-swapped-factors": "needs a CUDA GPU",
}
"""Faults that only show on hardware."""

random = np.random.default_rng(15)


def named(cases: list[Case], name: str) -> Case:
    return next(case for case in cases if case.name == name)


def third_order() -> Case:
    """Filters stored as [K, H, C, W]."""
    case = conv_case("third_order", (1, 8, 9, 9), (16, 8, 3, 3))
    x, w = case.inputs
    strides = [(8 * 81, 81, 9, 1), (72, 3, 24, 1)]
    stored = np.ascontiguousarray(w.transpose(0, 2, 1, 3))
    shapes = [x.shape, w.shape]
    return replace(case, inputs=[x, stored], shapes=shapes, layouts={"arg_strides": strides})


def rows_with_gaps() -> Case:
    """Activations that are the first 16 columns of a wider buffer."""
    case = conv_case("gaps", (1, 16, 14, 14), (32, 16, 1, 1), "f16", stride=[2, 2])
    x, w = case.inputs
    wide = np.full((1, 16, 14, 20), 9, x.dtype)
    wide[..., :14] = x
    strides = [(16 * 280, 280, 20, 1), (16, 1, 1, 1)]
    return replace(
        case, inputs=[wide, w], shapes=[x.shape, w.shape], layouts={"arg_strides": strides}
    )


def broadcast_columns() -> Case:
    """A sum over columns that are all the same element of memory."""
    x = random.uniform(-1, 1, (4,)).astype(np.float32)

    def build(argument):
        return hipdnn.reduction(argument, "ADD", result_type=tensor_type([4, 1], "f32"))

    layouts = {"arg_strides": [(1, 0)]}
    expected = [8 * x.astype(np.float64).reshape(4, 1)]
    return Case(
        "broadcast", [x], build, expected, ["f32"], 1e-5, 1e-5, shapes=[(4, 8)], layouts=layouts
    )


def integers_of_bytes() -> Case:
    x = np.array([-3, 0, 1, 7, 12, 96], ml_dtypes.float8_e4m3fn)
    return cast_case("integers", x, "i32")


def sum_of_many() -> Case:
    values = [random.uniform(-1, 1, (64,)).astype(np.float32) for _ in range(40)]

    def build(*arguments):
        total = arguments[0]
        for value in arguments[1:]:
            total = hipdnn.pointwise([total, value], "add", result_type=tensor_type([64], "f32"))
        return total

    return Case("sum_of_many", values, build, [np.sum(values, 0, np.float64)], ["f32"], 1e-4, 1e-4)


FAULTS: dict[str, tuple[str, Callable[[], Case]]] = {
    "batched-rows": ("gfx942", lambda: matmul_case("rows", (2, 3, 6, 24), (2, 3, 24, 5))),
    "broadcast-reduction": ("gfx942", broadcast_columns),
    "broadcast-scale": ("cpu", lambda: named(GRADIENTS, "ln_beyond_scale_gradient_f32")),
    "few-filters": (
        "gfx942",
        lambda: conv_case("few", (1, 64, 14, 14), (8, 64, 3, 3), "f16", pre=[1, 1]),
    ),
    "filter-order": ("gfx942", third_order),
    "grouped-unit-window": ("gfx942", lambda: conv_case("grouped", (2, 8, 9), (6, 4, 1))),
    "many-operands": ("gfx942", sum_of_many),
    "one-channel-dilation": (
        "gfx942",
        lambda: conv_case("dilated", (1, 1, 16, 16), (16, 1, 3, 3), "f16", dilation=[2, 2]),
    ),
    "operand-gaps": ("gfx1100", rows_with_gaps),
    "padding-taps": (
        "gfx942",
        lambda: conv_case("taps", (1, 8, 1, 1), (6, 8, 3, 3), pre=[1, 1]),
    ),
    "single-window": ("cpu", lambda: conv_case("one", (1, 4, 7, 7), (6, 4, 3, 3), stride=[5, 5])),
    "small-float-rounding": ("cpu", lambda: rounding_case("f4E2M1FN")),
    "small-float-to-integer": ("cpu", integers_of_bytes),
    "transposed-depth": (
        "gfx1100",
        lambda: matmul_case("depth", (3, 6, 9), (3, 9, 6), "f16", transposed="a"),
    ),
    "weight-gradient": (
        "gfx942",
        lambda: gradient_cases(
            "long", (8, 4, 33, 33), (6, 4, 3, 3), pre=[1, 1], stride=[1, 1], dilation=[1, 1]
        )[1],
    ),
}


def ends_well(name: str) -> bool:
    target, case = FAULTS[name]
    try:
        made = replace(case(), target=target)
        made.check(run_case(made))
    except (AssertionError, HipgraftError) as e:
        print(type(e), str(e)[:300])
        return False
    return True


if __name__ == "__main__":
    W = {w.name: w for w in workarounds()}
    for n in sys.argv[1:]:
        import os

        for off in (True, False):
            pid = os.fork()
            if pid == 0:
                try:
                    if off:
                        with without(W[n]):
                            r = ends_well(n)
                    else:
                        r = ends_well(n)
                    print(n, "off" if off else "on", r, flush=True)
                except BaseException as e:
                    print(n, "EXC", type(e), e, flush=True)
                os._exit(0)
            _, st = os.waitpid(pid, 0)
            if st:
                print(n, "off" if off else "on", "STATUS", st, flush=True)

"""Compiles functions of PyTorch that `torch.export` exports, and compares their results.

    python benchmarks/torch_ops.py [REGEX] [--dynamic] [--element {f16,bf16}]
                                   [--device emulator:gfx942]

Elementwise and row-wise functions get NaN, infinities, zeros of either sign, and large and small
numbers; other functions get the operands of convolutions, pooling, padding and indexing. PyTorch
computes the expected results; for f16 and bf16, it also computes them in f32. A function that
hipgraft refuses counts as right. Needs `hipgraft[torch]`. The status is 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor
from torch_forms import MORE_FORMS
from torch_functions import BINARY, FORMS, INF, LARGE, ROWS, SMALL, SPECIAL, UNARY

import hipgraft.torch
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnx_backend.cases import OUTCOMES, Outcome, run_contained
from hipgraft.service import CompileService, InProcess, use_service

ELEMENTS = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
TOLERANCES = {"f32": 2e-4, "f16": 1e-2, "bf16": 6e-2}


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *operands: Tensor) -> Any:
        return self.function(*operands)


def functions() -> Iterator[tuple[str, Callable[..., Any], list[tuple[Tensor, ...]]]]:
    """Yields each function with its name and the operands of its calls."""
    for name, function in UNARY.items():
        yield name, function, [(SPECIAL,), (LARGE,), (SMALL,)]
    pairs = [torch.stack([one, one.flip(0)]) for one in (SPECIAL, LARGE, SMALL)]
    for name, function in BINARY.items():
        yield name, function, [(a, b.clone()) for a in pairs for b in pairs]
    infinite = torch.stack([SPECIAL.nan_to_num(1, INF, -INF), torch.full((8,), -INF)])
    for name, function in ROWS.items():
        yield f"rows_{name}", partial(function, dim=-1), [(one,) for one in (*pairs, infinite)]
    for name, (function, operands) in (FORMS | MORE_FORMS).items():
        yield name, function, [operands]


def check(
    function: Callable[..., Any],
    calls: Sequence[tuple[Tensor, ...]],
    element: str,
    device: str,
    *,
    dynamic: bool,
) -> Outcome:
    """Compiles a function for its first operands, and compares all calls."""
    narrow = [tuple(_converted(one, element) for one in operands) for operands in calls]
    shapes: Any = None
    if dynamic:
        ends = [
            {0: torch.export.Dim.AUTO, one.ndim - 1: torch.export.Dim.AUTO} for one in narrow[0]
        ]
        shapes = {"operands": tuple(ends)}
    try:
        exported = torch.export.export(
            _Function(function), narrow[0], dynamic_shapes=shapes, strict=False
        )
        expected = [_listed(function(*operands)) for operands in narrow]
    except Exception as error:  # PyTorch has no such function of this type
        return Outcome("refused", f"not exported: {error}")
    try:
        with CompileService(InProcess()) as service, use_service(service):
            program = hipgraft.torch.compile(exported, target=device.rpartition(":")[2])
        results = [program.run([_array(one) for one in operands], device) for operands in narrow]
    except HipgraftError as error:
        return Outcome("refused", error.message)
    except Exception as error:  # any other exception is a bug
        return Outcome("traceback", repr(error))
    for operands, found, wanted in zip(narrow, results, expected, strict=True):
        exact = wanted if element == "f32" else _listed(function(*map(_widened, operands)))
        for result, one, other in zip(found, wanted, exact, strict=True):
            reason = _difference(np.asarray(result), one, other, TOLERANCES[element])
            if reason:
                return Outcome("wrong", reason)
    return Outcome("pass")


def _difference(found: np.ndarray, wanted: Tensor, exact: Tensor, tolerance: float) -> str:
    """Describes a result that equals neither PyTorch's nor PyTorch's in f32."""
    if found.dtype != _array(wanted).dtype or found.shape != tuple(wanted.shape):
        return f"{found.dtype}{list(found.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    values = found.astype(np.float64)
    far = np.ones(values.shape, np.bool_)
    for one in (wanted, exact):
        array = one.detach().to(torch.float64).numpy()
        scale = np.abs(array[np.isfinite(array)]).max(initial=1e-3)
        far &= ~np.isclose(values, array, tolerance, tolerance * scale, equal_nan=True)
    if not far.any():
        return ""
    first = tuple(np.argwhere(far)[0].tolist())
    return f"{far.sum()} of {far.size}: {values[first]} instead of {wanted[first]} at {list(first)}"


def _converted(x: Tensor, element: str) -> Tensor:
    return x.to(ELEMENTS[element]) if x.dtype == torch.float32 else x.contiguous()


def _widened(x: Tensor) -> Tensor:
    return x.float() if x.is_floating_point() else x


def _listed(results: Any) -> list[Tensor]:
    return list(results) if isinstance(results, list | tuple) else [results]


def _array(x: Tensor) -> np.ndarray:
    x = x.detach()
    return (
        x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        if x.dtype == torch.bfloat16
        else x.numpy()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="", help="only functions whose name matches")
    parser.add_argument("--dynamic", action="store_true", help="make extents symbolic")
    parser.add_argument("--element", choices=ELEMENTS, default="f32", help="type of the floats")
    parser.add_argument("--device", default="cpu", help="or emulator:ARCHITECTURE")
    parser.add_argument("-j", type=int, default=2, help="functions at a time")
    parser.add_argument("--refused", action="store_true", help="print what is refused, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    jobs = (
        (name, partial(check, one, calls, options.element, options.device, dynamic=options.dynamic))
        for name, one, calls in functions()
        if re.search(options.pattern, name)
    )
    for name, outcome in run_contained(jobs, workers=options.j):
        counts[outcome.kind] += 1
        if outcome.kind in OUTCOMES[2:] or (options.refused and outcome.kind == "refused"):
            print(f"{outcome.kind}: {name}: {outcome.detail.splitlines()[0]}", flush=True)
    print(", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES))
    return int(any(counts[kind] for kind in OUTCOMES[2:]))


if __name__ == "__main__":
    sys.exit(main())

"""NaN in rows that are sorted or searched for extremes, against NumPy's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hipgraft
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.nan_order import NAN_ORDER
from hipgraft.service import CompileService, InProcess, use_service

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]

INF, NAN = np.inf, np.nan
ROWS = np.array(
    [
        [INF, 1, NAN, -INF, NAN, 2, 1],
        [NAN, -INF, 0, -3, INF, 0, 0],
        [-INF, 5, 4, -INF, 5, INF, NAN],
        [3, 1, 2, 3, 1, -1, -1],
        [NAN] * 7,
        [-INF] * 7,
    ],
    np.float32,
)
COUNT = ROWS.shape[1]

TENSOR = "!torch.vtensor<[{rows},{columns}],{element}>"
OPS: dict[str, tuple[str, tuple[str, ...], list[Array]]] = {
    "argmax": ("argmax(%x, %dim, %no)", ("1:si64",), [ROWS.argmax(1)]),
    "argmin": ("argmin(%x, %dim, %no)", ("1:si64",), [ROWS.argmin(1)]),
    "max": ("max.dim(%x, %dim, %no)", ("1:f32", "1:si64"), [ROWS.max(1), ROWS.argmax(1)]),
    "min": ("min.dim(%x, %dim, %yes)", ("1:f32", "1:si64"), [ROWS.min(1), ROWS.argmin(1)]),
    "sort": (
        "sort(%x, %dim, %no)", ("f32", "si64"), [np.sort(ROWS, 1), ROWS.argsort(1, kind="stable")]
    ),
    "sort_down": (
        "sort(%x, %dim, %yes)",
        ("f32", "si64"),
        [np.sort(ROWS, 1)[:, ::-1], (COUNT - 1 - ROWS[:, ::-1].argsort(1, kind="stable"))[:, ::-1]],
    ),
    "sort_stable": (
        "sort.stable(%x, %yes, %dim, %no)",
        ("f32", "si64"),
        [np.sort(ROWS, 1), ROWS.argsort(1, kind="stable")],
    ),
}  # fmt: skip
STATIC: dict[str, tuple[str, tuple[str, ...], list[Array]]] = {
    "kthvalue": ("kthvalue(%x, %dim, %one, %no)", ("1:f32",), [np.sort(ROWS, 1)[:, 0]]),
    "median": (
        "median.dim(%x, %dim, %yes)",
        ("1:f32",),
        [np.where(np.isnan(ROWS).any(1), NAN, np.sort(ROWS, 1)[:, COUNT // 2])],
    ),
    "median_of_all": ("median(%x)", (":f32",), [np.array(NAN)]),
}
ALL = OPS | STATIC
"""The ATen op, the types of its results, and what these are."""


def written(name: str, rows: int | str) -> str:
    """A function of one op."""
    call, kinds, _ = ALL[name]
    x = TENSOR.format(rows=rows, columns=COUNT, element="f32")
    results: list[str] = []
    for kind in kinds:
        form, _, element = kind.rpartition(":")
        keeps = "%yes" in call and form
        shape = {"": f"{rows},{COUNT}", "1": f"{rows},1" if keeps else f"{rows}"}[form]
        shape = "" if kind.startswith(":") else shape
        results.append(f"!torch.vtensor<[{shape}],{element}>")
    function, _, operands = call.rstrip(")").partition("(")
    types = [x if one == "%x" else TYPES[one] for one in operands.split(", ")]
    values = ", ".join(f"%r#{index}" for index in range(len(kinds)))
    known = function in ("sort", "argmax", "argmin", "max.dim", "min.dim")
    op = f'"torch.aten.{function}"' if known else f'torch.operator "torch.aten.{function}"'
    both = f"({', '.join(results)})"
    return f"""
        func.func @main(%x: {x}) -> {both} {{
          %dim = torch.constant.int 1
          %one = torch.constant.int 1
          %no = torch.constant.bool false
          %yes = torch.constant.bool true
          %r:{len(kinds)} = {op}({operands}) : ({", ".join(types)}) -> {both}
          return {values} : {", ".join(results)}
        }}
    """


TYPES = {"%dim": "!torch.int", "%one": "!torch.int", "%no": "!torch.bool", "%yes": "!torch.bool"}


def computed(path: Path, name: str, rows: int | str, device: str = "cpu") -> list[Array]:
    path.write_text(written(name, rows))
    return hipgraft.compile(path, device.rpartition(":")[2]).run([ROWS], device)


def check(found: list[Array], name: str) -> None:
    for one, expected in zip(found, ALL[name][2], strict=False):
        np.testing.assert_array_equal(one, expected.astype(one.dtype).reshape(one.shape))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ALL)
def test_on_the_cpu(tmp_path: Path, name: str):
    check(computed(tmp_path / "m.mlir", name, len(ROWS)), name)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", OPS)
def test_dynamic_rows(tmp_path: Path, name: str):
    check(computed(tmp_path / "m.mlir", name, "?"), name)


@pytest.mark.parametrize("device", ["emulator:gfx942", "emulator:gfx1100"])
@pytest.mark.parametrize("name", OPS)
@pytest.mark.sampled(6)
def test_on_gpus(tmp_path: Path, name: str, device: str):
    check(computed(tmp_path / "m.mlir", name, len(ROWS), device), name)


@pytest.mark.own_service
@pytest.mark.parametrize("name", ["argmax", "min", "sort"])
def test_the_compiler_has_the_fault(tmp_path: Path, name: str):
    with without(NAN_ORDER), CompileService(InProcess()) as service, use_service(service):
        found = computed(tmp_path / "m.mlir", name, "?")
    is_right = np.array_equal(found[-1], ALL[name][2][-1].reshape(found[-1].shape))
    assert not is_right, "the fault is gone: remove the workaround"

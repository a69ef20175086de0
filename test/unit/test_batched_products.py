"""Merges products of one matrix into one, and compares the results with NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from programs import run_passes

from hipgraft import runtime
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime.devices import open_device

Array = np.ndarray[Any, Any]
DEPTH = 12
PIPELINE = (
    "builtin.module(hipdnn-outline,hipdnn-outline-fallback,"
    "hipdnn-compile{target=cpu},hipdnn-bufferize)"
)


def constant(name: str, values: Array) -> str:
    extents = "".join(f"{extent}x" for extent in values.shape)
    raw = values.astype(np.float32).tobytes().hex().upper()
    return f'%{name} = arith.constant dense<"0x{raw}"> : tensor<{extents}f32>'


def program(rows: int, members: list[tuple[Array, Array | None, bool]]) -> str:
    """Products of `%x` with constants, some of them transposed, each read as two heads."""
    lines: list[str] = []
    kinds: list[str] = []
    for number, (w, bias, is_transposed) in enumerate(members):
        columns = w.shape[1]
        plain, product = f"tensor<{DEPTH}x{columns}xf32>", f"tensor<{rows}x{columns}xf32>"
        right = f"%w{number}"
        lines.append(constant(f"w{number}", w.T if is_transposed else w))
        if is_transposed:
            right = f"%t{number}"
            lines.append(
                f'{right} = "hipdnn.view"(%w{number}) {{offset = 0 : i64, '
                f"strides = array<i64: 1, {DEPTH}>}} : (tensor<{columns}x{DEPTH}xf32>) -> {plain}"
            )
        last = f"%p{number}"
        lines.append(
            f'{last} = "hipdnn.matmul"(%x, {right}) : '
            f"(tensor<{rows}x{DEPTH}xf32>, {plain}) -> {product}"
        )
        if bias is not None:
            lines.append(constant(f"b{number}", bias[None]))
            last = f"%s{number}"
            lines.append(
                f'{last} = "hipdnn.pointwise"(%p{number}, %b{number}) {{mode = "add"}} : '
                f"({product}, tensor<1x{columns}xf32>) -> {product}"
            )
        half = columns // 2
        kinds.append(f"tensor<2x{rows}x{half}xf32>")
        lines.append(
            f'%v{number} = "hipdnn.view"({last}) {{offset = 0 : i64, '
            f"strides = array<i64: {half}, {columns}, 1>}} : ({product}) -> {kinds[-1]}"
        )
        lines.append(
            f'%r{number} = "hipdnn.pointwise"(%v{number}) {{mode = "neg"}} : '
            f"({kinds[-1]}) -> {kinds[-1]}"
        )
    names = ", ".join(f"%r{number}" for number in range(len(members)))
    body, types = "\n".join(lines), ", ".join(kinds)
    return (
        f"func.func @main(%x: tensor<{rows}x{DEPTH}xf32>) -> ({types}) {{\n{body}\n"
        f"return {names} : {types}\n}}"
    )


CASES = [
    # rows, columns of each, which have a bias, which are transposed, products afterwards
    (5, [8, 8, 8], "111", "000", 1),
    (5, [8, 8, 8], "101", "010", 1),
    (7, [8, 4, 4], "000", "001", 2),
    (1, [8, 4, 4], "110", "100", 1),
    (1, [8], "1", "0", 1),
    (16, [8, 8], "11", "00", 2),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("rows", "columns", "biases", "transposed", "products"), CASES)
def test_products(rows: int, columns: list[int], biases: str, transposed: str, products: int):
    random = np.random.default_rng(rows)
    members = [
        (
            random.normal(size=(DEPTH, count)),
            random.normal(size=count) if bias == "1" else None,
            turned == "1",
        )
        for count, bias, turned in zip(columns, biases, transposed, strict=True)
    ]
    x = random.normal(size=(rows, DEPTH)).astype(np.float32)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(program(rows, members))
        run_passes(module, "hipdnn-batch-products")
        assert str(module).count("hipdnn.matmul") == products
        Runner(keep_reproducer=False).run(module, PIPELINE)
        results = runtime.run_module(module, [x], open_device("cpu"))
    check(results, members, x)


def test_a_product_that_is_also_read_without_its_bias() -> None:
    random = np.random.default_rng(5)
    members = [(random.normal(size=(DEPTH, 8)), random.normal(size=8), False) for _ in range(3)]
    x = random.normal(size=(5, DEPTH)).astype(np.float32)
    kind = "tensor<5x8xf32>"
    # The list of uses begins with the last one, the sum.
    added = f'%a = "hipdnn.pointwise"(%p0) {{mode = "abs"}} : ({kind}) -> {kind}\n%s0 = '
    text = program(5, members).replace(") {\n", f", {kind}) {{\n", 1).replace("%s0 = ", added)
    text = text.replace("%r2 :", "%r2, %a :").removesuffix("\n}") + f", {kind}\n}}"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_passes(module, "hipdnn-batch-products")
        assert f"tensor<3x{DEPTH}x8xf32>" not in str(module)  # it would be computed twice
        Runner(keep_reproducer=False).run(module, PIPELINE)
        *results, plain = runtime.run_module(module, [x], open_device("cpu"))
    check(results, members, x)
    expected = np.abs(x.astype(np.float64) @ members[0][0])
    np.testing.assert_allclose(plain, expected, rtol=1e-5, atol=1e-5)


def check(results: Sequence[Array], members: Sequence[tuple[Any, ...]], x: Array) -> None:
    for result, (w, bias, _) in zip(results, members, strict=True):
        expected = x.astype(np.float64) @ w + (0 if bias is None else bias)
        heads = expected.reshape(len(x), 2, -1).transpose(1, 0, 2)
        np.testing.assert_allclose(result, -heads, rtol=1e-5, atol=1e-5)

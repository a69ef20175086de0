"""The work of an op's matrix products, against multiplications counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hipgraft.codegen.products import Product, op_flops, products_of
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context

WINDOW: dict[str, Any] = {
    "pre_padding": [1, 1],
    "post_padding": [1, 1],
    "stride": [2, 2],
    "dilation": [1, 1],
}


def value(*shape: int, element: str = "f16") -> ir.Value:
    """Returns the result of an op that the test does not inspect."""
    kind = ir.Type.parse(f"tensor<{'x'.join(map(str, shape))}x{element}>")
    return ir.Operation.create("test.value", results=[kind]).result


def tensor(*shape: int, element: str = "f16") -> ir.Type:
    return value(*shape, element=element).type


def gradient() -> ir.Value:
    wanted = hipdnn.sdpa_backward(
        *(value(2, 6, 5, 8), value(2, 6, 7, 8), value(2, 6, 7, 9), value(2, 6, 5, 9)),
        *(value(2, 6, 5, 9), value(2, 6, 5, 1, element="f32")),
    )
    return wanted[0]


OPS: dict[str, tuple[Callable[[], ir.Value], list[Product]]] = {
    "matmul": (
        lambda: hipdnn.matmul(value(3, 4, 5), value(3, 5, 7)),
        [Product((4, 7, 5), 3, "f16")],
    ),
    "one right matrix for all": (
        lambda: hipdnn.matmul(value(3, 4, 5), value(1, 5, 7)),
        [Product((12, 7, 5), 1, "f16")],
    ),
    "8-bit floats": (
        lambda: hipdnn.matmul(value(4, 5, element="f8E4M3FN"), value(5, 7, element="f8E4M3FN")),
        [Product((4, 7, 5), 1, "f16")],
    ),
    # Each of 2 x 3 x 4 positions of 5 filters reads 3 x 3 pixels of 3 of 6 channels.
    "groups": (
        lambda: hipdnn.conv_fprop(value(2, 6, 5, 7), value(10, 3, 3, 3), **WINDOW),
        [Product((24, 5, 27), 2, "f16")],
    ),
    "data gradient": (
        lambda: hipdnn.conv_dgrad(
            value(2, 10, 3, 4), value(10, 3, 3, 3), result_type=tensor(2, 6, 5, 7), **WINDOW
        ),
        [Product((24, 5, 27), 2, "f16")],
    ),
    "weight gradient": (
        lambda: hipdnn.conv_wgrad(
            value(2, 6, 5, 7), value(2, 10, 3, 4), result_type=tensor(10, 3, 3, 3), **WINDOW
        ),
        [Product((24, 5, 27), 2, "f16")],
    ),
    "attention": (
        lambda: hipdnn.sdpa(value(2, 6, 5, 8), value(2, 3, 7, 8), value(2, 3, 7, 9)),
        [Product((5, 7, 8), 12, "f16"), Product((5, 9, 7), 12, "f16")],
    ),
    "attention's gradient": (
        gradient,
        [Product((5, 7, 8), 12, "f16")] * 3 + [Product((5, 9, 7), 12, "f16")] * 2,
    ),
    "experts": (
        lambda: hipdnn.moe_grouped_matmul(
            value(1, 10, 4), value(3, 4, 5), value(3, 1, 1, element="i32")
        ),
        [Product((10, 5, 4), 1, "f16")],
    ),
    "no product": (lambda: hipdnn.pointwise(value(4, 5), mode="relu_fwd"), []),
}


@pytest.mark.parametrize("name", OPS)
def test_products(name: str) -> None:
    build, products = OPS[name]
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            op = ir.OpResult(build()).owner.operation
            assert products_of(op) == products
            flops = sum(
                2 * one.count * one.extents[0] * one.extents[1] * one.extents[2] for one in products
            )
            assert op_flops(op) == flops

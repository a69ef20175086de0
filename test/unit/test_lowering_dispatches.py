"""Graphs that IREE must turn into one dispatch each, and fallbacks of torch ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import iree.runtime as iree_runtime
import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from lowering_cases import DTYPES, Case, lower_case, run_case, splat, tensor_type

from hipgraft.codegen.iree.session import get_session
from hipgraft.codegen.kernel import Dispatch
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.tuning.estimated import EstimatedCostModel

Build = Callable[..., Any]


def conv(x: Any, w: Any, shape: list[int], *, pad: int = 0, stride: int = 1) -> Any:
    return hipdnn.conv_fprop(
        x,
        w,
        pre_padding=[pad, pad],
        post_padding=[pad, pad],
        stride=[stride, stride],
        dilation=[1, 1],
        result_type=tensor_type(shape, "f32"),
    )


def conv_bias_relu(x: Any, w: Any, b: Any) -> Any:
    y = hipdnn.pointwise(conv(x, w, [1, 64, 56, 56], pad=1), b, mode="add")
    f16 = tensor_type([1, 64, 56, 56], "f16")
    return hipdnn.pointwise(y, mode="relu_fwd", result_type=f16)


def conv_residual_relu(x: Any, w: Any, b: Any, residual: Any) -> Any:
    y = hipdnn.pointwise(conv(x, w, [1, 64, 56, 56], pad=1), b, mode="add")
    f16 = tensor_type([1, 64, 56, 56], "f16")
    y = hipdnn.pointwise(y, residual, mode="add")
    return hipdnn.pointwise(y, mode="relu_fwd", result_type=f16)


def strided_conv_1x1(x: Any, w: Any) -> Any:
    y = conv(x, w, [1, 512, 28, 28], stride=2)
    return hipdnn.pointwise(y, mode="identity", result_type=tensor_type([1, 512, 28, 28], "f16"))


def matmul_bias_gelu(a: Any, b: Any, bias: Any) -> Any:
    y = hipdnn.matmul(a, b, result_type=tensor_type([1, 384, 3072], "f32"))
    y = hipdnn.pointwise(y, bias, mode="add")
    return hipdnn.pointwise(y, mode="gelu_fwd", result_type=tensor_type([1, 384, 3072], "f16"))


def layernorm(x: Any, scale: Any, bias: Any) -> Any:
    return hipdnn.layernorm(x, scale, bias, splat(1e-5))


def rmsnorm(x: Any, scale: Any) -> Any:
    return hipdnn.rmsnorm(x, scale, splat(1e-5))


def softmax(x: Any) -> Any:
    row = tensor_type([1, 384, 1], "f32")
    wide = tensor_type([1, 384, 768], "f32")
    highest = hipdnn.reduction(x, mode="MAX", result_type=row)
    power = hipdnn.pointwise(x, highest, mode="sub", result_type=wide)
    power = hipdnn.pointwise(power, mode="exp")
    total = hipdnn.reduction(power, mode="ADD", result_type=row)
    f16 = tensor_type([1, 384, 768], "f16")
    return hipdnn.pointwise(power, total, mode="div", result_type=f16)


def narrow_softmax(x: Any) -> Any:
    """Builds a softmax in PyTorch's form, which rounds each step to f16."""
    row = tensor_type([8, 12, 1], "f16")
    power = hipdnn.pointwise(x, hipdnn.reduction(x, mode="MAX", result_type=row), mode="sub")
    power = hipdnn.pointwise(power, mode="exp")
    total = hipdnn.reduction(power, mode="ADD", result_type=row)
    return hipdnn.pointwise(power, total, mode="div")


def attention(q: Any, k: Any, v: Any) -> Any:
    return hipdnn.sdpa(q, k, v, attn_scale_value=0.125, right_bound=0)


IMAGE = [1, 64, 56, 56]
ROW = [1, 1, 4096]
ROWS = [1, 384, 768]
# With more queries, the values are first copied, so that each column is contiguous.
HEADS = [1, 8, 112, 64]
KEYS = [1, 2, 128, 64]
NHWC = [64 * 56 * 56, 1, 56 * 64, 64]

# Shapes of the operands and of the result, and layouts; all f16.
GRAPHS: dict[str, tuple[Build, list[list[int]], list[int], dict[str, Any]]] = {
    "conv_bias_relu": (conv_bias_relu, [IMAGE, [64, 64, 3, 3], [1, 64, 1, 1]], IMAGE, {}),
    "conv_bias_relu_channels_last": (
        conv_bias_relu,
        [IMAGE, [64, 64, 3, 3], [1, 64, 1, 1]],
        IMAGE,
        {"arg_strides": [NHWC, [576, 1, 192, 64], None], "result_strides": [NHWC]},
    ),
    "conv_residual_relu": (
        conv_residual_relu,
        [IMAGE, [64, 64, 3, 3], [1, 64, 1, 1], IMAGE],
        IMAGE,
        {},
    ),
    "strided_conv_1x1": (
        strided_conv_1x1,
        [[1, 256, 56, 56], [512, 256, 1, 1]],
        [1, 512, 28, 28],
        {},
    ),
    "matmul_bias_gelu": (
        matmul_bias_gelu,
        [ROWS, [1, 768, 3072], [1, 1, 3072]],
        [1, 384, 3072],
        {},
    ),
    "matmul_transposed": (
        matmul_bias_gelu,
        [ROWS, [1, 768, 3072], [1, 1, 3072]],
        [1, 384, 3072],
        {"arg_strides": [None, [0, 1, 768], None]},
    ),
    "layernorm": (layernorm, [ROWS, [1, 1, 768], [1, 1, 768]], ROWS, {}),
    "rmsnorm": (rmsnorm, [ROWS, [1, 1, 768]], ROWS, {}),
    "layernorm_of_a_row": (layernorm, [ROW, ROW, ROW], ROW, {}),
    "rmsnorm_of_a_row": (rmsnorm, [ROW, ROW], ROW, {}),
    "softmax": (softmax, [ROWS], ROWS, {}),
    "narrow_softmax": (narrow_softmax, [[8, 12, 12]], [8, 12, 12], {}),
    "attention": (attention, [HEADS, KEYS, KEYS], HEADS, {}),
}


def lowered(name: str, target: str) -> str:
    build, shapes, result, layouts = GRAPHS[name]
    inputs = [np.broadcast_to(np.zeros((), DTYPES["f16"]), shape) for shape in shapes]
    expected = [np.broadcast_to(np.zeros(()), result)]
    return lower_case(
        Case(name, inputs, build, expected, ["f16"], 0, 0, layouts=layouts, target=target)
    )


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", GRAPHS)
def test_one_dispatch(name: str, target: str) -> None:
    kernel = compile_text(lowered(name, target), Target.parse(target))
    assert [type(step) for step in kernel.steps] == [Dispatch]


@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("rows", "channels"), [(1024, 512), (196, 96)])
def test_norms_of_rows_across_memory_are_copied_first(
    rows: int, channels: int, target: str
) -> None:
    """In one dispatch a thread reads each row alone, and large ones take minutes to compile."""
    memory = np.random.default_rng(0).standard_normal((channels, rows)).astype(np.float16)
    scale, bias = (memory[:channels, row].reshape(1, 1, channels) for row in (0, 1))
    graph = Case(
        "norm",
        [memory, scale, bias],
        layernorm,
        [np.zeros((1, rows, channels))],
        ["f16"],
        0,
        0,
        shapes=[[1, rows, channels], [1, 1, channels], [1, 1, channels]],
        layouts={"arg_strides": [[0, 1, rows], None, None]},
        target=target,
    )
    kernel = compile_text(lower_case(graph), Target.parse(target))
    assert [type(step) for step in kernel.steps] == [Dispatch, Dispatch]
    operands = [np.ascontiguousarray(value) for value in (memory, scale, bias)]
    (y,) = run_kernel(kernel, operands, [((rows, channels), np.float16)])
    x = memory.T.astype(np.float64)
    deviation = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    expected = (x - x.mean(axis=1, keepdims=True)) / deviation * scale[0] + bias[0]
    np.testing.assert_allclose(y, expected, atol=1e-2)


@requires_emulator
def test_a_row_with_unit_dims_behind_it() -> None:
    """Rows like the channels of a pooled image: the dispatch takes as long as that of [1, 768]."""
    shape = [1, 768, 1, 1]
    x, scale, bias = np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float16)
    operands, results = [x, scale, bias], [np.zeros(shape)]
    graph = Case("norm", operands, layernorm, results, ["f16"], 0, 0, target="gfx942")
    kernel = compile_text(lower_case(graph), Target.parse("gfx942"))
    (found,) = EstimatedCostModel().estimates(kernel)
    assert found.microseconds < 5
    (y,) = run_kernel(kernel, operands, [(tuple(shape), np.float16)])
    wide = x.astype(np.float64)
    expected = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5) * scale + bias
    np.testing.assert_allclose(y, expected, atol=1e-2)


def sum_and_norm(a: Any, b: Any, scale: Any, bias: Any) -> Any:
    total = hipdnn.pointwise(a, b, mode="add")
    wide = hipdnn.pointwise(total, mode="identity", result_type=tensor_type([4, 64], "f32"))
    f16 = tensor_type([4, 64], "f16")
    return [total, hipdnn.layernorm(wide, scale, bias, splat(1e-5), result_type=f16)]


def sums_and_products(a: Any, b: Any, scale: Any, bias: Any) -> Any:
    """Results from which other results are computed, and a result of another type."""
    total = hipdnn.pointwise(a, b, mode="add")
    scaled = hipdnn.pointwise(total, scale, mode="mul")
    positive = hipdnn.pointwise(scaled, mode="relu_fwd")
    wide = tensor_type([4, 64], "f32")
    return [total, scaled, hipdnn.pointwise(positive, bias, mode="add", result_type=wide)]


@pytest.mark.sampled(12)
@pytest.mark.slow
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("build", [sum_and_norm, sums_and_products])
@pytest.mark.parametrize(
    "target",
    ["cpu", *(pytest.param(one, marks=requires_emulator) for one in ("gfx942", "gfx1100"))],
)
def test_stored_results_of_pointwise_ops_share_a_dispatch(
    build: Build, target: str, *, transposed: bool
) -> None:
    shapes = [(4, 64), (4, 64), (1, 64), (1, 64)]
    random = np.random.default_rng(3)
    a, b, scale, bias = (random.standard_normal(shape).astype(np.float16) for shape in shapes)
    total = (a.astype(np.float32) + b).astype(np.float16)
    x = total.astype(np.float64)
    centred = x - x.mean(1, keepdims=True)
    normal = centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * scale + bias
    scaled = total * scale
    expected, elements = [total, normal], ["f16", "f16"]
    if build is sums_and_products:
        expected, elements = [total, scaled, np.maximum(scaled, 0) + bias], ["f16", "f16", "f32"]
    case = Case("g", [a, b, scale, bias], build, expected, elements, 1e-2, 1e-2, target=target)
    if transposed:
        layouts = {"arg_strides": [[1, 4], None, None, None]}
        case = replace(case, inputs=[a.T.copy(), *case.inputs[1:]], shapes=shapes, layouts=layouts)
    if target == "cpu":
        case.check(run_case(case))
        return
    kernel = compile_text(lower_case(case), Target.parse(target))
    assert [type(step) for step in kernel.steps] == [Dispatch]
    forms = [(one.shape, DTYPES[kind]) for one, kind in zip(expected, elements, strict=True)]
    case.check(run_kernel(kernel, case.inputs, forms))


@requires_emulator
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("rows", "columns"), [(4, 64), (300, 70)])
def test_broadcast_elements_share_a_dispatch(rows: int, columns: int, target: str) -> None:
    random = np.random.default_rng(5)
    column, row, x = (
        random.standard_normal(shape).astype(np.float32)
        for shape in ((rows, 1), (1, columns), (rows, columns))
    )

    def build(gcolumn: Any, grow: Any, gx: Any) -> Any:
        scale = hipdnn.pointwise(gcolumn, mode="exp")
        bias = hipdnn.pointwise(grow, mode="tanh_fwd")
        scaled = hipdnn.pointwise(gx, scale, mode="mul", result_type=gx.type)
        return hipdnn.pointwise(scaled, bias, mode="add", result_type=gx.type)

    expected = x * np.exp(column.astype(np.float64)) + np.tanh(row.astype(np.float64))
    case = Case("g", [column, row, x], build, [expected], ["f32"], 1e-5, 1e-5, target=target)
    kernel = compile_text(lower_case(case), Target.parse(target))
    assert [type(step) for step in kernel.steps] == [Dispatch]
    case.check(run_kernel(kernel, case.inputs, [(expected.shape, np.float32)]))


def test_results_in_another_order_have_loops_of_their_own() -> None:
    """The compiler crashes on one loop with results of two orders."""
    zeros = [np.zeros((4, 64), np.float16)] * 3
    layouts = {"result_strides": [None, [1, 4]]}

    def build(x: Any) -> Any:
        y = hipdnn.pointwise(x, mode="exp")
        return [y, hipdnn.pointwise(y, mode="tanh_fwd")]

    graph = Case("g", zeros[:1], build, zeros[1:], ["f16", "f16"], 0, 0)
    assert "joined" in lower_case(graph)
    assert "joined" not in lower_case(replace(graph, layouts=layouts))


@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize(
    ("target", "channels", "extent", "launches"),
    [
        ("gfx942", 5, 12, 2),  # in one dispatch they take minutes to compile
        ("gfx1100", 5, 12, 2),
        ("gfx942", 16, 8, 2),
        ("gfx942", 8, 8, 1),
        ("gfx1100", 8, 8, 1),
    ],
)
def test_long_groups_are_scaled_apart(
    target: str, channels: int, extent: int, launches: int
) -> None:
    x = np.random.default_rng(0).standard_normal((2, 8, channels, extent, extent))
    x = x.astype(np.float16)
    scale, ones = x[:1, :, :, :1, :1].copy(), np.ones((1, 1, *x.shape[2:]), np.float16)
    operands, results = [x, ones, 0 * ones, scale], [np.zeros(x.shape)]

    def build(gx: Any, gones: Any, gzeros: Any, gscale: Any) -> Any:
        f32, f16 = (tensor_type(list(x.shape), element) for element in ("f32", "f16"))
        y = hipdnn.layernorm(
            gx,
            gones,
            gzeros,
            splat(1e-5),
            forward_phase="INFERENCE",
            normalized_dim_count=3,
            result_type=f32,
        )
        return hipdnn.pointwise(y, gscale, mode="mul", result_type=f16)

    case = Case("norm", operands, build, results, ["f16"], 0, 0, target=target)
    kernel = compile_text(lower_case(case), Target.parse(target))
    assert [type(step) for step in kernel.steps] == [Dispatch] * launches
    (y,) = run_kernel(kernel, operands, [(x.shape, np.float16)])
    wide, over = x.astype(np.float64), {"axis": (2, 3, 4), "keepdims": True}
    expected = (wide - wide.mean(**over)) / np.sqrt(wide.var(**over) + 1e-5) * scale
    np.testing.assert_allclose(y, expected, rtol=1e-2, atol=1e-2)


def batchnorm(x: Any, scale: Any, bias: Any) -> Any:
    statistics = {name: tensor_type([1, 6, 1, 1], "f32") for name in ("mean", "inv_variance")}
    op = hipdnn.BatchnormOp.build(x, scale, bias, splat(1e-5), results={"y": None, **statistics})
    return [op.y, op.mean, op.inv_variance]


@pytest.mark.sampled(8)
@requires_emulator
@pytest.mark.parametrize("is_last", [False, True], ids=["nchw", "nhwc"])
@pytest.mark.parametrize(
    ("element", "images", "target", "launches"),
    [
        ("f16", (2, 8, 8), "gfx942", 2),
        ("bf16", (2, 8, 8), "gfx1100", 2),
        ("bf16", (2, 7, 7), "gfx942", 3),
        ("f16", (2, 7, 7), "gfx1100", 2),
        ("f32", (2, 7, 7), "gfx942", 2),
        ("f16", (2, 4, 4), "gfx942", 1),
    ],
)
def test_long_channels_are_copied_first(
    element: str, images: tuple[int, int, int], target: str, launches: int, is_last: bool
) -> None:
    """In one dispatch, channels of 256 16-bit floats take 25 s to compile, longer ones minutes."""
    batch, height, width = images
    draw = np.random.default_rng(2)
    shape = (batch, 6, height, width)
    x = draw.standard_normal(shape).astype(DTYPES[element])
    scale, bias = draw.standard_normal((2, 1, 6, 1, 1)).astype(np.float32)
    strides = [6 * height * width, 1, 6 * width, 6]
    layouts = {"arg_strides": [strides, None, None]} if is_last else {}
    memory = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if is_last else x
    case = Case(
        "norm",
        [memory, scale, bias],
        batchnorm,
        [np.zeros(shape), *np.zeros((2, 1, 6, 1, 1))],
        [element, "f32", "f32"],
        0,
        0,
        shapes=[shape, scale.shape, bias.shape],
        layouts=layouts,
        target=target,
    )
    kernel = compile_text(lower_case(case), Target.parse(target))
    assert len([step for step in kernel.steps if isinstance(step, Dispatch)]) == launches
    statistic = (scale.shape, np.dtype(np.float32))
    found = run_kernel(kernel, [memory, scale, bias], [(shape, x.dtype), statistic, statistic])
    wide, over = x.astype(np.float64), {"axis": (0, 2, 3), "keepdims": True}
    mean, inverse = wide.mean(**over), 1 / np.sqrt(wide.var(**over) + 1e-5)
    expected = [(wide - mean) * inverse * scale + bias, mean, inverse]
    narrow = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}[element]
    for values, wanted, allowed in zip(found, expected, (narrow, 1e-5, 1e-5), strict=True):
        np.testing.assert_allclose(values.astype(np.float64), wanted, rtol=allowed, atol=allowed)


def classes(a: Any, b: Any) -> Any:
    return hipdnn.matmul(a, b, result_type=tensor_type([2, 24], "f32"))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_deep_product_of_few_results_is_one_dispatch(target: str) -> None:
    """IREE would make a dispatch of single products and one of their sums."""
    operands = [np.zeros((2, 1280), np.float32), np.zeros((1280, 24), np.float32)]
    case = Case("classes", operands, classes, [np.zeros((2, 24))], ["f32"], 0, 0, target=target)
    kernel = compile_text(lower_case(case), Target.parse(target))
    assert [type(step) for step in kernel.steps] == [Dispatch]


def sum_of_channels(_: Any, dy: Any) -> Any:
    return hipdnn.reduction(dy, mode="ADD", result_type=tensor_type([1, 40, 1, 1], "f32"))


def filter_gradient(x: Any, dy: Any) -> Any:
    moves = {"pre_padding": [0, 0], "post_padding": [0, 0], "stride": [1, 1], "dilation": [1, 1]}
    return hipdnn.conv_wgrad(x, dy, **moves, result_type=tensor_type([40, 24, 1, 1], "f32"))


@requires_emulator
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    ("build", "formula"), [(sum_of_channels, "nchw,nk->k"), (filter_gradient, "nchw,nk->kc")]
)
def test_gradient_of_a_mean_over_positions(build: Build, formula: str, target: str) -> None:
    """The tensor is stored without broadcast dims, along which its consumers reduce."""
    random = np.random.default_rng(0)
    x, dy = (random.standard_normal(s).astype(np.float32) for s in ((2, 24, 20, 20), (2, 40)))
    ones = np.ones_like(x[:, :1]) if build is sum_of_channels else x
    expected = np.einsum(formula, ones.astype(np.float64), dy)
    shape = (1, 40, 1, 1) if build is sum_of_channels else (40, 24, 1, 1)
    case = Case(
        "gradient",
        [x, dy],
        build,
        [np.zeros(shape)],
        ["f32"],
        0,
        0,
        shapes=[x.shape, (2, 40, 20, 20)],
        layouts={"arg_strides": [None, [40, 1, 0, 0]]},
        target=target,
    )
    kernel = compile_text(lower_case(case), Target.parse(target))
    (result,) = run_kernel(kernel, [x, dy], [(shape, np.float32)])
    np.testing.assert_allclose(result, expected.reshape(shape), rtol=1e-4, atol=1e-3)


def test_strided_1x1_convolution_uses_matrix_instructions() -> None:
    # Compiled as a reduction it took one workgroup per output element: 401,408 of them.
    session = get_session(Target.parse("gfx942").iree_flags)
    module = session.parse(lowered("strided_conv_1x1", "gfx942"))
    session.run(module, compile_to="executable-configurations")
    with session.context:
        assert "MFMA" in asm(module)


FALLBACK = """
func.func @f(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %y:2 = "hipdnn.fallback"(%x) ({
  ^bb0(%b: tensor<3x4xf32>):
    %r = "hipdnn.pointwise"(%b) {mode = "relu_fwd"} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %t = torch_c.from_builtin_tensor %r : tensor<3x4xf32> -> !torch.vtensor<[3,4],f32>
    %l = torch.vtensor.literal(dense_resource<weights> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %one = torch.constant.int 1
    %false = torch.constant.bool false
    %v, %i = torch.aten.sort %t, %one, %false : !torch.vtensor<[3,4],f32>, !torch.int, !torch.bool
        -> !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],si64>
    %s = torch.aten.add.Tensor %v, %l, %one
        : !torch.vtensor<[3,4],f32>, !torch.vtensor<[4],f32>, !torch.int
        -> !torch.vtensor<[3,4],f32>
    %c = torch_c.to_builtin_tensor %s : !torch.vtensor<[3,4],f32> -> tensor<3x4xf32>
    %n = "hipdnn.pointwise"(%c) {mode = "neg"} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "hipdnn.yield"(%c, %n) : (tensor<3x4xf32>, tensor<3x4xf32>) -> ()
  }) {arg_strides = [array<i64: 1, 3>]}
    : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  return %y#0, %y#1 : tensor<3x4xf32>, tensor<3x4xf32>
}
{-# dialect_resources: { builtin: {
  weights: "0x040000000000803F000000400000404000008040"
} } #-}
"""


def lower_first(text: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        function = module.body.operations[0].operation
        return lower_container(function.regions[0].blocks[0].operations[0], Target.parse("cpu"))


@pytest.mark.slow
def test_fallback_runs() -> None:
    # The operand is stored transposed; the literal is 1, 2, 3, 4.
    session = get_session(Target.parse("cpu").iree_flags)
    binary = session.compile_to_vmfb(session.parse(lower_first(FALLBACK)))
    config = iree_runtime.Config("local-task")
    module = iree_runtime.VmModule.copy_buffer(config.vm_instance, binary)
    main = iree_runtime.load_vm_module(module, config).main
    x = np.array([[3, -1, 2, 5], [0, 9, -4, 1], [7, 8, 6, -2]], np.float32)
    results = main(np.ascontiguousarray(x.T))
    expected = np.sort(np.maximum(x, 0), axis=1) + np.arange(1, 5)
    np.testing.assert_array_equal(results[0].to_host(), expected)
    np.testing.assert_array_equal(results[1].to_host(), -expected)


def test_unknown_op_is_named() -> None:
    text = FALLBACK.replace('"hipdnn.pointwise"(%b) {mode = "relu_fwd"}', '"hipdnn.custom"(%b)')
    with pytest.raises(HipgraftError, match=r"'hipdnn.custom' op is not an op of the hipdnn"):
        lower_first(text)

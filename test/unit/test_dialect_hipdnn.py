"""The hipdnn dialect from Python: builders, views of ops, inference, verification, definition."""

import time
from collections.abc import Iterator

import numpy as np
import onnx
import pytest

from hipgraft.dialects import hipdnn
from hipgraft.dialects.framework.fields import Operand, OptionalOperand, Result, required
from hipgraft.dialects.framework.kinds import INT
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import VerifyError


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with make_context(), ir.Location.file("model.mlir", 3, 7):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield module


def tensor(*shape: int, element: str = "f16") -> ir.Value:
    """A value of a tensor type."""
    type_ = ir.Type.parse(f"tensor<{'x'.join([*map(str, shape), element])}>")
    return ir.Operation.create("test.source", results=[type_]).result


def shape(value: ir.Value) -> list[int]:
    return list(ir.RankedTensorType(value.type).shape)


def element(value: ir.Value) -> str:
    return str(ir.RankedTensorType(value.type).element_type)


def conv_attributes(rank: int = 2, **changes) -> dict:
    ones, zeros = [1] * rank, [0] * rank
    given = {"pre_padding": zeros, "post_padding": zeros, "stride": ones, "dilation": ones}
    return given | changes


def onnx_shape(op: str, shapes: list[tuple[int, ...]], **attributes) -> list[int]:
    """The shape of an op's output by ONNX's shape inference."""
    names = [f"in{i}" for i in range(len(shapes))]
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    output = onnx.helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, None)
    node = onnx.helper.make_node(op, names, ["out"], **attributes)
    graph = onnx.helper.make_graph([node], "graph", inputs, [output])
    inferred = onnx.shape_inference.infer_shapes(onnx.helper.make_model(graph), strict_mode=True)
    dims = inferred.graph.output[0].type.tensor_type.shape.dim
    return [dim.dim_value for dim in dims]


# Builders and views


def test_view_reads_what_the_builder_wrote(module: ir.Module):
    x, w = tensor(1, 64, 56, 56), tensor(32, 64, 3, 3)
    y = hipdnn.conv_fprop(
        x, w, **conv_attributes(pre_padding=[1, 1], stride=[2, 2]), compute_type=ir.F32Type.get()
    )
    conv = hipdnn.wrap(y.owner)
    assert isinstance(conv, hipdnn.ConvFpropOp)
    assert (conv.x, conv.w, conv.y) == (x, w, y)
    assert conv.pre_padding == [1, 1]
    assert conv.stride == [2, 2]
    assert conv.compute_type == ir.F32Type.get()
    assert conv.conv_mode is hipdnn.ConvMode.CROSS_CORRELATION
    assert "conv_mode" not in conv.operation.attributes
    assert hipdnn.verify(module) == []


def test_attributes_can_be_set(module: ir.Module):
    op = hipdnn.PointwiseOp.build(tensor(4), mode="relu_fwd")
    op.relu_upper_clip = 6.0
    assert op.relu_upper_clip == 6.0
    assert str(op.operation.attributes["relu_upper_clip"]) == "6.000000e+00 : f32"


def test_absent_operands_are_left_out(module: ir.Module):
    q, k, v = tensor(2, 8, 5, 16), tensor(2, 2, 7, 16), tensor(2, 2, 7, 32)
    plain = hipdnn.SdpaOp(hipdnn.sdpa(q, k, v).owner)
    assert "operandSegmentSizes" not in plain.operation.attributes
    assert plain.attn_mask is None
    scale = tensor(1, element="f32")
    scaled = hipdnn.SdpaOp(hipdnn.sdpa(q, k, v, scale=scale).owner)
    segments = scaled.operation.attributes["operandSegmentSizes"]
    assert list(segments) == [1, 1, 1, 0, 1] + [0] * 16
    assert scaled.attn_mask is None
    assert scaled.scale == scale
    assert hipdnn.verify(module) == []


def test_optional_results_exist_by_name(module: ir.Module):
    x, s, e = tensor(2, 5, 8), tensor(1, 1, 8), tensor(1, element="f32")
    f32 = ir.F32Type.get()
    op = hipdnn.LayernormOp.build(
        x,
        s,
        s,
        e,
        forward_phase="TRAINING",
        results={"inv_variance": ir.RankedTensorType.get([2, 5, 1], f32)},
    )
    assert op.mean is None
    assert op.inv_variance is not None
    assert (shape(op.inv_variance), element(op.inv_variance)) == ([2, 5, 1], "f32")
    assert hipdnn.verify(module) == []


def test_one_builder_for_each_compute_op():
    compute = {name for name, cls in hipdnn.OPS.items() if issubclass(cls, hipdnn.ComputeOp)}
    assert all(callable(getattr(hipdnn, name.removeprefix("hipdnn."))) for name in compute)


def test_builder_has_the_location_it_is_given(module: ir.Module):
    here = ir.Location.file("a.mlir", 1, 2)
    y = hipdnn.pointwise(tensor(4), mode="exp", loc=here)
    assert y.owner.location == here


def test_programming_errors_name_the_field(module: ir.Module):
    x = tensor(4)
    with pytest.raises(TypeError, match="needs attribute 'mode'"):
        hipdnn.PointwiseOp.build(x)
    with pytest.raises(TypeError, match="no attribute 'alpha'"):
        hipdnn.PointwiseOp.build(x, mode="exp", alpha=1.0)
    with pytest.raises(TypeError, match="needs operand 'b'"):
        hipdnn.MatmulOp.build(x)
    with pytest.raises(TypeError, match="takes 2 operands"):
        hipdnn.MatmulOp.build(x, x, x)
    with pytest.raises(TypeError, match="no result 'z'"):
        hipdnn.PointwiseOp.build(x, mode="exp", results={"z": None})


def test_failed_inference_is_a_located_error_and_leaves_nothing(module: ir.Module):
    x, w = tensor(1, 64, 8, 8), tensor(32, 48, 3, 3)
    with pytest.raises(VerifyError) as raised:
        hipdnn.conv_fprop(x, w, **conv_attributes())
    assert str(raised.value) == (
        "model.mlir:3:7: error: 'hipdnn.conv_fprop' op channels of 'x' (64) are not a multiple of "
        "channels of 'w' (48)"
    )
    assert "hipdnn" not in str(module)


def test_inference_checks_operand_types_first(module: ir.Module):
    torch = ir.Operation.create("test.s", results=[ir.Type.parse("!torch.vtensor<[4],f32>")]).result
    with pytest.raises(VerifyError, match="expected 'in_0' to be a tensor of static shape"):
        hipdnn.pointwise(torch, mode="exp")


def test_type_that_cannot_be_inferred_is_asked_for(module: ir.Module):
    with pytest.raises(VerifyError, match="needs the type of 'out', which cannot be inferred"):
        hipdnn.reduction(tensor(2, 3), mode="ADD")


# Inference, against numpy and ONNX


@pytest.mark.parametrize(
    ("x", "w", "pre", "post", "stride", "dilation"),
    [
        ((2, 6, 17), (4, 6, 3), [2], [1], [2], [3]),
        ((1, 8, 15, 14), (12, 4, 3, 5), [1, 0], [0, 2], [2, 3], [1, 2]),
        ((1, 3, 7, 8, 9), (2, 3, 1, 2, 3), [0, 1, 1], [0, 0, 1], [1, 2, 2], [1, 1, 2]),
    ],
)
def test_convolution_shape(module: ir.Module, x, w, pre, post, stride, dilation):
    expected = onnx_shape(
        "Conv", [x, w], pads=pre + post, strides=stride, dilations=dilation, group=x[1] // w[1]
    )
    attributes = {"pre_padding": pre, "post_padding": post, "stride": stride, "dilation": dilation}
    y = hipdnn.conv_fprop(tensor(*x), tensor(*w), **attributes)
    assert shape(y) == expected
    x_type, w_type = tensor(*x).type, tensor(*w).type
    hipdnn.conv_dgrad(y, tensor(*w), **attributes, result_type=x_type)
    hipdnn.conv_wgrad(tensor(*x), y, **attributes, result_type=w_type)
    assert hipdnn.verify(module) == []


@pytest.mark.parametrize(
    ("a", "b"), [((3, 4), (4, 5)), ((2, 3, 4), (1, 4, 5)), ((7, 1, 3, 4), (1, 6, 4, 2))]
)
def test_matmul_shape(module: ir.Module, a, b):
    c = hipdnn.matmul(tensor(*a), tensor(*b))
    assert shape(c) == list((np.zeros(a) @ np.zeros(b)).shape)


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), ((4, 1, 3), (1, 5, 1)), ((1,), (2, 1)), ((6, 2), (1, 1))]
)
def test_pointwise_shape(module: ir.Module, shapes):
    y = hipdnn.pointwise(*(tensor(*shape) for shape in shapes), mode="add")
    assert shape(y) == list(np.broadcast_shapes(*shapes))


def test_pooling_shape(module: ir.Module):
    x = (1, 4, 13, 10)
    expected = onnx_shape("MaxPool", [x], kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 0, 1])
    y = hipdnn.resample_fwd(
        tensor(*x),
        pre_padding=[1, 0],
        post_padding=[0, 1],
        stride=[2, 3],
        window=[3, 2],
        resample_mode="MAXPOOL",
        padding_mode="NEG_INF_PAD",
    )
    assert shape(y) == expected


def test_attention_shape(module: ir.Module):
    q, k, v = (2, 8, 5, 16), (2, 2, 7, 16), (2, 2, 7, 32)
    keys, values = (np.repeat(np.zeros(s), 4, axis=1) for s in (k, v))
    expected = (np.zeros(q) @ keys.swapaxes(2, 3) @ values).shape
    assert shape(hipdnn.sdpa(tensor(*q), tensor(*k), tensor(*v))) == list(expected)


def test_element_types(module: ir.Module):
    x, b = tensor(4), tensor(4, element="f32")
    assert element(hipdnn.pointwise(x, b, mode="add")) == "f16"
    assert element(hipdnn.pointwise(x, b, mode="cmp_lt")) == "i1"
    assert element(hipdnn.pointwise(tensor(4, element="i1"), b, b, mode="binary_select")) == "f32"


# Pointwise modes


def test_every_mode_is_described_and_builds(module: ir.Module):
    assert len(hipdnn.PointwiseMode) == 50
    for mode in hipdnn.PointwiseMode:
        info = mode.info
        attributes = {"axis": 0} if mode == "gen_index" else {}
        operands = [tensor(4) for _ in info.operands]
        op = hipdnn.PointwiseOp.build(*operands, mode=mode, **attributes)
        assert [op.operand(name) for name in info.operands] == operands
    assert hipdnn.verify(module) == []


# Containers


def test_container_is_built_around_its_inputs(module: ir.Module):
    x, w = tensor(8, 4), tensor(4, 6)
    y_type = ir.Type.parse("tensor<8x6xf16>")
    graph = hipdnn.graph(
        [x, w], [y_type], name="matmul", arg_strides=[[1, 8], None], arg_offsets=[0, 3]
    )
    with ir.InsertionPoint(graph.body):
        hipdnn.yield_([hipdnn.matmul(*graph.body.arguments)])
    assert graph.inputs == [x, w]
    assert [value.type for value in graph.outputs] == [y_type]
    assert (graph.name, graph.arg_strides, graph.arg_offsets) == ("matmul", [[1, 8], None], [0, 3])
    assert graph.result_strides is None
    assert hipdnn.verify(module) == []


def test_view_is_row_major_by_default(module: ir.Module):
    window = hipdnn.view(tensor(4, 6), ir.Type.parse("tensor<3x8xf16>"))
    assert hipdnn.ViewOp(window.owner).strides == [8, 1]


# Verification


def test_all_errors_are_found_in_order(module: ir.Module):
    text = """
        func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
          %0 = "hipdnn.pointwise"(%x) {mode = "add"} : (tensor<4xf32>) -> tensor<4xf32>
          %1 = "hipdnn.pointwise"(%0, %y) {mode = "add"} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
          %2 = "hipdnn.reduction"(%1) {mode = "sum"} : (tensor<4xf32>) -> tensor<1xf32>
          return
        }"""  # noqa: E501
    errors = hipdnn.verify(ir.Module.parse(text))
    assert [error.location for error in errors] == ["-:3:16", "-:4:16", "-:5:16"]


def test_unknown_op_cannot_be_wrapped(module: ir.Module):
    with pytest.raises(VerifyError, match=r"'hipdnn\.conv' op is not an op of the hipdnn dialect"):
        hipdnn.wrap(ir.Operation.create("hipdnn.conv"))


def test_verifying_foreign_ops_is_cheap(module: ir.Module):
    x = tensor(4)
    for _ in range(20_000):
        ir.Operation.create("torch.aten.relu", results=[x.type], operands=[x])
    start = time.perf_counter()
    assert hipdnn.verify(module) == []
    # 0.5 µs measured; the bound only catches a walk that builds handles of ops or values.
    assert (time.perf_counter() - start) / 20_000 < 10e-6


# Definition: what a small declaration yields


def test_a_class_is_all_that_an_op_needs(module: ir.Module):
    class RotateOp(hipdnn.ComputeOp, mnemonic="rotate"):
        """Rotates."""

        x = Operand("what is rotated")
        by = OptionalOperand("how far")
        from_ = OptionalOperand("from where; `from` in the schema")
        y = Result("rotated")
        axis = required(INT, "along which dimension")

    try:
        source, origin = tensor(4), tensor(4)
        op = RotateOp.build(source, None, origin, axis=0, results={"y": source.type})
        assert (op.x, op.by, op.from_, op.axis) == (source, None, origin, 0)
        assert hipdnn.verify(module) == []
        del op.operation.attributes["axis"]
        assert [error.message for error in hipdnn.verify(module)] == [
            "'hipdnn.rotate' op requires attribute 'axis'"
        ]
        assert RotateOp.from_.name == "from"
    finally:
        hipdnn.OPS.remove("hipdnn.rotate")

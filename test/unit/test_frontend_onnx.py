"""Imports ONNX models: folding, upgrades and expansion against onnxruntime, and rejected models."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import hipgraft
from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow


def save(path: Path, nodes, inputs, outputs, constants=None, opset=18, domains=()) -> Path:
    """`inputs` and `outputs`: extents (an integer or a symbol each) and type by name."""

    def infos(tensors):
        return [helper.make_tensor_value_info(n, t, dims) for n, (dims, t) in tensors.items()]

    constants = [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), constants)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 9
    onnx.save(model, path)
    return path


def names(module) -> list[str]:
    block = next(iter(module.body.operations)).operation.regions[0].blocks[0]
    return [op.operation.name.removeprefix("torch.") for op in block.operations]


def check_against_onnxruntime(path: Path, inputs, tolerance=1e-5) -> None:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = session.run(None, inputs)
    outputs = hipgraft.compile(path, "cpu").run(list(inputs.values()))
    for got, want in zip(outputs, wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


F32 = TensorProto.FLOAT
rng = np.random.default_rng(0)


def shape_chain(path: Path) -> Path:
    """Flattens by a shape that is computed: Shape, Gather, Unsqueeze, Concat."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axes"], ["batch1"]),
        helper.make_node("Concat", ["batch1", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["y"], name="flatten"),
    ]
    constants = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    return save(path, nodes, {"x": ([2, 3, 4], F32)}, {"y": (["b", "n"], F32)}, constants)


def test_shape_computations_are_folded(tmp_path):
    module = frontends.load(shape_chain(tmp_path / "m.onnx"))
    assert [name for name in names(module) if name.startswith("aten")] == ["aten.view"]


def test_conditional_with_constant_condition_is_its_branch(tmp_path):
    def branch(op):
        out = helper.make_tensor_value_info(f"{op}_y", F32, [2])
        return helper.make_graph([helper.make_node(op, ["x"], [f"{op}_y"])], op, [], [out])

    nodes = [
        helper.make_node("Greater", ["two", "one"], ["condition"]),
        helper.make_node("If", ["condition"], ["y"], then_branch=branch("Abs"),
                         else_branch=branch("Neg")),
    ]  # fmt: skip
    constants = {"two": np.array(2), "one": np.array(1)}
    path = save(tmp_path / "m.onnx", nodes, {"x": ([2], F32)}, {"y": ([2], F32)}, constants)
    assert "aten.abs" in names(frontends.load(path))


def test_old_opset_is_upgraded(tmp_path):
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    path = save(tmp_path / "m.onnx", [node], {"x": ([2, 3, 4], F32)}, {"y": ([2, 3, 4], F32)},
                opset=11)  # fmt: skip
    # Up to opset 12, softmax is over all axes from `axis` on.
    check_against_onnxruntime(path, {"x": rng.standard_normal((2, 3, 4)).astype(np.float32)})


@pytest.mark.parametrize("heads", [1, 2])
def test_attention_operator(tmp_path, heads):
    shapes = {"q": (1, 2, 5, 8), "k": (1, heads, 7, 8), "v": (1, heads, 7, 8), "m": (5, 7)}
    node = helper.make_node("Attention", [*shapes], ["y"])
    inputs = {name: (shape, F32) for name, shape in shapes.items()}
    path = save(tmp_path / "m.onnx", [node], inputs, {"y": ([1, 2, 5, 8], F32)}, opset=23)
    arrays = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    check_against_onnxruntime(path, arrays)


@pytest.mark.parametrize("pads", [[0, 0, 1, 1], [2, 0, 1, 3]])
def test_convolution_padded_at_one_end(tmp_path, pads):
    """The first layers of networks that came from TensorFlow."""
    attributes = {"pads": pads, "strides": [2, 2], "kernel_shape": [3, 3]}
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    weights = {"w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32)}
    ends = {"x": ([1, 3, 9, 10], F32)}, {"y": (["a", "b", "c", "d"], F32)}
    path = save(tmp_path / "m.onnx", [node], *ends, weights)
    module = frontends.load(path)
    assert "aten.constant_pad_nd" in names(module)
    check_against_onnxruntime(path, {"x": rng.standard_normal((1, 3, 9, 10)).astype(np.float32)})


def test_rms_normalization_operator(tmp_path):
    node = helper.make_node("RMSNormalization", ["x", "w"], ["y"], axis=-1)
    inputs = {"x": ([2, 6], F32), "w": ([6], F32)}
    path = save(tmp_path / "m.onnx", [node], inputs, {"y": ([2, 6], F32)}, opset=23)
    arrays = {"x": rng.standard_normal((2, 6)), "w": rng.standard_normal(6)}
    check_against_onnxruntime(path, {n: a.astype(np.float32) for n, a in arrays.items()})


def test_group_normalization_does_not_overflow_in_f16(tmp_path):
    f16 = TensorProto.FLOAT16
    node = helper.make_node("InstanceNormalization", ["x", "w", "b"], ["y"], epsilon=1e-5)
    inputs = {"x": ([1, 2, 64, 64], f16), "w": ([2], f16), "b": ([2], f16)}
    path = save(tmp_path / "m.onnx", [node], inputs, {"y": ([1, 2, 64, 64], f16)})
    x = (30 * rng.standard_normal((1, 2, 64, 64))).astype(np.float16)
    arrays = {"x": x, "w": np.ones(2, np.float16), "b": np.zeros(2, np.float16)}
    wide = x.astype(np.float64)
    want = (wide - wide.mean((2, 3), keepdims=True)) / wide.std((2, 3), keepdims=True)
    (got,) = hipgraft.compile(path, "cpu").run(list(arrays.values()))
    np.testing.assert_allclose(got, want, rtol=2e-2, atol=1e-2)


def test_bilinear_resize_in_f16(tmp_path):
    f16 = TensorProto.FLOAT16
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")
    path = save(tmp_path / "m.onnx", [node], {"x": ([1, 2, 4, 4], f16)},
                {"y": ([1, 2, 8, 8], f16)}, {"sizes": np.array([1, 2, 8, 8])})  # fmt: skip
    x = rng.standard_normal((1, 2, 4, 4)).astype(np.float16)
    check_against_onnxruntime(path, {"x": x}, tolerance=2e-3)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "array",
    [
        rng.standard_normal(100).astype(np.float32),
        rng.standard_normal(3).astype(np.float16),
        rng.standard_normal(3).astype(np.float64),
        np.array([True, False, True]),
        np.arange(100) % 3 == 0,
        np.array(7, dtype=np.int64),
        np.array([250, 3], dtype=np.uint8),
        np.array([1.5, -2.0], dtype=ml_dtypes.bfloat16),
        np.arange(100).astype(ml_dtypes.bfloat16),
    ],
    ids=lambda array: f"{array.dtype}-{array.size}",
)
@pytest.mark.parametrize("raw", [True, False])
def test_constants_of_every_storage_form(tmp_path, array, raw):
    tensor_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = numpy_helper.from_array(array, "c")
    if not raw:
        tensor = helper.make_tensor("c", tensor_type, array.shape, array.flatten())
    output = helper.make_tensor_value_info("y", tensor_type, array.shape)
    node = helper.make_node("Identity", ["c"], ["y"])
    graph = helper.make_graph([node], "g", [], [output], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    onnx.save(model, tmp_path / "m.onnx")
    (got,) = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([])
    assert got.tobytes() == array.tobytes()


def relu(path: Path, dims) -> Path:
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    return save(path, [node], {"x": (dims, F32)}, {"y": (dims, F32)})


def test_dynamic_input_names_its_dimension(tmp_path):
    path = relu(tmp_path / "m.onnx", ["batch", 3])
    with pytest.raises(HipgraftError) as error:
        frontends.load(path)
    assert error.value.message == (
        "the model has symbolic dimensions without extents: 'batch' (dimension 0 of input 'x')"
    )
    assert error.value.location == str(path)
    assert "--specialize batch=" in error.value.notes[0]


@pytest.mark.parametrize("given", [{"dims": {"batch": 2}}, {"shapes": {"x": [2, 3]}}])
def test_dynamic_input_is_given(tmp_path, given):
    module = frontends.load(relu(tmp_path / "m.onnx", ["batch", 3]), **given)
    assert "!torch.vtensor<[2,3],f32>" in str(module)


@pytest.mark.parametrize("allowzero", [0, 1])
def test_computed_reshape_of_symbols_becomes_constant(tmp_path, allowzero):
    """Inference replaces a -1 among computed numbers, which compilers would take for an extent."""
    nodes = [
        helper.make_node("Shape", ["x"], ["lead"], start=0, end=2),
        helper.make_node("Concat", ["lead", "heads"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["y"], allowzero=allowzero),
    ]
    inputs, outputs = {"x": (["b", "s", 48], F32)}, {"y": (["b", "s", "h", 12], F32)}
    path = save(tmp_path / "m.onnx", nodes, inputs, outputs, {"heads": np.array([-1, 12])})
    module = frontends.read(path, dynamic=True)
    frontends.normalize(module)
    assert "!torch.vtensor<[?,?,4,12],f32>" in str(module)
    assert "aten.item" not in names(module)


def test_symbols_of_an_exporter_do_not_outlive_extents(tmp_path):
    """Extents from folded constants replace the exporter's names for inner shapes."""
    nodes = [
        helper.make_node("Shape", ["x"], ["length"], end=1),
        helper.make_node("Squeeze", ["length"], ["limit"]),
        helper.make_node("Range", ["zero", "limit", "one"], ["steps"]),
        helper.make_node("Shape", ["steps"], ["again"]),
        helper.make_node("Concat", ["again", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["y"]),
    ]
    constants = {"zero": np.array(0), "one": np.array(1), "rest": np.array([-1])}
    path = save(tmp_path / "m.onnx", nodes, {"x": (["n", 2, 3], F32)}, {"y": (["n", 6], F32)},
                constants)  # fmt: skip
    model = onnx.load(path)
    model.graph.value_info.append(
        helper.make_tensor_value_info("steps", TensorProto.INT64, ["unk__0"])
    )
    onnx.save(model, path)
    assert "!torch.vtensor<[4,6],f32>" in str(frontends.load(path, dims={"n": 4}))


def test_shape_of_wrong_rank_or_input(tmp_path):
    path = relu(tmp_path / "m.onnx", ["batch", 3])
    with pytest.raises(HipgraftError, match="input 'x' has 2 dimensions, got 1"):
        frontends.load(path, shapes={"x": [2]})
    with pytest.raises(HipgraftError, match="no input 'z'; the inputs are x"):
        frontends.load(path, shapes={"z": [2]})


@pytest.mark.parametrize("domain", ["", "com.example"])
def test_unknown_operator_is_named(tmp_path, domain):
    node = helper.make_node("Frobnicate", ["x"], ["y"], name="odd", domain=domain)
    path = save(tmp_path / "m.onnx", [node], {"x": ([2], F32)}, {"y": ([2], F32)},
                domains=[domain] if domain else [])  # fmt: skip
    with pytest.raises(HipgraftError, match=r"unknown ONNX operator '.*Frobnicate'") as error:
        frontends.load(path)
    assert error.value.location == "m.onnx:odd"


def test_a_flag_that_is_neither_0_nor_1_is_invalid(tmp_path):
    """The reference takes 3 for yes here, onnxruntime for no."""
    node = helper.make_node("ReduceSum", ["x"], ["y"], name="odd", noop_with_empty_axes=3)
    path = save(tmp_path / "m.onnx", [node], {"x": ([2], F32)}, {"y": ([2], F32)})
    with pytest.raises(HipgraftError, match="noop_with_empty_axes = 3, which is neither") as error:
        frontends.load(path)
    assert error.value.location == "m.onnx:odd"


def test_truncated_file(tmp_path):
    whole = shape_chain(tmp_path / "m.onnx").read_bytes()
    path = tmp_path / "half.onnx"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HipgraftError, match="truncated") as error:
        frontends.load(path)
    assert error.value.location == str(path)


def test_invalid_graph(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["q"], ["y"])], {"x": ([2], F32)},
                {"y": ([2], F32)})  # fmt: skip
    with pytest.raises(HipgraftError, match=r"invalid ONNX model: .*'q'"):
        frontends.load(path)


@pytest.mark.parametrize(
    ("node", "at", "said"),
    [
        (
            helper.make_node("Transpose", ["x"], ["y"], name="a (b): c", perm=[0, 1, 2]),
            "m.onnx:a (b): c (Transpose)",
            r"invalid ONNX model: Invalid attribute perm \{0, 1, 2\}, input shape = \{2\}$",
        ),
        (
            helper.make_node("Concat", ["x"], ["y"], name="join"),
            "m.onnx:join",
            r"invalid ONNX model: Required attribute 'axis' is missing\.$",
        ),
        (
            helper.make_node("Relu", ["x"], ["y"], most=1),
            "m.onnx:Relu",
            "invalid ONNX model: Unrecognized attribute: most for operator Relu$",
        ),
    ],
)
def test_what_onnx_finds_invalid_is_located_at_its_node(tmp_path, node, at, said):
    path = save(tmp_path / "m.onnx", [node], {"x": ([2], F32)}, {"y": ([2], F32)})
    with pytest.raises(HipgraftError, match=said) as error:
        frontends.load(path)
    assert error.value.location == at


def test_external_data(tmp_path):
    weights = rng.standard_normal((64, 64)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    path = save(tmp_path / "m.onnx", [node], {"x": ([2, 64], F32)}, {"y": ([2, 64], F32)},
                {"w": weights})  # fmt: skip
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    check_against_onnxruntime(path, {"x": rng.standard_normal((2, 64)).astype(np.float32)}, 1e-4)
    (tmp_path / "m.data").unlink()
    with pytest.raises(HipgraftError, match="external data is missing"):
        frontends.load(path)


def test_locations_name_the_nodes(tmp_path):
    module = frontends.load(relu(tmp_path / "m.onnx", [2]))
    assert 'loc("m.onnx:relu")' in module.operation.get_asm(enable_debug_info=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("given", [{}, {"dilations": 1}, {"strides": 2, "dilations": 1}])
def test_averages_become_graphs(tmp_path: Path, rank: int, given: dict[str, int]) -> None:
    attributes = {name: [value] * rank for name, value in given.items()}
    pad = int(rank < 3)  # the legalization pads images of three dims before
    attributes["pads"] = ([pad] + [0] * (rank - 1)) * 2
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3] * rank, **attributes)
    x = rng.random((1, 2, *range(7, 7 - rank, -1)), np.float32)
    y = [
        (n + 2 * pad * (dim == 0) - 3) // given.get("strides", 1) + 1
        for dim, n in enumerate(x.shape[2:])
    ]
    shapes = {"x": (x.shape, F32)}, {"y": ([1, 2, *y], F32)}
    path = save(tmp_path / "average.onnx", [node], *shapes, opset=19)
    check_against_onnxruntime(path, {"x": x})
    graphs = str(hipgraft.compile(path, target="cpu", compile_to="hipdnn-graphs").module)
    assert "AVGPOOL" in graphs
    assert "hipdnn.fallback" not in graphs


@pytest.mark.parametrize("has_type", [True, False])
@pytest.mark.parametrize("rows", [2, "N"])
def test_outputs_without_a_shape(tmp_path: Path, has_type: bool, rows: int | str):
    element = onnx.TensorProto.FLOAT
    x = onnx.helper.make_tensor_value_info("x", element, [rows, 3])
    y = onnx.helper.make_tensor_value_info("y", element, None)
    if not has_type:
        y.ClearField("type")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    opsets = [onnx.helper.make_opsetid("", 17)]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    module = frontends.read(path, dims={"N": 2} if rows == "N" else {})
    assert "-> !torch.vtensor<[2,3],f32>" in str(module)

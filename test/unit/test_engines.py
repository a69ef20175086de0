"""The graphs that engines accept, by their files; the engines' maintainers document the reasons.

The expected texts are written from the providers' pages of supported operations, not from the
files under test.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from engine_graphs import WINDOW, engine_of, failure_of, graph, node, single
from programs import run_passes

from hipgraft.engines import engine_names, find_engine
from hipgraft.engines.registry import BUILT_IN
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passes.hipdnn_compile import HipdnnCompilePass
from hipgraft.runtime import run_module
from hipgraft.runtime.devices.registry import open_device

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engines.md"
EXAMPLE = re.search(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.M | re.S)[1]
CONV = {"x": "2x8x9x9xf16", "w": "4x8x3x3xf16"}
ONE_SIDED = WINDOW.replace("post_padding = array<i64: 1, 1>", "post_padding = array<i64: 0, 1>")
HEADS = {"q": "2x8x64x128xbf16", "k": "2x8x64x128xbf16", "v": "2x8x64x128xbf16"}
ROWS = {"x": "4x8x16xf16", "s": "1x1x16xf16", "b": "1x1x16xf16", "e": "1xf32"}


def op(name: str, operands: dict[str, str], result: str, attributes: str = "") -> str:
    return single(name, operands, result, attributes)


def fused(*tail: str, bias: str = "1x4x1x1xf32") -> str:
    """A convolution and the nodes after it; the last node is the result."""
    body = [f"%c = {node('conv_fprop', CONV, '2x4x9x9xf32', WINDOW)}", *tail]
    arguments = CONV | {"bias": bias, "other": "2x4x9x9xf32"}
    return graph("\n".join(body), arguments, {"r": "2x4x9x9xf16"})


def pointwise(result: str, operands: dict[str, str], mode: str, to: str = "2x4x9x9xf32") -> str:
    return f'%{result} = {node("pointwise", operands, to, f"""mode = "{mode}" """)}'


WIDE = "2x4x9x9xf32"
RELU = pointwise("r", {"c": WIDE}, "relu_fwd", "2x4x9x9xf16")
BIAS = pointwise("d", {"c": WIDE, "bias": "1x4x1x1xf32"}, "add")
RELU_OF_BIAS = pointwise("r", {"d": WIDE}, "relu_fwd", "2x4x9x9xf16")

TAKEN = {
    "MIOPEN_ENGINE": [
        op("conv_fprop", CONV, "2x4x9x9xf16", WINDOW),
        # hipDNN's padding before and after may differ; MIOpen's provider says nothing of it.
        op("conv_fprop", CONV, "2x4x8x9xf16", ONE_SIDED),
        fused(RELU),
        fused(BIAS, RELU_OF_BIAS),
        op("pointwise", {"x": "2x4x9x9xf16"}, "2x4x9x9xf16", 'mode = "tanh_fwd"'),
        op(
            "pointwise",
            {"x": "2x4x9xf16", "y": "1x4x1xf16"},
            "2x4x9xf16",
            'mode = "sub"',
        ),
    ],
    "HIPBLASLT_ENGINE": [
        op("matmul", {"a": "5x8x4xbf16", "b": "1x4x6xbf16"}, "5x8x6xf32"),
        op("matmul", {"a": "8x4xf16", "b": "4x6xf16"}, "8x6xf16"),
    ],
    "HIP_MLOPS_ENGINE": [op("layernorm", ROWS, "4x8x16xf16", "normalized_dim_count = 1 : i64")],
    "ASM_SDPA_ENGINE": [op("sdpa", HEADS, "2x8x64x128xbf16", "right_bound = 0 : i64")],
    "FUSILLI_ENGINE": [
        op("conv_fprop", CONV, "2x4x9x9xf16", WINDOW),
        op("reduction", {"x": "4x8xf32"}, "4x1xf32", 'mode = "MAX"'),
        fused(pointwise("d", {"c": WIDE, "other": WIDE}, "mul"), RELU_OF_BIAS),
    ],
    "iree": [
        op("conv_fprop", CONV, "2x4x8x9xf16", ONE_SIDED),
        op("matmul", {"a": "8x4xf64", "b": "4x6xf64"}, "8x6xf64"),
        fused(BIAS, RELU_OF_BIAS),
    ],
}

# Engine, graph, architecture, path of the rule, and a part of the reason.
DECLINED = [
    # Fusilli and the packaged convolutions take padding that is the same on both sides only.
    ("FUSILLI_ENGINE", op("conv_fprop", CONV, "2x4x8x9xf16", ONE_SIDED), "", "rules[0]",
     "the same on both sides, but found pre_padding = [1, 1], post_padding = [0, 1]"),
    ("hipkernel:Gfx950ConvFwd", op("conv_fprop", CONV, "2x4x9x9xf16", WINDOW), "gfx950", "layouts",
     "expected 'x' to be channels-last, but found strides [648, 81, 9, 1] of shape [2, 8, 9, 9]"),
    ("hipkernel:Gfx950ConvFwd", op("conv_fprop", CONV, "2x4x9x9xf16", WINDOW), "gfx942",
     "architectures", "expected architecture gfx950, but found gfx942"),
    # Convolutions are computed in FP32.
    ("MIOPEN_ENGINE", op("conv_fprop", CONV, "2x4x9x9xf16", f"{WINDOW}, compute_type = f16"), "",
     "compute_types", "expected compute type f32, but found f16"),
    # Neither a bias alone nor an unknown activation is fused.
    ("MIOPEN_ENGINE", fused(pointwise("r", {"c": WIDE, "bias": "1x4x1x1xf32"}, "add",
                                      "2x4x9x9xf16")), "", "convolution-activation/nodes",
     "needs 'activation', which the graph does not have"),
    ("MIOPEN_ENGINE", fused(pointwise("r", {"c": WIDE}, "gelu_fwd", "2x4x9x9xf16")), "", "nodes",
     "but found 'gelu_fwd'"),
    ("MIOPEN_ENGINE", fused(pointwise("d", {"c": WIDE, "other": WIDE}, "add"), RELU_OF_BIAS), "",
     "convolution-activation/bias/rules[0]", "one number per channel"),
    # FP64 is no type of hipBLASLt's provider; batches are equal, or one.
    ("HIPBLASLT_ENGINE", op("matmul", {"a": "8x4xf64", "b": "4x6xf64"}, "8x6xf64"), "", "types",
     "expected 'a' of type f32, f16 or bf16, but found f64"),
    ("HIPBLASLT_ENGINE", op("matmul", {"a": "2x3x8x4xf16", "b": "2x1x4x6xf16"}, "2x3x8x6xf16"), "",
     "rules[0]", "batches have to be equal, or one operand has a single matrix"),
    # Assembly attention: bf16 and fp8 only, no bias, no dropout, gfx942 and gfx950.
    ("ASM_SDPA_ENGINE", op("sdpa", {n: t.replace("bf16", "f16") for n, t in HEADS.items()},
                           "2x8x64x128xf16"), "", "types", "expected 'q' of type bf16 or f8E4M3FN"),
    ("ASM_SDPA_ENGINE", op("sdpa", HEADS | {"m": "2x8x64x64xbf16"}, "2x8x64x128xbf16"), "",
     "absent/attn_mask", "expected no 'attn_mask'"),
    ("ASM_SDPA_ENGINE", op("sdpa", HEADS, "2x8x64x128xbf16"), "gfx90a", "architectures",
     "expected architecture gfx942 or gfx950, but found gfx90a"),
    # Stand-alone elementwise ops are not hipBLASLt's, and Swish has unit beta only.
    ("HIPBLASLT_ENGINE", op("pointwise", {"x": "8x6xf32", "y": "1x6xf32"}, "8x6xf32",
                            'mode = "add"'), "", "product/nodes",
     "(matmul [bias] [activation]) needs 'matmul', which the graph does not have"),
    ("HIPBLASLT_ENGINE", graph(
        f"%c = {node('matmul', {'a': '8x4xf32', 'b': '4x6xf32'}, '8x6xf32')}\n" + "%r = "
        + node("pointwise", {"c": "8x6xf32"}, "8x6xf32",
               'mode = "swish_fwd", swish_beta = 0.1 : f32'),
        {"a": "8x4xf32", "b": "4x6xf32"}, {"r": "8x6xf32"}), "",
     "product/activation/attributes/swish_beta",
     "expected 'swish_beta' none or 1, but found 0.1"),
    # The product's own input is not an epilogue.
    ("HIPBLASLT_ENGINE", graph(
        "%s = " + node("pointwise", {"a": "8x4xf32"}, "8x4xf32", 'mode = "relu_fwd"')
        + "\n%r = " + node("matmul", {"s": "8x4xf32", "b": "4x6xf32"}, "8x6xf32"),
        {"a": "8x4xf32", "b": "4x6xf32"}, {"r": "8x6xf32"}), "", "product/nodes",
     "has no place for"),
    # HIP_MLOPS has norms, no products.
    ("HIP_MLOPS_ENGINE", op("matmul", {"a": "8x4xf16", "b": "4x6xf16"}, "8x6xf16"), "", "nodes",
     "but found 'matmul'"),
    ("FUSILLI_ENGINE", op("reduction", {"x": "4x8xf32"}, "4x1xf32", 'mode = "AVG"'), "", "nodes",
     "expected 'reduction' of mode ADD, MAX or MIN, but found 'AVG'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "text"), [(name, text) for name, texts in TAKEN.items() for text in texts]
)
def test_takes(engine: str, text: str) -> None:
    assert failure_of(engine, text) is None


@pytest.mark.parametrize(("engine", "text", "architecture", "rule", "reason"), DECLINED)
def test_says_why_not(engine: str, text: str, architecture: str, rule: str, reason: str) -> None:
    failure = failure_of(engine, text, architecture)
    assert failure is not None
    assert failure.rule.endswith(rule)
    assert reason in failure.message


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_own_files_have_their_name_and_sources(name: str) -> None:
    engine = find_engine(name)
    assert engine.name == name
    assert re.search(r"^# Sources?: ", Path(engine.path).read_text(), re.MULTILINE)
    assert f"| `{name}` |" in PAGE.read_text()
    assert name in engine_names()


def test_no_file_is_without_an_engine() -> None:
    folder = Path(find_engine("iree").path).parent
    assert {path.name for path in folder.iterdir()} == set(BUILT_IN.values())


def test_example_of_the_page(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "mine.yaml", EXAMPLE)
    product = {"a": "8x32xf16", "b": "32x6xf16"}
    assert failure_of(engine, op("matmul", product, "8x6xf32"), "gfx950") is None
    body = f"""
    %p = {node("matmul", product, "8x6xf32")}
    %s = {node("pointwise", {"v": "1x6xf32", "p": "8x6xf32"}, "8x6xf32", 'mode = "add"')}
    %r = {node("pointwise", {"s": "8x6xf32"}, "8x6xf16", 'mode = "relu_fwd"')}"""
    assert failure_of(engine, graph(body, product | {"v": "1x6xf32"}, {"r": "8x6xf16"})) is None
    for text, architecture, rule, message in (
        (op("matmul", {"a": "8x30xf16", "b": "30x6xf16"}, "8x6xf32"), "",
         "product/product/rules[0]", "K has to be a multiple of 32, but found a.dims = [8, 30]"),
        (op("matmul", {"a": "8x32xf32", "b": "32x6xf32"}, "8x6xf32"), "", "product/product/types",
         "expected 'a' of type f16 or bf16, but found f32: "
         "the kernels use 16-bit matrix instructions"),
        (op("matmul", product, "8x6xf32"), "gfx90a", "architectures",
         "expected architecture gfx942 or gfx95*, but found gfx90a"),
        (op("reduction", {"x": "4x8xf32"}, "4x1xf32", 'mode = "ADD"'), "", "nodes",
         "expected matmul or pointwise, but found 'reduction' of mode 'ADD'"),
    ):  # fmt: skip
        failure = failure_of(engine, text, architecture)
        assert failure is not None
        assert (failure.rule, failure.message) == (rule, message)


def test_strides_decide_about_layouts() -> None:
    """The packaged convolutions take NHWC, with any strides of unit extents."""
    body = f"%c = {node('conv_fprop', CONV, '2x4x9x9xf16', WINDOW)}"
    nhwc = "arg_strides = [array<i64: 648, 1, 72, 8>, array<i64: 72, 1, 24, 8>], "
    nhwc += "result_strides = [array<i64: 324, 1, 36, 4>]"
    text = graph(body, CONV, {"c": "2x4x9x9xf16"}, nhwc)
    assert failure_of("hipkernel:Gfx950ConvFwd", text, "gfx950") is None
    gap = nhwc.replace("648, 1, 72, 8", "1296, 1, 144, 16")
    failure = failure_of("hipkernel:Gfx950ConvFwd", graph(body, CONV, {"c": "2x4x9x9xf16"}, gap))
    assert failure is not None
    assert "strides [1296, 1, 144, 16]" in failure.message


def test_intermediates_have_to_stay_inside() -> None:
    body = f"%c = {node('conv_fprop', CONV, WIDE, WINDOW)}\n{RELU}"
    text = graph(body, CONV, {"r": "2x4x9x9xf16", "c": WIDE})
    failure = failure_of("MIOPEN_ENGINE", text)
    assert failure is not None
    assert failure.rule == "convolution-activation/taps"
    assert failure_of("FUSILLI_ENGINE", text) is None


def test_constants_of_graphs_are_scalars() -> None:
    for shape, refused in (("4x8", True), ("1x1", False)):
        operands = {"x": "4x8xf32", "k": f"{shape}xf32"}
        body = f"""
        %k = arith.constant dense<2.0> : tensor<{shape}xf32>
        %r = {node("pointwise", operands, "4x8xf32", 'mode = "mul"')}"""
        text = graph(body, {"x": "4x8xf32"}, {"r": "4x8xf32"})
        failure = failure_of("FUSILLI_ENGINE", text)
        assert (failure is not None) == refused
        assert failure is None or failure.rule == "constants"
        assert failure_of("iree", text) is None


def test_block_scaled_factors_go_to_their_operands() -> None:
    """The doc's graph: M and N multiples of 16, K of 128, A column-major, gfx950 and gfx1250."""
    left = {"x": "16x128xf8E4M3FN", "s": "16x4xf8E8M0FNU"}
    right = {"y": "128x32xf8E4M3FN", "t": "4x32xf8E8M0FNU"}
    arguments = left | right
    body = f"""
    %a = {node("block_scale_dequantize", left, "16x128xf32", "block_size = array<i64: 1, 32>")}
    %b = {node("block_scale_dequantize", right, "128x32xf32", "block_size = array<i64: 32, 1>")}
    %c = {node("matmul", {"a": "16x128xf32", "b": "128x32xf32"}, "16x32xbf16")}"""
    columns = "arg_strides = [array<i64: 1, 16>, unit, unit, unit]"
    taken = graph(body, arguments, {"c": "16x32xbf16"}, columns)
    assert failure_of("HIPBLASLT_ENGINE", taken, "gfx950") is None
    failure = failure_of("HIPBLASLT_ENGINE", taken, "gfx942")
    assert failure is not None
    assert failure.message == "expected architecture gfx950 or gfx1250, but found gfx942"
    failure = failure_of("HIPBLASLT_ENGINE", graph(body, arguments, {"c": "16x32xbf16"}), "gfx950")
    assert failure is not None
    assert failure.message.startswith("the left factor has to be column-major")


def test_cpu_does_not_run_a_graph_of_another_engine() -> None:
    x = {"x": "4x8xf32"}
    body = "%r = " + node("pointwise", x, "4x8xf32", 'mode = "tanh_fwd"')
    text = graph(body, x, {"r": "4x8xf32"}, 'engine = "MIOPEN_ENGINE", name = "tanh"')
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(text, context)
        run_passes(module, HipdnnCompilePass(target=("cpu",)), "hipdnn-bufferize")
        with pytest.raises(HipgraftError, match="engine 'MIOPEN_ENGINE', which needs a host with"):
            run_module(module, [np.zeros((4, 8), np.float32)], open_device("cpu"))

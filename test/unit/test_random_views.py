"""Random views before operations that read single elements: CPU and GPU code against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import iree.runtime as iree_runtime
import numpy as np
import pytest
import test_lowering_attention as attention
import test_lowering_contractions as contractions
import test_lowering_moe as moe
import test_lowering_pointwise as pointwise
import test_lowering_reductions as norms
import test_lowering_resample as resample
from emulator import missing_reason, run_kernel
from lowering_cases import DTYPES, Array, Case, lower_case, physical_shapes
from random_graphs import FACTORIES
from random_views import OPERATIONS, drawn, fallback, rearranged

from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context

pytestmark = pytest.mark.slow

ARCHITECTURES = ("gfx942", "gfx1100")

# Operations that compute each element separately, so that they may store it anywhere.
BY_ELEMENT = (
    "cat", "embedding", "equal", "flip", "gather", "index_select", "rounded", "where",
)  # fmt: skip

Forms = list[tuple[tuple[int, ...], Any]]


def rounds(request: pytest.FixtureRequest) -> range:
    return range(request.config.getoption("--random-rounds"))


def targets() -> tuple[str, ...]:
    return ("cpu", *ARCHITECTURES) if missing_reason() is None else ("cpu",)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", OPERATIONS)
def test_fallbacks(name: str, request: pytest.FixtureRequest) -> None:
    for one in rounds(request):
        operation, places, memory = drawn(name, [one, 13])
        text = fallback(operation, places)
        for target in targets():
            form = (operation.result.shape, operation.result.dtype)
            (found,) = run(lowered(text, target), target, memory, [form])
            limit = operation.tolerance
            np.testing.assert_allclose(
                found, operation.result, limit, limit, err_msg=f"round {one} on {target}: {text}"
            )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", BY_ELEMENT)
def test_results_in_any_order(name: str, request: pytest.FixtureRequest) -> None:
    for one in rounds(request):
        operation, places, memory = drawn(name, [one, 17])
        expected = operation.result
        order = np.random.default_rng(one).permutation(expected.ndim).tolist()
        stored = expected.transpose(order)
        text = fallback(operation, places, order)
        for target in targets():
            (found,) = run(lowered(text, target), target, memory, [(stored.shape, stored.dtype)])
            # Extents of 1 may be anywhere.
            np.testing.assert_array_equal(
                found.ravel(), stored.ravel(), f"round {one} on {target}: {text}"
            )


def lowered(text: str, target: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].operation.regions[0].blocks[0]
        (op,) = [each for each in block.operations if each.operation.name == "hipdnn.fallback"]
        return lower_container(op, Target.parse(target))


def run(text: str, target: str, memory: list[Array], forms: Forms) -> list[Array]:
    """Runs a kernel; results are of given shapes and types."""
    kernel = compile_text(text, Target.parse(target))
    if target != "cpu":
        return run_kernel(kernel, memory, forms)
    config = iree_runtime.Config("local-task")
    loaded = iree_runtime.VmModule.copy_buffer(config.vm_instance, kernel.objects[0])
    results = iree_runtime.load_vm_module(loaded, config).main(*memory)
    several = results if isinstance(results, list | tuple) else [results]
    return [np.asarray(result) for result in several]


def _windows(mode: str, padding: str) -> Case:
    windows = resample.window([2, 3], [2, 1], [0, 1], [0, 1])
    return resample.windows_case("resample", (1, 4, 16, 32), windows, mode, padding, "f32")


# Ops that read single elements, with extents that IREE vectorizes.
GRAPHS: dict[str, Callable[[], Case]] = {
    "pointwise": lambda: pointwise.pointwise_case(
        "neg", "f16", shapes=[[1, 8, 12, 8], [1, 8, 12, 8], [1, 8, 12, 8]]
    ),
    "pointwise_short": lambda: pointwise.pointwise_case(
        "add", "f32", shapes=[[4, 32, 4], [4, 32, 4], [4, 32, 4]]
    ),
    "resample_bilinear": lambda: _windows("BILINEAR", "ZERO_PAD"),
    "resample_edge": lambda: _windows("MAXPOOL", "EDGE_VAL_PAD"),
    "conv": lambda: contractions.conv_case("conv", [1, 8, 16, 16], [16, 8, 3, 3], "f32"),
    "depthwise": lambda: contractions.conv_case("conv", [1, 16, 16, 16], [16, 1, 3, 3], "f32"),
    "conv_f16": lambda: contractions.conv_case("conv", [1, 8, 16, 16], [16, 8, 3, 3], "f16"),
    "grouped": lambda: contractions.conv_case("conv", [1, 16, 16, 16], [16, 8, 3, 3], "f32"),
    "dgrad": lambda: contractions.gradient_cases(
        "c", [1, 8, 16, 16], [16, 8, 3, 3], "f32", pre=[1, 1], stride=[1, 1], dilation=[1, 1]
    )[0],
    "wgrad": lambda: contractions.gradient_cases(
        "c", [1, 8, 16, 16], [16, 8, 3, 3], "f32", pre=[1, 1], stride=[1, 1], dilation=[1, 1]
    )[1],
    "strided": lambda: contractions.conv_case(
        "conv", [1, 8, 16, 16], [8, 8, 1, 1], "f32", stride=[2, 2]
    ),
    "matmul": lambda: contractions.matmul_case("matmul", [2, 16, 32], [2, 32, 16], "f32"),
    "reduction": lambda: norms.reduction_case("MAX", (2,), "f32", [4, 16, 32]),
    "layernorm": lambda: norms.layernorm_case("layernorm", [2, 8, 64], [1, 1, 64], "f32"),
    "sdpa": lambda: attention.forward_case("sdpa", "f32", q=(1, 4, 8, 16), k=(1, 2, 8, 16)),
    "pages": lambda: attention.paged_case("pages", "f16"),
    "experts": lambda: moe.forward_case(
        "experts",
        "f32",
        moe.offsets(0, 8, 8, 20),
        mode="gather",
        weights=(4, 16, 32),
        tokens=16,
        index=[(7 * row) % 16 for row in range(32)],
    ),
}


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str, request: pytest.FixtureRequest) -> None:
    for one in rounds(request):
        random = np.random.default_rng([one, 17])
        for factory in FACTORIES:
            factory.random.bit_generator.state = np.random.default_rng(one).bit_generator.state
        case = rearranged(random, GRAPHS[name]())
        for target in targets():
            aimed = replace(case, target=target)
            shapes = physical_shapes(aimed)
            memory = [value.reshape(at) for value, at in zip(aimed.inputs, shapes, strict=True)]
            pairs = zip(aimed.expected, aimed.elements, strict=True)
            forms: Forms = [(np.shape(value), DTYPES[element]) for value, element in pairs]
            aimed.check(run(lower_case(aimed), target, memory, forms))

"""Reads of elements of slices: IREE's fault, and the rewritten reads that avoid the fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import iree.runtime as iree_runtime
import numpy as np
import pytest
from emulator import requires_emulator, run_kernel

from hipgraft.codegen.iree.session import get_session
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.extract_of_slice import EXTRACT_OF_SLICE, read_whole_sources
from hipgraft.ir.bindings import ir

WHOLE = "tensor<2x32x96xf32>"
X = np.random.default_rng(13).uniform(-1, 1, (2, 32, 96)).astype(np.float32)
OFFSET = np.array([3], np.int32)


@dataclass(frozen=True)
class Chain:
    """Builds a chain of views.

    Attributes:
        name: name of the case.
        steps: ops that make `%part` of `%x`; `%offset` is 3 and `%rows` 32, at run time.
        view: the same in NumPy.
    """

    name: str
    steps: str
    view: Callable[[np.ndarray], np.ndarray]


CHAINS = (
    Chain(
        "rank_reduced",
        f"""%part = tensor.extract_slice %x[1, 0, 7] [1, 32, 64] [1, 1, 1]
            : {WHOLE} to tensor<32x64xf32>""",
        lambda x: x[1, :, 7:71],
    ),
    Chain(
        "strided_and_collapsed",
        f"""%s = tensor.extract_slice %x[0, 1, 6] [2, 16, 64] [1, 2, 1]
            : {WHOLE} to tensor<2x16x64xf32>
        %part = tensor.collapse_shape %s [[0, 1], [2]] : tensor<2x16x64xf32> into tensor<32x64xf32>
        """,
        lambda x: x[:, 1::2, 6:70].reshape(32, 64),
    ),
    Chain(
        "slice_of_slice",
        f"""%s = tensor.extract_slice %x[0, 0, 4] [2, 32, 80] [1, 1, 1]
            : {WHOLE} to tensor<2x32x80xf32>
        %part = tensor.extract_slice %s[1, 0, 9] [1, 32, 32] [1, 1, 2]
            : tensor<2x32x80xf32> to tensor<32x32xf32>""",
        lambda x: x[1, :, 13:77:2],
    ),
    Chain(
        "expanded_sliced_collapsed",
        f"""%s = tensor.extract_slice %x[1, 0, 8] [1, 16, 64] [1, 2, 1]
            : {WHOLE} to tensor<1x16x64xf32>
        %e = tensor.expand_shape %s [[0], [1, 2], [3, 4]] output_shape [1, 2, 8, 16, 4]
            : tensor<1x16x64xf32> into tensor<1x2x8x16x4xf32>
        %t = tensor.extract_slice %e[0, 0, 0, 0, 1] [1, 2, 8, 16, 2] [1, 1, 1, 1, 1]
            : tensor<1x2x8x16x4xf32> to tensor<2x8x16x2xf32>
        %part = tensor.collapse_shape %t [[0, 1], [2, 3]]
            : tensor<2x8x16x2xf32> into tensor<16x32xf32>""",
        lambda x: x[1, ::2, 8:72].reshape(16, 16, 4)[:, :, 1:3].reshape(16, 32),
    ),
    Chain(
        "all_in_one_and_apart",
        f"""%s = tensor.extract_slice %x[0, 3, 2] [2, 8, 64] [1, 1, 1]
            : {WHOLE} to tensor<2x8x64xf32>
        %f = tensor.collapse_shape %s [[0, 1, 2]] : tensor<2x8x64xf32> into tensor<1024xf32>
        %part = tensor.expand_shape %f [[0, 1]] output_shape [32, 32]
            : tensor<1024xf32> into tensor<32x32xf32>""",
        lambda x: x[:, 3:11, 2:66].reshape(32, 32),
    ),
    Chain(
        "offset_and_extent_at_run_time",
        f"""%s = tensor.extract_slice %x[1, 0, %offset] [1, %rows, 64] [1, 1, 1]
            : {WHOLE} to tensor<?x64xf32>
        %e = tensor.expand_shape %s [[0, 1], [2, 3]] output_shape [4, %eighth, 8, 8]
            : tensor<?x64xf32> into tensor<4x?x8x8xf32>
        %c = tensor.collapse_shape %e [[0, 1], [2, 3]]
            : tensor<4x?x8x8xf32> into tensor<?x64xf32>
        %part = tensor.cast %c : tensor<?x64xf32> to tensor<32x64xf32>""",
        lambda x: x[1, :, 3:67],
    ),
)

ids = [chain.name for chain in CHAINS]


def program(chain: Chain) -> str:
    """Reads `%part` with its columns reversed, one element at a time."""
    rows, columns = chain.view(X).shape
    part = f"tensor<{rows}x{columns}xf32>"
    return f"""
func.func @main(%x: {WHOLE}, %at: tensor<1xi32>) -> {part} {{
  %last = arith.constant {columns - 1} : index
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c29 = arith.constant 29 : index
  %given = tensor.extract %at[%c0] : tensor<1xi32>
  %offset = arith.index_cast %given : i32 to index
  %rows = arith.addi %offset, %c29 : index
  %eighth = arith.divui %rows, %c4 : index
  {chain.steps}
  %init = tensor.empty() : {part}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} outs(%init : {part}) {{
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.subi %last, %j : index
    %v = tensor.extract %part[%i, %k] : {part}
    linalg.yield %v : f32
  }} -> {part}
  return %r : {part}
}}"""


def expected(chain: Chain) -> np.ndarray:
    return chain.view(X)[:, ::-1]


def run_as_gpu_code(chain: Chain, architecture: str, flags: tuple[str, ...] | None) -> np.ndarray:
    kernel = compile_text(program(chain), Target.parse(architecture), flags)
    (result,) = run_kernel(kernel, [X, OFFSET], [(expected(chain).shape, np.float32)])
    return result


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_the_compiler_has_the_fault(architecture: str) -> None:
    """Without the project's flags, the compiler reads the wrong elements."""
    with without(EXTRACT_OF_SLICE):
        result = run_as_gpu_code(CHAINS[0], architecture, flags=())
    message = "the compiler reads slices right: remove workarounds/extract_of_slice.py"
    assert not np.array_equal(result, expected(CHAINS[0])), message


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("chain", CHAINS[:-1], ids=ids[:-1])  # the last form has no static schedule
def test_reads_as_gpu_code(chain: Chain, architecture: str) -> None:
    np.testing.assert_array_equal(run_as_gpu_code(chain, architecture, None), expected(chain))


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS, ids=ids)
def test_reads_mean_the_same(chain: Chain) -> None:
    """Rewriting keeps each chain's elements. It runs on the CPU, which reads slices correctly."""
    session = get_session(Target.parse("cpu").iree_flags)
    module = session.parse(program(chain))
    assert read_whole_sources(module) == 1
    reads = [op for op in _inside(module.operation) if op.name == "tensor.extract"]
    assert all(isinstance(op.operands[0].owner, ir.Block) for op in reads)
    assert module.operation.verify()
    binary = session.compile_to_vmfb(module)
    config = iree_runtime.Config("local-task")
    loaded = iree_runtime.VmModule.copy_buffer(config.vm_instance, binary)
    result = iree_runtime.load_vm_module(loaded, config).main(X, OFFSET).to_host()
    np.testing.assert_array_equal(result, expected(chain))


def _inside(op: ir.Operation) -> list[ir.Operation]:
    found = [op]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                found += _inside(inner.operation)
    return found


def test_whole_tensors_are_left_alone() -> None:
    chain = Chain(
        "collapsed",
        f"%part = tensor.collapse_shape %x [[0, 1], [2]] : {WHOLE} into tensor<64x96xf32>",
        lambda x: x.reshape(64, 96),
    )
    module = get_session(Target.parse("gfx942").iree_flags).parse(program(chain))
    assert read_whole_sources(module) == 0
    compile_text(program(chain), Target.parse("gfx942"))

"""Scatters that overwrite elements, on GPUs."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator, run_kernel

from hipgraft.codegen.kernel import Dispatch, Kernel
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.serial_scatter import SERIAL_SCATTER
from hipgraft.emulator import Order
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow


def scatter(target: str, count: int) -> Kernel:
    """Compiles a scatter of `count` elements to four times as many."""
    x, at, u = (f"{4 * count}xf32", f"{count}xi64", f"{count}xf32")
    torch_x, torch_at, torch_u = (
        f"!torch.vtensor<[{size}],{element}>"
        for size, element in ((4 * count, "f32"), (count, "si64"), (count, "f32"))
    )
    text = f"""
func.func @main(%x: tensor<{x}>, %at: tensor<{at}>, %u: tensor<{u}>) -> tensor<{x}> {{
  %dim = torch.constant.int 0
  %tx = torch_c.from_builtin_tensor %x : tensor<{x}> -> {torch_x}
  %tat = torch_c.from_builtin_tensor %at : tensor<{at}> -> {torch_at}
  %tu = torch_c.from_builtin_tensor %u : tensor<{u}> -> {torch_u}
  %ty = torch.aten.scatter.src %tx, %dim, %tat, %tu
      : {torch_x}, !torch.int, {torch_at}, {torch_u} -> {torch_x}
  %y = torch_c.to_builtin_tensor %ty : {torch_x} -> tensor<{x}>
  return %y : tensor<{x}>
}}
"""
    return compile_text(text, Target.parse(target))


def shared_bytes(kernel: Kernel) -> int:
    infos = [info for data in kernel.objects for info in CodeObject.parse(data).kernels.values()]
    return sum(info.lds_size for info in infos)


def workgroups(kernel: Kernel) -> list[int]:
    return [step.grid[0] for step in kernel.steps if isinstance(step, Dispatch)]


@requires_emulator
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_each_update_has_a_work_item(target: str, order: Order) -> None:
    random = np.random.default_rng(5)
    x, u = random.normal(size=1200).astype(np.float32), np.arange(300, dtype=np.float32)
    at = random.permutation(1200)[:300]
    kernel = scatter(target, 300)
    assert max(workgroups(kernel)) > 1
    assert shared_bytes(kernel) == 0  # IREE reads what other wavefronts copy without a barrier
    (found,) = run_kernel(kernel, [x, at, u], [((1200,), np.float32)], open_emulator(target, order))
    x[at] = u
    np.testing.assert_array_equal(found, x)


def test_the_compiler_has_the_fault() -> None:
    with without(SERIAL_SCATTER), pytest.raises(HipgraftError, match="shared memory"):
        scatter("gfx942", 8192)
    scatter("gfx942", 8192)

"""Merges output of `migraphx-iree-gen` into rocMLIR's compiled form of the same functions.

If the prototype was silently wrong for a case, the test says what the prototype did.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator

from hipgraft.codegen.kernel import Copy, Fill
from hipgraft.dialects import migraphx
from hipgraft.host.jit import Jit
from hipgraft.host.lowering import lower_host
from hipgraft.integrations.rocmlir.stitching import stitch
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passes.migraphx_iree_gen import MigraphxIreeGenPass
from hipgraft.passes.rock_iree_merge import RockIreeMergePass
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime import run_module

CHIP = "gfx942"

# Each takes y, something it does not read, and x, and returns one result of 32 numbers.
KERNELS = {
    "sub": """
      %0 = migraphx.sub %x, %y : <4x8xf32, 8x1>, <4x8xf32, 8x1> -> <4x8xf32, 8x1>""",
    "square": """
      %0 = migraphx.mul %x, %x : <4x8xf32, 8x1>, <4x8xf32, 8x1> -> <4x8xf32, 8x1>""",
    # Two products: several launches, with the intermediate result in separate memory.
    "chain": """
      %t = migraphx.transpose %y {permutation = [1, 0]} : <4x8xf32, 8x1> -> <8x4xf32, 1x8>
      %p = migraphx.dot %x, %t : <4x8xf32, 8x1>, <8x4xf32, 1x8> -> <4x4xf32, 4x1>
      %0 = migraphx.dot %p, %x : <4x4xf32, 4x1>, <4x8xf32, 8x1> -> <4x8xf32, 8x1>""",
}
MEANINGS = {
    "sub": lambda y, x: x - y,
    "square": lambda y, x: x * x,
    "chain": lambda y, x: (x @ y.T) @ x,
}
FUNCTION = """
    func.func private @{name}(%y: !migraphx.shaped<4x8xf32, 8x1>, %u: !migraphx.shaped<5xf32, 1>,
        %x: !migraphx.shaped<4x8xf32, 8x1>) -> !migraphx.shaped<4x8xf32, 8x1>
        attributes {{rock.arch = "{chip}:sramecc+:xnack-", rock.kernel = "mixr"}} {{{body}
      return %0 : !migraphx.shaped<4x8xf32, 8x1>
    }}"""
METADATA = """#gpu.kernel_metadata<"{name}", (memref<32xf32>, memref<5xf32>, memref<32xf32>,
    memref<32xf32>) -> (), arg_attrs = [{{llvm.noalias}}, {{}}, {{}}, {{rock.prefill = 0.0 : f32}}],
    metadata = {{block_size = 256 : i32, grid_size = 1 : i32, lds_size = 4096 : i32}}>"""
TYPES = "memref<32xf32>, memref<5xf32>, memref<32xf32>, memref<32xf32>"
SIGNATURE = "(%y: memref<32xf32>, %u: memref<5xf32>, %x: memref<32xf32>, %out: memref<32xf32>)"


def kernels(*names: str) -> str:
    return "".join(FUNCTION.format(name=one, chip=CHIP, body=KERNELS[one]) for one in names)


def table(*names: str) -> str:
    return f"#gpu.kernel_table<[{', '.join(METADATA.format(name=one) for one in names)}]>"


def binary(*names: str, symbol: str = "kernels") -> str:
    return (
        f'gpu.binary @{symbol} [#gpu.object<#rocdl.target<O = 3, chip = "{CHIP}">, '
        f'kernels = {table(*names)}, bin = "not this one">]'
    )


def arguments(y: str, x: str, out: str, unused: str = "%u", kind: str = "") -> str:
    types = [kind] * 4 if kind else TYPES.split(", ")
    named = zip((y, unused, x, out), types, strict=True)
    return f"args({', '.join(f'{name} : {each}' for name, each in named)})"


SIZES = "blocks in (%one, %one, %one) threads in (%one, %one, %one)"


def sync(kernel: str, passed: str, symbol: str = "kernels") -> str:
    return f"gpu.launch_func @{symbol}::@{kernel} {SIZES} {passed}"


def module(*parts: str, body: str) -> str:
    return f"""module attributes {{gpu.container_module}} {{
    {"".join(parts)}
    func.func @host{SIGNATURE} attributes {{hipgraft.results = 1 : i64}} {{
      %one = arith.constant 1 : index
      %lds = arith.constant 4096 : i32
      {body}
      return
    }}
  }}"""


def merge(text: str) -> ir.Module:
    merged = migraphx.parse_module(text, 1, "host.mlir", make_context())
    passes = [MigraphxIreeGenPass(), RockIreeMergePass()]
    Runner(keep_reproducer=False).run(merged, passes)
    return merged


def host_alone(merged: ir.Module) -> ir.Module:
    """The host code alone: rocMLIR's pipeline has already compiled the kernel functions away."""
    with merged.context:
        for op in list(merged.body.operations):
            if "rock.kernel" in op.operation.attributes:
                op.operation.erase()
    return merged


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.uniform(-1, 1, size).astype(np.float32) for size in (32, 5, 32)]


def run(merged: ir.Module) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns y, x and the result of the host function."""
    y, unused, x = inputs()
    (found,) = run_module(host_alone(merged), [y, unused, x], open_emulator(CHIP))
    return y.reshape(4, 8), x.reshape(4, 8), found.reshape(4, 8)


def check(merged: ir.Module, kernel: str) -> None:
    y, x, found = run(merged)
    np.testing.assert_allclose(found, MEANINGS[kernel](y, x), rtol=1e-5, atol=1e-5)


POINTERS = """
      %i{name} = memref.extract_aligned_pointer_as_index %{name} : {kind} -> index
      %w{name} = arith.index_cast %i{name} : index to i64
      %p{name} = llvm.inttoptr %w{name} : i64 to !llvm.ptr"""


def lowered(kernel: str) -> str:
    """A launch with LLVM's integers and pointers, as after the lowering of the host."""
    names = zip("yux", TYPES.split(", "), strict=False)
    text = "".join(POINTERS.format(name=name, kind=kind) for name, kind in names)
    text += POINTERS.format(name="out", kind="memref<32xf32>")
    passed = arguments("%py", "%px", "%pout", "%pu", "!llvm.ptr")
    return f"""{text}
      %llvm_one = llvm.mlir.constant(1 : i64) : i64
      gpu.launch_func @kernels::@{kernel} {SIZES.replace("%one", "%llvm_one")} : i64
          dynamic_shared_memory_size %lds {passed}"""


PASSED = arguments("%y", "%x", "%out")
FORMS = {
    "plain": lambda kernel: sync(kernel, PASSED),
    "dynamic shared memory": lambda kernel: sync(
        kernel, f"dynamic_shared_memory_size %lds {PASSED}"
    ),
    "async": lambda kernel: (
        f"""%t = gpu.wait async
      %t1 = gpu.launch_func async [%t] @kernels::@{kernel} {SIZES}
          dynamic_shared_memory_size %lds {PASSED}
      gpu.wait [%t1]"""
    ),
    "llvm": lowered,
}


@requires_emulator
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["sub", "chain"])
def test_launch_forms(kernel: str, form: str) -> None:
    """The prototype failed on several dispatches; on one, it passed `%y, %u, %x` in this order."""
    merged = merge(module(kernels(kernel), binary(kernel), body=FORMS[form](kernel)))
    printed = str(merged)
    assert "dynamic_shared_memory_size" not in printed
    launches = printed.count("gpu.launch_func")
    assert launches == 1 if kernel == "sub" else launches > 1
    assert ("gpu.alloc" in printed) == (kernel == "chain")
    check(merged, kernel)


RUNTIME = """
    llvm.func @mgpuStreamCreate() -> !llvm.ptr
    llvm.func @mgpuStreamSynchronize(!llvm.ptr)
    llvm.func @mgpuStreamDestroy(!llvm.ptr)"""


@requires_emulator
@pytest.mark.parametrize("kernel", ["sub", "chain"])
def test_launches_on_a_stream(kernel: str) -> None:
    """Launches have the stream of `gpu-to-llvm`; a second run of the pass keeps it."""
    launch = lowered(kernel).replace("gpu.launch_func", "gpu.launch_func <%stream : !llvm.ptr>")
    body = f"""%stream = llvm.call @mgpuStreamCreate() : () -> !llvm.ptr
      {launch}
      llvm.call @mgpuStreamSynchronize(%stream) : (!llvm.ptr) -> ()
      llvm.call @mgpuStreamDestroy(%stream) : (!llvm.ptr) -> ()"""
    merged = host_alone(merge(module(kernels(kernel), RUNTIME, binary(kernel), body=body)))
    assert lower_host(merged, CHIP).text.count("llvm.call @mgpuStreamCreate") == 1
    y, unused, x = inputs()
    with Jit(merged, open_emulator(CHIP)) as program:
        (found,) = program.run([y, unused, x])
    expected = MEANINGS[kernel](y.reshape(4, 8), x.reshape(4, 8))
    np.testing.assert_allclose(found.reshape(4, 8), expected, rtol=1e-5, atol=1e-5)


@requires_emulator
@pytest.mark.parametrize("form", ["plain", "llvm"])
def test_shared_memory_that_is_not_static(form: str) -> None:
    """Results of older releases may need it, beyond what the code object has."""
    text = module(kernels("sub"), binary("sub"), body=FORMS[form]("sub"))
    parsed = migraphx.parse_module(text, 1, "host.mlir", make_context())
    Runner(keep_reproducer=False).run(parsed, [MigraphxIreeGenPass()])
    with parsed.context:
        exported = parsed.operation.attributes["iree.export"]
        more = str(exported).replace("workgroup_memory = 0 :", "workgroup_memory = 640 :")
        parsed.operation.attributes["iree.export"] = ir.Attribute.parse(more)
    Runner(keep_reproducer=False).run(parsed, [RockIreeMergePass()])
    assert re.search(r"dynamic_shared_memory_size %\w+", str(parsed))
    assert re.search(r"constant\W.*640", str(parsed))
    check(parsed, "sub")


@requires_emulator
def test_an_argument_used_twice() -> None:
    """The kernel takes it once. The prototype passed four pointers to a kernel of two."""
    merged = merge(module(kernels("square"), binary("square"), body=sync("square", PASSED)))
    assert re.search(r"args\(%arg2 : [^,]*, %arg3 : [^,]*\)", str(merged))
    check(merged, "square")


@requires_emulator
@pytest.mark.parametrize("apart", [True, False], ids=["binaries", "one binary"])
def test_several_kernels_and_launches(apart: bool) -> None:
    """The prototype replaced the code of all kernels by that of one, or gave up."""
    names = ("sub", "chain")
    symbols = ("first", "second") if apart else ("kernels", "kernels")
    parts = (
        [binary(one, symbol=symbol) for one, symbol in zip(names, symbols, strict=True)]
        if apart
        else [binary(*names)]
    )
    # out = chain(y, x - y), with the launches of `sub` twice.
    body = f"""{sync("sub", PASSED, symbols[0])}
      {sync("sub", PASSED, symbols[0])}
      %scratch = memref.alloc() : memref<32xf32>
      {sync("sub", arguments("%y", "%x", "%scratch"), symbols[0])}
      {sync("chain", arguments("%y", "%scratch", "%out"), symbols[1])}"""
    merged = merge(module(kernels(*names), *parts, body=body))
    y, x, found = run(merged)
    np.testing.assert_allclose(found, MEANINGS["chain"](y, x - y), rtol=1e-5, atol=1e-5)


@requires_emulator
def test_kernels_without_a_result_stay() -> None:
    """A binary keeps its other kernels; the prototype replaced the whole binary."""
    body = f"""{sync("sub", PASSED)}
      {sync("other", PASSED)}"""
    text = module(kernels("sub"), binary("sub", "other"), body=body)
    merged = merge(text)
    printed = str(merged)
    assert "@kernels::@other blocks" in printed
    assert 'bin = "not this one"' in printed
    assert "@kernels_1::@" in printed
    with merged.context:
        for op in list(merged.body.operations[-1].regions[0].blocks[0].operations):
            if "@other" in str(op):
                op.operation.erase()
    check(merged, "sub")


TARGETS = '#rocdl.target<O = 3, chip = "gfx90a">', f'#rocdl.target<O = 3, chip = "{CHIP}">'
OBJECTS = {
    "assembly": f'[#gpu.object<{TARGETS[1]}, assembly = "code">]',
    "offload": f'[#gpu.object<{TARGETS[1]}, offload = "BC">]',
    "fatbin": f'[#gpu.object<{TARGETS[1]}, "code">]',
    "bin": f'[#gpu.object<{TARGETS[1]}, bin = "code">]',
    "properties": f'[#gpu.object<{TARGETS[1]}, properties = {{O = 3 : i32}}, bin = "code">]',
    "kernels": f'[#gpu.object<{TARGETS[1]}, kernels = {table("sub")}, bin = "code">]',
    "llvm signature": f'[#gpu.object<{TARGETS[1]}, kernels = <[#gpu.kernel_metadata<"sub", '
    "!llvm.func<void (ptr, ptr, ptr, ptr)>, metadata = {workgroup_memory = 64 : i64}>]>, "
    'bin = "code">]',
    "no processor": '[#gpu.object<#rocdl.target, bin = "code">]',
    "selected by number": f'<#gpu.select_object<1>> [#gpu.object<{TARGETS[0]}, bin = "other">, '
    f'#gpu.object<{TARGETS[1]}, bin = "code">]',
    "selected by target": f"<#gpu.select_object<{TARGETS[1]}>> [#gpu.object<{TARGETS[0]}, bin = "
    f'"other">, #gpu.object<{TARGETS[1]}, bin = "code">]',
}


@pytest.mark.sampled(12)
@requires_emulator
@pytest.mark.parametrize("objects", OBJECTS)
def test_object_forms(objects: str, tmp_path: Path) -> None:
    """Objects in the forms of `gpu-module-to-binary`; upstream's tools can read the output."""
    text = module(kernels("sub"), f"gpu.binary @kernels {OBJECTS[objects]}",
                  body=sync("sub", PASSED))  # fmt: skip
    merged = merge(text)
    printed = str(host_alone(merged))
    assert '"code"' not in printed
    if objects == "properties":
        assert "properties = {O = 3 : i32}" in printed
    check(merged, "sub")
    tool = shutil.which("iree-opt")
    if tool is not None:
        (tmp_path / "merged.mlir").write_text(printed)
        subprocess.run([tool, "merged.mlir", "-o", "again.mlir"], cwd=tmp_path, check=True)


def test_objects_for_another_processor_stay() -> None:
    """The prototype put code for one processor under the target of another."""
    objects = OBJECTS["selected by number"].replace("<1>", "<0>")
    merged = merge(module(kernels("sub"), f"gpu.binary @kernels {objects}",
                          body=sync("sub", PASSED)))  # fmt: skip
    assert str(merged).count("\\7FELF") == 0
    assert "@kernels::@sub" in str(merged)


def test_steps_of_graphs_get_addresses_in_the_memory_of_all() -> None:
    """One graph writes to the second half of a transient, and the other one copies it."""
    text = """
    "hipdnn.executable"() {sym_name = "fill", operand_types = [], result_types = [tensor<64xi8>],
      arg_strides = [], arg_offsets = array<i64>, binaries = [{target = "gfx942", format = "hsaco",
      objects = [], workspace_size = 0 : i64, steps = [{op = "fill", buffer = 0 : i64,
      offset = 16 : i64, length = 32 : i64, pattern = 7 : i64, pattern_length = 1 : i64}]}]}
      : () -> ()
    "hipdnn.executable"() {sym_name = "copy", operand_types = [tensor<64xi8>],
      result_types = [tensor<64xi8>], arg_strides = [unit], arg_offsets = array<i64: 0>,
      binaries = [{target = "gfx942", format = "hsaco", objects = [], workspace_size = 0 : i64,
      steps = [{op = "copy", source = 0 : i64, source_offset = 8 : i64, target = 1 : i64,
      target_offset = 4 : i64, length = 48 : i64}]}]} : () -> ()
    func.func @f(%y: memref<64xi8>) {
      %first = memref.alloc() : memref<300xi8>
      %second = memref.alloc() : memref<128xi8>
      %half = arith.constant 64 : index
      %view = memref.view %second[%half][] : memref<128xi8> to memref<64xi8>
      "hipdnn.execute"(%view) {callee = @fill} : (memref<64xi8>) -> ()
      "hipdnn.execute"(%view, %y) {callee = @copy} : (memref<64xi8>, memref<64xi8>) -> ()
      return
    }
    """
    kernel = stitch(ir.Module.parse(text, make_context()), "f")
    start = 512 + 64  # allocations are aligned to 256 bytes
    assert kernel.steps == (Fill(1, start + 16, 32, 7, 1), Copy(1, start + 8, 0, 4, 48))
    assert kernel.workspace_size == 768

"""hipdnn-merge: grafts the compiled kernels into the host program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hipgraft.codegen.kernel import Copy, Dispatch, Fill
from hipgraft.codegen.workspace import split_workspace
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.symbols import symbol_of
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.global_constants import GlobalConstants
from hipgraft.transforms.grafting import CompiledGraph, GraftedKernel, graft, grouped, suffixes
from hipgraft.transforms.host_builder import HostBuilder, Region


@dataclass
class _HostFunction:
    """Builds one host function from a function on buffers, which stays unchanged."""

    old: ir.Operation
    kernels: dict[str, GraftedKernel]
    builder: HostBuilder
    regions: dict[ir.Value, Region] = field(default_factory=dict[ir.Value, Region])
    shifts: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])

    def convert(self, op: ir.Operation) -> None:
        """Appends the host ops for `op`.

        Raises:
            PassFailure: `op` is not of stage `hipdnn-buffers`.
        """
        self.builder.location = op.location
        match op.name:
            case "hipdnn.execute":
                self._execute(op)
            case "memref.alloc":
                nbytes = ir.MemRefType(op.results[0].type).shape[0]
                self.regions[op.results[0]] = Region(builders.alloc(nbytes, op.location))
            case "memref.get_global":
                name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
                memref = builders.get_global(name, op.results[0].type, op.location)
                self.regions[op.results[0]] = Region(memref)
            case "memref.view":
                shift = self.shifts[op.operands[1]]
                self.regions[op.results[0]] = self.regions[op.operands[0]].at(shift)
            case "memref.reinterpret_cast":
                self.regions[op.results[0]] = self._cast(op)
            case "arith.constant":
                self.shifts[op.results[0]] = ir.IntegerAttr(op.attributes["value"]).value
            case "func.return":
                self.builder.finish()
            case _:
                raise PassFailure(f"'{op.name}' op is unexpected among buffers", op)

    def _cast(self, op: ir.Operation) -> Region:
        (offset,) = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
        width = byte_width(ir.MemRefType(op.results[0].type).element_type) or 0
        return self.regions[op.operands[0]].at(offset * width)

    def _execute(self, op: ir.Operation) -> None:
        grafted = self.kernels[_callee(op)]
        buffers = [self.regions[operand] for operand in op.operands]
        steps, sizes = split_workspace(grafted.kernel.steps, len(buffers))
        buffers += [Region(builders.alloc(size, op.location)) for size in sizes]
        for step in steps:
            match step:
                case Fill():
                    self.builder.fill(step, buffers)
                case Copy():
                    self.builder.copy(step, buffers)
                case Dispatch():
                    self.builder.launch(grafted.binaries[step.object], step, buffers)


def _callee(execute: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(execute.attributes["callee"]).value


def _body(function: ir.Operation) -> Iterator[ir.Operation]:
    for op in function.regions[0].blocks[0].operations:
        yield op.operation


def _callees(function: ir.Operation, graphs: dict[str, CompiledGraph]) -> list[str]:
    """Returns the symbols of the executables that a function calls."""
    executes = [op for op in _body(function) if op.name == "hipdnn.execute"]
    for op in executes:
        if _callee(op) not in graphs:
            raise PassFailure(f"'hipdnn.execute' op callee '@{_callee(op)}' is no executable", op)
    return [_callee(op) for op in executes]


def _create_function(
    old: ir.Operation,
    name: str,
    targets: Sequence[str],
    kernels: dict[str, GraftedKernel],
    constants: GlobalConstants,
) -> None:
    attributes = builders.attributes_of(old)
    attributes["sym_name"] = ir.StringAttr.get(name)
    attributes["hipgraft.targets"] = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in targets])
    new = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=old.location)
    arguments = list(old.regions[0].blocks[0].arguments)
    types = [argument.type for argument in arguments]
    block = new.regions[0].blocks.append(*types, arg_locs=[a.location for a in arguments])
    with ir.InsertionPoint(block):
        host = _HostFunction(old, kernels, HostBuilder(new, constants, old.location))
        host.regions = {
            before: Region(after) for before, after in zip(arguments, block.arguments, strict=True)
        }
        for op in _body(old):
            host.convert(op)


def _merge_function(
    function: ir.Operation,
    called: Sequence[str],
    targets: Sequence[str],
    grafted: dict[str, dict[str, GraftedKernel]],
    constants: GlobalConstants,
) -> None:
    """Writes one host function per distinct schedule before the old function."""
    kernels = {target: {name: grafted[name][target] for name in called} for target in targets}
    keys = [tuple(one.schedule for one in kernels[target].values()) for target in targets]
    groups = grouped(targets, keys)
    name = symbol_of(function)
    with ir.InsertionPoint(function):
        for group, suffix in zip(groups, suffixes(groups), strict=True):
            _create_function(function, name + suffix, group, kernels[group[0]], constants)


@dataclass(frozen=True)
class HipdnnMergePass(Pass):
    """Turns executables into `gpu.binary` and their calls into launches, fills and copies.

    Before:
        ```mlir
        func.func @main(%x: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.results = 1 : i64} {
          "hipdnn.execute"(%x, %y) {callee = @gelu_0} : (memref<64xf16>, memref<64xf16>) -> ()
          func.return
        }
        "hipdnn.executable"() {
          sym_name = "gelu_0", binaries = [{target = "gfx942", ...}]
        } : () -> ()
        ```

    After:
        ```mlir
        gpu.binary @gelu_0 [
          #gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[...]>, bin = "...">]
        func.func @main(%x: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
          %t0 = gpu.wait async
          %t1 = gpu.launch_func async [%t0] @gelu_0::@kernel blocks in (%c1, %c1, %c1)
              threads in (%c64, %c1, %c1) args(%x : memref<64xf16>, %y : memref<64xf16>)
          gpu.wait [%t1]
          func.return
        }
        ```

    Requires:
        Stage `hipdnn-buffers`, executables with AMDGPU code objects or PTX.

    Ensures:
        Upstream ops only. All device ops of a function form one chain of async tokens, so
        they run in program order. Every memref that a kernel gets has offset 0: a range inside
        a byte buffer is a `memref.view`; one inside an argument is rebuilt from its pointer
        (`memref.extract_aligned_pointer_as_index`, `llvm.inttoptr`, a descriptor), because
        upstream's lowering drops memref offsets. Each buffer, and each part of
        a workspace that no step uses together with another part, is a `memref.alloc`, which
        `hipdnn-plan-memory` turns into device memory. A buffer is long enough for what kernels load
        behind the slices that they read. Targets whose kernels agree in name and
        block size share one `gpu.binary`, which has an object for each. Targets with equal
        schedules share one function; each further schedule has a function with the suffix of its
        first target. `hipgraft.targets` lists the targets of each function.

        The result lowers with `lower-affine`, `convert-scf-to-cf`, `expand-strided-metadata`,
        `finalize-memref-to-llvm`, `convert-func-to-llvm`,
        `gpu-to-llvm{use-bare-pointers-for-kernels=1 intersperse-sizes-for-kernels=0}`,
        `convert-cf-to-llvm`, `convert-arith-to-llvm`, `convert-index-to-llvm` and
        `reconcile-unrealized-casts`, in this order. Only programs of several or dynamic shapes
        need the passes for `affine`, `scf` and `cf`.

    Errors:
        An executable without a binary for a target, or with one that is not a code object; a
        call of something else; an op that is not of stage `hipdnn-buffers`.

    Source:
        own
    """

    name: ClassVar[str] = "hipdnn-merge"
    requires: ClassVar[str | None] = "hipdnn-buffers"
    ensures: ClassVar[str | None] = "host"

    target: tuple[str, ...] = option((), "architectures to merge; by default all that are there")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Replaces executables and their calls."""
        operations = [op.operation for op in module.body.operations]
        executables = [op for op in operations if op.name == "hipdnn.executable"]
        if not executables:
            return
        graphs = {graph.name: graph for graph in map(CompiledGraph.read, executables)}
        functions = [op for op in operations if op.name == "func.func" and op.regions[0].blocks]
        called = {op: _callees(op, graphs) for op in functions}
        targets = self.target or tuple(next(iter(graphs.values())).kernels)
        with ir.InsertionPoint.at_block_begin(module.body):
            grafted = {name: graft(graph, targets) for name, graph in graphs.items()}
        constants = GlobalConstants(module.operation)
        for function in functions:
            if called[function]:
                _merge_function(function, called[function], targets, grafted, constants)
                state.count("functions-merged")
        for op in [*executables, *(op for op in functions if called[op])]:
            op.erase()
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        state.count("graphs-merged", len(graphs))

"""Host programs in the LLVM dialect, and object files of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipgraft import ir_io
from hipgraft.bindings import ir
from hipgraft.outputs import replacing
from hipgraft.runtime.host_form import externalize_constants, globals_of, select_target
from hipgraft.runtime.memref import tensor_of
from hipgraft.runtime.recording import Tensor


@dataclass(frozen=True)
class LoweredHost:
    """A host program that is lowered for one architecture.

    Attributes:
        text: a module of the LLVM dialect.
        entry: symbol of its function; `_mlir_ciface_ENTRY` takes pointers to memref descriptors.
        arguments: inputs, then constants, then results.
        constants: symbols of the constants, as they were in the host program.
        results: how many arguments are results.
    """

    text: str
    entry: str
    arguments: tuple[Tensor, ...]
    constants: tuple[str, ...]
    results: int

    @property
    def inputs(self) -> int:
        """How many arguments are inputs."""
        return len(self.arguments) - self.results - len(self.constants)


def lower_host(module: ir.Module, architecture: str, entry: str = "") -> LoweredHost:
    """Lowers a copy of a host program to the LLVM dialect.

    Args:
        module: stage `host`.
        architecture: of the device that it is to run on.
        entry: what to call its function; its own symbol by default.

    Raises:
        HipgraftError: the program has no function for the architecture, or upstream's passes
            fail.
    """
    # Only now: torch-mlir's wheel takes a while to load.
    from hipgraft.upstream import lower

    copy = ir_io.clone_module(module)
    with copy.context, copy.operation.location:
        function = select_target(copy, architecture)
        constants = externalize_constants(function, globals_of(copy))
        for op in globals_of(copy).values():
            op.erase()
        if entry:
            function.attributes["sym_name"] = ir.StringAttr.get(entry)
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        arguments = [tensor_of(one) for one in function.regions[0].blocks[0].arguments]
        return LoweredHost(
            text=lower(copy),
            entry=ir.StringAttr(function.attributes["sym_name"]).value,
            arguments=tuple(arguments),
            constants=tuple(constants),
            results=ir.IntegerAttr(function.attributes["hipgraft.results"]).value,
        )


def write_object(lowered: LoweredHost, path: str | Path) -> None:
    """Writes a position-independent object file for this machine.

    It calls MLIR's GPU runtime (`mgpu*`), with which it is to be linked.

    Raises:
        HipgraftError: the file cannot be written.
    """
    from hipgraft.runtime.host_memory import NullDevice
    from hipgraft.runtime.mgpu import MgpuRuntime
    from hipgraft.upstream import make_engine

    runtime = MgpuRuntime(NullDevice(""))
    engine = make_engine(lowered.text, runtime.symbols, is_initialized=False)
    with replacing(str(path)) as temporary:
        engine.dump_to_object_file(str(temporary))
    del engine  # runs the program's destructors, which still need the runtime
    runtime.close()

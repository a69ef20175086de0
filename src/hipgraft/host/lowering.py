"""Lowers host programs to the LLVM dialect, and writes their object files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.entry_points import VARIANT_OF, extents_of, variant_name
from hipgraft.ir.outputs import replacing
from hipgraft.ir.symbols import symbol_of
from hipgraft.runtime.host_program.form import (
    constants_of,
    externalize_constants,
    globals_of,
    select_target,
)
from hipgraft.runtime.host_program.memref import tensor_of
from hipgraft.runtime.recording import Tensor
from hipgraft.transforms.variant_dispatch import add_dispatchers


@dataclass(frozen=True)
class LoweredHost:
    """A host program that is lowered for one architecture.

    Attributes:
        text: a module of the LLVM dialect.
        entry: symbol of the function; `_mlir_ciface_ENTRY` takes pointers to memref descriptors.
        variants: arguments of each variant, or of the program if it has no variants:
            inputs, then constants, then results.
        constants: symbols of the constants in the host program.
        results: number of arguments that are results.
        extents: symbol of the function that computes the results' extents from the inputs, if they
            are dynamic; else empty.
    """

    text: str
    entry: str
    variants: dict[str, tuple[Tensor, ...]]
    constants: tuple[str, ...]
    results: int
    extents: str = ""

    @property
    def inputs(self) -> int:
        """The number of arguments that are inputs."""
        return len(next(iter(self.variants.values()))) - self.results - len(self.constants)


def lower_host(module: ir.Module, architecture: str, entry: str = "") -> LoweredHost:
    """Lowers a copy of a host program to the LLVM dialect.

    Args:
        module: stage `host`.
        architecture: architecture of the device that will run it.
        entry: name for the function; by default its own symbol.

    Raises:
        HipgraftError: the program has no function for the architecture, or upstream's passes
            fail.
    """
    # Imported here because torch-mlir's wheel takes a while to load.
    from hipgraft.ir.upstream import lower

    copy = ir_io.clone_module(module)
    with copy.context, copy.operation.location:
        functions = select_target(copy, architecture)
        values = globals_of(copy)
        for function in functions:
            externalize_constants(function, values)
            if entry:
                _rename(function, entry)
        constants = {name: _tensor_of_global(op) for name, op in values.items()}
        for op in values.values():
            op.erase()
        (function,) = add_dispatchers(copy, trailing=constants) or functions
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        extents = _publish_extents(function)
        taken = [name for name in constants_of(function) if name in constants]
        return LoweredHost(
            text=lower(copy),
            entry=symbol_of(function),
            variants={
                variant_name(one): _arguments(one, {name: constants[name] for name in taken})
                for one in functions
            },
            constants=tuple(taken),
            results=ir.IntegerAttr(function.attributes["hipgraft.results"]).value,
            extents=extents,
        )


def _publish_extents(function: ir.Operation) -> str:
    """Makes the function that computes the results' extents public, if there is one."""
    extents = extents_of(function)
    if extents is None:
        return ""
    name = f"{ir.StringAttr(function.attributes['sym_name']).value}_extents"
    extents.attributes["sym_name"] = ir.StringAttr.get(name)
    extents.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    del extents.attributes["sym_visibility"]
    return name


def _tensor_of_global(op: ir.Operation) -> Tensor:
    kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
    return Tensor("", tuple(kind.shape), str(kind.element_type))


def _rename(function: ir.Operation, entry: str) -> None:
    """Renames a function, or the program that the function is a variant of, to `entry`."""
    name = symbol_of(function)
    program = name
    if VARIANT_OF in function.attributes:
        program = ir.StringAttr(function.attributes[VARIANT_OF]).value
        function.attributes[VARIANT_OF] = ir.StringAttr.get(entry)
    function.attributes["sym_name"] = ir.StringAttr.get(entry + name.removeprefix(program))


def _arguments(function: ir.Operation, constants: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """Returns the arguments for a call of `function`, which may not use all of the constants."""
    tensors = [tensor_of(one) for one in function.regions[0].blocks[0].arguments]
    first_result = len(tensors) - ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    own = [name for name in constants_of(function) if name in constants]
    inputs = tensors[: first_result - len(own)]
    return (*inputs, *constants.values(), *tensors[first_result:])


def write_object(lowered: LoweredHost, path: str | Path) -> None:
    """Writes a position-independent object file for this machine.

    It calls MLIR's GPU runtime (`mgpu*`) and must be linked with it.

    Raises:
        HipgraftError: the file cannot be written.
    """
    from hipgraft.host.mgpu import MgpuRuntime
    from hipgraft.ir.upstream import make_engine
    from hipgraft.runtime.devices.host_memory import NullDevice

    runtime = MgpuRuntime(NullDevice(""))
    engine = make_engine(lowered.text, runtime.symbols, is_initialized=False)
    with replacing(str(path)) as temporary:
        engine.dump_to_object_file(str(temporary))
    del engine  # this runs the program's destructors, which still need the runtime
    runtime.close()

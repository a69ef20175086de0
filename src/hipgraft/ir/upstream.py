"""Uses the upstream MLIR in torch-mlir's wheel to lower to LLVM and generate host code.

IREE's bindings have neither `gpu-to-llvm` nor an execution engine. The contexts of the two wheels
are separate, so modules are passed as text. Bytecode in memory would need an alignment that Python
does not guarantee.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from hipgraft.ir.bindings import asm, ir
from hipgraft.ir.diagnostics import HipgraftError

# The wheel has no stubs.
_ir: Any = import_module("torch_mlir.ir")
_engines: Any = import_module("torch_mlir.execution_engine")
_passes: Any = import_module("torch_mlir.passmanager")

_CONSTANT = "llvm.mlir.constant"

# Kernels take memrefs as bare pointers, as IREE's kernels do, and other arguments unchanged.
PHASE_HOST_TO_LLVM = (
    "lower-affine",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm",
    "gpu-to-llvm{use-bare-pointers-for-kernels=1 intersperse-sizes-for-kernels=0}",
    "convert-cf-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "reconcile-unrealized-casts",
)


def lower(module: ir.Module) -> str:
    """Returns the text of a host program lowered to the LLVM dialect.

    Raises:
        HipgraftError: upstream's passes fail.
    """
    pipeline = f"builtin.module({','.join(PHASE_HOST_TO_LLVM)})"
    with _ir.Context():
        lowered = _ir.Module.parse(asm(module, debug_info=True))
        try:
            _passes.PassManager.parse(pipeline).run(lowered.operation)
        except _ir.MLIRError as error:
            raise HipgraftError(f"lowering to LLVM failed: {error}") from None
        _type_constants(lowered)
        return lowered.operation.get_asm(enable_debug_info=True)


def make_engine(text: str, symbols: Mapping[str, int], *, is_initialized: bool = True) -> Any:
    """Compiles a module of the LLVM dialect for this machine.

    Args:
        text: the module.
        symbols: addresses of the functions that the module calls.
        is_initialized: whether to run the module's constructors, which load code objects.
    """
    with _ir.Context():
        engine = _engines.ExecutionEngine(_ir.Module.parse(text), opt_level=2, enable_pic=True)
    for name, address in symbols.items():
        engine.raw_register_runtime(name, ctypes.c_void_p(address))
    if is_initialized:
        engine.initialize()
    return engine


def _type_constants(module: Any) -> None:
    """Gives the values of `llvm.mlir.constant` ops the type of their results.

    The lowering leaves values of type `index`, which IREE's newer LLVM dialect does not accept.
    """
    index = _ir.IndexType.get()
    for function in module.body.operations:
        for block in function.regions[0].blocks if len(function.regions) else ():
            for op in block.operations:
                value = op.attributes.get("value") if op.operation.name == _CONSTANT else None
                if value is not None and value.type == index:
                    number = _ir.IntegerAttr(value).value
                    kind = op.operation.results[0].type
                    op.attributes["value"] = _ir.IntegerAttr.get(kind, number)

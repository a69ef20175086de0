"""Imports the MLIR bindings, which are IREE's; no other module does.

The bindings look up a dialect's Python module for every handle that crosses into Python and do not
cache a miss, which costs tens of microseconds each time. Empty modules in `sys.modules`, added
before the first lookup, turn the miss into a hit.

All tools import this module when they start, so it omits what most runs do not need: numpy, and the
Python classes of dialects.
"""

import ctypes
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hipgraft.ir.signals import deferred

if TYPE_CHECKING:
    from iree.compiler.dialects import arith as arith_d  # noqa: TID251
    from iree.compiler.dialects import func as func_d  # noqa: TID251
    from iree.compiler.dialects import gpu as gpu_d  # noqa: TID251

__all__ = [
    "arith_d",
    "asm",
    "compiler_library",
    "func_d",
    "gpu_d",
    "indexing_maps",
    "ir",
    "make_context",
    "passmanager",
]

_DIALECTS_WITHOUT_MODULE = (
    "builtin",
    "hipdnn",
    "iree_codegen",
    "iree_gpu",
    "iree_linalg_ext",
    "iree_tensor_ext",
    "llvm",
    "migraphx",
    "ml_program",
    "stablehlo",
    "tm_tensor",
    "torch",
    "torch_c",
)


_DIALECTS = ("arith_d", "func_d", "gpu_d")

# The dialects of the ops that hipgraft creates; ops of unloaded dialects would be unregistered.
# Parsers and passes load what they need. Loading all dialects takes three times as long, and each
# canonicalization builds the patterns of all loaded dialects.
_LOADED_DIALECTS = (
    *("affine", "arith", "cf", "func", "gpu", "linalg", "llvm", "math", "memref", "scf", "tensor"),
    *("tm_tensor", "torch", "torch_c", "flow", "hal", "stream", "util"),
    *("iree_linalg_ext", "iree_tensor_ext"),
)


class _Numpy(ModuleType):
    """Imports numpy when an attribute is accessed.

    Importing numpy takes 75 ms, more than loading MLIR. `iree.compiler.ir` uses it only in four
    builders of attributes.
    """

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get("numpy") is self:
            del sys.modules["numpy"]
        return getattr(import_module("numpy"), name)


@contextmanager
def _without_numpy() -> Generator[None, None, None]:
    numpy = sys.modules.setdefault("numpy", _Numpy("numpy"))
    try:
        yield
    finally:
        if isinstance(numpy, _Numpy):
            sys.modules.pop("numpy", None)


def _add_stub_modules() -> None:
    from importlib.util import find_spec

    for name in _DIALECTS_WITHOUT_MODULE:
        path = f"iree.compiler.dialects.{name}"
        if path not in sys.modules and find_spec(path) is None:
            sys.modules[path] = ModuleType(path)


with deferred(), _without_numpy():
    _add_stub_modules()
    from iree.compiler import ir, passmanager  # noqa: TID251


def __getattr__(name: str) -> ModuleType:
    if name not in _DIALECTS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    with deferred():
        return import_module(f"iree.compiler.dialects.{name.removesuffix('_d')}")


@cache
def compiler_library() -> ctypes.PyDLL:
    """Returns the library of the bindings, for MLIR C functions that they do not wrap.

    Its calls keep the interpreter's lock, as handlers of diagnostics in Python expect.
    """
    folder = Path(sys.modules["iree.compiler._mlir_libs"].__path__[0])
    return ctypes.PyDLL(str(folder / "libIREECompiler.so"))


def make_context() -> ir.Context:
    """Returns a context in which every stage of a program parses.

    Unregistered dialects are allowed because `hipdnn` is defined in Python; the pass runner
    verifies its ops. Multithreading is off: Python verifiers under MLIR's threads deadlock.
    """
    context = ir.Context(load_on_create_dialects=())
    for name in _LOADED_DIALECTS:
        context.get_dialect_descriptor(name)
    context.allow_unregistered_dialects = True
    context.enable_multithreading(False)
    return context


def asm(op: "ir.Operation | ir.OpView | ir.Module", *, debug_info: bool = False) -> str:
    """Returns the textual form of `op` with all of its constants."""
    operation = op.operation
    return operation.get_asm(enable_debug_info=debug_info)


def indexing_maps(op: ir.Operation) -> Sequence[ir.Attribute]:
    """Returns the affine maps from an op's loops to its operands; none for an op without loops."""
    if "indexing_maps" in op.attributes:
        return list(ir.ArrayAttr(op.attributes["indexing_maps"]))
    # The Python module of the dialect would import NumPy.
    native = import_module("iree.compiler._mlir_libs._mlirDialectsLinalg")
    return list(native.get_indexing_maps(op) or ())

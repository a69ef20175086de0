"""Compiles a whole kernel function, as the prototype did: IREE decides where it is cut."""

from __future__ import annotations

from hipgraft.bindings import ir
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.lowering import lower_container
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.diagnostics import HipgraftError
from hipgraft.dialects import hipdnn
from hipgraft.migraphx_to_hipdnn import CONVERSIONS, KEPT, Converter, build_function
from hipgraft.outlining import BodyBuilder
from hipgraft.pass_base import PassState
from hipgraft.rock.arch import Architecture
from hipgraft.rock.export import Exported
from hipgraft.rock.external import compile_externally
from hipgraft.rock.settings import Settings


def compile_function(
    function: ir.Operation, architecture: Architecture, settings: Settings, state: PassState
) -> Exported:
    """Compiles one function on shaped values, which is only read.

    Raises:
        HipgraftError: an op cannot be converted, the architecture is unknown, or the compiler
            fails.
    """
    target = Target.parse(architecture.chip)
    if target.kind is not TargetKind.AMDGPU:
        raise HipgraftError(f"expected an AMDGPU architecture, found '{architecture.chip}'")
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    kernel = _compile(_entry_text(function, target, state), target, architecture, settings)
    name = ir.StringAttr(function.attributes["sym_name"]).value
    return Exported(name, kernel, len(kind.inputs), len(kind.results))


def _compile(text: str, target: Target, architecture: Architecture, settings: Settings) -> Kernel:
    features = architecture.features
    extra = (f"--iree-rocm-target-features={features}",) if features else ()
    flags = (*target.default_flags, *extra, *settings.flags)
    if settings.bin is None:
        return compile_text(text, target, flags)
    return compile_externally(text, target, flags, settings)


def _entry_text(function: ir.Operation, target: Target, state: PassState) -> str:
    """The compiler's input: all of the function as one container, on its memory."""
    scratch = ir.Module.create(function.location)
    with ir.InsertionPoint(scratch.body):
        copy = function.clone()
        made = build_function(copy.operation, Converter(CONVERSIONS, KEPT, state), flat=True)
    entry = made.entry_block
    *body, terminator = [op.operation for op in entry.operations]
    with ir.InsertionPoint.at_block_begin(entry):
        container = hipdnn.fallback(
            list(entry.arguments),
            [value.type for value in terminator.operands],
            loc=function.location,
        )
    builder = BodyBuilder(container.body, list(entry.arguments))
    for op in body:
        builder.copy(op, [result.type for result in op.results])
    yielded = [builder.value(value) for value in terminator.operands]
    builder.finish(yielded, terminator.location)
    return lower_container(container, target)

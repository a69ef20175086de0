"""Prepares an input module's entry function for compilation to a schedule."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.target import (
    COMMON_FLAGS,
    SPLIT_REDUCTIONS,
    TRANSPOSES_THROUGH_CONVOLUTIONS,
    turned_off,
)
from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.diagnostics import CodegenError

ENTRY = "main"

WHOLE_REDUCTIONS = "// no reduction is split over workgroups"
"""A line of an input module that keeps IREE from splitting its reductions over workgroups."""

LATE_TRANSPOSES = "// no transposition is folded into a convolution"
"""A line of an input module that keeps IREE from folding transpositions into its convolutions."""

_TURNED_OFF = {WHOLE_REDUCTIONS: SPLIT_REDUCTIONS, LATE_TRANSPOSES: TRANSPOSES_THROUGH_CONVOLUTIONS}

# The last passes of the compiler's input phase. The passes before them convert from every input
# dialect and load these dialects into the context; each later canonicalization then builds the
# patterns of all loaded dialects, which takes a fifteenth of the whole compilation.
_IMPORT_PIPELINE = (
    "builtin.module(iree-import-public,iree-import-ml-program,iree-sanitize-module-names)"
)

# Dialects that need the whole input phase, and the prefix of the flags that configure it.
_INPUT_DIALECTS = ("tosa.", "stablehlo.", "chlo.", "vhlo.")
_INPUT_FLAGS = "--iree-input-"

_TORCH_PIPELINE = "builtin.module(torch-to-iree{emit-async-entry-points=false})"

_SCHEDULE_PIPELINE = "builtin.module(iree-stream-transformation-pipeline{optimize-bindings=false})"


def effective_flags(text: str, flags: Sequence[str]) -> tuple[str, ...]:
    """Returns the flags for an input module, without those that its text turns off."""
    return turned_off(flags, [flag for line, flag in _TURNED_OFF.items() if line in text])


def lower_torch(module: ir.Module) -> None:
    """Lowers torch ops in place; a module without torch ops stays as it is.

    This pipeline runs in place of IREE's input conversion, which would generate an asynchronous
    entry point with fences.

    Raises:
        CodegenError: an op has no lowering.
    """
    run_passes(_TORCH_PIPELINE, module)


def needs_input_phase(text: str, flags: Sequence[str]) -> bool:
    """Whether a module, given as text with its flags, needs more than `import_builtin`."""
    asked = [flag for flag in flags if flag.startswith(_INPUT_FLAGS) and flag not in COMMON_FLAGS]
    return bool(asked) or any(name in text for name in _INPUT_DIALECTS)


def import_builtin(module: ir.Module) -> None:
    """Runs a module of upstream dialects to the end of the compiler's input phase, in place.

    Raises:
        CodegenError: an op cannot be imported.
    """
    run_passes(_IMPORT_PIPELINE, module)


def schedule_dispatches(module: ir.Module) -> None:
    """Runs a module from the end of the compiler's flow phase to the end of its stream phase.

    The compiler's default binds each dispatch to all transients and compiles their offsets into its
    code. This pipeline binds each dispatch to the bytes that it uses, because a host program
    assigns new offsets.

    Raises:
        CodegenError: the dispatches cannot be scheduled.
    """
    run_passes(_SCHEDULE_PIPELINE, module)


def run_passes(pipeline: str, module: ir.Module | ir.Operation) -> None:
    """Runs passes that the bindings register on a module, in place.

    Raises:
        CodegenError: a pass fails.
    """
    try:
        passmanager.PassManager.parse(pipeline, module.context).run(module.operation)
    except ir.MLIRError as error:
        first = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
        raise CodegenError(first) from None


def find_entry(module: ir.Module) -> ir.Operation:
    """Returns the function `@main`.

    Raises:
        CodegenError: there is no such function.
    """
    for op in module.body.operations:
        attributes = op.operation.attributes
        if "sym_name" in attributes and ir.StringAttr(attributes["sym_name"]).value == ENTRY:
            return op.operation
    raise CodegenError(f"the compiler's module has no function '{ENTRY}'")


def signature(module: ir.Module) -> ir.FunctionType:
    """Returns the type of `@main`."""
    return ir.FunctionType(ir.TypeAttr(find_entry(module).attributes["function_type"]).value)


def is_dynamic(kind: ir.FunctionType) -> bool:
    """Whether a function takes or returns tensors of dynamic shapes.

    Raises:
        CodegenError: an operand or result is not a ranked tensor.
    """
    for side, types in (("operand", kind.inputs), ("result", kind.results)):
        for index, type_ in enumerate(types):
            if not isinstance(type_, ir.RankedTensorType):
                raise CodegenError(f"{side} {index} is a {type_}, expected a ranked tensor")
    tensors = [ir.RankedTensorType(type_) for type_ in (*kind.inputs, *kind.results)]
    return not all(tensor.has_static_shape for tensor in tensors)


def add_result_buffers(module: ir.Module) -> None:
    """Adds an argument to `@main` for each result: the buffer that receives the result.

    Without these buffers IREE allocates the results itself, packs several into one allocation, and
    returns an operand's memory where a result equals an operand.
    """
    function, kind = find_entry(module), signature(module)
    with module.context, ir.Location.unknown():
        buffer = ir.Type.parse("!hal.buffer")
        index = ir.IndexType.get()
        extra = [
            ir.DictAttr.get({"iree.abi.output": ir.IntegerAttr.get(index, number)})
            for number in range(len(kind.results))
        ]
        inputs = [*kind.inputs, *(buffer for _ in extra)]
        plain = [ir.DictAttr.get({}) for _ in kind.inputs]
        for _ in extra:
            function.regions[0].blocks[0].add_argument(buffer, function.location)
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(inputs, kind.results)
        )
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*plain, *extra])

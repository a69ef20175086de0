"""Tells the stage of a program and checks what the frontends promise of stage 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError, VerifyError, location_text
from hipgraft.nested_modules import modules_in, symbols_of
from hipgraft.runtime.entry import SYMBOLS, VARIANT_OF
from hipgraft.torch_builder import extents_and_element, shape_and_element

_TENSOR = re.compile(r"!torch\.v?tensor|tensor<")


def stage_of(module: ir.Module) -> str:
    """Returns the stage of a program by the ops that only that stage or a later one has.

    Raises:
        HipgraftError: the module has no function.
    """
    names = {_full_name(op) for op in _operations(module)}
    if "func.func" not in names:
        raise HipgraftError("the module has no function", location=location_text(_location(module)))
    if any(name.startswith("gpu.") for name in names):
        return "host"
    if "hipdnn.executable" in names:
        return "hipdnn-buffers" if _takes_memrefs(module) else "hipdnn-executables"
    if names & {"hipdnn.graph", "hipdnn.fallback"}:
        return "hipdnn-graphs"
    if any(name.startswith(("hipdnn.", "migraphx.mlir.")) for name in names):
        return "hipdnn-ops"
    if any(name.startswith("migraphx.") for name in names) or _has_shaped_border(module):
        return "migraphx"
    return "onnx" if any(name.startswith("onnx.") for name in names) else "torch"


def _location(module: ir.Module) -> ir.Location:
    return module.operation.location


def _operations(module: ir.Module) -> Iterator[ir.Operation]:
    """The module's ops, those of modules in it, and those of their functions' bodies."""
    for inner in modules_in(module.operation):
        for symbol in symbols_of(inner):
            yield symbol
            for region in symbol.regions:
                for block in region.blocks:
                    yield from (op.operation for op in block.operations)


def _full_name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name


def _takes_memrefs(module: ir.Module) -> bool:
    return _is_in_border("memref<", module)


def _has_shaped_border(module: ir.Module) -> bool:
    return _is_in_border("!migraphx.shaped<", module)


def _is_in_border(text: str, module: ir.Module) -> bool:
    """Whether the type of some function holds `text`."""
    symbols = (symbol for inner in modules_in(module.operation) for symbol in symbols_of(inner))
    functions = [op for op in symbols if op.name == "func.func"]
    return any(text in str(function.attributes["function_type"]) for function in functions)


def argument_names(module: ir.Module) -> list[str]:
    """Returns what the locations of the first function's arguments call them, or empty names."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.operation.regions[0].blocks:
            return [name_of(argument) for argument in op.operation.regions[0].blocks[0].arguments]
    return []


def name_of(argument: ir.BlockArgument) -> str:
    """Returns what the location of an argument calls it, or an empty name."""
    return argument.location.name_str if isinstance(argument.location, ir.NameLoc) else ""


def check_torch_contract(module: ir.Module) -> None:
    """Checks that a module is one public function of torch ops with static shapes.

    Several are variants of one program. Shapes may be dynamic where the frontend left dimensions
    of the arguments so.

    Raises:
        VerifyError: it is not; located at the op.
    """
    functions = [op.operation for op in module.body.operations]
    public = [op for op in functions if op.name == "func.func" and _is_public(op)]
    is_one_program = len(public) == 1 or all(VARIANT_OF in op.attributes for op in public)
    if not public or len(functions) != len(public) or not is_one_program:
        raise VerifyError(f"expected one public function, found {len(functions)}", module.operation)
    for function in public:
        _check_function(function)


def _check_function(function: ir.Operation) -> None:
    if len(list(function.regions[0].blocks)) != 1:
        raise VerifyError("expected a function of one block", function)
    block = function.regions[0].blocks[0]
    read = extents_and_element if SYMBOLS in function.attributes else shape_and_element
    for index, argument in enumerate(block.arguments):
        if read(argument.type) is None:
            what = f"argument #{index} of type '{argument.type}' is no tensor of static shape"
            raise VerifyError(what, function)
    for op in block.operations:
        _check_op(op.operation, read)


def _is_public(function: ir.Operation) -> bool:
    visibility = function.attributes
    return "sym_visibility" not in visibility or "private" not in str(visibility["sym_visibility"])


def _check_op(op: ir.Operation, read: Callable[[ir.Type], object]) -> None:
    if op.name == "torch.operator":
        name = ir.StringAttr(op.attributes["name"]).value
        raise VerifyError(f"operator '{name}' is not supported", op)
    if len(op.regions):
        raise VerifyError(f"'{op.name}' op is control flow, which is not supported", op)
    for result in op.results:
        if _TENSOR.match(str(result.type)) and read(result.type) is None:
            raise VerifyError(f"'{op.name}' op has no static shape: '{result.type}'", op)

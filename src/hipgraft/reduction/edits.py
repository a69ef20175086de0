"""Defines edits that make a module smaller. Each has sites; a chunk of them is edited at once.

An edit may break the module: the search verifies each result and drops invalid ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.dialects.framework.fields import ValueField
from hipgraft.dialects.framework.op import OPERAND_SEGMENTS, RESULT_SEGMENTS, in_order
from hipgraft.ir.attributes import attribute_of
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.io import walk

_FUNCTION = "func.func"
_RETURN = "func.return"
_SEGMENTS = (OPERAND_SEGMENTS, RESULT_SEGMENTS)
_NEEDED = frozenset({"sym_name", "function_type", *_SEGMENTS})
# Array attributes with an element for each operand or result of a container.
_BY_OPERAND = ("arg_strides", "arg_offsets")
_BY_RESULT = ("result_strides",)


class CannotEdit(Exception):
    """The edit does not apply to a site."""


Site = Any
"""An op, possibly with a number or a name; valid until the module changes."""


@dataclass(frozen=True)
class Edit:
    """One way to make a module smaller.

    Attributes:
        name: plural noun for what the edit removes, for messages.
        sites: function that returns the sites of a module, in textual order.
        apply: function that edits some of the sites; its last argument is the number of the form.
        forms: number of forms of the edit, the best first.
    """

    name: str
    sites: Callable[[ir.Module], list[Site]]
    apply: Callable[[Sequence[Site], int], None]
    forms: int = 1


def inner_ops(module: ir.Module) -> Iterator[ir.Operation]:
    """Yields all ops but the module itself."""
    ops = walk(module.operation)
    next(ops)
    return ops


def is_terminator(op: ir.Operation) -> bool:
    """Returns whether an op ends a block of an op other than a module."""
    parent = op.parent
    if parent is None or parent.name.endswith("module"):
        return False
    *_, last = op.block.operations
    return last.operation == op


def _symbols(module: ir.Module) -> list[Site]:
    return [op for op in inner_ops(module) if "sym_name" in op.attributes]


def _erase_symbols(sites: Sequence[Site], form: int) -> None:
    for op in reversed(sites):
        op.erase()


def _ops(module: ir.Module) -> list[Site]:
    found = [op for op in inner_ops(module) if "sym_name" not in op.attributes]
    return [op for op in found if not is_terminator(op)]


def _erase_ops(sites: Sequence[Site], form: int) -> None:
    """Erases ops, the last first, and replaces their results with values of the same type."""
    for op in reversed(sites):
        for result in op.results:
            if next(iter(result.uses), None) is not None:
                result.replace_all_uses_with(_substitute(op, result, form))
        op.erase()


def _substitute(op: ir.Operation, result: ir.OpResult, form: int) -> ir.Value:
    """Returns a substitute for a result: by form, an existing value, a constant, or an argument."""
    orders = (
        (_existing, _constant, _new_argument),
        (_constant, _new_argument, _existing),
        (_new_argument, _existing, _constant),
    )
    for make in orders[form]:
        value = make(op, result.type)
        if value is not None:
            return value
    raise CannotEdit


def _existing(op: ir.Operation, kind: ir.Type) -> ir.Value | None:
    values = [*op.operands, *op.block.arguments]
    for before in op.block.operations:
        if before.operation == op:
            break
        values += before.operation.results
    return next((value for value in values if value.type == kind), None)


def _constant(op: ir.Operation, kind: ir.Type) -> ir.Value | None:
    value = zero(kind)
    if value is None or op.name == "arith.constant":
        return None
    with ir.InsertionPoint(op):
        made = ir.Operation.create(
            "arith.constant", results=[kind], attributes={"value": value}, loc=op.location
        )
    return made.results[0]


def _new_argument(op: ir.Operation, kind: ir.Type) -> ir.Value | None:
    function = op.parent
    if function is None or function.name != _FUNCTION or op.block != function.regions[0].blocks[0]:
        return None
    added = op.block.add_argument(kind, op.location)
    if "arg_attrs" in function.attributes:
        old = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*old, ir.DictAttr.get({})])
    update_signature(function)
    return added


def zero(kind: ir.Type) -> ir.Attribute | None:
    """Returns the zero of a builtin type; None if it has none."""
    if isinstance(kind, ir.IntegerType | ir.IndexType):
        return ir.IntegerAttr.get(kind, 0)
    if isinstance(kind, ir.FloatType):
        return ir.FloatAttr.get(kind, 0.0)
    if isinstance(kind, ir.RankedTensorType | ir.VectorType) and kind.has_static_shape:
        element = zero(kind.element_type)
        return None if element is None else ir.DenseElementsAttr.get_splat(kind, element)
    return None


def update_signature(function: ir.Operation) -> None:
    """Updates a function's type to match its first block and its return."""
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    blocks = function.regions[0].blocks
    if not len(blocks):
        return
    returned = [values for values in (_returned(block) for block in blocks) if values is not None]
    results = [value.type for value in returned[0].operands] if returned else old.results
    inputs = [argument.type for argument in blocks[0].arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _returned(block: ir.Block) -> ir.Operation | None:
    *_, last = block.operations
    return last.operation if last.operation.name == _RETURN else None


def _functions(module: ir.Module) -> list[ir.Operation]:
    named = [op for op in inner_ops(module) if op.name == _FUNCTION]
    return [op for op in named if len(op.regions[0].blocks)]


def _function_results(module: ir.Module) -> list[Site]:
    found: list[Site] = []
    for function in _functions(module):
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        found += [(function, number) for number in range(len(kind.results))]
    return found


def _drop_function_results(sites: Sequence[Site], form: int) -> None:
    for function, gone in _grouped(sites):
        for block in function.regions[0].blocks:
            end = _returned(block)
            if end is None:
                continue
            kept = [value for number, value in enumerate(end.operands) if number not in gone]
            with ir.InsertionPoint(end):
                ir.Operation.create(_RETURN, operands=kept, loc=end.location)
            end.erase()
        _drop_elements(function, ("res_attrs",), gone)
        update_signature(function)


def _function_arguments(module: ir.Module) -> list[Site]:
    found: list[Site] = []
    for function in _functions(module):
        arguments = function.regions[0].blocks[0].arguments
        found += [
            (function, number)
            for number, argument in enumerate(arguments)
            if next(iter(argument.uses), None) is None
        ]
    return found


def _drop_function_arguments(sites: Sequence[Site], form: int) -> None:
    for function, gone in _grouped(sites):
        for number in sorted(gone, reverse=True):
            function.regions[0].blocks[0].erase_argument(number)
        _drop_elements(function, ("arg_attrs",), gone)
        update_signature(function)


def _grouped(sites: Sequence[Site]) -> list[tuple[ir.Operation, set[int]]]:
    """Groups sites by op, in order, with the numbers of each."""
    found: list[tuple[ir.Operation, set[int]]] = []
    for op, number in sites:
        if not found or found[-1][0] != op:
            found.append((op, set()))
        found[-1][1].add(number)
    return found


def _drop_elements(op: ir.Operation, names: Sequence[str], gone: set[int]) -> None:
    """Drops elements of array attributes."""
    for name in names:
        if name not in op.attributes:
            continue
        array = op.attributes[name]
        if not isinstance(array, ir.ArrayAttr | ir.DenseI64ArrayAttr):
            raise CannotEdit
        kept: list[Any] = [each for number, each in enumerate(array) if number not in gone]
        op.attributes[name] = type(array).get(kept)


def _results(module: ir.Module) -> list[Site]:
    return [
        (op, number)
        for op in inner_ops(module)
        for number, result in enumerate(op.results)
        if len(op.results) > 1 and next(iter(result.uses), None) is None
    ]


def _drop_results(sites: Sequence[Site], form: int) -> None:
    for op, gone in reversed(_grouped(sites)):
        _remake(op, set(), gone)


def _operands(module: ir.Module) -> list[Site]:
    found = [op for op in inner_ops(module) if not is_terminator(op)]
    return [(op, number) for op in found for number in range(len(op.operands))]


def _drop_operands(sites: Sequence[Site], form: int) -> None:
    for op, gone in reversed(_grouped(sites)):
        _remake(op, gone, set())


def _remake(op: ir.Operation, operands: set[int], results: set[int]) -> None:
    """Replaces an op with a copy that lacks some operands and results.

    Arguments and yielded values of a container are removed with them.
    """
    _drop_segments(op, operands, results)
    _drop_elements(op, _BY_OPERAND, operands)
    _drop_elements(op, _BY_RESULT, results)
    if op.name in hipdnn.OPS and issubclass(hipdnn.OPS[op.name], hipdnn.ContainerOp):
        _drop_in_body(op.regions[0].blocks[0], operands, results)
    kept = [value for number, value in enumerate(op.results) if number not in results]
    with ir.InsertionPoint(op):
        made = ir.Operation.create(
            op.name,
            results=[value.type for value in kept],
            operands=[value for number, value in enumerate(op.operands) if number not in operands],
            attributes=_attributes_of(op),
            regions=len(op.regions),
            loc=op.location,
        )
    for old, new in zip(op.regions, made.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    for value, other in zip(kept, made.results, strict=True):
        value.replace_all_uses_with(other)
    op.erase()


def _attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """Returns all attributes of an op by name.

    Raises:
        VerifyError: the bindings cannot read one; accessing it by index would abort the process.
    """
    found = {name: attribute_of(op, name) for name in op.attributes}
    return {name: value for name, value in found.items() if value is not None}


def _drop_segments(op: ir.Operation, operands: set[int], results: set[int]) -> None:
    cls = hipdnn.OPS.get(op.name)
    fields: tuple[Sequence[ValueField], Sequence[ValueField]] = (
        ((), ()) if cls is None else (cls.operand_fields, cls.result_fields)
    )
    totals = len(op.operands), len(op.results)
    for name, own, total, gone in zip(_SEGMENTS, fields, totals, (operands, results), strict=True):
        if name in op.attributes:
            counts = list(ir.DenseI32ArrayAttr(op.attributes[name]))
        elif gone and own:
            counts = in_order(own, total)
        else:
            continue
        start, left = 0, list[int]()
        for count in counts:
            left.append(sum(number not in gone for number in range(start, start + count)))
            start += count
        if own and left == in_order(own, sum(left)):
            if name in op.attributes:
                del op.attributes[name]
        else:
            op.attributes[name] = ir.DenseI32ArrayAttr.get(left)


def _drop_in_body(block: ir.Block, arguments: set[int], yielded: set[int]) -> None:
    for number in sorted(arguments, reverse=True):
        if next(iter(block.arguments[number].uses), None) is not None:
            raise CannotEdit
        block.erase_argument(number)
    if yielded:
        *_, end = block.operations
        kept = [value for number, value in enumerate(end.operands) if number not in yielded]
        with ir.InsertionPoint(end):
            ir.Operation.create(end.operation.name, operands=kept, loc=end.location)
        end.operation.erase()


def _attributes(module: ir.Module) -> list[Site]:
    return [
        (op, name) for op in walk(module.operation) for name in op.attributes if name not in _NEEDED
    ]


def _drop_attributes(sites: Sequence[Site], form: int) -> None:
    for op, name in sites:
        del op.attributes[name]


def _constants(module: ir.Module) -> list[Site]:
    found: list[Site] = []
    for op in inner_ops(module):
        for name in op.attributes:
            try:
                value = attribute_of(op, name)
            except VerifyError:  # it is not a constant
                continue
            is_splat = isinstance(value, ir.DenseElementsAttr) and value.is_splat
            if not is_splat and isinstance(
                value, ir.DenseElementsAttr | ir.DenseResourceElementsAttr
            ):
                found.append((op, name))
    return found


def _simplify_constants(sites: Sequence[Site], form: int) -> None:
    for op, name in sites:
        value = zero(op.attributes[name].type)
        if value is None:
            raise CannotEdit
        op.attributes[name] = value


EDITS = (
    Edit("symbols", _symbols, _erase_symbols),
    Edit("results of functions", _function_results, _drop_function_results),
    Edit("ops", _ops, _erase_ops, forms=3),
    Edit("results", _results, _drop_results),
    Edit("arguments of functions", _function_arguments, _drop_function_arguments),
    Edit("operands", _operands, _drop_operands),
    Edit("elements of constants", _constants, _simplify_constants),
    Edit("attributes", _attributes, _drop_attributes),
)
"""All edits of ops; those that remove most come first."""

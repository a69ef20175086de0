"""Sets the extents of symbolic dimensions of torch functions.

A dimension `?` of an argument has the name of its `torch.symbolic_int` in
`torch.bind_symbolic_shape`, or else `ARGUMENT.DIMENSION`, such as `arg0.1`. Types inside of the
function stay: torch-mlir's shape refinement narrows them from the arguments on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hipgraft.frontends.argument_names import name_of
from hipgraft.frontends.symbols import (
    Extents,
    check_complete,
    check_known,
    first_occurrences,
    mark_variant,
    name_ranges,
    name_symbols,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import OpError, location_text
from hipgraft.ir.entry_points import noted_ranges, noted_symbols
from hipgraft.ir.torch_dialect import extents_and_element, vtensor_type

_SYMBOL = "torch.symbolic_int"
_BINDING = "torch.bind_symbolic_shape"


def specialize_functions(
    module: ir.Module,
    shapes: Mapping[str, Sequence[int]],
    variants: Sequence[Extents],
    *,
    dynamic: bool = False,
) -> None:
    """Sets the dynamic dimensions of a module's functions; several extents give variants.

    Args:
        module: torch functions, changed in place.
        shapes: extents of arguments by name.
        variants: extents of the symbolic dimensions, by name, of each variant.
        dynamic: whether dimensions without an extent may stay, where there is one variant.

    Raises:
        OpError: a dynamic dimension has no extent or one that does not fit, or there is no such
            argument or dimension; located at the function.
    """
    operations = [op.operation for op in module.body.operations]
    functions = [op for op in operations if op.name == "func.func" and op.regions[0].blocks]
    with module.context:
        for function in functions:
            _make_variants(function, shapes, variants, dynamic)


def _make_variants(
    function: ir.Operation,
    shapes: Mapping[str, Sequence[int]],
    variants: Sequence[Extents],
    dynamic: bool,
) -> None:
    *others, last = variants
    for extents in others:
        copy = function.clone(ip=ir.InsertionPoint(function)).operation
        _fix(copy, shapes, extents, dynamic=False)
        mark_variant(copy, extents)
    _fix(function, shapes, last, dynamic=dynamic and not others)
    if others:
        mark_variant(function, last)


def _fix(
    function: ir.Operation,
    shapes: Mapping[str, Sequence[int]],
    extents: Extents,
    *,
    dynamic: bool,
) -> None:
    """Sets the shapes of a function's arguments."""
    arguments = _arguments(function)
    for name in shapes:
        if name not in {argument.name for argument in arguments}:
            known = ", ".join(argument.name for argument in arguments) or "no torch tensors"
            raise OpError(f"no argument '{name}'; the arguments are {known}", function)
    where = location_text(function.location)
    check_known(_occurrences(arguments), extents, where)
    open_arguments = [argument for argument in arguments if argument.name not in shapes]
    if not dynamic:
        check_complete(_occurrences(open_arguments), extents, where)
    ranges = _ranges(function, extents)
    for argument in arguments:
        argument.set_shape(shapes.get(argument.name), extents)
    if arguments:
        name_symbols(function, [argument.symbols() for argument in arguments])
        name_ranges(function, ranges)
    _drop_symbols(function)
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [argument.type for argument in function.regions[0].blocks[0].arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, kind.results)
    )


class _Argument:
    """An argument of a function.

    Args:
        name: name of the argument.
        value: the argument.
        extents: extents (None for dynamic ones) and element type of the argument.
        binding: the op that ties its extents to symbols, if there is one.
        noted: recorded names of its dynamic dimensions; else empty.
    """

    def __init__(
        self,
        name: str,
        value: ir.BlockArgument,
        extents: tuple[list[int | None], str],
        binding: ir.Operation | None,
        noted: Sequence[str],
    ):
        self.name = name
        self.value = value
        self._symbols = [] if binding is None else _symbol_names(binding)
        self._map = None if binding is None else _shape_map(binding)
        self._shape, self._element = extents
        dynamic = [index for index, extent in enumerate(self._shape) if extent is None]
        names = noted or [""] * len(dynamic)
        self._plain = {
            index: known or f"{name}.{index}" for index, known in zip(dynamic, names, strict=True)
        }

    def occurrences(self) -> Iterator[tuple[str, str]]:
        """Yields each symbolic dimension with a description of its place."""
        for index, extent in enumerate(self._shape):
            if extent is None:
                for name in self._names(index):
                    yield name, f"dimension {index} of argument '{self.name}'"

    def set_shape(self, shape: Sequence[int] | None, extents: Extents) -> None:
        """Narrows the type to the given shape, or to the extents of the symbols."""
        if None not in self._shape and shape is None:
            return
        given = shape or [
            self._extent(index, extents) if extent is None else extent
            for index, extent in enumerate(self._shape)
        ]
        if not self._admits(given):
            found = "x".join("?" if extent is None else str(extent) for extent in self._shape)
            raise OpError(
                f"argument '{self.name}' has shape {found}, got {'x'.join(map(str, given))}",
                self.value.owner.owner,
            )
        self.value.set_type(vtensor_type(given, self._element))

    def symbols(self) -> list[str]:
        """Returns the names of the dimensions that stay dynamic; expressions have no name."""
        shape, _ = extents_and_element(self.value.type) or ([], "")
        return [self._name(index) for index, extent in enumerate(shape) if extent is None]

    def _name(self, index: int) -> str:
        is_plain = self._map is None or isinstance(self._map.results[index], ir.AffineSymbolExpr)
        return self._names(index)[0] if is_plain else ""

    def _admits(self, shape: Sequence[int | None]) -> bool:
        return len(shape) == len(self._shape) and all(
            extent in (None, given) for extent, given in zip(self._shape, shape, strict=True)
        )

    def _names(self, index: int) -> list[str]:
        if self._map is None:
            return [self._plain[index]]
        numbers = re.findall(r"s(\d+)", str(self._map.results[index]))
        return [self._symbols[int(number)] for number in numbers]

    def _extent(self, index: int, extents: Extents) -> int | None:
        if any(name not in extents for name in self._names(index)):
            return None
        if self._map is None:
            return extents[self._plain[index]]
        value = self._map.results[index]
        for number, name in enumerate(self._symbols):
            known = ir.AffineExpr.get_constant(extents.get(name, 0))
            one = ir.AffineMap.get(0, len(self._symbols), [value])
            symbol = ir.AffineExpr.get_symbol(number)
            value = one.replace(symbol, known, 0, len(self._symbols)).results[0]
        return ir.AffineConstantExpr(value).value


def _arguments(function: ir.Operation) -> list[_Argument]:
    """Returns the arguments that are torch tensors of known rank."""
    block = function.regions[0].blocks[0]
    bindings = {op.operands[0]: op for op in _operations(function) if op.name == _BINDING}
    tensors = [
        (name_of(value) or f"arg{number}", value, extents)
        for number, value in enumerate(block.arguments)
        if (extents := extents_and_element(value.type)) is not None
    ]
    noted = noted_symbols(function, len(tensors)) if tensors else []
    return [
        _Argument(name, value, extents, bindings.get(value), names)
        for (name, value, extents), names in zip(tensors, noted, strict=True)
    ]


def _occurrences(arguments: Sequence[_Argument]) -> dict[str, str]:
    return first_occurrences(
        occurrence for argument in arguments for occurrence in argument.occurrences()
    )


def _operations(function: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in function.regions[0].blocks[0].operations]


def _symbol_names(binding: ir.Operation) -> list[str]:
    symbols = [ir.OpResult(operand).owner for operand in list(binding.operands)[1:]]
    return [ir.StringAttr(op.attributes["symbol_name"]).value for op in symbols]


def _shape_map(binding: ir.Operation) -> ir.AffineMap:
    return ir.AffineMapAttr(binding.attributes["shape_expressions"]).value


def _ranges(function: ir.Operation, extents: Extents) -> dict[str, tuple[int, int]]:
    """Returns the range that the export assumed for each symbol; checks given extents.

    The export assumes an extent of at least 2; an extent of 1 is refined like any other.
    """
    ranges = noted_ranges(function)
    for op in [op for op in _operations(function) if op.name == _SYMBOL]:
        name = ir.StringAttr(op.attributes["symbol_name"]).value
        least = ir.IntegerAttr(op.attributes["min_val"]).value
        most = ir.IntegerAttr(op.attributes["max_val"]).value
        ranges[name] = (1 if least == 2 else least, most)
        extent = extents.get(name, least)
        if not ranges[name][0] <= extent <= most:
            raise OpError(f"'{name}' is from {least} to {most}, got {extent}", op)
    return ranges


def _drop_symbols(function: ir.Operation) -> None:
    """Erases the ops that bind shapes to symbols, last first."""
    for op in reversed([op for op in _operations(function) if op.name in (_BINDING, _SYMBOL)]):
        if not any(True for result in op.results for _ in result.uses):
            op.erase()

"""Finds the function of a host program that a device runs, and describes its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.architectures import fitting
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.selection import select
from hipgraft.ir.symbols import symbol_of

VARIANT_OF = "hipgraft.variant_of"
"""Attribute of a variant function: the name of its program."""

DIMS = "hipgraft.dims"
"""Attribute of a variant function: its extents by names of symbolic dimensions."""

VARIANTS = "hipgraft.variants"
"""Attribute of a function that selects among variants by shape: the variants' symbols."""

SYMBOLS = "hipgraft.symbols"
"""Attribute of a function: for each argument, the names of its dynamic dimensions."""

RANGES = "hipgraft.ranges"
"""Attribute of a function: the minimum and maximum of dynamic dimensions, by name."""

ELEMENTS = "hipgraft.elements"
"""Attribute of a function: the model's element types of its inputs, then of its results.

An empty text means that the signature has the model's type.
"""

NAMES = "hipgraft.names"
"""Attribute of a function: names of its inputs and then of its results in the model.

An empty text is an input or result without a name.
"""

ROW_COUNTS = "hipgraft.row_counts"
"""Attribute of a function: results of which only some rows are valid, as triples of integers.

They are a result's index, its dimension of rows, and the index of the result that is the number of
valid rows, which are the first.
"""

EXTENTS = "hipgraft.extents"
"""Attribute of a function with dynamic shapes: the function that computes its result extents."""


def symbols(module: ir.Module) -> dict[str, ir.Operation]:
    """Returns the module's ops by symbol."""
    return _symbols_in(module.operation)


def _symbols_in(module: ir.Operation | ir.OpView) -> dict[str, ir.Operation]:
    operations = [op.operation for op in module.operation.regions[0].blocks[0].operations]
    named = [op for op in operations if "sym_name" in op.attributes]
    return {symbol_of(op): op for op in named}


def noted_symbols(function: ir.Operation, count: int) -> list[list[str]]:
    """Returns the names of the dynamic dimensions of each of `count` inputs, where known."""
    if SYMBOLS not in function.attributes:
        return [[] for _ in range(count)]
    rows = [ir.ArrayAttr(row) for row in ir.ArrayAttr(function.attributes[SYMBOLS])]
    return [[ir.StringAttr(name).value for name in row] for row in rows]


def noted_ranges(function: ir.Operation) -> dict[str, tuple[int, int]]:
    """Returns the known minimum and maximum extents of dynamic dimensions, by name."""
    if RANGES not in function.attributes:
        return {}
    ranges = ir.DictAttr(function.attributes[RANGES])
    rows = {one.name: list(ir.DenseI64ArrayAttr(one.attr)) for one in ranges}
    return {name: (least, most) for name, (least, most) in rows.items()}


def noted_elements(function: ir.Operation) -> list[str]:
    """Returns the model's element types of inputs and results; empty if signatures have them."""
    return _strings(function, ELEMENTS)


def noted_names(function: ir.Operation) -> list[str]:
    """Returns the names of inputs and results; an empty list where none are known."""
    return _strings(function, NAMES)


def noted_row_counts(function: ir.Operation) -> tuple[tuple[int, int, int], ...]:
    """Returns the results of which only some rows are valid; see `ROW_COUNTS`.

    Raises:
        HipgraftError: the attribute has another form.
    """
    if ROW_COUNTS not in function.attributes:
        return ()
    noted = function.attributes[ROW_COUNTS]
    numbers = list(ir.DenseI64ArrayAttr(noted)) if isinstance(noted, ir.DenseI64ArrayAttr) else [0]
    if len(numbers) % 3:
        raise HipgraftError(f"'{ROW_COUNTS}' is no list of triples of integers")
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def note_row_counts(function: ir.Operation, numbers: Sequence[int]) -> None:
    """Records the results of which only some rows are valid; see `ROW_COUNTS`."""
    with function.context:
        function.attributes[ROW_COUNTS] = ir.DenseI64ArrayAttr.get(numbers)


def note_elements(function: ir.Operation, elements: Sequence[str]) -> None:
    """Records the model's element types of a function's inputs and results."""
    _note(function, ELEMENTS, elements)


def note_names(function: ir.Operation, names: Sequence[str]) -> None:
    """Records the names of a function's inputs and results."""
    _note(function, NAMES, names)


def _note(function: ir.Operation, key: str, texts: Sequence[str]) -> None:
    with function.context:
        function.attributes[key] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])


def _strings(function: ir.Operation, key: str) -> list[str]:
    if key not in function.attributes:
        return []
    return [ir.StringAttr(text).value for text in ir.ArrayAttr(function.attributes[key])]


def find_function(module: ir.Module, architecture: str) -> ir.Operation:
    """Returns the public function for an architecture.

    Raises:
        HipgraftError: there is no such function, or there are several variants of it.
    """
    functions = find_functions(module, architecture)
    if len(functions) > 1:
        names = ", ".join(f"'{variant_name(function)}'" for function in functions)
        raise HipgraftError(f"expected a program of one variant, found {names}")
    return functions[0]


def find_functions(module: ir.Module, architecture: str) -> list[ir.Operation]:
    """Returns the public function for an architecture, or all variants of it.

    Raises:
        HipgraftError: there is no such function.
    """
    functions = _entries(module)
    targets = {op: targets_of(op) or (architecture,) for op in functions}
    best = fitting(architecture, [name for names in targets.values() for name in names])
    if best is not None:
        found = [op for op in functions if best in targets[op]]
        return [op for op in found if VARIANT_OF in op.attributes] or found[:1]
    have = sorted({target for names in targets.values() for target in names})
    known = f"; the program is for {', '.join(have)}" if have else ""
    raise HipgraftError(f"the program has no public function for '{architecture}'{known}")


def select_function(
    functions: Sequence[ir.Operation], shapes: Sequence[tuple[int, ...]]
) -> ir.Operation:
    """Returns the variant of a program whose first arguments have certain shapes.

    Raises:
        HipgraftError: no variant has these shapes.
    """
    variants = {
        variant_name(function): [
            tuple(ir.MemRefType(one.type).shape)
            for one in list(function.regions[0].blocks[0].arguments)[: len(shapes)]
        ]
        for function in functions
    }
    return functions[select(variants, shapes)]


def variant_name(function: ir.Operation) -> str:
    """Returns the extents of a variant as `batch=1, seq=128`, or an empty text."""
    if DIMS not in function.attributes:
        return ""
    dims = ir.DictAttr(function.attributes[DIMS])
    return ", ".join(f"{one.name}={ir.IntegerAttr(one.attr).value}" for one in dims)


def extents_of(function: ir.Operation) -> ir.Operation | None:
    """Returns the function that computes the extents of a function's results, if it has one."""
    module = function.parent
    if EXTENTS not in function.attributes or module is None:
        return None
    name = ir.StringAttr(function.attributes[EXTENTS]).value
    return _symbols_in(module).get(name)


def entry_targets(module: ir.Module) -> list[str]:
    """Returns all architectures that a program is for, sorted."""
    return sorted({target for function in _entries(module) for target in targets_of(function)})


def entry_target(function: ir.Operation, architecture: str) -> str:
    """Returns the target of a function that a device of `architecture` runs."""
    return fitting(architecture, targets_of(function)) or architecture


def functions_of(module: ir.Module) -> list[ir.Operation]:
    """Returns the public functions with a body."""
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    return [
        op for op in functions if "sym_visibility" not in op.attributes and op.regions[0].blocks
    ]


def _entries(module: ir.Module) -> list[ir.Operation]:
    return [op for op in functions_of(module) if VARIANTS not in op.attributes]


def targets_of(function: ir.Operation) -> tuple[str, ...]:
    """Returns the architectures that a function is for; empty if it is for any."""
    if "hipgraft.targets" not in function.attributes:
        return ()
    targets = ir.ArrayAttr(function.attributes["hipgraft.targets"])
    return tuple(ir.StringAttr(target).value for target in targets)


def result_count(function: ir.Operation, inputs: int) -> int:
    """Returns how many trailing arguments are results.

    A program that hipgraft did not build lacks the attribute; all of its arguments after the given
    inputs are then results.
    """
    if "hipgraft.results" in function.attributes:
        return ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    return max(len(function.regions[0].blocks[0].arguments) - inputs, 0)

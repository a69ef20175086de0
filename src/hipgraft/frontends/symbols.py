"""Handles symbolic dimensions of models: their names, and the extents given for a compilation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import DIMS, RANGES, SYMBOLS, VARIANT_OF
from hipgraft.ir.symbols import symbol_of

Extents = Mapping[str, int]


def combinations(dims: Extents, specialize: Mapping[str, Sequence[int]]) -> list[Extents]:
    """Returns the extents of each variant of a program.

    Args:
        dims: extents that all variants share, by name.
        specialize: extents by name, each combination of which is a variant; `a=b` names
            dimensions that are always equal.
    """
    choices = [
        [dict.fromkeys(names.split("="), extent) for extent in dict.fromkeys(extents)]
        for names, extents in specialize.items()
    ]
    return [
        {name: extent for part in (dims, *choice) for name, extent in part.items()}
        for choice in product(*choices)
    ]


def first_occurrences(occurrences: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the first occurrence of each symbolic dimension."""
    found: dict[str, str] = {}
    for name, occurrence in occurrences:
        found.setdefault(name, occurrence)
    return found


def check_known(found: Mapping[str, str], given: Extents, location: str) -> None:
    """Checks that a model has all symbolic dimensions that extents are given for.

    Args:
        found: where the model has each dimension, by name, such as `dimension 0 of input 'x'`.
        given: extents by name.
        location: location of the model.

    Raises:
        HipgraftError: the model does not have a given name.
    """
    unknown = [name for name in given if name not in found]
    if unknown:
        known = f"; it has {_quoted(found)}" if found else "; all of its dimensions are static"
        raise HipgraftError(
            f"the model has no symbolic dimension {_quoted(unknown)}{known}", location=location
        )


def check_complete(found: Mapping[str, str], given: Extents, location: str) -> None:
    """Checks that all symbolic dimensions of a model have extents.

    Args:
        found: as for `check_known`, without inputs whose whole shape is given.
        given: extents by name.
        location: location of the model.

    Raises:
        HipgraftError: a dimension has no extent.
    """
    missing = {name: occurrence for name, occurrence in found.items() if name not in given}
    if missing:
        occurrences = ", ".join(f"'{name}' ({occurrence})" for name, occurrence in missing.items())
        raise HipgraftError(
            f"the model has symbolic dimensions without extents: {occurrences}",
            location=location,
            notes=tuple(
                f"give one extent by --dim {name}=N, or several by --specialize {name}=N,M"
                for name in missing
            ),
        )


def _quoted(names: Mapping[str, str] | Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def mark_variant(function: ir.Operation, extents: Extents) -> None:
    """Names a function after its extents, and records the program of which it is a variant."""
    name = symbol_of(function)
    suffix = "_".join(f"{symbol}_{extent}" for symbol, extent in extents.items())
    number = ir.IntegerType.get_signless(64, function.context)
    with function.context:
        function.attributes["sym_name"] = ir.StringAttr.get(re.sub(r"\W", "_", f"{name}_{suffix}"))
        function.attributes[VARIANT_OF] = ir.StringAttr.get(name)
        function.attributes[DIMS] = ir.DictAttr.get(
            {symbol: ir.IntegerAttr.get(number, extent) for symbol, extent in extents.items()}
        )


def name_symbols(function: ir.Operation, names: Sequence[Sequence[str]]) -> None:
    """Records the names of the dynamic dimensions of a function's arguments, if it has any."""
    if SYMBOLS in function.attributes:
        del function.attributes[SYMBOLS]
    if not any(names):
        return
    with function.context:
        rows = [ir.ArrayAttr.get([ir.StringAttr.get(name) for name in row]) for row in names]
        function.attributes[SYMBOLS] = ir.ArrayAttr.get(rows)


def name_ranges(function: ir.Operation, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Records the minimum and maximum extents of a function's dynamic dimensions, if known."""
    if not ranges or SYMBOLS not in function.attributes:
        return
    with function.context:
        rows: dict[str, ir.Attribute] = {
            name: ir.DenseI64ArrayAttr.get(list(one)) for name, one in ranges.items()
        }
        function.attributes[RANGES] = ir.DictAttr.get(rows)

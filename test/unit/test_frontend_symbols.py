"""Names and ranges of dynamic dimensions on a function."""

from __future__ import annotations

from hipgraft.frontends.symbols import name_ranges, name_symbols
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.entry_points import RANGES, SYMBOLS


def test_ranges_are_of_dynamic_dimensions() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("func.func private @f()")
        function = module.body.operations[0].operation
        name_ranges(function, {"rows": (2, 9)})
        assert RANGES not in function.attributes
        name_symbols(function, [["rows", ""]])
        assert str(function.attributes[SYMBOLS]) == '[["rows", ""]]'
        name_ranges(function, {})
        assert RANGES not in function.attributes
        name_ranges(function, {"rows": (2, 9)})
        assert str(function.attributes[RANGES]) == "{rows = array<i64: 2, 9>}"
        name_symbols(function, [[], []])
        assert SYMBOLS not in function.attributes

"""Writes `dialects/hipdnn/builders.py` from the op classes.

The builders spell out the signatures that the classes declare, for editors, type checkers and
readers. A test fails when the file is stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hipgraft.dialects.framework.fields import Arity, Attribute, OperandField
from hipgraft.dialects.hipdnn import OPS, ComputeOp
from hipgraft.dialects.hipdnn.op import required_results

TARGET = Path(__file__).resolve().parents[2] / "dialects" / "hipdnn" / "builders.py"

_LINE_LENGTH = 101  # with the line break

_HEADER = '''"""Builders of the compute ops; written by `make docs`, not by hand.

Each creates its op at the current insertion point and returns the op's required results.
Result types that are not given are inferred; a class's `build` makes optional results too.
"""

# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Sequence

'''

_OPERANDS = {
    Arity.ONE: "{}: ir.Value",
    Arity.OPTIONAL: "{}: ir.Value | None = None",
    Arity.VARIADIC: "{}: Sequence[ir.Value] = ()",
}
_RESULTS = {Arity.ONE: "ir.Type | None = None", Arity.VARIADIC: "Sequence[ir.Type]"}
_RETURNED = {Arity.ONE: "ir.Value", Arity.VARIADIC: "list[ir.Value]"}
_PYTHON_TYPES = {"i64": "int", "type": "ir.Type", "string": "str", "array<i64>": "Sequence[int]"}


def builders_text() -> str:
    """Returns the text of the module of builders."""
    classes = sorted(
        (cls for cls in OPS.values() if issubclass(cls, ComputeOp)), key=lambda cls: cls.OP_NAME
    )
    exports = "".join(f'    "{_mnemonic(cls)}",\n' for cls in classes)
    return f"{_HEADER}{_imports(classes)}\n__all__ = [\n{exports}]\n\n\n" + "\n\n".join(
        map(_builder, classes)
    )


def _imports(classes: Sequence[type[ComputeOp]]) -> str:
    """Returns the imports of the classes, in the form that the formatter leaves alone."""
    modules: dict[str, list[str]] = {"hipgraft.dialects.hipdnn.op": ["build_by_name"]}
    for cls in classes:
        modules.setdefault(cls.__module__, []).append(cls.__name__)
    imports = [_import(*each) for each in sorted(modules.items())]
    return "".join([*imports, _import("hipgraft.ir.bindings", ["ir"])])


def _import(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(sorted(names))}\n"
    if len(line) <= _LINE_LENGTH:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")\n"


def main() -> None:
    """Writes the module."""
    TARGET.write_text(builders_text())


def _builder(cls: type[ComputeOp]) -> str:
    required = required_results(cls)
    parameters = [
        *(_operand(field) for field in cls.operand_fields),
        "*",
        *(_attribute(field) for field in sorted(cls.attribute_fields, key=_is_optional)),
        *(f"{name}: {_RESULTS[field.arity]}" for name, field in required.items()),
        "loc: ir.Location | None = None",
    ]
    return_type = ", ".join(_RETURNED[field.arity] for field in required.values())
    if len(required) > 1:
        return_type = f"tuple[{return_type}]"
    return (
        f"def {_mnemonic(cls)}(\n"
        + "".join(f"    {parameter},\n" for parameter in parameters)
        + f") -> {return_type}:\n"
        + f"    return build_by_name({cls.__name__}, locals())\n"
    )


def _mnemonic(cls: type[ComputeOp]) -> str:
    return cls.OP_NAME.removeprefix("hipdnn.")


def _operand(field: OperandField) -> str:
    return _OPERANDS[field.arity].format(field.python_name)


def _is_optional(field: Attribute[Any]) -> bool:
    return not field.required


def _attribute(field: Attribute[Any]) -> str:
    kind = field.kind.description
    type_ = "str" if field.kind.values else _PYTHON_TYPES.get(kind, kind)
    return f"{field.name}: {type_}" if field.required else f"{field.name}: {type_} | None = None"


if __name__ == "__main__":
    main()

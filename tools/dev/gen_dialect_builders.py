"""Writes `dialects/hipdnn/builders.py` from the op classes.

The builders spell out the signatures that the classes declare, for editors, type checkers and
readers. A test fails when the file is stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hipgraft.dialects.framework.fields import Arity, Attribute, OperandField, ResultField
from hipgraft.dialects.hipdnn import OPS, ComputeOp

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
    modules: dict[str, list[str]] = {}
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
    required = [field for field in cls.result_fields if field.arity is not Arity.OPTIONAL]
    types = [_type_parameter(field, len(required)) for field in required]
    results = ", ".join(
        f'"{field.name}": {type_}' for field, type_ in zip(required, types, strict=True)
    )
    parameters = [
        *(_operand(field) for field in cls.operand_fields),
        "*",
        *(_attribute(field) for field in sorted(cls.attribute_fields, key=_is_optional)),
        *(
            f"{type_}: {_RESULTS[field.arity]}"
            for field, type_ in zip(required, types, strict=True)
        ),
        "loc: ir.Location | None = None",
    ]
    operands = [_python_name(field.name) for field in cls.operand_fields]
    attributes = [f"{field.name}={field.name}" for field in cls.attribute_fields]
    arguments = [*operands, f"results={{{results}}}", *attributes, "loc=loc"]
    returned = ", ".join(f"op.{field.name}" for field in required)
    return_type = ", ".join(_RETURNED[field.arity] for field in required)
    if len(required) > 1:
        return_type = f"tuple[{return_type}]"
    return (
        f"def {_mnemonic(cls)}(\n"
        + "".join(f"    {parameter},\n" for parameter in parameters)
        + f") -> {return_type}:\n"
        + f"    op = {cls.__name__}.build(\n"
        + "".join(f"        {argument},\n" for argument in arguments)
        + f"    )\n    return {returned}\n"
    )


def _mnemonic(cls: type[ComputeOp]) -> str:
    return cls.OP_NAME.removeprefix("hipdnn.")


def _python_name(name: str) -> str:
    return "in_" if name == "in" else name


def _type_parameter(field: ResultField, results: int) -> str:
    if field.arity is Arity.VARIADIC:
        return f"{field.name.removesuffix('s')}_types"
    return "result_type" if results == 1 else f"{field.name}_type"


def _operand(field: OperandField) -> str:
    return _OPERANDS[field.arity].format(_python_name(field.name))


def _is_optional(field: Attribute[Any]) -> bool:
    return not field.required


def _attribute(field: Attribute[Any]) -> str:
    kind = field.kind.description
    type_ = "str" if field.kind.values else _PYTHON_TYPES.get(kind, kind)
    return f"{field.name}: {type_}" if field.required else f"{field.name}: {type_} | None = None"


if __name__ == "__main__":
    main()

"""Verifies operations: first the constraints that `OPS` declares, then each op's own rules."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.migraphx.operation import MigraphxOp, is_migraphx
from hipgraft.dialects.migraphx.ops import ANY_FLOAT, ANY_INTEGER, OPS, AttributeKind
from hipgraft.dialects.migraphx.rules import RULES
from hipgraft.dialects.migraphx.types import PREFIX, ShapedType, ShapedTypeError
from hipgraft.ir.attributes import attribute_of
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError

_KIND_TEXT: dict[AttributeKind, str] = {
    "int": "64-bit signless integer attribute",
    "ints": "64-bit integer array attribute",
    "string": "string attribute",
    "elements": "constant vector/tensor attribute",
    "float": "32-bit float attribute",
    "type": "any type attribute",
    "unit": "unit attribute",
    "bool": "bool attribute",
}
_CONVERSIONS = ("mlir.as.logical.shape", "mlir.as.underlying.shape")


def verify(module: ir.Module | ir.Operation | ir.OpView) -> list[VerifyError]:
    """Verifies every migraphx op and type in `module`.

    Returns:
        The first error of each op that has one, in the order of the text.
    """
    errors: list[VerifyError | None] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_migraphx(op):
            errors.append(verify_op(op))
        elif op.name == "func.func":
            errors.append(_signature_error(op))
        return ir.WalkResult.ADVANCE

    with module.operation.context:
        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [error for error in errors if error is not None]


def verify_op(operation: ir.Operation) -> VerifyError | None:
    """Returns the first error of one op, None if it has none."""
    op = MigraphxOp(operation)
    try:
        if op.mnemonic not in OPS:
            raise VerifyError(f"custom op '{operation.name}' is unknown", operation)
        _check_counts(op)
        _check_attributes(op)
        if op.mnemonic in _CONVERSIONS or not len(operation.results):
            return None
        _check_elements(op)
        _check_same(op, op.definition.same_element, "element type")
        _check_same(op, op.definition.same_shape, "shape")
        if op.mnemonic in RULES:
            RULES[op.mnemonic](op)
    except VerifyError as error:
        return error
    return None


def _signature_error(function: ir.Operation) -> VerifyError | None:
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for each in (*kind.inputs, *kind.results):
        if str(each).startswith(PREFIX):
            try:
                ShapedType.of(each)
            except ShapedTypeError as error:
                return VerifyError(str(error), function)
    return None


def _check_counts(op: MigraphxOp) -> None:
    definition, found = op.definition, len(op.operation.operands)
    most = len(definition.operands)
    least = most - definition.optional_operands
    if found < least or (found > most and not definition.variadic):
        expected = str(most) if least == most else f"{least} to {most}"
        raise op.error(f"expected {expected} operands, but found {found}")
    results = len(op.operation.results)
    wanted = definition.results
    if not min(len(wanted), 1) <= results <= max(len(wanted), 0):
        raise op.error(f"expected {len(wanted)} results, but found {results}")
    regions = len(op.operation.regions)
    if regions != int(definition.has_region):
        raise op.error(f"requires {int(definition.has_region)} regions, but found {regions}")
    segments = op.segments
    if segments is not None and sum(segments) != found:
        raise op.error(
            f"operand count ({found}) does not match with the total size ({sum(segments)}) "
            "specified in attribute 'operandSegmentSizes'"
        )


def _check_attributes(op: MigraphxOp) -> None:
    attributes = op.operation.attributes
    for name in op.definition.required:
        if name not in attributes:
            raise op.error(f"requires attribute '{name}'")
    for name, kind in op.definition.attributes.items():
        value = attribute_of(op.operation, name)
        if value is not None and not _is_kind(value, kind):
            raise op.error(f"attribute '{name}' failed to satisfy constraint: {_KIND_TEXT[kind]}")


def _is_kind(attribute: ir.Attribute, kind: AttributeKind) -> bool:
    match kind:
        case "int":
            return isinstance(attribute, ir.IntegerAttr)
        case "ints":
            return isinstance(attribute, ir.DenseI64ArrayAttr) or (
                isinstance(attribute, ir.ArrayAttr)
                and all(isinstance(item, ir.IntegerAttr) for item in attribute)
            )
        case "string":
            return isinstance(attribute, ir.StringAttr)
        case "float":
            return isinstance(attribute, ir.FloatAttr)
        case "type":
            return isinstance(attribute, ir.TypeAttr)
        case "bool":
            return isinstance(attribute, ir.BoolAttr)
        case "unit":
            return isinstance(attribute, ir.UnitAttr)
        case "elements":
            return isinstance(attribute, ir.DenseElementsAttr | ir.DenseResourceElementsAttr)
        case "any":
            return True


def _check_elements(op: MigraphxOp) -> None:
    for number, (name, kind) in enumerate(op.named_types()):
        allowed = op.definition.elements.get(name)
        if allowed is None or _is_allowed(kind, allowed):
            continue
        is_result = name in op.definition.results
        what = f"result #{op.definition.results.index(name)}" if is_result else f"operand #{number}"
        words = " or ".join(map(_element_text, allowed))
        raise op.error(f"{what} must be {PREFIX} of {words} values, but got '{kind}'")


def _is_allowed(kind: ShapedType, allowed: Sequence[str]) -> bool:
    return kind.element in allowed or (ANY_FLOAT if kind.is_float else ANY_INTEGER) in allowed


def _element_text(element: str) -> str:
    """Returns an element type as MLIR's constraints spell it."""
    if element in (ANY_FLOAT, ANY_INTEGER):
        return element
    kind = ShapedType((), (), element)
    if not kind.is_float:
        sign = {"i": "signless", "s": "signed", "u": "unsigned"}[element[0]]
        return f"{kind.bits}-bit {sign} integer"
    if element == "bf16":
        return "bfloat16 type"
    return f"{kind.bits}-bit float" if element == f"f{kind.bits}" else f"{element} type"


def _check_same(op: MigraphxOp, names: tuple[str, ...], what: str) -> None:
    """Checks that the present values among `names` agree in `what`, a property of their types."""
    kinds = [kind for name, kind in op.named_types() if name in names]
    properties = {kind.element if what == "element type" else kind.shape for kind in kinds}
    if len(properties) > 1:
        raise op.error(f"failed to verify that all of {{{', '.join(names)}}} have same {what}")

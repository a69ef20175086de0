"""Defines slots for nodes in the pattern of an engine, and the checks of these nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hipgraft.dialects.hipdnn import OPS, ComputeOp, ConvolutionOp, PointwiseMode, ReductionMode
from hipgraft.engines.expressions import TENSOR_ATTRIBUTES, Expression, ExpressionError, Scope
from hipgraft.engines.fields import NodeFields, PatternFields, RuleFields
from hipgraft.engines.graph import Node, Tensor
from hipgraft.engines.layouts import LAYOUTS, has_layout
from hipgraft.engines.source import Path, Source
from hipgraft.engines.wording import one_of, shown_value
from hipgraft.ir.element_types import is_float, is_integer

ALL = "*"
"""The key of a rule for all operands and results without their own rule."""

_TESTED = ("types", "compute_types", "ranks", "layouts", "attributes", "absent", "constant")


@dataclass(frozen=True)
class Check:
    """One rule about one node.

    Attributes:
        rule: path of the rule in the engine's file, such as `convolution/bias/types`.
        why: returns the violation by a node, None if there is none.
    """

    rule: str
    why: Callable[[Node, Scope], str | None]


@dataclass(frozen=True)
class Slot:
    """A slot of a pattern, which one node of a graph may fill.

    Attributes:
        name: name of the slot in the pattern.
        ops: names of the ops that it accepts, without the dialect.
        modes: modes of these ops; empty for any.
        optional: whether a graph may leave it empty.
        reads: slots that the node reads, by operand, or by `*` for any operand; the first non-empty
        slot of each counts.
        names: operands, results and attributes that rules about the graph may use.
        checks: checks in the order in which they are reported.
    """

    name: str
    ops: tuple[str, ...]
    modes: tuple[str, ...]
    optional: bool
    reads: tuple[tuple[str, tuple[str, ...]], ...]
    names: tuple[str, ...]
    checks: list[Check] = field(default_factory=list[Check])

    def fits(self, node: Node) -> bool:
        """Returns whether the node's op and mode may be in this slot."""
        return node.kind in self.ops and (not self.modes or node.mode in self.modes)


def slot_of(
    fields: NodeFields, before: Sequence[str], pattern: PatternFields, path: Path, source: Source
) -> Slot:
    """Returns the slot that a file describes.

    Args:
        fields: fields of the slot.
        before: names of the slots before it.
        pattern: name of the pattern that the slot belongs to.
        path: path of the fields in the file.
        source: the file.

    Raises:
        HipgraftError: a name in the slot is unknown; located.
    """
    return _SlotReader(fields, pattern, path, source).slot(before)


class _SlotReader:
    def __init__(self, fields: NodeFields, pattern: PatternFields, path: Path, source: Source):
        self.fields, self.path, self.source = fields, path, source
        self.types = ({ALL: pattern.types} if pattern.types else {}) | fields.types
        self.ops = (fields.op,) if isinstance(fields.op, str) else tuple(fields.op)
        known = [
            name.removeprefix("hipdnn.") for name, op in OPS.items() if issubclass(op, ComputeOp)
        ]
        source.check((*path, "op"), "op", self.ops, known)
        if not self.ops:
            raise source.error((*path, "op"), "expected an op")
        self.classes = [OPS[f"hipdnn.{name}"] for name in self.ops]
        self.name = fields.name or self.ops[0]
        self.rule = f"{pattern.name}/{self.name}"
        self.roles = self._common(lambda one: (*one.operand_fields, *one.result_fields))
        self.attributes = self._common(lambda one: one.attribute_fields)

    def slot(self, before: Sequence[str]) -> Slot:
        self._check_names()
        reads = self._reads(before)
        names = (*self.roles, *self.attributes)
        modes, optional = tuple(self.fields.modes), self.fields.optional
        slot = Slot(self.name, self.ops, modes, optional, reads, names)
        slot.checks.extend(self._checks())
        return slot

    def _common(self, fields_of: Callable[[Any], Any]) -> list[str]:
        """Returns the names that the ops of the slot share."""
        first, *others = ({str(one.name) for one in fields_of(cls)} for cls in self.classes)
        return sorted(first.intersection(*others))

    def _check_names(self) -> None:
        fields, check = self.fields, self.source.check
        modes = {"pointwise": PointwiseMode, "reduction": ReductionMode}
        known = {mode for op in self.ops for mode in modes.get(op, ())}
        check((*self.path, "modes"), f"mode of {', '.join(self.ops)}", fields.modes, known)
        role = f"operand or result of {', '.join(self.ops)}"
        for key in ("types", "ranks", "layouts"):
            given: dict[str, Any] = getattr(fields, key)
            for name in given:
                check((*self.path, key, name), role, [name], [*self.roles, ALL])
        for key in ("absent", "constant"):
            check((*self.path, key), role, getattr(fields, key), self.roles)
        attribute = f"attribute of {', '.join(self.ops)}"
        check((*self.path, "attributes"), attribute, fields.attributes, self.attributes)
        for name, layouts in fields.layouts.items():
            check((*self.path, "layouts", name), "layout", layouts, LAYOUTS)
        for name, types in (*self.types.items(), ("", fields.compute_types)):
            place = ("types", name) if name else ("compute_types",)
            self._check_types((*self.path, *place), types)
        check((*self.path, "because"), "kind of rule", fields.because, _TESTED)

    def _check_types(self, path: Path, types: Sequence[str]) -> None:
        for name in types:
            if not is_float(name) and not is_integer(name):
                raise self.source.error(
                    path, f"'{name}' is no element type, as f16, bf16 or i8 are"
                )

    def _reads(self, before: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        given = self.fields.reads
        by_role = given if isinstance(given, dict) else {ALL: given} if given else {}
        path = (*self.path, "reads")
        role = f"operand of {', '.join(self.ops)}"
        self.source.check(path, role, by_role, [*self.roles, ALL])
        lists = {role: [one] if isinstance(one, str) else one for role, one in by_role.items()}
        for names in lists.values():
            self.source.check(path, "node before this one", names, before)
        return tuple((role, tuple(names)) for role, names in lists.items())

    def _checks(self) -> list[Check]:
        fields = self.fields
        checks = [self._by_role("types", self.types, _wrong_type)]
        checks.append(self._check("compute_types", _compute_type_check(fields.compute_types)))
        checks.append(self._by_role("ranks", fields.ranks, _wrong_rank))
        checks.append(self._by_role("layouts", fields.layouts, _wrong_layout))
        for name, values in fields.attributes.items():
            checks.append(self._check("attributes", _attribute_check(name, values), name))
        for name in fields.absent:
            checks.append(self._check("absent", _absence_check(name), name))
        for name in fields.constant:
            checks.append(self._check("constant", _constant_check(name), name))
        names = [(name, *TENSOR_ATTRIBUTES) for name in (*self.roles, "outer")]
        names += [(name,) for name in (*self.attributes, "compute_type")]
        if all(issubclass(one, ConvolutionOp) for one in self.classes):
            names.append(("groups",))
        for at, rule in enumerate(fields.rules):
            path = (*self.path, "rules", at)
            why = rule_check(rule, names, path, self.source)
            checks.append(Check(f"{self.rule}/rules[{at}]", lambda _, scope, why=why: why(scope)))
        return checks

    def _by_role(
        self,
        key: str,
        given: dict[str, list[Any]],
        wrong: Callable[[Tensor, list[Any]], str | None],
    ) -> Check:
        def why(node: Node, _: Scope) -> str | None:
            for role in (*node.operands, *node.results):
                allowed = given.get(role, given.get(ALL))
                if allowed is None:
                    continue
                for tensor in node.tensors_of(role):
                    if (found := wrong(tensor, allowed)) is not None:
                        return f"expected '{role}' {found}"
            return None

        return self._check(key, why)

    def _check(self, key: str, why: Callable[[Node, Scope], str | None], name: str = "") -> Check:
        because = self.fields.because.get(key)

        def explained(node: Node, scope: Scope) -> str | None:
            found = why(node, scope)
            return found if found is None or because is None else f"{found}: {because}"

        return Check(f"{self.rule}/{key}{f'/{name}' if name else ''}", explained)


def rule_check(
    rule: RuleFields, known: Sequence[tuple[str, ...]], path: Path, source: Source
) -> Callable[[Scope], str | None]:
    """Returns a function that describes how a scope violates a rule, None if it does not.

    Args:
        rule: rule as written in the file.
        known: names that the rule may use, each with its attributes.
        path: path of the rule in the file.
        source: the file.

    Raises:
        HipgraftError: its expression is malformed, or uses an unknown name; located.
    """
    where = (*path, "require")
    try:
        expression = Expression(rule.require)
    except ExpressionError as error:
        raise source.error(where, str(error)) from None
    names = {name: attributes for name, *attributes in known}
    for first, *rest in expression.paths:
        source.check(where, "name that this rule may use", [first], names)
        source.check(where, f"part of '{first}'", rest[:1], names[first])
        source.check(where, "part of a tensor", rest[1:], TENSOR_ATTRIBUTES)

    def why(scope: Scope) -> str | None:
        if expression.holds(scope):
            return None
        found = expression.found(scope)
        return f"{rule.because}, but found {found}" if found else rule.because

    return why


def _wrong_type(tensor: Tensor, types: list[str]) -> str | None:
    if tensor.type in types:
        return None
    return f"of type {one_of(types)}, but found {tensor.type}"


def _wrong_rank(tensor: Tensor, ranks: list[int]) -> str | None:
    if tensor.rank in ranks:
        return None
    return f"of rank {one_of(ranks)}, but found {tensor.rank}"


def _wrong_layout(tensor: Tensor, layouts: list[str]) -> str | None:
    # A tensor that is never in memory has no layout that an engine could reject.
    is_elsewhere = tensor.virtual or tensor.constant
    if is_elsewhere or any(has_layout(tensor.dims, tensor.strides, name) for name in layouts):
        return None
    return (
        f"to be {one_of(layouts)}, but found strides {shown_value(tensor.strides)} "
        f"of shape {shown_value(tensor.dims)}"
    )


def _compute_type_check(types: list[str]) -> Callable[[Node, Scope], str | None]:
    def why(node: Node, _: Scope) -> str | None:
        if not types or node.compute_type in types:
            return None
        return f"expected compute type {one_of(types)}, but found {node.compute_type}"

    return why


def _attribute_check(name: str, values: list[Any]) -> Callable[[Node, Scope], str | None]:
    def why(node: Node, _: Scope) -> str | None:
        found = node.value(name)
        if found in values:
            return None
        return f"expected '{name}' {one_of(values)}, but found {shown_value(found)}"

    return why


def _absence_check(role: str) -> Callable[[Node, Scope], str | None]:
    return lambda node, _: f"expected no '{role}'" if node.tensors_of(role) else None


def _constant_check(role: str) -> Callable[[Node, Scope], str | None]:
    def why(node: Node, _: Scope) -> str | None:
        is_constant = all(tensor.constant for tensor in node.tensors_of(role))
        return None if is_constant else f"expected '{role}' to be a compile-time scalar"

    return why

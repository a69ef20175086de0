"""Rewrites `einsum` of several operands as products of two."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Mapping, Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import aten_name, constant_none, constant_str, torch_op, vtensor_type
from hipgraft.transforms.torch_legalization.operands import (
    Shape,
    constant,
    owner,
    tensor,
    view,
)

_ELLIPSIS = "..."


def einsum(op: ir.Operation) -> ir.Value | None:
    """Rewrites `einsum(equation, tensors, path)`.

    torch-mlir sums over an index as soon as two operands have it, although a third one may. It
    supports neither ellipses with sums, nor extents of 1 that are broadcast, nor results without
    indices. The product of two operands is therefore multiplied by the next one, and keeps the
    indices that later operands or the result have; each dimension has a name; and dimensions that
    are broadcast are left out.
    """
    equation, listed = constant(op, 0), owner(op.operands[1])
    if not isinstance(equation, str) or listed is None or listed.name != "torch.prim.ListConstruct":
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    operands = list(listed.operands)
    terms = [re.findall(r"\.\.\.|[A-Za-z]", term) for term in left.split(",")]
    if len(terms) != len(operands):
        message = f"'{aten_name(op)}' expects {len(terms)} operands, found {len(operands)}"
        raise PassFailure(message, op)
    wanted = re.findall(r"\.\.\.|[A-Za-z]", right) if arrow else _implied(terms)
    shapes = [tensor(value)[0] for value in operands]
    named = _without_ellipsis([*terms, wanted], [*shapes, tensor(op.result)[0]], op)
    extents = _extents(operands, named[:-1])
    broadcast = [_kept(value, term, extents) for value, term in zip(operands, named, strict=False)]
    is_plain = arrow and len(terms) < 3 and _ELLIPSIS not in equation
    if is_plain and broadcast == named[:-1]:
        return None
    operands = [_viewed(*one, extents) for one in zip(operands, named[:-1], broadcast, strict=True)]
    return _multiplied(op, operands, broadcast, named[-1])


def _kept(value: ir.Value, term: str, extents: Mapping[str, int | None]) -> str:
    """Returns the indices of a term without those whose extent of 1 is broadcast."""
    pairs = zip(term, tensor(value)[0], strict=True)
    return "".join(one for one, extent in pairs if extent != 1 or extents[one] == 1)


def _viewed(value: ir.Value, term: str, kept: str, extents: Mapping[str, int | None]) -> ir.Value:
    if term == kept:
        return value
    return view(value, [extents[one] for one in kept], tensor(value)[1])


def _implied(terms: Sequence[list[str]]) -> list[str]:
    """Returns the result of an equation without one: broadcast dimensions, then single indices."""
    every = list(itertools.chain(*terms))
    single = sorted(one for one in set(every) - {_ELLIPSIS} if every.count(one) == 1)
    return [_ELLIPSIS] * (_ELLIPSIS in every) + single


def _without_ellipsis(
    terms: Sequence[list[str]], shapes: Sequence[Shape], op: ir.Operation
) -> list[str]:
    """Names the dimensions that ellipses stand for, counted from the last."""
    used = set(itertools.chain(*terms))
    free = [one for one in string.ascii_letters if one not in used]
    named: list[str] = []
    for term, shape in zip(terms, shapes, strict=True):
        count = len(shape) - len(term) + 1 if _ELLIPSIS in term else 0
        if count < 0 or (_ELLIPSIS not in term and len(term) != len(shape)):
            message = f"'{aten_name(op)}' expects an index for each dimension, found {len(term)}"
            raise PassFailure(f"{message} for {len(shape)}", op)
        names = "".join(free[:count][::-1])
        named.append("".join(names if one == _ELLIPSIS else one for one in term))
    return named


def _multiplied(
    op: ir.Operation, operands: Sequence[ir.Value], terms: Sequence[str], wanted: str
) -> ir.Value:
    element = tensor(op.result)[1]
    product, indices = operands[0], terms[0]
    for number in range(1, len(terms)):
        later = "".join([wanted, *terms[number + 1 :]])
        is_last = number == len(terms) - 1
        both = dict.fromkeys(indices + terms[number])
        kept = wanted if is_last else "".join(one for one in both if one in later)
        pair = [product, operands[number]]
        extents = _extents(pair, [indices, terms[number]])
        result = op.result.type
        if not is_last:
            result = vtensor_type([extents[one] for one in kept], element)
        product = _einsum(pair, f"{indices},{terms[number]}->{kept}", result)
        indices = kept
    if len(terms) == 1:
        product = _einsum([product], f"{indices}->{wanted}", op.result.type)
    return product


def _einsum(operands: Sequence[ir.Value], equation: str, result: ir.Type) -> ir.Value:
    listed = torch_op(
        "prim.ListConstruct", list(operands), [ir.Type.parse("!torch.list<vtensor>")]
    ).result
    return torch_op(
        "aten.einsum", [constant_str(equation), listed, constant_none()], [result]
    ).result


def _extents(operands: Sequence[ir.Value], terms: Sequence[str]) -> dict[str, int | None]:
    """Returns the extents of indices, to which operands of extent 1 are broadcast."""
    extents: dict[str, int | None] = {}
    for value, term in zip(operands, terms, strict=True):
        for one, extent in zip(term, tensor(value)[0], strict=True):
            if extents.get(one, 1) == 1:
                extents[one] = extent
    return extents

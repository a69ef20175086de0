"""Cases of one op, its operands and results given by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lowering_cases import DTYPES, Array, Case, tensor_type

from hipgraft.dialects.framework.fields import Arity
from hipgraft.dialects.hipdnn import HipdnnOp
from hipgraft.ir.bindings import ir


def uniform(
    random: np.random.Generator,
    shape: Sequence[int],
    element: str,
    low: float = -1,
    high: float = 1,
) -> Array:
    """Returns random values, rounded to `element`."""
    return random.uniform(low, high, shape).astype(DTYPES[element])


def wide(values: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the values in double precision."""
    return {name: value.astype(np.float64) for name, value in values.items()}


def op_case(
    name: str,
    op_class: type[HipdnnOp],
    operands: Mapping[str, Array],
    expected: Mapping[str, Array],
    elements: Mapping[str, str] | str,
    tolerance: float | tuple[float, float],
    *,
    target: str = "cpu",
    **attributes: Any,
) -> Case:
    """Returns the case of one op.

    Args:
        name: unique among the cases that are compiled together.
        op_class: class of the op.
        operands: values by name; omitted operands are absent.
        expected: the oracle's values, by result; omitted results are absent or not returned.
        elements: element types of the results, or one type for all.
        tolerance: relative and absolute, or one value for both.
        target: target of the lowering.
        attributes: the op's attributes.
    """
    types = elements if isinstance(elements, dict) else dict.fromkeys(expected, elements)

    def build(*values: ir.Value) -> list[ir.Value]:
        given = dict(zip(operands, values, strict=True))
        present = [given.get(field.name) for field in op_class.operand_fields]
        while present[-1] is None:
            present.pop()
        results = {key: tensor_type(np.shape(expected[key]), types[key]) for key in expected}
        missing = {field.name: None for field in op_class.result_fields if field.arity is Arity.ONE}
        op = op_class.build(*present, results=missing | results, **attributes)
        return [getattr(op, key) for key in expected]

    rtol, atol = tolerance if isinstance(tolerance, tuple) else (tolerance, tolerance)
    return Case(
        name=name,
        inputs=list(operands.values()),
        build=build,
        expected=list(expected.values()),
        elements=[types[key] for key in expected],
        rtol=rtol,
        atol=atol,
        target=target,
    )

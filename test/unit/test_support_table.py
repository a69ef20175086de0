"""The support table: all its forms build, and one row agrees with the compiler."""

from __future__ import annotations

import pytest

from hipgraft.dialects import hipdnn
from hipgraft.dialects.hipdnn import OPS, ComputeOp
from hipgraft.ir.bindings import ir, make_context
from hipgraft.tools.dev.gen_support_table import ARCHITECTURES, TARGET, compiled, page
from hipgraft.tools.dev.support_graphs import FORMS, Form


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.op}-{form.what}")
def test_forms_are_valid(form: Form) -> None:
    with make_context(), ir.Location.unknown():
        assert hipdnn.verify(form.build()) == []


def test_every_op_has_a_form() -> None:
    compute = {cls.OP_NAME for cls in OPS.values() if issubclass(cls, ComputeOp)}
    # A custom op is what its template is.
    missing = compute - {f"hipdnn.{form.op}" for form in FORMS} - {"hipdnn.custom_op"}
    assert not missing


def test_rows_are_those_of_the_page() -> None:
    written = [line.split("|")[1:3] for line in TARGET.read_text().splitlines() if "| `" in line]
    assert written == [[f" `{form.op}` ", f" {form.what} "] for form in FORMS]


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", ["pointwise", "rmsnorm", "conv_wgrad"])
def test_counts_dispatches(op: str) -> None:
    assert compiled(next(form for form in FORMS if form.op == op), "gfx942") == 1


@pytest.mark.slow
def test_says_why_not() -> None:
    form = next(form for form in FORMS if form.what == "fp6")
    assert "IREE has no buffers of" in str(compiled(form, "gfx942"))


def test_notes_are_numbered_once() -> None:
    text = page([["a", "b", "a", 1], *[[1] * len(ARCHITECTURES)] * (len(FORMS) - 1)])
    assert "| no (1) | no (2) | no (1) | 1 |" in text
    assert "\n1. a\n2. b\n" in text

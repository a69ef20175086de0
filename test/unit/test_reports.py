"""Remarks as YAML that readers of LLVM's optimisation records accept."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hipgraft.ir.diagnostics import Remark, RemarkKind, split_location
from hipgraft.passmanager.statistics import remarks_yaml, timing_report

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


class _Loader(yaml.SafeLoader):
    """Reads the tags of optimisation records."""


for _kind in RemarkKind:
    _tag = f"!{_kind.value.capitalize()}"
    _Loader.add_constructor(
        _tag, lambda loader, node, tag=_tag: (tag, loader.construct_mapping(node, deep=True))
    )


@pytest.mark.slow
@given(st.sampled_from(RemarkKind), _text, _text, _text, _text)
def test_yaml_is_read_back(kind: RemarkKind, name: str, message: str, function: str, value: str):
    remark = Remark(kind, "hipdnn-outline", name, message, "a b.mlir:3:7", function, {"k": value})
    text = remarks_yaml([remark, remark])
    documents = list(yaml.load_all(text, _Loader))
    tag, fields = documents[0]
    assert documents[1] == documents[0]
    assert tag == f"!{kind.value.capitalize()}"
    assert fields == {
        "Pass": "hipdnn-outline",
        "Name": name,
        "DebugLoc": {"File": "a b.mlir", "Line": 3, "Column": 7},
        "Function": function,
        "Args": [{"String": message}, {"k": value}],
    }


def test_shares_of_time_add_up():
    report = timing_report([("a", 1.0), ("b", 3.0)])
    assert "1.0000 ( 25.0%)  a" in report
    assert "3.0000 ( 75.0%)  b" in report
    assert "4.0000 (100.0%)  Total" in report


def test_locations_with_colons_in_the_name():
    assert split_location("C:/x.mlir:3:7") == ("C:/x.mlir", 3, 7)
    assert split_location("x.mlir") is None
    assert split_location("") is None

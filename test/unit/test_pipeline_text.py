"""Pipeline text and pass options: parsing, printing, and the locations of errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipgraft.ir.diagnostics import PipelineParseError
from hipgraft.passes.testing.test_rename_functions import TestRenameFunctionsPass as RenamePass
from hipgraft.passmanager import options as pass_options
from hipgraft.passmanager.pipeline import resolve, to_text
from hipgraft.passmanager.text import (
    NestNode,
    PassNode,
    merge_nests,
    parse_nodes,
    print_nodes,
    print_pipeline,
    split_options,
)


def test_tree_of_mixed_pipeline():
    text = (
        "builtin.module(cse,func.func(canonicalize{max-iterations=3}),hipdnn-outline{policy=a,b})"
    )
    assert parse_nodes(text) == (
        PassNode("cse"),
        NestNode("func.func", (PassNode("canonicalize", "max-iterations=3"),)),
        PassNode("hipdnn-outline", "policy=a,b"),
    )
    assert print_pipeline(parse_nodes(text)) == text


def test_columns_are_those_of_the_text():
    nodes = parse_nodes("builtin.module( cse, func.func( dce ) )")
    assert isinstance(nodes[1], NestNode)
    assert [nodes[0].column, nodes[1].column, nodes[1].children[0].column] == [17, 22, 33]


def test_only_the_outermost_module_is_taken_off():
    (inner,) = parse_nodes("builtin.module(builtin.module(cse))")
    assert inner == NestNode("builtin.module", (PassNode("cse"),))
    assert len(parse_nodes("cse,builtin.module(cse)")) == 2


@pytest.mark.parametrize("text", ["", "  ", "builtin.module()", "builtin.module( )"])
def test_empty_pipelines(text: str):
    assert parse_nodes(text) == ()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a,", 3),
        (",a", 1),
        ("a)", 2),
        ("m(a", 4),
        ("m(a,)", 5),
        ("a{b", 2),
        ("a{b='c}", 5),
        ("a{b={c}", 2),
        ("a b", 3),
        ("a{b}c", 5),
    ],
)
def test_syntax_errors_have_columns(text: str, column: int):
    with pytest.raises(PipelineParseError) as error:
        resolve(text)
    assert error.value.text == text
    assert error.value.location.startswith("<pass-pipeline>:1:")
    # A quote inside of braces counts from the brace, because its column is inside of the options.
    assert error.value.column == column


@pytest.mark.slow
def test_deep_nests_are_an_error():
    with pytest.raises(PipelineParseError, match="nested too deeply"):
        resolve("a(" * 100_000)


def test_options_are_split_outside_of_quotes_and_braces():
    options = split_options("a=1 b='x y' c={d=1 e={f g}} flag  h=", column=10)
    assert [(o.key, o.value) for o in options] == [
        ("a", "1"),
        ("b", "'x y'"),
        ("c", "{d=1 e={f g}}"),
        ("flag", None),
        ("h", ""),
    ]
    assert [o.column for o in options] == [10, 14, 22, 38, 44]


def test_neighbouring_nests_are_joined_at_every_depth():
    nodes = parse_nodes("f(a),f(g(b)),f(g(c)),d,f(e)")
    assert print_nodes(merge_nests(nodes)) == "f(a,g(b,c)),d,f(e)"


_names = st.text(alphabet="abcdefghijklmnopqrstuvwxyz-0123456789._", min_size=1, max_size=12)
_options = st.none() | st.lists(
    st.tuples(_names, st.sampled_from(["1", "a,b", "'x y'", "{p=1 q={r}}", '"a)b"', "-2.5"])),
    max_size=3,
).map(lambda pairs: " ".join(f"{key}={value}" for key, value in pairs))
_passes = st.builds(PassNode, _names, _options)
_nodes = st.recursive(
    _passes,
    lambda inner: st.builds(NestNode, _names, st.lists(inner, max_size=3).map(tuple)),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.lists(_nodes, max_size=4).map(tuple))
def test_every_tree_is_read_back(nodes: tuple[PassNode | NestNode, ...]):
    assert parse_nodes(print_pipeline(nodes)) == nodes


_words = st.text(alphabet=st.characters(codec="ascii", exclude_characters="'"), max_size=10).filter(
    str.isprintable
)


@pytest.mark.slow
@given(
    prefix=_words,
    keep=st.lists(_words, max_size=3).map(tuple),
    suffix_numbers=st.lists(st.integers(), max_size=3).map(tuple),
    repeat=st.integers(),
    scale=st.floats(allow_nan=False),
    private=st.booleans(),
)
def test_every_pass_is_read_back(**fields: object):
    pass_ = RenamePass(**fields)  # type: ignore[arg-type]
    assert resolve(to_text([pass_])) == (pass_,)


@pytest.mark.parametrize("text", ["\xa0", "a\u2003b", "\x1f"])
def test_each_kind_of_space_is_quoted(text: str):
    """The reader splits words at all of Unicode's spaces."""
    pass_ = RenamePass(prefix=text)
    assert resolve(to_text([pass_])) == (pass_,)


def test_defaults_are_not_printed():
    assert pass_options.to_text(RenamePass()) == ""
    assert pass_options.to_text(RenamePass(repeat=3, private=True)) == "repeat=3 private=true"


def test_option_descriptions():
    infos = {info.name: info for info in pass_options.describe(RenamePass)}
    assert infos["suffix-numbers"].type_name == "list of int"
    assert infos["private"].default == "false"
    assert infos["prefix"].doc == "What to put before names"


def test_named_pipelines_expand_in_place():
    steps = resolve("cse,hipgraft-torch,cse")
    names = [step.name for step in steps]
    assert names[0] == names[-1] == "cse"
    assert "convert-torch-to-hipdnn" in names[1:-1]
    assert resolve(to_text(steps)) == steps or to_text(resolve(to_text(steps))) == to_text(steps)


def test_named_pipeline_options_are_checked():
    with pytest.raises(PipelineParseError, match="'hipgraft-torch' has no option 'no'"):
        resolve("hipgraft-torch{no=1}")


def test_passes_and_texts_mix_in_a_sequence():
    steps = resolve([RenamePass(prefix="a_"), "cse,func.func(dce)", RenamePass()])
    assert to_text(steps) == (
        "builtin.module(test-rename-functions{prefix=a_},cse,func.func(dce),test-rename-functions)"
    )

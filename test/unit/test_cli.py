"""Behaviour that tools share: flags, arrays in and out, comparison, exit status."""

import argparse
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime import comparison
from hipgraft.tools import arrays, cli, hipgraft_compile, hipgraft_run
from hipgraft.tools.arrays import Signature

F32 = np.dtype(np.float32)


def extents(*flags: str):
    parser = argparse.ArgumentParser()
    cli.add_model_arguments(parser)
    return cli.extents(parser.parse_args(["m.onnx", *flags]))


def test_extents():
    flags = ("--shape=x=1x3", "--shape=a=b=2", "--dim=batch=4", "--specialize=n=m=1,8")
    shapes = {"x": [1, 3], "a=b": [2]}
    assert extents(*flags) == {
        "shapes": shapes,
        "dims": {"batch": 4},
        "specialize": {"n=m": [1, 8]},
    }


@pytest.mark.parametrize(
    "flag",
    ["shape=x=", "shape=x=1x?", "shape=x=0", "shape=x=-1", "dim=x=1,2", "specialize=x=1x2"],
)
def test_malformed_extent(flag):
    with pytest.raises(HipgraftError, match=f"expected a positive number in '--{re.escape(flag)}'"):
        extents(f"--{flag}")


@pytest.mark.parametrize("flag", ["shape", "dim", "specialize"])
def test_extent_without_name(flag):
    with pytest.raises(HipgraftError, match=f"expected NAME=... in '--{flag}=3'"):
        extents(f"--{flag}=3")


TOOLS = ("cache", "compile", "emulate", "reduce", "run", "serve", "translate", "tune")


def flags_with(
    wanted: Callable[[argparse.Action], bool],
) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """The flags of all tools whose action is wanted, with their parsers."""
    parsers = {one: import_module(f"hipgraft.tools.hipgraft_{one}")._parser() for one in TOOLS}
    return {
        f"{tool}{flag}": (parser, flag)
        for tool, parser in parsers.items()
        for action in parser._actions
        if wanted(action)
        for flag in action.option_strings
    }


NUMBER_FLAGS = flags_with(lambda action: action.type is not None and action.type is not str)
VALUE_FLAGS = flags_with(lambda action: action.nargs != 0)


@pytest.mark.parametrize("name", VALUE_FLAGS)
def test_flag_whose_value_is_two_dashes(name: str, capsys: pytest.CaptureFixture[str]):
    parser, flag = VALUE_FLAGS[name]
    for text in (f"{flag}=--", *([] if flag.startswith("--") else [f"{flag}--"])):
        with pytest.raises(SystemExit) as ended:
            parser.parse_args([text])
        assert ended.value.code == 2
        assert f"argument {flag}: expected a value, not '--'" in capsys.readouterr().err


def test_flags_after_two_dashes_are_the_programs():
    parser = import_module("hipgraft.tools.hipgraft_emulate")._parser()
    assert parser.parse_args(["--", "true", "--flag=--"]).command == ["true", "--flag=--"]


@pytest.mark.parametrize("name", NUMBER_FLAGS)
@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e400", "x", "", "\u00b2", "9" * 5000])
def test_flag_that_is_no_number(name: str, text: str, capsys: pytest.CaptureFixture[str]):
    parser, flag = NUMBER_FLAGS[name]
    with pytest.raises(SystemExit):
        parser.parse_args([f"{flag}={text}"])
    assert re.search(
        rf"argument \S*{flag}\S*: expected a (positive )?number", capsys.readouterr().err
    )


def test_flags_that_are_numbers():
    assert len(NUMBER_FLAGS) >= 12
    assert cli.natural("0") == 0
    assert cli.positive("7") == 7
    assert cli.magnitude("2.5") == 2.5


def test_user_error_is_status_1_without_traceback(capsys):
    def body() -> int:
        raise HipgraftError("no such thing", location="a.mlir:1:2")

    assert cli.run_tool(body) == 1
    assert capsys.readouterr().err == "a.mlir:1:2: error: no such thing\n"


def test_bug_is_told_with_its_place(capsys):
    def body() -> int:
        return 1 // 0

    assert cli.run_tool(body) == 1
    said = capsys.readouterr().err
    assert "error: internal error: ZeroDivisionError: integer division or modulo by zero" in said
    assert f"note: in body, {__file__}:" in said
    assert "Traceback" not in said


def test_inputs_are_found_by_number_position_and_name(tmp_path):
    one, two = np.ones(2, np.float32), np.zeros(3, np.float32)
    signatures = [Signature("ids", (2,), F32), Signature("mask", (3,), F32)]
    for names in (("in_0", "in_1"), ("arg0", "arg1"), ("ids", "mask")):
        np.savez(tmp_path / "x.npz", **dict(zip(names, (one, two), strict=True)))
        found = arrays.match_inputs(
            arrays.read_arrays(f"@{tmp_path}/x.npz", "in"), {"": signatures}
        )
        assert [array.shape for array in found] == [(2,), (3,)]


def test_one_file_may_hold_inputs_and_outputs(tmp_path):
    np.savez(tmp_path / "x.npz", in_0=np.ones(1), out_0=np.zeros(2))
    assert list(arrays.read_arrays(f"@{tmp_path}/x.npz", "out")) == ["out_0"]


def test_input_of_wrong_type_or_absent():
    with pytest.raises(HipgraftError, match="expected 2xfloat32, found 3xfloat64"):
        arrays.match_inputs({"in_0": np.ones(3)}, {"": [Signature("x", (2,), F32)]})
    with pytest.raises(HipgraftError, match="'in_0' or 'arg0' or 'x'"):
        arrays.match_inputs({"y": np.ones(3)}, {"": [Signature("x", (2,), F32)]})


def test_bits_that_numpy_files_do_not_name():
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    stored = np.array([1.5], dtype=bfloat16).view(np.dtype("V2"))
    (found,) = arrays.match_inputs({"in_0": stored}, {"": [Signature("", (1,), bfloat16)]})
    assert found.dtype == bfloat16
    assert float(found[0]) == 1.5


@pytest.mark.parametrize("flag", ["x.npz", "@x.txt"])
def test_malformed_array_flag(flag):
    with pytest.raises(HipgraftError, match="expected '@FILE"):
        arrays.read_arrays(flag, "in")


def test_missing_array_file(tmp_path):
    with pytest.raises(HipgraftError, match="cannot read arrays"):
        arrays.read_arrays(f"@{tmp_path}/none.npz", "in")


def test_generated_inputs_are_reproducible_and_in_range():
    signatures = [Signature("x", (100,), F32), Signature("ids", (100,), np.dtype(np.int64))]
    first, again = (arrays.generate_inputs(signatures, seed=3) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert set(first[1]) == {0, 1}
    assert (first[0] != arrays.generate_inputs(signatures, seed=4)[0]).any()


@pytest.mark.parametrize(
    ("got", "expected", "ok"),
    [
        ([1.0, 100.0], [1.005, 100.0], True),  # small relative to the largest
        ([1.0, 100.0], [1.0, 101.0], False),
        ([np.nan], [np.nan], True),
        ([np.nan], [1.0], False),
        ([1.0], [np.nan], False),
        ([np.inf], [np.inf], True),
        ([-np.inf], [np.inf], False),
        ([1.0], [1.0, 1.0], False),
    ],
)
def test_comparison(got, expected, ok):
    got, expected = (np.array(values, dtype=np.float32) for values in (got, expected))
    assert comparison.compare(got, expected, rtol=1e-4, atol=0.0).ok is ok


def test_wrong_elements_are_no_rounding():
    """A decoder that reads other elements was off by a hundredth of the largest logit."""
    expected = np.linspace(-0.54, 0.54, 9, dtype=np.float16)
    rtol = comparison.tolerance(expected.dtype)
    assert not comparison.compare(expected + np.float16(5.9e-3), expected, rtol, 0.0).ok
    assert comparison.compare(expected + np.float16(5e-4), expected, rtol, 0.0).ok


def test_integers_must_be_equal():
    rtol = comparison.tolerance(np.dtype(np.int64))
    assert not comparison.compare(np.array([1000]), np.array([1001]), rtol, 0.0).ok


@pytest.mark.parametrize("tool", [hipgraft_compile, hipgraft_run])
def test_help_and_wrong_flags(tool, capsys):
    with pytest.raises(SystemExit) as status:
        tool.main(["--help"])
    assert status.value.code == 0
    assert "MODEL" in capsys.readouterr().out
    with pytest.raises(SystemExit) as status:
        tool.main(["model.onnx", "--frobnicate"])
    assert status.value.code == 2


CONV = Path(__file__).parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("x.mlir", b"module"), ("x.mlirbc", b"ML\xefR"), ("x.hgb", b"HIPGRFT"), ("x", b"module")],
)
def test_suffix_of_the_output_says_its_form(tmp_path, name, beginning):
    assert hipgraft_compile.main([str(CONV), "--target=cpu", "-q", "-o", f"{tmp_path}/{name}"]) == 0
    found = (tmp_path / name).read_bytes()
    assert beginning in found[:200]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-o", "{}/x.txt"], "has an unknown suffix: .mlir is mlir, .mlirbc is bytecode"),
        (["-o", "{}/x.hgb", "--emit=mlir"], "suffix of another form than --emit=mlir"),
        (["-o", "{}/x.mlir", "--emit=bundle"], "suffix of another form than --emit=bundle"),
        (["-o", "{}/x.hgb", "--compile-to=torch"], "--emit=bundle needs a program of the last"),
    ],
)
def test_unknown_or_other_suffix(tmp_path, capsys, flags, message):
    given = [flag.format(tmp_path) for flag in flags]
    assert hipgraft_compile.main([str(CONV), "-q", *given]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_bundle_that_is_none(tmp_path, capsys):
    (tmp_path / "x.hgb").write_text("module {}")
    assert hipgraft_run.main([str(tmp_path / "x.hgb")]) == 1
    assert (
        "x.hgb: error: the file has the suffix of a bundle and is none" in capsys.readouterr().err
    )


def test_every_tool_is_on_the_page_of_tools():
    root = Path(__file__).parents[2]
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    page = (root / "docs" / "tools.md").read_text()
    assert all(f"| `{tool}` | " in page for tool in scripts)

"""hipgraft-emulate --check: reports the defects of launches of whole programs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from assembled import requires_assembler
from emulator import requires_emulator
from test_emulate_tool import BIN, run

pytestmark = [requires_emulator, requires_assembler]

PROGRAM = Path(__file__).parent / "checked_program.py"
RACE = (
    r"error: kernel 'f': race in LDS: 'ds_write_b32 v1, v0' at 0x\w+ \(swap.cpp:7\) in wave 1 of "
    r"workgroup 0, lane 0, address 0x100, 4 bytes; the other is 'ds_read_b32 v3, v2' at 0x\w+ "
    r"\(swap.cpp:9\) in wave 0 of workgroup 0\n"
)
UNWRITTEN = (
    r"error: kernel 'f': store of an uninitialised value: 'global_store_dword v1, v3, s\[4:5\]' at "
    r"0x\w+ \(swap.cpp:{}\) in wave 0 of workgroup 0, lane 0, address 0x\w+, 4 bytes; "
    r"it comes from 'ds_read_b32 v3, v{}' at 0x\w+ \(swap.cpp:{}\) in wave 0 of workgroup 0\n"
)
EXCHANGE = UNWRITTEN.format(12, 2, 9)
ENDLESS = UNWRITTEN.format(4, 1, 3)


def told(flags: str, *modes: str, cwd: Path, status: int = 1) -> str:
    tool = (BIN / "hipgraft-emulate", *flags.split(), "--", sys.executable, PROGRAM)
    return run(*tool, *modes, cwd=cwd, status=status).stderr


def closing(count: int) -> str:
    return f"error: the checks found {count} defect{'s' if count > 1 else ''}\n"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("flags", "modes"),
    [
        ("--check=all", "right"),
        ("--check=alignment,barriers", "right wrong"),
        ("", "right wrong"),
    ],
)
def test_nothing_is_told_of(flags: str, modes: str, tmp_path: Path):
    assert told(flags, *modes.split(), cwd=tmp_path, status=0) == ""


def test_a_defect_is_told_once_a_kernel(tmp_path: Path):
    found = told("--check=races", "again", "right", "wrong", cwd=tmp_path)
    assert re.fullmatch(RACE + closing(1), found)
    found = told("--check=all", "again", "exit", cwd=tmp_path, status=7)
    assert re.fullmatch(EXCHANGE + RACE + closing(2), found)


def test_findings_outlive_the_program(tmp_path: Path):
    found = told("--check=all", "wrong", "killed", cwd=tmp_path, status=137)
    assert re.fullmatch(EXCHANGE + RACE + ENDLESS + closing(3), found)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("before", "lane"), [("nothing", 0), ("part", 0), ("device", 0)])
def test_memory_that_nothing_was_stored_to(before: str, lane: int, tmp_path: Path):
    found = told("--check=uninitialised", f"copy-{before}", cwd=tmp_path)
    assert re.search(r"uninitialised.*'global_store_dword v1, v2.*swap.cpp:22", found), found
    assert re.search(r"'global_load_dword v2, v1.*swap.cpp:21", found), found
    assert f"lane {lane}, " in found


@pytest.mark.sampled(6)
@pytest.mark.parametrize("before", ["fill", "host", "kernel"])
def test_memory_that_something_was_stored_to(before: str, tmp_path: Path):
    assert told("--check=uninitialised", f"copy-{before}", cwd=tmp_path, status=0) == ""


def test_children_are_checked(tmp_path: Path):
    found = told("--check=races,uninitialised", "children", cwd=tmp_path)
    assert found.count("\n") == 4
    for one in (EXCHANGE, RACE, ENDLESS, closing(3)):
        assert re.search(one, found)


def test_faults_have_source_lines(tmp_path: Path):
    fault = (
        r"error: kernel 'f': store out of bounds: lane 63, address 0x\w+, 4 bytes, at 0x\w+ "
        r"\(swap.cpp:12\) in wave 1 of workgroup \(0, 0, 0\)\n"
    )
    assert re.fullmatch(fault, told("", "fault", cwd=tmp_path))
    assert re.fullmatch(fault, told("--check=all", "fault", cwd=tmp_path))


def test_the_memory_of_checks_is_taken_where_it_is_used(tmp_path: Path):
    found = told("--check=races", "large", cwd=tmp_path)
    assert re.fullmatch(RACE + closing(1), found)


def test_checks_are_chosen_by_name(tmp_path: Path):
    found = told("--check=races,order", "right", cwd=tmp_path)
    assert found.startswith("error: the check 'order' runs launches again")
    found = told("--check=rases", "right", cwd=tmp_path)
    assert re.fullmatch(r"error: expected checks of .*, found 'rases'\n", found)

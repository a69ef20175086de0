"""Runs every tool with unusual values of flags.

    python benchmarks/tool_flags.py [--runs 1000] [--seed 0] [--jobs 2] [--tools NAME ...]

A run must end in time with status 0, 1 or 2, say why it fails, say it without a traceback, leave no
temporary file, and leave the devices that were named as outputs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

BIN = Path(sys.executable).parent
INPUTS = Path(__file__).resolve().parents[1] / "test" / "lit" / "tools" / "Inputs"
_DEVICES = [one for one in ("/dev/null", "/dev/full") if Path(one).is_char_device()]
_SECONDS = 120.0
_LARGEST_FILE = 1 << 28

# Copies are in the folder that a tool runs in: a flag without its value takes the next word.
_MODEL, _GRAPH = "conv_relu.mlir", "conv_bias_relu.json"
# The arguments of each tool after the drawn flags.
TOOLS = {
    "hipgraft-opt": [_MODEL],
    "hipgraft-compile": [_MODEL, "-q"],
    "hipgraft-run": [_MODEL, "-q"],
    "hipgraft-tune": [_MODEL, "-q", "--cost-models=static"],
    "hipgraft-translate": ["--import-hipdnn-json", _GRAPH],
    "hipgraft-cache": ["list"],
    "hipgraft-reduce": [_MODEL, "--test=false", "-q"],
    "hipgraft-emulate": ["--", "true"],
    "hipgraft-serve": ["--idle=0"],
    "hipgraft-config": [],
}
VALUES = (
    *("", "-", "--", "0", "-1", "1", "nan", "inf", "1e400", "1e-320", "9" * 400, "\u00b2", "0x10"),
    *("%s%n", "\u00e9", "\udcff\udc80", "a\nb", "\\", "(", "{", "[", "[z-a]", "*", "=", ":", ",,"),
    *(*_DEVICES, ".", "..", "no/such/file", "@", "@x", "@/dev/null", "x" * 5000),
    *("a=b", "a=", "=1", "a=-1", "a=nan", "x=1x2", "batch=1,2", "1,2", "1x2", "None", "true"),
    *("gfx942", "gfx9999", "cpu", "cpu,cpu", "hip", "hip:-1", "cuda:999", "emulator:gfx1", "json"),
)
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


@cache
def flags_of(tool: str) -> tuple[str, ...]:
    """Returns the flags in a tool's help, except the flags that make it wait."""
    done = subprocess.run([BIN / tool, "--help"], capture_output=True, text=True, check=True)
    listed = (line for line in done.stdout.splitlines() if line.startswith("  -"))
    found = {flag for line in listed for flag in _FLAG.findall(line.split("  - ")[0])}
    return tuple(sorted(found - {"--idle"}))


def drawn(tool: str, generator: random.Random) -> list[str]:
    """Returns a command with one flag or several."""
    words: list[str] = []
    while not words or generator.random() < 0.3:
        flag, value = generator.choice(flags_of(tool)), generator.choice(VALUES)
        words.append(flag if generator.random() < 0.1 else f"{flag}={value}")
    return [str(BIN / tool), *words, *TOOLS[tool]]


def judged(command: Sequence[str]) -> str:
    """Runs a command; returns the violation, or an empty text."""
    with tempfile.TemporaryDirectory(prefix="hipgraft-flags-") as name:
        folder, temporary = Path(name, "a", "b"), Path(name, "temporary")
        for one in (folder, temporary):
            one.mkdir(parents=True)
        for model in (_MODEL, _GRAPH):
            shutil.copy(INPUTS / model, folder)
        given = {"HIPGRAFT_CACHE_DIR": f"{name}/cache", "XDG_RUNTIME_DIR": name}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **given, "TMPDIR": str(temporary)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                preexec_fn=_limit,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "hangs"
        said = done.stdout.decode(errors="replace")
        if done.returncode not in (0, 1, 2):
            return f"status {done.returncode}: {said[-500:]}"
        for word in ("Traceback", "internal error", "Fatal Python error"):
            if word in said:
                return said[-2000:]
        if done.returncode and not said:
            return "fails without a word"
        if not all(Path(device).is_char_device() for device in _DEVICES):
            return "removed a device"
        left = [path.name for path in temporary.iterdir() if path.name not in said]
        return f"left {left}" if left else ""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script and returns the exit status: 1 if there is a violation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=list(TOOLS))
    options = parser.parse_args(arguments)
    generator = random.Random(options.seed)
    commands = [
        drawn(options.tools[number % len(options.tools)], generator)
        for number in range(options.runs)
    ]
    found: Counter[str] = Counter()
    with ThreadPoolExecutor(options.jobs) as threads:
        for command, wrong in zip(commands, threads.map(judged, commands), strict=True):
            if wrong:
                found[Path(command[0]).name] += 1
                print(f"WRONG: {[word[:80] for word in command]!a}: {wrong}", flush=True)
    print(f"{options.runs} runs, {found.total()} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

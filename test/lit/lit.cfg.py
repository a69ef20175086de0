"""Configuration of the lit tests: `lit test/lit` from the repository's root."""

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import lit.formats

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
BIN = Path(sys.executable).parent

config.name = "hipgraft"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
if "fast" not in lit_config.params:  # noqa: F821
    config.available_features.add("slow")  # noqa: F821
config.test_source_root = str(ROOT / "test" / "lit")  # noqa: F821
config.test_exec_root = str(ROOT / "build" / "lit")  # noqa: F821

# A process that has imported the tools of this checkout, installed or not, runs their commands. It
# ends with this process, which leaves the other end of its standard input open.
server = f"hipgraft-lit-{secrets.token_hex(8)}"
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind("\0" + server)
    listener.listen(64)
    subprocess.Popen(
        [sys.executable, FOLDER / "tool_server.py", str(listener.fileno())],
        stdin=os.pipe()[0],
        stdout=subprocess.DEVNULL,
        pass_fds=[listener.fileno()],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
client = f"{sys.executable} -I -S {FOLDER / 'tool_client.py'} {server}"
modules = {
    path.stem.replace("_", "-"): f"hipgraft.tools.{path.stem}"
    for path in sorted((ROOT / "tools").glob("hipgraft_*.py"))
}
commands = {name: f"{client} {module}" for name, module in modules.items()}
commands["FileCheck"] = f"{client} filecheck.main"
commands["iree-opt"] = str(BIN / "iree-opt")
for name, command in commands.items():
    config.substitutions.append((rf"(?<![\w/.-]){name}\b(?![\w/.-])", command))  # noqa: F821

# Tests share a cache, which is theirs alone.
if "PYTHONMALLOC" in os.environ:  # `make thorough` finds memory that is used after it was freed
    config.environment["PYTHONMALLOC"] = os.environ["PYTHONMALLOC"]  # noqa: F821
config.environment["HIPGRAFT_CACHE_DIR"] = str(ROOT / "build" / "lit-cache")  # noqa: F821
config.substitutions.append(("%{python}", sys.executable))  # noqa: F821

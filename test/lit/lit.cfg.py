"""Configuration of the lit tests: `lit test/lit` from the repository's root."""

import os
import sys
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

config.name = "hipgraft"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
if "fast" not in lit_config.params:  # noqa: F821
    config.available_features.add("slow")  # noqa: F821
config.test_source_root = str(ROOT / "test" / "lit")  # noqa: F821
config.test_exec_root = str(ROOT / "build" / "lit")  # noqa: F821

# The tests are of this checkout, installed or not. PYTHONPATH is set for each command because lit
# overwrites it in the environment when a line uses its own `cat` or `diff`.
for path in sorted((ROOT / "tools").glob("hipgraft_*.py")):
    command = f"env PYTHONPATH={ROOT / 'src'} {sys.executable} -m hipgraft.tools.{path.stem}"
    name = path.stem.replace("_", "-")
    config.substitutions.append((rf"(?<![\w/.-]){name}\b(?![\w/.-])", command))  # noqa: F821

for name, program in (("FileCheck", "filecheck"), ("iree-opt", "iree-opt")):
    config.substitutions.append((rf"(?<![\w/.-]){name}\b(?![\w/.-])", str(BIN / program)))  # noqa: F821

# Tests share a cache, which is theirs alone.
if "PYTHONMALLOC" in os.environ:  # `make thorough` finds memory that is used after it was freed
    config.environment["PYTHONMALLOC"] = os.environ["PYTHONMALLOC"]  # noqa: F821
config.environment["HIPGRAFT_CACHE_DIR"] = str(ROOT / "build" / "lit-cache")  # noqa: F821
config.substitutions.append(("%{python}", sys.executable))  # noqa: F821

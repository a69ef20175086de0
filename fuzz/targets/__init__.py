"""Defines the targets: all readers of data from outside."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "test" / "unit"))

from fuzz.targets import files, graphs, host_programs, modules, onnx_models

TARGETS = {
    target.name: target
    for part in (modules, host_programs, graphs, onnx_models, files)
    for target in part.TARGETS
}

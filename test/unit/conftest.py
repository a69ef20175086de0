"""What all tests share: a cache of kernels that is theirs alone."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["HIPGRAFT_CACHE_DIR"] = str(Path(__file__).resolve().parents[2] / "build/test-cache")

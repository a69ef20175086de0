"""Where hipgraft keeps files between runs."""

import os
from pathlib import Path

import platformdirs


def default_cache_directory() -> Path:
    """Returns `$HIPGRAFT_CACHE_DIR`, or hipgraft's folder among the user's caches."""
    given = os.environ.get("HIPGRAFT_CACHE_DIR", "")
    return Path(given) if given else Path(platformdirs.user_cache_dir("hipgraft"))

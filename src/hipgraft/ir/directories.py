"""Finds the folders of files that hipgraft keeps between runs."""

from pathlib import Path

import platformdirs

from hipgraft.ir.environment import variable


def default_cache_directory() -> Path:
    """Returns `$HIPGRAFT_CACHE_DIR`, or hipgraft's folder among the user's caches."""
    given = variable("HIPGRAFT_CACHE_DIR")
    return Path(given) if given else Path(platformdirs.user_cache_dir("hipgraft"))

"""Selects the compiled architecture that a device can run."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CUDA = re.compile(r"sm_(\d+)")


def fitting(architecture: str, available: Iterable[str]) -> str | None:
    """Returns the best of `available` for a device of `architecture`, or None.

    AMD code objects run on their own architecture only. PTX also runs on later NVIDIA GPUs, so the
    newest architecture that is not newer than the device is chosen.
    """
    names = list(available)
    if architecture in names:
        return architecture
    limit = _compute_capability(architecture)
    older = [name for name in names if 0 < _compute_capability(name) <= limit]
    return max(older, key=_compute_capability, default=None)


def _compute_capability(architecture: str) -> int:
    match = _CUDA.fullmatch(architecture)
    return int(match[1]) if match else 0

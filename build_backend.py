"""setuptools as a build backend that asks for a compiler from PyPI where the machine has none."""

import shutil

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the other hooks are setuptools' own

# 0.17.1 was tested; other releases may rename options.
_COMPILER = "ziglang==0.17.1"


def _compiler() -> list[str]:
    names = ("c++", "clang++", "g++")
    return [] if any(shutil.which(name) for name in names) else [_COMPILER]


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    """Returns what building a wheel needs."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _compiler()


def get_requires_for_build_editable(config_settings: object = None) -> list[str]:
    """Returns what an editable installation needs."""
    return build_meta.get_requires_for_build_editable(config_settings) + _compiler()

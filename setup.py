"""Builds the emulator's core; everything else about the package is in pyproject.toml."""

import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

CORE = Path("src/hipgraft/emulator/core")
# Contraction would round products that the kernel does not; the core reads registers as 32 and as
# 64 bits, which strict aliasing forbids.
FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
)


def compiler() -> list[str]:
    """Returns the machine's C++ compiler, or the one in the package `ziglang`."""
    found = shutil.which("c++") or shutil.which("clang++") or shutil.which("g++")
    if found:
        return [found]
    # Of the oldest glibc that has the math functions in their present form.
    target = f"{platform.machine()}-linux-gnu.2.29"
    return [sys.executable, "-m", "ziglang", "cc", "-target", target, "-mcpu=baseline"]


class BuildCore(build_ext):
    """Compiles the core's files side by side and links them to a library without Python in it."""

    def build_extension(self, ext: Extension) -> None:
        """Builds the library where the package's other files are."""
        command, objects = compiler(), Path(self.build_temp)
        objects.mkdir(parents=True, exist_ok=True)
        files = {source: str(objects / f"{Path(source).stem}.o") for source in ext.sources}
        with ThreadPoolExecutor() as pool:
            compiles = [[*command, *FLAGS, "-c", "-o", out, one] for one, out in files.items()]
            list(pool.map(lambda each: subprocess.run(each, check=True), compiles))
        library = Path(self.get_ext_fullpath(ext.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        link = [*command, "-shared", "-o", str(library), *files.values(), "-lm", "-lpthread"]
        subprocess.run(link, check=True)

    def get_ext_filename(self, fullname: str) -> str:
        """The library does not depend on Python's version, so its name has none."""
        return str(Path(*fullname.split("."))) + ".so"


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tags of the wheel's name."""
        return ("py3", "none", super().get_tag()[2])


setup(
    ext_modules=[
        Extension(
            "hipgraft.emulator._core",
            sources=sorted(str(path) for path in CORE.glob("*.cpp")),
            depends=sorted(str(path) for path in CORE.glob("*.h")),
        )
    ],
    cmdclass={"build_ext": BuildCore, "bdist_wheel": PlatformWheel},
)

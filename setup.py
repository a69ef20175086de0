"""Builds the native libraries; everything else about the package is in pyproject.toml."""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# Some distributions pack the static form of C++'s library separately.
STATIC = ("-static-libstdc++", "-static-libgcc")
NATIVE = "src/hipgraft/native"
_PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["project"]
RELEASE = f'-DHIPGRAFT_RELEASE="{_PROJECT["version"]}"'
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti")


@dataclass(frozen=True)
class Library:
    """A shared library without Python in it.

    Attributes:
        name: dotted, in the package where the file goes.
        folders: whose `*.cpp` it is built from, and on whose `*.h` it depends.
        flags: for the compiler, besides `FLAGS`.
        links: for the linker.
        has_cpp_library: whether it uses C++'s library, which is linked into it where possible, so
            that it loads into any process.
    """

    name: str
    folders: tuple[str, ...]
    flags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    has_cpp_library: bool = False

    def extension(self) -> Extension:
        """Returns the library as setuptools takes it."""
        return Extension(
            self.name,
            sources=[path for folder in self.folders for path in _files(folder, "*.cpp")],
            depends=[path for folder in self.folders for path in _files(folder, "*.h")],
            extra_compile_args=[*FLAGS, *self.flags],
            extra_link_args=list(self.links),
            language="c++" if self.has_cpp_library else "c",
        )


def _files(folder: str, pattern: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).glob(pattern))


def _shared(folder: str) -> tuple[str, ...]:
    """Returns the folders of a library that is built on libhipgraft's sources."""
    return tuple(f"{NATIVE}/{one}" for one in ("core", "include", "client", folder))


# What the libraries of `native` share is compiled once, with the same flags for all of them.
NATIVE_FLAGS = (
    "-fexceptions",
    *(f"-I{NATIVE}/{folder}" for folder in ("include", "core", "client")),
    RELEASE,
)

LIBRARIES = (
    Library(
        "hipgraft.emulator._core",
        folders=("src/hipgraft/emulator/core",),
        # Contraction would round products that the kernel does not; the core reads registers as 32
        # and as 64 bits, which strict aliasing forbids.
        flags=("-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing"),
        links=("-lm", "-lpthread"),
    ),
    Library(
        "hipgraft.native.libhipgraft",
        folders=(f"{NATIVE}/core", f"{NATIVE}/include"),
        flags=NATIVE_FLAGS,
        links=(f"-Wl,--version-script={NATIVE}/exports.map", "-s", "-ldl", "-lpthread"),
        has_cpp_library=True,
    ),
    Library(
        "hipgraft.emulator.libamdhip64",
        folders=("src/hipgraft/emulator/hip",),
        # Nothing of C++'s library is exported: the program may have another release of it.
        links=(
            "-Wl,--version-script=src/hipgraft/emulator/hip/exports.map",
            "-Wl,-z,nodelete",  # threads of streams may outlive the last user
            *("-ldl", "-lpthread"),
        ),
        has_cpp_library=True,
    ),
    Library(
        "hipgraft.native.libhipgraft_plugin",
        folders=_shared("plugin"),
        flags=NATIVE_FLAGS,
        links=(f"-Wl,--version-script={NATIVE}/plugin/exports.map", "-s", "-ldl", "-lpthread"),
        has_cpp_library=True,
    ),
    Library(
        "hipgraft.native.libhipgraft_onnxruntime",
        folders=_shared("onnxruntime"),
        flags=NATIVE_FLAGS,
        links=(
            f"-Wl,--version-script={NATIVE}/onnxruntime/exports.map",
            "-Wl,-z,nodelete",  # sessions may outlive the registration
            *("-s", "-ldl", "-lpthread"),
        ),
        has_cpp_library=True,
    ),
)


def compiler() -> list[str]:
    """Returns the machine's C++ compiler, or the one in the package `ziglang`."""
    found = shutil.which("c++") or shutil.which("clang++") or shutil.which("g++")
    if found:
        return [found]
    # Of the oldest glibc that has the math functions in their present form.
    target = f"{platform.machine()}-linux-gnu.2.29"
    return [sys.executable, "-m", "ziglang", "c++", "-target", target, "-mcpu=baseline"]


class BuildLibraries(build_ext):
    """Compiles the files of each library side by side, and links them.

    The variable CXXFLAGS has more flags for the compiler.
    """

    def initialize_options(self) -> None:
        """Starts without any object file."""
        super().initialize_options()
        self._built: set[str] = set()  # that libraries of the same flags share

    def build_extension(self, ext: Extension) -> None:
        """Builds a library where the package's other files are."""
        command = compiler()
        compiles = [*command, *ext.extra_compile_args, *shlex.split(os.environ.get("CXXFLAGS", ""))]
        objects = Path(self.build_temp, hashlib.sha256(repr(compiles).encode()).hexdigest()[:16])
        files = {one: str(objects / Path(one).with_suffix(".o")) for one in ext.sources}

        def build(source: str) -> None:
            if files[source] not in self._built:
                Path(files[source]).parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([*compiles, "-c", "-o", files[source], source], check=True)

        with ThreadPoolExecutor() as pool:
            list(pool.map(build, ext.sources))
        self._built.update(files.values())
        library = Path(self.get_ext_fullpath(ext.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        link = [*command, "-shared", "-o", str(library), *files.values(), *ext.extra_link_args]
        if ext.language != "c++" or subprocess.run([*link, *STATIC], check=False).returncode:
            subprocess.run(link, check=True)

    def get_ext_filename(self, fullname: str) -> str:
        """The libraries do not depend on Python's version, so their names have none."""
        return str(Path(*fullname.split("."))) + ".so"


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tags of the wheel's name."""
        return ("py3", "none", super().get_tag()[2])


setup(
    ext_modules=[library.extension() for library in LIBRARIES],
    cmdclass={"build_ext": BuildLibraries, "bdist_wheel": PlatformWheel},
)

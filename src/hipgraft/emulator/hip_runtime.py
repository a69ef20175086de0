"""Runs programs on the emulated `libamdhip64`: finds the library and writes its settings.

The library is in `hip/`. It reads its settings from a folder that an environment variable names,
and writes files about faults and findings there, which `hip_reports.py` puts into words.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hipgraft.codegen.chips import CHIPS, Chip
from hipgraft.emulator.code_object import architecture_number
from hipgraft.emulator.decoded_cache import decoded_folder, decoder_version
from hipgraft.emulator.device import ARCHITECTURE, check_available
from hipgraft.emulator.errors import EmulatorError, MissingEmulatorError
from hipgraft.emulator.findings import Check
from hipgraft.emulator.hip_reports import Reports
from hipgraft.emulator.native import ComputeUnit
from hipgraft.emulator.timing import compute_unit, variations

FOLDER_VARIABLE = "HIPGRAFT_EMULATE"
"""The environment variable that holds the path of the settings folder."""
_NAMES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
_FIRST_RDNA = 1000
_MOST_DEVICES = 16
_L2_BYTES = 4 << 20
_LDS_OF_BLOCK = 64 << 10


def library_path() -> Path:
    """Returns the path of the library.

    Raises:
        MissingEmulatorError: it was not built with this package.
    """
    found = Path(__file__).parent / "libamdhip64.so"
    if not found.exists():
        raise MissingEmulatorError("the emulated libamdhip64 is not built: install hipgraft again")
    return found


@dataclass(frozen=True)
class Emulation:
    """The environment that a program needs to run on the emulator.

    Attributes:
        folder: folder with the links to the library and the settings.
        environment: environment variables to set.
        reports: findings and faults of launches.
    """

    folder: Path
    environment: Mapping[str, str]
    reports: Reports

    @property
    def errors(self) -> str:
        """The library's messages about failures other than those of launches, one per line."""
        path = self.folder / "errors"
        return path.read_text() if path.exists() else ""

    def tell(self, *, ended: bool = False) -> None:
        """Writes the findings and faults that are new since the last call to standard error.

        Args:
            ended: whether the programs have ended.
        """
        for line in self.reports.news(ended=ended):
            sys.stderr.write(f"{line}\n")


@contextmanager
def emulation(
    architecture: str = ARCHITECTURE,
    devices: int = 1,
    *,
    estimated: bool = False,
    check: Check = Check.NONE,
) -> Generator[Emulation]:
    """Prepares a folder in which programs run; removes it on exit.

    `Emulation.tell` writes findings and faults to standard error; the exit writes the rest.

    Args:
        architecture: architecture of the emulated GPUs.
        devices: number of GPUs.
        estimated: whether events report estimated GPU times instead of the emulator's run time.
        check: what to look for in launches. `ALL` is all but `ORDER`, which restores the memory
            before a launch; a program may use that meanwhile.

    Raises:
        EmulatorError: the architecture is unknown, or the emulator is not available.
    """
    if not 1 <= devices <= _MOST_DEVICES:
        raise EmulatorError(f"expected 1 to {_MOST_DEVICES} devices, found {devices}")
    if Check.ORDER in check and check != Check.ALL:
        raise EmulatorError(
            "the check 'order' runs launches again, which is for programs of hipgraft only"
        )
    settings = _settings(architecture, devices)
    check_available()
    library = library_path()
    with tempfile.TemporaryDirectory(prefix="hipgraft-emulate-") as name:
        folder = Path(name)
        for link in _NAMES:
            (folder / link).symlink_to(library)
        if estimated:
            settings["model"] = str(_write_model(folder / "model", architecture))
        settings["checks"] = int(check & ~Check.ORDER)
        settings["cache"], settings["folder"] = str(_cache(folder)), name
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (folder / "settings").write_text("".join(lines))
        before = os.environ.get("LD_LIBRARY_PATH")
        environment = {
            FOLDER_VARIABLE: str(folder),
            "HIPGRAFT_LIBAMDHIP64": str(folder / _NAMES[0]),
            "LD_LIBRARY_PATH": f"{folder}:{before}" if before else str(folder),
        }
        emulated = Emulation(folder, environment, Reports(folder, architecture))
        try:
            yield emulated
        finally:
            emulated.tell(ended=True)


class _Variation(ctypes.Structure):
    """Mirrors the structure of a variation in `hip/timing.h`."""

    _fields_ = (
        ("unit", ComputeUnit),
        ("far_bytes", ctypes.c_double),
        ("l2_bytes", ctypes.c_double),
        ("clock", ctypes.c_double),
        ("far_bandwidth", ctypes.c_double),
        ("memory_bandwidth", ctypes.c_double),
    )


def _write_model(path: Path, architecture: str) -> Path:
    if architecture not in CHIPS:
        known = ", ".join(CHIPS)
        raise EmulatorError(f"times are estimated for {known}, not for {architecture}")
    found = [
        _Variation(
            unit=compute_unit(chip, chip.units, 1.0),
            far_bytes=chip.far_bandwidth / chip.clock,
            l2_bytes=chip.l2_bytes,
            clock=chip.clock,
            far_bandwidth=chip.far_bandwidth,
            memory_bandwidth=chip.memory_bandwidth,
        )
        for chip in variations(CHIPS[architecture])
    ]
    path.write_bytes(b"".join(map(bytes, found)))
    return path


def _cache(otherwise: Path) -> Path:
    """Returns the folder of decoded kernels, or `otherwise` if that folder is not writable."""
    folder = decoded_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return otherwise
    return folder if os.access(folder, os.W_OK) else otherwise


def _settings(architecture: str, devices: int) -> dict[str, object]:
    number = architecture_number(architecture)
    chip = CHIPS.get(architecture) or _similar_chip(number)
    is_rdna = number >= _FIRST_RDNA
    return {
        "architecture": architecture,
        "features": "" if is_rdna else ":sramecc+:xnack-",
        "major": number // 100 if is_rdna else 9,
        "minor": number // 10 % 10,
        "devices": devices,
        "name": chip.name if architecture in CHIPS else architecture,
        "units": chip.units,
        "dies": chip.dies,
        "far_size": chip.far_size,
        "kernel_seconds": chip.kernel_seconds,
        "gap_seconds": chip.gap_seconds,
        "clock_khz": int(chip.clock / 1000),
        "simds": chip.simds,
        "waves": chip.most_waves,
        "wave_size": chip.lanes_per_issue,
        "registers": chip.registers,
        "granule": chip.register_granule,
        "lds_of_unit": chip.lds_size,
        "lds_of_block": chip.lds_size if architecture == "gfx950" else _LDS_OF_BLOCK,
        "l2_bytes": _L2_BYTES,
        "python": sys.executable,
        "core": next(Path(__file__).parent.glob("_core*.so"), ""),
        "version": decoder_version(),
    }


def _similar_chip(number: int) -> Chip:
    """Returns the chip whose properties are used for an architecture without known properties."""
    return CHIPS["gfx1100" if number >= _FIRST_RDNA else "gfx942"]

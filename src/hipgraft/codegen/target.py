"""Defines targets: an architecture, its wavefront size and IREE's flags for it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.environment import variable

# The processors that IREE 3.13.0's ROCm and CUDA targets accept.
_GFX9 = ("gfx908", "gfx90a", "gfx942", "gfx950")
_RDNA = (
    "gfx1100",
    "gfx1101",
    "gfx1103",
    "gfx1150",
    "gfx1151",
    "gfx1200",
    "gfx1201",
    "gfx1250",
)
_AMDGPU = _GFX9 + _RDNA
_CUDA = ("sm_80", "sm_86", "sm_89")  # their PTX also runs on later GPUs

TUNING_SPEC = "--iree-codegen-tuning-spec-path"
"""The flag whose value is a library of transforms that set tile sizes."""

PRODUCTS = {
    "mi100": "gfx908",
    "mi210": "gfx90a",
    "mi250": "gfx90a",
    "mi250x": "gfx90a",
    "mi300a": "gfx942",
    "mi300x": "gfx942",
    "mi308x": "gfx942",
    "mi325x": "gfx942",
    "mi350x": "gfx950",
    "mi355x": "gfx950",
    "w7900": "gfx1100",
    "w7800": "gfx1100",
    "rx7900xtx": "gfx1100",
    "rx7900xt": "gfx1100",
    "w7700": "gfx1101",
    "rx7800xt": "gfx1101",
    "rx7700xt": "gfx1101",
    "rx9060xt": "gfx1200",
    "rx9070": "gfx1201",
    "rx9070xt": "gfx1201",
    "r9700": "gfx1201",
    "a100": "sm_80",
    "rtx3090": "sm_86",
    "rtx4090": "sm_89",
}
"""The architectures of products, by their names in lower case."""

# IREE demotes f64 to f32 by default, but graphs with f64 have to compute in f64.
COMMON_FLAGS = ("--iree-input-demote-f64-to-f32=false", "--iree-opt-level=O3")
"""The flags of all targets."""

FUSE_PADDING = (
    "--iree-flow-enable-pad-handling",
    "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops",
)
"""Flags that fuse padding into its consumer's dispatch; `provider` decides when to unset them.

They must be unset for dynamic shapes, too."""

FUSE_MULTI_USE = "--iree-dispatch-creation-fuse-multi-use"
"""A flag, on by default, that lets dispatches have several results.

With dynamic shapes, such a dispatch may not compile."""

SPLIT_REDUCTIONS = "--iree-dispatch-creation-enable-split-reduction"
"""A flag that splits long reductions over workgroups."""

TRANSPOSES_THROUGH_CONVOLUTIONS = "--iree-global-opt-propagate-transposes-through-conv"
"""A flag that folds transpositions of operands and results into convolutions."""

# Fusilli's flags for hipDNN graphs on AMDGPU, without the flag that externalises transients,
# because the host program plans workspaces. Fusing padding into its consumer turns a padded
# convolution from a fill and two dispatches into one dispatch.
_AMDGPU_FLAGS = (
    "--iree-preprocessing-pass-pipeline="
    "builtin.module(iree-preprocessing-backward-data-conv-pipeline)",
    TRANSPOSES_THROUGH_CONVOLUTIONS,
    "--iree-global-opt-enable-sink-transpose-through-pad",
    *FUSE_PADDING,
    "--iree-dispatch-creation-enable-aggressive-reshape-movement",
    SPLIT_REDUCTIONS,
)

_CPU_DEVICE_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
)

# At O3, the row buffers of large norms exceed IREE's default limit of 32 KiB per stack frame.
_CPU_FLAGS = ("--iree-llvmcpu-stack-allocation-limit=524288",)

_OCP = frozenset({"f8E4M3FN", "f8E5M2"})
_MATRIX_BYTES = {
    "gfx942": frozenset({"f8E4M3FNUZ", "f8E5M2FNUZ"}),
    "gfx950": _OCP,
    "gfx1200": _OCP,
    "gfx1201": _OCP,
}

CPU_VARIABLE = "HIPGRAFT_CPU"
"""The environment variable that names the processor of the target `cpu`."""

HOST = "host"
"""IREE's name for the processor that the compiler runs on."""


class TargetKind(Enum):
    """Families of devices, which differ in binary format and launch mechanism."""

    AMDGPU = "amdgpu"
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True)
class Target:
    """One architecture to compile for; made by `Target.parse`.

    Attributes:
        name: the architecture as users and LLVM spell it: `gfx942`, `sm_80`, `cpu`.
        kind: its family.
    """

    name: str
    kind: TargetKind

    @classmethod
    def parse(cls, text: str) -> Target:
        """Returns the target called `text`: an architecture, or a product such as `mi300x`.

        Raises:
            HipgraftError: there is no such target; the message suggests similar names.
        """
        name = PRODUCTS.get(text.strip().lower(), text.strip())
        if name == "cpu":
            return cls(name, TargetKind.CPU)
        if name in _AMDGPU:
            return cls(name, TargetKind.AMDGPU)
        if name in _CUDA:
            return cls(name, TargetKind.CUDA)
        raise HipgraftError(_unknown_target(name))

    @property
    def is_gfx9(self) -> bool:
        """Whether this is an AMD architecture with wavefronts of 64."""
        return self.kind is TargetKind.AMDGPU and self.wavefront_size == 64

    @property
    def is_rdna(self) -> bool:
        """Whether this is an AMD architecture with wavefronts of 32."""
        return self.kind is TargetKind.AMDGPU and self.wavefront_size == 32

    @property
    def wavefront_size(self) -> int:
        """Lanes that execute together: 64 on CDNA, 32 on RDNA and CUDA, 1 on a CPU."""
        if self.kind is TargetKind.CPU:
            return 1
        return 64 if self.name in _GFX9 else 32

    @property
    def matrix_elements(self) -> frozenset[str]:
        """The floats of 16 bits and more that an AMDGPU target's matrix instructions multiply."""
        if self.kind is not TargetKind.AMDGPU:
            return frozenset()
        return frozenset({"f16", "bf16", "f32"} if self.name in _GFX9 else {"f16", "bf16"})

    @property
    def matrix_bytes(self) -> frozenset[str]:
        """The floats of 8 bits that the matrix instructions of an AMDGPU target multiply."""
        return _MATRIX_BYTES.get(self.name, frozenset())

    @property
    def device_flags(self) -> tuple[str, ...]:
        """IREE's flags that select this target."""
        if self.kind is TargetKind.CPU:
            return _CPU_DEVICE_FLAGS
        if self.kind is TargetKind.CUDA:
            return ("--iree-hal-target-device=cuda", f"--iree-cuda-target={self.name}")
        return ("--iree-hal-target-device=hip", f"--iree-rocm-target={self.name}")

    @property
    def default_flags(self) -> tuple[str, ...]:
        """IREE's compilation flags for this target, the same for every graph."""
        if self.kind is TargetKind.CPU:
            return (f"--iree-llvmcpu-target-cpu={cpu_name()}", *_CPU_FLAGS, *COMMON_FLAGS)
        return COMMON_FLAGS if self.kind is TargetKind.CUDA else _AMDGPU_FLAGS + COMMON_FLAGS

    @property
    def iree_flags(self) -> tuple[str, ...]:
        """All of IREE's flags for this target."""
        return self.device_flags + self.default_flags


def cpu_name() -> str:
    """Returns the processor that the target `cpu` means: `$HIPGRAFT_CPU`, or this machine's.

    Names are LLVM's: `x86-64-v3` is any x86-64 with AVX2.
    """
    return variable(CPU_VARIABLE) or HOST


def known_targets() -> tuple[str, ...]:
    """Returns the names that `Target.parse` accepts."""
    return (*_AMDGPU, *_CUDA, "cpu")


def has_tuning_spec(flags: Sequence[str]) -> bool:
    """Returns whether the user's flags choose tile sizes."""
    return any(flag.startswith(f"{TUNING_SPEC}=") for flag in flags)


def turned_off(flags: Sequence[str], off: Sequence[str]) -> tuple[str, ...]:
    """Returns the flags with those in `off` set to false.

    They are set explicitly because the compiler keeps options for the whole process.
    """
    return tuple(f"{flag}=false" if flag in off else flag for flag in flags)


def _unknown_target(name: str) -> str:
    known = known_targets()
    # For gfx94 the user likely meant gfx942, which difflib's ratio alone does not rank first.
    prefixed = [item for item in known if name and item.startswith(name)]
    nearest = prefixed or difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if nearest:
        return f"unknown target '{name}': did you mean {_either(nearest)}?"
    return f"unknown target '{name}': expected one of {', '.join(known)}"


def _either(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

"""Reads the hipDNN plans of hipgraft's engine: bundles with the uids of inputs and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hipgraft.hipdnn_io.plan_payload import (
    ENGINE_NAME,
    DamagedPlanError,
    PlanArchitectureError,
    decode_payload,
)
from hipgraft.ir.architectures import fitting
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import convert
from hipgraft.runtime.bundle import Bundle

if TYPE_CHECKING:
    from hipgraft.runtime.recording import Recording

SCRATCH_ALIGNMENT = 256
"""The alignment in bytes of each scratch buffer in the workspace."""


@dataclass(frozen=True)
class PlanMetadata:
    """The metadata of a plan's bundle, which describes hipDNN's graph.

    Attributes:
        engine: name of the engine.
        inputs: uids of the program's inputs, in order.
        results: uids of its results, in order.
        by_value: uids of the scalar inputs that the caller passes through host pointers.
        targets: architectures of the programs.
    """

    engine: str
    inputs: Sequence[int]
    results: Sequence[int]
    by_value: Sequence[int]
    targets: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Returns the metadata as a bundle stores it."""
        return {
            "engine": self.engine,
            "inputs": list(self.inputs),
            "results": list(self.results),
            "by_value": list(self.by_value),
            "targets": list(self.targets),
        }


def workspace_size(recordings: Sequence[Recording], scalars: int = 0) -> int:
    """Returns the bytes of scratch memory that suffice for a program on every architecture.

    Scratch memory excludes constants, which are loaded with the code. Scalars in host memory are
    copied to its end, each at a multiple of `SCRATCH_ALIGNMENT`.

    Args:
        recordings: recordings of the program.
        scalars: number of inputs that the caller passes through host pointers.
    """

    def scratch(recording: Recording) -> int:
        sizes = [buffer.nbytes for buffer in recording.buffers if buffer.read is None]
        return sum(-(-size // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT for size in sizes)

    return max(map(scratch, recordings), default=0) + SCRATCH_ALIGNMENT * scalars


def open_payload(
    payload: bytes, architecture: str, source: str = "<plan>", *, trust: bool = False
) -> tuple[Bundle, PlanMetadata]:
    """Opens the program in a plan's payload for a device.

    Args:
        payload: field `plugin_payload` of the plan.
        architecture: architecture of the device.
        source: file name for messages.
        trust: whether to run code that hipgraft did not write for this user.

    Raises:
        DamagedPlanError: the payload or the bundle is damaged, or is not hipgraft's.
        PlanVersionError: this version of hipgraft cannot read the payload's format.
        PlanArchitectureError: there is no program for the device.
    """
    body = decode_payload(payload, source).bundle
    try:
        bundle = Bundle(source, data=body, trust=trust)
        metadata = convert(bundle.metadata, PlanMetadata, "metadata of a plan", source)
        _check(metadata, bundle)
    except HipgraftError as error:
        raise DamagedPlanError(error.message, location=source) from None
    if fitting(architecture, bundle.architectures) is None:
        bundle.close()
        raise PlanArchitectureError(
            f"the plan is for {', '.join(metadata.targets)}, not for '{architecture}'",
            location=source,
        )
    return bundle, metadata


def _check(metadata: PlanMetadata, bundle: Bundle) -> None:
    if metadata.engine != ENGINE_NAME:
        raise HipgraftError(f"the plan is of engine '{metadata.engine}'; expected '{ENGINE_NAME}'")
    if tuple(metadata.targets) != bundle.architectures:
        raise HipgraftError("the plan's targets are not those of its bundle")
    for target in bundle.architectures:
        for one in bundle.recordings(target):
            counts = len(one.inputs), len(one.results)
            if counts != (len(metadata.inputs), len(metadata.results)):
                raise HipgraftError("the plan's uids are not those of its bundle")

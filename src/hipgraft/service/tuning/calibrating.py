"""Fits the estimates of graphs to the times of their kernels, for `hipdnn-outline{calibration=}`.

Each graph provides a sample of its bottleneck: the launch, the memory accesses, or the arithmetic
of the op that takes longest. The factors are medians, so that a few bad kernels have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import cast

from hipgraft.codegen.canonical import container_key, find_containers
from hipgraft.codegen.chips import Gpu
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import ContainerOp, GraphOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.flag_tuning import Candidate, tune
from hipgraft.service.service import CompileService
from hipgraft.service.tuning.cost_model import CostModel
from hipgraft.transforms.fusion import is_compute
from hipgraft.transforms.partition.calibration import Calibration
from hipgraft.transforms.partition.cost import Roofline, Time
from hipgraft.transforms.partition.reader import ProgramReader

_IN_MICROSECONDS = ("timed", "estimated")
"""Cost models whose costs are microseconds."""


@dataclass(frozen=True)
class Sample:
    """A graph that was measured.

    Attributes:
        op: name of its op with the most arithmetic, without the dialect's prefix.
        estimate: time according to the GPU's peak rates.
        seconds: measured time, including the gap to the next kernel.
    """

    op: str
    estimate: Time
    seconds: float


def samples_of(
    module: ir.Module,
    target: Target,
    gpu: Gpu,
    service: CompileService,
    cost_model: CostModel,
    pattern: str = "*",
) -> list[Sample]:
    """Compiles each distinct graph of a module and determines its time.

    Args:
        module: module at stage `hipdnn-graphs`.
        target: target to compile for.
        gpu: GPU whose peak rates the estimates use.
        service: compiles the graphs.
        cost_model: a cost model with costs in microseconds.
        pattern: a glob of the names of the graphs.

    Raises:
        HipgraftError: the cost model's costs are not in microseconds, or its device has another
            architecture.
    """
    if cost_model.name not in _IN_MICROSECONDS:
        known = " or ".join(f"'{name}'" for name in _IN_MICROSECONDS)
        raise HipgraftError(f"a calibration needs cost model {known}, not '{cost_model.name}'")
    gap = gpu.gap_seconds if cost_model.name == "estimated" else 0.0
    graphs = [op for op in find_containers(module) if op.name == GraphOp.OP_NAME]
    estimates = {container_key(op): estimated(op, gpu) for op in graphs}
    rankings = tune(
        module, target, [Candidate("default")], service, pattern=pattern, cost_model=cost_model
    )
    found: list[Sample] = []
    for ranking in rankings:
        cost = ranking.best.cost
        if ranking.digest in estimates and cost is not None and cost.value < float("inf"):
            op, time = estimates[ranking.digest]
            found.append(Sample(op, time, 1e-6 * cost.value + gap))
    return found


def estimated(graph: ir.Operation, gpu: Gpu) -> tuple[str, Time]:
    """Returns a graph's op with the most arithmetic, and the graph's time at a GPU's peak rates."""
    body = cast(ContainerOp, wrap(graph)).body
    *ops, terminator = [op.operation for op in body.operations]
    units = [((op,), is_compute(op)) for op in ops]
    program, kept = ProgramReader(gpu, {}).read(units, list(terminator.operands))
    members = {number for number, unit in enumerate(kept) if is_compute(ops[unit])}
    longest = max(members, key=lambda op: program.ops[op].seconds)
    name = ops[kept[longest]].name.removeprefix("hipdnn.")
    return name, Roofline(gpu).time(program, members)


def fitted(samples: Sequence[Sample]) -> Calibration:
    """Returns the factors that bring estimates closest to the measured times."""
    launches = [
        one.seconds - max(one.estimate.compute, one.estimate.memory)
        for one in samples
        if one.estimate.bound == "launch"
    ]
    launch = median(launches) if launches else None
    memory = [
        rest / one.estimate.memory
        for one, rest in _rests(samples, launch)
        if one.estimate.bound == "memory"
    ]
    compute: dict[str, list[float]] = {}
    for one, rest in _rests(samples, launch):
        if one.estimate.bound == "compute":
            compute.setdefault(one.op, []).append(rest / one.estimate.compute)
    factors = {name: _rounded(median(found)) for name, found in sorted(compute.items())}
    if factors:
        factors["*"] = _rounded(median(one for found in compute.values() for one in found))
    return Calibration(
        None if launch is None else _rounded(1e6 * launch),
        _rounded(median(memory)) if memory else 1.0,
        factors,
    )


def _rests(samples: Sequence[Sample], launch: float | None) -> list[tuple[Sample, float]]:
    """Returns the samples that take longer than a launch, each with the time beyond the launch."""
    rests = [
        (one, one.seconds - (one.estimate.launch if launch is None else launch)) for one in samples
    ]
    return [(one, rest) for one, rest in rests if rest > 0]


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")


def described(calibrations: Mapping[str, Calibration]) -> list[str]:
    """Returns a line about each architecture for users."""
    return [
        f"{name}: launch {one.launch_us or 'unknown'} us, memory x {one.memory}, compute "
        + (", ".join(f"{op} x {factor}" for op, factor in one.compute.items()) or "unknown")
        for name, one in calibrations.items()
    ]

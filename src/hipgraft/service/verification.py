"""Verifies kernels: runs them on the emulator and compares their results with the CPU's.

Both come from one graph, so a difference is the GPU code generator's fault. Whether the graph
itself is lowered correctly is left to the tests of lowerings.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from hipgraft import emulator
from hipgraft.codegen.canonical import container_text
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.all_ops import result_layouts
from hipgraft.codegen.plan import DEFAULT_PLAN
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import ContainerOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, HipgraftError, HipgraftWarning
from hipgraft.ir.dtypes import numpy_dtype, strided_array
from hipgraft.runtime.comparison import compare, tolerance
from hipgraft.runtime.devices.registry import open_device
from hipgraft.runtime.host_program.kernel_recording import kernel_recording
from hipgraft.runtime.recording import Tensor
from hipgraft.runtime.session import Session
from hipgraft.service.job import Outcome, Verdict
from hipgraft.service.reproducer import leave_input
from hipgraft.service.request import Request
from hipgraft.service.tuning.counted import CountedCostModel
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.work import GraphWork

Array: TypeAlias = np.ndarray[Any, Any]

_BUDGET = 30_000_000
"""Default limit of wave instructions, which take some seconds; larger kernels run as a sample."""

# Ops whose integer operands are not indices. If a graph has other ops, integer inputs are 0, which
# is a valid index, offset and length.
_NOT_INDEXING = re.compile(r"hipdnn\.(pointwise|reduction|matmul|conv_\w+|view|yield|graph)")
_LARGEST_INTEGER = 8

_SAMPLE = 4  # workgroups that are run to estimate the instructions of a launch

# The share of integers and booleans that may differ because of rounding and ties.
_MOST_FLIPPED = 0.01

# The tolerance of 8-bit floats: their relative spacing at the largest magnitude.
_NARROW_TOLERANCE = 2.0**-2

# In f32, cancelling sums of a thousand random products, and the tanh of such sums, may differ by
# 3e-5.
_LEAST_TOLERANCE = 1e-4


class Verifier:
    """Compares kernels for AMD GPUs with kernels for the CPU of the same graphs."""

    def __init__(self, budget: int = _BUDGET):
        """Makes a verifier.

        Args:
            budget: limit of wave instructions; only a sample of a larger kernel's workgroups runs.

        Raises:
            HipgraftError: this machine lacks what the emulator needs.
        """
        emulator.check_available()
        self._budget = budget

    def reference(self, request: Request) -> Request | None:
        """Returns the request for the kernel to compare with; None if there is nothing to verify.

        Only kernels for AMD GPUs whose graph is known are verified.
        """
        if request.target.kind is not TargetKind.AMDGPU or request.choices is None:
            return None
        target = Target.parse("cpu")
        choices = Choices(request.choices.container, target)
        return replace(
            request,
            target=target,
            container=container_text(choices.container),
            flags=(),
            lower=lambda: choices.lower(DEFAULT_PLAN),
            choices=None,
        )

    def verify(self, request: Request, outcome: Outcome, reference: Outcome) -> Outcome:
        """Returns the outcome, or an error in place of a kernel that computes wrong results.

        Args:
            request: request for the kernel.
            outcome: outcome that holds the kernel.
            reference: outcome of the request that `reference` returned.
        """
        if outcome.kernel is None or request.choices is None:
            return outcome
        verdict = Verdict("unknown", "its graph does not compile for the CPU")
        if reference.kernel is not None:
            verdict = self.compare(outcome.kernel, reference.kernel, request.choices)
        if verdict.status != "wrong":
            return replace(outcome, verdict=verdict)
        problem = f"its kernel is wrong on the emulator: {verdict.reason}"
        note = leave_input(
            f"{request.name}.{request.target.name}",
            outcome.artifacts.get("input.mlir", b""),
            (*request.target.device_flags, *request.flags),
            (problem,),
        )
        message = f"'{request.name}' for {request.target.name}: {problem}; {note}"
        warnings.warn(HipgraftWarning(message, ""), stacklevel=2)
        return replace(outcome, kernel=None, error=CodegenError(problem), verdict=verdict)

    def compare(self, kernel: Kernel, reference: Kernel, choices: Choices) -> Verdict:
        """Runs a kernel and its reference on random inputs and compares the results.

        Args:
            kernel: kernel for an AMD GPU.
            reference: kernel for the CPU.
            choices: plans for the graph of both kernels.
        """
        work = choices.work()
        try:
            every = self._samples(kernel)
            inputs, expected = _expected(reference, work, is_indexing(choices.container))
            found = self._run(kernel, work, inputs, every)
        except emulator.ExecutionError as error:
            return Verdict("wrong", error.message)
        except HipgraftError as error:
            return Verdict("unknown", error.message)
        except _TooLargeError as error:
            return Verdict("unknown", str(error))
        layouts = result_layouts(cast(ContainerOp, wrap(choices.container)))
        for number, (got, want, layout) in enumerate(zip(found, expected, layouts, strict=True)):
            problem = _difference(_logical(got, layout), _logical(want, layout), bool(every))
            if problem:
                return Verdict("wrong", f"result {number} {problem}")
        parts = ", ".join(f"1 of {each} workgroups" for each in every.values())
        return Verdict("right", parts)

    def _samples(self, kernel: Kernel) -> dict[int, int]:
        """Returns n by the index of each launch of which only every n-th workgroup runs.

        Only the last launch can be sampled, because later launches read the results of earlier
        ones.
        """
        counts = [count.instructions for count in CountedCostModel(_SAMPLE).counts(kernel)]
        if sum(counts) <= self._budget:
            return {}
        *earlier, last = counts
        left = self._budget - sum(earlier)
        if left <= 0:
            raise _TooLargeError(f"{sum(counts):.2g} wave instructions are too many to execute")
        return {len(earlier): int(last / left) + 1}

    def _run(
        self, kernel: Kernel, work: GraphWork, inputs: Sequence[Array], every: dict[int, int]
    ) -> list[Array]:
        device = emulator.EmulatorDevice(kernel.target, every=every)
        recording = kernel_recording(kernel, work.operands, work.results)
        with closing(device), Session(recording, device) as session:
            return [np.asarray(result) for result in session.run(inputs)]


class _TooLargeError(Exception):
    """A kernel takes too long to execute."""


def is_indexing(container: ir.Operation) -> bool:
    """Returns whether integers in a container may be indices, offsets or lengths."""
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op.name)
        return ir.WalkResult.ADVANCE

    container.walk(visit)
    return not all(map(_NOT_INDEXING.fullmatch, found))


def _expected(
    reference: Kernel, work: GraphWork, indexing: bool
) -> tuple[list[Array], list[Array]]:
    """Returns inputs and the CPU's results; uses positive inputs if signed ones give NaN."""
    recording = kernel_recording(reference, work.operands, work.results)
    with Session(recording, open_device("cpu")) as session:
        inputs: list[Array] = []
        results: list[Array] = []
        for positive in (False, True):
            random = np.random.default_rng(0)
            inputs = [_random(each, random, indexing, positive) for each in work.operands]
            results = [np.array(result) for result in session.run(inputs)]
            if all(np.isfinite(each.astype(np.float64)).mean() > 0.5 for each in results):
                break
    return inputs, results


def _random(tensor: Tensor, random: np.random.Generator, indexing: bool, positive: bool) -> Array:
    dtype, shape = numpy_dtype(tensor.element_type), tensor.shape
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        if indexing:
            return np.zeros(shape, dtype)
        # The values exclude 0, because an integer division by 0 traps on the CPU.
        values = random.integers(1, _LARGEST_INTEGER + 1, shape)
        is_signed = np.issubdtype(dtype, np.signedinteger)
        return (values * _signs(shape, random) if is_signed else values).astype(dtype)
    values = random.uniform(0.1, 2.0, shape)
    return (values if positive else values * _signs(shape, random)).astype(dtype)


def _signs(shape: Sequence[int], random: np.random.Generator) -> Array:
    """Returns random signs; the first half of the outermost rows are negative.

    A maximum over negative numbers reveals padding by zeros, which mixed signs would hide.
    """
    signs = random.choice([-1, 1], shape)
    signs[: shape[0] // 2 if shape else 0] = -1
    return signs


def _logical(array: Array, layout: Layout) -> Array:
    """Returns the elements of a tensor, without those between them in memory."""
    flat = np.ascontiguousarray(array).reshape(-1)[layout.offset :]
    return strided_array(flat, layout.shape, layout.strides)


def _difference(got: Array, want: Array, is_sample: bool) -> str:
    """Describes how results differ by more than rounding; empty if they do not."""
    if is_sample:
        raw = np.ascontiguousarray(got)[..., None].view(np.uint8)
        written = (raw.reshape(*got.shape, -1) != emulator.GARBAGE).any(axis=-1)
        got, want = got[written], want[written]
    if not got.size:
        return ""
    if np.issubdtype(got.dtype, np.integer) or got.dtype == np.bool_:
        flipped = float((got != want).mean())
        return f"differs in {flipped:.1%} of the elements" if flipped > _MOST_FLIPPED else ""
    rtol = max(tolerance(got.dtype) or _NARROW_TOLERANCE, _LEAST_TOLERANCE)
    found = compare(got, want, rtol, 0.0)
    if found.ok:
        return ""
    return f"differs by {found.max_relative:.2g} of the largest value, more than {rtol:.2g}"

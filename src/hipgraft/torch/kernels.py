"""Compiles regions of FX graphs to programs and runs them on PyTorch's tensors."""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

import hipgraft
from hipgraft.compiler.program import Program
from hipgraft.frontends.torch.decompositions import all_decompositions
from hipgraft.frontends.torch.fx import import_graph, trace
from hipgraft.frontends.torch.pytorch import torch
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.passmanager.reproducer import without_reproducers
from hipgraft.service import CompileService, default_service, is_service_used, use_service
from hipgraft.torch.options import OptionError, Options
from hipgraft.torch.regions import Region, location_of
from hipgraft.torch.tensors import as_arrays, as_tensor, device_name, target_of, with_strides

_is_row_major: Any = import_module("torch._prims_common").is_contiguous_or_false

_COMPILING = threading.Lock()

_TOLD = 8
"""The most reasons that one warning lists."""


class Kernel:
    """A compiled region, called with tensors.

    After the program rejects a call, PyTorch runs the region.

    Raises:
        HipgraftError: the region does not compile.
    """

    def __init__(self, region: Region, options: Options):
        self._region = region
        self._options = options
        self._device = _device_of(region)
        self._check_layout()
        self._program: Program | None = _compile(region, self._device, options, "")
        self._results = [] if is_dynamic(region.inputs) else region.results
        COUNTS.compiled += 1

    def _check_layout(self) -> None:
        """Checks that results of unknown extents have the layout in which programs return them."""
        for node in self._region.result_nodes if is_dynamic(self._region.inputs) else ():
            if not _is_row_major(node.meta["val"]):
                message = "a result of dynamic shape is not row-major"
                raise HipgraftError(message, location=location_of(node))

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """Returns the results of the region, with the strides that PyTorch expects."""
        if self._program is None:
            return self._region.body(*inputs)
        try:
            return self._run(self._program, inputs)
        except HipgraftError as error:
            if self._options.fallback == "error":
                raise
            self._program = None
            warn_of_fallback(error)
            return self._region.body(*inputs)

    def _run(self, program: Program, inputs: Sequence[Any]) -> tuple[Any, ...]:
        arrays = as_arrays(inputs)
        if not self._results:
            session = program.load(self._device)
            run = session.run if self._device == "cpu" else session.run_on_device
            return tuple(as_tensor(one) for one in run(arrays))
        results = [
            torch.empty(one.shape, dtype=one.dtype, device=one.device) for one in self._results
        ]
        program.run(arrays, self._device, as_arrays(results))
        return tuple(
            with_strides(one, wanted.stride())
            for one, wanted in zip(results, self._results, strict=True)
        )


def check_region(region: Region, options: Options) -> Any:
    """Returns PyTorch's computation of a region; the region must have a torch dialect form.

    Raises:
        HipgraftError: the region has no such form.
    """
    _compile(region, _device_of(region), options, "torch")
    return region.body


class Counts:
    """Counts the compiled regions and PyTorch's fallbacks since the process started.

    Attributes:
        compiled: regions that programs compute.
        fallbacks: reasons why PyTorch runs other graphs, or nodes between regions.
    """

    def __init__(self) -> None:
        self.compiled = 0
        self.fallbacks: list[str] = []


COUNTS = Counts()


def warn_of_fallback(error: Exception) -> None:
    """Warns that PyTorch runs a graph, with the reason."""
    reason, location = f"{type(error).__name__}: {error}", ""
    if isinstance(error, HipgraftError):
        reason = error.message
        location = "" if error.location.startswith("<unknown>") else error.location
    _warn(f"PyTorch runs a graph that hipgraft does not: {reason}", reason, location)


def warn_of_nodes(left: Mapping[Any, HipgraftError]) -> None:
    """Warns that PyTorch runs some nodes of a graph, with the reason; located at the first one."""
    first = next((location for node in left if (location := location_of(node))), "")
    nodes: dict[str, list[Any]] = {}
    for node, error in left.items():
        nodes.setdefault(f"'{node.target}': {error.message}", []).append(node)
    told = [f"{reason}{_where(some, first)}" for reason, some in nodes.items()]
    more = [f"{len(told) - _TOLD} more"] if len(told) > _TOLD else []
    reason = "; ".join([*told[:_TOLD], *more])
    _warn(f"PyTorch runs nodes that hipgraft does not: {reason}", reason, first)


def _where(nodes: Sequence[Any], known: str) -> str:
    """Describes the number of nodes, and the location of the first one unless it is known."""
    location = location_of(nodes[0])
    said = [f"{len(nodes)} nodes"] if len(nodes) > 1 else []
    said += [location] if location not in ("", known) else []
    return f" ({', '.join(said)})" if said else ""


def _warn(message: str, reason: str, location: str) -> None:
    COUNTS.fallbacks.append(reason)
    warnings.warn(HipgraftWarning(message, location), stacklevel=3)


def is_dynamic(values: Sequence[Any]) -> bool:
    """Whether example values have symbolic extents or are symbols themselves."""
    symbols = (torch.SymInt, torch.SymFloat, torch.SymBool)
    parts = [part for one in values for part in (one, *getattr(one, "shape", ()))]
    return any(isinstance(part, symbols) for part in parts)


def _device_of(region: Region) -> str:
    return device_name([*_tensors(region.inputs), *_tensors(region.results)])


def _compile(region: Region, device: str, options: Options, last: str) -> Program:
    """Compiles with hipDNN's ops kept whole, or else with all ops decomposed."""
    target = options.target or target_of(device)
    if (target == "cpu") != (device == "cpu"):
        raise OptionError(f"target '{target}' cannot run tensors on '{device}'")
    try:
        return _compile_graph(region.graph, target, options, last)
    except HipgraftError as error:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return _compile_graph(_decomposed(region), target, options, last)
            except Exception:  # the second attempt, which PyTorch may refuse to trace
                raise error from None


def _compile_graph(graph: Any, target: str, options: Options, last: str) -> Program:
    # MLIR's bindings report through handlers of the process.
    tried = without_reproducers() if options.fallback == "eager" else nullcontext()
    with _COMPILING, _service(), tried:
        return hipgraft.compile(
            import_graph(graph), target, extra_flags=options.extra_flags, compile_to=last
        )


@contextmanager
def _service() -> Generator[None, None, None]:
    """Uses the caller's service, or else workers that stay alive for the next graph."""
    if is_service_used():
        yield
        return
    with use_service(_own_service()):
        yield


@cache
def _own_service() -> CompileService:
    service = default_service()
    atexit.register(service.close)
    return service


def _decomposed(region: Region) -> Any:
    return trace(region.body, region.inputs, all_decompositions())


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, torch.Tensor)]

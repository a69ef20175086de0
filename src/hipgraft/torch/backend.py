"""Implements the backend of `torch.compile`, an entry point of `torch_dynamo_backends`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from hipgraft.frontends.torch.attention import legalize_attention
from hipgraft.frontends.torch.decompositions import default_decompositions
from hipgraft.frontends.torch.pytorch import make_fx, torch
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.torch.kernels import (
    COUNTS,
    Kernel,
    check_region,
    is_dynamic,
    warn_of_fallback,
    warn_of_nodes,
)
from hipgraft.torch.options import OptionError, Options
from hipgraft.torch.parts import compile_parts, copied, depends_on_values
from hipgraft.torch.regions import split

_attention: Any = import_module("torch.nn.attention")
_exceptions: Any = import_module("torch._dynamo.exc")
_common: Any = import_module("torch._dynamo.backends.common")
_autograd: Any = import_module("torch._functorch.aot_autograd")
_partitioners: Any = import_module("torch._functorch.partitioners")


def backend(
    module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str = "default",
) -> Callable[..., Any]:
    """Compiles a graph that Dynamo captured, also for training.

    Args:
        module: `torch.fx.GraphModule`.
        example_inputs: its inputs, as fake tensors.
        options: see `hipgraft.torch.options.Options`.
        mode: only `default`.

    Raises:
        OptionError: an option is unknown or has an invalid value.
    """
    if mode != "default":
        raise OptionError(f"backend 'hipgraft' has no mode '{mode}'; it has 'options'")
    chosen = Options.parse(options)
    compiler = partial(compile_graph, options=chosen)
    # PyTorch's fused attention for GPUs has no conversion; `hipdnn-recognize` finds its arithmetic.
    backends = _attention.SDPBackend
    plain = [backends.MATH, backends.FLASH_ATTENTION] if _on_cpu(example_inputs) else backends.MATH
    compile_both: Any = _common.aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        decompositions=default_decompositions(),
        partition_fn=_partitioners.min_cut_rematerialization_partition,
    )
    with _attention.sdpa_kernel(plain):
        return _or_eager(lambda: compile_both(module, example_inputs), module, chosen)


def _on_cpu(inputs: Sequence[Any]) -> bool:
    return all(one.device.type == "cpu" for one in inputs if isinstance(one, torch.Tensor))


def compile_graph(module: Any, example_inputs: Sequence[Any], options: Options) -> Any:
    """Compiles one functional graph of ATen ops: a forward or a backward one.

    If the graph does not compile as a whole, it is divided into parts that compile and nodes that
    run in PyTorch, with a warning.

    Returns:
        A function in PyTorch's boxed convention.
    """
    make = _dynamic if is_dynamic(example_inputs) else _static
    return _autograd.make_boxed_func(_or_eager(lambda: make(module, options), module, options))


def _or_eager(make: Callable[[], Any], module: Any, options: Options) -> Any:
    """Returns the result of `make`, or the module itself if that fails."""
    try:
        return make()
    except _exceptions.RestartAnalysis:  # asks Dynamo to capture the graph again
        raise
    except Exception as error:  # a bug, here or in PyTorch, must not prevent the computation
        if options.fallback == "error" or isinstance(error, OptionError):
            raise
        warn_of_fallback(error)
        return module


def _static(module: Any, options: Options) -> Callable[..., Any]:
    try:
        return _whole(copied(module), options)
    except HipgraftError as error:
        return _in_parts(module, error, options)


def _whole(module: Any, options: Options) -> Callable[..., Any]:
    """Compiles a graph to one program."""
    legalize_attention(module)
    return split(module, partial(Kernel, options=options))


def _in_parts(module: Any, error: HipgraftError, options: Options) -> Callable[..., Any]:
    """Compiles the parts of a graph that can be; PyTorch runs the other nodes, with a warning.

    Raises:
        HipgraftError: `error`, if no part compiles or the options ask for errors.
    """
    if options.fallback == "error" or isinstance(error, OptionError):
        raise error

    def check(part: Any) -> None:
        legalize_attention(part)
        split(part, partial(check_region, options=options))

    before = COUNTS.compiled
    division = compile_parts(module, error, partial(_whole, options=options), check)
    COUNTS.compiled = before + division.parts  # excludes trial compilations
    if division.left:
        warn_of_nodes(division.left)
    return division.run


def _dynamic(module: Any, options: Options) -> Callable[..., Any]:
    """Compiles for all extents, or else for each shape when it occurs."""
    if depends_on_values(module):  # for inputs of any shape
        return _static(module, options)
    if options.dynamic == "program":
        with suppress(HipgraftError):
            # The copy keeps the graph for another attempt if this one fails.
            return _whole(copied(module), options)
    return _Specializing(module, options)


class _Specializing:
    """A graph with symbolic extents, compiled for each shape of its inputs."""

    def __init__(self, module: Any, options: Options):
        self._module = module
        self._options = options
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._parts: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        key = tuple(
            (one.shape, one.stride()) if isinstance(one, torch.Tensor) else one for one in inputs
        )
        with self._lock:
            compiled = self._parts or self._compiled.get(key)
            if compiled is None:
                compiled = self._compiled[key] = self._specialized(inputs)
        return compiled(*inputs)

    def _specialized(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        if len(self._compiled) == self._options.specializations:
            count = self._options.specializations
            warn_of_fallback(HipgraftError(f"more than {count} shapes of its inputs"))
        if len(self._compiled) >= self._options.specializations:
            return self._module
        traced = make_fx(self._module, tracing_mode="fake")(*inputs)
        return _or_eager(lambda: self._made(traced), traced, self._options)

    def _made(self, traced: Any) -> Callable[..., Any]:
        """Compiles for one shape, or parts for all extents if not even the first one compiles."""
        try:
            return _whole(copied(traced), self._options)
        except HipgraftError as error:
            if self._options.dynamic == "program" and not self._compiled:
                with suppress(HipgraftError):
                    self._parts = _in_parts(self._module, error, self._options)
                    return self._parts
            return _in_parts(traced, error, self._options)

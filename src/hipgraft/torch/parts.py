"""Divides FX graphs that do not compile into parts that do and nodes that PyTorch runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hipgraft.compiler.trial import Trials
from hipgraft.frontends.torch.fx import is_random
from hipgraft.frontends.torch.pytorch import aten, map_arg, torch
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.torch.regions import SHAPE_ONLY, VIEWS, is_scalar, is_static

_partitioner: Any = import_module("torch.fx.passes.infra.partitioner")
_support: Any = import_module("torch.fx.passes.operator_support")
_fuser: Any = import_module("torch.fx.passes.utils.fuser_utils")

_COPIES = frozenset(
    {
        aten._unsafe_view.default,
        aten.arange.start_step,
        aten.clone.default,
        aten.empty.memory_format,
        aten.full.default,
        aten.full_like.default,
        aten.lift_fresh_copy.default,
        aten.scalar_tensor.default,
    }
)
"""Ops, other than views, that compute nothing."""

_EMPTY = frozenset({aten.empty.memory_format, aten.empty_strided.default})
"""Ops whose results have no values; random ops read only their shapes."""

_PREFIX = "part_"
_AFTER = "hipgraft_after"
"""A temporary keyword argument during a division: the node that must run before."""


@dataclass(frozen=True)
class Division:
    """A graph that is divided into parts.

    Attributes:
        run: function that computes the graph.
        parts: number of parts.
        left: nodes that prevent compilation as a whole, with reasons.
    """

    run: Callable[..., Any]
    parts: int
    left: Mapping[Any, HipgraftError]


def compile_parts(
    module: Any,
    whole: HipgraftError,
    compile: Callable[[Any], Any],
    check: Callable[[Any], object],
) -> Division:
    """Compiles parts of a graph that cannot be compiled as a whole.

    A part has at least two ops that compute something. PyTorch draws random numbers, in the order
    of the graph, and evaluates symbolic extents.

    Args:
        module: `torch.fx.GraphModule` of functional ATen ops, with example values.
        whole: error of the compilation as a whole.
        compile: compiles the module of a part.
        check: raises a `HipgraftError` if the module of a single node cannot be imported.

    Raises:
        HipgraftError: `whole`, if there is no such part or a node writes its operand.
    """
    if any(getattr(_schema(node), "is_mutable", False) for node in module.graph.nodes):
        raise whole
    return _Parts(module, compile, check).run(whole)


class _Parts:
    """One division; `work` is a copy of the module, and `left` the nodes that do not compile."""

    def __init__(self, module: Any, compile: Callable[[Any], Any], check: Callable[[Any], object]):
        self.module = module
        self.work = _prepared(module)
        self.left: dict[Any, HipgraftError] = {}
        self.checked: dict[str, HipgraftError | None] = {}
        self._check_module = check
        names = {node.name: node for node in self.work.graph.nodes}

        def named(error: HipgraftError) -> list[Any]:
            return [names[name] for name in [error.location.split(":")[0]] if name in names]

        self.trials = Trials[Any, Any](lambda nodes: compile(self._part(nodes)), self._check, named)

    def run(self, whole: HipgraftError) -> Division:
        self._leave_known()
        while True:
            partitioner = _partitioner.CapabilityBasedPartitioner(
                self.work,
                _support.create_op_support(self._is_supported),
                non_compute_ops=[f"torch.ops.{op}" for op in (*VIEWS, *_COPIES)],
            )
            partitions = partitioner.propose_partitions()
            groups = [_computing(partition.nodes) for partition in partitions]
            found = self.trials.run(groups)
            if not found:
                break
            self.left |= {node: refusal.error for node, refusal in found.items()}
        if not partitions:
            raise whole
        for partition, group in zip(partitions, groups, strict=True):
            partition.nodes = dict.fromkeys(self._with_results(group))
        fused = partitioner.fuse_partitions(partitions, prefix=_PREFIX)
        _without_order(fused)
        for number, group in enumerate(groups):
            setattr(fused, f"{_PREFIX}{number}", self.trials.compiled[tuple(group)])
        fused.recompile()
        names = {node.name: node for node in self.module.graph.nodes}
        left = {names[node.name]: error for node, error in self.left.items()}
        return Division(fused, len(groups), left)

    def _leave_known(self) -> None:
        for node in self.work.graph.nodes:
            problem = "" if node.op != "call_function" or is_random(node) else _problem(node)
            if problem:
                self.left[node] = HipgraftError(problem)

    def _is_supported(self, _: Mapping[str, Any], node: Any) -> bool:
        if node.op != "call_function" or node in self.left:
            return False
        if node.target is operator.getitem:
            return self._is_supported(_, node.args[0])
        return _is_of_tensors(node) and not is_random(node) and node.target not in _EMPTY

    def _check(self, node: Any) -> None:
        """Checks nodes with equal ops, operands and attributes once."""
        key = _signature(node)
        if key not in self.checked:
            try:
                self._check_module(self._part([node]))
                self.checked[key] = None
            except HipgraftError as error:
                self.checked[key] = error
        error = self.checked[key]
        if error is not None:
            raise error

    def _with_results(self, nodes: Sequence[Any]) -> list[Any]:
        """Returns the nodes and the nodes that unpack their tuples, in the order of the graph.

        The order of a part's inputs and results depends on this order.
        """
        taken = frozenset(nodes)
        return [node for node in self.work.graph.nodes if node in taken or _tuple(node) in taken]

    def _part(self, nodes: Sequence[Any]) -> Any:
        """Returns a module of some nodes, equal to what the partitioner later builds from them.

        The location of a node's code becomes its name, for error messages.
        """
        inside = self._with_results(nodes)
        part, _, _ = _fuser.fuse_as_graphmodule(self.work, inside, "part")
        for node in part.graph.nodes:
            node.meta = {**node.meta, "stack_trace": f'File "{node.name}", line 1, in part'}
        return part


def _prepared(module: Any) -> Any:
    """Returns a copy in which random ops stay in order.

    In the copy, random ops do not read tensors of which they need only the shape.
    """
    work = copied(module)
    before: Any = None
    for node in [node for node in work.graph.nodes if node.op == "call_function"]:
        if is_random(node) or _is_higher_order(node):
            _draw_early(node)
            if before is not None:
                node.kwargs = {**node.kwargs, _AFTER: before}
            before = node
    _add_values(work)
    return work


def _draw_early(node: Any) -> None:
    value = node.args[0].meta.get("val") if node.target in SHAPE_ONLY else None
    if value is None or not is_static(value):
        return
    with node.graph.inserting_before(node):
        empty = node.graph.call_function(
            aten.empty_strided.default,
            (list(value.shape), list(value.stride())),
            {"dtype": value.dtype, "device": value.device},
        )
    empty.meta["val"] = value
    node.args = (empty, *node.args[1:])


def depends_on_values(module: Any) -> bool:
    """Whether an extent or scalar in a graph depends on the values of tensors."""
    return any(_unknown(node) for node in module.graph.nodes)


def copied(module: Any) -> Any:
    """Returns a module with a copy of the graph, whose nodes keep their names."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    return torch.fx.GraphModule(module, graph)


def _add_values(module: Any) -> None:
    """Adds example values to the module's own tensors if they have none."""
    values = [node.meta.get("val") for node in module.graph.nodes]
    mode = torch._guards.detect_fake_mode([one for one in values if one is not None])
    for node in module.graph.nodes:
        if node.op == "get_attr" and "val" not in node.meta:
            value = operator.attrgetter(node.target)(module)
            if isinstance(value, torch.Tensor) and mode is not None:
                node.meta["val"] = mode.from_tensor(value)


def _without_order(module: Any) -> None:
    for node in module.graph.nodes:
        node.kwargs = {name: one for name, one in node.kwargs.items() if name != _AFTER}


def _computing(nodes: Iterable[Any]) -> list[Any]:
    return [node for node in nodes if node.target is not operator.getitem]


def _problem(node: Any) -> str:
    """Returns why a node cannot be part of any program; empty if it can."""
    if _unknown(node):
        return f"the {_unknown(node)} of the result depends on values"
    if node.target is operator.getitem or is_scalar(node) or not node.users:
        return ""
    if _is_higher_order(node):
        return "it is no ATen op"
    return "" if _is_of_tensors(node) else "it has other results than tensors"


def _is_higher_order(node: Any) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def _unknown(node: Any) -> str:
    """Returns the property of a result that depends on values; empty if there is none."""
    tags = getattr(node.target, "tags", ())
    if torch.Tag.dynamic_output_shape in tags:
        return "shape"
    return "value" if torch.Tag.data_dependent_output in tags and is_scalar(node) else ""


def _is_of_tensors(node: Any) -> bool:
    value: Any = node.meta.get("val")
    values: Any = value if type(value) in (tuple, list) else [value]
    return bool(values) and all(isinstance(one, torch.Tensor) for one in values)


def _tuple(node: Any) -> Any:
    return node.args[0] if node.target is operator.getitem else None


def _schema(node: Any) -> Any:
    return getattr(node.target, "_schema", None)


def _signature(node: Any) -> str:
    """Returns all properties on which the compilation of a single node depends, as text."""

    def described(one: Any) -> str:
        value = one.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return str(value)
        return f"{value.dtype}{tuple(value.shape)}{value.stride()}{value.device}"

    return str((node.target, map_arg((node.args, node.kwargs), described)))

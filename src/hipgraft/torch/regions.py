"""Splits an FX graph into a region that a program computes and nodes that PyTorch evaluates.

PyTorch draws random numbers, so that they come from its generators; it evaluates symbolic extents;
and it creates the results that are views of inputs, which alias them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hipgraft.frontends.torch.fx import is_random
from hipgraft.frontends.torch.pytorch import aten, map_arg, torch
from hipgraft.ir.diagnostics import HipgraftError

_known: Any = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true

_FRAME = re.compile(r'File "([^"]+)", line ([0-9]+)')

VIEWS = frozenset(
    {
        aten.alias.default,
        aten.detach.default,
        aten.expand.default,
        aten.permute.default,
        aten.select.int,
        aten.slice.Tensor,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.t.default,
        aten.transpose.int,
        aten.unsqueeze.default,
        aten.view.default,
    }
)
"""Ops whose result shares the memory of their first operand."""

SHAPE_ONLY = frozenset(
    {
        aten.bernoulli.p,
        aten.rand_like.default,
        aten.randn_like.default,
        aten.randint_like.default,
        aten.randint_like.low_dtype,
        aten.uniform.default,
        aten.normal_functional.default,
    }
)
"""Random ops that only read the shape and the type of their operand."""


@dataclass(frozen=True)
class Region:
    """The part of a graph that a program computes.

    Attributes:
        graph: FX graph of the computation.
        body: the computation as a callable module of PyTorch.
    """

    graph: Any
    body: Any

    @property
    def inputs(self) -> list[Any]:
        """Example values of the inputs."""
        return [node.meta["val"] for node in self.graph.nodes if node.op == "placeholder"]

    @property
    def result_nodes(self) -> list[Any]:
        """The nodes whose values are the results."""
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        return list(output.args[0])

    @property
    def results(self) -> list[Any]:
        """Example values of the results."""
        return [node.meta["val"] for node in self.result_nodes]


def split(module: Any, compile_region: Callable[[Region], Callable[..., Any]]) -> Any:
    """Returns an equivalent module that computes most of its work in a compiled region.

    Args:
        module: `torch.fx.GraphModule` of functional ATen ops, with example values.
        compile_region: returns a function from a region's inputs to a tuple of its results.

    Raises:
        HipgraftError: random numbers or extents depend on what the program computes.
    """
    return _Splitter(module).run(compile_region)


def location_of(node: Any) -> str:
    """Returns `file:line:0` of the code that made a node, as errors have it, or nothing."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return ":".join((*frames[-1], "0")) if frames else ""


class _Splitter:
    """The state of one split.

    `outer` holds the nodes that PyTorch evaluates, `made` their copies in the new graph.
    """

    def __init__(self, module: Any):
        self.module = module
        self.outer: set[Any] = set()
        self.graph = torch.fx.Graph()
        self.made: dict[Any, Any] = {}
        (output,) = (node for node in module.graph.nodes if node.op == "output")
        self.results: Any = output.args[0]

    def run(self, compile_region: Callable[[Region], Callable[..., Any]]) -> Any:
        inner = [node for node in self.module.graph.nodes if not self._is_outer(node)]
        inner = [node for node in inner if node.op in ("call_function", "get_attr")]
        root = torch.nn.Module()
        wanted = self._wanted()
        if wanted:
            region = self._region(inner, wanted)
            root.add_module("region", torch.nn.Module())
            root.region.forward = compile_region(region)
            results = self.graph.call_module("region", tuple(self._inputs))
            for index, node in enumerate(wanted):
                self.made[node] = self.graph.call_function(operator.getitem, (results, index))
        self.graph.output(map_arg(self.results, self._final))
        return torch.fx.GraphModule(root, self.graph)

    def _is_outer(self, node: Any) -> bool:
        """Decides whether PyTorch evaluates a node, and copies it if so."""
        if node.op == "placeholder":
            self._copy(node)
        elif node.op == "call_function" and is_random(node):
            self._copy_random(node)
        elif node.op == "call_function" and is_scalar(node):
            if not all(one in self.outer for one in node.all_input_nodes):
                raise HipgraftError(f"'{node.target}' depends on values")
            self._copy(node)
        elif node.target is operator.getitem and node.args[0] in self.outer:
            self._copy(node)
        elif getattr(getattr(node.target, "_schema", None), "is_mutable", False):
            raise HipgraftError(f"'{node.target}' writes its operand")
        return node in self.outer

    def _copy(self, node: Any) -> None:
        self.made[node] = self.graph.node_copy(node, self.made.__getitem__)
        self.outer.add(node)

    def _copy_random(self, node: Any) -> None:
        """Draws random numbers before the region runs; ops that only need a shape read `empty`."""
        for one in node.all_input_nodes:
            if one in self.outer:
                continue
            value = one.meta["val"]
            if node.target not in SHAPE_ONLY or not is_static(value):
                raise HipgraftError(f"'{node.target}' draws by values that the program computes")
            self.made[one] = self.graph.call_function(
                aten.empty_strided.default,
                (list(value.shape), list(value.stride())),
                {"dtype": value.dtype, "device": value.device},
            )
        self.made[node] = self.graph.node_copy(node, self.made.__getitem__)
        self.outer.add(node)

    def _wanted(self) -> list[Any]:
        """Returns the nodes whose values the program has to return."""
        found: dict[Any, None] = {}

        def visit(node: Any) -> Any:
            if not self._is_view(node):
                found[node] = None
            return node

        map_arg(self.results, visit)
        return list(found)

    def _is_view(self, node: Any) -> bool:
        """Whether a node is a view of a value that PyTorch has."""
        while node not in self.outer:
            if node.op != "call_function" or node.target not in VIEWS:
                return False
            if not all(one in self.outer for one in node.all_input_nodes[1:]):
                return False
            node = node.args[0]
        return True

    def _final(self, node: Any) -> Any:
        """Returns a result in the new graph; PyTorch computes it if it is a view."""
        if node not in self.made:
            self.made[node] = self.graph.node_copy(node, self._final)
        return self.made[node]

    def _region(self, inner: Sequence[Any], wanted: Sequence[Any]) -> Region:
        needed = _needed(inner, wanted, self.outer)
        graph = torch.fx.Graph()
        made: dict[Any, Any] = {}
        self._inputs: list[Any] = []
        used = {one for node in needed for one in node.all_input_nodes if one in self.outer}
        for node in self._outer_in_order():
            if node in used and not is_scalar(node):
                made[node] = graph.placeholder(node.name)
                made[node].meta = dict(node.meta)
                self._inputs.append(self.made[node])
        tensors = [node for node in self._outer_in_order() if node in made]
        scalars = _Scalars(graph, made, tensors, self._pass_extent)
        for node in needed:
            made[node] = graph.node_copy(node, scalars.get)
        graph.output(tuple(made[node] for node in wanted))
        return Region(graph, torch.fx.GraphModule(self.module, graph))

    def _pass_extent(self, graph: Any, scalar: Any) -> Any:
        """Passes a scalar to a region as the extent of a tensor; returns its placeholder."""
        value = scalar.meta["val"]
        values = [node.meta.get("val") for node in self.module.graph.nodes]
        mode = torch._guards.detect_fake_mode(values)
        if mode is None or not isinstance(value, torch.SymInt) or not _known(value >= 0):
            raise HipgraftError(f"symbol '{value}' is no extent")
        device = _device(self.module)
        places = [node for node in graph.nodes if node.op == "placeholder"]
        with graph.inserting_after(places[-1] if places else graph._root):
            place = graph.placeholder(f"extent_{scalar.name}")
        with mode:
            place.meta["val"] = torch.empty((value,), dtype=torch.uint8, device=device)
        options = {"dtype": torch.uint8, "device": device}
        empty = aten.empty.memory_format
        self._inputs.append(self.graph.call_function(empty, ([self.made[scalar]],), options))
        return place

    def _outer_in_order(self) -> list[Any]:
        return [node for node in self.module.graph.nodes if node in self.outer]


class _Scalars:
    """Maps outer nodes to their values inside of a region.

    Symbolic scalars are computed from the extents of its inputs.
    """

    def __init__(
        self,
        graph: Any,
        made: dict[Any, Any],
        tensors: Sequence[Any],
        pass_extent: Callable[[Any, Any], Any],
    ):
        self.graph = graph
        self.made = made
        self.tensors = [(made[node], node.meta["val"].shape) for node in tensors]
        self.pass_extent = pass_extent

    def get(self, node: Any) -> Any:
        """Returns the region's value for a node of the outer graph."""
        if node not in self.made:
            if node.op == "placeholder":
                self.made[node] = self._extent(node)
            else:
                self.made[node] = self.graph.node_copy(node, self.get)
        return self.made[node]

    def _extent(self, scalar: Any) -> Any:
        value = scalar.meta["val"]
        for tensor, shape in self.tensors:
            for dim, extent in enumerate(shape):
                if isinstance(extent, torch.SymInt) and extent.node.expr == value.node.expr:
                    made = self.graph.call_function(aten.sym_size.int, (tensor, dim))
                    made.meta["val"] = value
                    return made
        self.tensors.append((self.pass_extent(self.graph, scalar), (value,)))
        return self._extent(scalar)


def _needed(inner: Sequence[Any], wanted: Sequence[Any], outer: set[Any]) -> list[Any]:
    """Returns the inner nodes on which the wanted ones depend, in order."""
    needed, open_nodes = set[Any](), [node for node in wanted if node not in outer]
    while open_nodes:
        node = open_nodes.pop()
        if node not in needed:
            needed.add(node)
            open_nodes += [one for one in node.all_input_nodes if one not in outer]
    return [node for node in inner if node in needed]


def _device(module: Any) -> Any:
    """Returns the device of the first tensor of a graph."""
    values = (node.meta.get("val") for node in module.graph.nodes)
    return next(value.device for value in values if isinstance(value, torch.Tensor))


def is_scalar(node: Any) -> bool:
    """Whether the value of a node is a number, which may be symbolic."""
    value = node.meta.get("val")
    return isinstance(value, int | float | torch.SymInt | torch.SymFloat | torch.SymBool)


def is_static(value: Any) -> bool:
    """Whether all extents of an example value are known."""
    return not any(isinstance(extent, torch.SymInt) for extent in value.shape)

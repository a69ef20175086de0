"""Writes the text of one IREE input function, op by op."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hipgraft.codegen.iree.entry import LATE_TRANSPOSES, WHOLE_REDUCTIONS
from hipgraft.codegen.layout import memory_element
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar, literal
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.small_floats import BYTES
from hipgraft.codegen.lowering.emit.tensor import Tensor, common_order, indexing_map, reassociation
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds.transposed_results import is_one_of_several
from hipgraft.ir.element_types import is_float

Body = Callable[[ScalarEmitter, list[Scalar]], Sequence[Scalar]]


@dataclass
class Emitter:
    """Collects the lines of a function's body.

    Attributes:
        target: target of the function.
        lines: the ops so far.
        whole_reductions: whether to keep IREE from splitting reductions over workgroups.
        late_transposes: whether to keep IREE from folding transpositions into convolutions.
        is_one_row: whether the ops become part of the dispatch of one row; see `one_row`.
    """

    target: Target
    lines: list[str] = field(default_factory=list[str])
    whole_reductions: bool = False
    late_transposes: bool = False
    is_one_row: bool = False
    _taken: Counter[str] = field(default_factory=Counter[str])
    _constants: dict[str, Scalar] = field(default_factory=dict[str, Scalar])

    def text(self) -> str:
        """Returns the lines so far, scalar constants first."""
        wanted = {WHOLE_REDUCTIONS: self.whole_reductions, LATE_TRANSPOSES: self.late_transposes}
        head = [line for line, is_wanted in wanted.items() if is_wanted]
        constants = [f"{scalar.name} = {op}" for op, scalar in self._constants.items()]
        return "\n".join([*head, *constants, *self.lines])

    def fresh(self, hint: str) -> str:
        """Returns an unused SSA name that starts with `hint`."""
        count = self._taken[hint]
        self._taken[hint] += 1
        return f"%{hint}_{count}" if count else f"%{hint}"

    def op(self, hint: str, text: str) -> str:
        """Appends the op `text`, which has one result, and returns the result's name."""
        name = self.fresh(hint)
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, value: float, element: str) -> Scalar:
        """Returns a scalar constant, written once per function."""
        element = element.removeprefix("u")
        text = f"arith.constant {literal(value, element)} : {element}"
        if text not in self._constants:
            self._constants[text] = Scalar(self.fresh(f"cst_{element}"), element)
        return self._constants[text]

    def empty(self, form: Tensor) -> Tensor:
        """Returns an uninitialised tensor with the shape, type and dims of `form`."""
        form = replace(form, dims=self._with_loops(form.dims, form.shape))
        return replace(form, name=self.op("empty", f"tensor.empty() : {form.type}"))

    def _with_loops(self, dims: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(dim for dim in dims if shape[dim] > 1 or not self.is_one_row)

    def filled(self, form: Tensor, value: float) -> Tensor:
        """Returns a tensor like `form` in which all elements are `value`."""
        start = self.constant(value, form.element)
        return self.named("init", "linalg.fill", [start], self.empty(form))

    def named(
        self,
        hint: str,
        op: str,
        inputs: Sequence[Tensor | Scalar],
        init: Tensor,
        attributes: str = "",
    ) -> Tensor:
        """Emits a named linalg op that writes, or accumulates, into `init`."""
        head = f"{op} {attributes}" if attributes else op
        text = f"{head}\n    {_ins(inputs)}\n    {_outs([init])} -> {init.type}"
        return replace(init, name=self.op(hint, text))

    def generic(
        self,
        hint: str,
        inputs: Sequence[Tensor],
        inits: Sequence[Tensor],
        body: Body,
        *,
        shape: Sequence[int],
        order: Sequence[int] | None = None,
        reduced: Sequence[int] = (),
    ) -> list[Tensor]:
        """Emits a `linalg.generic` with one loop per logical dim.

        Args:
            hint: prefix of the result's name.
            inputs: operands, which broadcast by numpy's rules.
            inits: initial values; each result has the shape and type of its init.
            body: emits the scalar code for [inputs..., inits...] and returns what to yield.
            shape: extents of the iteration space.
            order: the logical dims in loop order, outermost first; None for logical order. Dims of
                extent 1 may be missing.
            reduced: the logical dims that are reduced.
        """
        loops = self._with_loops(range(len(shape)) if order is None else order, shape)
        if self.is_one_row:
            inputs = [self.without_unit_dims(value) for value in inputs]
        inputs = self._spanning(inputs, [dim - len(shape) for dim in reduced if shape[dim] > 1])
        maps = [indexing_map(value, loops, shape) for value in [*inputs, *inits]]
        kinds = ["reduction" if loop in reduced else "parallel" for loop in loops]
        return self.mapped(hint, inputs, inits, body, maps, kinds, loops=loops)

    def _spanning(self, inputs: Sequence[Tensor], dims: Sequence[int]) -> Sequence[Tensor]:
        """Materializes a broadcast along dims that no operand stores; loops cannot run over them.

        Args:
            inputs: operands, whose last dims align.
            dims: dims of the iteration space, counted from the back.
        """
        stored = {dim - one.rank for one in inputs for dim in one.dims if one.shape[dim] > 1}
        missing = set(dims) - stored
        return [
            self.in_order(one, range(one.rank))
            if missing.intersection(dim - one.rank for dim in one.broadcast_dims)
            else one
            for one in inputs
        ]

    def contraction(
        self,
        hint: str,
        a: Tensor,
        b: Tensor,
        init: Tensor,
        maps: Sequence[str],
        kinds: Sequence[str],
        attributes: str = "",
    ) -> Tensor:
        """Emits `init += a * b` over the loops of `maps`, for forms without a named op."""

        def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
            left, right, total = (scalars.cast(value, init.element) for value in arguments)
            suffix = "f" if is_float(init.element) else "i"
            product = scalars.op(f"arith.mul{suffix}", left, right)
            return [scalars.op(f"arith.add{suffix}", total, product)]

        return self.mapped(hint, [a, b], [init], body, maps, kinds, attributes)[0]

    def mapped(
        self,
        hint: str,
        inputs: Sequence[Tensor],
        inits: Sequence[Tensor],
        body: Body,
        maps: Sequence[str],
        kinds: Sequence[str],
        attributes: str = "",
        loops: Sequence[int] | None = None,
    ) -> list[Tensor]:
        """Emits a `linalg.generic` with the given indexing maps and iterator types.

        `loops` has the dim of each loop, if `body` reads indices of dims.
        """
        name = self.fresh(hint)
        binding = name if len(inits) == 1 else f"{name}:{len(inits)}"
        quoted = [f'"{kind}"' for kind in kinds]
        more = f", {attributes}" if attributes else ""
        self.lines += [
            f"{binding} = linalg.generic {{",
            "    indexing_maps = [",
            ",\n".join(f"      {text}" for text in maps) + "],",
            f"    iterator_types = [{', '.join(quoted)}]{more}}}",
            *([f"    {_ins(inputs)}"] if inputs else []),
            f"    {_outs(inits)} {{",
            *self._region(inputs, inits, body, loops),
            f"}} -> {_result_types(inits)}",
        ]
        if len(inits) == 1:
            return [replace(inits[0], name=name)]
        return [replace(init, name=f"{name}#{number}") for number, init in enumerate(inits)]

    def _region(
        self,
        inputs: Sequence[Tensor],
        inits: Sequence[Tensor],
        body: Body,
        loops: Sequence[int] | None,
    ) -> list[str]:
        names = [f"%in_{i}" for i in range(len(inputs))] + [f"%out_{i}" for i in range(len(inits))]
        operands = zip(names, [*inputs, *inits], strict=True)
        arguments = [Scalar(name, memory_element(operand.element)) for name, operand in operands]
        scalars = ScalarEmitter(self.constant, loops)
        elements = [operand.element for operand in (*inputs, *inits)]
        values = [scalars.loaded(*pair) for pair in zip(arguments, elements, strict=True)]
        stored = zip(body(scalars, values), inits, strict=True)
        results = [scalars.stored(value, init.element) for value, init in stored]
        values = ", ".join(scalar.name for scalar in results)
        types = ", ".join(scalar.type for scalar in results)
        return [
            f"^bb0({', '.join(f'{scalar.name}: {scalar.type}' for scalar in arguments)}):",
            *(f"  {line}" for line in scalars.lines),
            f"  linalg.yield {values} : {types}",
        ]

    def pointwise(
        self,
        hint: str,
        inputs: Sequence[Tensor],
        shape: Sequence[int],
        element: str,
        body: Body,
    ) -> Tensor:
        """Computes each element of the result from the elements at its index.

        The result takes the storage order of the first input of its shape, so that a channels-last
        graph stays channels-last.
        """
        order = common_order(inputs, tuple(shape))
        init = self.empty(Tensor("", tuple(shape), element, order))
        return self.generic(hint, inputs, [init], body, shape=shape, order=order)[0]

    def cast(self, value: Tensor, element: str) -> Tensor:
        """Converts the elements of `value`, rounding to nearest even."""
        if value.element == element:
            return value
        return self.pointwise(
            "cast", [value], value.shape, element, lambda s, args: [s.cast(args[0], element)]
        )

    def widened(self, value: Tensor) -> Tensor:
        """Widens types that contractions do not support: 8-bit floats to f16, without rounding."""
        if value.element == "ui8":
            return self.cast(value, "i32")
        return self.cast(value, "f16") if value.element in BYTES else value

    def in_order(self, value: Tensor, order: Sequence[int]) -> Tensor:
        """Returns `value` stored with all its logical dims, in `order`."""
        if value.dims == tuple(order):
            return value
        if value.lies_in(order):
            return self._expand(self.without_unit_dims(value), order)
        if not value.broadcast_dims:
            stored = [dim for dim in order if dim in value.dims]
            return self._expand(self._transpose(value, stored), order)
        init = self.empty(replace(value, dims=tuple(order)))
        return self.generic("broadcast", [value], [init], _first, shape=value.shape)[0]

    def materialized(self, value: Tensor) -> Tensor:
        """Materializes `value`: the ops before it stay out of the dispatches that read it.

        Does nothing within `one_row`, whose ops are one dispatch.
        """
        if self.is_one_row:
            return value
        name = self.op("materialized", f"util.optimization_barrier {value.name} : {value.type}")
        return replace(value, name=name)

    def in_rows(self, value: Tensor, dims: Sequence[int]) -> Tensor:
        """Returns a copy that stores `dims` last, as rows; `value` itself if it already does."""
        ordered = sorted(value.dims, key=lambda dim: dim in dims)
        if list(value.dims) == ordered:
            return value
        return self.materialized(self.in_order(value, ordered))

    def _transpose(self, value: Tensor, order: Sequence[int]) -> Tensor:
        if value.dims == tuple(order):
            return value
        if is_one_of_several(value, self.target):
            value = self.materialized(value)
        permutation = [value.dims.index(dim) for dim in order]
        init = self.empty(replace(value, dims=tuple(order)))
        text = f"linalg.transpose {_ins([value])} {_outs([init])} permutation = {permutation}"
        return replace(init, name=self.op("transposed", text))

    def _expand(self, value: Tensor, order: Sequence[int]) -> Tensor:
        """Adds the unit dims that `value` does not store."""
        stored = Tensor.logical(value.name, value.extents, value.element)
        extents = [value.shape[dim] for dim in order]
        return replace(value, name=self.reshape(stored, extents).name, dims=tuple(order))

    def logical(self, value: Tensor) -> Tensor:
        """Returns `value` stored in logical order."""
        return self.in_order(value, range(value.rank))

    def reshape(self, value: Tensor, shape: Sequence[int]) -> Tensor:
        """Collapses or expands the dims of `value`; one shape must refine the other."""
        source = self.logical(value)
        result = Tensor.logical("", shape, value.element)
        if source.shape == result.shape:
            return source
        if source.rank >= result.rank:
            groups = reassociation(source.shape, result.shape)
            text = f"tensor.collapse_shape {source.name} {groups}"
            hint = "collapsed"
        else:
            groups = reassociation(result.shape, source.shape)
            text = f"tensor.expand_shape {source.name} {groups} output_shape {list(shape)}"
            hint = "expanded"
        return replace(result, name=self.op(hint, f"{text} : {source.type} into {result.type}"))

    def viewed(self, value: Tensor, shape: Sequence[int]) -> Tensor:
        """Returns the elements of `value` in any shape."""
        return self.reshape(self.reshape(value, (math.prod(shape),)), shape)

    def without_unit_dims(self, value: Tensor) -> Tensor:
        """Returns `value` stored without its dims of extent 1."""
        is_kept = value.dims == value.several_dims
        return value if is_kept else self._in_form(value, replace(value, dims=value.several_dims))

    def one_dispatch(self, build: Callable[[], Sequence[Tensor]]) -> list[Tensor]:
        """Emits the ops of `build` as one dispatch, which IREE neither splits nor fuses."""
        # The parts of a split reduction would become separate dispatches.
        self.whole_reductions = True
        outside, self.lines = self.lines, list[str]()
        results = build()
        inside, self.lines = self.lines, outside
        name, types = self.fresh("dispatch"), ", ".join(value.type for value in results)
        self.lines += [
            f"{name}:{len(results)} = flow.dispatch.region -> ({types}) {{",
            *(f"  {line}" for line in inside),
            f"  flow.return {', '.join(value.name for value in results)} : {types}",
            "}",
        ]
        return [replace(value, name=f"{name}#{at}") for at, value in enumerate(results)]

    def one_row(self, build: Callable[[], Sequence[Tensor]]) -> list[Tensor]:
        """Emits reductions of one row, and ops on its elements, as one dispatch.

        Its values do not store dims of extent 1. IREE removes such dims before it forms dispatches,
        and would distribute the loops over them, or compute wrong sums.
        """
        if self.is_one_row:
            return list(build())
        self.is_one_row = True
        results = self.one_dispatch(build)
        self.is_one_row = False
        return results

    def barrier(self, value: Tensor) -> Tensor:
        """Returns `value` after a barrier that IREE moves no ops across, which materializes it."""
        text = f"iree_tensor_ext.compute_barrier.start {value.name} : {value.type} -> {value.type}"
        return replace(value, name=self.op("stored", text))

    def split_dim(self, value: Tensor, dim: int, outer: int) -> Tensor:
        """Splits a logical dim into two, the first of extent `outer`."""
        return self._in_form(value, value.split_dim(dim, outer))

    def merge_dims(self, value: Tensor, dim: int) -> Tensor:
        """Merges the logical dim `dim` with the one after it: the inverse of `split_dim`."""
        shape, end = value.shape, dim + 2
        merged = (*shape[:dim], math.prod(shape[dim:end]), *shape[end:])
        position = value.dims.index(dim) if dim in value.dims else value.rank
        if value.dims[position + 1 : position + 2] != (dim + 1,):
            return self.reshape(value, merged)
        dims = tuple(stored - (stored > dim) for stored in value.dims if stored != dim + 1)
        return self._in_form(value, Tensor("", merged, value.element, dims))

    def _in_form(self, value: Tensor, form: Tensor) -> Tensor:
        plain = Tensor.logical(value.name, value.extents, value.element)
        return replace(form, name=self.reshape(plain, form.extents).name)


def _first(_: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
    return arguments[:1]


def _operands(keyword: str, values: Sequence[Tensor | Scalar]) -> str:
    names = ", ".join(value.name for value in values)
    types = ", ".join(value.type for value in values)
    return f"{keyword}({names} : {types})"


def _ins(values: Sequence[Tensor | Scalar]) -> str:
    return _operands("ins", values)


def _outs(values: Sequence[Tensor | Scalar]) -> str:
    return _operands("outs", values)


def _result_types(values: Sequence[Tensor]) -> str:
    types = [value.type for value in values]
    return types[0] if len(types) == 1 else f"({', '.join(types)})"

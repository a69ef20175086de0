"""Adds host functions that select among a program's variants by the shapes of their arguments.

These functions contain only upstream ops, so that a linked program calls a single function.
hipgraft's runtimes do the selection themselves, to report shapes that fit no variant as errors.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import strided_type
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import VARIANT_OF, VARIANTS, functions_of, targets_of
from hipgraft.runtime.host_program.form import CONSTANTS, constants_of
from hipgraft.transforms.grafting import suffixes


def add_dispatchers(module: ir.Module, trailing: Container[str] = ()) -> list[ir.Operation]:
    """Adds or replaces the selecting function of each program and set of targets.

    Args:
        module: stage `host`; a module without variants does not change.
        trailing: constants that come last among the constant arguments.

    Returns:
        The new functions.
    """
    functions = functions_of(module)
    for function in [one for one in functions if VARIANTS in one.attributes]:
        function.erase()
    variants = [one for one in functions_of(module) if VARIANT_OF in one.attributes]
    with module.context:
        return [_add(module, group) for group in list(_groups(variants, trailing))]


@dataclass(frozen=True)
class _Group:
    """The variants of a program that run on the same targets.

    Attributes:
        name: name of the function that selects among them.
        targets: architectures.
        functions: the variants.
        constants: constants that any of them has as arguments before its results.
    """

    name: str
    targets: list[str]
    functions: list[ir.Operation]
    constants: list[str]

    def arguments(self, function: ir.Operation) -> dict[str, ir.MemRefType]:
        """Returns inputs, constants and results of a variant by their names in the text."""
        types = [ir.MemRefType(one.type) for one in function.regions[0].blocks[0].arguments]
        constants = [f"%k{self.constants.index(name)}" for name in constants_of(function)]
        count = len(types) - ir.IntegerAttr(function.attributes["hipgraft.results"]).value
        inputs = [f"%x{number}" for number in range(count - len(constants))]
        results = [f"%y{number}" for number in range(len(types) - count)]
        return dict(zip([*inputs, *constants, *results], types, strict=True))


def _groups(variants: Sequence[ir.Operation], trailing: Container[str]) -> Iterator[_Group]:
    for name in dict.fromkeys(_string(one, VARIANT_OF) for one in variants):
        ours = [one for one in variants if _string(one, VARIANT_OF) == name]
        by_members: dict[tuple[ir.Operation, ...], list[str]] = {}
        for target in dict.fromkeys(target for one in ours for target in targets_of(one)):
            members = tuple(one for one in ours if target in targets_of(one))
            by_members.setdefault(members, []).append(target)
        endings = suffixes(list(by_members.values()))
        for suffix, (members, targets) in zip(endings, by_members.items(), strict=True):
            constants = dict.fromkeys(name for one in members for name in constants_of(one))
            ordered = sorted(constants, key=lambda constant: constant in trailing)
            yield _Group(name + suffix, targets, list(members), ordered)


def _string(op: ir.Operation, key: str) -> str:
    return ir.StringAttr(op.attributes[key]).value


def _add(module: ir.Module, group: _Group) -> ir.Operation:
    first = group.functions[0]
    parsed = ir.Module.parse(_text(group))
    *_, view = parsed.body.operations
    function = view.operation
    function.walk(lambda op: _locate(op, first.location))
    for key, values in (
        ("hipgraft.targets", group.targets),
        (CONSTANTS, group.constants),
        (VARIANTS, [_string(one, "sym_name") for one in group.functions]),
    ):
        if values:
            function.attributes[key] = ir.ArrayAttr.get([ir.StringAttr.get(one) for one in values])
    function.attributes["hipgraft.results"] = first.attributes["hipgraft.results"]
    function.detach_from_parent()
    module.body.append(function)
    return function


def _locate(op: ir.Operation, location: ir.Location) -> ir.WalkResult:
    op.location = location
    return ir.WalkResult.ADVANCE


def _text(group: _Group) -> str:
    """Returns the text of a module with the function and declarations of its callees."""
    variants = {_string(one, "sym_name"): group.arguments(one) for one in group.functions}
    arguments = _common_arguments(list(variants.values()))
    signature = ", ".join(f"{name}: {kind}" for name, kind in arguments.items())
    dims = [
        (name, dim)
        for name, kind in arguments.items()
        for dim in range(kind.rank)
        if name.startswith("%x") and kind.is_dynamic_dim(dim)
    ]
    return "\n".join(
        [
            *(f"func.func private @{name}({_types(kinds)})" for name, kinds in variants.items()),
            f"func.func @{group.name}({signature}) {{",
            *(line for name, dim in dims for line in _extent(name, dim, arguments[name])),
            *_choice(variants, arguments, dims),
            "func.return",
            "}",
        ]
    )


def _types(arguments: Mapping[str, ir.MemRefType]) -> str:
    return ", ".join(map(str, arguments.values()))


def _common_arguments(variants: Sequence[Mapping[str, ir.MemRefType]]) -> dict[str, ir.MemRefType]:
    """Returns the arguments of all variants, dynamic where they differ."""
    names = sorted({name for kinds in variants for name in kinds}, key=_sort_key)
    return {name: _common([kinds[name] for kinds in variants if name in kinds]) for name in names}


def _sort_key(name: str) -> tuple[int, int]:
    return "xky".index(name[1]), int(name[2:])


def _common(kinds: Sequence[ir.MemRefType]) -> ir.MemRefType:
    first, *others = kinds
    if all(kind == first for kind in others):
        return first
    if any(kind.rank != first.rank for kind in others):
        raise HipgraftError(f"variants of a program differ in the rank of an argument: {first}")
    shape = _merged([kind.shape for kind in kinds], ir.ShapedType.get_dynamic_size())
    unknown = ir.Location.unknown()
    if all(kind.affine_map == ir.AffineMap.get_identity(kind.rank) for kind in kinds):
        return ir.MemRefType.get(shape, first.element_type, loc=unknown)
    moving = ir.ShapedType.get_dynamic_stride_or_offset()
    layouts = [kind.get_strides_and_offset() for kind in kinds]
    strides = _merged([strides for strides, _ in layouts], moving)
    (offset,) = _merged([[offset] for _, offset in layouts], moving)
    return strided_type(shape, strides, offset, first.element_type)


def _merged(rows: Sequence[Sequence[int]], dynamic: int) -> list[int]:
    return [column[0] if len(set(column)) == 1 else dynamic for column in zip(*rows, strict=True)]


def _extent(name: str, dim: int, kind: ir.MemRefType) -> Iterator[str]:
    yield f"{name}_at{dim} = arith.constant {dim} : index"
    yield f"{name}_d{dim} = memref.dim {name}, {name}_at{dim} : {kind}"


def _choice(
    variants: Mapping[str, Mapping[str, ir.MemRefType]],
    arguments: Mapping[str, ir.MemRefType],
    dims: Sequence[tuple[str, int]],
) -> Iterator[str]:
    """Writes a call of the first variant that fits; without one, the process is aborted."""
    for callee, kinds in variants.items():
        yield from _comparisons(callee, kinds, dims)
        yield f"scf.if %{callee}_fits{len(dims) - 1} {{"
        yield from _call(callee, kinds, arguments)
        yield "} else {"
    yield "%none = arith.constant false"
    yield 'cf.assert %none, "no variant of the program is for inputs of these shapes"'
    yield from "}" * len(variants)


def _comparisons(
    callee: str, kinds: Mapping[str, ir.MemRefType], dims: Sequence[tuple[str, int]]
) -> Iterator[str]:
    """Writes comparisons of extents; the last line's result is whether all fit."""
    for number, (name, dim) in enumerate(dims):
        extent = f"%{callee}_extent{number}"
        fits = f"%{callee}_fits{number}"
        equal = f"%{callee}_equal{number}" if number else fits
        yield f"{extent} = arith.constant {kinds[name].shape[dim]} : index"
        yield f"{equal} = arith.cmpi eq, {name}_d{dim}, {extent} : index"
        if number:
            yield f"{fits} = arith.andi %{callee}_fits{number - 1}, {equal} : i1"


def _call(
    callee: str, kinds: Mapping[str, ir.MemRefType], arguments: Mapping[str, ir.MemRefType]
) -> Iterator[str]:
    for name, kind in kinds.items():
        yield f"{name}_{callee} = memref.cast {name} : {arguments[name]} to {kind}"
    operands = ", ".join(f"{name}_{callee}" for name in kinds)
    yield f"func.call @{callee}({operands}) : ({_types(kinds)}) -> ()"

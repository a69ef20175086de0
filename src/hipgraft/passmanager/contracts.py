"""Defines stage contracts: the ops and forms that a program may hold at each stage.

A pass names the stages that it requires and ensures; the runner checks both under
`--verify-contracts`. Contracts list ops by name, or by dialect as `gpu.*`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError

_LIMIT = 20
"""The number of errors after which the check stops."""

_CONTAINERS = frozenset({"hipdnn.graph", "hipdnn.fallback"})
"""Ops whose contents the dialect verifies."""

# Ops that create a memref that starts inside an argument.
_POINTER_ARITHMETIC = frozenset(
    {
        "builtin.unrealized_conversion_cast",
        "llvm.insertvalue",
        "llvm.inttoptr",
        "llvm.mlir.constant",
        "llvm.mlir.poison",
    }
)


@dataclass(frozen=True)
class Contract:
    """The rules for a module at a stage.

    Attributes:
        name: name of the stage.
        doc: the rules in one sentence.
        top_level: ops that the module may contain directly.
        in_functions: ops that functions may contain, outside of containers.
        excluded: ops that are not allowed although their dialect is.
        checks: further rules; each yields the errors of a function.
    """

    name: str
    doc: str
    top_level: frozenset[str]
    in_functions: frozenset[str]
    excluded: frozenset[str] = frozenset()
    checks: tuple[Callable[[ir.Operation], Iterator[VerifyError]], ...] = ()


def check(module: ir.Module, name: str, why: str) -> list[VerifyError]:
    """Returns violations of the stage `name`, at most the first few.

    Args:
        module: module to check.
        name: name of the stage.
        why: pass that requires the stage, appended to each message.
    """
    errors: list[VerifyError] = []
    for error in _violations(module, CONTRACTS[name]):
        error.message = f"{error.message} at stage '{name}', {why}"
        errors.append(error)
        if len(errors) == _LIMIT:
            break
    return errors


def _violations(module: ir.Module, contract: Contract) -> Iterator[VerifyError]:
    for view in module.body.operations:
        op = view.operation
        if not _is_one_of(op.name, contract.top_level):
            yield VerifyError(f"'{op.name}' op is not allowed in the module", op)
        elif op.name == "func.func":
            yield from _misplaced_in_function(op, contract)
            for rule in contract.checks:
                yield from rule(op)


def _misplaced_in_function(function: ir.Operation, contract: Contract) -> Iterator[VerifyError]:
    for op in _nested(function):
        excluded = op.name in contract.excluded
        if excluded or not _is_one_of(op.name, contract.in_functions):
            yield VerifyError(f"'{op.name}' op is not allowed in a function", op)


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the ops inside of `op`, except those inside of containers in it."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                nested = view.operation
                yield nested
                if nested.name not in _CONTAINERS:
                    yield from _nested(nested)


def _is_one_of(name: str, allowed: frozenset[str]) -> bool:
    return name in allowed or f"{name.partition('.')[0]}.*" in allowed


def _signature(function: ir.Operation) -> list[ir.Type]:
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return [*kind.inputs, *kind.results]


def _border_is(
    what: str, is_right: Callable[[ir.Type], bool]
) -> Callable[..., Iterator[VerifyError]]:
    def rule(function: ir.Operation) -> Iterator[VerifyError]:
        for kind in _signature(function):
            if not is_right(kind):
                yield VerifyError(
                    f"'func.func' op takes and returns {what}, found '{kind}'", function
                )

    return rule


def _is_static_tensor(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape


def _is_memref(kind: ir.Type) -> bool:
    return isinstance(kind, ir.MemRefType)


def _is_static_torch(kind: ir.Type) -> bool:
    # The bindings have no classes for the torch dialect's types, so their text is compared.
    text = str(kind)
    return text.startswith("!torch.") and "?" not in text


def _returns_computed_values(function: ir.Operation) -> Iterator[VerifyError]:
    """Checks that each returned value is a distinct result of a container or a view of one.

    A value without elements is a constant, because no kernel writes it.
    """
    seen: set[ir.Value] = set()
    for op in _nested(function):
        if op.name != "func.return":
            continue
        for number, value in enumerate(op.operands):
            if 0 in ir.RankedTensorType(value.type).shape:
                continue
            base = _base(value)
            if base in seen:
                yield VerifyError(f"operand #{number} is returned twice", op)
            seen.add(base)
            owner = base.owner
            if isinstance(owner, ir.Block) or owner.name not in _CONTAINERS:
                yield VerifyError(f"operand #{number} is not the result of a container", op)


def _base(value: ir.Value) -> ir.Value:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "hipdnn.view":
        return value
    return owner.operands[0]


_GRAPHS = frozenset(
    {"hipdnn.graph", "hipdnn.fallback", "hipdnn.view", "arith.constant", "func.return"}
)
_GRAPH_CHECKS = (
    _border_is("static builtin tensors", _is_static_tensor),
    _returns_computed_values,
)

CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        Contract(
            name="torch",
            doc="Functions on torch value tensors, in torch-mlir's backend form.",
            top_level=frozenset({"func.func", "torch.*"}),
            in_functions=frozenset({"torch.*", "torch_c.*", "func.return"}),
            checks=(_border_is("static torch tensors", _is_static_torch),),
        ),
        Contract(
            name="hipdnn-ops",
            doc="Functions on builtin tensors; hipDNN's compute ops, and others between casts.",
            top_level=frozenset({"func.func"}),
            in_functions=frozenset(
                {
                    "hipdnn.*",
                    "arith.constant",
                    "torch.*",
                    "torch_c.*",
                    "migraphx.*",
                    "func.return",
                }
            ),
            excluded=frozenset({"hipdnn.execute", "hipdnn.executable"}),
            checks=(_border_is("static builtin tensors", _is_static_tensor),),
        ),
        Contract(
            name="hipdnn-graphs",
            doc="All compute is in containers; each returned value is a result of one.",
            top_level=frozenset({"func.func"}),
            in_functions=_GRAPHS,
            checks=_GRAPH_CHECKS,
        ),
        Contract(
            name="hipdnn-linalg",
            doc="As `hipdnn-graphs`; beside containers, what the compiler is given for them.",
            top_level=frozenset({"func.func", "builtin.module"}),
            in_functions=_GRAPHS,
            checks=_GRAPH_CHECKS,
        ),
        Contract(
            name="hipdnn-executables",
            doc="Containers are executables, and functions execute them.",
            top_level=frozenset({"func.func", "hipdnn.executable"}),
            in_functions=frozenset(
                {
                    "hipdnn.execute",
                    "hipdnn.view",
                    "arith.constant",
                    "func.return",
                }
            ),
            checks=(_border_is("static builtin tensors", _is_static_tensor),),
        ),
        Contract(
            name="hipdnn-buffers",
            doc="Functions on memrefs, outputs as trailing arguments.",
            top_level=frozenset({"func.func", "hipdnn.executable", "memref.global"}),
            in_functions=frozenset(
                {
                    "hipdnn.execute",
                    "arith.constant",
                    "memref.alloc",
                    "memref.get_global",
                    "memref.reinterpret_cast",
                    "memref.view",
                    "func.return",
                }
            ),
            checks=(_border_is("memrefs", _is_memref),),
        ),
        Contract(
            name="host",
            doc="Upstream MLIR only: launches of GPU binaries on memrefs.",
            top_level=frozenset({"func.func", "gpu.binary", "memref.global"}),
            in_functions=frozenset(
                {
                    "affine.*",
                    "arith.*",
                    "cf.assert",
                    "gpu.*",
                    "memref.*",
                    "scf.*",
                    "func.return",
                    "func.call",
                }
            )
            | _POINTER_ARITHMETIC,
            checks=(_border_is("memrefs", _is_memref),),
        ),
    )
}

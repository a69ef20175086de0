"""Graphs for the tests of engines, as text, and the answers of engines."""

from __future__ import annotations

from pathlib import Path

from hipgraft.dialects import hipdnn
from hipgraft.engines import Engine, Failure, find_engine, graph_of
from hipgraft.ir.bindings import ir, make_context

WINDOW = (
    "pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, "
    "stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>"
)


def node(
    op: str, operands: dict[str, str], result: str | tuple[str, ...], attributes: str = ""
) -> str:
    """The line of a node; operands are types by name, results are `%out0`, ..."""
    results = (result,) if isinstance(result, str) else result
    names = ", ".join(f"%{name}" for name in operands)
    types = ", ".join(f"tensor<{type_}>" for type_ in operands.values())
    made = ", ".join(f"tensor<{type_}>" for type_ in results)
    return f'"hipdnn.{op}"({names}) {{{attributes}}} : ({types}) -> ({made})'


def single(
    op: str, operands: dict[str, str], result: str | tuple[str, ...], attributes: str = ""
) -> str:
    """A module whose function has one op and returns its first result."""
    results = (result,) if isinstance(result, str) else result
    arguments = ", ".join(f"%{name}: tensor<{type_}>" for name, type_ in operands.items())
    bundle = f"%r:{len(results)}" if len(results) > 1 else "%r"
    first = "%r#0" if len(results) > 1 else "%r"
    return (
        f"func.func @f({arguments}) -> tensor<{results[0]}> {{\n"
        f"  {bundle} = {node(op, operands, results, attributes)}\n"
        f"  return {first} : tensor<{results[0]}>\n}}"
    )


def graph(
    body: str, arguments: dict[str, str], results: dict[str, str], attributes: str = ""
) -> str:
    """A module with one `hipdnn.graph` that yields `results`, which are types by name."""
    outer = ", ".join(f"%{name}_: tensor<{type_}>" for name, type_ in arguments.items())
    passed = ", ".join(f"%{name}_" for name in arguments)
    inner = ", ".join(f"%{name}: tensor<{type_}>" for name, type_ in arguments.items())
    types = ", ".join(f"tensor<{type_}>" for type_ in arguments.values())
    yielded = ", ".join(f"%{name}" for name in results)
    made = ", ".join(f"tensor<{type_}>" for type_ in results.values())
    returned = ", ".join(f"%g#{at}" for at in range(len(results)))
    return (
        f"func.func @f({outer}) -> ({made}) {{\n"
        f'  %g:{len(results)} = "hipdnn.graph"({passed}) ({{\n'
        f"  ^bb0({inner}):\n{body}\n"
        f'    "hipdnn.yield"({yielded}) : ({made}) -> ()\n'
        f"  }}) {{{attributes}}} : ({types}) -> ({made})\n"
        f"  return {returned} : {made}\n}}"
    )


def failure_of(engine: str | Engine, text: str, architecture: str = "") -> Failure | None:
    """Returns an engine's answer about the graph, or the only hipDNN op, of a module."""
    known = find_engine(engine) if isinstance(engine, str) else engine
    with make_context() as context:
        module = ir.Module.parse(text, context)
        assert hipdnn.verify(module) == []
        found = known.check(graph_of(subject(module)), architecture)
        # The node belongs to a context that ends here.
        return None if found is None else Failure(found.rule, found.message)


def subject(module: ir.Module) -> ir.Operation:
    """The graph of a module, or its only compute op."""
    block = module.body.operations[0].regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    return next(op for op in ops if op.name.startswith("hipdnn.") and op.name != "hipdnn.view")


def engine_of(path: Path, text: str) -> Engine:
    """The engine of a file with this text."""
    path.write_text(text)
    return find_engine(str(path))

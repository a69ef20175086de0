"""Graphs that return a product and elementwise results computed from it, on GPUs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator

import hipgraft

Array = np.ndarray[Any, Any]


class _Graph:
    """A random graph: a product whose tiles are partial, and elementwise ops that read it.

    IREE 3.13.0 stored wrong products if loops with several results read them.
    """

    def __init__(self, seed: int):
        draw = random.Random(seed)
        rows, depth, columns = (
            draw.choice(choices) for choices in ((2, 9, 12, 17, 31), (8, 16), (8, 24, 40))
        )
        self.shape, kind = (rows, columns), f"tensor<{rows}x{columns}xf32>"
        generator = np.random.default_rng(seed)
        self.inputs: list[Array] = [
            generator.standard_normal(shape).astype(np.float32)
            for shape in ((rows, depth), (depth, columns))
        ]
        self.values: list[Array] = [self.inputs[0] @ self.inputs[1]]
        names, lines = ["%v0"], list[str]()
        for number in range(1, draw.randint(2, 5)):
            if draw.random() < 0.6:
                form = draw.choice([(1, columns), (rows, 1), (rows, columns)])
                self.inputs.append(generator.standard_normal(form).astype(np.float32))
                name, value = f"%b{len(self.inputs) - 1}", self.inputs[-1]
                operand = f"tensor<{form[0]}x{form[1]}xf32>"
            else:
                other = draw.randrange(len(names))
                name, value, operand = names[other], self.values[other], kind
            at = draw.choice([0, len(names) - 1])
            mode, compute = draw.choice(
                [("mul", np.multiply), ("add", np.add), ("sub", np.subtract)]
            )
            lines.append(
                f'%v{number} = "hipdnn.pointwise"({names[at]}, {name}) {{mode = "{mode}"}} '
                f": ({kind}, {operand}) -> {kind}"
            )
            self.values.append(compute(self.values[at], value))
            names.append(f"%v{number}")
        kept = sorted({len(names) - 1} | {at for at in range(len(names)) if draw.random() < 0.5})
        self.wanted = [self.values[at] for at in kept]
        stored = [(names[at], kind) for at in kept]
        if draw.random() < 0.4:  # another op reads the product, before or after
            row = f"tensor<{rows}x1xf32>"
            lines.insert(
                draw.randint(0, len(lines)),
                f'%s = "hipdnn.reduction"(%v0) {{mode = "ADD"}} : ({kind}) -> {row}',
            )
            stored.append(("%s", row))
            self.wanted.append(self.values[0].sum(1, keepdims=True))
        types = [f"tensor<{x.shape[0]}x{x.shape[1]}xf32>" for x in self.inputs]
        outer = ", ".join(f"%a{at}: {one}" for at, one in enumerate(types))
        results, yielded = (
            ", ".join(one) for one in zip(*[(t, n) for n, t in stored], strict=True)
        )
        returned = ", ".join(f"%r#{at}" for at in range(len(stored)))
        body = "\n".join(lines)
        self.text = f"""
func.func @main({outer}) -> ({results}) {{
  %r:{len(stored)} = "hipdnn.graph"({", ".join(f"%a{at}" for at in range(len(types)))}) ({{
  ^bb0({outer.replace("%a", "%b")}):
    %v0 = "hipdnn.matmul"(%b0, %b1) : ({types[0]}, {types[1]}) -> {kind}
    {body}
    "hipdnn.yield"({yielded}) : ({results}) -> ()
  }}) {{engine = "iree", name = "g"}} : ({", ".join(types)}) -> ({results})
  return {returned} : {results}
}}
"""


_REDUCED = """
func.func @main(%a: tensor<12x8xf32>, %b: tensor<8x24xf32>, %c: tensor<1x24xf32>)
    -> (tensor<12x24xf32>, tensor<12x24xf32>, tensor<12x1xf32>) {{
  %r:3 = "hipdnn.graph"(%a, %b, %c) ({{
  ^bb0(%x: tensor<12x8xf32>, %y: tensor<8x24xf32>, %z: tensor<1x24xf32>):
    %m = "hipdnn.matmul"(%x, %y) : (tensor<12x8xf32>, tensor<8x24xf32>) -> tensor<12x24xf32>
    {before}
    %p = "hipdnn.pointwise"(%m, %z) {{mode = "mul"}}
      : (tensor<12x24xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %q = "hipdnn.pointwise"(%m, %z) {{mode = "add"}}
      : (tensor<12x24xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    {after}
    "hipdnn.yield"(%p, %q, %s) : (tensor<12x24xf32>, tensor<12x24xf32>, tensor<12x1xf32>) -> ()
  }}) {{engine = "iree", name = "g"}} : (tensor<12x8xf32>, tensor<8x24xf32>, tensor<1x24xf32>)
    -> (tensor<12x24xf32>, tensor<12x24xf32>, tensor<12x1xf32>)
  return %r#0, %r#1, %r#2 : tensor<12x24xf32>, tensor<12x24xf32>, tensor<12x1xf32>
}}
"""
_SUM = '%s = "hipdnn.reduction"(%m) {mode = "ADD"} : (tensor<12x24xf32>) -> tensor<12x1xf32>'


@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize("is_before", [True, False])
def test_a_reduction_reads_the_product(is_before: bool, tmp_path: Path) -> None:
    parts = {"before": _SUM if is_before else "", "after": "" if is_before else _SUM}
    (tmp_path / "graph.mlir").write_text(_REDUCED.format(**parts))
    generator = np.random.default_rng(0)
    a, b, c = (
        generator.standard_normal(shape).astype(np.float32) for shape in ((12, 8), (8, 24), (1, 24))
    )
    with hipgraft.compile(tmp_path / "graph.mlir", target="gfx942") as program:
        assert str(program.module).count("gpu.launch_func ") == (3 if is_before else 2)
        found = program.run([a, b, c], device="emulator")
    product = a @ b
    for result, wanted in zip(
        found, (product * c, product + c, product.sum(1, keepdims=True)), strict=True
    ):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


@requires_emulator
@pytest.mark.sampled(36)
@pytest.mark.parametrize("seed", range(24))
def test_random_graphs(seed: int, tmp_path: Path) -> None:
    graph = _Graph(seed)
    (tmp_path / "graph.mlir").write_text(graph.text)
    architecture = ("gfx942", "gfx942", "gfx1100")[seed % 3]
    with hipgraft.compile(tmp_path / "graph.mlir", target=architecture) as program:
        found = program.run(graph.inputs, device=f"emulator:{architecture}")
    for result, wanted in zip(found, graph.wanted, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)

"""Builds stage-3 programs from IREE input text, for tests of the steps after the compiler."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passmanager.base import Pass, PassState


@cache
def compiled(text: str, target: str) -> Kernel:
    """A kernel, compiled once per process."""
    return compile_text(text, Target.parse(target))


def add_executable(
    module: ir.Module, name: str, kernels: Sequence[Kernel], attributes: str = ""
) -> None:
    """Appends a `hipdnn.executable`; `attributes` is the text of further attributes."""
    fields = {
        "sym_name": ir.StringAttr.get(name),
        "binaries": ir.ArrayAttr.get([kernel.to_attr() for kernel in kernels]),
    }
    if attributes:
        extra = ir.DictAttr(ir.Attribute.parse("{" + attributes + "}"))
        fields |= {extra[i].name: extra[i].attr for i in range(len(extra))}
    with ir.InsertionPoint(module.body):
        ir.Operation.create("hipdnn.executable", attributes=fields)


def build_program(
    function: str,
    graphs: Mapping[str, tuple[str, str]],
    targets: Sequence[str],
    context: ir.Context | None = None,
) -> ir.Module:
    """Returns a stage-3 module.

    Args:
        function: text of the host function on tensors.
        graphs: by symbol, the IREE input text and the executable's attributes.
        targets: targets to compile each graph for.
        context: context of the module.
    """
    with context or make_context(), ir.Location.unknown():
        module = ir.Module.parse(function)
        for name, (text, attributes) in graphs.items():
            add_executable(module, name, [compiled(text, t) for t in targets], attributes)
        return module


def run_passes(module: ir.Module, *passes: str | Pass) -> list[PassState]:
    """Runs passes, given as objects or by name, verifying after each; returns their states."""
    states: list[PassState] = []
    with module.context, ir.Location.unknown():
        for item in passes:
            one = _pass_by_name(item) if isinstance(item, str) else item
            states.append(PassState(one.name))
            one.run(module, states[-1])
            assert module.operation.verify()
    return states


def _pass_by_name(name: str) -> Pass:
    module = importlib.import_module(f"hipgraft.passes.{name.replace('-', '_')}")
    return getattr(module, "".join(word.capitalize() for word in name.split("-")) + "Pass")()


def uniform(*shape: int, dtype: Any = np.float16, seed: int = 0) -> np.ndarray:
    """Random numbers in [-1, 1)."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)

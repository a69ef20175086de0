"""Compiles random ONNX models of a few operators, and compares their results.

    python benchmarks/differential.py [--rounds 200] [--seed 0] [-j 2] [--ops REGEX]
                                      [--device emulator:gfx942] [--rewrites]
                                      [--dynamic] [--long] [--element {f16,bf16}]
                                      [--failures build/differential]

Operators, their inputs, types, optional inputs and attributes are drawn from ONNX's schemas, and
shapes from those that are empty, of one element, odd and prime. Unoptimised onnxruntime or ONNX's
reference implementation decides whether a model is valid and computes the expected results; if both
compute results that differ, the round does not count. Before opset 13, only onnxruntime is used. A
model that hipgraft rejects with a one-line error counts as right. A model that gives wrong results,
aborts or ends in a traceback is reduced, and written to `--failures` with its inputs. `--rewrites`
compiles nothing: the reference implementation evaluates the model as the frontend has rewritten it,
which takes milliseconds. With `--dynamic`, most extents of the inputs are symbolic; with `--long`,
some are as long as in real models; with `--element`, that type replaces f32, and the reference
computes in f32. The status is 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from clear_models import averages_nothing, have_inferred_shapes, is_clear, is_known_in_f32
from onnx_oracles import evaluate, of_type, wanted
from random_onnx import Draft, draft, with_dynamic_extents, with_long_extents

from hipgraft.compiler import program  # noqa: F401  # loaded once, not by each job
from hipgraft.frontends.onnx.model import read_model
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnx_backend.cases import OUTCOMES, Case, Outcome, check, difference, run_contained
from hipgraft.onnx_backend.narrowed import ELEMENTS, narrowed

# isort: split
import numpy as np
import onnx
import onnxruntime
from onnx import helper


def takes_results(candidate: Draft, model: onnx.ModelProto) -> bool:
    """Whether the operators accept the types of their operands, which nothing else checks."""
    kinds = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
    values = (*model.graph.value_info, *model.graph.output)
    types = {one.name: f"tensor({kinds.get(one.type.tensor_type.elem_type)})" for one in values}
    names = ["y0", *(f"z{index}" for index in range(len(candidate.following)))]
    return all(
        types.get(name) in onnx.defs.get_schema(op, candidate.opset).inputs[0].types
        for name, op in zip(names, candidate.following, strict=False)
    )


def case_of(candidate: Draft, name: str) -> Case | None:
    """Returns a valid model with what it computes, or None."""
    try:
        model = candidate.model()
        onnx.checker.check_model(model)
    except Exception:  # ONNX rejects it
        return None
    if not takes_results(candidate, model) or averages_nothing(candidate, model):
        return None
    results = wanted(candidate, model) if is_clear(candidate) else None
    if results is None or not have_inferred_shapes(results, model):
        return None
    declared = [one.type.tensor_type.elem_type for one in model.graph.output]
    if [helper.np_dtype_to_tensor_dtype(one.dtype) for one in results] != declared:
        return None  # the reference computes some types in others
    arrays = [*(one for one in candidate.inputs if one is not None), *results]
    half = any(array.dtype == np.float16 for array in arrays)
    tolerance = 2e-2 if half else 1e-3
    return Case(name, model, list(candidate.feeds().values()), results, tolerance, tolerance / 10)


def check_rewrites(case: Case) -> Outcome:
    """Evaluates the model as the frontend rewrites it, without compiling it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(case.model.SerializeToString())
        try:
            model = read_model(path)
        except HipgraftError as error:
            return Outcome("refused", error.message)
    results = evaluate(model, case.inputs)
    if results is None:
        return Outcome("refused", "nothing evaluates it")
    for index, (one, want) in enumerate(zip(results, case.wanted, strict=True)):
        reason = difference(of_type(one, want.dtype), want, case.rtol, case.atol)
        if reason is not None:
            return Outcome("wrong", f"result {index}: {reason}")
    return Outcome("pass")


def with_fewer_nodes(candidate: Draft) -> Iterator[Draft]:
    """Yields models with one operator less, or with another operand instead of the same twice."""
    if candidate.following:
        yield replace(candidate, following=candidate.following[:-1])
    for index in candidate.views:
        rest = {key: one for key, one in candidate.views.items() if key != index}
        yield replace(candidate, views=rest)
    for name in ("is_square", "keeps", "skips"):
        if getattr(candidate, name):
            yield replace(candidate, **{name: False})
    for extent in sorted(candidate.dynamic):
        yield replace(candidate, dynamic=candidate.dynamic - {extent})


def smaller(candidate: Draft) -> Iterator[Draft]:
    """Yields simpler models: fewer operators, attributes, results and elements."""
    yield from with_fewer_nodes(candidate)
    for name in candidate.attributes:
        rest = {key: one for key, one in candidate.attributes.items() if key != name}
        yield replace(candidate, attributes=rest)
    if candidate.outputs > 1:
        yield replace(candidate, outputs=candidate.outputs - 1)
    for index, array in enumerate(candidate.inputs):
        if array is None:
            continue
        yield _with_input(candidate, index, None)
        for axis, extent in enumerate(array.shape):
            if extent > 1:
                yield _with_input(candidate, index, np.take(array, range(extent - 1), axis))
    largest = max((array.shape for array in candidate.inputs if array is not None), default=())
    for axis, extent in enumerate(largest):  # in all inputs at the same time
        if extent > 1:
            cut = [
                np.take(array, range(extent - 1), axis)
                if array is not None and array.shape == largest
                else array
                for array in candidate.inputs
            ]
            yield replace(candidate, inputs=cut)


def _with_input(candidate: Draft, index: int, array: np.ndarray | None) -> Draft:
    inputs = list(candidate.inputs)
    inputs[index] = array
    if candidate.is_square:
        inputs[1] = inputs[0]
    return replace(candidate, inputs=inputs)


Check = Callable[[Case], Outcome]


def minimised(
    candidate: Draft, kind: str, job: Check, draw: Draw | None = None, attempts: int = 60
) -> Draft:
    """Returns a smaller model with the same kind of outcome."""
    draw = draw or Draw()
    best, improved = candidate, True
    while improved and attempts > 0:
        improved = False
        for other in smaller(best):
            attempts -= 1
            if attempts <= 0:
                break
            case = draw.case_of(other, "smaller")
            if case is not None and outcome_of(case, job).kind == kind:
                best, improved = other, True
                break
    return best


def outcome_of(case: Case, job: Check) -> Outcome:
    """Returns the outcome of one case, in a separate process."""
    ((_, outcome),) = run_contained(iter([("", partial(job, case))]))
    return outcome


@dataclass(frozen=True)
class Draw:
    """Which models are drawn.

    Attributes:
        seed: seed of all models.
        pattern: regular expression that the operators' names match.
        dynamic: whether extents of inputs are symbolic.
        long: whether some extents are as long as in real models.
        element: element type that replaces f32; "" to keep f32.
    """

    seed: int = 0
    pattern: str = ""
    dynamic: bool = False
    long: bool = False
    element: str = ""

    def case_of(self, candidate: Draft, name: str) -> Case | None:
        """Returns a valid model with what it computes, or None."""
        if self.element and not is_known_in_f32(candidate):
            return None
        case = case_of(candidate, name)
        return narrowed(case, self.element) if case and self.element else case

    def round(self, index: int) -> tuple[Draft, Case] | None:
        """Returns one model, or None if it is invalid."""
        rng = random.Random(f"{self.seed}-{index}")
        candidate = draft(rng, self.pattern)
        if self.long:
            candidate = with_long_extents(rng, candidate)
        if self.dynamic:
            candidate = with_dynamic_extents(rng, candidate)
        case = self.case_of(candidate, f"{self.seed}-{index}-{candidate.op}")
        return None if case is None else (candidate, case)


def rounds(count: int, draw: Draw) -> Iterator[tuple[Draft, Case]]:
    """Yields `count` valid models, which depend on `draw` only."""
    made = index = 0
    while made < count:
        # onnxruntime and shape inference may abort the process on an unexpected model.
        drawer = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        with drawer, suppress(BrokenProcessPool):
            while made < count:
                index += 1
                drawn = drawer.submit(draw.round, index).result()
                if drawn is not None:
                    made += 1
                    yield drawn


def run(
    count: int, draw: Draw, job: Check, workers: int = 1
) -> Iterator[tuple[Draft, Case, Outcome]]:
    """Yields each round's model and outcome."""
    running: dict[str, tuple[Draft, Case]] = {}

    def jobs() -> Iterator[tuple[str, Callable[[], Outcome]]]:
        for candidate, case in rounds(count, draw):
            running[case.name] = (candidate, case)
            yield case.name, partial(job, case)

    for name, outcome in run_contained(jobs(), workers=workers):
        yield *running.pop(name), outcome


def save(case: Case, outcome: Outcome, name: str, folder: Path) -> Path:
    """Writes a model, its inputs, and its outcome."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    onnx.save(case.model, path)
    names = [value.name for value in case.model.graph.input]
    np.savez(path.with_suffix(".npz"), **dict(zip(names, case.inputs, strict=True)))
    path.with_suffix(".txt").write_text(f"{outcome.kind}: {outcome.detail}\n")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", type=int, default=2, help="models at a time")
    parser.add_argument("--ops", default="", help="only operators whose name matches")
    parser.add_argument("--device", default="cpu", help="or emulator:ARCHITECTURE")
    parser.add_argument("--dynamic", action="store_true", help="make extents symbolic")
    parser.add_argument("--long", action="store_true", help="lengthen extents")
    parser.add_argument(
        "--element", choices=sorted(ELEMENTS), default="", help="type to give to f32 tensors"
    )
    parser.add_argument("--rewrites", action="store_true", help="evaluate what is rewritten only")
    parser.add_argument("--failures", type=Path, default=Path("build/differential"))
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    job = check_rewrites if options.rewrites else partial(check, device=options.device)
    counts: Counter[str] = Counter()
    draw = Draw(options.seed, options.ops, options.dynamic, options.long, options.element)
    for candidate, case, outcome in run(options.rounds, draw, job, options.j):
        counts[outcome.kind] += 1
        if outcome.kind in OUTCOMES[2:]:
            least = draw.case_of(minimised(candidate, outcome.kind, job, draw), case.name) or case
            path = save(least, outcome, case.name, options.failures)
            print(f"{outcome.kind}: {path}: {outcome.detail}", flush=True)
    print(", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES))
    return int(any(counts[kind] for kind in OUTCOMES[2:]))


if __name__ == "__main__":
    sys.exit(main())

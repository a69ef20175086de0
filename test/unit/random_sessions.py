"""Random settings of sessions, which run in threads and are compared with onnxruntime's provider.

    python test/unit/random_sessions.py ROUNDS SEED

A round draws a model, settings of the session and options of the provider, then makes one session
or several, and runs them in threads in a drawn way. It prints what it has drawn, so that the last
line before a crash is its round. The user's folders are those of the environment.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime_models import (
    Arrays,
    branch_model,
    drawn_inputs,
    function_model,
    growing_model,
    loop_model,
    model_of_all_kinds,
    models_of_views,
    references,
    rows_model,
    scan_model,
    small_model,
    volume_model,
)

from hipgraft.onnxruntime import PROVIDER, register

_LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
_ENTRIES = (
    ("session.disable_prepacking", "1"),
    ("session.intra_op.allow_spinning", "0"),
    ("session.use_device_allocator_for_initializers", "1"),
    ("session.use_env_allocators", "1"),
)


@dataclass(frozen=True)
class Subject:
    """A model with inputs for some runs.

    Attributes:
        name: name in messages.
        model: the model.
        inputs: inputs of runs.
        dims: the option `dims` for these inputs; empty if the model has no symbolic dimensions.
        is_whole: whether the provider takes all nodes.
    """

    name: str
    model: bytes
    inputs: Sequence[Arrays]
    dims: str = ""
    is_whole: bool = False


def subjects() -> list[Subject]:
    """Returns the models."""
    rows, kinds = rows_model(), model_of_all_kinds()
    loop, first = loop_model()
    branch, flags = branch_model()
    anywhere, function = function_model()
    growing, state = growing_model()
    at = [drawn_inputs(rows, n=n, m=m) for n, m in ((2, 3), (1, 1), (3, 5))]
    both = [{**flags, "first": np.array(one), "second": np.array(not one)} for one in (True, False)]
    some = [{**first, "rounds": np.array(number)} for number in (4, 1, 0)]
    return [
        Subject("small", small_model()[0], [small_model()[1]], is_whole=True),
        Subject("all kinds", kinds[0], [kinds[1], {**kinds[1], "flag": np.array(False)}], "rows=4"),
        *(Subject("views", model, [inputs]) for model, inputs in models_of_views()),
        Subject("rows", rows, at, "n=1,2,3;m=1,3,5", is_whole=True),
        Subject("loop", loop, some),
        Subject("scan", scan_model()[0], [scan_model()[1]]),
        Subject("branch", branch, both),
        Subject("volume", volume_model()[0], [volume_model()[1]]),
        Subject("function", anywhere, [function], "n=2;m=5"),
        Subject("growing", growing, [state, {**state, "rounds": np.array(0)}]),
    ]


@dataclass
class Round:
    """The random settings of one round.

    Attributes:
        level: level of the graph optimization.
        is_parallel: whether nodes may run in parallel.
        flags: `enable_*` attributes of the session's options.
        threads: numbers of threads inside of an operator and of operators.
        entries: configuration entries.
        options: the provider's.
        context: `none`, `0` if a compiled model is loaded whose bundles are files, or `1` if they
            are in it.
        by_device: whether the provider is given as a device.
        by_path: whether the model is a file.
        sessions: number of sessions.
        users: number of threads that run them.
        how: ways to run, one for each thread.
        cached: whether the last session must not ask the helper.
        others: number of sessions that are made and dropped while the threads run.
    """

    level: str
    is_parallel: bool
    flags: dict[str, bool]
    threads: tuple[int, int]
    entries: dict[str, str]
    options: dict[str, str]
    context: str
    by_device: bool
    by_path: bool
    sessions: int
    users: int
    how: list[str] = field(default_factory=list)
    cached: bool = False
    others: int = 0


def draw(rng: random.Random, subject: Subject) -> Round:
    """Draws a round."""
    options: dict[str, str] = {}
    if rng.random() < 0.25:
        options["fallback"] = rng.choice(("node", "error"))
    if rng.random() < 0.3:
        options["search"] = rng.choice(("none", "default"))
    if subject.dims and rng.random() < 0.4:
        options["dims"] = subject.dims
    if subject.dims and rng.random() < 0.3:
        options["dynamic"] = rng.choice(("error", "compile"))
    users = rng.choice((1, 1, 2, 4, 8))
    return Round(
        level=rng.choice(_LEVELS),
        is_parallel=rng.random() < 0.3,
        flags={
            f"enable_{name}": rng.random() < 0.6
            for name in ("mem_pattern", "cpu_mem_arena", "mem_reuse")
        },
        threads=(rng.choice((0, 1, 2, 3)), rng.choice((0, 1, 2))),
        entries=dict(one for one in _ENTRIES if rng.random() < 0.2),
        options=options,
        context=rng.choice(("none", "none", "0", "1")),
        by_device=rng.random() < 0.5,
        by_path=rng.random() < 0.5,
        sessions=rng.choice((1, 1, 2, 4)),
        users=users,
        how=[rng.choice(list(WAYS)) for _ in range(users)],
        cached=rng.random() < 0.3 and options.get("dynamic") != "compile",
        others=rng.choice((0, 0, 1, 3)),
    )


def _settings(drawn: Round, entries: dict[str, str]) -> Any:
    settings: Any = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.graph_optimization_level = getattr(ort.GraphOptimizationLevel, drawn.level)
    mode = "ORT_PARALLEL" if drawn.is_parallel else "ORT_SEQUENTIAL"
    settings.execution_mode = getattr(ort.ExecutionMode, mode)
    for name, value in drawn.flags.items():
        setattr(settings, name, value)
    settings.intra_op_num_threads, settings.inter_op_num_threads = drawn.threads
    for key, value in (drawn.entries | entries).items():
        settings.add_session_config_entry(key, value)
    return settings


def _make(
    drawn: Round, model: Any, options: dict[str, str], entries: dict[str, str] | None = None
) -> Any:
    settings = _settings(drawn, entries or {})
    if not drawn.by_device:
        providers = [(PROVIDER, options), "CPUExecutionProvider"]
        return ort.InferenceSession(model, settings, providers=providers)
    (device,) = (
        one
        for one in ort.get_ep_devices()
        if one.ep_name == PROVIDER and one.ep_metadata["architecture"] == "cpu"
    )
    settings.add_provider_for_devices([device], options)
    return ort.InferenceSession(model, settings)


def _sessions(drawn: Round, subject: Subject, folder: Path) -> tuple[list[Any], Callable[[], Any]]:
    """Makes the sessions in as many threads; returns them, and a function that makes one more."""
    model: Any = subject.model
    if drawn.by_path or drawn.context != "none":
        (folder / "model.onnx").write_bytes(model)
        model = str(folder / "model.onnx")
    options = drawn.options
    if drawn.context != "none":
        compiled = str(folder / "compiled.onnx")
        entries = {
            "ep.context_enable": "1",
            "ep.context_file_path": compiled,
            "ep.context_embed_mode": drawn.context,
        }
        _make(drawn, model, options, entries)
        # A model without nodes of the provider is not written.
        model = compiled if Path(compiled).exists() else model

    def more() -> Any:
        return _make(drawn, model, options)

    with ThreadPoolExecutor(drawn.sessions) as pool:
        made = list(pool.map(lambda _: more(), range(drawn.sessions)))
    if drawn.cached:
        made.append(_make(drawn, model, {**options, "serve": "off"}))
    return made, more


def _plain(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    return made.run(None, inputs)


def _one_by_one(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    settings: Any = ort.RunOptions()
    settings.only_execute_path_to_fetches = True
    return [made.run([name], inputs, settings)[0] for name in names]


def _shrinking(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    settings: Any = ort.RunOptions()
    settings.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    try:
        return made.run(None, inputs, settings)
    except Exception as error:
        if "arena" not in str(error):  # the session may have none
            raise
        return made.run(None, inputs)


def _values(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    given = {name: ort.OrtValue.ortvalue_from_numpy(one) for name, one in inputs.items()}
    return [one.numpy() for one in made.run_with_ort_values(None, given)]


def _bound(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    """Binds inputs, and lets onnxruntime allocate the results."""
    binding = made.io_binding()
    for name, one in inputs.items():
        binding.bind_cpu_input(name, one)
    for name in names:
        binding.bind_output(name)
    made.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def _bound_to_arrays(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    """Binds results to arrays that an earlier run has sized; the second run overwrites them."""
    sized = made.run(None, inputs)
    if any(not isinstance(one, np.ndarray) or one.dtype == object for one in sized):
        return sized
    found = [np.full_like(one, 7) for one in sized]
    binding = made.io_binding()
    for name, one in inputs.items():
        binding.bind_cpu_input(name, one)
    for name, one in zip(names, found, strict=True):
        value = ort.OrtValue.ortvalue_from_numpy(one)
        binding.bind_ortvalue_output(name, value)
    for _ in range(2):
        made.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def _later(made: Any, inputs: Arrays, names: Sequence[str]) -> list[Any]:
    done, kept = Event(), []

    def take(results: Any, _: Any, error: str) -> None:
        kept.append((results, error))
        done.set()

    made.run_async(None, inputs, take, None)
    assert done.wait(120), "the run does not end"
    ((results, error),) = kept
    if error:
        raise RuntimeError(error)
    return results


WAYS: dict[str, Callable[[Any, Arrays, Sequence[str]], list[Any]]] = {
    "run": _plain,
    "run of one result": _one_by_one,
    "run that shrinks the arena": _shrinking,
    "run_with_ort_values": _values,
    "run_async": _later,
    "io_binding": _bound,
    "io_binding to arrays": _bound_to_arrays,
}


def play(drawn: Round, subject: Subject, folder: Path) -> None:
    """Plays a round.

    Raises:
        AssertionError: results differ from those of onnxruntime's provider.
        Exception: a session or a run fails.
    """
    expected = [references(subject.model, inputs) for inputs in subject.inputs]
    try:
        made, more = _sessions(drawn, subject, folder)
    except Exception as error:
        is_allowed = drawn.options.get("fallback") == "error" and not subject.is_whole
        if is_allowed and "hipgraft" in str(error).lower():
            return
        raise

    def use(user: int) -> None:
        session = made[user % len(made)]
        names = [one.name for one in session.get_outputs()]
        # `run_async` needs a pool of threads.
        way = drawn.how[user] if drawn.threads[0] != 1 else drawn.how[user].replace("_async", "")
        for turn in range(6):
            number = (user + turn) % len(expected)
            found = WAYS[way](session, subject.inputs[number], names)
            for one, want in zip(found, expected[number], strict=True):
                assert (one.shape, one.dtype) == (want.shape, want.dtype)
                np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-4)

    with ThreadPoolExecutor(drawn.users) as pool:
        runs = [pool.submit(use, user) for user in range(drawn.users)]
        for _ in range(drawn.others):
            more()
        for run in runs:
            run.result()


def main(rounds: int, seed: int) -> None:
    """Plays rounds; the first failure ends the process."""
    register()
    known = subjects()
    for number in range(rounds):
        rng = random.Random(f"{seed} {number}")
        subject = rng.choice(known)
        drawn = draw(rng, subject)
        print(f"{number}: {subject.name}, {drawn}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            play(drawn, subject, Path(folder))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

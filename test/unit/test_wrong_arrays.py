"""Every runtime reports arrays that do not fit a program alike, and still runs afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_models import attend_inputs, save_attend

from hipgraft.compiler.program import Program, compile
from hipgraft.host.jit import Jit
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.boundary import DeviceArray
from hipgraft.runtime.bundle import Bundle
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.session import Session

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
WAYS = ("session", "program", "bundle", "interpreter", "jit")
Run = Callable[..., list[Any]]


class Loaded:
    """A program on a device of host memory, loaded by each way to run it."""

    def __init__(self, directory: Path, resources: ExitStack):
        self.device = NullDevice("gfx942")
        program: Program = resources.enter_context(compile(MODEL, "gfx942"))
        program.save_bundle(directory / "model.hgb")
        bundle = resources.enter_context(Bundle(directory / "model.hgb"))
        recording = program.recording("gfx942")
        self.ways: dict[str, Run] = {
            "session": resources.enter_context(Session(recording, self.device)).run,
            "program": lambda inputs, *rest: program.run(inputs, self.device, *rest),
            "bundle": lambda inputs, *rest: bundle.run(inputs, self.device, *rest),
            "interpreter": resources.enter_context(Executor(program.module, self.device)).run,
            "jit": resources.enter_context(Jit(program.module, self.device)).run,
        }
        self.x, *self.rest = [np.zeros(one.shape, np.float16) for one in recording.inputs]
        (self.y,) = [np.zeros(one.shape, np.float16) for one in recording.results]
        for run in self.ways.values():
            run([self.x, *self.rest])


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    with ExitStack() as resources:
        one = Loaded(tmp_path_factory.mktemp("model"), resources)
        yield one
    assert not one.device._allocations


def read_only(array: np.ndarray) -> np.ndarray:
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen


WRONG_INPUTS: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "dtype": (lambda x: x.astype(np.float64), r"input #0 has .* float64; expected .* float16"),
    "bits": (lambda x: x.view(np.int16), r"input #0 has .* int16; expected .* float16"),
    "bytes swapped": (lambda x: x.astype(">f2"), r"input #0 has .* >f2; expected .* float16"),
    "objects": (lambda x: x.astype(object), r"input #0 has .* object; expected .* float16"),
    "shape": (lambda x: x[..., 1:], r"input #0 has shape \[1, 4, 8, 7\]"),
    "rank": (lambda x: x[0], r"input #0 has shape \[4, 8, 8\]"),
    "none": (lambda x: None, "input #0 is a 'NoneType'; expected an array"),
    "text": (lambda x: "x", "input #0 is a 'str'; expected an array"),
    "device": (lambda x: DeviceArray.upload(NullDevice("gfx942"), x), "is on another device"),
}


@pytest.mark.parametrize("case", WRONG_INPUTS)
@pytest.mark.parametrize("way", WAYS)
def test_wrong_inputs(loaded: Loaded, way: str, case: str) -> None:
    spoil, message = WRONG_INPUTS[case]
    run, live = loaded.ways[way], len(loaded.device._allocations)
    with pytest.raises(HipgraftError, match=message):
        run([spoil(loaded.x), *loaded.rest])
    assert len(loaded.device._allocations) == live
    run([loaded.x, *loaded.rest])


@pytest.mark.parametrize("way", WAYS)
def test_wrong_number_of_inputs(loaded: Loaded, way: str) -> None:
    for inputs in ([], [loaded.x], [loaded.x, *loaded.rest, loaded.x]):
        message = f"the program has 3 inputs, but {len(inputs)} were given"
        with pytest.raises(HipgraftError, match=message):
            loaded.ways[way](inputs)


@pytest.mark.parametrize("way", WAYS)
def test_inputs_that_only_lie_otherwise(loaded: Loaded, way: str) -> None:
    run, x = loaded.ways[way], loaded.x
    resident = DeviceArray.upload(loaded.device, x)
    for one in (np.asfortranarray(x), x[..., ::-1], read_only(x), resident):
        assert run([one, *loaded.rest])[0].shape == loaded.y.shape
    resident.close()


@pytest.mark.parametrize("way", ["session", "program", "bundle"])
def test_wrong_outputs(loaded: Loaded, way: str) -> None:
    y = loaded.y
    cases: list[tuple[Any, str]] = [
        (read_only(y), "output #0 is read-only"),
        (np.broadcast_to(np.float16(0), y.shape), "output #0 is read-only"),
        (np.asfortranarray(y), r"output #0 has strides \[.*\] in bytes; expected row-major"),
        (y.astype(np.float32), r"output #0 has .* float32; expected .* float16"),
        (y[..., 1:], r"output #0 has shape \[1, 8, 8, 7\]"),
        (None, "output #0 is a 'NoneType'; expected an array"),
    ]
    for output, message in cases:
        with pytest.raises(HipgraftError, match=message):
            loaded.ways[way]([loaded.x, *loaded.rest], [output])
    assert loaded.ways[way]([loaded.x, *loaded.rest], [y])[0] is y


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Executor, Jit])
def test_element_types_of_dynamic_shapes(kind: Any, tmp_path: Path) -> None:
    program = compile(save_attend(tmp_path / "model.onnx"), "gfx942")
    x, mask = attend_inputs(2, 5)
    device = NullDevice("gfx942")
    with kind(program.module, device) as loaded:
        with pytest.raises(HipgraftError, match=r"input #0 has .* float64; expected .* float32"):
            loaded.run([x.astype(np.float64), mask])
        loaded.run([x, mask])
    assert not device._allocations

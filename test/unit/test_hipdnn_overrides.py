"""Shapes and strides that hipDNN gives at run time: each has its own program, or a reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator
from hipdnn_graphs import graph, node, pointwise, tensor, uids
from hipdnn_host import fnv1a, in_memory
from hipdnn_play import BIN, HOST, environment, play
from served import user_in

from hipgraft import hipdnn_io
from hipgraft.compiler.plan import compile_plan
from hipgraft.hipdnn_io import GraphDocument, import_document
from hipgraft.hipdnn_io.engine_tables import EngineConfig, KnobSetting
from hipgraft.hipdnn_io.overrides import Override, overridden, overrides_text, parse_overrides
from hipgraft.hipdnn_io.plan_payload import Overridable, Payload, decode_payload, encode_payload
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.native import plugin_path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Creates a user's folders with a separate helper, which ends afterwards."""
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def read(nodes: list[Any], tensors: list[Any], **fields: Any) -> GraphDocument:
    return hipdnn_io.read_json(json.dumps(graph(nodes, tensors, **fields)))


def product_relu(**fields: Any) -> GraphDocument:
    """`relu(a @ b)`, where the product is virtual."""
    return read(
        [
            node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3)),
            pointwise("relu_fwd", 3, out=4),
        ],
        [
            tensor(1, [1, 9, 16]),
            tensor(2, [1, 16, 24]),
            tensor(3, [1, 9, 24], virtual=True),
            tensor(4, [1, 9, 24]),
        ],
        **fields,
    )


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[2])
from hipdnn_host import *
job = json.load(sys.stdin)
plugin, hip = Plugin(sys.argv[1]), Hip()
handle = Handle(plugin)
handle.set_stream(hip.stream())
if "restore" in job:
    payload = open(job["restore"], "rb").read()
    context = handle.restore(payload)
    assert context.serialize() == payload
else:
    graph = open(job["graph"], "rb").read()
    assert handle.applicable(graph)
    context = handle.build(bytes.fromhex(job["config"]), graph)
    open(job["save"], "wb").write(context.serialize())
inputs = np.load(job["inputs"])
answers = []
for run in job["runs"]:
    pointers = {int(uid): hip.upload(inputs[name]) for uid, name in run["inputs"].items()}
    pointers[4] = hip.upload(np.full(run["size"], 255, np.uint8))
    overrides = {int(uid): one for uid, one in run["overrides"].items()}
    try:
        context.execute_with(hip.allocate(context.workspace_size), pointers, overrides)
        hip.call("hipDeviceSynchronize")
        answers.append(["SUCCESS", hip.download(pointers[4], run["size"]).tobytes().hex()])
    except PluginError as error:
        answers.append([error.status, error.text])
context.destroy()
handle.destroy()
print(json.dumps([answers, plugin.logged]))
"""


class Runs:
    """Executions of `product_relu` with other row counts and layouts."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.runs: list[dict[str, Any]] = []
        self.expected: list[Any] = []
        self.inputs: dict[str, Any] = {}
        self.logged: list[str] = []

    def add(self, rows: int, *, b_strides: tuple[int, ...] = (384, 24, 1)) -> None:
        draw = np.random.default_rng(rows)
        a = draw.uniform(-1, 1, (1, rows, 16)).astype(np.float32)
        b = draw.uniform(-1, 1, (1, 16, 24)).astype(np.float32)
        at = str(len(self.runs))
        self.inputs |= {f"a{at}": in_memory(a, (16 * rows, 16, 1))}
        self.inputs |= {f"b{at}": in_memory(b, b_strides)}
        overrides = {
            4: ([1, rows, 24], [24 * rows, 24, 1]),
            2: ([1, 16, 24], list(b_strides)),
            1: ([1, rows, 16], [16 * rows, 16, 1]),
        }
        names = {1: f"a{at}", 2: f"b{at}"}
        self.runs.append({"inputs": names, "size": 4 * rows * 24, "overrides": overrides})
        self.expected.append(np.maximum(a.astype(np.float64) @ b, 0))

    @property
    def plan(self) -> Path:
        """The file of the plan that `play` saved last."""
        return self.folder / "saved.plan"

    def play(self, home: Path, *, compiles: int = 1, restores: bool = False, **others: str) -> Any:
        """Executes in a new process with the graph, or with the plan that was saved last."""
        file = self.folder / "graph.fb"
        document = product_relu(is_override_shape_enabled=True)
        file.write_bytes(hipdnn_io.write_flatbuffer(document))
        np.savez(self.folder / "inputs.npz", allow_pickle=False, **self.inputs)
        knob = KnobSetting("hipgraft.overrides.compile", compiles)
        job = {
            "graph": str(file),
            "config": EngineConfig(fnv1a("HIPGRAFT_ENGINE"), [knob]).to_bytes().hex(),
            "inputs": str(self.folder / "inputs.npz"),
            "runs": self.runs,
            ("restore" if restores else "save"): str(self.plan),
        }
        command = [BIN / "hipgraft-emulate", "--", sys.executable, "-c", SCRIPT]
        done = subprocess.run(
            [*command, plugin_path(), HOST.parent],
            input=json.dumps(job),
            env=environment(home, **others),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers, self.logged = json.loads(done.stdout)
        return answers

    def check(self, answers: Any) -> None:
        for (status, text), expected in zip(answers, self.expected, strict=True):
            assert status == "SUCCESS", text
            found = np.frombuffer(bytes.fromhex(text), np.float32).reshape(expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@requires_emulator
@pytest.mark.slow
def test_other_shapes_and_strides_have_programs_of_their_own(home: Path, tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    runs.add(9)
    runs.add(5)
    runs.add(9, b_strides=(384, 1, 16))
    runs.add(5)
    runs.check(runs.play(home))
    # A process that may not compile finds them in the cache.
    runs.check(runs.play(home, compiles=0, HIPGRAFT_SERVE="off"))
    runs.add(3)
    *known, (status, text) = runs.play(home, compiles=0)
    assert [one[0] for one in known] == ["SUCCESS"] * 4
    assert (status, text) == ("NOT_APPLICABLE", "nobody has compiled the graph for these shapes")


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_restored_plans_take_other_shapes(home: Path, tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    runs.add(9)
    runs.check(runs.play(home))
    runs.add(6)
    runs.add(9, b_strides=(384, 1, 16))
    # Kernels come from the helper, then from the cache that it filled.
    runs.check(runs.play(home, restores=True))
    runs.check(runs.play(home, restores=True, HIPGRAFT_SERVE="off"))
    # Without helper and cache, only the plan's own shapes run.
    empty = tmp_path / "empty"
    answers = runs.play(empty, restores=True, HIPGRAFT_SERVE="off")
    assert answers[0][0] == "SUCCESS"
    refusal = ["NOT_APPLICABLE", "the graph is not in the cache, and HIPGRAFT_SERVE is off"]
    assert answers[1:] == [refusal] * 2
    # The knob is part of the plan.
    runs.add(7)
    runs.play(home, compiles=0)
    *known, last = runs.play(home, restores=True)
    assert [one[0] for one in known] == ["SUCCESS"] * 3
    assert last == ["NOT_APPLICABLE", "nobody has compiled the graph for these shapes"]


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_plans_without_a_device_take_other_shapes(home: Path, tmp_path: Path) -> None:
    """`hipgraft-compile` writes them; hipDNN passes the payload to the plugin."""
    runs = Runs(tmp_path)
    for rows in (9, 4):
        runs.add(rows)
    source = tmp_path / "graph.json"
    source.write_text(hipdnn_io.write_json(product_relu(is_override_shape_enabled=True)))
    plan = compile_plan(source, "gfx942")
    assert plan.is_override_shape_enabled
    runs.plan.write_bytes(plan.plugin_payload)
    runs.check(runs.play(home, restores=True))
    source.write_text(hipdnn_io.write_json(product_relu()))
    plan = compile_plan(source, "gfx942")
    assert not plan.is_override_shape_enabled
    runs.plan.write_bytes(plan.plugin_payload)
    own, (status, text) = runs.play(home, restores=True)
    assert (own[0], status) == ("SUCCESS", "NOT_APPLICABLE")
    assert text == "the plan has other shapes, and its graph does not allow overrides"


@requires_emulator
@pytest.mark.slow
def test_parts_of_plans_that_are_damaged_are_told(home: Path, tmp_path: Path) -> None:
    """Their digests are right, so that the plugin reads them."""
    runs = Runs(tmp_path)
    runs.play(home)
    whole = decode_payload(runs.plan.read_bytes())
    assert whole.overridable is not None
    graph = whole.overridable.graph
    assert graph == (tmp_path / "graph.fb").read_bytes()
    fixed = hipdnn_io.write_flatbuffer(product_relu())
    settings = "the payload's settings are damaged"
    overrides = "the payload's graph is none that allows overrides"
    cases = [
        (Overridable(graph, ";search=full;plan=hipdnn.sdpa=padded"), ""),
        (Overridable(graph, ";plan=hipdnn.sdpa=padded;search=full"), settings),
        (Overridable(graph, ";search=full;search=full"), settings),
        (Overridable(graph, ";overrides=8"), settings),
        (Overridable(graph, ";search="), settings),
        (Overridable(graph, ";search=a b"), settings),
        (Overridable(graph, "search=full"), settings),
        (Overridable(graph[:16]), overrides),
        (Overridable(fixed), overrides),
        (Overridable(b"x"), overrides),
    ]
    paths = [tmp_path / f"{number}.plan" for number in range(len(cases))]
    for path, (overridable, _) in zip(paths, cases, strict=True):
        path.write_bytes(encode_payload(Payload(whole.bundle, overridable)))
    answers = play(home, *({"restore": str(path)} for path in paths), HIPGRAFT_SERVE="off")
    for answer, (overridable, text) in zip(answers, cases, strict=True):
        expected = ("INVALID_VALUE", text) if text else (None, None)
        assert (answer.get("error"), answer.get("text")) == expected, overridable.settings


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_programs_used_last_are_kept(home: Path, tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    for rows in (5, 3, 5, 7, 5, 3):
        runs.add(rows)
    runs.check(runs.play(home, HIPGRAFT_PLUGIN_PROGRAMS="2"))
    text = "unloaded the program for the shapes 1:1,"
    assert [line.split(text)[1].split(",")[0] for line in runs.logged if text in line] == ["3", "7"]


@requires_emulator
@pytest.mark.slow
def test_overrides_that_cannot_be_are_told(home: Path, tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    one = ([1, 5, 16], [80, 16, 1])
    cases: list[tuple[dict[int, Any], str, str]] = [
        ({1: one}, "NOT_APPLICABLE", "expected"),  # but the result still has 9 rows
        ({3: ([1, 5, 24], [120, 24, 1])}, "BAD_PARAM", "there is no tensor 3 to override"),
        ({1: ([5, 16], [16, 1])}, "BAD_PARAM", "tensor 1 has 3 dimensions, and the override 2"),
        ({1: ([1, 0, 16], one[1])}, "BAD_PARAM", "tensor 1 cannot have extent 0 with stride 16"),
        ({1: (one[0], [80, -16, 1])}, "BAD_PARAM", "tensor 1 cannot have extent 5 with stride -16"),
    ]
    for overrides, _, _ in cases:
        runs.add(9)
        runs.runs[-1]["overrides"] = overrides
    for answer, (_, status, text) in zip(runs.play(home), cases, strict=True):
        assert answer[0] == status, answer
        assert text in answer[1]


def test_virtual_tensors_follow() -> None:
    """Also a reduction's, whose axes are those that were reduced in the graph."""
    document = read(
        [
            pointwise("abs", 1, out=2),
            node("ReductionAttributes", inputs=uids(in_=2), outputs=uids(out=3), mode="ADD"),
            pointwise("mul", 3, 1, out=4),
        ],
        [
            tensor(1, [4, 6, 5]),
            tensor(2, [4, 6, 5], virtual=True),
            tensor(3, [4, 1, 5], virtual=True),
            tensor(4, [4, 6, 5]),
        ],
    )
    changed = [Override(uid, (2, 8, 3), (24, 3, 1)) for uid in (1, 4)]
    assert parse_overrides(overrides_text(changed)) == [
        Override(one.uid, list(one.dims), list(one.strides)) for one in changed
    ]
    text = str(import_document(overridden(document, changed)))
    assert text.count("tensor<2x8x3xf32>") > 4
    assert "tensor<2x1x3xf32>" in text
    assert "tensor<4x" not in text
    assert document.tensors[0].dims == [4, 6, 5]


REFUSED = [
    ([Override(9, (1,), (1,))], "there is no tensor with uid 9 to override"),
    ([Override(3, (1, 5, 24), (120, 24, 1))], "is virtual, so that nobody can override it"),
    ([Override(1, (5, 16), (16, 1))], "expected an override of 3 extents, but found 2"),
    ([Override(1, (1, 5, 16), (80, 16, 1))], r"expected .*5x24.*found .*9x24"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=[text for _, text in REFUSED])
def test_wrong_overrides_are_errors(overrides: list[Override], message: str) -> None:
    with pytest.raises(HipgraftError, match=message):
        import_document(overridden(product_relu(), overrides))


@pytest.mark.parametrize("text", ["x", "1:2", "1:2:", "1:2,:3", "-1:2:3", "1:2:3:4"])
def test_malformed_overrides_are_errors(text: str) -> None:
    with pytest.raises(HipgraftError, match="expected an override UID:DIMS:STRIDES"):
        parse_overrides(text)

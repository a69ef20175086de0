"""Graphs that hipDNN publishes: they round-trip, and compute the function that their name says.

The files are of ROCm/rocm-libraries: its samples and test bundles, under the MIT licence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from oracle.tensors import Array, conv

from hipgraft import hipdnn_io
from hipgraft.compiler.plan import compile_plan
from hipgraft.compiler.program import compile
from hipgraft.hipdnn_io.files import read_file
from hipgraft.runtime.plan import open_payload

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "hipdnn"
SAME = {"pre": [1, 1], "post": [1, 1], "stride": [1, 1], "dilation": [1, 1]}

# By file, a function from the file's inputs by name to its result.
MEANINGS: dict[str, Callable[[dict[str, Array]], Array]] = {
    "PointwiseAddScalar": lambda of: of["in0"] + 2,
    "batchnorm_inference": lambda of: (
        (of["x"] - of["mean"]) * of["inv_variance"] * of["scale"] + of["bias"]
    ),
    "sample_conv_fwd": lambda of: conv(of["x"], of["w"], **SAME),
    "sample_matmul": lambda of: of["A"] @ of["B"],
}


def test_each_file_has_a_meaning():
    assert {path.stem for path in FOLDER.glob("*.json")} == MEANINGS.keys()


@pytest.mark.parametrize("name", MEANINGS)
def test_file_comes_back_as_it_was(name: str):
    path = FOLDER / f"{name}.json"
    document = read_file(path)
    module = hipdnn_io.import_document(document)
    assert not document.warnings
    exported = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
    assert json.loads(hipdnn_io.write_json(exported)) == json.loads(path.read_text())


@pytest.mark.parametrize("name", MEANINGS)
def test_file_computes_its_meaning(name: str):
    path = FOLDER / f"{name}.json"
    written = {uid for node in read_file(path).nodes for uid in [node_result(node.fields)]}
    given = [
        one for one in read_file(path).tensors if one.uid not in written and not one.value_type
    ]
    random = np.random.default_rng(5)
    values = {one.name: random.uniform(-1, 1, one.dims).astype(np.float32) for one in given}
    expected = MEANINGS[name]({key: one.astype(np.float64) for key, one in values.items()})
    (found,) = compile(path, "cpu").run(list(values.values()))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def node_result(fields: dict[str, object]) -> object:
    """The uid of the only result of a node."""
    keys = ("y_tensor_uid", "c_tensor_uid", "out_0_tensor_uid")
    return next(fields[key] for key in keys if key in fields)


@pytest.mark.parametrize("name", MEANINGS)
def test_file_becomes_a_plan(name: str):
    """The caller passes each tensor that has no value."""
    path = FOLDER / f"{name}.json"
    plan = compile_plan(path, "gfx942")
    uids = [one.uid for one in read_file(path).tensors if not one.value_type]
    assert sorted(plan.tensor_uids) == sorted(uids)
    bundle, metadata = open_payload(plan.plugin_payload, "gfx942")
    bundle.close()
    assert [*metadata.inputs, *metadata.results] == list(plan.tensor_uids)

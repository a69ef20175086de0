"""Graphs and calls that the plugin must refuse before they corrupt memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from emulator import requires_emulator
from hipdnn_graphs import Json, graph, node, pointwise, tensor, uids
from hipdnn_play import BIN, HOST, Prepared, environment
from served import user_in
from test_hipdnn_plugin import scaled

from hipgraft import hipdnn_io
from hipgraft.helper.plans import Plan
from hipgraft.native import plugin_path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Creates a user's folders with a separate helper, which ends afterwards."""
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def absolute(*tensors: Json) -> Json:
    return graph([pointwise("abs", 1, out=2)], list(tensors))


def outer_product(size: int) -> Json:
    """Returns a graph that sums a virtual `size` by `size` tensor to a small result."""
    return graph(
        [
            node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3)),
            node("ReductionAttributes", inputs=uids(in_=3), outputs=uids(out=4), mode="ADD"),
        ],
        [
            tensor(1, [1, size, 1]),
            tensor(2, [1, 1, size]),
            tensor(3, [1, size, size], virtual=True),
            tensor(4, [1, 1, 1]),
        ],
    )


HUGE = "takes more than 2^48 bytes"
OUT_OF_RANGE = {
    "extents": (absolute(*(tensor(uid, [1 << 32, 1 << 32]) for uid in (1, 2))), HUGE),
    "strides": (
        absolute(*(tensor(uid, [4, 4], strides=[1 << 62, 1]) for uid in (1, 2))),
        f"tensor 't1' {HUGE}",
    ),
    "virtual": (outer_product(1 << 30), f"'tensor<1x{1 << 30}x{1 << 30}xf32>' {HUGE}"),
    "no alignment": (absolute(tensor(1, [8], alignment=0), tensor(2, [8])), "has alignment 0"),
    "negative alignment": (
        absolute(tensor(1, [8]), tensor(2, [8], alignment=-16)),
        "alignment -16",
    ),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_numbers_out_of_range_are_not_claimed(name: str) -> None:
    source, reason = OUT_OF_RANGE[name]
    data = hipdnn_io.write_flatbuffer(hipdnn_io.read_json(json.dumps(source)))
    assert reason in (Plan(data, "gfx942").check() or "")


MISALIGNED = """
import sys
sys.path.insert(0, sys.argv[2])
from hipdnn_host import *
plugin, hip = Plugin(sys.argv[1]), Hip()
handle = Handle(plugin)
context = handle.build(engine_config(plugin.engines[0]), open(sys.argv[3], "rb").read())
workspace = hip.upload(np.full(context.workspace_size + 16, 7, np.uint8))
factor = np.full(1, 2.5, np.float32)
pointers = {1: hip.allocate(192), 2: factor.ctypes.data, 3: hip.allocate(192)}
for offset in (1, 4, 8):
    try:
        context.execute(workspace + offset, pointers)
        print("SUCCESS")
    except PluginError as error:
        print(error.status, error.text[:13])
hip.call("hipDeviceSynchronize")
print((hip.download(workspace, context.workspace_size + 16) == 7).all())
context.destroy()
handle.destroy()
"""


@requires_emulator
@pytest.mark.slow
def test_scalars_are_not_written_to_a_misaligned_workspace(home: Path, tmp_path: Path) -> None:
    graph = Prepared(scaled(), tmp_path).graph
    command = [BIN / "hipgraft-emulate", "--", sys.executable, "-c", MISALIGNED, plugin_path()]
    done = subprocess.run(
        [*command, HOST.parent, graph],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["BAD_PARAM the workspace"] * 3 + ["True"]

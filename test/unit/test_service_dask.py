"""Compiling on a Dask cluster of this machine: the same bytes as here."""

from __future__ import annotations

import pytest
from test_service import compiled, graph

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service import CompileService, connect_executor

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")


@pytest.mark.thorough
def test_cluster_of_four_workers_makes_the_same_bytes() -> None:
    text = "".join(graph(f"g{size}", size) for size in range(8, 72, 8))
    expected = compiled(text, CompileService())
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=2, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        with CompileService(connect_executor(address)) as service:
            assert compiled(text, service) == expected
            assert service.statistics.compiled == 8


def test_nobody_answers() -> None:
    with pytest.raises(HipgraftError, match="cannot connect to 'dask:"):
        connect_executor("dask://127.0.0.1:1", timeout=0.2)

"""A sweep on two nodes of Ray's, of which one is lost in the middle."""

from __future__ import annotations

import os
import pathlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet
import pytest

import guestright

# Nothing of this leaves the computer.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")
SPEC = {"num_cpus": 1, "object_store_memory": 80 * 1024 * 1024, "include_dashboard": False}


def start() -> Any:
    """Ray gives a node 30 s to start, of which an otherwise busy computer may need more: its own start is tried twice."""
    from ray.cluster_utils import Cluster

    try:
        return Cluster(initialize_head=True, head_node_args=SPEC)
    except Exception:
        return Cluster(initialize_head=True, head_node_args=SPEC)


@pytest.fixture
def cluster() -> Iterator[Any]:
    cluster = start()
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_a_node_that_is_lost_costs_a_retry_and_no_row(cluster: Any, tmp_path: pathlib.Path) -> None:
    plan = guestright.plan("checks/bianchi", quick=True)
    second = cluster.add_node(**{key: value for key, value in SPEC.items() if key != "include_dashboard"})
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    lost = threading.Event()
    before = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    assert len(before) == 2

    def lose(made: int, of: int) -> None:
        # Its tasks are in the middle: more wait for each processor than were made.
        if not lost.is_set() and made * 4 >= of:
            lost.set()
            cluster.remove_node(second, allow_graceful=False)

    out = tmp_path / "rows.parquet"
    table = guestright.sweep(plan, address=cluster.address, out=str(out), progress=lose, task_seconds=0.2)
    assert lost.is_set()
    while sum(node["Alive"] for node in ray.nodes()) != 1:
        time.sleep(0.05)
    local = plan.sweep()
    assert table.to_csv() == local.to_csv()
    assert pyarrow.parquet.read_table(out).equals(pyarrow.table(local))

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
from guestright.inference import LogUniform

# Nothing of this leaves the computer.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")
SPEC = {"num_cpus": 1, "object_store_memory": 80 * 1024 * 1024, "include_dashboard": False}


CALLS = """
name = "calls"
title = "t"
question = "q"
testbed = "transports"
seeds = 1

[settings]
flows = 10
duration_s = 2

[[claim]]
id = "lost"
text = "some is lost"
of = "undelivered_rate"
at_least = 0.2
"""


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
    # On what is left of the cluster, samples are those of one computer.
    unknowns = {"first.rate_mbps": LogUniform(0.1, 1.0)}
    calls = guestright.plan(CALLS)
    there = guestright.infer(calls, unknowns, samples=24, rounds=2, ess_min=2, address=cluster.address)
    here = guestright.infer(calls, unknowns, samples=24, rounds=2, ess_min=2)
    assert [sample.outside for sample in there.samples] == [sample.outside for sample in here.samples]
    assert there.weights == here.weights and len(set(here.weights)) > 1

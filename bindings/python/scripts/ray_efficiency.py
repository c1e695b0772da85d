"""How much of the speed of two processors a sweep has on two nodes of Ray's.

    python ray_efficiency.py [--plan paper-c/2-packet-size] [--runs 40000] [--pairs 5] [--cores 0,1]

Both nodes are on this computer, each with one processor and pinned to one of the cores. Sweeps over Ray and sweeps without it,
one process on each of the same cores at the same time, take turns, so that whatever else the computer does meets both. What is
printed is a ratio, for each pair and their median: runs a second over Ray, over the sum of what the two processes made. The
start of Ray and of its workers is not in it, since it happens once; it is printed. From that ratio, and from what the driver takes
for a task without work, efficiency is reckoned for more cores (`modelled`); docs/python.md has the assumptions.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Nothing of this leaves the computer.

LOCAL = """
import json, sys, time, guestright
plan = guestright.plan(sys.argv[1], seeds=int(sys.argv[2]))
indices = list(range(int(sys.argv[3]), int(sys.argv[4]), 2))
plan.sweep(indices[:2], threads=1)
print("ready", flush=True)
sys.stdin.readline()
begin = time.monotonic()
plan.sweep(indices, threads=1)
print(json.dumps(len(indices) / (time.monotonic() - begin)), flush=True)
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", default="paper-c/2-packet-size", help="a built-in plan")
    parser.add_argument("--runs", type=int, default=40_000, help="how many runs each sweep makes")
    parser.add_argument("--pairs", type=int, default=5, help="how many sweeps over Ray, and as many without")
    parser.add_argument("--cores", default="0,1", help="the two cores")
    parser.add_argument("--task-seconds", type=float, default=10.0, help="as in guestright.sweep")
    return parser.parse_args()


def locally(plan: str, seeds: int, runs: int, cores: list[int]) -> float:
    """The sum of the speeds of two processes, in runs a second, each with every second run and on a core of its own."""
    processes = []
    for number, core in enumerate(cores):
        command = ["taskset", "-c", str(core), sys.executable, "-c", LOCAL, plan, str(seeds), str(number), str(runs)]
        processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for process in processes:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("ray_efficiency.py: a process without Ray did not start")
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in processes]
    return sum(float(json.loads(output)) for output in outputs)


def start_nodes(cores: list[int]) -> Any:
    """Two nodes, each pinned: what a node starts has the cores of the process that started it."""
    import ray
    from ray.cluster_utils import Cluster

    spec = {"num_cpus": 1, "object_store_memory": 80 * 1024 * 1024}
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cores[0]})
    cluster = Cluster(initialize_head=True, head_node_args={**spec, "include_dashboard": False})
    os.sched_setaffinity(0, {cores[1]})
    cluster.add_node(**spec)
    os.sched_setaffinity(0, everywhere)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    return cluster


def driver_seconds(tasks: int = 400) -> float:
    """What the driver takes to hand out a task without work and to get its answer."""
    import ray

    @ray.remote  # type: ignore[misc, unused-ignore]
    def nothing() -> None:
        return None

    ray.get([nothing.remote() for _ in range(8)])
    begin = time.monotonic()
    ray.get([nothing.remote() for _ in range(tasks)])
    return (time.monotonic() - begin) / tasks


def modelled(cores: int, ratio: float, driver_s: float, task_s: float, work_s: float) -> float:
    """The share of the speed of so many cores, for sweeps of `work_s` of processor time in tasks of `task_s`.

    The product of three: each task costs its core as much as here
    (`ratio`), all tasks pass through one driver, and in the end cores wait for the last tasks, half a task on average.
    """
    through_driver = min(1.0, task_s / (cores * driver_s))
    at_the_end = 1.0 / (1.0 + cores * task_s / (2.0 * work_s))
    return min(ratio, 1.0) * through_driver * at_the_end


def main() -> None:
    import guestright

    chosen = arguments()
    cores = [int(core) for core in chosen.cores.split(",")]
    if len(set(cores)) != 2:
        raise SystemExit("ray_efficiency.py: --cores wants two cores, for example 0,1")
    points = guestright.plan(chosen.plan, seeds=1).run_count
    seeds = max(1, min(1_000, round(chosen.runs / points)))
    plan = guestright.plan(chosen.plan, seeds=seeds)
    runs = plan.run_count
    print(f"{chosen.plan}: {points} points, {seeds} seeds, {runs} runs in each sweep; cores {chosen.cores}", flush=True)
    begin = time.monotonic()
    cluster = start_nodes(cores)
    print(f"Ray started in {time.monotonic() - begin:.1f} s", flush=True)
    ratios, speeds = [], []
    try:
        driver_s = driver_seconds()
        print(f"a task without work takes the driver {1e3 * driver_s:.2f} ms", flush=True)
        for pair in range(chosen.pairs):
            alone = locally(chosen.plan, seeds, runs, cores)
            begin = time.monotonic()
            guestright.sweep(plan, address=cluster.address, task_seconds=chosen.task_seconds)
            over_ray = runs / (time.monotonic() - begin)
            ratios.append(over_ray / alone)
            speeds.append(alone / len(cores))
            print(f"pair {pair + 1}: {over_ray:.1f} of {alone:.1f} runs/s, {100 * ratios[-1]:.1f} %", flush=True)
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
    work_s = 40_000 / statistics.median(speeds)
    for count in (2, 100, 1_000):
        for task_s in (1.0, chosen.task_seconds):
            share = modelled(count, statistics.median(ratios), driver_s, task_s, work_s)
            print(f"modelled, {count} cores, tasks of {task_s:g} s, {work_s:.0f} s of work: {100 * share:.1f} %")
    print(f"median {100 * statistics.median(ratios):.1f} %, {100 * min(ratios):.1f} to {100 * max(ratios):.1f} %")


if __name__ == "__main__":
    main()

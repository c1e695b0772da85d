"""Sweeps: on this computer, or on Ray's nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Optional

from ._lab import Plan, Table

Progress = Callable[[int, int], None]
"""Is called with how many runs were made, and of how many."""

TASKS_MAX = 4
"""How many tasks wait or work for each processor at a time."""


def sweep(
    plan: Plan,
    *,
    address: Optional[str] = None,
    out: Optional[str] = None,
    threads: Optional[int] = None,
    progress: Optional[Progress] = None,
    task_seconds: float = 10.0,
    retries: int = 3,
) -> Table:
    """Makes all runs of a plan.

    Without `address` on this computer, with so many `threads`. With one on the nodes of a Ray cluster ("auto", or
    "HOST:6379"), in tasks of about `task_seconds` each, on one processor each; a node that is lost costs its tasks
    another try, of which each has so many `retries`. The rows are the same either way, bit by bit.

    `out` is where the rows go as Parquet: a path, or any address that fsspec knows (``s3://…``, ``gs://…``).
    """
    if address is None:
        table = plan.sweep(threads=threads, progress=progress)
    else:
        table = _on_ray(plan, address, progress, task_seconds, retries)
    if out is not None:
        write_parquet(table, out)
    return table


def write_parquet(table: Table, out: str) -> None:
    """Writes rows as Parquet, whole or not at all where the file system can rename."""
    import fsspec
    import pyarrow
    import pyarrow.parquet

    file_system, path = fsspec.core.url_to_fs(out)
    # A bucket has no half-written objects; a disk does.
    is_disk = "file" in (file_system.protocol if isinstance(file_system.protocol, tuple) else (file_system.protocol,))
    beside = f"{path}.part" if is_disk else path
    with file_system.open(beside, "wb") as file:
        pyarrow.parquet.write_table(pyarrow.table(table), file)
    if is_disk:
        file_system.mv(beside, path)


def _make(plan: Plan, indices: list[int]) -> tuple[float, Any]:
    """A task: so many runs one after the other. Returns the seconds that it took, and the rows."""
    import pyarrow

    began = time.perf_counter()
    rows = pyarrow.table(plan.sweep(indices, threads=1))
    return time.perf_counter() - began, rows


def _on_ray(plan: Plan, address: str, progress: Optional[Progress], task_seconds: float, retries: int) -> Table:
    import ray

    from . import read_table

    is_ours = not ray.is_initialized()
    if is_ours:
        ray.init(address=address, log_to_driver=False)
    try:
        task = ray.remote(num_cpus=1, max_retries=retries)(_make).options(name=f"guestright {plan.name}")
        shared = ray.put(plan)
        # The long runs first, as on one computer: sweeps grow as a rule.
        left = list(range(plan.run_count))
        working: dict[Any, int] = {}
        parts: list[Any] = []
        made, seconds = 0, 0.0
        while left or working:
            processors = max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
            while left and len(working) < TASKS_MAX * processors:
                size = _task_size(len(left), made, seconds, task_seconds, processors)
                indices, left = left[-size:], left[:-size]
                working[task.remote(shared, indices)] = size
                if made == 0 and len(working) >= processors:
                    break  # How long a run takes is not known yet.
            finished, _ = ray.wait(list(working), num_returns=1)
            for one in finished:
                took, rows = ray.get(one)
                seconds += took
                made += working.pop(one)
                parts.append(rows)
                if progress is not None:
                    progress(made, plan.run_count)
        return read_table(plan, parts)
    finally:
        if is_ours:
            ray.shutdown()


def _task_size(left: int, made: int, seconds: float, task_seconds: float, processors: int) -> int:
    """How many runs the next task has: one until it is known how long a run takes, then as many as take so long, but at
    the end not more than leaves work for everybody.

    >>> from guestright._sweep import _task_size
    >>> _task_size(1_000, 0, 0.0, 10.0, 4)
    1
    >>> _task_size(1_000, 10, 1.0, 10.0, 4)
    100
    >>> _task_size(40, 10, 1.0, 10.0, 4)
    10
    """
    if made == 0 or seconds <= 0.0:
        return 1
    wanted = int(task_seconds * made / seconds)
    return max(1, min(wanted, -(-left // processors)))

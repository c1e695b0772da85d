"""Plans, testbeds, runs as Arrow tables."""

from __future__ import annotations

import os
import pathlib
import pickle
import signal
import threading
import time

import pyarrow
import pyarrow.parquet
import pytest

import guestright

EXPERIMENTS = pathlib.Path(__file__).parents[3] / "experiments"
SMALL = "paper-a/overhead"


def test_a_plan_has_the_name_of_its_file_or_a_path_or_is_a_text() -> None:
    path = EXPERIMENTS / f"{SMALL}.toml"
    digests = [guestright.plan(source).digest for source in (SMALL, path, str(path), path.read_text())]
    assert len(set(digests)) == 1


def test_a_mistake_has_its_line_a_caret_and_a_hint() -> None:
    text = (EXPERIMENTS / f"{SMALL}.toml").read_text().replace('testbed = "overhead"', 'testbed = "overhaed"')
    with pytest.raises(guestright.PlanError) as raised:
        guestright.plan(text)
    [(line, column, problem)] = raised.value.mistakes
    assert text.splitlines()[line - 1][column - 1 :].startswith('"overhaed"')
    assert problem == "there is no testbed `overhaed`; did you mean `overhead`?"
    assert f"the text:{line}:{column}: {problem}" in str(raised.value) and "hint: mend" in str(raised.value)


def test_what_measures_this_computer_is_the_programs_alone() -> None:
    with pytest.raises(guestright.PlanError, match="`cost`"):
        guestright.plan("paper-d/tables-04-09")


@pytest.mark.parametrize("seeds", [0, 1_001])
def test_seeds_have_limits(seeds: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 1000"):
        guestright.plan(SMALL, seeds=seeds)


def test_a_table_is_arrows_by_every_way_of_the_interface() -> None:
    table = guestright.plan("checks/bianchi", quick=True, seeds=1).sweep()
    stream, batch = pyarrow.table(table), pyarrow.record_batch(table)
    assert stream.num_rows == batch.num_rows == len(table) > 0
    assert stream.schema.equals(pyarrow.schema(table), check_metadata=True)
    assert stream.column_names == table.column_names
    for name in table.column_names:
        assert stream.column(name).to_pylist() == batch.column(name).to_pylist() == table.column(name)
    assert stream.schema.metadata[b"plan"] == b"bianchi"


def test_the_memory_of_a_table_outlives_it() -> None:
    table = guestright.plan(SMALL, quick=True).sweep()
    csv, rows = table.to_csv(), pyarrow.table(table)
    del table
    assert guestright.read_table(guestright.plan(SMALL, quick=True), rows).to_csv() == csv


def test_rows_do_not_depend_on_threads_nor_on_parts() -> None:
    plan = guestright.plan("checks/bianchi", quick=True, seeds=2)
    whole = plan.sweep(threads=1)
    assert plan.sweep(threads=4).to_csv() == whole.to_csv()
    half = plan.run_count // 2
    parts = [plan.sweep(list(range(half))), plan.sweep(list(range(half, plan.run_count)))]
    assert guestright.read_table(plan, parts[::-1]).to_csv() == whole.to_csv()
    assert plan.read_csv(whole.to_csv()).to_csv() == whole.to_csv()
    [one] = pyarrow.table(plan.run(half)).to_pylist()
    assert one == pyarrow.table(whole).to_pylist()[half]


def test_a_plan_can_be_pickled() -> None:
    plan = guestright.plan("checks/bianchi", quick=True, seeds=3)
    again = pickle.loads(pickle.dumps(plan))
    assert (again.digest, again.run_count, again.is_quick) == (plan.digest, plan.run_count, True)


def test_progress_counts_every_run_and_may_stop_it() -> None:
    plan = guestright.plan(SMALL, quick=True)
    seen: list[tuple[int, int]] = []
    plan.sweep(progress=lambda made, all: seen.append((made, all)))
    assert seen == [(made, plan.run_count) for made in range(1, plan.run_count + 1)]

    def refuse(made: int, all: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        plan.sweep(progress=refuse)


def test_ctrl_c_ends_a_sweep_long_before_its_end() -> None:
    # 2,400 runs of more than a tenth of a second each, and no Python between them that could see the signal.
    plan = guestright.plan("paper-b/latency")

    def interrupt() -> None:
        while not any(comm.read_text() == "run-0\n" for comm in pathlib.Path("/proc/self/task").glob("*/comm")):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell that starts a program in the background has it ignore the signal from the beginning.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            plan.sweep(threads=1)
    finally:
        signal.signal(signal.SIGINT, before)
    seconds = time.monotonic() - began
    one = time.monotonic()
    plan.run(0)
    # As many as the time that it took would have been, all of them would have been made in.
    assert seconds < (time.monotonic() - one) * plan.run_count


def test_python_goes_on_while_runs_are_made() -> None:
    """Another thread counts on: with Python's lock held it would stand still until the sweep is over."""
    plan = guestright.plan("checks/bianchi", quick=True, seeds=1)
    over, turns = threading.Event(), 0

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            time.sleep(0)
            turns += 1

    during: list[int] = []
    counting = threading.Thread(target=count)
    counting.start()
    plan.sweep(threads=1, progress=lambda made, all: during.append(turns))
    over.set()
    counting.join()
    assert during[-1] > during[0]


def test_what_a_run_is_can_be_read() -> None:
    plan = guestright.plan("paper-a/table-2", quick=True)
    about = plan.describe(0)
    assert about["case"] == plan.cases[0]
    settings, infos = about["settings"], {info.name for one in guestright.testbeds() for info in one.settings}
    assert isinstance(settings, dict) and set(settings) <= infos
    with pytest.raises(IndexError, match=f"has {plan.run_count}"):
        plan.run(plan.run_count)
    with pytest.raises(IndexError):
        plan.sweep([plan.run_count])


def test_a_testbed_is_run_with_settings_of_ones_own() -> None:
    bed = guestright.testbed("overhead")
    names = {metric.name for metric in bed.metrics}
    small, large = bed.run({"packet_bytes": 60}), bed.run({"packet_bytes": 1_000})
    assert set(small) == names
    assert small["wire_bytes"] is not None and large["wire_bytes"] is not None
    assert small["wire_bytes"] < large["wire_bytes"]
    with pytest.raises(guestright.SettingError, match="did you mean `packet_bytes`") as raised:
        bed.run({"packet_byte": 60})
    assert raised.value.setting == "packet_byte"
    with pytest.raises(guestright.SettingError, match="is wanted"):
        bed.run({"packet_bytes": -1})


def test_the_same_seed_gives_the_same_run() -> None:
    bed = guestright.testbed("saturation")
    assert bed.run(seed=7) == bed.run(seed=7) != bed.run(seed=8)


def test_what_was_found_is_judged_and_drawn() -> None:
    evaluation = guestright.plan("paper-b/bound", quick=True).sweep().evaluate()
    assert evaluation.is_complete
    assert "what" not in evaluation.figures
    drawn = guestright.plan("checks/bianchi", quick=True, seeds=1).sweep().evaluate()
    assert "<svg" in drawn.svg(drawn.figures[0]) and drawn.figures[0] in drawn.json()
    with pytest.raises(KeyError):
        drawn.svg("what")


def test_parquet_goes_to_a_path_and_to_any_file_system(tmp_path: pathlib.Path) -> None:
    plan = guestright.plan(SMALL, quick=True)
    table = guestright.sweep(plan, out=str(tmp_path / "rows.parquet"))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").equals(pyarrow.table(table))
    guestright.sweep(plan, out="memory://folder/rows.parquet")
    import fsspec

    with fsspec.open("memory://folder/rows.parquet", "rb") as file:
        assert pyarrow.parquet.read_table(file).equals(pyarrow.table(table))

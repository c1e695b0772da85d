"""Experiments on shared Wi-Fi, calls and receipts, in virtual time.

A plan is an experiment as data. Its runs are made on all cores, and come as an Arrow table:

>>> import guestright
>>> plan = guestright.plan("paper-a/overhead").quick()
>>> table = plan.sweep()
>>> table.num_rows == plan.run_count
True
>>> table.evaluate().is_complete
True

What takes Arrow's C data interface takes a table: ``pyarrow.table(table)``, ``polars.DataFrame(table)``,
``duckdb.sql("select * from table")`` after one of these.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from typing import Any, Union

from ._lab import (
    AccessPoint,
    Certificate,
    Claim,
    Controller,
    Evaluation,
    Home,
    Key,
    Link,
    Metric,
    Number,
    Plan,
    PlanError,
    Rating,
    Receipt,
    RefusedError,
    Setting,
    SettingError,
    Table,
    Testbed,
    Verdict,
    Visitor,
    __version__,
    built_in,
    codecs,
    emodel,
    testbeds,
    verify_receipt,
)
from ._sweep import sweep
from .inference import infer

__all__ = [
    "AccessPoint",
    "Certificate",
    "Claim",
    "Controller",
    "Evaluation",
    "Home",
    "Key",
    "Link",
    "Metric",
    "Number",
    "Plan",
    "PlanError",
    "Rating",
    "Receipt",
    "RefusedError",
    "Setting",
    "SettingError",
    "Table",
    "Testbed",
    "Verdict",
    "Visitor",
    "__version__",
    "codecs",
    "emodel",
    "infer",
    "plan",
    "plans",
    "read_table",
    "sweep",
    "testbed",
    "testbeds",
    "verify_receipt",
]


def plans() -> list[str]:
    """The names of the plans that the package brings.

    >>> import guestright
    >>> "paper-a/table-2" in guestright.plans()
    True
    """
    return [name for name, _ in built_in()]


def plan(source: Union[str, os.PathLike[str]], *, quick: bool = False, seeds: int | None = None) -> Plan:
    """A plan: by its name, by the path of its file, or from its text.

    Of `source` a line break makes a text, a ``.toml`` or a path object a file, and all else is a name. `quick` takes
    fewer points and seeds, as the plan says; `seeds` is how often each point is run.

    Raises `PlanError` with every mistake, its line and a caret below what is meant; its ``mistakes`` are
    (line, column, problem).

    >>> import guestright
    >>> guestright.plan("paper-a/table-2").testbed
    'voice'
    >>> guestright.plan("paper-a/table-3")
    Traceback (most recent call last):
    guestright._lab.PlanError: there is no plan paper-a/table-3
    hint: did you mean paper-a/table-2? guestright.plans() has all names
    """
    if not isinstance(source, str) or (source.endswith(".toml") and "\n" not in source):
        path = os.fspath(source)
        with open(path, encoding="utf-8") as file:
            return Plan(path, file.read(), quick, seeds)
    if "\n" in source:
        return Plan("the text", source, quick, seeds)
    known = dict(built_in())
    if source not in known:
        near = difflib.get_close_matches(source, known, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise PlanError(f"there is no plan {source}\nhint: {meant}guestright.plans() has all names")
    return Plan(source, known[source], quick, seeds)


def testbed(name: str) -> Testbed:
    """The testbed of a name, for single runs with settings of one's own.

    >>> import guestright
    >>> overhead = guestright.testbed("overhead").run({"packet_bytes": 60, "tunnel": "esp"})
    >>> overhead["wire_bytes"] == 60 + overhead["added_bytes"]
    True
    """
    known = {one.name: one for one in testbeds()}
    if name not in known:
        raise SettingError(f"there is no testbed {name}; there are {', '.join(known)}")
    return known[name]


def read_table(plan: Plan, table: Any) -> Table:
    """Rows that were made elsewhere (a Parquet file of the program, parts of a sweep) as a table of the plan.

    `table` is anything with Arrow's C data interface, or several. Rows of other runs than the plan's are left out.
    """
    import pyarrow

    parts: Iterable[Any] = table if isinstance(table, (list, tuple)) else [table]
    rows = pyarrow.concat_tables([pyarrow.table(part).replace_schema_metadata(None) for part in parts])
    numbers = {metric.name: rows.column(metric.name).to_pylist() for metric in plan.metrics}
    packets, events = (rows.column(f"simulated_{what}").to_pylist() for what in ("packets", "events"))
    return plan.adopt(rows.column("key").to_pylist(), numbers, packets, events)

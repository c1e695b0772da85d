#!/usr/bin/env python3
"""Compares results with the expected ones: first by the hash of their bytes, then by the tolerance of each metric.

    ./verify.py [quick|full] [DIR]

DIR is results/LEVEL unless it is given. Exit codes: 0 all bytes are the same (stage 1), 3 bytes differ and every number is
within its tolerance (stage 2), 1 a number is beyond it, 2 the results cannot be compared. Needs Python 3.8, and nothing
besides.
"""

import csv
import hashlib
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAME, BEYOND, UNFIT, NEAR = 0, 1, 2, 3
SHOWN_MAX = 10


class Unfit(Exception):
    """Results that cannot be compared."""


def sha256(path):
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Unfit(f"cannot read {path}: {error.strerror}; ./run.sh makes the results") from error


def points(path):
    """The names of the axes and of the metrics, and for each point the values of each metric, one for each seed."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        head = next(reader, [])
        try:
            replication, key, end = (head.index(name) for name in ("replication", "key", "simulated_packets"))
        except ValueError as error:
            raise Unfit(f"{path}: its first line does not name the columns of results") from error
        metrics, found = head[key + 1 : end], {}
        for row in reader:
            if len(row) != len(head):
                raise Unfit(f"{path}, line {reader.line_num}: {len(row)} fields, expected {len(head)}")
            values = found.setdefault(tuple(row[1:replication]), [[] for _ in metrics])
            for name, cell, known in zip(metrics, row[key + 1 : end], values):
                try:
                    known.extend([float(cell)] if cell else [])
                except ValueError as error:
                    raise Unfit(f"{path}, line {reader.line_num}: {name} is {cell!r}, no number") from error
    return head[1:replication], metrics, found


def mean(values):
    return math.fsum(values) / len(values) if values else None


def tolerances(level, plan):
    with (HERE / "tolerances.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["level"], row["plan"]) == (level, plan)]
    return {row["metric"]: (float(row["absolute"]), float(row["relative"])) for row in rows}


def is_near(want, got, tolerance):
    if want is None or got is None:
        return want is None and got is None
    if want == got or (math.isnan(want) and math.isnan(got)):
        return True
    absolute, relative = tolerance
    return abs(got - want) <= max(absolute, relative * abs(want))


def stage_2(level, plan, expected, results):
    """The numbers of this plan that are beyond their tolerance, in words."""
    (names, metrics, want), (_, others, got) = points(expected / "rows.csv"), points(results / "rows.csv")
    if metrics != others or want.keys() != got.keys():
        raise Unfit(f"{results / 'rows.csv'} has other points or metrics than the expected results")
    tolerance, beyond, largest = tolerances(level, plan), [], (0.0, "no number differs")
    for point, values in want.items():
        for metric, ours, theirs in zip(metrics, values, got[point]):
            if metric not in tolerance:
                raise Unfit(f"tolerances.csv has no row for {metric} of {plan}, {level}")
            a, b = mean(ours), mean(theirs)
            where = ", ".join(f"{name} = {value}" for name, value in zip(names, point))
            if not is_near(a, b, tolerance[metric]):
                allowed = max(tolerance[metric][0], tolerance[metric][1] * abs(a or 0.0))
                beyond.append(f"{metric} ({where}): {b}, expected {a} within {allowed:.6g}")
            elif a is not None and a != b and abs(b - a) > largest[0]:
                largest = (abs(b - a), f"the largest difference is {abs(b - a):.6g}, {metric} ({where})")
    return beyond, largest[1]


def compare(level, plan, expected, results):
    files = ("rows.parquet", "rows.csv")
    differing = [name for name in files if sha256(expected / name) != sha256(results / name)]
    if not differing:
        print(f"{plan}: stage 1, bytes: the same SHA-256 of {' and '.join(files)}")
        return SAME
    print(f"{plan}: stage 1, bytes: {' and '.join(differing)} differ")
    if differing == ["rows.parquet"]:
        raise Unfit(f"{results / 'rows.parquet'} differs and rows.csv does not: they are not of one run; make it again")
    beyond, largest = stage_2(level, plan, expected, results)
    if not beyond:
        print(f"{plan}: stage 2, tolerances: every mean is within its tolerance; {largest}")
        return NEAR
    print(f"{plan}: stage 2, tolerances: {len(beyond)} beyond")
    for line in beyond[:SHOWN_MAX]:
        print(f"  {line}")
    if len(beyond) > SHOWN_MAX:
        print(f"  and {len(beyond) - SHOWN_MAX} more")
    return BEYOND


def main(arguments):
    level = arguments[0] if arguments else "quick"
    expected = HERE / "expected" / level
    if len(arguments) > 2 or level not in ("quick", "full") or not expected.is_dir():
        print(__doc__ + f"\nThis artifact has no level {level!r}, or there are too many words.", file=sys.stderr)
        return UNFIT
    results = Path(arguments[1]) if len(arguments) == 2 else HERE / "results" / level
    codes = []
    for folder in sorted(path.parent for path in expected.glob("*/run.json")):
        try:
            codes.append(compare(level, folder.name, folder, results / folder.name))
        except (Unfit, OSError, UnicodeDecodeError) as error:
            print(f"{folder.name}: cannot be compared: {error}", file=sys.stderr)
            codes.append(UNFIT)
    for code in (UNFIT, BEYOND, NEAR):
        if code in codes:
            return code
    return SAME if codes else UNFIT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

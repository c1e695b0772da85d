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
    """The names of the axes and of the metrics, and for each point and replication of it a value of each metric; None where
    it was not measured."""
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
            seeds = found.setdefault(tuple(row[1:replication]), {})
            if row[replication] in seeds:
                raise Unfit(f"{path}, line {reader.line_num}: replication {row[replication]} of its point is there twice")
            values = seeds[row[replication]] = []
            for name, cell in zip(metrics, row[key + 1 : end]):
                try:
                    values.append(float(cell) if cell else None)
                except ValueError as error:
                    raise Unfit(f"{path}, line {reader.line_num}: {name} is {cell!r}, no number") from error
    return head[1:replication], metrics, found


def mean(values):
    values = [value for value in values if value is not None]
    return math.fsum(values) / len(values) if values else None


def tolerances(level, plan):
    with (HERE / "tolerances.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["level"], row["plan"]) == (level, plan)]
    return {(row["metric"], row["point"]): (float(row["absolute"]), float(row["relative"])) for row in rows}


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
    for point, seeds in want.items():
        where = ", ".join(f"{name} = {value}" for name, value in zip(names, point))
        if seeds.keys() != got[point].keys():
            raise Unfit(f"{results / 'rows.csv'} has other replications than the expected results ({where})")
        for column, metric in enumerate(metrics):
            if (metric, where) not in tolerance:
                raise Unfit(f"tolerances.csv has no row for {metric} of {plan}, {level} ({where})")
            ours, theirs = ([rows[seed][column] for seed in seeds] for rows in (seeds, got[point]))
            a, b = mean(ours), mean(theirs)
            if [one is None for one in ours] != [one is None for one in theirs]:
                blank = ", ".join(seed for seed, one in zip(seeds, theirs) if one is None) or "none"
                beyond.append(f"{metric} ({where}): not measured in other replications than expected: {blank}")
            elif not is_near(a, b, tolerance[metric, where]):
                absolute, relative = tolerance[metric, where]
                allowed = max(absolute, relative * abs(a or 0.0))
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
        except (Unfit, OSError) as error:
            print(f"{folder.name}: cannot be compared: {error}", file=sys.stderr)
            codes.append(UNFIT)
        except (csv.Error, ValueError, KeyError, TypeError, OverflowError) as error:
            words = f"{type(error).__name__}: {error}"
            print(
                f"{folder.name}: cannot be compared: rows.csv or tolerances.csv is damaged ({words}); make the results again, "
                "or unpack the artifact again",
                file=sys.stderr,
            )
            codes.append(UNFIT)
    for code in (UNFIT, BEYOND, NEAR):
        if code in codes:
            return code
    return SAME if codes else UNFIT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

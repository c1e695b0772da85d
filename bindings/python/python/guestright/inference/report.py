"""What an inference says, as text, JSON and pictures."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .._lab import bars, heat_map
from .posterior import Posterior, Predicted, Score
from .priors import Value, bin_name, bin_of

ROWS_MAX = 40
"""The most findings of a map, and the most contradictions that are listed."""
NOT_SURE = (0.05, 0.95)
"""Findings whose probability lies between are worth a map: the others are what they are."""


def write_report(
    posterior: Posterior,
    folder: str,
    *,
    truth: Optional[Mapping[str, Value]] = None,
    guess: Optional[Mapping[str, Value]] = None,
) -> str:
    """Writes report.md, posterior.json and the figures into a folder, and returns the report.

    `truth` are settings that are known, of a synthetic paper; `guess` those that stand in the plans.
    """
    os.makedirs(folder, exist_ok=True)
    text = report(posterior, truth=truth, guess=guess)
    _write(folder, "report.md", text)
    _write(folder, "posterior.json", json.dumps(numbers(posterior, truth=truth), indent=1) + "\n")
    for name, picture in figures(posterior).items():
        _write(folder, f"{name}.svg", picture)
    return text


def report(
    posterior: Posterior,
    *,
    truth: Optional[Mapping[str, Value]] = None,
    guess: Optional[Mapping[str, Value]] = None,
) -> str:
    """The report as Markdown."""
    job, rows = posterior.job, posterior.predictions()
    lines = [f"# What {job.study.name} left out", ""]
    lines += _counts(posterior)
    lines += ["", "## The unknowns", ""]
    lines += _unknowns(posterior, truth or {}, guess or {})
    lines += ["", "## Which fact would explain most", ""]
    lines += _facts(posterior)
    lines += ["", "## Held out", ""]
    lines += _scores(posterior, rows)
    lines += ["", "## Every finding", ""]
    lines += _findings(rows)
    lines += ["", "## Which hold together", ""]
    lines += _together(posterior)
    return "\n".join(lines) + "\n"


def numbers(posterior: Posterior, *, truth: Optional[Mapping[str, Value]] = None) -> dict[str, Any]:
    """The same for programs."""
    job, rows = posterior.job, posterior.predictions()
    unknowns = {
        name: {
            "prior": repr(job.study.unknowns[name]),
            "reason": job.study.reasons.get(name, ""),
            "region_50": str(posterior.region(name, 0.5)),
            "region_95": str(posterior.region(name, 0.95)),
            "marginal": posterior.marginal(name),
        }
        for name in posterior.unknowns
    }
    scores = {"held out": _held_out(posterior, rows), "one by one": _one_by_one(posterior, rows)}
    best, together = posterior.best()
    return {
        "study": job.study.name,
        "digest": job.study.digest,
        "seed": job.seed,
        "samples": len(posterior.samples),
        "samples asked for": job.total,
        "refused": posterior.refused,
        "ess": posterior.ess,
        "sharpness": posterior.weighed.sharpness,
        "sharpness_max": job.likelihood.sharpness_max,
        "unknowns": unknowns,
        "explained": [dataclasses.asdict(row) for row in posterior.explained()],
        "scores": {name: None if one is None else dataclasses.asdict(one) for name, one in scores.items()},
        "findings": [dataclasses.asdict(row) for row in rows],
        "joint": posterior.joint(range(len(rows))),
        "never": posterior.never(),
        "contradictions": [dataclasses.asdict(row) for row in posterior.contradictions()],
        "best": {"settings": posterior.settings(best), "findings": together},
        "calibration": dataclasses.asdict(posterior.calibrate()),
        "truth": None if truth is None else dict(truth),
    }


def figures(posterior: Posterior) -> dict[str, str]:
    """Pictures as SVG, by their names: a marginal for each unknown, what each explains, and two maps."""
    pictures: dict[str, str] = {}
    for name in posterior.unknowns:
        rows = posterior.marginal(name)
        series = [("prior", [prior for _, prior, _ in rows]), ("posterior", [mass for _, _, mass in rows])]
        likely = max(rows, key=lambda row: row[2])[0]
        about = f"The posterior's likeliest bin is {likely}."
        pictures[f"marginal-{name}"] = bars(name, about, (name, [row[0] for row in rows]), "probability", series)
    facts = posterior.explained()[:10]
    pictures["explained"] = bars(
        "How far the claims move what is believed",
        f"The claims say most of {facts[0].unknown}.",
        ("unknown", [row.unknown for row in facts]),
        "bits",
        [("prior to posterior", [row.gain_bits for row in facts])],
    )
    if len(facts) > 1:
        pictures["map-unknowns"] = _map_of_two(posterior, facts[0].unknown, facts[1].unknown)
    rows_of = [column for column, row in enumerate(posterior.predictions()) if NOT_SURE[0] < row.posterior < NOT_SURE[1]]
    if rows_of:
        pictures["map-findings"] = _map_of_findings(posterior, rows_of[:ROWS_MAX])
    return pictures


def _map_of_two(posterior: Posterior, one: str, other: str) -> str:
    priors = [posterior.job.study.unknowns[name] for name in (one, other)]
    columns = [posterior.unknowns.index(name) for name in (one, other)]
    masses = [[0.0] * priors[0].bins for _ in range(priors[1].bins)]
    for sample, weight in zip(posterior.samples, posterior.weights):
        x, y = (bin_of(prior, sample.positions[column]) for prior, column in zip(priors, columns))
        masses[y][x] += weight
    names = [[bin_name(prior, bin) for bin in range(prior.bins)] for prior in priors]
    title = f"{one} and {other}: posterior"
    cells: list[Optional[float]] = [round(mass, 3) for row in masses for mass in row]
    return heat_map(title, "The two that the claims say most of.", (one, names[0]), (other, names[1]), "probability", cells)


def _map_of_findings(posterior: Posterior, columns: Sequence[int]) -> str:
    names = [posterior.findings[column].id for column in columns]
    joint = posterior.joint(columns)
    cells: list[Optional[float]] = [round(number, 2) for row in joint for number in row]
    about = "For each two findings the probability under the posterior that both hold."
    return heat_map("Which findings hold together", about, ("finding", names), ("finding", names), "probability", cells)


def _counts(posterior: Posterior) -> list[str]:
    job, sharp = posterior.job, posterior.weighed.sharpness
    fitted = sum(job.likelihood.counts)
    seconds = sum(sample.seconds for sample in posterior.samples)
    coverage = posterior.calibrate()
    lines = [
        f"{len(posterior.samples)} of {job.total} samples (seed {job.seed}, {len(posterior.proposals)} rounds, "
        f"{seconds:.0f} s altogether), {posterior.refused} of them refused by a testbed. Effective sample size "
        f"{posterior.ess:.1f}; sharpness {sharp:.2f} of at most {job.likelihood.sharpness_max:.2f}.",
        "",
        f"{len(posterior.findings)} findings, {fitted} of them fitted to and {len(posterior.findings) - fitted} held out.",
        "",
        f"Known settings, samples of the prior taken as the truth, lie in their 95 % regions {coverage.inside} times of "
        f"{coverage.of} ({_percent(coverage.inside / coverage.of)} %).",
    ]
    if sharp < job.likelihood.sharpness_max:
        lines += [
            "",
            "The samples do not bear the whole likelihood: it is flattened until they do. With more samples the posterior would "
            "be narrower than here.",
        ]
    return lines


def _unknowns(posterior: Posterior, truth: Mapping[str, Value], guess: Mapping[str, Value]) -> list[str]:
    head = ["unknown", "95 % region", "50 % region"]
    head += ["stands in the plans"] if guess else []
    head += ["truth", "within 95 %"] if truth else []
    rows = []
    for name in posterior.unknowns:
        region = posterior.region(name, 0.95)
        row = [f"`{name}`", str(region), str(posterior.region(name, 0.5))]
        row += [_short(guess[name])] if guess else []
        row += [_short(truth[name]), "yes" if truth[name] in region else "no"] if truth else []
        rows.append(row)
    lines = _table(head, rows)
    if truth:
        inside = sum(truth[name] in posterior.region(name, 0.95) for name in posterior.unknowns)
        lines += ["", f"{inside} of {len(posterior.unknowns)} known settings lie in their 95 % regions."]
    return lines


def _facts(posterior: Posterior) -> list[str]:
    rows = [
        [f"`{row.unknown}`", f"{row.gain_bits:.2f}", _percent(row.variance), f"{row.tells_bits:.2f}"]
        for row in posterior.explained()
    ]
    head = ["unknown", "moved by the claims, bits", "explains of the distance, %", "would tell of the findings, bits"]
    return _table(head, rows)


def _held_out(posterior: Posterior, rows: Sequence[Predicted]) -> Optional[Score]:
    return posterior.score(row for row in rows if row.held_out)


def _one_by_one(posterior: Posterior, rows: Sequence[Predicted]) -> Optional[Score]:
    return posterior.score(row for row in rows if not row.held_out)


def _scores(posterior: Posterior, rows: Sequence[Predicted]) -> list[str]:
    head = ["predicted", "findings", "prior, %", "posterior, %", "what stands in the plans, %", "Brier: prior", "Brier: posterior"]
    table = []
    named = {
        "held out, after fitting to the others": _held_out(posterior, rows),
        "fitted to, each after fitting to the others": _one_by_one(posterior, rows),
    }
    for name, score in named.items():
        if score is not None:
            guess = "not run" if score.guess is None else _percent(score.guess)
            table.append(
                [name, str(score.findings), _percent(score.prior), _percent(score.posterior), guess]
                + [f"{score.brier_prior:.3f}", f"{score.brier_posterior:.3f}"]
            )
    lines = ["How probable it is that a finding comes out as the paper has it, on average.", ""]
    return lines + _table(head, table)


def _findings(rows: Sequence[Predicted]) -> list[str]:
    lines = [
        "It comes out under so many in a hundred of the plausible settings: before any claim is looked at, after fitting, and "
        "after fitting to all but this one.",
        "",
    ]
    head = ["finding", "what the paper says", "prior, %", "posterior, %", "without it, %", "what stands in the plans"]
    known = {True: "reproduces", False: "does not reproduce", None: "not run"}
    table = [
        [f"`{row.finding}`" + (" (held out)" if row.held_out else ""), row.text.replace("|", "\\|")]
        + [_percent(row.prior), _percent(row.posterior), _percent(row.without), known[row.guess]]
        for row in rows
    ]
    return lines + _table(head, table)


def _together(posterior: Posterior) -> list[str]:
    best, findings = posterior.best()
    of, never, pairs = len(posterior.findings), posterior.never(), posterior.contradictions()
    lines = [f"At most {len(findings)} of {of} come out together, with sample {best}:", ""]
    lines += [f"- `{name}` {_short(value)}" for name, value in posterior.settings(best).items()]
    lines += ["", f"Under no settings that were tried: {_list(never)}.", ""]
    lines += [f"{len(pairs)} pairs came out each often enough, and never together under any settings that were tried.", ""]
    head = ["one", "times", "the other", "times", "together, if independent"]
    table = [
        [f"`{row.one}`", str(row.count_one), f"`{row.other}`", str(row.count_other), f"{row.expected:.1f}"]
        for row in pairs[:ROWS_MAX]
    ]
    return lines + (_table(head, table) if table else [])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """
    >>> _table(["a", "b"], [["1", "2"]])
    ['| a | b |', '| --- | --- |', '| 1 | 2 |']
    """
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _percent(share: float) -> str:
    """
    >>> _percent(0.254)
    '25'
    """
    return f"{100.0 * share:.0f}"


def _short(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write(folder: str, name: str, text: str) -> None:
    """Whole or not at all."""
    path = os.path.join(folder, name)
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.part", path)

"""What is asked: plans, which of their claims are used, and which settings are unknown."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from .._lab import Plan, PlanError, SettingError, __version__, testbeds
from .priors import Choice, InferenceError, Prior, Value, read_prior

UNKNOWNS_MAX = 64
CLAIMS_MAX = 1_000
FILE_MAX = 1 << 20
"""The most bytes of a study's file."""
RUN_KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("samples", "rounds", "seed"), ((int,), "a whole number")),
    **dict.fromkeys(("error", "ess_min"), ((int, float), "a number")),
}
"""What the table [run] of a study's file may have, and of which type."""

Refused = str
"""Why a testbed does not allow settings."""


@dataclass(frozen=True)
class Reading:
    """A setting that says which of several claims is meant, not how a run goes.

    A finding that a plan has several times, once for each way to read the paper, has ids that differ in a suffix: with the
    value whose suffix is ``-deadline``, ``udp-late-deadline`` counts instead of ``udp-late``.
    """

    setting: str
    suffixes: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """A plan of a study, with the claims that are used."""

    label: str
    plan: Plan
    claims: tuple[str, ...]
    held_out: bool


@dataclass(frozen=True)
class Finding:
    """Something that the paper says: a claim, or the claim that a reading chooses of several."""

    id: str
    text: str
    held_out: bool
    claims: Mapping[str, int]
    """For each value of the reading's setting (``""`` if it has none) the index among all claims."""


@dataclass
class Study:
    """Everything that an inference depends on but the number of samples and the seed."""

    name: str
    parts: list[Part]
    unknowns: dict[str, Prior]
    reasons: dict[str, str] = field(default_factory=dict)
    reading: Optional[Reading] = None
    defaults: dict[str, Any] = field(default_factory=dict)
    """What its file says of samples, rounds, seed and error."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.unknowns) <= UNKNOWNS_MAX:
            raise InferenceError(f"{len(self.unknowns)} settings are unknown; from 1 to {UNKNOWNS_MAX} are wanted")
        claims = sum(len(part.claims) for part in self.parts)
        if not 1 <= claims <= CLAIMS_MAX:
            raise InferenceError(f"{self.name} has {claims} claims; from 1 to {CLAIMS_MAX} are wanted")
        if self.reading is not None and self.reading.setting not in self.unknowns:
            raise InferenceError(f"the reading {self.reading.setting} is not among the unknowns")
        if all(part.held_out for part in self.parts):
            raise InferenceError("every claim is held out; something has to be fitted to")
        self.findings = _findings(self.parts, self.reading)
        self._check()

    def _check(self) -> None:
        """A misspelt setting, and a claim that cannot be judged, are said before anything is run."""
        middle = {name: prior.value(0.5) for name, prior in self.unknowns.items()}
        known = {bed.name: {setting.name for setting in bed.settings} for bed in testbeds()}
        for part in self.parts:
            try:
                part.plan.with_settings(middle).runs_of(list(part.claims))
            except SettingError as error:
                # Others may be allowed where these are not.
                if error.setting not in known[part.plan.testbed]:
                    raise

    def settings(self, positions: Sequence[float]) -> dict[str, Value]:
        """The settings at a point of the unit cube."""
        return {name: prior.value(at) for (name, prior), at in zip(self.unknowns.items(), positions)}

    def outside(self, settings: Mapping[str, Value], *, threads: Optional[int] = None) -> Union[list[float], Refused]:
        """Makes the runs that the claims need, and says of each claim which share of its numbers is outside of its band; or
        why a testbed does not allow these settings."""
        numbers: list[float] = []
        for part in self.parts:
            try:
                plan = part.plan.with_settings(dict(settings))
            except SettingError as error:
                return f"{part.plan.name}: {error}"
            claims = list(part.claims)
            table = plan.sweep(plan.runs_of(claims), threads=threads)
            numbers.extend(verdict.outside for verdict in table.verdicts(claims))
        return numbers

    def found(self, outside: Sequence[float], settings: Mapping[str, Value]) -> list[float]:
        """The same for each finding, by the reading that these settings have."""
        value = str(settings.get(self.reading.setting, "")) if self.reading else ""
        return [outside[finding.claims.get(value, finding.claims[""])] for finding in self.findings]

    def guess(self) -> dict[str, Value]:
        """What the plans have for each unknown today: the settings of the first run that the claims of the first plan need."""
        known: dict[str, Value] = {}
        first = self.parts[0].plan
        [run, *_] = first.runs_of(list(self.parts[0].claims))
        settings = first.describe(run)["settings"]
        assert isinstance(settings, dict)
        for name in self.unknowns:
            known[name] = settings[name]
        return known

    @property
    def digest(self) -> str:
        """What samples of this study depend on: the program, and for each plan its runs, and its text with the claims."""
        parts = [
            (part.plan.name, part.plan.digest, _sha256(part.plan.text), part.claims, part.held_out) for part in self.parts
        ]
        readings = (self.reading.setting, sorted(self.reading.suffixes.items())) if self.reading else None
        priors = [(name, repr(prior)) for name, prior in self.unknowns.items()]
        return _sha256(json.dumps([__version__, self.name, parts, priors, readings]))[:32]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def study_of(
    plans: Union[Plan, Sequence[Plan]],
    unknowns: Mapping[str, Prior],
    *,
    held_out: Sequence[str] = (),
    leave_out: Sequence[str] = (),
) -> Study:
    """A study of plans as they are; `held_out` and `leave_out` are patterns of ``PLAN`` or ``PLAN/CLAIM``."""
    parts: list[Part] = []
    for plan in [plans] if isinstance(plans, Plan) else plans:

        def matches(claim: str, patterns: Sequence[str], name: str = plan.name) -> bool:
            return any(fnmatch.fnmatchcase(text, one) for one in patterns for text in (name, f"{name}/{claim}"))

        used = [one.id for one in plan.claims if not one.is_prediction and not matches(one.id, leave_out)]
        for is_out in (False, True):
            claims = tuple(claim for claim in used if matches(claim, held_out) == is_out)
            if claims:
                parts.append(Part(plan.name, plan, claims, is_out))
    if not parts:
        raise InferenceError("the plans have no claims that can be judged")
    return Study(parts[0].plan.name, parts, dict(unknowns))


def read_study(path: Union[str, os.PathLike[str]], *, settings: Optional[Mapping[str, Value]] = None) -> Study:
    """A study from its file; `settings` lie over those that the file gives to its plans.

    Raises `InferenceError` with the file and what is wrong in it, and `PlanError` for a plan that is not there.
    """
    with open(path, "rb") as file:
        text = file.read(FILE_MAX + 1)
    if len(text) > FILE_MAX:
        raise InferenceError(f"{path} has more than {FILE_MAX} bytes")
    try:
        return _read(_toml(text.decode()), settings or {})
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, (PlanError, SettingError)):
            raise
        words = f"`{error.args[0]}` is not there" if isinstance(error, KeyError) else str(error)
        raise InferenceError(f"{path}: {words}") from error


def _read(table: dict[str, Any], over: Mapping[str, Value]) -> Study:
    from .. import plan as plan_of

    unknowns: dict[str, Prior] = {}
    reasons: dict[str, str] = {}
    for one in table["unknown"]:
        name = one["setting"]
        if name in unknowns:
            raise InferenceError(f"the setting {name} is there twice")
        unknowns[name] = read_prior(one, name)
        reasons[name] = one["reason"]
    parts = []
    shared = {**table.get("settings", {}), **over}
    for one in table["plan"]:
        plan = plan_of(one["plan"], quick=one.get("quick", True), seeds=one.get("seeds", 1))
        plan = plan.with_settings(shared) if shared else plan
        left_out = one.get("leave_out", [])
        names = [claim.id for claim in plan.claims if not claim.is_prediction]
        claims = tuple(name for name in names if not any(fnmatch.fnmatchcase(name, out) for out in left_out))
        parts.append(Part(one["label"], plan, claims, one.get("held_out", False)))
    reading = None
    if "reading" in table:
        reading = Reading(table["reading"]["setting"], dict(table["reading"]["suffixes"]))
        _check_reading(reading, unknowns)
    return Study(table["name"], parts, unknowns, reasons, reading, _checked_run(table.get("run", {})))


def _checked_run(run: Any) -> dict[str, Any]:
    if not isinstance(run, dict):
        raise InferenceError(f"`run` is {run!r}; a table [run] is wanted")
    for key, value in run.items():
        if key not in RUN_KEYS:
            raise InferenceError(f"[run] has no `{key}`; {', '.join(RUN_KEYS)} are possible")
        types, wanted = RUN_KEYS[key]
        # A bool is an int for Python.
        if isinstance(value, bool) or not isinstance(value, types):
            raise InferenceError(f"`{key}` of [run] is {value!r}; {wanted} is wanted")
    return dict(run)


def _check_reading(reading: Reading, unknowns: Mapping[str, Prior]) -> None:
    prior = unknowns.get(reading.setting)
    if not isinstance(prior, Choice) or set(prior.values) != set(reading.suffixes):
        raise InferenceError(f"the reading {reading.setting} wants a choice among {', '.join(reading.suffixes)}")


def _toml(text: str) -> dict[str, Any]:
    try:
        import tomllib as toml
    except ModuleNotFoundError:  # Before Python 3.11.
        import tomli as toml  # type: ignore[import-not-found, no-redef, unused-ignore]
    return dict(toml.loads(text))


def _findings(parts: Sequence[Part], reading: Optional[Reading]) -> list[Finding]:
    suffixes = {value: suffix for value, suffix in reading.suffixes.items() if suffix} if reading else {}
    columns: dict[tuple[str, str], int] = {}
    for part in parts:
        for claim in part.claims:
            if (part.label, claim) in columns:
                raise InferenceError(
                    f"the claim {claim} is used twice under the label {part.label}; give each plan a label of its own, or "
                    "leave the claim out of one of them"
                )
            columns[part.label, claim] = len(columns)
    findings: list[Finding] = []
    for part in parts:
        texts = {claim.id: claim.text for claim in part.plan.claims}
        for claim in part.claims:
            if any(claim.endswith(end) and (part.label, claim[: -len(end)]) in columns for end in suffixes.values()):
                continue
            ways = {"": columns[part.label, claim]}
            for value, end in suffixes.items():
                if (part.label, claim + end) in columns:
                    ways[value] = columns[part.label, claim + end]
            findings.append(Finding(f"{part.label}/{claim}", texts[claim], part.held_out, ways))
    return findings

"""Samples of the unknown settings, each with what its runs said of every claim.

Adaptive multiple importance sampling: the first round draws from the prior, each later one from what the rounds before it
make likely, and all samples of all rounds are weighed together by the mixture that they came from (Cornuet, Marin, Mira and
Robert, "Adaptive multiple importance sampling", Scandinavian Journal of Statistics 39, 2012, section 2,
<https://doi.org/10.1111/j.1467-9469.2011.00756.x>). No run is thrown away, and a quarter of every round is from the prior, so
that no sample weighs more than the share of the prior in the mixture allows.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Optional

from .priors import InferenceError, Prior, Value, bin_of, mass_of, within
from .study import Study

FORMAT = "guestright inference 1"
SAMPLES_MAX = 100_000
LINE_MAX = 1 << 20
"""The most bytes of a line of the samples' file."""
DEFENSIVE = 0.25
"""The share of every round that is drawn from the prior."""
SMOOTHING = 2.0
"""By how many samples in each bin a proposal is nearer to the prior than the weights are."""
TASKS_MAX = 2
"""How many samples wait or are made for each of Ray's processors at a time."""

Progress = Callable[[int, int], None]
"""Is called with how many samples were made, and of how many."""


@dataclass(frozen=True)
class Sample:
    """A point of the unit cube, and for each claim the share of its numbers that is outside of its band."""

    round: int
    index: int
    positions: tuple[float, ...]
    outside: Optional[tuple[float, ...]]
    """None where a testbed does not allow these settings."""
    seconds: float = 0.0
    """How long it took, by the clock."""
    refused: str = ""


@dataclass(frozen=True)
class Proposal:
    """What a round is drawn from: the prior, or with a probability of 1 - `DEFENSIVE` a product of marginals."""

    marginals: Optional[tuple[tuple[float, ...], ...]]
    """For each unknown the probability of each bin; None for the prior."""

    def draw(self, priors: Sequence[Prior], rng: random.Random) -> tuple[float, ...]:
        chooses, numbers = rng.random(), [(rng.random(), rng.random()) for _ in priors]
        if self.marginals is None or chooses < DEFENSIVE:
            return tuple(number for number, _ in numbers)
        pairs = zip(priors, self.marginals, numbers)
        return tuple(within(prior, _pick(marginal, which), share) for prior, marginal, (which, share) in pairs)

    def ratio(self, priors: Sequence[Prior], positions: Sequence[float]) -> float:
        """Its density over that of the prior."""
        if self.marginals is None:
            return 1.0
        product = 1.0
        for prior, marginal, at in zip(priors, self.marginals, positions):
            bin = bin_of(prior, at)
            product *= marginal[bin] / mass_of(prior, bin)
        return DEFENSIVE + (1.0 - DEFENSIVE) * product


@dataclass(frozen=True)
class Likelihood:
    """How likely the paper is to say what it says.

    Each finding is taken for itself; where our runs do not give what is observed, the paper is as likely to say so as `error`
    is to 1 - `error`, that is, exp(-sharpness · distance), where distance is the sum over the findings of how far the share
    of numbers outside is from what is observed. Where that would leave fewer than `ess_min` samples to weigh, sharpness is
    less: as sharp as the samples bear.
    """

    observed: tuple[float, ...]
    """For each finding the share of its numbers that is outside: 0 where the paper says it."""
    counts: tuple[bool, ...]
    """Which findings are fitted to."""
    error: float = 0.05
    ess_min: float = 20.0

    @property
    def sharpness_max(self) -> float:
        return math.log((1.0 - self.error) / self.error)

    def distance(self, found: Sequence[float]) -> float:
        return sum(abs(ours - theirs) for ours, theirs, counts in zip(found, self.observed, self.counts) if counts)


@dataclass(frozen=True)
class Weighed:
    """Weights of samples, which sum to 1, and how sharp they are."""

    weights: tuple[float, ...]
    sharpness: float

    @property
    def ess(self) -> float:
        """The effective sample size: that many samples of the same weight would be as good."""
        return ess_of(self.weights)


def ess_of(weights: Sequence[float]) -> float:
    """
    >>> ess_of([0.5, 0.5, 0.0])
    2.0
    """
    total = sum(weight * weight for weight in weights)
    return 1.0 / total if total > 0.0 else 0.0


def mixture(study: Study, samples: Sequence[Sample], proposals: Sequence[Proposal]) -> list[float]:
    """For each sample how much rarer the mixture of all rounds draws it than the prior: its weight before any claim."""
    priors = list(study.unknowns.values())
    counts = [sum(sample.round == number for sample in samples) for number in range(len(proposals))]
    whole = sum(counts)
    weights = []
    for sample in samples:
        density = sum(
            count * proposal.ratio(priors, sample.positions) for count, proposal in zip(counts, proposals) if count
        )
        weights.append(whole / density)
    return weights


def weigh(before: Sequence[float], distances: Sequence[Optional[float]], likelihood: Likelihood) -> Weighed:
    """Weights of samples that had weights `before`, at their distances; None: a setting that is not allowed.

    >>> likelihood = Likelihood((0.0,), (True,), error=0.05, ess_min=1.5)
    >>> [round(weight, 3) for weight in weigh([1, 1, 1], [0.0, 0.0, 1.0], likelihood).weights]
    [0.487, 0.487, 0.026]
    """
    known = [distance for distance in distances if distance is not None]
    if not known:
        raise InferenceError("no sample is allowed by its testbeds; narrow the priors to settings that are")
    nearest = min(known)

    def at(sharpness: float) -> list[float]:
        raw = [
            0.0 if distance is None else weight * math.exp(-sharpness * (distance - nearest))
            for weight, distance in zip(before, distances)
        ]
        total = sum(raw)
        return [weight / total for weight in raw]

    low, high = 0.0, likelihood.sharpness_max
    if ess_of(at(high)) >= likelihood.ess_min:
        return Weighed(tuple(at(high)), high)
    for _ in range(40):
        middle = (low + high) / 2.0
        if ess_of(at(middle)) >= likelihood.ess_min:
            low = middle
        else:
            high = middle
    return Weighed(tuple(at(low)), low)


def adapted(study: Study, samples: Sequence[Sample], weighed: Weighed) -> Proposal:
    """What the next round is drawn from: the weighed marginals, smoothed towards the prior."""
    marginals = []
    size = weighed.ess
    for column, prior in enumerate(study.unknowns.values()):
        masses = [0.0] * prior.bins
        for sample, weight in zip(samples, weighed.weights):
            masses[bin_of(prior, sample.positions[column])] += weight
        extra = SMOOTHING * prior.bins
        smooth = [
            (size * mass + extra * mass_of(prior, bin)) / (size + extra) for bin, mass in enumerate(masses)
        ]
        marginals.append(tuple(smooth))
    return Proposal(tuple(marginals))


@dataclass
class Job:
    """How many samples, from which seed, and by what they are weighed."""

    study: Study
    likelihood: Likelihood
    first: int
    """Samples of the first round."""
    later: int
    """Samples of each later one."""
    rounds: int
    seed: int
    seconds_max: Optional[float] = None
    """After how long no other sample is begun, by the clock."""

    def __post_init__(self) -> None:
        if self.first < 1 or self.rounds < 1 or (self.rounds > 1 and self.later < 1):
            raise InferenceError("an inference has at least one round, and each round at least one sample")
        if self.total > SAMPLES_MAX:
            raise InferenceError(f"{self.total} samples are asked for; at most {SAMPLES_MAX} are possible")

    @property
    def total(self) -> int:
        return self.first + (self.rounds - 1) * self.later

    def head(self) -> dict[str, Any]:
        """What has to be the same where samples are added to a file."""
        return {
            "format": FORMAT,
            "study": self.study.name,
            "digest": self.study.digest,
            "unknowns": list(self.study.unknowns),
            "claims": [f"{part.label}/{claim}" for part in self.study.parts for claim in part.claims],
            "observed": list(self.likelihood.observed),
            "error": self.likelihood.error,
            "ess_min": self.likelihood.ess_min,
            "seed": self.seed,
            "first": self.first,
            "later": self.later,
        }

    def next_proposal(self, samples: Sequence[Sample], proposals: Sequence[Proposal]) -> Proposal:
        if not proposals:
            return Proposal(None)
        return adapted(self.study, samples, self.weigh(samples, proposals))

    def weigh(self, samples: Sequence[Sample], proposals: Sequence[Proposal]) -> Weighed:
        found = [found_of(self.study, sample) for sample in samples]
        distances = [None if one is None else self.likelihood.distance(one) for one in found]
        return weigh(mixture(self.study, samples, proposals), distances, self.likelihood)

    def points(self, round: int, proposal: Proposal) -> list[tuple[float, ...]]:
        """The points of a round. Each has a seed of its own, so that a part of them is the same as all."""
        priors, size = list(self.study.unknowns.values()), self.first if round == 0 else self.later
        return [proposal.draw(priors, random.Random(f"{self.seed}/{round}/{index}")) for index in range(size)]


def found_of(study: Study, sample: Sample) -> Optional[list[float]]:
    """For each finding of a sample the share of numbers outside."""
    if sample.outside is None:
        return None
    return study.found(sample.outside, study.settings(sample.positions))


def sample(
    job: Job,
    *,
    out: Optional[str] = None,
    threads: Optional[int] = None,
    address: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> tuple[list[Sample], list[Proposal]]:
    """Makes all samples that `out` does not have yet; returns them in their order, and what each round was drawn from."""
    known: dict[tuple[int, int], Sample] = {}
    file: Optional[IO[str]] = None
    if out is not None:
        known = _resume(out, job)
        file = open(out, "a", encoding="utf-8")
    samples: list[Sample] = []
    proposals: list[Proposal] = []
    end = None if job.seconds_max is None else time.monotonic() + job.seconds_max
    try:
        for round in range(job.rounds):
            proposals.append(job.next_proposal(samples, proposals))
            points = job.points(round, proposals[-1])
            made = {index: known[round, index] for index in range(len(points)) if (round, index) in known}
            for index, one in made.items():
                if any(abs(ours - theirs) > 1e-9 for ours, theirs in zip(one.positions, points[index])):
                    raise InferenceError(f"{out}: sample {index} of round {round} is of other code; begin a new file")
            before = len(samples)
            todo = [(index, at) for index, at in enumerate(points) if index not in made]
            for one in _make(job.study, round, todo, threads=threads, address=address, end=end):
                made[one.index] = one
                if file is not None:
                    file.write(_line(one))
                    file.flush()
                if progress is not None:
                    progress(before + len(made), job.total)
            samples.extend(made[index] for index in sorted(made))
            if len(made) < len(points):
                break
    finally:
        if file is not None:
            file.close()
    if not samples:
        raise InferenceError("not one sample was made in the time; give it more")
    return samples, proposals


def _make(
    study: Study,
    round: int,
    points: Sequence[tuple[int, tuple[float, ...]]],
    *,
    threads: Optional[int],
    address: Optional[str],
    end: Optional[float],
) -> Iterator[Sample]:
    if address is not None:
        yield from _make_on_ray(study, round, points, address, end)
        return
    for index, at in points:
        if end is not None and time.monotonic() > end:
            return
        yield make_one(study, round, index, at, threads)


def make_one(study: Study, round: int, index: int, at: tuple[float, ...], threads: Optional[int]) -> Sample:
    """Makes a sample: every run that its claims need."""
    began = time.perf_counter()
    outside = study.outside(study.settings(at), threads=threads)
    took = time.perf_counter() - began
    if isinstance(outside, str):
        return Sample(round, index, at, None, took, outside)
    return Sample(round, index, at, tuple(outside), took)


def _make_on_ray(
    study: Study,
    round: int,
    points: Sequence[tuple[int, tuple[float, ...]]],
    address: str,
    end: Optional[float],
) -> Iterator[Sample]:
    import ray

    is_ours = not ray.is_initialized()
    if is_ours:
        ray.init(address=address, log_to_driver=False)
    try:
        task = ray.remote(num_cpus=1, max_retries=3)(make_one).options(name=f"guestright infer {study.name}")
        shared, left = ray.put(study), list(points)
        working: list[Any] = []
        while left or working:
            processors = max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
            if end is not None and time.monotonic() > end:
                left = []
            while left and len(working) < TASKS_MAX * processors:
                index, at = left.pop(0)
                working.append(task.remote(shared, round, index, at, 1))
            if not working:
                return
            finished, working = ray.wait(working, num_returns=1)
            for one in finished:
                yield ray.get(one)
    finally:
        if is_ours:
            ray.shutdown()


def _pick(marginal: Sequence[float], which: float) -> int:
    for bin, mass in enumerate(marginal):
        which -= mass
        if which < 0.0:
            return bin
    return len(marginal) - 1


def _line(sample: Sample) -> str:
    record: dict[str, Any] = {"round": sample.round, "index": sample.index, "positions": sample.positions}
    record["outside"] = sample.outside
    record["seconds"] = round(sample.seconds, 3)
    if sample.refused:
        record["refused"] = sample.refused[:500]
    return json.dumps(record) + "\n"


def _resume(path: str, job: Job) -> dict[tuple[int, int], Sample]:
    """The samples of a file, which is begun if it is not there; a line that was being written at the end is cut off."""
    head = json.loads(json.dumps(job.head()))
    if not os.path.exists(path):
        with open(path, "x", encoding="utf-8") as file:
            file.write(json.dumps(head) + "\n")
        return {}
    claims, unknowns = len(head["claims"]), len(head["unknowns"])
    known: dict[tuple[int, int], Sample] = {}
    with open(path, "rb+") as file:
        end = 0
        for number, line in enumerate(iter(lambda: file.readline(LINE_MAX), b"")):
            if not line.endswith(b"\n"):
                break
            if number > SAMPLES_MAX:
                raise InferenceError(f"{path} has more than {SAMPLES_MAX} samples")
            record = _record(path, number, line)
            if number == 0:
                _compare(path, record, head)
            else:
                one = _sample(path, number, record, unknowns, claims)
                known[one.round, one.index] = one
            end += len(line)
        if end == 0:
            raise InferenceError(f"{path} is not a file of samples; give another --out")
        file.truncate(end)
    return known


def _record(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InferenceError(f"{path}:{number + 1}: not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InferenceError(f"{path}:{number + 1}: an object is wanted")
    return record


def _compare(path: str, got: dict[str, Any], want: dict[str, Any]) -> None:
    for key, value in want.items():
        if got.get(key) != value:
            short = (str(got.get(key))[:80], str(value)[:80])
            raise InferenceError(
                f"{path} was made with {key} {short[0]}, not {short[1]}; give the same again, or another --out"
            )


def _sample(path: str, number: int, record: dict[str, Any], unknowns: int, claims: int) -> Sample:
    try:
        outside = None if record["outside"] is None else tuple(float(one) for one in record["outside"])
        positions = tuple(float(one) for one in record["positions"])
        if len(positions) != unknowns or (outside is not None and len(outside) != claims):
            raise ValueError(f"{unknowns} positions and {claims} claims are wanted")
        if not all(0.0 <= one <= 1.0 for one in positions + (outside or ())):
            raise ValueError("a number is not from 0 to 1")
        column = int(record["round"]), int(record["index"])
        return Sample(*column, positions, outside, float(record["seconds"]), str(record.get("refused", "")))
    except (KeyError, TypeError, ValueError) as error:
        raise InferenceError(f"{path}:{number + 1}: {error}") from error


__all__ = ["Job", "Likelihood", "Proposal", "Sample", "Value", "Weighed", "sample"]

"""What the samples say: of the unknowns, of the claims together, and of claims that were held out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

from .priors import Choice, InferenceError, Value, bin_name, bin_of
from .sampler import Job, Likelihood, Proposal, Sample, Weighed, found_of, mixture, weigh

LIKELY = 3.0
"""How many samples have to be expected with both of two findings, if they were independent, before having none says something."""


@dataclass(frozen=True)
class Region:
    """A credible region of one unknown: ends of a number, both included, or the likeliest options of a choice."""

    level: float
    low: Optional[Value] = None
    high: Optional[Value] = None
    options: tuple[Value, ...] = ()

    def __contains__(self, value: Value) -> bool:
        if self.options:
            return value in self.options
        assert not isinstance(self.low, str) and not isinstance(self.high, str) and not isinstance(value, str)
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def __str__(self) -> str:
        if self.options:
            return ", ".join(str(option) for option in self.options)
        return f"{self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True)
class Explained:
    """How much an unknown has to do with the claims."""

    unknown: str
    gain_bits: float
    """How far the claims move what is believed of it: from the prior to the posterior (Kullback and Leibler)."""
    variance: float
    """The share of the variance of the distance, under the prior, that it explains alone (correlation ratio)."""
    tells_bits: float
    """What knowing it would say about the findings, one by one, under the prior (sum of mutual informations)."""


@dataclass(frozen=True)
class Predicted:
    """How probable it is that a finding comes out as the paper has it."""

    finding: str
    text: str
    held_out: bool
    prior: float
    posterior: float
    """After fitting to every finding that is fitted to, this one among them unless it was held out."""
    without: float
    """After fitting to all of them but this one."""
    guess: Optional[bool]
    """Whether it does with what stands in the plans today; None if that was not run."""


@dataclass(frozen=True)
class Score:
    """How well findings are predicted."""

    findings: int
    prior: float
    """The mean probability, under the prior, that one comes out as the paper has it."""
    posterior: float
    guess: Optional[float]
    """The share that does with what stands in the plans today."""
    brier_prior: float
    """The mean squared distance from 1; 0 is best, 0.25 is a coin's."""
    brier_posterior: float


@dataclass(frozen=True)
class Together:
    """Two findings that came out often enough, but never under the same settings."""

    one: str
    other: str
    count_one: int
    count_other: int
    expected: float
    """How many samples would have both if the two were independent."""


@dataclass(frozen=True)
class Coverage:
    """How often known settings lie in the region that is inferred from what they say: as often as the level, if all is well."""

    level: float
    inside: int
    of: int


@dataclass
class Posterior:
    """Weighted samples of the unknown settings.

    `samples` are in the order of rounds; `weights` sum to 1, and those of the prior are `prior_weights`.
    """

    job: Job
    samples: list[Sample]
    proposals: list[Proposal]
    guess: Optional[list[float]] = None
    """For each finding the share of numbers outside with what stands in the plans."""

    def __post_init__(self) -> None:
        study = self.job.study
        self.unknowns = list(study.unknowns)
        self.findings = study.findings
        self._before = mixture(study, self.samples, self.proposals)
        self._found = [found_of(study, sample) for sample in self.samples]
        self.weighed = self._weigh(self.job.likelihood)
        allowed = [weight if found is not None else 0.0 for weight, found in zip(self._before, self._found)]
        total = sum(allowed)
        self.prior_weights = tuple(weight / total for weight in allowed)

    @property
    def weights(self) -> tuple[float, ...]:
        return self.weighed.weights

    @property
    def ess(self) -> float:
        """The effective sample size."""
        return self.weighed.ess

    @property
    def refused(self) -> int:
        """How many samples have settings that a testbed does not allow."""
        return sum(found is None for found in self._found)

    def settings(self, index: int) -> dict[str, Value]:
        """The settings of a sample."""
        return self.job.study.settings(self.samples[index].positions)

    def columns(self) -> dict[str, list[Value]]:
        """Samples as columns, fit for ``pyarrow.table`` or ``pandas.DataFrame``: settings, weight, and a column for each
        finding with the share of its numbers outside (NaN where a testbed does not allow the settings)."""
        columns: dict[str, list[Value]] = {name: [] for name in self.unknowns}
        for index in range(len(self.samples)):
            for name, value in self.settings(index).items():
                columns[name].append(value)
        columns["weight"] = list(self.weights)
        columns["prior weight"] = list(self.prior_weights)
        for column, finding in enumerate(self.findings):
            columns[finding.id] = [math.nan if found is None else found[column] for found in self._found]
        return columns

    def marginal(self, unknown: str) -> list[tuple[str, float, float]]:
        """For each bin of an unknown its name, and its probability under the prior and the posterior; both are those of
        settings that the testbeds allow."""
        prior, column = self.job.study.unknowns[unknown], self._column(unknown)
        before, masses = (self._masses(column, weights) for weights in (self.prior_weights, self.weights))
        return [(bin_name(prior, bin), one, other) for bin, (one, other) in enumerate(zip(before, masses))]

    def region(self, unknown: str, level: float = 0.95) -> Region:
        """The credible region of an unknown: of a number without as much on either side, of a choice the likeliest options."""
        return self._region(unknown, self.weights, level)

    def probability(self, finding: int, weights: Optional[Sequence[float]] = None) -> float:
        """How probable it is that a finding comes out as observed."""
        weights = self.weights if weights is None else weights
        return math.fsum(weights[index] for index in self._agreeing[finding])

    def joint(self, findings: Sequence[int], weights: Optional[Sequence[float]] = None) -> list[list[float]]:
        """For each two findings the probability that both come out as observed."""
        weights = self.weights if weights is None else weights
        sets = [self._agreeing[finding] for finding in findings]
        return [[math.fsum(weights[index] for index in one & other) for other in sets] for one in sets]

    def predictions(self) -> list[Predicted]:
        """Every finding, under the prior, under the posterior, and under the posterior of all the others."""
        rows = []
        for column, finding in enumerate(self.findings):
            posterior = self.probability(column)
            rows.append(
                Predicted(
                    finding.id,
                    finding.text,
                    finding.held_out,
                    self.probability(column, self.prior_weights),
                    posterior,
                    posterior if finding.held_out else self.probability(column, self._without(column).weights),
                    self._guessed(column),
                )
            )
        return rows

    def score(self, rows: Iterable[Predicted]) -> Optional[Score]:
        """How well these are predicted, each from the others; None if there are none."""
        rows = list(rows)
        if not rows:
            return None
        size = len(rows)
        guesses = [row.guess for row in rows if row.guess is not None]
        return Score(
            size,
            sum(row.prior for row in rows) / size,
            sum(row.without for row in rows) / size,
            sum(guesses) / size if len(guesses) == size else None,
            sum((1.0 - row.prior) ** 2 for row in rows) / size,
            sum((1.0 - row.without) ** 2 for row in rows) / size,
        )

    def explained(self) -> list[Explained]:
        """The unknowns, the one that the claims say most about first."""
        rows = []
        for column, (name, prior) in enumerate(self.job.study.unknowns.items()):
            # What a testbed refuses is no gain: no claim excludes it.
            before, masses = (self._masses(column, weights) for weights in (self.prior_weights, self.weights))
            gain = sum(mass * math.log2(mass / prior_mass) for prior_mass, mass in zip(before, masses) if mass > 0.0)
            # A sample of this size would move it that far by chance alone (Miller and Madow).
            gain -= (prior.bins - 1) / (2.0 * max(self.ess, 1.0) * math.log(2.0))
            rows.append(Explained(name, max(0.0, gain), self._variance(column), self._tells(column)))
        return sorted(rows, key=lambda row: (-row.gain_bits, -row.tells_bits, row.unknown))

    def contradictions(self) -> list[Together]:
        """Findings that never came out together in any sample, though each did so often that it would be expected."""
        known = len(self.samples) - self.refused
        rows = []
        for first, one in enumerate(self.findings):
            for second in range(first + 1, len(self.findings)):
                mine, other = self._agreeing[first], self._agreeing[second]
                expected = len(mine) * len(other) / known
                if expected >= LIKELY and not mine & other:
                    rows.append(Together(one.id, self.findings[second].id, len(mine), len(other), expected))
        return sorted(rows, key=lambda row: -row.expected)

    def never(self) -> list[str]:
        """The findings that no sample gives."""
        return [finding.id for column, finding in enumerate(self.findings) if not self._agreeing[column]]

    def best(self) -> tuple[int, list[str]]:
        """The sample with which most findings come out together, and which; the first of several."""
        counts = [sum(index in agreeing for agreeing in self._agreeing) for index in range(len(self.samples))]
        index = counts.index(max(counts))
        return index, [one.id for one, agreeing in zip(self.findings, self._agreeing) if index in agreeing]

    def calibrate(self, level: float = 0.95, *, truths_max: int = 50) -> Coverage:
        """Takes samples from the prior, one by one, as if they were the truth: the settings are known then, and are to be found
        again from what their runs say, by all the other samples.
        """
        inside = of = 0
        likelihood = self.job.likelihood
        for truth, sample in enumerate(self.samples):
            found = self._found[truth]
            if sample.round > 0 or found is None or of >= truths_max * len(self.unknowns):
                continue
            as_if = Likelihood(tuple(found), likelihood.counts, likelihood.error, likelihood.ess_min)
            weights = self._weigh(as_if, leave_out=truth).weights
            for unknown, value in self.settings(truth).items():
                inside += value in self._region(unknown, weights, level)
                of += 1
        if of == 0:
            raise InferenceError("no sample of the first round is allowed; there is nothing to calibrate with")
        return Coverage(level, inside, of)

    @cached_property
    def _agreeing(self) -> list[frozenset[int]]:
        """For each finding the samples with which it is as observed: holds where it is observed to hold, and fails where not."""
        sets = []
        for column, theirs in enumerate(self.job.likelihood.observed):
            pairs = enumerate(self._found)
            sets.append(
                frozenset(index for index, one in pairs if one is not None and (one[column] == 0.0) == (theirs == 0.0))
            )
        return sets

    def _column(self, unknown: str) -> int:
        if unknown not in self.job.study.unknowns:
            raise InferenceError(f"{unknown} is none of the unknowns {', '.join(self.unknowns)}")
        return self.unknowns.index(unknown)

    def _weigh(self, likelihood: Likelihood, *, leave_out: Optional[int] = None) -> Weighed:
        distances = [None if found is None else likelihood.distance(found) for found in self._found]
        if leave_out is not None:
            distances[leave_out] = None
        return weigh(self._before, distances, likelihood)

    def _without(self, column: int) -> Weighed:
        likelihood = self.job.likelihood
        counts = tuple(counts and other != column for other, counts in enumerate(likelihood.counts))
        return self._weigh(Likelihood(likelihood.observed, counts, likelihood.error, likelihood.ess_min))

    def _guessed(self, column: int) -> Optional[bool]:
        if self.guess is None:
            return None
        return (self.guess[column] == 0.0) == (self.job.likelihood.observed[column] == 0.0)

    def _masses(self, column: int, weights: Sequence[float]) -> list[float]:
        prior = self.job.study.unknowns[self.unknowns[column]]
        masses = [0.0] * prior.bins
        for sample, weight in zip(self.samples, weights):
            masses[bin_of(prior, sample.positions[column])] += weight
        return masses

    def _region(self, unknown: str, weights: Sequence[float], level: float) -> Region:
        if not 0.0 < level < 1.0:
            raise InferenceError(f"the level is {level}; a number between 0 and 1 is wanted")
        column, prior = self._column(unknown), self.job.study.unknowns[unknown]
        if isinstance(prior, Choice):
            masses = self._masses(column, weights)
            order = sorted(range(prior.bins), key=lambda bin: -masses[bin])
            options, sum_ = [], 0.0
            for bin in order:
                options.append(prior.values[bin])
                sum_ += masses[bin]
                if sum_ >= level:
                    break
            return Region(level, options=tuple(options))
        pairs = sorted((sample.positions[column], weight) for sample, weight in zip(self.samples, weights))
        low, high = _quantile(pairs, (1.0 - level) / 2.0), _quantile(pairs, (1.0 + level) / 2.0)
        return Region(level, prior.value(low), prior.value(high))

    def _variance(self, column: int) -> float:
        """Pearson's correlation ratio of the distance on the bins, less what bins without meaning would explain."""
        prior = self.job.study.unknowns[self.unknowns[column]]
        likelihood, sums = self.job.likelihood, [[0.0, 0.0] for _ in range(prior.bins)]
        total = square = 0.0
        for sample, found, weight in zip(self.samples, self._found, self.prior_weights):
            if found is None:
                continue
            distance = likelihood.distance(found)
            bin = bin_of(prior, sample.positions[column])
            sums[bin][0] += weight
            sums[bin][1] += weight * distance
            total += weight * distance
            square += weight * distance * distance
        variance = square - total * total
        size = _size(self.prior_weights)
        if variance <= 0.0 or size <= prior.bins:
            return 0.0
        between = sum(sum_ * sum_ / mass for mass, sum_ in sums if mass > 0.0) - total * total
        return max(0.0, 1.0 - (1.0 - between / variance) * (size - 1.0) / (size - prior.bins))

    def _tells(self, column: int) -> float:
        prior, weights = self.job.study.unknowns[self.unknowns[column]], self.prior_weights
        masses, size, bits = self._masses(column, weights), _size(weights), 0.0
        bins = [bin_of(prior, sample.positions[column]) for sample in self.samples]
        for agreeing in self._agreeing:
            both = [0.0] * prior.bins
            for index in agreeing:
                both[bins[index]] += weights[index]
            share = sum(both)
            if not 0.0 < share < 1.0:
                continue
            mutual = _entropy(share) - sum(
                mass * _entropy(joint / mass) for mass, joint in zip(masses, both) if mass > 0.0
            )
            bits += max(0.0, mutual - (prior.bins - 1) / (2.0 * size * math.log(2.0)))
        return bits


def _size(weights: Sequence[float]) -> float:
    return 1.0 / sum(weight * weight for weight in weights)


def _quantile(pairs: Sequence[tuple[float, float]], level: float) -> float:
    """
    >>> _quantile([(0.1, 0.5), (0.2, 0.25), (0.3, 0.25)], 0.6)
    0.2
    """
    total = sum(weight for _, weight in pairs)
    sum_ = 0.0
    for position, weight in pairs:
        sum_ += weight
        if sum_ >= level * total:
            return position
    return pairs[-1][0]


def _entropy(share: float) -> float:
    """Bits of a coin.

    >>> _entropy(0.5), _entropy(1.0)
    (1.0, 0.0)
    """
    share = min(1.0, max(0.0, share))
    return sum(one * math.log2(1.0 / one) for one in (share, 1.0 - share) if one > 0.0)

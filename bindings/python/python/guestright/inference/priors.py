"""What may be believed of a setting before the claims are looked at.

Every prior maps the unit interval to values, and cuts it into a few bins, so that a posterior over settings of any kind is a
posterior over a cube of numbers from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

Value = Union[bool, int, float, str]

BINS = 8
"""Into how many bins of equal prior mass the values of a number are cut."""
OPTIONS_MAX = 64
"""The most options of a choice."""


class InferenceError(ValueError):
    """An inference is not asked for sensibly, or cannot go on; the text says what to do."""


@dataclass(frozen=True)
class Uniform:
    """Any number from `low` to `high`, one as likely as another.

    >>> Uniform(0.0, 10.0).value(0.25)
    2.5
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _ends(self.low, self.high)

    @property
    def bins(self) -> int:
        return BINS

    def value(self, position: float) -> Value:
        return self.low + position * (self.high - self.low)

    def position(self, value: Value) -> float:
        return _inside((_number(value) - self.low) / (self.high - self.low))


@dataclass(frozen=True)
class LogUniform:
    """Any number from `low` to `high`, both above 0; each factor as likely as another.

    >>> round(LogUniform(1.0, 100.0).value(0.5), 6)
    10.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _ends(self.low, self.high, above_zero=True)

    @property
    def bins(self) -> int:
        return BINS

    def value(self, position: float) -> Value:
        number = self.low * math.pow(self.high / self.low, position)
        return min(self.high, max(self.low, number))

    def position(self, value: Value) -> float:
        number = _number(value)
        return _inside(math.log(number / self.low) / math.log(self.high / self.low)) if number > 0 else 0.0


@dataclass(frozen=True)
class Integer:
    """A whole number from `low` to `high`, both included; with `log` each factor as likely as another.

    >>> [Integer(1, 4).value(position) for position in (0.0, 0.3, 0.6, 0.99)]
    [1, 2, 3, 4]
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _ends(self.low - 0.5, self.high + 0.5, above_zero=self.log)

    @property
    def bins(self) -> int:
        return min(BINS, self.high - self.low + 1)

    def value(self, position: float) -> Value:
        low, high = self.low - 0.5, self.high + 0.5
        number = low * math.pow(high / low, position) if self.log else low + position * (high - low)
        return min(self.high, max(self.low, math.floor(number + 0.5)))

    def position(self, value: Value) -> float:
        low, high, number = self.low - 0.5, self.high + 0.5, _number(value)
        if self.log:
            return _inside(math.log(number / low) / math.log(high / low)) if number > 0 else 0.0
        return _inside((number - low) / (high - low))


@dataclass(frozen=True)
class Choice:
    """One of some values, as likely as their `weights` say; all the same without.

    >>> one = Choice(["pareto", "exponential"], [3, 1])
    >>> one.value(0.7), one.value(0.8)
    ('pareto', 'exponential')
    """

    values: Sequence[Value]
    weights: Sequence[float] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= OPTIONS_MAX:
            raise InferenceError(f"a choice has {len(self.values)} values; from 1 to {OPTIONS_MAX} are wanted")
        weights = self.weights
        if weights and (len(weights) != len(self.values) or not all(0 < weight < math.inf for weight in weights)):
            raise InferenceError("a choice wants as many weights as values, all above 0")

    @property
    def bins(self) -> int:
        return len(self.values)

    @property
    def masses(self) -> list[float]:
        weights = list(self.weights) or [1.0] * len(self.values)
        return [weight / sum(weights) for weight in weights]

    def value(self, position: float) -> Value:
        return self.values[bin_of(self, position)]

    def position(self, value: Value) -> float:
        if value not in self.values:
            raise InferenceError(f"{value!r} is none of {list(self.values)}")
        index = list(self.values).index(value)
        return sum(self.masses[:index]) + self.masses[index] / 2


Prior = Union[Uniform, LogUniform, Integer, Choice]


def mass_of(prior: Prior, bin: int) -> float:
    """How likely a bin is before the claims are looked at."""
    return prior.masses[bin] if isinstance(prior, Choice) else 1.0 / prior.bins


def bin_of(prior: Prior, position: float) -> int:
    """The bin of a position.

    >>> bin_of(Uniform(0, 1), 0.99), bin_of(Choice(["a", "b"]), 0.2)
    (7, 0)
    """
    if not isinstance(prior, Choice):
        return min(prior.bins - 1, int(position * prior.bins))
    end = 0.0
    for index, mass in enumerate(prior.masses):
        end += mass
        if position < end:
            return index
    return prior.bins - 1


def within(prior: Prior, bin: int, share: float) -> float:
    """The position at a `share` of a bin.

    >>> within(Uniform(0, 1), 1, 0.5)
    0.1875
    """
    start = sum(mass_of(prior, before) for before in range(bin))
    # What rounding makes of the end of a bin belongs to the next one.
    return min(start + share * mass_of(prior, bin), math.nextafter(1.0, 0.0))


def bin_name(prior: Prior, bin: int) -> str:
    """What a bin holds, in words.

    >>> bin_name(Integer(1, 3), 1), bin_name(Uniform(0, 8), 2)
    ('2', '2 to 3')
    """
    if isinstance(prior, Choice):
        return str(prior.values[bin])
    low, high = prior.value(bin / prior.bins), prior.value((bin + 1) / prior.bins - 1e-9)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def read_prior(table: dict[str, Any], where: str) -> Prior:
    """A prior as a study's file has it.

    >>> read_prior({"prior": "integer", "low": 10, "high": 500, "log": True}, "x")
    Integer(low=10, high=500, log=True)
    """
    kinds: dict[str, Any] = {"uniform": Uniform, "log-uniform": LogUniform, "integer": Integer, "choice": Choice}
    kind = table.get("prior")
    if kind not in kinds:
        raise InferenceError(f"{where}: the prior is {kind!r}; one of {', '.join(kinds)} is wanted")
    given = {key: value for key, value in table.items() if key not in ("setting", "prior", "reason")}
    try:
        prior: Prior = kinds[kind](**given)
    except (TypeError, InferenceError) as error:
        raise InferenceError(f"{where}: {error}") from error
    return prior


def _ends(low: float, high: float, *, above_zero: bool = False) -> None:
    if not (-math.inf < low < high < math.inf) or (above_zero and low <= 0):
        wanted = "numbers above 0" if above_zero else "numbers"
        raise InferenceError(f"a prior goes from {low} to {high}; {wanted} are wanted, the lower one first")


def _number(value: Value) -> float:
    if isinstance(value, str):
        raise InferenceError(f"{value!r} is not a number")
    return float(value)


def _inside(position: float) -> float:
    return min(1.0, max(0.0, position))

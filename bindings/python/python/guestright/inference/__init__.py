"""What a paper left out, inferred from what it says.

A paper claims things, and does not give every setting that they depend on. `infer` draws these settings from priors, runs the
paper's plans with each draw, and weighs the draws by how many of the claims come out: weighted samples of a posterior.

>>> import guestright
>>> from guestright.inference import Integer, infer
>>> plan = guestright.plan("paper-b/bound", seeds=1)
>>> posterior = infer(plan, {"packet_bytes": Integer(20, 400)}, leave_out=["*"])
Traceback (most recent call last):
guestright.inference.priors.InferenceError: the plans have no claims that can be judged

The repository's ``docs/inference.md`` says how it is meant, ``python -m guestright.inference --help`` how studies are run
from a file.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Optional, Union

from .._lab import Plan
from .posterior import Coverage, Explained, Posterior, Predicted, Region, Score, Together
from .priors import Choice, InferenceError, Integer, LogUniform, Prior, Uniform, Value
from .report import write_report
from .sampler import Job, Likelihood, Progress, Sample, sample
from .study import Part, Reading, Study, read_study, study_of

__all__ = [
    "Choice",
    "Coverage",
    "Explained",
    "InferenceError",
    "Integer",
    "LogUniform",
    "Part",
    "Posterior",
    "Predicted",
    "Prior",
    "Reading",
    "Region",
    "Sample",
    "Score",
    "Study",
    "Together",
    "Uniform",
    "Value",
    "infer",
    "infer_study",
    "read_study",
    "study_of",
    "truth_of",
    "write_report",
]


def infer(
    plan: Union[Plan, Sequence[Plan]],
    unknowns: Mapping[str, Prior],
    *,
    held_out: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    samples: int = 400,
    rounds: int = 4,
    seed: int = 1,
    error: float = 0.05,
    ess_min: float = 20.0,
    seconds_max: Optional[float] = None,
    threads: Optional[int] = None,
    address: Optional[str] = None,
    out: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> Posterior:
    """A posterior over settings that a paper does not give, from the claims of a plan, or of several.

    `unknowns` has a prior for each setting, by the names of the plan's testbed. Claims that match `held_out` are predicted and not
    fitted to, those that match `leave_out` not used at all; both are patterns of ``PLAN`` or ``PLAN/CLAIM``, by the
    plan's own name. Predictions of a plan are not claims.

    `samples` in so many `rounds`: two fifths of them in the first, from the prior. The same `seed` gives the same samples,
    on any number of `threads` and on Ray (`address`, as in `guestright.sweep`). `error` is how probable it is that the paper says
    something that its own simulator would not have shown, as we read it; `ess_min` is how many effective samples are kept at least.
    After `seconds_max` no other sample is begun.

    `out` is a file to which each sample is written at once; called again with it, only what is not there is made.

    Raises `InferenceError`, and `SettingError` for a setting that the testbed does not have.
    """
    study = study_of(plan, unknowns, held_out=held_out, leave_out=leave_out)
    return infer_study(
        study,
        samples=samples,
        rounds=rounds,
        seed=seed,
        error=error,
        ess_min=ess_min,
        seconds_max=seconds_max,
        threads=threads,
        address=address,
        out=out,
        progress=progress,
    )


def infer_study(
    study: Study,
    *,
    observed: Optional[Sequence[float]] = None,
    guess: Optional[Sequence[float]] = None,
    samples: int = 400,
    rounds: int = 4,
    seed: int = 1,
    error: float = 0.05,
    ess_min: float = 20.0,
    seconds_max: Optional[float] = None,
    threads: Optional[int] = None,
    address: Optional[str] = None,
    out: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> Posterior:
    """As `infer`, for a study that was read from a file or made by hand.

    `observed` is for each finding the share of its numbers that is outside of what is claimed; all 0, if it is not given: the
    paper says every one. `guess` is the same with what stands in the plans, to be compared with.
    """
    if not 0.0 < error < 0.5:
        raise InferenceError(f"the error is {error}; a number between 0 and 0.5 is wanted")
    if not 1.0 <= ess_min <= samples:
        raise InferenceError(f"ess_min is {ess_min}; a number from 1 to the {samples} samples is wanted")
    seen = tuple(observed) if observed is not None else (0.0,) * len(study.findings)
    if len(seen) != len(study.findings):
        raise InferenceError(f"{len(seen)} observations are given for {len(study.findings)} findings")
    counts = tuple(not finding.held_out for finding in study.findings)
    first, later = sizes(samples, rounds)
    job = Job(study, Likelihood(seen, counts, error, ess_min), first, later, rounds, seed, seconds_max)
    made, proposals = sample(job, out=out, threads=threads, address=address, progress=progress)
    return Posterior(job, made, proposals, None if guess is None else list(guess))


def sizes(samples: int, rounds: int) -> tuple[int, int]:
    """How many samples the first round has, and each later one: together as many as are asked for, or a few less.

    >>> sizes(400, 4)
    (160, 80)
    """
    if rounds < 1 or samples < rounds:
        raise InferenceError(f"{samples} samples in {rounds} rounds are asked for; at least one in each is wanted")
    if rounds == 1:
        return samples, 0
    later = max(1, samples * 3 // 5 // (rounds - 1))
    return samples - later * (rounds - 1), later


def truth_of(study: Study, seed: int) -> dict[str, Value]:
    """Settings from the prior, for a synthetic paper: what it claims is what its runs give, and the settings are to be found again."""
    rng = random.Random(f"truth/{seed}")
    return study.settings([rng.random() for _ in study.unknowns])

"""``python -m guestright.inference``: a study from its file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Optional

from .. import PlanError, SettingError
from . import InferenceError, Study, Value, infer_study, read_study, truth_of, write_report
from .sampler import Progress

EXAMPLE = """
examples:
  python -m guestright.inference experiments/inference/paper-c.toml --out paper-c
      what paper C left out, on all cores; begun again, it goes on where it was stopped
  python -m guestright.inference experiments/inference/paper-c.toml --out check --synthetic 1 --samples 400
      a paper that we make ourselves: are its settings found again?
"""


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs it; returns what the process ends with."""
    arguments = _parser().parse_args(words)
    try:
        _run(arguments)
    except (InferenceError, PlanError, SettingError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"stopped; the same command goes on with what {arguments.out} has", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m guestright.inference",
        description="Infers settings that a paper does not give from what it claims, and says how far the claims agree.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("study", help="its file: plans, claims and priors")
    add("--out", required=True, metavar="FOLDER", help="where samples.jsonl, report.md, posterior.json and figures go")
    add("--samples", type=int, metavar="N", help="how many samples (the file says, or 400)")
    add("--rounds", type=int, metavar="N", help="in how many rounds (the file says, or 4)")
    add("--seed", type=int, metavar="N", help="the same seed gives the same samples (the file says, or 1)")
    add("--threads", type=int, metavar="N", help="how many runs at a time (as many as there are cores)")
    add("--address", metavar="HOST:PORT", help="make the samples on a Ray cluster, or on `auto`")
    add("--seconds-max", type=float, metavar="S", help="begin no sample after this long, and report what there is")
    add("--set", action="append", default=[], metavar="SETTING=VALUE", help="a setting of the plans, such as duration_s=20")
    add("--synthetic", type=int, metavar="SEED", help="take what settings drawn from the prior give for what the paper says")
    return parser


def _run(arguments: argparse.Namespace) -> None:
    study = read_study(arguments.study, settings=dict(_setting(text) for text in arguments.set))
    os.makedirs(arguments.out, exist_ok=True)
    truth: Optional[dict[str, Value]] = None
    observed = None
    if arguments.synthetic is not None:
        truth = truth_of(study, arguments.synthetic)
        observed = _must(study, truth, arguments.threads)
    guess = study.found(_must(study, {}, arguments.threads), {})
    options = {"samples": 400, "rounds": 4, "seed": 1, **study.defaults}
    for name in ("samples", "rounds", "seed"):
        given = getattr(arguments, name)
        options[name] = options[name] if given is None else given
    posterior = infer_study(
        study,
        observed=None if observed is None or truth is None else study.found(observed, truth),
        guess=guess,
        seconds_max=arguments.seconds_max,
        threads=arguments.threads,
        address=arguments.address,
        out=os.path.join(arguments.out, "samples.jsonl"),
        progress=_progress(),
        **options,
    )
    write_report(posterior, arguments.out, truth=truth, guess=study.guess())
    print(f"{len(posterior.samples)} samples, effective {posterior.ess:.1f}: {os.path.join(arguments.out, 'report.md')}")


def _must(study: Study, settings: dict[str, Value], threads: Optional[int]) -> list[float]:
    outside = study.outside(settings, threads=threads)
    if isinstance(outside, str):
        raise InferenceError(f"the settings {settings or 'of the plans'} are refused: {outside}")
    return outside


def _progress() -> Progress:
    began, first = time.monotonic(), [0]

    def show(made: int, of: int) -> None:
        first[0] = first[0] or made - 1
        each = (time.monotonic() - began) / (made - first[0])
        ends = "\n" if made == of or not sys.stderr.isatty() else "\r"
        print(f"{made} of {of} samples, {each:.1f} s each, some {each * (of - made) / 60:.0f} min left", end=ends, file=sys.stderr)

    return show


def _setting(text: str) -> tuple[str, Value]:
    """
    >>> _setting("duration_s=20"), _setting("source.kind=pareto")
    (('duration_s', 20), ('source.kind', 'pareto'))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InferenceError(f"--set {text}: SETTING=VALUE is wanted")
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = value
    if not isinstance(parsed, (bool, int, float, str)):
        raise InferenceError(f"--set {text}: a number, true, false or a word is wanted")
    return name, parsed


if __name__ == "__main__":
    sys.exit(main())

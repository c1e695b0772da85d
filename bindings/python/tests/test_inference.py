"""What a paper left out, found again where it is known."""

from __future__ import annotations

import json
import math
import pathlib
import random
import subprocess
import sys
from typing import Optional

import pytest

import guestright
from guestright.inference import (
    Choice,
    InferenceError,
    Integer,
    LogUniform,
    Posterior,
    Prior,
    Uniform,
    infer,
    infer_study,
    read_study,
    study_of,
    write_report,
)
from guestright.inference.priors import bin_of, mass_of, within
from guestright.inference.sampler import Likelihood, Proposal, weigh

STUDIES = pathlib.Path(__file__).parents[3] / "experiments" / "inference"

# A tunnel's overhead is arithmetic: which sizes a claim allows is known exactly.
SIZES = """
name = "sizes"
title = "t"
question = "q"
testbed = "overhead"
seeds = 1

[[claim]]
id = "size"
text = "what is on the wire has so many bytes"
of = "wire_bytes"
{band}

[[claim]]
id = "large"
text = "it has many"
of = "wire_bytes"
above = 60000
"""
BAND = "between = [300, 500]"


def sizes(band: str = BAND) -> guestright.Plan:
    return guestright.plan(SIZES.format(band=band))


def outcome(posterior: Posterior) -> list[tuple[tuple[float, ...], Optional[tuple[float, ...]]]]:
    return [(sample.positions, sample.outside) for sample in posterior.samples]


# A bottleneck of which a paper gives no figure, and what it says of ten calls.
CALLS = """
name = "calls"
title = "t"
question = "q"
testbed = "transports"
seeds = 4
{chance}

[settings]
flows = 10
duration_s = 3
start.spread_s = 0.1

[[case]]
name = "udp"
settings = {{ transport = "udp" }}

[[case]]
name = "vegas"
settings = {{ transport = "vegas" }}
{claims}
"""
METRICS = ("goodput_kbps", "network_delay_p50_ms", "undelivered_rate")
TRUTH = {"first.rate_mbps": 0.2, "first.buffer": 20, "first.delay_ms": 10.0}
UNKNOWNS: dict[str, Prior] = {
    "first.rate_mbps": LogUniform(0.05, 5.0),
    "first.buffer": Integer(4, 200, log=True),
    "first.delay_ms": LogUniform(1.0, 100.0),
}


def synthetic_paper() -> guestright.Plan:
    """A paper on a topology that is known: its figures are from runs with other chance than those that are compared with."""
    known = guestright.plan(CALLS.format(chance="chance = 7", claims="")).with_settings(dict(TRUTH))
    table, claims = known.sweep(), []
    for case in known.cases:
        for metric in METRICS:
            pairs = zip(table.column("case"), table.column(metric))
            numbers = [float(number) for name, number in pairs if name == case and number is not None]
            mean = sum(numbers) / len(numbers)
            claims.append(
                f'[[claim]]\nid = "{case}-{metric.replace("_", "-")}"\ntext = "as printed"\nof = "{metric}"\ncase = "{case}"\n'
                f"published = {mean!r}\nwithin = {max(abs(mean) / 5, 0.03)!r}\n"
            )
    return guestright.plan(CALLS.format(chance="", claims="\n".join(claims)))


@pytest.fixture(scope="module")
def found() -> Posterior:
    return infer(synthetic_paper(), UNKNOWNS, samples=400, rounds=5, seed=3, ess_min=10)


def test_a_known_topology_is_found_again(found: Posterior) -> None:
    for name, value in TRUTH.items():
        assert value in found.region(name, 0.95), (name, found.region(name, 0.95))
    # The claims are about the bottleneck: of its rate they leave a small part of the prior.
    for level, part in ((0.95, 2), (0.5, 6)):
        region = found.region("first.rate_mbps", level)
        assert isinstance(region.low, float) and isinstance(region.high, float)
        assert math.log(region.high / region.low) < math.log(100.0) / part, region
    assert found.ess >= 10
    assert found.explained()[0].unknown in ("first.rate_mbps", "first.buffer")


def test_settings_that_are_known_lie_in_their_regions_as_often_as_these_say(found: Posterior) -> None:
    for level in (0.5, 0.95):
        coverage = found.calibrate(level, truths_max=40)
        assert coverage.of == 40 * len(UNKNOWNS)
        # Four deviations of as many throws of a coin; three unknowns of one truth are no independent throws.
        width = 4.0 * math.sqrt(level * (1.0 - level) / 40)
        assert abs(coverage.inside / coverage.of - level) < width, coverage


def test_weights_are_those_of_the_exact_posterior() -> None:
    """Every size is tried: the posterior is a sum over 400 sizes."""
    plan, error, sizes_of = sizes(), 0.05, range(101, 501)
    inside = 0
    for size in sizes_of:
        [verdict] = plan.with_settings({"packet_bytes": size}).sweep().verdicts(["size"])
        inside += verdict.holds
    assert 0 < inside < 400
    want = inside * (1 - error) / (inside * (1 - error) + (400 - inside) * error)
    unknowns: dict[str, Prior] = {"packet_bytes": Integer(sizes_of[0], sizes_of[-1])}
    posterior = infer(plan, unknowns, leave_out=["*/large"], samples=1_000, rounds=4, seed=1, error=error)
    assert posterior.weighed.sharpness == posterior.job.likelihood.sharpness_max
    deviation = math.sqrt(want * (1 - want) / posterior.ess)
    assert abs(posterior.probability(0) - want) < 4 * deviation
    assert abs(posterior.probability(0, posterior.prior_weights) - inside / 400) < 4 * math.sqrt(0.25 / 300)


def test_the_same_seed_gives_the_same_samples_on_any_number_of_threads() -> None:
    unknowns: dict[str, Prior] = {"packet_bytes": Integer(20, 1_000)}
    one, two = (infer(sizes(), unknowns, samples=40, rounds=3, seed=5, threads=threads) for threads in (1, 3))
    assert outcome(one) == outcome(two) and one.weights == two.weights
    other = infer(sizes(), unknowns, samples=40, rounds=3, seed=6)
    assert outcome(other) != outcome(one)


def test_what_was_stopped_goes_on(tmp_path: pathlib.Path) -> None:
    unknowns: dict[str, Prior] = {"packet_bytes": Integer(20, 1_000)}
    path, made = tmp_path / "samples.jsonl", []
    whole = infer(sizes(), unknowns, samples=60, rounds=3, seed=5, out=str(path), progress=lambda one, of: made.append(one))
    assert made == list(range(1, 61))
    lines = path.read_text().splitlines(keepends=True)
    # In the middle of the second round, in the middle of a line.
    path.write_text("".join(lines[:40]) + lines[40][:20])
    made.clear()
    again = infer(sizes(), unknowns, samples=60, rounds=3, seed=5, out=str(path), progress=lambda one, of: made.append(one))
    assert made == list(range(40, 61))
    assert outcome(again) == outcome(whole) and again.weights == whole.weights
    assert len(path.read_text().splitlines()) == 61


def test_samples_of_something_else_are_refused(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknowns: dict[str, Prior] = {"packet_bytes": Integer(20, 1_000)}
    path = tmp_path / "samples.jsonl"
    infer(sizes(), unknowns, samples=20, rounds=2, out=str(path))
    with pytest.raises(InferenceError, match="seed 1, not 2"):
        infer(sizes(), unknowns, samples=20, rounds=2, seed=2, out=str(path))
    with pytest.raises(InferenceError, match="digest"):
        infer(sizes(), {"packet_bytes": Integer(20, 999)}, samples=20, rounds=2, out=str(path))
    # A claim that was changed under the same id, and another version of the program.
    with pytest.raises(InferenceError, match="digest"):
        infer(sizes("between = [300, 600]"), unknowns, samples=20, rounds=2, out=str(path))
    with monkeypatch.context() as patched, pytest.raises(InferenceError, match="digest"):
        patched.setattr("guestright.inference.study.__version__", "another")
        infer(sizes(), unknowns, samples=20, rounds=2, out=str(path))
    lines = path.read_text().splitlines()
    for broken in ("{", "[]", '{"round": 0}', lines[1].replace('"positions": [', '"positions": [7.5, ')):
        path.write_text("\n".join([lines[0], broken, *lines[2:]]) + "\n")
        with pytest.raises(InferenceError, match=":2: "):
            infer(sizes(), unknowns, samples=20, rounds=2, out=str(path))


def test_settings_that_a_testbed_refuses_weigh_nothing() -> None:
    text = CALLS.format(chance="", claims='[[claim]]\nid = "c"\ntext = "t"\nof = "jain"\ncase = "udp"\nat_least = 0\n')
    plan = guestright.plan(text.replace("duration_s = 3", "duration_s = 0.2"))
    # Marks want another queue.
    posterior = infer(plan, {"ecn": Choice([False, True])}, samples=24, rounds=2, ess_min=1)
    refused = [sample for sample in posterior.samples if sample.outside is None]
    assert len(refused) == posterior.refused > 0 and all("ecn" in sample.refused for sample in refused)
    assert posterior.region("ecn", 0.95).options == (False,)
    # The claim does not depend on it: that no marks are left is the testbed's doing.
    assert posterior.marginal("ecn") == [("False", pytest.approx(1.0), pytest.approx(1.0)), ("True", 0.0, 0.0)]
    assert posterior.explained()[0].gain_bits == 0.0
    with pytest.raises(InferenceError, match="no sample is allowed"):
        infer(plan, {"ecn": Choice([True])}, samples=20, rounds=2)


def test_a_claim_that_is_held_out_is_predicted_and_not_fitted_to() -> None:
    unknowns: dict[str, Prior] = {"packet_bytes": Integer(20, 1_000)}
    posterior = infer(sizes(), unknowns, held_out=["sizes/large"], samples=200, rounds=2)
    size, large = posterior.predictions()
    assert (size.held_out, large.held_out) == (False, True)
    assert size.posterior > size.prior and large.posterior == 0.0
    # Alone, it is as probable as the prior has it: nothing else is fitted to.
    assert abs(size.without - size.prior) < 1e-9
    score = posterior.score([large])
    assert score is not None and (score.posterior, score.brier_posterior) == (0.0, 1.0)
    fitted = infer(sizes(), unknowns, samples=200, rounds=2)
    assert fitted.never() == ["sizes/large"]


def test_what_cannot_be_true_together_is_named() -> None:
    text = SIZES.format(band="at_most = 200").replace("above = 60000", "at_least = 500")
    posterior = infer(guestright.plan(text), {"packet_bytes": Integer(20, 1_000)}, samples=200, rounds=2)
    [pair] = posterior.contradictions()
    assert {pair.one, pair.other} == {"sizes/size", "sizes/large"} and pair.expected > 3
    assert posterior.joint([0, 1])[0][1] == 0.0
    assert len(posterior.best()[1]) == 1


def test_a_claim_that_is_used_twice_under_one_label_is_refused() -> None:
    with pytest.raises(InferenceError, match="the claim size is used twice under the label sizes; give each plan a label"):
        study_of([sizes(), sizes("at_most = 200")], {"packet_bytes": Integer(20, 1_000)})


def test_what_makes_no_sense_is_refused() -> None:
    unknowns: dict[str, Prior] = {"packet_bytes": Integer(20, 1_000)}
    with pytest.raises(guestright.SettingError, match="did you mean `packet_bytes`"):
        infer(sizes(), {"packet_byte": Integer(20, 1_000)})
    with pytest.raises(InferenceError, match="from 1 to 64"):
        infer(sizes(), {})
    with pytest.raises(InferenceError, match="held out"):
        infer(sizes(), unknowns, held_out=["sizes"])
    with pytest.raises(InferenceError, match="at most 100000"):
        infer(sizes(), unknowns, samples=1_000_000)
    with pytest.raises(InferenceError, match="from 1 to the 10 samples"):
        infer(sizes(), unknowns, samples=10)
    with pytest.raises(ValueError, match="several values of `packet_bytes`"):
        study_of(guestright.plan("paper-c/2-packet-size", quick=True), {"packet_bytes": Integer(100, 200)})
    for wrong in (lambda: Uniform(2, 1), lambda: LogUniform(0, 1), lambda: Choice([]), lambda: Choice([1, 2], [1, 0])):
        with pytest.raises(InferenceError):
            wrong()


@pytest.mark.parametrize(
    "prior",
    [Uniform(-1.0, 3.0), LogUniform(0.1, 50.0), Integer(10, 500, log=True), Integer(1, 3), Choice(["a", "b", "c"], [1, 2, 5])],
)
def test_a_prior_is_what_it_says(prior: Prior) -> None:
    rng = random.Random(1)
    assert math.isclose(sum(mass_of(prior, bin) for bin in range(prior.bins)), 1.0)
    for _ in range(500):
        position = rng.random()
        value = prior.value(position)
        assert prior.value(prior.position(value)) == pytest.approx(value)
        bin = bin_of(prior, position)
        assert bin_of(prior, within(prior, bin, rng.random())) == bin


def test_a_proposal_draws_as_densely_as_it_says() -> None:
    priors: list[Prior] = [Choice(["a", "b"]), Integer(1, 3)]
    proposal, rng = Proposal(((0.9, 0.1), (0.2, 0.2, 0.6))), random.Random(2)
    draws = [proposal.draw(priors, rng) for _ in range(20_000)]
    # Weighed by the inverse of its density it is the prior again.
    weights = [1.0 / proposal.ratio(priors, draw) for draw in draws]
    for option, want in (("a", 0.5), ("b", 0.5)):
        got = sum(weight for draw, weight in zip(draws, weights) if priors[0].value(draw[0]) == option)
        assert abs(got / len(draws) - want) < 0.02
    assert max(weights) <= 4.0, "a quarter is from the prior"


def test_a_likelihood_is_as_sharp_as_the_samples_bear() -> None:
    likelihood = Likelihood((0.0,), (True,), error=0.05, ess_min=5.0)
    weighed = weigh([1.0] * 10, [float(number) for number in range(10)], likelihood)
    assert weighed.ess == pytest.approx(5.0, abs=0.01) and 0 < weighed.sharpness < likelihood.sharpness_max
    assert list(weighed.weights) == sorted(weighed.weights, reverse=True)


def test_a_report_has_what_was_found(found: Posterior, tmp_path: pathlib.Path) -> None:
    text = write_report(found, str(tmp_path), truth=TRUTH)
    assert (tmp_path / "report.md").read_text() == text
    assert f"{len(TRUTH)} of {len(TRUTH)} known settings lie in their 95 % regions" in text
    numbers = json.loads((tmp_path / "posterior.json").read_text())
    assert numbers["samples"] == len(found.samples) and set(numbers["unknowns"]) == set(UNKNOWNS)
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert {f"marginal-{name}.svg" for name in UNKNOWNS} | {"explained.svg", "map-unknowns.svg"} <= set(pictures)
    assert all(path.read_text().startswith("<svg") for path in tmp_path.glob("*.svg"))
    columns = found.columns()
    assert {len(column) for column in columns.values()} == {len(found.samples)}
    assert sum(float(weight) for weight in columns["weight"]) == pytest.approx(1.0)


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_repositorys_studies_can_be_run(path: pathlib.Path) -> None:
    study = read_study(path)
    assert set(study.reasons) == set(study.unknowns) and all(len(reason) > 10 for reason in study.reasons.values())
    assert any(finding.held_out for finding in study.findings)
    assert set(study.guess()) == set(study.unknowns)


def test_paper_cs_study_has_its_unknowns_and_both_readings() -> None:
    study = read_study(STUDIES / "paper-c.toml")
    assert len(study.unknowns) == 28, "27, and the reading of the index"
    assert study.reading is not None and study.reading.setting == "index"
    twice = [finding for finding in study.findings if len(finding.claims) == 2]
    assert len(study.findings) + len(twice) == sum(len(part.claims) for part in study.parts)
    outside = [0.0] * sum(len(part.claims) for part in study.parts)
    outside[twice[0].claims["deadline"]] = 1.0
    column = study.findings.index(twice[0])
    assert [study.found(outside, {"index": reading})[column] for reading in ("sent", "deadline")] == [0.0, 1.0]


STUDY = """
name = "small"
[run]
samples = 30
rounds = 2
[[plan]]
plan = "{plan}"
label = "sizes"
[[unknown]]
setting = "packet_bytes"
prior = "integer"
low = 20
high = 1000
reason = "nobody says"
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "guestright.inference", *words], capture_output=True, text=True)


def test_a_study_is_run_from_its_file_and_goes_on(tmp_path: pathlib.Path) -> None:
    (tmp_path / "plan.toml").write_text(SIZES.format(band=BAND))
    (tmp_path / "study.toml").write_text(STUDY.format(plan=tmp_path / "plan.toml"))
    words = [str(tmp_path / "study.toml"), "--out", str(tmp_path / "out")]
    first = run(*words)
    assert first.returncode == 0 and "30 samples" in first.stdout, first.stderr
    assert "30 of 30 samples" in first.stderr
    report = (tmp_path / "out" / "report.md").read_text()
    again = run(*words)
    assert "of 30 samples" not in again.stderr and (tmp_path / "out" / "report.md").read_text() == report
    synthetic = run(*words[:1], "--out", str(tmp_path / "synthetic"), "--synthetic", "1")
    assert "known settings lie in" in (tmp_path / "synthetic" / "report.md").read_text(), synthetic.stderr
    other = run(*words, "--seed", "2")
    assert other.returncode == 1 and "another --out" in other.stderr
    nothing = run(str(tmp_path / "none.toml"), "--out", str(tmp_path / "out"))
    assert nothing.returncode == 1 and "none.toml" in nothing.stderr
    assert "example" in run("--help").stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("integer", "integral"), "one of uniform"),
        (("low = 20\n", ""), "low"),
        (('setting = "packet_bytes"', 'name = "packet_bytes"'), "`setting` is not there"),
        (("rounds = 2", "rounds ="), "line 5"),
        (("low = 20\n", "low = 2000\n"), "lower one first"),
        (("samples = 30", "sample = 30"), r"\[run\] has no `sample`; samples, rounds, seed, error, ess_min are possible"),
        (("samples = 30", 'samples = "many"'), r"`samples` of \[run\] is 'many'; a whole number is wanted"),
        (("samples = 30", "error = true"), r"`error` of \[run\] is True; a number is wanted"),
        (("samples = 30", "seed = 1.5"), r"`seed` of \[run\] is 1.5; a whole number is wanted"),
        (("[run]\nsamples = 30\nrounds = 2", "run = 3"), r"a table \[run\] is wanted"),
    ],
)
def test_a_mistake_in_a_study_is_named(tmp_path: pathlib.Path, change: tuple[str, str], words: str) -> None:
    (tmp_path / "plan.toml").write_text(SIZES.format(band=BAND))
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(plan=tmp_path / "plan.toml").replace(*change))
    with pytest.raises(InferenceError, match=words) as raised:
        read_study(path)
    assert str(path) in str(raised.value)


def test_what_is_observed_need_not_be_what_is_claimed() -> None:
    study = study_of(sizes(), {"packet_bytes": Integer(20, 1_000)})
    posterior = infer_study(study, observed=[1.0, 1.0], samples=100, rounds=2)
    assert posterior.predictions()[0].posterior > 0.8
    for index in range(5):
        size = posterior.settings(index)["packet_bytes"]
        assert isinstance(size, int) and 20 <= size <= 1_000

"""The E-model, against figures that are printed in the standards."""

from __future__ import annotations

import pytest

import guestright


def test_the_defaults_are_the_standards() -> None:
    # ITU-T G.107 (06/2015), section 7.7: all defaults give R = 93.2; annex B turns that into 4.41.
    rating = guestright.emodel()
    assert (round(rating.r, 1), round(rating.mos, 2)) == (93.2, 4.41)


def test_a_codec_costs_its_published_impairment() -> None:
    # ITU-T G.113 (11/2007), Table I.1: Ie of G.729A is 11.
    assert guestright.emodel().r - guestright.emodel("g729a").r == pytest.approx(11, abs=0.05)


def test_loss_delay_and_bursts_hurt() -> None:
    good = guestright.emodel("g729a", delay_ms=20)
    assert guestright.emodel("g729a", delay_ms=400).r < good.r
    lossy = guestright.emodel("g729a", delay_ms=20, loss=0.05)
    assert guestright.emodel("g729a", delay_ms=20, loss=0.05, burst_ratio=2.0).r < lossy.r < good.r


@pytest.mark.parametrize("codec", ["no-such", "g722"])
def test_what_cannot_be_rated_is_refused(codec: str) -> None:
    with pytest.raises(ValueError):
        guestright.emodel(codec)
    with pytest.raises(TypeError, match="ie_"):
        guestright.emodel(ie_=3.0)


def test_what_the_standard_does_not_permit_is_named() -> None:
    assert any("Ta" in sentence or "T " in sentence for sentence in guestright.emodel(delay_ms=2_000).outside)


def test_every_rateable_codec_is_rated() -> None:
    rateable = [name for name, can in guestright.codecs().items() if can]
    assert len(rateable) > 5
    assert all(0 < guestright.emodel(name).r < 93.3 for name in rateable)

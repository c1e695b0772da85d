"""Receipts, against the repository's vectors (docs/vectors)."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

import guestright

VECTORS = pathlib.Path(__file__).parents[3] / "docs" / "vectors"


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text())


@pytest.mark.parametrize("vector", vectors("keys")["keys"], ids=lambda vector: vector["name"])
def test_keys_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    key = guestright.Key(bytes.fromhex(vector["secret"]), vector["suite"])
    assert (key.public.hex(), key.team_id, key.suite) == (vector["public"], vector["id"], vector["suite"])
    assert key.secret.hex() == vector["secret"] and vector["secret"] not in repr(key)


@pytest.mark.parametrize("vector", vectors("receipts")["receipts"], ids=lambda vector: vector["name"])
def test_receipts_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    certificate = guestright.Certificate(bytes.fromhex(vector["certificate"]))
    encoded = bytes.fromhex(vector["encoded"])
    receipt = guestright.verify_receipt(encoded, certificate, now=vectors("receipts")["now"])
    assert bytes(receipt) == encoded
    assert (receipt.provider, receipt.consumer) == (vector["provider"], vector["consumer"])
    assert (receipt.started, receipt.weight) == (vector["started"], vector["weight"])


REFUSED = [vector for vector in vectors("negative")["refused"] if vector["object"] in ("receipt", "certificate")]


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: vector["name"])
def test_what_is_refused_has_the_kind_of_the_vectors(vector: dict[str, Any]) -> None:
    encoded, now = bytes.fromhex(vector["bytes"]), vectors("negative")["now"]
    with pytest.raises(guestright.RefusedError) as raised:
        if vector["object"] == "certificate":
            guestright.Certificate(encoded)
        else:
            guestright.verify_receipt(encoded, guestright.Certificate(bytes.fromhex(vector["certificate"])), now=now)
    assert raised.value.kind == vector["kind"]


def test_a_receipt_is_made_signed_and_verified() -> None:
    team, guest, provider = (guestright.Key(bytes([number]) * 32) for number in (1, 2, 3))
    start = 1_800_000_000
    certificate = team.certify(guest.public, not_before=start - 100, not_after=start + 100)
    receipt = guest.sign_receipt(certificate, provider.team_id, start, 25_000_000)
    again = guestright.verify_receipt(bytes(receipt), guestright.Certificate(bytes(certificate)), now=start + 60)
    assert (again.weight, again.consumer, again.provider) == (25_000_000, team.team_id, provider.team_id)
    forged = bytearray(bytes(receipt))
    forged[-1] ^= 1
    with pytest.raises(guestright.RefusedError) as raised:
        guestright.verify_receipt(bytes(forged), certificate, now=start)
    assert raised.value.kind == "forged"
    with pytest.raises(ValueError, match="another key"):
        provider.sign_receipt(certificate, provider.team_id, start, 1)

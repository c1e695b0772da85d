"""Signed objects, bundles and what makes a receipt count: sections 5 and 6 of note 0001. Holds: note 0010. Renewal: note 0012."""

import functools
import hashlib

from . import need
from .cbor import decode, encode, is_bytes, is_integer, is_number, open_sign1, signed_bytes
from .keys import LIVE, SUITES, key_id, member_id, read_key, verify

ROLES = {1: "member", 2: "access point", 3: "home"}
CLASSES = ("lowest", "low", "middle", "high", "own")
CERTIFICATE_MAX, WARRANT_MAX = 1024, 256
SKEW, AGE_MAX = 600, 400 * 86400
HOLD_MIN, HOLD_MAX, BETWEEN_MAX = 64 * 1024, 64_000_000, 3
HOLD_MESSAGES = {1: "HOLD", 2: "GOOD", 3: "REFUSED", 4: "COMMIT", 5: "DONE"}


class Program:
    """What differs from program to program: which suites it was built with."""

    def __init__(self, legacy_suites=True):
        self.suites = frozenset(SUITES if legacy_suites else LIVE)

    def read_key(self, algorithm, encoded):
        need(algorithm in self.suites, "unknown-suite")
        return read_key(algorithm, encoded)

    def read_certified(self, suite, key):
        """A key beside its suite, as two fields."""
        need(is_integer(suite))
        need(suite in self.suites, "unknown-suite")
        need(is_bytes(key))
        read_key(suite, key)

    @functools.lru_cache(maxsize=None)
    def read_certificate(self, encoded):
        opened = open_sign1(encoded, CERTIFICATE_MAX, self.suites)
        if len(opened[1]) == 4:
            return self.read_renewed(encoded, *opened)
        certificate, claim = self.read_original(encoded, *opened)
        verify(*claim)
        return certificate

    def read_original(self, encoded, algorithm, items, payload, signature):
        """What the team itself has signed, and what there is to verify."""
        need(len(items) == 6)
        role, team, suite, subject, not_before, not_after = items
        need(is_number(role) and role in ROLES and is_bytes(team))
        read_key(algorithm, team)
        self.read_certified(suite, subject)
        need(is_number(not_before) and is_number(not_after) and not_before <= not_after)
        read = {"role": ROLES[role], "team": (algorithm, team), "subject": (suite, subject),
                "not_before": not_before, "not_after": not_after, "digest": hashlib.sha256(encoded).digest()}
        return read, (algorithm, team, signed_bytes(algorithm, "certificate", b"", payload), signature)

    def read_renewed(self, encoded, algorithm, items, payload, signature):
        """Note 0012, section 4, in its order: form and limits before any signature."""
        original, warrant, not_before, not_after = items
        need(is_bytes(original) and is_bytes(warrant))
        need(is_number(not_before) and is_number(not_after) and not_before <= not_after)
        read, claim = self.read_original(original, *open_sign1(original, CERTIFICATE_MAX, self.suites))
        word, word_claim = self.read_warrant(warrant)
        need(word["team"] == read["team"])
        life = not_after - not_before
        need(life <= read["not_after"] - read["not_before"] and not_before >= read["not_before"], "exceeded")
        need(life <= word["life_max"], "exceeded")
        need(word["not_before"] <= not_before and not_after <= word["not_after"], "exceeded")
        verify(*word_claim)
        verify(*claim)
        suite, renewing = word["renewing"]
        need(algorithm == suite, "wrong-suite")
        verify(suite, renewing, signed_bytes(algorithm, "renewal", b"", payload), signature)
        return read | {"not_before": not_before, "not_after": not_after, "warrant": word,
                       "digest": hashlib.sha256(encoded).digest()}

    def read_warrant(self, encoded):
        """A team's word for a renewing key, and what there is to verify."""
        algorithm, items, payload, signature = open_sign1(encoded, WARRANT_MAX, self.suites)
        need(len(items) == 6)
        team, suite, renewing, not_before, not_after, life_max = items
        need(is_bytes(team))
        read_key(algorithm, team)
        self.read_certified(suite, renewing)
        need(is_number(not_before) and is_number(not_after) and is_number(life_max) and not_before <= not_after)
        need((algorithm, team) != (suite, renewing))
        word = {"team": (algorithm, team), "renewing": (suite, renewing), "not_before": not_before,
                "not_after": not_after, "life_max": life_max}
        return word, (algorithm, team, signed_bytes(algorithm, "warrant", b"", payload), signature)

    def read_revocations(self, encoded):
        algorithm, items, payload, signature = open_sign1(encoded, 48 * 1024, self.suites)
        need(len(items) == 4)
        team, sequence, issued, entries = items
        need(is_bytes(team))
        read_key(algorithm, team)
        verify(algorithm, team, signed_bytes(algorithm, "revocation", b"", payload), signature)
        need(is_number(sequence) and is_number(issued) and isinstance(entries, list) and len(entries) <= 1024)
        for entry in entries:
            need(isinstance(entry, list) and len(entry) == 2 and is_bytes(entry[0], 24) and is_number(entry[1]))
        keys = [entry[0] for entry in entries]
        need(all(one < two for one, two in zip(keys, keys[1:])))
        return {"team": (algorithm, team), "sequence": sequence, "issued": issued,
                "revoked": [[key.hex(), since] for key, since in entries]}

    def read_delegation(self, encoded):
        algorithm, items, payload, signature = open_sign1(encoded, 3 * 1024, self.suites)
        need(len(items) == 7)
        member, suite, delegate, bytes_per_day, not_before, not_after, teams = items
        need(is_bytes(member))
        read_key(algorithm, member)
        verify(algorithm, member, signed_bytes(algorithm, "delegation", b"", payload), signature)
        self.read_certified(suite, delegate)
        need(is_number(bytes_per_day) and is_number(not_before) and is_number(not_after))
        need(isinstance(teams, list) and len(teams) <= 64 and all(is_bytes(team, 24) for team in teams))
        need(all(one < two for one, two in zip(teams, teams[1:])))
        need(not_before <= not_after and (algorithm, member) != (suite, delegate))
        return {"member": (algorithm, member), "delegate": (suite, delegate), "bytes_per_day": bytes_per_day,
                "not_before": not_before, "not_after": not_after, "teams": [team.hex() for team in teams]}

    def read_receipt(self, encoded, certificate, now, legacy=False):
        try:
            algorithm, items, payload, signature = open_sign1(encoded, 512, self.suites)
        except Exception as error:
            # Of a receipt this is said as everything else that is wrong with what it says.
            need(getattr(error, "kind", None) != "unknown-suite")
            raise
        need(len(items) in (4, 7))
        provider, reference, started, weight = items[:4]
        need(is_bytes(provider, 24) and is_bytes(reference, 16) and is_number(started) and is_number(weight))
        hold, on_hold, on_holds = items[4:] or (None, 0, 0)
        need(not items[4:] or is_bytes(hold, 24))
        need(is_number(on_hold) and is_number(on_holds) and on_hold <= on_holds <= weight)
        need(reference == certificate["digest"][:16], "unknown-certificate")
        suite, member = certificate["subject"]
        need(algorithm == suite, "wrong-suite")
        need(legacy or (suite in LIVE and certificate["team"][0] in LIVE), "legacy-suite")
        need(started <= now + SKEW, "future-dated")
        need(started >= now - AGE_MAX, "too-old")
        need(certificate["not_before"] <= started <= certificate["not_after"], "expired-certificate")
        need(certificate["role"] == "member", "not-entitled")
        consumer = key_id(*certificate["team"])
        need(consumer != provider, "self-trade")
        verify(algorithm, member, signed_bytes(algorithm, "receipt", certificate["digest"], payload), signature)
        member = member_id(consumer, key_id(suite, member))
        return {"provider": provider, "consumer": consumer, "member": member, "started": started,
                "weight": weight, "hold": hold, "hold_weight": on_hold, "on_holds": on_holds, "encoded": encoded}

    def read_acknowledgement(self, encoded, certificate):
        algorithm, items, payload, signature = open_sign1(encoded, 768, self.suites)
        suite, key = certificate["subject"]
        need(algorithm == suite, "wrong-suite")
        verify(algorithm, key, signed_bytes(algorithm, "acknowledgement", certificate["digest"], payload), signature)
        need(len(items) == 7)
        nonce, member, provider, started, interval, volume, service = items
        need(is_bytes(nonce, 16) and is_bytes(member, 24) and is_bytes(provider, 24))
        need(is_number(started) and is_number(interval) and is_number(volume))
        need(isinstance(service, str) and service in CLASSES)
        need(provider == key_id(*certificate["team"]))
        return items


def read_bundle(encoded):
    if not encoded:
        return [[], [], []]
    need(len(encoded) <= 60 * 1024, "oversized")
    lists = decode(encoded)
    need(len(lists) == 3)
    for items, most in zip(lists, (65, 64, 2)):
        need(isinstance(items, list))
        need(len(items) <= most, "too-many")
        need(all(is_bytes(item) for item in items))
    return lists


def larger(receipts):
    """Of each session the receipt that counts."""
    known = {}
    for receipt in receipts:
        session = (receipt["provider"], receipt["member"], receipt["started"])
        rank = (receipt["weight"], receipt["encoded"])
        known[session] = max(known.get(session, rank), rank)
    return [encoded for _, (_, encoded) in sorted(known.items())]


def read_terms(items):
    """The name of a hold with these terms. Every home on the path computes it again."""
    need(isinstance(items, list) and len(items) == 6)
    provider, between, consumer, amount, end, nonce = items
    need(isinstance(between, list))
    need(len(between) <= BETWEEN_MAX, "terms")
    path = [provider, *between, consumer]
    need(all(is_bytes(team, 24) for team in path))
    need(is_number(amount) and is_number(end) and is_bytes(nonce, 16))
    need(len(set(path)) == len(path) and HOLD_MIN <= amount <= HOLD_MAX, "terms")
    return hashlib.sha256(b"guestright/hold/1" + encode(items)).digest()[:24]


def read_hold_message(data):
    """What a home says about a hold, by the names of the fields, and the hold's name."""
    need(len(data) <= 2048, "oversized")
    items = decode(data)
    need(items and is_number(items[0]) and items[0] in HOLD_MESSAGES)
    fields, rest = {"message": HOLD_MESSAGES[items[0]]}, items[1:]
    if fields["message"] in ("HOLD", "COMMIT"):
        need(len(rest) == 3 or (fields["message"] == "COMMIT" and len(rest) == 1))
        name = read_terms(rest[0])
        fields["terms"] = encode(rest[0]).hex()
        for what, papers in zip(("receipt", "certificate"), rest[1:]):
            need(is_bytes(papers))
            fields[what] = papers.hex()
        return fields, name
    need(len(rest) == (2 if fields["message"] == "REFUSED" else 1) and is_bytes(rest[0], 24))
    if fields["message"] == "REFUSED":
        need(is_number(rest[1]))
        fields["available"] = rest[1]
    return fields, rest[0]


def write_hold_message(fields, name):
    number = next(number for number, known in HOLD_MESSAGES.items() if known == fields["message"])
    if "terms" not in fields:
        return encode([number, name] + [fields[what] for what in ("available",) if what in fields])
    papers = [bytes.fromhex(fields[what]) for what in ("receipt", "certificate") if what in fields]
    return encode([number, decode(bytes.fromhex(fields["terms"]))] + papers)

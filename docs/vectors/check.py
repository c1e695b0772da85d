#!/usr/bin/env python3
"""Reads the test vectors without a line of the project's own code.

    python3 docs/vectors/check.py            every vector here: read it, write it again, or refuse it for its reason
    python3 docs/vectors/check.py FILE       other cases, with the verdicts of another program: say where ours differ

What `reader/` holds was written from design notes 0001, 0010 and 0012 alone, with nothing but Python's own library: the curves
are computed here, Ed25519 as ZIP 215 has it. `cargo test -p guestright-vectors` runs this file in both ways; the cases are
5,000 mutations of the vectors, with what the Rust code says of each.
"""

import collections
import hashlib
import json
import pathlib
import sys

sys.dont_write_bytecode = True

from reader import Refused, need  # noqa: E402
from reader.cbor import decode, encode, external_aad, open_sign1, sign1, signed_bytes  # noqa: E402
from reader.keys import SUITES, key_id, public_of  # noqa: E402
from reader.messages import read_message, write_message  # noqa: E402
from reader.objects import (  # noqa: E402
    ROLES, Program, larger, read_bundle, read_hold_message, read_terms, write_hold_message)

PROGRAM = Program()


class Count:
    def __init__(self):
        self.passed, self.failed = 0, []

    def check(self, file, name, job):
        try:
            job()
            self.passed += 1
        except (AssertionError, Refused, ValueError, KeyError) as error:
            self.failed.append(f"{file}: {name}: {type(error).__name__} {error}")


def same(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def check_sign1(vector, algorithm, domain, context, items):
    """Everything between the fields and the encoded object."""
    payload, signature = encode(items), bytes.fromhex(vector["signature"])
    same(payload.hex(), vector["payload"])
    same(external_aad(domain, context).hex(), vector["external_aad"])
    same(signed_bytes(algorithm, domain, context, payload).hex(), vector["signed"])
    same(sign1(algorithm, payload, signature).hex(), vector["encoded"])


def check_key(vector):
    public = bytes.fromhex(vector["public"])
    PROGRAM.read_key(vector["algorithm"], public)
    same(SUITES[vector["algorithm"]], vector["suite"])
    same(key_id(vector["algorithm"], public).hex(), vector["id"])
    if "hashed" in vector:
        same(hashlib.sha256(bytes.fromhex(vector["hashed"])).hexdigest()[:48], vector["id"])
    if "secret" in vector and vector["suite"] in ("ed25519", "ecdsa-p256"):
        same(public_of(vector["suite"], bytes.fromhex(vector["secret"])), public)


def check_certificate(vector):
    read = PROGRAM.read_certificate(bytes.fromhex(vector["encoded"]))
    for whose in ("team", "subject"):
        check_key(vector[whose])
        same(read[whose], (vector[whose]["algorithm"], bytes.fromhex(vector[whose]["public"])))
    same(read["digest"].hex(), vector["digest"])
    same(read["digest"][:16].hex(), vector["reference"])
    role = next(number for number, name in ROLES.items() if name == vector["role"])
    items = [role, read["team"][1], *read["subject"], vector["not_before"], vector["not_after"]]
    check_sign1(vector, read["team"][0], "certificate", b"", items)


def check_renewal(vector):
    """A renewed certificate, and the two objects in it."""
    encoded = bytes.fromhex(vector["encoded"])
    read = PROGRAM.read_certificate(encoded)
    word = read["warrant"]
    same((read["role"], read["digest"].hex()), (vector["role"], vector["digest"]))
    same((read["not_before"], read["not_after"]), (vector["not_before"], vector["not_after"]))
    for whose, (_, public) in (("team", read["team"]), ("subject", read["subject"]), ("renewing", word["renewing"])):
        same(public.hex(), vector[whose])
    same(key_id(*word["renewing"]).hex(), vector["renewing_id"])
    same(word["life_max"], vector["life_max"])
    algorithm, _, _, signature = open_sign1(encoded, len(encoded), PROGRAM.suites)
    items = [bytes.fromhex(vector["original"]), bytes.fromhex(vector["warrant"]), vector["not_before"],
             vector["not_after"]]
    same(sign1(algorithm, encode(items), signature).hex(), vector["encoded"])


def check_receipt(vector, now, legacy=False):
    certificate = PROGRAM.read_certificate(bytes.fromhex(vector["certificate"]))
    read = PROGRAM.read_receipt(bytes.fromhex(vector["encoded"]), certificate, now, legacy)
    for name in ("provider", "consumer", "member"):
        same(read[name].hex(), vector[name])
    same(len(read["encoded"]), vector["length"])
    items = [read["provider"], certificate["digest"][:16], vector["started"], vector["weight"]]
    same(read["hold"] and read["hold"].hex(), vector.get("hold"))
    if "hold" in vector:
        items += [bytes.fromhex(vector["hold"]), vector["hold_weight"], vector["on_holds"]]
    check_sign1(vector, certificate["subject"][0], "receipt", certificate["digest"], items)


def check_supersession(vector, certificates, now):
    def read(encoded):
        _, (_, reference, *_), _, _ = open_sign1(encoded, 512, PROGRAM.suites)
        return PROGRAM.read_receipt(encoded, certificates[reference], now)

    receipts = [read(bytes.fromhex(encoded)) for encoded in vector["receipts"]]
    want = [bytes.fromhex(encoded) for encoded in vector["counts"]]
    same(larger(receipts), want)
    same(larger(reversed(receipts)), want)


def check_revocations(vector):
    read = PROGRAM.read_revocations(bytes.fromhex(vector["encoded"]))
    for name in ("sequence", "issued", "revoked"):
        same(read[name], vector[name])
    entries = [[bytes.fromhex(key), since] for key, since in vector["revoked"]]
    items = [read["team"][1], vector["sequence"], vector["issued"], entries]
    check_sign1(vector, vector["team"]["algorithm"], "revocation", b"", items)


def check_delegation(vector):
    read = PROGRAM.read_delegation(bytes.fromhex(vector["encoded"]))
    for name in ("bytes_per_day", "not_before", "not_after", "teams"):
        same(read[name], vector[name])
    for whose in ("member", "delegate"):
        check_key(vector[whose])
        same(read[whose], (vector[whose]["algorithm"], bytes.fromhex(vector[whose]["public"])))
    items = [read["member"][1], *read["delegate"], vector["bytes_per_day"], vector["not_before"],
             vector["not_after"], [bytes.fromhex(team) for team in vector["teams"]]]
    check_sign1(vector, read["member"][0], "delegation", b"", items)


def check_terms(vector):
    team = bytes.fromhex
    items = [team(vector["provider"]), [team(home) for home in vector["between"]], team(vector["consumer"]),
             vector["amount"], vector["end"], bytes.fromhex(vector["nonce"])]
    same(encode(items).hex(), vector["encoded"])
    same(decode(bytes.fromhex(vector["encoded"])), items)
    same(read_terms(items).hex(), vector["id"])
    same(hashlib.sha256(bytes.fromhex(vector["hashed"])).hexdigest()[:48], vector["id"])


def check_hold_message(vector, now):
    fields, name = read_hold_message(bytes.fromhex(vector["encoded"]))
    same(fields, vector["fields"])
    same(name.hex(), vector["id"])
    same(write_hold_message(fields, name).hex(), vector["encoded"])
    if "receipt" in fields:
        provider, _, consumer, amount, _, _ = decode(bytes.fromhex(fields["terms"]))
        certificate = PROGRAM.read_certificate(bytes.fromhex(fields["certificate"]))
        receipt = PROGRAM.read_receipt(bytes.fromhex(fields["receipt"]), certificate, now)
        same((receipt["provider"], receipt["consumer"]), (provider, consumer))
        if fields["message"] == "COMMIT":
            same(receipt["hold"], name)
            need(receipt["hold_weight"] <= amount)


def check_bundle(vector):
    names = ("certificates", "receipts", "revocations")
    lists = [[bytes.fromhex(item) for item in vector[name]] for name in names]
    same(encode(lists).hex(), vector["encoded"])
    same(read_bundle(bytes.fromhex(vector["encoded"])), lists)


def check_acknowledgement(vector):
    certificate = PROGRAM.read_certificate(bytes.fromhex(vector["certificate"]))
    items = PROGRAM.read_acknowledgement(bytes.fromhex(vector["encoded"]), certificate)
    want = [bytes.fromhex(vector[name]) for name in ("nonce", "member", "provider")]
    want += [vector["started"], vector["interval_us"], vector["volume_bytes"], vector["class"]]
    same(items, want)
    check_sign1(vector, certificate["subject"][0], "acknowledgement", certificate["digest"], want)


def check_message(vector):
    method, fields = read_message(PROGRAM, bytes.fromhex(vector["bytes"]))
    same(method, vector["method"])
    same(fields, {name: value for name, value in vector["fields"].items() if value is not None})
    same(write_message(method, vector["fields"]).hex(), vector["bytes"])


def verdict(program, case, now):
    """What becomes of bytes as an object: "accepted" or the kind of the refusal; and a message as it is written again."""
    data = bytes.fromhex(case["bytes"])
    again = None
    try:
        what = case["object"]
        if what == "message":
            again = write_message(*read_message(program, data)).hex()
        elif what == "key":
            program.read_key(case.get("algorithm", -9), data)
        elif what in ("receipt", "acknowledgement"):
            certificate = program.read_certificate(bytes.fromhex(case["certificate"]))
            if what == "receipt":
                program.read_receipt(data, certificate, now)
            else:
                program.read_acknowledgement(data, certificate)
        else:
            readers = {"certificate": program.read_certificate, "revocation list": program.read_revocations,
                       "delegation": program.read_delegation, "bundle": read_bundle, "hold message": read_hold_message,
                       "terms": lambda data: read_terms(decode(data))}
            readers[what](data)
    except Refused as error:
        return error.kind, None
    return "accepted", again


def check_refusal(vector, now):
    same(verdict(PROGRAM, vector, now)[0], vector["kind"])


def check_vectors():
    folder = pathlib.Path(__file__).parent
    files = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    receipts, negative, legacy = files["receipts.json"], files["negative.json"], files["legacy.json"]
    known = [PROGRAM.read_certificate(bytes.fromhex(encoded)) for encoded in receipts["certificates"]]
    by_reference = {certificate["digest"][:16]: certificate for certificate in known}
    jobs = [
        ("keys.json", files["keys.json"]["keys"], check_key),
        ("certificates.json", files["certificates.json"]["certificates"], check_certificate),
        ("renewals.json", files["renewals.json"]["renewals"], check_renewal),
        ("renewals.json, refused", files["renewals.json"]["refused"],
         lambda vector: check_refusal(vector | {"object": "certificate"}, negative["now"])),
        ("revocations.json", files["revocations.json"]["revocations"], check_revocations),
        ("delegations.json", files["delegations.json"]["delegations"], check_delegation),
        ("receipts.json", receipts["receipts"], lambda vector: check_receipt(vector, receipts["now"])),
        ("receipts.json, supersession", receipts["supersession"],
         lambda vector: check_supersession(vector, by_reference, receipts["now"])),
        ("holds.json, terms", files["holds.json"]["terms"], check_terms),
        ("holds.json, messages", files["holds.json"]["messages"],
         lambda vector: check_hold_message(vector, files["holds.json"]["now"])),
        ("bundles.json", files["bundles.json"]["bundles"], check_bundle),
        ("acknowledgements.json", files["acknowledgements.json"]["acknowledgements"], check_acknowledgement),
        ("messages.json", files["messages.json"]["messages"], check_message),
        ("legacy.json, keys", [suite[whose] for suite in legacy["suites"] for whose in ("team", "member")],
         check_key),
        ("legacy.json, certificates", [suite["certificate"] for suite in legacy["suites"]], check_certificate),
        ("legacy.json, receipts", [suite["receipt"] for suite in legacy["suites"]],
         lambda vector: check_receipt(vector, legacy["now"], legacy=True)),
        ("negative.json", negative["refused"], lambda vector: check_refusal(vector, negative["now"])),
    ]
    unread = set(files) - {file.split(",")[0] for file, _, _ in jobs}
    failed = [f"{file}: nothing here reads it" for file in sorted(unread)]
    for file, vectors, job in jobs:
        count = Count()
        for vector in vectors:
            count.check(file, vector.get("name", vector.get("suite")), lambda: job(vector))
        print(f"{file:32} {count.passed:3} of {len(vectors):3} hold")
        failed += count.failed
    print("\n".join(["", *failed]) if failed else "\nevery vector holds")
    return 1 if failed else 0


def check_cases(path):
    """Compares our verdicts on cases with those that are written beside them."""
    file = json.loads(pathlib.Path(path).read_text())
    program, now = Program(file["legacy_suites"]), file["now"]
    kinds, failed = collections.Counter(), []
    for case in file["cases"]:
        ours = verdict(program, case, now)
        theirs = (case["verdict"], case.get("again"))
        kinds[ours[0]] += 1
        if ours != theirs:
            failed.append(f"{case['object']}: {case['name']}: we say {ours}, they {theirs}: {case['bytes']}")
    for kind, count in sorted(kinds.items()):
        print(f"{kind:20} {count:5}")
    print("\n".join(failed[:20]))
    print(f"{len(file['cases'])} cases, {len(failed)} with another verdict")
    return 1 if failed else 0


def main():
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    return check_cases(sys.argv[1]) if len(sys.argv) == 2 else check_vectors()


if __name__ == "__main__":
    sys.exit(main())

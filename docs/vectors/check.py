#!/usr/bin/env python3
"""Reads the test vectors without a line of the project's own code.

    python3 -m venv venv && venv/bin/pip install cbor2 cryptography && venv/bin/python docs/vectors/check.py

What is here was written from design notes 0001 and 0010: ids, COSE signatures, every object written again from its fields, the
text of the messages, and what has to be refused. Ed25519 is the library's own and so not ZIP 215; the vectors have
ordinary signatures only. The curve secp160r1, which no library offers, is computed here.
"""

import base64
import hashlib
import ipaddress
import json
import pathlib
import re
import sys
from io import BytesIO

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

SUITES = {-19: "ed25519", -9: "ecdsa-p256", -65601: "rsa-1024", -65602: "rsa-2048",
          -65603: "ecdsa-secp160r1", -65604: "ecdsa-secp224r1"}
LIVE = (-19, -9)
ROLES = {1: "member", 2: "access point", 3: "home"}
CLASSES = ("lowest", "low", "middle", "high", "own")
CODES = ("malformed", "certificate", "receipt", "refused", "busy", "unpaid", "no-session", "closed")
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493
# SEC 2, version 1.0, section 2.4.2: p, a, b, G, n.
SECP160R1 = (2**160 - 2**31 - 1, 2**160 - 2**31 - 4, 0x1C97BEFC54BD7A8B65ACF89F81D4D4ADC565FA45,
             (0x4A96B5688EF573284664698968C38BB913CBFC82, 0x23A628553168947D59DCC912042351377AC5FB32),
             0x0100000000000000000001F4C8F927AED3CA752257)
SKEW, AGE_MAX = 600, 400 * 86400
HOLD_MIN, HOLD_MAX, BETWEEN_MAX, HOLDS_MAX = 64 * 1024, 64_000_000, 3, 8


class Refused(Exception):
    """What is wrong, in a word."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def need(holds, kind="malformed"):
    if not holds:
        raise Refused(kind)


# Keys ------------------------------------------------------------------------------------------------------------


class Curve160:
    """Just enough of secp160r1 to verify."""

    p, a, b, g, n = SECP160R1

    @classmethod
    def decompress(cls, encoded):
        need(len(encoded) == 21 and encoded[0] in (2, 3), "bad-key")
        x = int.from_bytes(encoded[1:], "big")
        need(x < cls.p, "bad-key")
        y2 = (x**3 + cls.a * x + cls.b) % cls.p
        y = pow(y2, (cls.p + 1) // 4, cls.p)  # p = 3 mod 4.
        need(y * y % cls.p == y2, "bad-key")
        return (x, y if y % 2 == encoded[0] - 2 else cls.p - y)

    @classmethod
    def add(cls, one, two):
        if one is None or two is None:
            return one or two
        if one[0] == two[0] and (one[1] + two[1]) % cls.p == 0:
            return None
        if one == two:
            slope = (3 * one[0] ** 2 + cls.a) * pow(2 * one[1], -1, cls.p)
        else:
            slope = (two[1] - one[1]) * pow(two[0] - one[0], -1, cls.p)
        x = (slope * slope - one[0] - two[0]) % cls.p
        return (x, (slope * (one[0] - x) - one[1]) % cls.p)

    @classmethod
    def times(cls, number, point):
        total = None
        while number:
            total = cls.add(total, point) if number & 1 else total
            point = cls.add(point, point)
            number >>= 1
        return total

    @classmethod
    def verify(cls, key, message, signature):
        need(len(signature) == 42, "forged")
        r, s = (int.from_bytes(part, "big") for part in (signature[:21], signature[21:]))
        need(0 < r < cls.n and 0 < s < cls.n, "forged")
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big") >> (256 - cls.n.bit_length())
        inverse = pow(s, -1, cls.n)
        point = cls.add(cls.times(digest * inverse % cls.n, cls.g), cls.times(r * inverse % cls.n, key))
        need(point is not None and point[0] % cls.n == r, "forged")


def read_key(algorithm, encoded):
    """The library's key; only encodings with one form."""
    need(algorithm in SUITES, "unknown-suite")
    try:
        if algorithm == -19:
            need(len(encoded) == 32, "bad-key")
            need(ed25519_has_point(encoded), "bad-key")
            return ed25519.Ed25519PublicKey.from_public_bytes(encoded)
        if algorithm in (-9, -65604):
            size, curve = (33, ec.SECP256R1()) if algorithm == -9 else (29, ec.SECP224R1())
            need(len(encoded) == size and encoded[0] in (2, 3), "bad-key")
            return ec.EllipticCurvePublicKey.from_encoded_point(curve, encoded)
        if algorithm == -65603:
            return Curve160.decompress(encoded)
        return read_rsa(encoded, 1024 if algorithm == -65601 else 2048)
    except ValueError as error:
        raise Refused("bad-key") from error


def ed25519_has_point(encoded):
    """Whether there is an x for this y: the library finds out only when it verifies."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    y = (int.from_bytes(encoded, "little") & (2**255 - 1)) % p
    x2 = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
    return x2 == 0 or pow(x2, (p - 1) // 2, p) == 1


def read_rsa(encoded, bits):
    """A PKCS #1 RSAPublicKey: SEQUENCE { INTEGER n, INTEGER e } in DER."""

    def part(data, tag):
        need(len(data) >= 2 and data[0] == tag, "bad-key")
        size, at = data[1], 2
        if size & 0x80:
            at += size & 0x7F
            size = int.from_bytes(data[2:at], "big")
        need(len(data) >= at + size, "bad-key")
        return data[at:at + size], data[at + size:]

    body, rest = part(encoded, 0x30)
    modulus, after = part(body, 2)
    exponent, end = part(after, 2)
    need(not rest and not end, "bad-key")
    key = rsa.RSAPublicNumbers(int.from_bytes(exponent, "big"), int.from_bytes(modulus, "big")).public_key()
    need(key.key_size == bits, "bad-key")
    again = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
    need(again == encoded, "bad-key")
    return key


def verify(algorithm, public, message, signature):
    key = read_key(algorithm, public)
    try:
        if algorithm == -19:
            need(len(signature) == 64 and int.from_bytes(signature[32:], "little") < ED25519_ORDER, "forged")
            key.verify(signature, message)
        elif algorithm == -65603:
            Curve160.verify(key, message, signature)
        elif algorithm in (-9, -65604):
            size = 32 if algorithm == -9 else 28
            need(len(signature) == 2 * size, "forged")
            r, s = (int.from_bytes(part, "big") for part in (signature[:size], signature[size:]))
            need(algorithm != -9 or 0 < s <= P256_ORDER // 2, "forged")
            key.verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
        else:
            key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature as error:
        raise Refused("forged") from error


def key_id(algorithm, public):
    name = b"guestright/key/1" + algorithm.to_bytes(8, "big", signed=True) + public
    return hashlib.sha256(name).digest()[:24]


def member_id(team, key):
    return hashlib.sha256(b"guestright/member/1" + team + key).digest()[:24]


# Objects ---------------------------------------------------------------------------------------------------------


def encode(value):
    return cbor2.dumps(value, canonical=True)


def item(data):
    """The first item of some CBOR, and where it ends."""
    stream = BytesIO(data)
    try:
        return cbor2.CBORDecoder(stream).decode(), stream.tell()
    except cbor2.CBORDecodeEOF as error:
        raise Refused("truncated") from error
    except (cbor2.CBORDecodeError, ValueError) as error:
        raise Refused("malformed") from error


def decode(data):
    """The items of an array in deterministic CBOR, and nothing after it."""
    value, end = item(data)
    need(isinstance(value, list))
    need(end == len(data) and encode(value) == data, "not-canonical")
    return value


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def is_bytes(value, size=None):
    return isinstance(value, bytes) and (size is None or len(value) == size)


def open_sign1(encoded, longest):
    """Algorithm, payload's items, payload, signature of an untagged COSE_Sign1 in its one form."""
    need(len(encoded) <= longest, "oversized")
    parts, end = item(encoded)
    need(isinstance(parts, list) and len(parts) == 4)
    protected, unprotected, payload, signature = parts
    need(is_bytes(protected) and isinstance(unprotected, dict) and is_bytes(payload) and is_bytes(signature))
    header, _ = item(protected) if protected else ({}, 0)
    need(isinstance(header, dict) and isinstance(header.get(1), int))
    algorithm = header[1]
    need(algorithm in SUITES, "unknown-suite")
    again = encode([encode({1: algorithm}), {}, payload, signature])
    need(end == len(encoded) and again == encoded, "not-canonical")
    return algorithm, decode(payload), payload, signature


def external_aad(domain, context=b""):
    return b"guestright/" + domain.encode() + b"/1" + context


def signed_bytes(algorithm, domain, context, payload):
    """RFC 9052, section 4.4."""
    return encode(["Signature1", encode({1: algorithm}), external_aad(domain, context), payload])


def read_certificate(encoded):
    algorithm, items, payload, signature = open_sign1(encoded, 1024)
    need(len(items) == 6)
    role, team, suite, subject, not_before, not_after = items
    need(is_number(role) and role in ROLES and is_bytes(team))
    read_key(algorithm, team)
    need(isinstance(suite, int) and is_bytes(subject))
    read_key(suite, subject)
    need(is_number(not_before) and is_number(not_after) and not_before <= not_after)
    verify(algorithm, team, signed_bytes(algorithm, "certificate", b"", payload), signature)
    return {"role": ROLES[role], "team": (algorithm, team), "subject": (suite, subject),
            "not_before": not_before, "not_after": not_after, "digest": hashlib.sha256(encoded).digest()}


def read_revocations(encoded):
    algorithm, items, payload, signature = open_sign1(encoded, 48 * 1024)
    need(len(items) == 4 and is_bytes(items[0]))
    team, sequence, issued, entries = items
    verify(algorithm, team, signed_bytes(algorithm, "revocation", b"", payload), signature)
    need(is_number(sequence) and is_number(issued) and isinstance(entries, list) and len(entries) <= 1024)
    for entry in entries:
        need(isinstance(entry, list) and len(entry) == 2 and is_bytes(entry[0], 24) and is_number(entry[1]))
    keys = [entry[0] for entry in entries]
    need(all(one < two for one, two in zip(keys, keys[1:])))
    return {"team": (algorithm, team), "sequence": sequence, "issued": issued,
            "revoked": [[key.hex(), since] for key, since in entries]}


def read_delegation(encoded):
    algorithm, items, payload, signature = open_sign1(encoded, 3 * 1024)
    need(len(items) == 7)
    member, suite, delegate, bytes_per_day, not_before, not_after, teams = items
    need(is_bytes(member))
    verify(algorithm, member, signed_bytes(algorithm, "delegation", b"", payload), signature)
    need(isinstance(suite, int) and is_bytes(delegate))
    read_key(suite, delegate)
    need(is_number(bytes_per_day) and is_number(not_before) and is_number(not_after) and not_before <= not_after)
    need(isinstance(teams, list) and len(teams) <= 64 and all(is_bytes(team, 24) for team in teams))
    need(all(one < two for one, two in zip(teams, teams[1:])))
    need((algorithm, member) != (suite, delegate))
    return {"member": (algorithm, member), "delegate": (suite, delegate), "bytes_per_day": bytes_per_day,
            "not_before": not_before, "not_after": not_after, "teams": [team.hex() for team in teams]}


def read_receipt(encoded, certificate, now, legacy=False):
    algorithm, items, payload, signature = open_sign1(encoded, 512)
    need(len(items) in (4, 7))
    provider, reference, started, weight = items[:4]
    need(is_bytes(provider, 24) and is_bytes(reference, 16) and is_number(started) and is_number(weight))
    hold, on_hold, on_holds = items[4:] or (None, 0, 0)
    need(hold is None or is_bytes(hold, 24))
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


def read_acknowledgement(encoded, certificate):
    algorithm, items, payload, signature = open_sign1(encoded, 768)
    suite, key = certificate["subject"]
    need(algorithm == suite, "wrong-suite")
    verify(algorithm, key, signed_bytes(algorithm, "acknowledgement", certificate["digest"], payload), signature)
    need(len(items) == 7)
    nonce, member, provider, started, interval, volume, service = items
    need(is_bytes(nonce, 16) and is_bytes(member, 24) and is_bytes(provider, 24))
    need(is_number(started) and is_number(interval) and is_number(volume) and service in CLASSES)
    need(provider == key_id(*certificate["team"]))
    return items


def read_bundle(encoded):
    if not encoded:
        return [[], [], []]
    need(len(encoded) <= 60 * 1024, "oversized")
    lists = decode(encoded)
    need(len(lists) == 3 and all(isinstance(items, list) for items in lists))
    for items, most in zip(lists, (65, 64, 2)):
        need(len(items) <= most, "too-many")
        need(all(is_bytes(item) for item in items))
    return lists


def read_terms(items):
    """The terms of a hold, and its name. Every home on the path computes it again."""
    need(isinstance(items, list) and len(items) == 6)
    provider, between, consumer, amount, end, nonce = items
    need(isinstance(between, list))
    need(len(between) <= BETWEEN_MAX, "terms")
    path = [provider, *between, consumer]
    need(all(is_bytes(team, 24) for team in path))
    need(is_number(amount) and is_number(end) and is_bytes(nonce, 16))
    need(len(set(path)) == len(path) and HOLD_MIN <= amount <= HOLD_MAX, "terms")
    return hold_id(items)


def hold_id(items):
    return hashlib.sha256(b"guestright/hold/1" + encode(items)).digest()[:24]


HOLD_MESSAGES = {1: "HOLD", 2: "GOOD", 3: "REFUSED", 4: "COMMIT", 5: "DONE"}


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


def larger(receipts):
    """Of each session the receipt that counts."""
    known = {}
    for receipt in receipts:
        session = (receipt["provider"], receipt["member"], receipt["started"])
        rank = (receipt["weight"], receipt["encoded"])
        known[session] = max(known.get(session, rank), rank)
    return [encoded for _, (_, encoded) in sorted(known.items())]


# Messages --------------------------------------------------------------------------------------------------------

HEADERS = {  # In the order in which they are written; "?" marks what may be missing.
    "CONN": ("Member-Certificate", "Nonce", "?Holds"),
    "CACK": ("Provider-Certificate", "Acknowledgement", "?Home"),
    "RREQ": ("Session-Started", "Weight", "?Hold", "?Last"),
    "RCPT": ("?Reference", "?Home"),
    "QUER": ("Reference", "Member-Certificate", "Request-Weight", "?Session-Started", "?Left", "?Unpaid",
             "?Holds"),
    "QRSP": ("Reference", "Decision", "?Qos-Class", "?Volume", "?Holds", "?Home", "?Ind-Permille", "Valid-For",
             "Reason"),
    "UPDT": ("Reference", "?Since", "?Max", "?Stored", "?Refused"),
    "ERRO": ("?Reference", "Code", "Reason"),
}
BASE64 = ("Member-Certificate", "Provider-Certificate", "Nonce", "Acknowledgement")
NUMBERS = {"Session-Started": 64, "Weight": 64, "Last": 8, "Reference": 64, "Request-Weight": 64, "Ind-Permille": 16,
           "Valid-For": 32, "Since": 64, "Max": 16, "Stored": 16, "Refused": 16, "Tunnel": 16, "Volume": 64, "Left": 64,
           "Unpaid": 64}
WITH_BODY = ("CONN", "RCPT", "QUER")
TO_A_HOME = ("Tunnel", "?Session-Started")  # An RREQ with `Tunnel` has these instead.


def number(text, bits=64):
    need(re.fullmatch("[0-9]+", text) and int(text) < 2**bits)
    return int(text)


def line(data, at, left):
    end = data.find(b"\r\n", at, at + left)
    if end < 0:
        raise Refused("truncated" if len(data) - at < left else "oversized")
    text = data[at:end]
    need(all(0x20 <= byte <= 0x7E for byte in text))
    return text.decode("ascii"), end + 2


def read_message(data):
    start, at = line(data, 0, 64)
    need(start.endswith(" P2PWNC/3.0"))
    method, begin, headers = start[:-len(" P2PWNC/3.0")], at, {}
    while True:
        text, at = line(data, at, begin + 4096 - at)
        if not text:
            break
        name, colon, value = text.partition(": ")
        need(colon and re.fullmatch("[A-Za-z0-9-]+", name) and name not in headers)
        need(len(headers) < 32, "oversized")
        headers[name] = value
    length = number(headers.get("Content-Length", "0"))
    need(length <= 65536, "oversized")
    need(len(data) - at >= length, "truncated")
    need(len(data) - at == length)
    need(method in HEADERS)
    known = headers_of(method, headers)
    fields = {name: read_value(method, name, headers[name]) for name in (name.strip("?") for name in known)
              if name in headers}
    if method == "QRSP" and "Volume" not in fields:
        fields.pop("Holds", None)
    if method == "QUER" and "Session-Started" not in fields:
        fields = {name: value for name, value in fields.items() if name not in ("Left", "Unpaid")}
    required = [name for name in known if not name.startswith("?")]
    need(fields.get("Tunnel") != 0)
    if method == "UPDT":
        required += ["Stored", "Refused"] if "Stored" in fields else ["Since", "Max"]
    if method == "QRSP" and fields.get("Decision") == "grant":
        required.append("Qos-Class")
    if method == "QUER" and "Session-Started" in fields:
        required += ["Left", "Unpaid"]
    need(all(name in fields for name in required))
    if method in WITH_BODY:
        fields["body"] = data[at:].hex()
        try:
            read_bundle(data[at:])
        except Refused as error:
            raise Refused("body") from error
    return method, fields


def headers_of(method, headers):
    return TO_A_HOME if method == "RREQ" and "Tunnel" in headers else HEADERS[method]


def read_hold(text):
    """A hold's name, and how many bytes."""
    name, slash, amount = text.rpartition("/")
    need(slash)
    try:
        name = base64.b64decode(name, validate=True)
    except ValueError as error:
        raise Refused("malformed") from error
    need(len(name) == 24)
    return [name.hex(), number(amount)]


def read_address(text):
    """`192.0.2.1:7275`, `[2001:db8::1]:7275` or `home.example:7275`."""
    host, colon, port = text.rpartition(":")
    need(colon and 0 < number(port) < 2**16)
    if host.startswith("["):
        need(host.endswith("]") and isinstance(ipaddress.ip_address(host[1:-1]), ipaddress.IPv6Address))
    elif re.fullmatch("[0-9.]+", host):
        ipaddress.IPv4Address(host)
    else:
        label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
        need(len(host) <= 100 and re.fullmatch(rf"{label}(\.{label})*", host))
    return text


def read_value(method, name, text):
    if name == "Hold":
        return read_hold(text)
    if name == "Holds" and method == "QRSP":
        holds = text.split(",")
        need(len(holds) <= HOLDS_MAX)
        return [read_hold(hold) for hold in holds]
    if name == "Holds":
        need(number(text, 8) == 1)  # Another number means no; nobody writes it.
        return 1
    if name == "Home":
        return read_address(text)
    if name in BASE64:
        try:
            value = base64.b64decode(text, validate=True)
        except ValueError as error:
            raise Refused("malformed") from error
        need(base64.b64encode(value).decode() == text and (name != "Nonce" or len(value) == 16))
        if name.endswith("-Certificate"):
            try:
                read_certificate(value)
            except Refused as error:
                raise Refused("certificate") from error
        return value.hex()
    if name in NUMBERS:
        return number(text, NUMBERS[name])
    need(name != "Decision" or text in ("grant", "deny"))
    need(name != "Qos-Class" or text in CLASSES)
    need(name != "Code" or text in CODES)
    return text


def write_message(method, fields):
    lines = [f"{method} P2PWNC/3.0"]
    for name in (name.strip("?") for name in headers_of(method, fields)):
        value = fields.get(name)
        if value is None:
            continue
        value = write_value(name, value)
        lines.append(f"{name}: {value}")
    body = bytes.fromhex(fields.get("body", ""))
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def write_value(name, value):
    if name in BASE64:
        return base64.b64encode(bytes.fromhex(value)).decode()
    if name == "Hold":
        return f"{base64.b64encode(bytes.fromhex(value[0])).decode()}/{value[1]}"
    if name == "Holds" and isinstance(value, list):
        return ",".join(write_value("Hold", hold) for hold in value)
    return value


# The files -------------------------------------------------------------------------------------------------------


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
    assert got == want, f"got {got!r}, want {want!r}"


def check_sign1(vector, algorithm, domain, context, items):
    """Everything between the fields and the encoded object."""
    encoded = bytes.fromhex(vector["encoded"])
    payload, signature = encode(items), bytes.fromhex(vector["signature"])
    same(payload.hex(), vector["payload"])
    same(external_aad(domain, context).hex(), vector["external_aad"])
    same(signed_bytes(algorithm, domain, context, payload).hex(), vector["signed"])
    same(encode([encode({1: algorithm}), {}, payload, signature]), encoded)


def check_key(vector):
    public = bytes.fromhex(vector["public"])
    read_key(vector["algorithm"], public)
    same(SUITES[vector["algorithm"]], vector["suite"])
    same(key_id(vector["algorithm"], public).hex(), vector["id"])
    if "hashed" in vector:
        same(hashlib.sha256(bytes.fromhex(vector["hashed"])).hexdigest()[:48], vector["id"])
    if "secret" in vector and vector["suite"] in ("ed25519", "ecdsa-p256"):
        secret = bytes.fromhex(vector["secret"])
        if vector["suite"] == "ed25519":
            made = ed25519.Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
        else:
            made = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1()).public_key().public_bytes(
                serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
        same(made, public)


def check_certificate(vector):
    encoded = bytes.fromhex(vector["encoded"])
    read = read_certificate(encoded)
    for whose in ("team", "subject"):
        check_key(vector[whose])
        same(read[whose], (vector[whose]["algorithm"], bytes.fromhex(vector[whose]["public"])))
    same(read["digest"].hex(), vector["digest"])
    same(read["digest"][:16].hex(), vector["reference"])
    role = next(number for number, name in ROLES.items() if name == vector["role"])
    items = [role, read["team"][1], *read["subject"], vector["not_before"], vector["not_after"]]
    check_sign1(vector, read["team"][0], "certificate", b"", items)


def check_receipt(vector, now, legacy=False):
    certificate = read_certificate(bytes.fromhex(vector["certificate"]))
    read = read_receipt(bytes.fromhex(vector["encoded"]), certificate, now, legacy)
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
        certificate = certificates[cbor2.loads(cbor2.loads(encoded)[2])[1]]
        return read_receipt(encoded, certificate, now)

    receipts = [read(bytes.fromhex(encoded)) for encoded in vector["receipts"]]
    want = [bytes.fromhex(encoded) for encoded in vector["counts"]]
    same(larger(receipts), want)
    same(larger(reversed(receipts)), want)


def check_revocations(vector):
    read = read_revocations(bytes.fromhex(vector["encoded"]))
    for name in ("sequence", "issued", "revoked"):
        same(read[name], vector[name])
    entries = [[bytes.fromhex(key), since] for key, since in vector["revoked"]]
    items = [read["team"][1], vector["sequence"], vector["issued"], entries]
    check_sign1(vector, vector["team"]["algorithm"], "revocation", b"", items)


def check_delegation(vector):
    read = read_delegation(bytes.fromhex(vector["encoded"]))
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
        certificate = read_certificate(bytes.fromhex(fields["certificate"]))
        receipt = read_receipt(bytes.fromhex(fields["receipt"]), certificate, now)
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
    certificate = read_certificate(bytes.fromhex(vector["certificate"]))
    items = read_acknowledgement(bytes.fromhex(vector["encoded"]), certificate)
    want = [bytes.fromhex(vector[name]) for name in ("nonce", "member", "provider")]
    want += [vector["started"], vector["interval_us"], vector["volume_bytes"], vector["class"]]
    same(items, want)
    check_sign1(vector, certificate["subject"][0], "acknowledgement", certificate["digest"], want)


def check_message(vector):
    method, fields = read_message(bytes.fromhex(vector["bytes"]))
    same(method, vector["method"])
    same(fields, {name: value for name, value in vector["fields"].items() if value is not None})
    same(write_message(method, vector["fields"]).hex(), vector["bytes"])


def check_refusal(vector, now):
    data = bytes.fromhex(vector["bytes"])
    certificate = read_certificate(bytes.fromhex(vector["certificate"])) if "certificate" in vector else None
    readers = {
        "key": lambda: read_key(-9, data),
        "certificate": lambda: read_certificate(data),
        "revocation list": lambda: read_revocations(data),
        "delegation": lambda: read_delegation(data),
        "receipt": lambda: read_receipt(data, certificate, now),
        "acknowledgement": lambda: read_acknowledgement(data, certificate),
        "bundle": lambda: read_bundle(data),
        "message": lambda: read_message(data),
        "hold message": lambda: read_hold_message(data),
    }
    try:
        readers[vector["object"]]()
    except Refused as error:
        same(error.kind, vector["kind"])
    else:
        raise AssertionError("accepted")


def main():
    folder = pathlib.Path(__file__).parent
    files = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    receipts, negative, legacy = files["receipts.json"], files["negative.json"], files["legacy.json"]
    known = [read_certificate(bytes.fromhex(encoded)) for encoded in receipts["certificates"]]
    by_reference = {certificate["digest"][:16]: certificate for certificate in known}
    jobs = [
        ("keys.json", files["keys.json"]["keys"], check_key),
        ("certificates.json", files["certificates.json"]["certificates"], check_certificate),
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
    failed = []
    for file, vectors, job in jobs:
        count = Count()
        for vector in vectors:
            count.check(file, vector.get("name", vector.get("suite")), lambda: job(vector))
        print(f"{file:32} {count.passed:3} of {len(vectors):3} hold")
        failed += count.failed
    print("\n".join(["", *failed]) if failed else "\nevery vector holds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

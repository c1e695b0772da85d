"""Keys, names and signatures: section 4 of note 0001. Slow, and for verifying only."""

import functools
import hashlib

from . import Refused, need

SUITES = {-19: "ed25519", -9: "ecdsa-p256", -65601: "rsa-1024", -65602: "rsa-2048",
          -65603: "ecdsa-secp160r1", -65604: "ecdsa-secp224r1"}
LIVE = (-19, -9)
RSA_BYTES = {-65601: 128, -65602: 256}


def square_root(number, p):
    """A square root modulo a prime, or nothing (Tonelli and Shanks)."""
    number %= p
    if number == 0:
        return 0
    if pow(number, (p - 1) // 2, p) != 1:
        return None
    odd, twos = p - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    other = next(z for z in range(2, p) if pow(z, (p - 1) // 2, p) == p - 1)
    turn, rest, root = pow(other, odd, p), pow(number, odd, p), pow(number, (odd + 1) // 2, p)
    while rest != 1:
        order, square = 0, rest
        while square != 1:
            order, square = order + 1, square * square % p
        step = pow(turn, 1 << twos - order - 1, p)
        twos, turn = order, step * step % p
        rest, root = rest * turn % p, root * step % p
    return root


class Curve:
    """A curve y² = x³ + ax + b, with points as pairs and None for the one at infinity."""

    def __init__(self, p, a, b, g, n):
        self.p, self.a, self.b, self.g, self.n = p, a, b, g, n
        self.field_bytes = (p.bit_length() + 7) // 8
        self.scalar_bytes = (n.bit_length() + 7) // 8

    def decompress(self, encoded):
        need(len(encoded) == 1 + self.field_bytes and encoded[0] in (2, 3), "bad-key")
        x = int.from_bytes(encoded[1:], "big")
        need(x < self.p, "bad-key")
        y = square_root(x**3 + self.a * x + self.b, self.p)
        need(y is not None, "bad-key")
        return x, y if y % 2 == encoded[0] - 2 else self.p - y

    def add(self, one, two):
        if one is None or two is None:
            return one or two
        if one[0] == two[0] and (one[1] + two[1]) % self.p == 0:
            return None
        if one == two:
            slope = (3 * one[0] ** 2 + self.a) * pow(2 * one[1], -1, self.p)
        else:
            slope = (two[1] - one[1]) * pow(two[0] - one[0], -1, self.p)
        x = (slope * slope - one[0] - two[0]) % self.p
        return x, (slope * (one[0] - x) - one[1]) % self.p

    def times(self, number, point):
        total = None
        while number:
            total = self.add(total, point) if number & 1 else total
            point = self.add(point, point)
            number >>= 1
        return total

    def holds(self, key, message, signature, low_s):
        size = self.scalar_bytes
        r, s = (int.from_bytes(part, "big") for part in (signature[:size], signature[size:]))
        if len(signature) != 2 * size or not 0 < r < self.n or not 0 < s <= (self.n // 2 if low_s else self.n - 1):
            return False
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big") >> max(0, 256 - self.n.bit_length())
        inverse = pow(s, -1, self.n)
        point = self.add(self.times(digest * inverse % self.n, self.g), self.times(r * inverse % self.n, key))
        return point is not None and point[0] % self.n == r


# SEC 2, version 2.0, sections 2.4.2 (P-256), version 1.0, section 2.4.2 (secp160r1), version 2.0, section 2.3.2 (secp224r1).
CURVES = {
    -9: Curve(
        2**256 - 2**224 + 2**192 + 2**96 - 1, -3, 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
         0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5),
        0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551),
    -65603: Curve(
        2**160 - 2**31 - 1, -3, 0x1C97BEFC54BD7A8B65ACF89F81D4D4ADC565FA45,
        (0x4A96B5688EF573284664698968C38BB913CBFC82, 0x23A628553168947D59DCC912042351377AC5FB32),
        0x0100000000000000000001F4C8F927AED3CA752257),
    -65604: Curve(
        2**224 - 2**96 + 1, -3, 0xB4050A850C04B3ABF54132565044B0B7D7BFD8BA270B39432355FFB4,
        (0xB70E0CBD6BB4BF7F321390B94A03C1D356C21122343280D6115C1D21,
         0xBD376388B5F723FB4C22DFE6CD4375A05A07476444D5819985007E34),
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFF16A2E0B8F03E13DD29455C5C2A3D),
}


class Edwards:
    """Ed25519 as ZIP 215 has it. Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z."""

    p = 2**255 - 19
    order = 2**252 + 27742317777372353535851937790883648493
    d = -121665 * pow(121666, -1, 2**255 - 19) % (2**255 - 19)
    zero = (0, 1, 1, 0)

    @classmethod
    def decompress(cls, encoded):
        """Any encoding of any point: y may be p or more, and a zero may have a sign."""
        number = int.from_bytes(encoded, "little")
        y, sign = (number & (2**255 - 1)) % cls.p, number >> 255
        x = square_root((y * y - 1) * pow(cls.d * y * y + 1, -1, cls.p), cls.p)
        if x is None:
            return None
        x = -x % cls.p if x % 2 != sign else x
        return x, y, 1, x * y % cls.p

    @classmethod
    def add(cls, one, two):
        p = cls.p
        a, b = (one[1] - one[0]) * (two[1] - two[0]) % p, (one[1] + one[0]) * (two[1] + two[0]) % p
        c, d = 2 * one[3] * two[3] * cls.d % p, 2 * one[2] * two[2] % p
        e, f, g, h = b - a, d - c, d + c, b + a
        return e * f % p, g * h % p, f * g % p, e * h % p

    @classmethod
    def times(cls, number, point):
        total = cls.zero
        while number:
            total = cls.add(total, point) if number & 1 else total
            point = cls.add(point, point)
            number >>= 1
        return total

    @classmethod
    def negative(cls, point):
        return -point[0] % cls.p, point[1], point[2], -point[3] % cls.p

    @classmethod
    def holds(cls, public, message, signature):
        if len(signature) != 64:
            return False
        s, r = int.from_bytes(signature[32:], "little"), cls.decompress(signature[:32])
        if s >= cls.order or r is None:
            return False
        k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % cls.order
        rest = cls.add(r, cls.times(k, cls.decompress(public)))
        x, y, z, _ = cls.times(8, cls.add(cls.times(s, BASE), cls.negative(rest)))
        return x % cls.p == 0 and (y - z) % cls.p == 0


BASE = Edwards.decompress(bytes([0x58] + [0x66] * 31))


def read_der(data, tag):
    """The content of a DER value with this tag, and what follows it."""
    need(len(data) >= 2 and data[0] == tag, "bad-key")
    size, at = data[1], 2
    if size & 0x80:
        width = size & 0x7F
        need(0 < width <= 2 and len(data) >= 2 + width, "bad-key")
        size, at = int.from_bytes(data[2:2 + width], "big"), 2 + width
        need(size >= (0x80 if width == 1 else 0x100), "bad-key")
    need(len(data) >= at + size, "bad-key")
    return data[at:at + size], data[at + size:]


def read_der_number(data):
    content, rest = read_der(data, 2)
    need(content and content[0] < 0x80, "bad-key")
    need(len(content) == 1 or content[0] > 0 or content[1] >= 0x80, "bad-key")
    return int.from_bytes(content, "big"), rest


def read_rsa(encoded, size):
    body, rest = read_der(encoded, 0x30)
    modulus, after = read_der_number(body)
    exponent, end = read_der_number(after)
    need(not rest and not end, "bad-key")
    need((modulus.bit_length() + 7) // 8 == size and modulus % 2 == 1, "bad-key")
    need(exponent % 2 == 1 and 3 <= exponent < modulus, "bad-key")
    return modulus, exponent


def rsa_holds(key, size, message, signature):
    """RFC 8017, section 8.2.2."""
    modulus, exponent = key
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
    padded = b"\0\1" + b"\xff" * (size - 3 - len(info)) + b"\0" + info
    return pow(number, exponent, modulus).to_bytes(size, "big") == padded


@functools.lru_cache(maxsize=None)
def read_key(algorithm, encoded):
    """The key as numbers. Encodings have one form, but for Ed25519."""
    if algorithm == -19:
        need(len(encoded) == 32 and Edwards.decompress(encoded) is not None, "bad-key")
        return encoded
    if algorithm in CURVES:
        return CURVES[algorithm].decompress(encoded)
    return read_rsa(encoded, RSA_BYTES[algorithm])


@functools.lru_cache(maxsize=None)
def holds(algorithm, public, message, signature):
    key = read_key(algorithm, public)
    if algorithm == -19:
        return Edwards.holds(key, message, signature)
    if algorithm in CURVES:
        return CURVES[algorithm].holds(key, message, signature, low_s=algorithm == -9)
    return rsa_holds(key, RSA_BYTES[algorithm], message, signature)


def verify(algorithm, public, message, signature):
    if not holds(algorithm, public, message, signature):
        raise Refused("forged")


def public_of(suite, secret):
    """The public key of a secret one, where the secret is a number or a seed."""
    if suite == "ed25519":
        digest = hashlib.sha512(secret).digest()
        scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
        x, y, z, _ = Edwards.times(scalar, BASE)
        inverse = pow(z, -1, Edwards.p)
        x, y = x * inverse % Edwards.p, y * inverse % Edwards.p
        return (y | (x & 1) << 255).to_bytes(32, "little")
    x, y = CURVES[-9].times(int.from_bytes(secret, "big"), CURVES[-9].g)
    return bytes([2 + y % 2]) + x.to_bytes(32, "big")


def key_id(algorithm, public):
    name = b"guestright/key/1" + algorithm.to_bytes(8, "big", signed=True) + public
    return hashlib.sha256(name).digest()[:24]


def member_id(team, key):
    return hashlib.sha256(b"guestright/member/1" + team + key).digest()[:24]

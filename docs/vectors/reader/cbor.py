"""Deterministic CBOR and COSE_Sign1: section 5 of note 0001."""

from . import Refused, need

DEPTH_MAX = 6
UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP = range(6)


def head(major, number):
    """The beginning of an item, in the shortest form."""
    if number < 24:
        return bytes([major << 5 | number])
    width = next(width for width in (1, 2, 4, 8) if number < 1 << 8 * width)
    return bytes([major << 5 | 24 + width.bit_length() - 1]) + number.to_bytes(width, "big")


def encode(value):
    if isinstance(value, bytes):
        return head(BYTES, len(value)) + value
    if isinstance(value, str):
        return head(TEXT, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(ARRAY, len(value)) + b"".join(encode(item) for item in value)
    return head(UNSIGNED, value) if value >= 0 else head(NEGATIVE, -1 - value)


class Reader:
    """From the left; the first fault decides."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        need(len(self.data) - self.at >= length, "truncated")
        self.at += length
        return self.data[self.at - length:self.at]

    def head(self, want=None):
        need(self.at < len(self.data), "truncated")
        major, short = self.data[self.at] >> 5, self.data[self.at] & 31
        need(major <= MAP and want in (None, major))
        self.at += 1
        if short < 24:
            return major, short
        if short == 31 and major in (BYTES, TEXT, ARRAY, MAP):
            raise Refused("not-canonical")
        need(short < 28)
        number = int.from_bytes(self.take(1 << short - 24), "big")
        need(len(head(major, number)) == 1 + (1 << short - 24), "not-canonical")
        return major, number

    def item(self, depth):
        major, number = self.head()
        if major == UNSIGNED:
            return number
        if major == NEGATIVE:
            return -1 - number
        if major == BYTES:
            return bytes(self.take(number))
        if major == TEXT:
            text = self.take(number)
            try:
                return text.decode()
            except UnicodeDecodeError as error:
                raise Refused("malformed") from error
        need(major == ARRAY and depth < DEPTH_MAX)
        return [self.item(depth + 1) for _ in numbers_up_to(number)]

    def end(self):
        need(self.at == len(self.data), "not-canonical")


def numbers_up_to(count):
    number = 0
    while number < count:
        yield number
        number += 1


def decode(data):
    """The items of an array, which is all there is."""
    reader = Reader(data)
    _, count = reader.head(ARRAY)
    items = [reader.item(1) for _ in numbers_up_to(count)]
    reader.end()
    return items


def is_number(value):
    return isinstance(value, int) and 0 <= value < 2**64


def is_integer(value):
    return isinstance(value, int) and -2**63 <= value < 2**63


def is_bytes(value, size=None):
    return isinstance(value, bytes) and (size is None or len(value) == size)


def protected(algorithm):
    return b"\xa1\x01" + encode(algorithm)


def read_protected(data):
    """The algorithm of a header that has nothing else."""
    if data[:2] == b"\xa1\x01":
        try:
            reader = Reader(data[2:])
            major, number = reader.head()
            reader.end()
            algorithm = number if major == UNSIGNED else -1 - number
            if major in (UNSIGNED, NEGATIVE) and is_integer(algorithm):
                return algorithm
        except Refused:
            pass
    raise Refused("not-canonical" if data and data[0] >> 5 == MAP else "malformed")


def open_sign1(data, longest, suites):
    """Algorithm, payload's items, payload and signature of an untagged COSE_Sign1."""
    need(len(data) <= longest, "oversized")
    reader = Reader(data)
    need(reader.head(ARRAY)[1] == 4)
    header = reader.take(reader.head(BYTES)[1])
    need(reader.head(MAP)[1] == 0, "not-canonical")
    payload = reader.take(reader.head(BYTES)[1])
    signature = reader.take(reader.head(BYTES)[1])
    reader.end()
    algorithm = read_protected(header)
    need(algorithm in suites, "unknown-suite")
    return algorithm, decode(payload), payload, signature


def sign1(algorithm, payload, signature):
    return (head(ARRAY, 4) + encode(protected(algorithm)) + head(MAP, 0) + encode(payload) + encode(signature))


def external_aad(domain, context=b""):
    return b"guestright/" + domain.encode() + b"/1" + context


def signed_bytes(algorithm, domain, context, payload):
    """RFC 9052, section 4.4."""
    return encode(["Signature1", protected(algorithm), external_aad(domain, context), payload])

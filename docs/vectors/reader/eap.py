"""What an access point and a guest's home say to each other: note 0014, "EAP between homes"."""

from . import need

CHALLENGE, ACCEPT, REJECT, AWAY = 2, 3, 4, 5
EAP_MIN, EAP_MAX, SENTENCE_MAX = 4, 4000, 240


def take(data, count):
    need(len(data) >= count)
    return data[:count], data[count:]


def read_head(data):
    """The kind, and what follows the conversation."""
    head, rest = take(data, 19)
    need(head[:2] == b"\xfe\x01")
    return head[2], rest


def eap(data):
    need(EAP_MIN <= len(data) <= EAP_MAX)


def sentence(data):
    """One line of at most 240 bytes."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        need(False)
    control = [letter for letter in text if ord(letter) < 0x20 or 0x7F <= ord(letter) <= 0x9F]
    need(len(data) <= SENTENCE_MAX and not control)


def address(data):
    """Behind it."""
    (family,), rest = take(data, 1)
    if family == 0:
        return rest
    need(family in (4, 6))
    raw, rest = take(rest, 4 if family == 4 else 16)
    port, rest = take(rest, 2)
    multicast = raw[0] >> 4 == 14 if family == 4 else raw[0] == 255
    need(any(port) and any(raw) and not multicast)
    return rest


def read_question(data):
    kind, rest = read_head(data)
    need(kind == 1)
    eap(take(rest, 2)[1])


def read_answer(data):
    """The kind."""
    kind, rest = read_head(data)
    need(kind in (CHALLENGE, ACCEPT, REJECT, AWAY))
    if kind == ACCEPT:
        rest = address(take(rest, 64 + 4)[1])
    elif kind == REJECT:
        (length,), rest = take(rest, 1)
        said, rest = take(rest, length)
        sentence(said)
    if kind == AWAY:
        sentence(rest)
    else:
        eap(rest)
    return kind

"""The text of the protocol: sections 7 and 8 of note 0001, RNEW of note 0012, and EAPQ, EAPR, TRYQ and TRYR of note 0014, ASKS and
SAYS of note 0015."""

import base64
import ipaddress
import re

from . import Refused, need
from .eap import ACCEPT, read_answer, read_question
from .objects import CLASSES, read_bundle

VERSION = " P2PWNC/3.0"
CODES = ("malformed", "certificate", "receipt", "refused", "busy", "unpaid", "no-session", "closed")
LINK_PORT, HOST_LEN_MAX, HOLDS_MAX, REASON_MAX = 7275, 100, 8, 600


def number(text, bits=64):
    """As our reader takes it: with a sign and zeros in front."""
    need(re.fullmatch(r"\+?[0-9]+", text) and int(text) < 2**bits)
    return int(text)


def binary(text, size=None):
    try:
        value = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Refused("malformed") from error
    need(base64.b64encode(value).decode() == text and size in (None, len(value)))
    return value


def hold(text):
    """A hold's name, and how many bytes."""
    name, slash, amount = text.rpartition("/")
    need(slash)
    return [binary(name, 24).hex(), number(amount)]


def holds(text):
    names = text.removesuffix(",").split(",") if text else []
    need(len(names) <= HOLDS_MAX)
    return [hold(name) for name in names]


def team(text):
    """Capitals are read, and never written."""
    need(re.fullmatch("[0-9A-Fa-f]{48}", text))
    return text.lower()


def teams(text):
    found = [team(one) for one in text.split(",")]
    need(len(found) <= 8)
    return found


def ip_address(kind, text):
    try:
        return None if "%" in text else kind(text)
    except ValueError:
        return None


def address(text):
    """`192.0.2.1:7275`, `[2001:db8::1]:7275` or `home.example:7275`, in that form."""
    six = ip_address(ipaddress.IPv6Address, text)
    if six is not None:
        host, port = six, str(LINK_PORT)
    elif text.startswith("["):
        inner, closed, rest = text[1:].partition("]")
        host, port = ip_address(ipaddress.IPv6Address, inner), rest[1:] if rest else str(LINK_PORT)
        need(host is not None and closed and rest[:1] in ("", ":"))
    else:
        name, colon, port = text.partition(":")
        host, port = ip_address(ipaddress.IPv4Address, name), port if colon else str(LINK_PORT)
        if host is None:
            host = host_name(name)
    need(re.fullmatch("[0-9]+", port) and 0 < int(port) < 2**16)
    if isinstance(host, ipaddress.IPv4Address):
        need(int(host) not in (0, 2**32 - 1) and not host.is_multicast)
    if isinstance(host, ipaddress.IPv6Address):
        need(int(host) != 0 and not host.is_multicast and host.ipv4_mapped is None)
        return f"[{host}]:{int(port)}"
    return f"{host}:{int(port)}"


def host_name(text):
    name = text.removesuffix(".").lower()
    label = "_?[a-z0-9]([a-z0-9-]*[a-z0-9])?"
    labels = name.split(".")
    need(len(name) <= HOST_LEN_MAX and not labels[-1].isdigit())
    need(all(len(one) <= 63 and re.fullmatch(label, one) for one in labels))
    return name


def line(data, at, left):
    end = data.find(b"\r\n", at, at + left)
    if end < 0:
        raise Refused("truncated" if len(data) - at < left else "oversized")
    text = data[at:end]
    need(all(0x20 <= byte <= 0x7E for byte in text))
    return text.decode("ascii"), end + 2


def read_frame(data):
    """Method, headers and body."""
    start, at = line(data, 0, 64)
    need(start.endswith(VERSION))
    begin, headers = at, {}
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
    return start.removesuffix(VERSION), headers, data[at:]


class Message:
    """The headers of a message, read one after the other into `fields`."""

    def __init__(self, program, headers, body):
        self.program, self.headers, self.body, self.fields = program, headers, body, {}

    def read(self, name, how):
        need(name in self.headers)
        self.fields[name] = how(self.headers[name])
        return self.fields[name]

    def maybe(self, name, how):
        return self.read(name, how) if name in self.headers else None

    def flag(self, name):
        """Only 1 means yes; another number is as none."""
        if self.maybe(name, lambda text: number(text, 8)) != 1:
            self.fields.pop(name, None)

    def choice(self, name, known):
        def one_of(text):
            need(text in known)
            return text
        return self.read(name, one_of)

    def certificate(self, name):
        data = self.read(name, binary)
        try:
            self.program.read_certificate(data)
        except Refused as error:
            raise Refused("certificate") from error
        self.fields[name] = data.hex()

    def bundle(self):
        self.whole(read_bundle)

    def whole(self, how):
        """The body, read by this."""
        try:
            found = how(self.body)
        except Refused as error:
            raise Refused("body") from error
        self.fields["body"] = self.body.hex()
        return found


def read_conn(message):
    message.certificate("Member-Certificate")
    message.read("Nonce", lambda text: binary(text, 16).hex())
    message.flag("Holds")
    message.bundle()


def read_cack(message):
    message.certificate("Provider-Certificate")
    message.read("Acknowledgement", lambda text: binary(text).hex())
    message.maybe("Home", address)


def read_rreq(message):
    if "Tunnel" in message.headers:
        need(message.read("Tunnel", lambda text: number(text, 16)) != 0)
        message.maybe("Session-Started", number)
        return
    message.read("Session-Started", number)
    message.read("Weight", number)
    message.maybe("Hold", hold)
    message.flag("Last")


def read_rcpt(message):
    message.maybe("Reference", number)
    message.maybe("Home", address)
    message.bundle()


def read_quer(message):
    message.read("Reference", number)
    message.certificate("Member-Certificate")
    message.read("Request-Weight", number)
    if message.maybe("Session-Started", number) is not None:
        message.read("Left", number)
        message.read("Unpaid", number)
    message.flag("Holds")
    message.bundle()


def read_qrsp(message):
    if message.choice("Decision", ("grant", "deny")) == "grant":
        message.choice("Qos-Class", CLASSES)
    message.read("Reference", number)
    if message.maybe("Volume", number) is not None:
        if not message.maybe("Holds", holds):
            message.fields.pop("Holds", None)
        message.maybe("Between", teams)
    message.maybe("Home", address)
    message.maybe("Ind-Permille", lambda text: number(text, 16))
    message.read("Valid-For", lambda text: number(text, 32))
    message.read("Reason", str)


def read_updt(message):
    message.read("Reference", number)
    if message.maybe("Stored", lambda text: number(text, 16)) is not None:
        message.read("Refused", lambda text: number(text, 16))
        return
    message.read("Since", number)
    message.read("Max", lambda text: number(text, 16))


def read_rnew(message):
    message.read("Reference", number)
    if "Certificate" in message.headers:
        message.certificate("Certificate")


def read_eapq(message):
    message.read("Reference", number)
    message.read("Team", team)
    message.whole(read_question)


def read_eapr(message):
    message.read("Reference", number)
    decides = "Decision" in message.headers
    if decides:
        message.choice("Decision", ("grant", "deny"))
        message.read("Reason", str)
    need((message.whole(read_answer) == ACCEPT) == decides)


def read_tryq(message):
    message.read("Reference", number)
    message.read("Request-Weight", number)
    message.read("Unused", number)


def read_tryr(message):
    message.read("Reference", number)
    message.read("Volume", number)
    message.read("Reason", str)


def read_asks(message):
    message.read("Reference", number)
    message.read("Version", lambda text: number(text, 8))
    what = message.choice("What", ("overview", "end-guest", "block-devices"))
    if what == "end-guest":
        message.read("Guest", guest)
    if what == "block-devices":
        need(len(message.body) // 6 <= 256, "oversized")
        message.whole(read_devices)


def guest(text):
    need(re.fullmatch("[0-9a-f]{16}", text) is not None)
    return text


def read_devices(body):
    devices = [body[at:at + 6] for at in range(0, len(body), 6)]
    need(len(body) % 6 == 0 and all(one < other for one, other in zip(devices, devices[1:])))


def read_says(message):
    message.read("Reference", number)
    message.read("Version", lambda text: number(text, 8))
    if "Outcome" not in message.headers:
        message.fields["body"] = message.body.hex()
    elif message.choice("Outcome", ("done", "failed")) == "done":
        message.read("Ended", lambda text: number(text, 32))
    else:
        message.read("Reason", str)


def read_erro(message):
    message.maybe("Reference", number)
    message.choice("Code", CODES)
    message.read("Reason", str)


METHODS = {"CONN": read_conn, "CACK": read_cack, "RREQ": read_rreq, "RCPT": read_rcpt, "QUER": read_quer,
           "QRSP": read_qrsp, "UPDT": read_updt, "ERRO": read_erro, "RNEW": read_rnew,
           "EAPQ": read_eapq, "EAPR": read_eapr, "TRYQ": read_tryq, "TRYR": read_tryr,
           "ASKS": read_asks, "SAYS": read_says}
ORDER = {
    "CONN": ("Member-Certificate", "Nonce", "Holds"),
    "CACK": ("Provider-Certificate", "Acknowledgement", "Home"),
    "RREQ": ("Tunnel", "Session-Started", "Weight", "Hold", "Last"),
    "RCPT": ("Reference", "Home"),
    "QUER": ("Reference", "Member-Certificate", "Request-Weight", "Session-Started", "Left", "Unpaid", "Holds"),
    "QRSP": ("Reference", "Decision", "Qos-Class", "Volume", "Holds", "Between", "Home", "Ind-Permille", "Valid-For",
             "Reason"),
    "UPDT": ("Reference", "Since", "Max", "Stored", "Refused"),
    "ERRO": ("Reference", "Code", "Reason"),
    "RNEW": ("Reference", "Certificate"),
    "EAPQ": ("Reference", "Team"),
    "EAPR": ("Reference", "Decision", "Reason"),
    "TRYQ": ("Reference", "Request-Weight", "Unused"),
    "TRYR": ("Reference", "Volume", "Reason"),
    "ASKS": ("Reference", "Version", "What", "Guest"),
    "SAYS": ("Reference", "Version", "Outcome", "Ended", "Reason"),
}
BASE64 = ("Certificate", "Member-Certificate", "Provider-Certificate", "Nonce", "Acknowledgement")


def read_message(program, data):
    """The method, and the fields by the names of their headers."""
    method, headers, body = read_frame(data)
    need(method in METHODS)
    message = Message(program, headers, body)
    METHODS[method](message)
    return method, message.fields


def write_message(method, fields):
    lines = [method + VERSION]
    lines += [f"{name}: {write_value(name, fields[name])}" for name in ORDER[method] if fields.get(name) is not None]
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
        return ",".join(write_value("Hold", one) for one in value)
    if name == "Between":
        return ",".join(value)
    if name == "Reason":
        return value[:REASON_MAX].strip(" ") or "-"
    return value

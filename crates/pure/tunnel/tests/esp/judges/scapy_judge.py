"""Opens and makes ESP packets with Scapy, for the tests beside it.

In, one JSON object per line: op ("open" or "seal"), suite, spi, encryption and authentication key, mode, encapsulation,
extended, sequence, and packet; bytes in hexadecimal. Out, one line each: the packet that came out in hexadecimal, or
"error: " and why not.

Scapy 2.5 leaves the upper half of an extended sequence number out of the HMAC of an ESP packet (it has it in AEAD and in
AH), so that half is added here, as RFC 4303, section 2.2.1, says.
"""

import hmac
import json
import struct
import sys
import warnings

warnings.filterwarnings("ignore")  # Old ciphers are what this is about.

from scapy.config import conf  # noqa: E402

conf.load_layers = ["inet", "inet6", "ipsec", "l2tp", "ppp"]
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.ipsec import ESP, IPSecIntegrityError, SecurityAssociation  # noqa: E402

ALGORITHMS = {
    "3des-cbc+hmac-sha1-96": ("3DES", "HMAC-SHA1-96"),
    "aes-128-cbc+hmac-md5-96": ("AES-CBC", "HMAC-MD5-96"),
    "aes-128-cbc+hmac-sha1-96": ("AES-CBC", "HMAC-SHA1-96"),
    "aes-128-gcm": ("AES-GCM", None),
    "aes-256-gcm": ("AES-GCM", None),
    "chacha20-poly1305": ("CHACHA20-POLY1305", None),
}


class ExtendedHmac:
    """HMAC over the packet and the upper half, in the place of Scapy's own."""

    icv_size = 12

    def __init__(self, name, high):
        self.digest = {"HMAC-SHA1-96": "sha1", "HMAC-MD5-96": "md5"}[name]
        self.high = struct.pack("!L", high)

    def compute(self, packet, key):
        return hmac.new(key, packet + self.high, self.digest).digest()[: self.icv_size]

    def sign(self, packet, key, **_):
        packet[ESP].data += self.compute(bytes(packet[ESP]), key)
        return packet

    def verify(self, packet, key, **_):
        packet = bytes(packet)
        if packet[-self.icv_size :] != self.compute(packet[: -self.icv_size], key):
            raise IPSecIntegrityError("the check value is wrong")


def association(case):
    crypt, auth = ALGORITHMS[case["suite"]]
    is_udp = case["encapsulation"] == "udp"
    sa = SecurityAssociation(
        ESP,
        spi=case["spi"],
        crypt_algo=crypt,
        crypt_key=bytes.fromhex(case["encryption"]),
        auth_algo=auth,
        auth_key=bytes.fromhex(case["authentication"]) or None,
        tunnel_header=IP(src="192.0.2.1", dst="198.51.100.2") if case["mode"] == "tunnel" else None,
        nat_t_header=UDP(sport=4500, dport=4500, chksum=0) if is_udp else None,
        esn_en=case["extended"],
        esn=case["sequence"] >> 32,
    )
    if auth and case["extended"]:
        sa.auth_algo = ExtendedHmac(auth, case["sequence"] >> 32)
    return sa


def answer(case):
    packet = bytes.fromhex(case["packet"])
    sa = association(case)
    if case["op"] == "open":
        return bytes(sa.decrypt(IP(packet)))
    inner = IPv6(packet) if packet[0] >> 4 == 6 else IP(packet)
    return bytes(sa.encrypt(inner, seq_num=case["sequence"] & 0xFFFFFFFF))


for line in sys.stdin:
    try:
        print(answer(json.loads(line)).hex())
    except Exception as error:  # Whatever it is: the test decides what it means.
        print("error:", type(error).__name__, error)

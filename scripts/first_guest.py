#!/usr/bin/env python3
"""Measures how long it takes from an installed program to the first guest that is served: guestright and openNDS.

A household's computer with an uplink and a guests' wire, a guest, and an Internet with names and a web server, in network
namespaces of their own; /etc, /var and /usr are this computer's under a layer of memory. Needs root, iproute2, dnsmasq,
busybox with udhcpc, and openNDS installed or its packages unpacked in --opennds-root. Nothing of this computer is changed.

    sudo python3 scripts/first_guest.py --program target/release/guestright --runs 5
    sudo python3 scripts/first_guest.py --program target/release/guestright --opennds-root unpacked

The clock starts before the first command of the household, and stops when the guest has fetched a page of the Internet.
guestright does it by `setup` and a file of answers. For openNDS the household's commands are those that its documentation
leaves to the administrator: a bridge with an address, dnsmasq, the name of the interface in its settings; the guest clicks
what the splash page shows. No time to think or to type is in either.
"""

import argparse
import html.parser
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.parse

MARK = "FIRST_GUEST_INSIDE"
WEB = "192.0.2.1"
PAGE = b"the Internet"
PATIENCE = 60  # seconds; nothing waits for it unless something is broken
SERVER = f"""
import http.server
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write({PAGE!r})
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("{WEB}", 80), Page).serve_forever()
"""
LEASE = """#!/bin/sh
case $1 in bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    ip route replace default via "$router" dev "$interface"
    echo "nameserver $dns" >/run/phone.resolv
    ;;
esac
"""


def run(*words, host=None, check=True, **more):
    prefix = ["nsenter", f"--net=/run/netns/{host}"] if host else []
    return subprocess.run([*prefix, *map(str, words)], check=check, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def start(*words, host):
    log = open(f"/run/{host}-{pathlib.Path(words[0]).name}.log", "ab")
    return subprocess.Popen(["nsenter", f"--net=/run/netns/{host}", *map(str, words)], stdin=subprocess.DEVNULL,
                            stdout=log, stderr=log)


def until(what, done):
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.01)


def build():
    run("mount", "-t", "tmpfs", "first-guest", "/run")
    run("ip", "link", "set", "lo", "up")
    for directory in ("etc", "var", "usr"):
        layer = pathlib.Path("/run/layer") / directory
        for part in ("upper", "work"):
            (layer / part).mkdir(parents=True)
        options = f"lowerdir=/{directory},upperdir={layer}/upper,workdir={layer}/work"
        run("mount", "-t", "overlay", "layer", "-o", options, f"/{directory}")
    for host in ("net", "router", "phone"):
        run("ip", "netns", "add", host)
        run("ip", "-n", host, "link", "set", "lo", "up")
    for a, b in ((("net", "wan"), ("router", "eth0")), (("router", "eth1"), ("phone", "eth0"))):
        run("ip", "link", "add", a[1], "netns", a[0], "type", "veth", "peer", "name", b[1], "netns", b[0])
        for host, link in (a, b):
            run("ip", "-n", host, "link", "set", link, "up")
    for host, link, address in (("net", "lo", f"{WEB}/32"), ("net", "wan", "198.51.100.1/24"),
                                ("router", "eth0", "198.51.100.2/24")):
        run("ip", "-n", host, "address", "add", address, "dev", link)
    run("ip", "-n", "router", "route", "add", "default", "via", "198.51.100.1")
    resolv = pathlib.Path("/etc/resolv.conf")
    resolv.unlink(missing_ok=True)
    resolv.write_text(f"nameserver {WEB}\n")
    start("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
          f"--listen-address={WEB}", f"--address=/#/{WEB}", "--user=root", "--pid-file", host="net")
    start(sys.executable, "-c", SERVER, host="net")
    until("the web server", lambda: fetch("net") == PAGE)
    lease = pathlib.Path("/run/lease.sh")
    lease.write_text(LEASE)
    lease.chmod(0o755)


def fetch(host, url=f"http://{WEB}/", follow=True):
    """What a browser on the host gets; nothing if there is no answer."""
    more = ["--location"] if follow else []
    got = run("curl", "--silent", "--max-time", "5", *more, url, host=host, check=False)
    return got.stdout.encode()


def lease():
    run("busybox", "udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "20", "-T", "1", "-s", "/run/lease.sh", host="phone")


def guestright(program):
    """The household's commands, then the guest's. Yields after each of the two."""
    answers = pathlib.Path("/run/answers.toml")
    answers.write_text('[team]\nmembers = ["alice"]\n[wifi]\nenabled = false\n[home]\nport_mapping = false\n')
    run(program, "setup", "--answers", answers, "--yes", "--json", host="router")
    yield
    lease()
    key = "/etc/guestright/team/alice"
    start(program, "visit", "--no-tunnel", "--key", f"{key}.key", "--certificate", f"{key}.cert", "--state",
          "/run/visit", host="phone")
    until("the guest to be served", lambda: fetch("phone") == PAGE)
    yield


class Form(html.parser.HTMLParser):
    """The first form of a page that a person could send: where to, and with what."""

    def __init__(self):
        super().__init__()
        self.action, self.fields, self.is_over = None, {}, False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = attributes.get("action", "")
        elif tag == "input" and self.action is not None and not self.is_over and attributes.get("name"):
            self.fields[attributes["name"]] = attributes.get("value", "")

    def handle_endtag(self, tag):
        self.is_over |= tag == "form" and self.action is not None


def click_through():
    """What a person does with a splash page: sends each form that is shown."""
    url = f"http://{WEB}/"
    for _ in range(6):
        got = run("curl", "--silent", "--location", "--max-time", "10", "--write-out", "\n%{url_effective}", url,
                  host="phone", check=False).stdout
        page, _, at = got.rpartition("\n")
        if page.encode() == PAGE:
            return True
        form = Form()
        form.feed(page)
        if form.action is None:
            return False
        target = urllib.parse.urljoin(at, form.action)
        url = f"{target.split('?')[0]}?{urllib.parse.urlencode(form.fields)}"
    return False


def opennds(root):
    if root:
        run("cp", "-a", f"{root}/usr/.", "/usr/")
        run("cp", "-a", f"{root}/etc/.", "/etc/")
    settings = pathlib.Path("/etc/opennds/opennds.conf")
    # Some kernels refuse what openNDS 9 does by iptables over nftables; it is the same to it.
    legacy = pathlib.Path("/run/bin")
    legacy.mkdir()
    (legacy / "iptables").symlink_to("/usr/sbin/iptables-legacy")
    os.environ["PATH"] = f"{legacy}:{os.environ['PATH']}"
    yield  # What is above is the installation.
    bridge = "br-guest"
    for words in (("ip", "link", "add", bridge, "type", "bridge"), ("ip", "link", "set", bridge, "up"),
                  ("ip", "link", "set", "eth1", "master", bridge),
                  ("ip", "address", "add", "10.73.0.1/24", "dev", bridge),
                  ("sysctl", "-q", "net.ipv4.ip_forward=1"),
                  ("iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-j", "MASQUERADE")):
        run(*words, host="router")
    dhcp = pathlib.Path("/etc/dhcp.conf")
    dhcp.write_text(f"interface={bridge}\nexcept-interface=lo\nbind-dynamic\ndhcp-authoritative\n"
                    "dhcp-range=10.73.0.10,10.73.0.254,255.255.255.0,1h\npid-file\n")
    run("dnsmasq", f"--conf-file={dhcp}", host="router")
    kept = [line for line in settings.read_text().splitlines() if not line.strip().startswith("GatewayInterface")]
    settings.write_text("\n".join([*kept, f"GatewayInterface {bridge}", ""]))
    start("opennds", "-f", host="router")
    until("openNDS", lambda: run("ndsctl", "status", host="router", check=False).returncode == 0)
    yield
    lease()
    until("the guest to be served", click_through)
    yield


def measure(which, arguments):
    build()
    steps = guestright(arguments.program) if which == "guestright" else opennds(arguments.opennds_root)
    if which == "opennds":
        next(steps)
    began = time.monotonic()
    next(steps)
    ready = time.monotonic()
    if fetch("phone", follow=False) == PAGE:
        sys.exit("a guest was served before it was let in")
    next(steps)
    served = time.monotonic()
    print(json.dumps({"household": ready - began, "guest": served - ready, "together": served - began}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="guestright, built")
    parser.add_argument("--opennds-root", type=pathlib.Path, help="where openNDS's packages are unpacked")
    parser.add_argument("--only", choices=["guestright", "opennds"])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    arguments.opennds_root = arguments.opennds_root and arguments.opennds_root.resolve()
    if os.environ.get(MARK):
        measure(arguments.only, arguments)
        return
    sandbox = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    systems = [arguments.only] if arguments.only else ["guestright", "opennds"]
    results = {which: [] for which in systems}
    # One after the other, so that what else the computer does falls on both.
    for _ in range(arguments.runs):
        for which in systems:
            command = [*sandbox, sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--only", which]
            output = subprocess.run(command, env={**os.environ, MARK: "1"}, check=True, capture_output=True, text=True)
            results[which].append(json.loads(output.stdout.splitlines()[-1]))
    for which in systems:
        for part in ("household", "guest", "together"):
            values = sorted(result[part] for result in results[which])
            print(f"{which:<10} {part:<10} median {statistics.median(values):6.2f} s, {values[0]:.2f} to {values[-1]:.2f}")


if __name__ == "__main__":
    main()

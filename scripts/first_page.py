#!/usr/bin/env python3
"""Measures how long a phone waits for the splash page after it has an address: guestright and openNDS.

    sudo python3 scripts/first_page.py --program target/release/guestright --runs 5
    sudo python3 scripts/first_page.py --program target/release/guestright --opennds-root unpacked

The same hosts as `first_guest.py` makes, which says what it needs. The household's commands are done before the clock
starts. It starts when the phone's DHCP client has configured the address, goes on over the name of Apple's probe and the
probe itself, follows what it is led to, and stops when the whole page is there. Each run is a new household and a phone
that it has never seen; ten more pages of the same phone follow at once.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import first_guest as town

PROBE = ("captive.apple.com", "/hotspot-detect.html")
PAGES = 10
SPLASH = '[splash]\nhousehold = "The Rivers"\n'


def guestright(program):
    """The household's commands, with a page."""
    answers = pathlib.Path("/run/answers.toml")
    answers.write_text(f"[wifi]\nenabled = false\n[home]\nport_mapping = false\n{SPLASH}")
    town.run(program, "setup", "--answers", answers, "--yes", "--json", host="router")


def opennds(root):
    steps = town.opennds(root)
    next(steps)
    next(steps)


def look(name_server):
    """Seconds until the page is there, its bytes and redirects."""
    name, path = PROBE
    began = time.monotonic()
    # Its exit code is that of the question for an IPv6 address.
    answer = town.run("busybox", "nslookup", name, name_server, host="phone", check=False).stdout
    if town.WEB not in answer:
        sys.exit(f"no such name: {answer}")
    got = town.run("curl", "--silent", "--show-error", "--location", "--max-time", "60", "--resolve",
                   f"{name}:80:{town.WEB}", "--output", "/run/page", "--write-out",
                   "%{http_code} %{num_redirects}", f"http://{name}{path}", host="phone").stdout
    took = time.monotonic() - began
    page = pathlib.Path("/run/page").read_bytes()
    if got.split()[0] not in ("200", "511") or page == town.PAGE or b"<html" not in page.lower():
        sys.exit(f"no page: {got} {page[:200]!r}")
    return took, len(page), int(got.split()[1])


def measure(which, arguments):
    town.build()
    guestright(arguments.program) if which == "guestright" else opennds(arguments.opennds_root)
    town.lease()
    routes = json.loads(town.run("ip", "-j", "route", "show", "default", host="phone").stdout)
    first, size, redirects = look(routes[0]["gateway"])
    more = [look(routes[0]["gateway"])[0] for _ in range(PAGES)]
    print(json.dumps({"first": first, "more": statistics.median(more), "bytes": size, "redirects": redirects}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="guestright, built")
    parser.add_argument("--opennds-root", type=pathlib.Path, help="where openNDS's packages are unpacked")
    parser.add_argument("--only", choices=["guestright", "opennds"])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    arguments.opennds_root = arguments.opennds_root and arguments.opennds_root.resolve()
    if os.environ.get(town.MARK):
        measure(arguments.only, arguments)
        return
    sandbox = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    systems = [arguments.only] if arguments.only else ["guestright", "opennds"]
    results = {which: [] for which in systems}
    # One after the other, so that what else the computer does falls on both.
    for _ in range(arguments.runs):
        for which in systems:
            command = [*sandbox, sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--only", which]
            output = subprocess.run(command, env={**os.environ, town.MARK: "1"}, capture_output=True, text=True)
            if output.returncode != 0:
                sys.exit(output.stdout + output.stderr)
            results[which].append(json.loads(output.stdout.splitlines()[-1]))
    for which in systems:
        for part in ("first", "more"):
            values = sorted(result[part] * 1_000 for result in results[which])
            print(f"{which:<10} {part:<6} median {statistics.median(values):8.1f} ms, {values[0]:.1f} to {values[-1]:.1f}")
        last = results[which][-1]
        print(f"{which:<10} {last['bytes']} bytes, {last['redirects']} redirects")


if __name__ == "__main__":
    main()

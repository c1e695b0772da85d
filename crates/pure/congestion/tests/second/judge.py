"""Plays scripts to the second implementation and prints each event with what became of it.

    judge.py drawn SEED COUNT TRANSPORT [KEY=VALUE ...]    scripts drawn by chance
    judge.py by-hand FILE [KEY=VALUE ...]                  scripts from a file

A script begins with a line `case`; the other lines are events, `name key=value ...`. What is printed has ` | ` and the
state after the event at the end of each line. Arguments KEY=VALUE change the cases.
"""

import random
import sys

from drawn import Connection, drawn_path
from second import Meter, Real, Westwood

SILENT = {"again": 0, "last": 0, "rtt": None, "wave": None}
DEFAULTS = {
    "name": "", "transport": "westwood", "unit": "bytes", "segment": 1000, "initial": 2, "window": 64,
    "divisor": "off", "ties": "microsecond", "tick": 0, "tau": 0, "reading": "ours",
}


class Player:
    """Hands events to a controller and a meter, and prints what they make of them."""

    def __init__(self, case):
        self.case = {key: type(DEFAULTS[key])(value) for key, value in case.items()}
        self.controller = {"westwood": Westwood, "real": Real}[case["transport"]](self.case)
        self.meter = Meter()
        self.steps = 0
        print("case", *(f"{key}={value}" for key, value in case.items()))

    def report(self):
        return self.meter.report if self.case["transport"] == "real" else None

    def play(self, name, **event):
        self.steps += 1
        text = " ".join(f"{key}={write(value)}" for key, value in event.items())
        state = self.react(name, {**SILENT, **event})
        print(name, text, "|", *(f"{key}={write(value)}" for key, value in state.items()))
        return getattr(self.controller, "stamp", None)

    def react(self, name, event):
        if name == "arrived":
            report = self.meter.arrived(event["now"], event["wave"], event["bytes"])
            return {"report": report}
        # Times in seconds for the controllers; the meter counts microseconds.
        for key in ("now", "rtt"):
            if event.get(key) is not None:
                event[key] /= 1e6
        if name == "idle":
            self.controller.reno.paused()
        else:
            getattr(self.controller, name)(event)
        reno = self.controller.reno
        return {"cwnd": reno.cwnd, "ssthresh": reno.ssthresh, **self.controller.state()}


def write(value):
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return repr(value) if isinstance(value, float) else str(value)


def read(value):
    if value == "-":
        return None
    if "," in value:
        return tuple(int(part) for part in value.split(","))
    return int(value)


def drawn(seed, count, transport, changes):
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        case = {
            **DEFAULTS, "name": f"{transport}-{seed}-{number}", "transport": transport,
            "unit": chance.choice(["segments", "bytes"]), "segment": chance.choice([160, 500, 1000, 1460]),
            "initial": chance.choice([1, 2, 2, 4]), "window": chance.choice([20, 64, 200]),
            "divisor": chance.choice(["on", "off"]), "tick": chance.choice([0, 10_000]),
            "tau": chance.choice([0, 0, 0, 1_000_000]), **changes,
        }
        path = drawn_path(chance)
        player = Player(case)
        Connection(player.case, path, chance, player).run(600)


def by_hand(file, changes):
    player = None
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            event, _, want = line.split("#")[0].partition(" : ")
            name, *pairs = event.split() or [""]
            pairs = dict(pair.split("=") for pair in pairs)
            if name == "case":
                player = Player({**DEFAULTS, **pairs, **changes})
            elif name:
                player.play(name, **{key: read(value) for key, value in pairs.items()})
                check(player, line, want, changes)


def check(player, line, want, changes):
    """What has to come out by pencil and paper, to the last digit written there."""
    if changes:
        return
    reno = player.controller.reno
    state = {"cwnd": reno.cwnd, "ssthresh": reno.ssthresh, **player.controller.state()}
    for pair in want.split():
        key, value = pair.split("=")
        if abs(state[key] - float(value)) > 0.51 * 10 ** -len(value.partition(".")[2]):
            sys.exit(f"{player.case['name']}: {line.strip()}: {key} is {state[key]}")


def main(arguments):
    plain = [argument for argument in arguments if "=" not in argument]
    changes = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    if plain[:1] == ["drawn"] and len(plain) == 4:
        drawn(plain[1], int(plain[2]), plain[3], changes)
    elif plain[:1] == ["by-hand"] and len(plain) == 2:
        by_hand(plain[1], changes)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    with open(1, "w", buffering=1 << 20, encoding="ascii") as sys.stdout:
        main(sys.argv[1:])

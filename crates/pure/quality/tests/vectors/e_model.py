#!/usr/bin/env python3
"""Writes e_model.csv: one-way delay in ms, loss from 0 to 1, and the mean opinion score by flent.

flent (https://flent.org, Debian package "flent") has an implementation of ITU-T G.107 (06/2015) of its own, for
all parameters at their defaults but delay and loss. It was compared with the reference implementation of ITU-T.

usage: /usr/bin/python3 e_model.py > e_model.csv
"""

import sys

sys.path.append("/usr/share/flent")

from flent.util import mos_score  # noqa: E402

DELAYS_MS = [0, 0.5, 1, 2, 5, 10, 20, 35, 50, 75, 99, 100, 101, 120, 150, 177.3, 200, 250, 300, 400, 500, 750]
LOSSES = [0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0]

print("delay_ms,loss,mos")
for delay in DELAYS_MS:
    for loss in LOSSES:
        print(f"{delay},{loss},{mos_score(delay, loss):.9f}")

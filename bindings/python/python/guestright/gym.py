"""Environments for gymnasium: ``pip install guestright[gym]``.

`CongestionEnv` is a path with one sender, whose window an agent sets once for each round trip. Nothing in it is global:
any number of environments go on beside each other, as vector environments want it.

>>> from guestright.gym import CongestionEnv
>>> env = CongestionEnv(rate_bps=10_000_000, one_way_us=20_000)
>>> observation, _ = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(4)
>>> round(info["round_trip_us"] / 1_000)
41
"""

from __future__ import annotations

from typing import Any, Optional

import gymnasium
import numpy
from numpy.typing import NDArray

from ._lab import Link

Observation = NDArray[numpy.float32]

FACTORS = (0.5, 0.9, 1.0, 1.1, 2.0)
"""What an action makes of the window."""
SEGMENT = 1_200
"""Bytes of a packet."""
WINDOW_MAX = 100_000
"""The most packets on their way."""


class CongestionEnv(gymnasium.Env[Observation, int]):
    """One sender on a link with a drop-tail queue. A step is a round trip of virtual time.

    action: an index of `FACTORS`, by which the window is multiplied.
    observation: window / (rate · round trip without a queue), round trip / that without a queue − 1, share of packets that
    were lost, share of the rate that was used; all of the last round trip.
    reward: the share of the rate that was used, less half of the queueing delay in round trips, less ten times the loss.
    An episode is truncated after `steps`.
    """

    def __init__(
        self,
        *,
        rate_bps: int = 10_000_000,
        one_way_us: int = 20_000,
        queue_packets: int = 100,
        loss: float = 0.0,
        steps: int = 200,
    ) -> None:
        self.action_space: gymnasium.spaces.Space[Any] = gymnasium.spaces.Discrete(len(FACTORS))
        high = numpy.array([numpy.inf, numpy.inf, 1.0, numpy.inf], dtype=numpy.float32)
        self.observation_space = gymnasium.spaces.Box(numpy.zeros(4, dtype=numpy.float32), high, dtype=numpy.float32)
        self._rate_bps, self._one_way_us = rate_bps, one_way_us
        self._queue_packets, self._loss, self._steps = queue_packets, loss, steps
        self._base_us = 2 * one_way_us + SEGMENT * 8 * 1_000_000 // rate_bps
        self._pipe = rate_bps * self._base_us / 8e6 / SEGMENT

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        chance = int(self.np_random.integers(2**63))
        self._link = Link(
            self._rate_bps,
            delay_us=self._one_way_us,
            queue_packets=self._queue_packets,
            loss=self._loss,
            seed=chance,
        )
        self._now = self._step = self._tag = 0
        self._window = 10.0
        self._sent_at: dict[int, int] = {}
        self._acknowledgements: list[tuple[int, int, bool]] = []
        return numpy.zeros(4, dtype=numpy.float32), {}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._window = min(max(self._window * FACTORS[int(action)], 1.0), float(WINDOW_MAX))
        began, end = self._now, self._now + self._base_us
        delivered = lost = 0
        round_trips: list[int] = []
        while True:
            while len(self._sent_at) < int(self._window):
                if not self._link.send(self._now, SEGMENT, self._tag):
                    lost += 1
                    break  # A full queue drops what follows as well.
                self._sent_at[self._tag] = self._now
                self._tag += 1
            arrival = self._link.poll_timeout()
            due = [self._acknowledgements[0][0]] if self._acknowledgements else []
            due += [] if arrival is None else [arrival]
            self._now = min([*due, end])
            for at, tag, _, is_lost in self._link.advance(self._now):
                self._acknowledgements.append((at + self._one_way_us, tag, is_lost))
            while self._acknowledgements and self._acknowledgements[0][0] <= self._now:
                at, tag, is_lost = self._acknowledgements.pop(0)
                sent = self._sent_at.pop(tag)
                lost, delivered = lost + is_lost, delivered + (not is_lost)
                round_trips += [] if is_lost else [at - sent]
            if self._now >= end:
                break
        self._step += 1
        round_trip = sum(round_trips) / len(round_trips) if round_trips else float(self._base_us)
        queueing = max(round_trip / self._base_us - 1.0, 0.0)
        lost_share = lost / max(lost + delivered, 1)
        used = delivered * SEGMENT * 8e6 / (self._now - began) / self._rate_bps
        observation = numpy.array([self._window / self._pipe, queueing, lost_share, used], dtype=numpy.float32)
        reward = used - 0.5 * queueing - 10.0 * lost_share
        about = {"window": self._window, "round_trip_us": round_trip, "delivered": delivered, "lost": lost}
        return observation, float(reward), False, self._step >= self._steps, about

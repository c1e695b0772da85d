"""TCP Westwood and TCP-Real, written a second time, from texts alone.

The texts are paper C (its sections 2, 3.1, 3.2 and 5.1), what the project's notes found of the rest (the pseudo-code of
Westwood, a labelled reading of Real), and UCLA's module for ns-2, `tcp-westwood.cc` 1.3 of 2002. The implementation in
`src/` was opened when the first version of this file was finished and committed. Numbers here are real numbers, in segments
and seconds.

Readings where the texts are silent or disagree:

Westwood
  W1  The first sample counts from the first segment that was sent. (The module: from the start of the simulation.)
  W2  Acknowledgements in the same microsecond: Algorithm 1 divides by zero. They count as a microsecond apart, as in `src/`;
      with `ties=held` (the first version here) what they acknowledge is counted with the next one that comes later.
  W3  A duplicate counts for one segment; a jump over more than one segment counts without those that duplicates have
      counted, but at least for one and at most for two (the module; the paper has `acked` only). An acknowledgement of
      one segment takes nothing off that account.
  W4  The pole is 19/21 and the gain 1/21 (paper); the module has .9047 and .0476, whose estimate is 0.1 % lower.
  W5  Each acknowledgement makes a sample, those of a recovery too.
  W6  Before a round-trip time is known the threshold is two segments. The module has 5 s for it then.
  W7  Windows counted in segments: the threshold is whole segments, rounded down (the module). In bytes: not rounded.
  W8  The divisor `a` of the module: a timeout in slow start adds one to it, a fast retransmit in slow start a quarter, up
      to 4; outside of slow start both set it to 1. Only timeouts divide by it. It starts at 0.
  W9  An idle timeout (nothing on its way) takes the window to one segment and leaves the threshold.

Real
  R1  A wave is as many segments as the window has when it begins; with nothing on its way a new one begins.
  R2  The rate of a wave is its bytes that came, over the time from its first segment to the first of any later wave.
      A segment of an older wave counts for none.
  R3  A wave that never filled the window is no measurement: nothing is lowered by it.
  R4  "Small" is a decrease of at most an eighth.
  R5  A large decrease lowers the window by gamma, to at least two segments, and the threshold not above it: otherwise slow
      start would undo it in a round trip, and the text wants one segment for each.
  R6  What was found holds until the next wave is measured: acknowledgements between them let the window grow, or do not.
  R7  A loss is random if the last measurement found no large decrease; the window and the threshold stay. (Section 5.1
      names low jitter beside a high rate. No number is given for it, and it is not looked at.)
  R8  Before the first measurement every loss is congestion: the standard's rule.
  R9  A timeout after a measurement without a large decrease changes neither window nor threshold nor timeout (section 2:
      "rate and timeout adjustments are aborted"), once for each report.
  R10 Slow start is the standard's: the window grows by a segment for each acknowledgement unless the rate falls.
  R11 Reports are read from acknowledgements of new data alone ("when new data is acknowledged ... the current data-receiving
      rate is compared").

Six readings of Real differed between the first version and `src/`, and the texts allow both. They are written both ways;
`src/` has the first by default; a case's `reading` names one that is to be this file's own, or `second`: all of them.
  again      segments that are sent again:   count in the wave that is being sent | belong to no wave
  drained    a wave in which the application had nothing more to send:   is set aside (R3) | is measured if it was full
  reference  after a wave that was set aside:   nothing is compared with the next | the last that was measured is
  spared     another timeout may be spared (R9) after:   any report | a report that was measured
  recovery   a large decrease in a recovery:   is noted | lowers the window too
  low        a large decrease at two segments or fewer:   changes nothing | lowers the threshold to the window
"""

import math

INFINITE = math.inf
READINGS = {"again", "drained", "reference", "spared", "recovery", "low"}


class Reno:
    """The standard's window (RFC 5681, section 3.1), in segments.

    It is judged elsewhere, by ns-2, and is here what the other two stand on. As ns-2 has it, in real numbers, if `whole`; else
    in whole bytes as in `src/reno.rs`, which keeps what its division leaves over, so that rounding hides no difference.
    """

    def __init__(self, case):
        self.size = case["segment"]
        self.whole = case["unit"] == "segments"
        self.parts, self.left = 0.0, 0
        self.cwnd = self.initial = float(case["initial"])
        self.ssthresh = self.window_max = float(case["window"]) if self.whole else INFINITE

    @property
    def cwnd(self):
        return self.parts if self.whole else self.parts / self.size

    @cwnd.setter
    def cwnd(self, segments):
        self.parts = segments if self.whole else math.floor(segments * self.size + 1e-6)
        self.left = 0

    def window(self):
        """What may be sent, in whole segments."""
        return max(math.floor(self.cwnd + 1e-9), 1)

    def window_bytes(self):
        return self.window() * self.size if self.whole else self.parts

    def whole_bytes(self, factor):
        """A part of the window, rounded down to bytes before and after, as in `src/`: ns-2 would keep all of it."""
        return math.floor(math.floor(self.cwnd * self.size + 1e-6) * factor + 1e-6) / self.size

    def opened(self, acked_bytes):
        """Opens the window for one acknowledgement."""
        if self.cwnd < self.ssthresh:
            self.parts += 1 if self.whole else min(acked_bytes, self.size)
        elif self.whole:
            self.parts += 1 / self.parts
        else:
            self.left += self.size * self.size
            more, self.left = divmod(self.left, self.parts)
            self.parts += more

    def left_recovery(self, flight, acked_bytes):
        """RFC 6582, section 3.2, step 3, its first answer; ns-2 lets the window grow instead."""
        if self.whole:
            self.opened(acked_bytes)
        else:
            threshold = math.floor(self.ssthresh * self.size + 1e-6)
            self.parts = min(threshold, max(flight, self.size) + self.size)

    def halved(self, flight, factor):
        """What congestion leaves: of the window in ns-2, of what is on its way in RFC 5681 (equation 4)."""
        if self.whole:
            return min(self.cwnd, self.window_max) * factor
        return max(flight / self.size * factor, 2)

    def set_threshold(self, segments):
        """In ns-2 the threshold is whole segments, and at least two; else whole bytes, as the window."""
        if self.whole:
            self.ssthresh = max(math.floor(segments + 1e-9), 2)
        else:
            self.ssthresh = math.floor(segments * self.size + 1e-6) / self.size

    def timed_out(self, flight, factor, again):
        if self.whole or not again:
            self.set_threshold(self.halved(flight, factor))
        self.cwnd = 1.0

    def paused(self):
        """RFC 5681, section 4.1."""
        self.cwnd = min(self.cwnd, self.initial)


class Westwood:
    goes_back = True

    def __init__(self, case):
        self.reno = Reno(case)
        self.size = case["segment"]
        self.divides = case["divisor"] == "on"
        self.held_ties = case["ties"] == "held"
        self.tick = case["tick"] / 1e6
        self.tau = case["tau"] / 1e6
        self.last_ack = None
        self.bwe = self.last_sample = self.a = 0.0
        self.rtt_min = None
        self.early = self.held = 0

    def counted(self, segments):
        """How many segments an acknowledgement stands for (W3)."""
        if segments == 0:
            self.early += 1
            return 1
        known = min(self.early, segments - 1)
        self.early -= known
        return min(segments - known, 2)

    def timed(self, rtt):
        if self.tick > 0:
            rtt = max(math.floor(rtt / self.tick + 0.5), 1) * self.tick
        self.rtt_min = rtt if self.rtt_min is None else min(self.rtt_min, rtt)

    def sampled(self, now, segments, rtt):
        """Algorithm 1 of paper C, or the module's filter with a time constant."""
        if rtt is not None:
            self.timed(rtt)
        self.held += self.counted(segments)
        span = now - self.last_ack
        if span <= 0:
            if self.held_ties:
                return
            span = 1e-6
        if self.tau > 0:
            span = self.silent(span)
        sample = self.held * self.size * 8 / span
        beta, gain = 19 / 21, 1 / 21
        if self.tau > 0:
            beta = (2 * self.tau / span - 1) / (2 * self.tau / span + 1)
            gain = 1 / (2 * self.tau / span + 1)
        self.bwe = beta * self.bwe + gain * (sample + self.last_sample)
        self.last_sample, self.last_ack, self.held = sample, now, 0

    def silent(self, span):
        """A sample of nothing for each half of tau without an acknowledgement (the module's filter 3)."""
        half = self.tau / 2
        silences = math.floor(span / half + 1e-9)
        span -= silences * half
        if span < 0.01 - 1e-9 and silences > 0:
            span = half
            silences -= 1
        for _ in range(silences):
            self.bwe = self.bwe * 3 / 5 + self.last_sample / 5
            self.last_sample = 0.0
        return span

    def share(self, divisor):
        """What the path holds, in segments: `BWE * RTTmin / seg_size`, at least two."""
        if self.rtt_min is None:
            return 2.0  # W6
        return max(self.bwe / self.size / 8 * self.rtt_min / divisor, 2.0)

    def adapt(self, step):
        """The divisor after a loss (W8)."""
        self.a = min(self.a + step, 4) if self.reno.ssthresh > self.reno.cwnd else 1

    def ack(self, event):
        self.sampled(event["now"], event["segments"], event["rtt"])
        self.reno.opened(event["bytes"])

    def partial(self, event):
        self.sampled(event["now"], event["segments"], event["rtt"])

    def recovered(self, event):
        self.sampled(event["now"], event["segments"], event["rtt"])
        before = self.reno.cwnd
        self.reno.left_recovery(event["flight"], event["bytes"])
        if not self.reno.whole and self.reno.cwnd > before:
            self.reno.cwnd = before  # A loss never raises the window (the module's comment on `ssthresh`).

    def duplicate(self, event):
        self.sampled(event["now"], 0, None)

    def loss(self, event):
        self.duplicate(event)
        self.adapt(0.25)
        self.reno.set_threshold(self.share(1))
        self.reno.cwnd = min(self.reno.whole_bytes(1), self.reno.ssthresh)

    def timeout(self, _event):
        self.adapt(1)
        self.reno.set_threshold(self.share(self.a if self.divides else 1))
        self.reno.cwnd = 1.0

    def idle_timeout(self, _event):
        self.reno.cwnd = 1.0

    def sent(self, event):
        if self.last_ack is None:
            self.last_ack = event["now"]

    def state(self):
        return {"bwe": self.bwe, "rtt_min": self.rtt_min}


class Real:
    def __init__(self, case):
        self.reno = Reno(case)
        self.size = case["segment"]
        self.second = READINGS if case["reading"] == "second" else {case["reading"]}
        self.gamma, self.beta, self.delta = 1 / 8, 1 / 2, 1 / 8
        self.wave = self.room = self.reported = 0
        self.fresh = True
        self.filled, self.drained = set(), set()
        self.rate = self.act = None
        self.spared = False
        self.recovering = None
        self.goes_back = True
        self.stamp = 0  # The wave that the segment which was sent last belongs to.

    def sent(self, event):
        if event["again"] and "again" in self.second:
            self.stamp = None
            return
        alone = event["flight"] <= event["bytes"]
        if self.room <= 0 or (alone and not self.fresh):
            self.wave += 1
            self.room, self.fresh = self.reno.window_bytes(), True
        self.stamp = self.wave
        self.room -= event["bytes"]
        self.fresh = False
        if event["flight"] + self.size > self.reno.window_bytes():
            self.filled.add(self.wave)
        if event["last"]:
            self.drained.add(self.wave)

    def is_measured(self, number):
        return number in self.filled and ("drained" in self.second or number not in self.drained)

    def measured(self, report):
        """The rate of one more wave (section 3.1)."""
        number, size, span = report
        if number <= self.reported:
            return
        self.reported = number
        if not self.is_measured(number):
            self.act = 1  # R3
            if "spared" not in self.second:
                self.spared = False
            if "reference" not in self.second:
                self.rate = None
            return
        self.spared = False
        rate = size / span if span > 0 else INFINITE
        before, self.rate = self.rate, rate
        if before is None or rate >= before * (1 - 1e-12):
            self.act = 1
        elif rate >= (1 - self.delta) * before * (1 - 1e-12):
            self.act = 0
        else:
            self.act = -1
            self.lower()

    def lower(self):
        if self.recovering is not None and "recovery" not in self.second:
            return
        whole = self.reno.whole_bytes(1)
        lowered = min(max(self.reno.whole_bytes(1 - self.gamma), 2), whole)
        if lowered == whole and "low" not in self.second:
            return
        self.reno.cwnd = lowered
        self.reno.set_threshold(min(self.reno.ssthresh, self.reno.cwnd))  # R5

    def read(self, event):
        if event["wave"] is not None:
            self.measured(event["wave"])

    def ack(self, event):
        self.recovering = None
        self.read(event)
        if self.act is None or self.act > 0:
            self.reno.opened(event["bytes"])

    def partial(self, event):
        self.read(event)

    def recovered(self, event):
        if self.recovering != "error":
            self.reno.left_recovery(event["flight"], event["bytes"])
        self.read(event)
        self.recovering = None

    def duplicate(self, event):
        pass

    def is_random(self):
        return self.act is not None and self.act >= 0

    def loss(self, event):
        self.recovering = "error" if self.is_random() else "congestion"
        if self.is_random():
            return  # R7
        half = self.reno.halved(event["flight"], self.beta)
        self.reno.set_threshold(half)
        self.reno.cwnd = half

    def timeout(self, event):
        again = event["repeated"] and self.goes_back
        self.goes_back = not self.is_random() or self.spared
        if self.goes_back:
            self.recovering = None
            self.reno.timed_out(event["flight"], self.beta, again)
        else:
            self.spared = True  # R9

    def idle_timeout(self, _event):
        self.reno.cwnd = 1.0

    def state(self):
        return {"act": self.act, "wave": self.stamp, "goes_back": int(self.goes_back)}


class Meter:
    """The receiver of Real: says how fast the last whole wave came in (R2)."""

    def __init__(self):
        self.number = self.report = None
        self.since = 0.0
        self.bytes = 0

    def arrived(self, now, number, size):
        if self.number is None or number > self.number:
            if self.number is not None:
                self.report = (self.number, self.bytes, now - self.since)
            self.number, self.since, self.bytes = number, now, 0
        if number == self.number:
            self.bytes += size
        return self.report

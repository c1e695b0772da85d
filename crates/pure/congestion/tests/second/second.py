"""TCP Westwood and TCP-Real, written a second time, from texts alone.

The texts are paper C (its sections 2, 3.1, 3.2 and 5.1), what the project's notes found of the rest (the pseudo-code of
Westwood, a labelled reading of Real), and UCLA's module for ns-2, `tcp-westwood.cc` 1.3 of 2002. The implementation in
`src/` was not looked at before this one was finished. Numbers here are real numbers, in segments and seconds.

Readings where the texts are silent or disagree:

Westwood
  W1  The first sample counts from the start of the connection (the module's `lastackrx_` is 0 then).
  W2  Acknowledgements in the same microsecond make one sample: what they acknowledge is counted with the next one.
      Algorithm 1 divides by zero there.
  W3  A duplicate counts for one segment; a jump over more than one segment counts without those that duplicates have
      counted, but at least for one and at most for two (the module; the paper has `acked` only). An acknowledgement of
      one segment takes nothing off that account.
  W4  The pole is 19/21 and the gain 1/21 (paper); the module has .9047 and .0476, which is 0.02 % less.
  W5  Each acknowledgement makes a sample, those of a recovery too.
  W6  Before a round-trip time is known the threshold is two segments. The module has 5 s for it then.
  W7  Windows counted in segments: the threshold is whole segments, rounded down (the module). In bytes: not rounded.
  W8  The divisor `a` of the module: a timeout in slow start adds one to it, a fast retransmit in slow start a quarter, up
      to 4; outside of slow start both set it to 1. Only timeouts divide by it. It starts at 0.
  W9  An idle timeout (nothing on its way) takes the window to one segment and leaves the threshold.

Real
  R1  A wave is as many new segments as the window has when it begins; with nothing on its way a new one begins.
  R2  The rate of a wave is its bytes that came, over the time from its first segment to the first of any later wave.
      A segment of an older wave counts for none.
  R3  A wave that never filled the window is no measurement: nothing is compared with it, and nothing is lowered by it.
  R4  "Small" is a decrease of at most an eighth.
  R5  A large decrease lowers the window by gamma, to at least two segments, and the threshold not above it: otherwise slow
      start would undo it in a round trip, and the text wants one segment for each.
  R6  What was found holds until the next wave is measured: acknowledgements between them let the window grow, or do not.
  R7  A loss is random if the last measurement found no large decrease; the window and the threshold stay. (Section 5.1
      names low jitter beside a high rate. No number is given for it, and it is not looked at.)
  R8  Before the first measurement every loss is congestion: the standard's rule.
  R9  A timeout after a measurement without a large decrease changes neither window nor threshold nor timeout (section 2:
      "rate and timeout adjustments are aborted"), once for each measurement.
  R10 Slow start is the standard's: the window grows by a segment for each acknowledgement unless the rate falls.
"""

import math

INFINITE = math.inf


class Reno:
    """The standard's window (RFC 5681, section 3.1), in bytes or, as ns-2's, in segments."""

    def __init__(self, case):
        self.size = case["segment"]
        self.whole = case["unit"] == "segments"
        self.cwnd = float(case["initial"])
        self.ssthresh = float(case.get("threshold") or INFINITE)
        self.exit_grows = self.whole
        self.initial = self.cwnd

    def opened(self, acked_bytes):
        """Opens the window for one acknowledgement."""
        if self.cwnd < self.ssthresh:
            self.cwnd += 1 if self.whole else min(acked_bytes, self.size) / self.size
        else:
            self.cwnd += 1 / self.cwnd

    def left_recovery(self, flight, acked_bytes):
        """RFC 6582, section 3.2, step 3, its first answer; ns-2 lets the window grow instead."""
        if self.exit_grows:
            self.opened(acked_bytes)
        else:
            self.cwnd = min(self.ssthresh, max(flight, self.size) / self.size + 1)

    def halved(self, flight, factor=0.5):
        """The threshold after congestion: of the window in ns-2, of what is on its way in RFC 5681 (equation 4)."""
        if self.whole:
            return max(math.floor(self.cwnd * factor), 2)
        return max(flight / self.size * factor, 2)


class Westwood:
    def __init__(self, case):
        self.reno = Reno(case)
        self.divides = case["divisor"] == "on"
        self.size = case["segment"]
        self.last_ack = 0.0
        self.bwe = self.last_sample = 0.0
        self.rtt_min = None
        self.early = 0
        self.held = 0
        self.a = 0.0

    def counted(self, segments):
        """How many segments an acknowledgement stands for (W3)."""
        if segments == 0:
            self.early += 1
            return 1
        known = min(self.early, segments - 1)
        self.early -= known
        return min(segments - known, 2)

    def sampled(self, now, segments, rtt):
        """Algorithm 1 of paper C."""
        if rtt is not None:
            self.rtt_min = rtt if self.rtt_min is None else min(self.rtt_min, rtt)
        self.held += self.counted(segments)
        span = now - self.last_ack
        if span <= 0:
            return  # W2
        sample = self.held * self.size * 8 / span
        beta = 19 / 21
        self.bwe = (1 - beta) * (sample + self.last_sample) / 2 + beta * self.bwe
        self.last_sample, self.last_ack, self.held = sample, now, 0

    def share(self, divisor=1.0):
        """What the path holds, in segments: `BWE * RTTmin / seg_size`, at least two."""
        if self.rtt_min is None:
            return 2  # W6
        segments = self.bwe / self.size / 8 * self.rtt_min / divisor
        return max(math.floor(segments) if self.reno.whole else segments, 2)

    def adapt(self, step):
        """The divisor after a loss (W8)."""
        self.a = min(self.a + step, 4) if self.reno.ssthresh > self.reno.cwnd else 1

    def ack(self, event):
        self.sampled(event["now"], event["segments"], event["rtt"])
        self.reno.opened(event["bytes"])

    def recovery_ack(self, event):
        self.sampled(event["now"], event["segments"], event["rtt"])

    def recovered(self, event):
        self.sampled(event["now"], event["segments"], event["rtt"])
        self.reno.left_recovery(event["flight"], event["bytes"])

    def duplicate(self, event):
        self.sampled(event["now"], 0, None)

    def loss(self, _event):
        self.adapt(0.25)
        self.reno.ssthresh = self.share()
        self.reno.cwnd = min(self.reno.cwnd, self.reno.ssthresh)

    def timeout(self, _event):
        self.adapt(1)
        self.reno.ssthresh = self.share(self.a if self.divides else 1.0)
        self.reno.cwnd = 1.0

    def idle_timeout(self, _event):
        self.reno.cwnd = 1.0

    def sent(self, _event):
        pass

    def state(self):
        return {"estimate": self.bwe}


class Real:
    def __init__(self, case):
        self.reno = Reno(case)
        self.size = case["segment"]
        self.gamma, self.beta, self.delta = 1 / 8, 1 / 2, 1 / 8
        self.wave = 0
        self.room = 0
        self.filled = {}
        self.reported = 0
        self.rate = None
        self.act = None
        self.spared = False
        self.backs_off = True

    def sent(self, event):
        if event["again"]:
            return
        if self.room == 0 or event["flight"] == event["bytes"]:
            self.wave += 1
            self.room = max(math.floor(self.reno.cwnd), 1)
            self.filled[self.wave] = False
        self.room -= 1
        if event["flight"] + self.size > math.floor(self.reno.cwnd) * self.size:
            self.filled[self.wave] = True

    def measured(self, report):
        """The rate of one more wave (section 3.1)."""
        number, size, span = report
        if number <= self.reported:
            return
        self.reported = number
        if span <= 0 or not self.filled.get(number, False):
            self.act = 1  # R3
            return
        rate = size / span
        before, self.rate = self.rate, rate
        self.spared = False
        if before is None or rate >= before:
            self.act = 1
        elif rate >= (1 - self.delta) * before:
            self.act = 0
        else:
            self.act = -1
            self.reno.cwnd = max((1 - self.gamma) * self.reno.cwnd, 2)
            self.reno.ssthresh = min(self.reno.ssthresh, self.reno.cwnd)  # R5

    def read_wave(self, event):
        if event["wave"] is not None:
            self.measured(event["wave"])

    def ack(self, event):
        self.read_wave(event)
        if self.act is None or self.act > 0:
            self.reno.opened(event["bytes"])

    def recovery_ack(self, event):
        self.read_wave(event)

    def recovered(self, event):
        self.read_wave(event)
        self.reno.left_recovery(event["flight"], event["bytes"])

    def duplicate(self, event):
        pass

    def loss(self, event):
        if self.act is not None and self.act >= 0:
            return  # R7
        self.reno.ssthresh = self.reno.halved(event["flight"], self.beta)
        self.reno.cwnd = self.reno.ssthresh

    def timeout(self, event):
        self.backs_off = True
        if self.act is not None and self.act >= 0 and not self.spared:
            self.spared = True
            self.backs_off = False
            return  # R9
        self.reno.ssthresh = self.reno.halved(event["flight"], self.beta)
        self.reno.cwnd = 1.0

    def idle_timeout(self, _event):
        self.reno.cwnd = 1.0

    def state(self):
        return {"act": self.act, "wave": self.wave, "backs_off": self.backs_off}


class Meter:
    """The receiver of Real: says how fast the last whole wave came in (R2)."""

    def __init__(self):
        self.number = None
        self.since = 0.0
        self.bytes = 0
        self.report = None

    def arrived(self, now, number, size):
        if self.number is None or number > self.number:
            if self.number is not None:
                self.report = (self.number, self.bytes, now - self.since)
            self.number, self.since, self.bytes = number, now, 0
        if number == self.number:
            self.bytes += size
        return self.report

"""A sender, a path and a receiver that draw scripts of events.

Not a TCP to be judged: it makes a controller see what one sees, from slow paths to fast ones, quiet and noisy, with sources
that always have more to send and sources that pause. Times are whole microseconds.
"""

import heapq
import math


def drawn_path(chance):
    """A path and a source."""
    return {
        "rate": 10 ** chance.uniform(4.7, 7.7),  # bit/s
        "delay": int(10 ** chance.uniform(3, 5.2)),  # one way
        "buffer": chance.choice([3, 8, 20, 50, 200]),
        "loss": chance.choice([0, 0, 0.002, 0.01, 0.03, 0.08]),
        "ack_loss": chance.choice([0, 0, 0.01, 0.1]),
        "jitter": chance.choice([0, 0, 500, 5_000, 30_000]),
        "cross": chance.choice([0, 0, 0.3, 0.7]),  # of the packets wait for somebody else's
        "ack_every": chance.choice([1, 1, 2]),
        "outage": chance.choice([0, 0, 0, 1]),  # Everything is lost for a while.
        "greedy": chance.random() < 0.5,
        "interval": chance.choice([5_000, 20_000, 40_000]),
    }


class Path:
    """A queue, a wire, losses, and somebody else's packets."""

    def __init__(self, path, chance, segment):
        self.path, self.chance = path, chance
        self.free_at = 0
        self.service = max(int((segment + 40) * 8e6 / path["rate"]), 1)
        self.outage = (0, 0)
        if path["outage"]:
            start = chance.randint(1_000_000, 4_000_000)
            self.outage = (start, start + chance.randint(300_000, 3_000_000))

    def lost(self, now, rate):
        return self.chance.random() < rate or self.outage[0] <= now < self.outage[1]

    def forth(self, now):
        """When a segment arrives, or None."""
        if (self.free_at - now) // self.service >= self.path["buffer"]:
            return None
        busy = max(self.free_at, now)
        if self.chance.random() < self.path["cross"]:
            busy += int(self.chance.expovariate(1) * self.service)
        self.free_at = busy + self.service
        if self.lost(now, self.path["loss"]):
            return None
        return self.free_at + self.path["delay"] + self.late()

    def back(self, now):
        return None if self.lost(now, self.path["ack_loss"]) else now + self.path["delay"] + self.late() // 4

    def late(self):
        return self.chance.randint(0, self.path["jitter"]) if self.path["jitter"] else 0


class Connection:
    """A sender with NewReno's recovery, and its receiver. `play` hands an event to the controller and writes it down."""

    def __init__(self, case, path, chance, player):
        self.case, self.path, self.chance, self.player = case, path, chance, player
        self.wire = Path(path, chance, case["segment"])
        self.queue, self.order = [], 0
        self.una = self.next = self.fresh = self.written = 0  # Segments.
        self.dups = self.inflation = 0
        self.recover, self.recovering = -1, False
        self.sent_at, self.sent_count = {}, {}
        self.got, self.expected, self.unanswered = set(), 0, 0
        self.rto, self.srtt, self.rttvar = 1_000_000, None, 0
        self.timer = 0
        self.retries = 0
        self.last_sent = 0
        self.pause_until = 0

    def at(self, when, what, *rest):
        self.order += 1
        heapq.heappush(self.queue, (int(when), self.order, what, rest))

    def run(self, steps):
        self.at(0, self.speak)
        while self.queue and self.player.steps < steps:
            self.now, _, what, rest = heapq.heappop(self.queue)
            what(*rest)

    def speak(self):
        """The application writes."""
        if self.path["greedy"]:
            self.written = 1_000_000
        else:
            self.written += 1
            again = self.path["interval"]
            if self.chance.random() < 0.02:
                again += int(self.chance.expovariate(1) * 1_350_000)
            self.at(self.now + again, self.speak)
        pause = self.now - self.last_sent
        if self.next == self.una and pause > self.rto and self.player.steps > 0 and self.case["unit"] == "bytes":
            self.player.play("idle", now=self.now, pause=pause)
        self.send()

    def room(self):
        own = self.player.controller.reno.window() + self.inflation
        return min(own, self.case["window"]) - (self.next - self.una)

    def send(self):
        while self.room() > 0 and self.next < self.written:
            self.transmit(self.next)

    def transmit(self, number):
        again = number < self.fresh
        self.next = max(self.next, number + 1)
        self.fresh = max(self.fresh, self.next)
        flight = (self.next - self.una) * self.case["segment"]
        self.sent_at[number] = self.now
        self.sent_count[number] = self.sent_count.get(number, 0) + 1
        self.last_sent = self.now
        last = self.next >= self.written
        wave = self.player.play(
            "sent", now=self.now, bytes=self.case["segment"], flight=flight, again=int(again), last=int(last)
        )
        arrival = self.wire.forth(self.now)
        if arrival is not None:
            self.at(arrival, self.arrive, number, wave)
        if self.timer == 0 or number == self.una:
            self.start_timer()

    def arrive(self, number, wave):
        if wave is not None:
            self.player.play("arrived", now=self.now, wave=wave, bytes=self.case["segment"])
        in_order = number == self.expected
        if number >= self.expected:
            self.got.add(number)
        while self.expected in self.got:
            self.got.remove(self.expected)
            self.expected += 1
        self.unanswered += 1
        if in_order and not self.got and self.unanswered < self.path["ack_every"]:
            self.at(self.now + 100_000, self.answer_late, self.expected)
            return
        self.answer()

    def answer_late(self, expected):
        if self.unanswered > 0 and self.expected == expected:
            self.answer()

    def answer(self):
        self.unanswered = 0
        back = self.wire.back(self.now)
        if back is not None:
            self.at(back, self.accept, self.expected, self.player.report())

    def accept(self, number, report):
        if number > self.una:
            self.progress(number, report)
        elif number == self.una and self.next > self.una:
            self.duplicate()
        self.send()

    def progress(self, number, report):
        size = self.case["segment"]
        limited = (self.next - self.una + 1) > self.player.controller.reno.window()
        count, last = number - self.una, number - 1
        straight = not self.recovering and self.sent_count.get(last) == 1 and last > self.recover
        rtt = self.now - self.sent_at[last] if straight else None
        if rtt is not None:
            self.timed(rtt)
        self.una, self.next = number, max(self.next, number)
        self.retries = 0
        ended = self.recovering and number > self.recover
        name = "recovered" if ended else "partial" if self.recovering else "ack"
        self.player.play(
            name, now=self.now, bytes=count * size, segments=count, flight=(self.next - number) * size,
            rtt=rtt, limited=int(limited), wave=report,
        )
        if name == "partial":
            self.inflation = max(self.inflation - count + 1, 0)
            self.transmit(number)
        else:
            self.recovering, self.dups, self.inflation = False, 0, 0
        self.start_timer()

    def duplicate(self):
        self.dups += 1
        flight = max(self.next - self.una - self.dups, 1) * self.case["segment"]
        if self.recovering:
            self.inflation += 1
        elif self.dups == 3 and self.una > self.recover:
            self.recover, self.recovering, self.inflation = self.fresh - 1, True, 3
            self.player.play("loss", now=self.now, flight=flight)
            self.transmit(self.una)
            return
        self.player.play("duplicate", now=self.now, flight=flight)

    def timed(self, rtt):
        if self.srtt is None:
            self.srtt, self.rttvar = rtt, rtt / 2
        else:
            self.rttvar += (abs(rtt - self.srtt) - self.rttvar) / 4
            self.srtt += (rtt - self.srtt) / 8
        self.rto = max(int(self.srtt + 4 * self.rttvar), 200_000)

    def start_timer(self):
        self.timer += 1
        self.at(self.now + self.rto, self.time_out, self.timer)

    def time_out(self, timer):
        if timer != self.timer:
            return
        if self.next == self.una and self.fresh == self.una:
            self.idle_time_out()
            return
        self.retries += 1
        flight = max(self.next - self.una - self.dups, 1) * self.case["segment"]
        self.player.play("timeout", now=self.now, flight=flight, repeated=int(self.retries > 1))
        if self.player.controller.goes_back:
            self.rto = min(self.rto * 2, 16_000_000)
            self.recover, self.recovering, self.dups, self.inflation = self.fresh - 1, False, 0, 0
            self.next = self.una
            self.start_timer()
            self.send()
        else:
            self.transmit(self.una)

    def idle_time_out(self):
        """ns-2's timer runs on when all is acknowledged."""
        if self.case["unit"] == "segments":
            self.player.play("idle_timeout", now=self.now)
            self.recover = self.fresh - 1
            self.start_timer()

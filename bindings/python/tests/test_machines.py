"""Links, controllers, and the protocol's machines, scripted."""

from __future__ import annotations

import heapq

import pytest

import guestright

START = 1_800_000_000_000_000
HOP = 10_000


def test_a_link_is_as_fast_and_as_long_as_it_says() -> None:
    link = guestright.Link(1_000_000, delay_us=5_000, queue_packets=2)
    # 1,250 bytes take 10 ms. One is being sent and counts among the queue's two; the third is dropped.
    assert [link.send(0, 1_250, tag) for tag in range(3)] == [True, True, False]
    assert link.poll_timeout() is not None and link.advance(14_999) == []
    assert link.advance(40_000) == [(15_000, 0, 1_250, False), (25_000, 1, 1_250, False)]
    assert (link.dropped, link.in_flight, link.poll_timeout()) == (1, 0, None)
    with pytest.raises(ValueError, match="it was 40000 already"):
        link.send(39_999, 100, 3)


def test_a_wire_loses_what_its_seed_says() -> None:
    def lost(seed: int) -> list[bool]:
        link = guestright.Link(10_000_000, loss=0.1, seed=seed)
        for tag in range(1_000):
            link.send(tag * 10_000, 1_000, tag)
        return [packet[3] for packet in link.advance(20_000_000)]

    assert lost(1) == lost(1) != lost(2)
    assert 60 < sum(lost(1)) < 140


@pytest.mark.parametrize("name", ["reno", "aimd", "vegas", "westwood", "westwood-plus", "real", "cubic", "bbr"])
def test_each_controller_grows_from_ten_segments_and_shrinks_at_a_timeout(name: str) -> None:
    controller = guestright.Controller(name, segment=1_200)
    assert controller.window == 12_000
    acknowledged = 0
    for number in range(40):
        now = number * 1_000
        controller.on_sent(now, offset=acknowledged, bytes=1_200, in_flight=1_200)
        acknowledged += 1_200
        controller.on_ack(now + 20_000, bytes=1_200, acknowledged=acknowledged, in_flight=0, round_trip_us=20_000)
    grown = controller.window
    controller.on_timeout(100_000, in_flight=grown, next=acknowledged + grown)
    assert grown >= 12_000 and controller.window <= grown


def test_there_is_no_controller_of_quinns() -> None:
    with pytest.raises(ValueError, match="there are none, reno"):
        guestright.Controller("quinn-cubic")


class Visit:
    """A home with an access point, and one visitor, on hops of 10 ms; the visitor's traffic is a script's."""

    def __init__(self, own: bool) -> None:
        self.now = START
        self.home = guestright.Home(seed=1, now_us=START)
        self.point = self.home.access_point(START)
        team = self.home if own else guestright.Home(seed=2, now_us=START)
        self.visitor = guestright.Visitor(*team.member(START), seed=3, now_us=START)
        self.consumer = team.team_id
        self.carried = self.number = 0
        self.is_silent = False
        self.events: list[str] = []
        self.waiting: list[tuple[int, int, str, bytes]] = []

    def put(self, to: str, message: bytes) -> None:
        self.number += 1
        heapq.heappush(self.waiting, (self.now + HOP, self.number, to, message))

    def drain(self) -> None:
        while (message := self.visitor.poll_transmit()) is not None:
            if not self.is_silent:
                self.put("point", message)
        while (sent := self.point.poll_transmit()) is not None:
            self.put("home" if sent[0] is None else "visitor", sent[1])
        while (answer := self.home.poll_transmit()) is not None:
            self.put("point from home", answer[1])
        while (event := self.point.poll_event()) is not None:
            self.events.append(event[0])
            if event[0] == "Closing":
                self.point.handle_closed(1, self.carried, self.now)
        while (event := self.visitor.poll_event()) is not None:
            self.events.append(f"visitor {event[0]}")
            if event[0] == "MeterNeeded":
                self.visitor.handle_meter(self.carried, self.now)
                return self.drain()
        while self.home.poll_event() is not None:
            pass

    def run(self, seconds: float, bytes_per_tick: int) -> None:
        end, tick = self.now + int(seconds * 1e6), self.now
        while self.now < end:
            timeouts = [one.poll_timeout() for one in (self.visitor, self.point, self.home)]
            due = [at for at in timeouts if at is not None]
            due += [self.waiting[0][0]] if self.waiting else []
            self.now = max(self.now, min([*due, tick, end]))
            if self.now >= tick:
                tick += 250_000
                self.carried = min(self.carried + bytes_per_tick, self.point.open().get(1, self.carried))
                self.point.handle_traffic(1, self.carried, self.now)
            while self.waiting and self.waiting[0][0] <= self.now:
                _, _, to, message = heapq.heappop(self.waiting)
                if to == "home":
                    self.home.handle_input(self.point.peer, message, self.now)
                elif to == "point":
                    self.point.handle_visitor(1, message, self.now)
                elif to == "visitor":
                    self.visitor.handle_input(message, self.now)
                else:
                    self.point.handle_home(message, self.now)
            for machine in (self.visitor, self.point, self.home):
                if (at := machine.poll_timeout()) is not None and at <= self.now:
                    machine.handle_timeout(self.now)
            self.drain()


@pytest.mark.parametrize("own", [True, False])
def test_a_visit_ends_with_a_receipt_at_home(own: bool) -> None:
    visit = Visit(own)
    visit.run(20, 50_000)
    visit.visitor.leave(visit.now)
    visit.drain()
    visit.run(10, 0)
    assert "Opened" in visit.events and "visitor Signed" in visit.events
    assert visit.carried > 0
    signed = max(receipt.weight for receipt in visit.visitor.receipts())
    assert signed == visit.carried
    if not own:
        [kept] = visit.home.receipts()
        assert (kept.weight, kept.consumer, kept.provider) == (signed, visit.consumer, visit.home.team_id)


def test_who_does_not_sign_is_not_served_on() -> None:
    visit = Visit(own=False)
    visit.run(3, 50_000)
    served, visit.is_silent = visit.carried, True
    visit.run(30, 50_000)
    assert served > 0 and "Closed" in visit.events and visit.point.open() == {}

//! What reaches the ends of a flow, and what they send.

use super::flow::{Datagram, End, ForeignEnd, TcpAgenda, TcpEnd, Written};
use super::lane::{Passage, Way};
use super::watch::Watch;
use super::{Marks, Net, Parcel, Path, Step};
use crate::foreign::Side;
use crate::tcp::{Flow, Segment, TcpEvent, Timer};
use guestright_congestion::Controller;
use guestright_engine::Instant;

impl<C: Controller, W: Watch> Path<C, W> {
    /// The application speaks its next packet.
    pub(super) fn speak(&mut self, flow: u32) {
        let index = flow as usize;
        let speech = &mut self.calls[index];
        let number = speech.spoken;
        speech.advance();
        if let Some(next) = speech.next() {
            self.net.wheel.push(next, Parcel::event(Step::Speak, flow));
        }
        let bytes = speech.packet_bytes;
        match &mut self.ends[index] {
            End::Udp => {
                let parcel = Parcel {
                    flow,
                    key: number,
                    bytes: speech.wire_bytes,
                    step: Step::R1,
                    marks: Marks::FULL,
                };
                self.cross(Way::Out, parcel);
                return;
            }
            End::Tcp(tcp) => {
                let tcp = &mut self.tcps[*tcp as usize];
                match tcp.slots.speak(number) {
                    Written::Longer => tcp.sender.write(bytes.into()),
                    Written::Replaced => self.net.counts[index].thrown += 1,
                }
            }
            End::Foreign(foreign) => foreign.ends.write(self.net.wheel.now(), number, bytes),
        }
        self.wake(flow);
    }

    /// A file transfer begins.
    pub(super) fn start(&mut self, flow: u32) {
        let start = self.starts[flow as usize - self.calls.len()];
        if let End::Tcp(tcp) = self.ends[flow as usize] {
            let tcp = &mut self.tcps[tcp as usize];
            match start.bytes {
                Some(bytes) => {
                    tcp.sender.write(bytes);
                    tcp.sender.close();
                }
                None => tcp.sender.write_endless(),
            }
        }
        self.wake(flow);
    }

    pub(super) fn tcp_timer(&mut self, flow: u32, timer: Timer) {
        let End::Tcp(tcp) = self.ends[flow as usize] else { return };
        let tcp = &mut self.tcps[tcp as usize];
        let event = TcpEvent { flow: Flow(flow), timer };
        let agenda = &mut TcpAgenda { wheel: &mut self.net.wheel };
        match timer {
            Timer::Retransmission | Timer::Pacing => tcp.sender.handle(event, agenda),
            Timer::Acknowledgement => tcp.receiver.handle(event, agenda),
        }
        self.wake(flow);
    }

    pub(super) fn foreign_timer(&mut self, flow: u32, side: Side) {
        let End::Foreign(foreign) = &mut self.ends[flow as usize] else { return };
        let now = self.net.wheel.now();
        if foreign.due[side as usize] != now {
            // Of a time that was given up since: an earlier one took its place, and has come.
            return;
        }
        foreign.due[side as usize] = Instant::NEVER;
        if foreign.ends.timeout(side).is_some_and(|at| at <= now) {
            foreign.ends.time_out(now, side);
        }
        self.wake(flow);
    }

    /// A packet has arrived at the sink.
    pub(super) fn reach_sink(&mut self, parcel: Parcel) {
        let (flow, index, now) = (parcel.flow, parcel.flow as usize, self.net.wheel.now());
        let tally = &mut self.net.tallies[index];
        tally.arrived += u64::from(parcel.is_full());
        match &mut self.ends[index] {
            End::Udp => {
                let made = self.calls[index].arrivals[parcel.key as usize];
                tally.hear(now);
                self.watch.crossed(flow, made, now, true);
                self.watch.delivered(flow, parcel.key, made, now);
            }
            End::Tcp(tcp) => {
                let tcp = &mut self.tcps[*tcp as usize];
                let (mut segment, sent) = self.net.segments.remove(parcel.key, flow);
                segment.flags.marked |= parcel.has(Marks::MARKED);
                let before = tcp.receiver.stats().duplicates;
                tcp.receiver.handle_segment(&segment, &mut TcpAgenda { wheel: &mut self.net.wheel });
                if let Some(speech) = self.calls.get(index) {
                    if parcel.is_full() {
                        let fresh = tcp.receiver.stats().duplicates == before;
                        self.watch.crossed(flow, sent, now, fresh);
                    }
                    while let Some(number) = tcp.slots.hear(tcp.receiver.delivered()) {
                        // ns-2's Vegas sends packets before they are made, and one or two that never are.
                        let Some(made) = speech.arrivals.get(number as usize) else { continue };
                        tally.hear(now);
                        self.watch.delivered(flow, number, *made, now);
                    }
                }
                self.net.acknowledge(flow, tcp);
            }
            End::Foreign(foreign) => {
                let Datagram { id, sent } = self.net.datagrams.remove(parcel.key);
                if parcel.is_full() {
                    self.watch.crossed(flow, sent, now, true);
                }
                foreign.ends.arrive(now, Side::Sink, id, parcel.has(Marks::MARKED));
                self.wake(flow);
            }
        }
    }

    /// A packet of the sink has arrived at the source.
    pub(super) fn reach_source(&mut self, parcel: Parcel) {
        let (flow, index) = (parcel.flow, parcel.flow as usize);
        self.net.tallies[index].back_arrived += 1;
        match &mut self.ends[index] {
            End::Udp => {}
            End::Tcp(tcp) => {
                let tcp = &mut self.tcps[*tcp as usize];
                let (mut segment, _) = self.net.segments.remove(parcel.key, flow);
                segment.flags.marked |= parcel.has(Marks::MARKED);
                tcp.sender.handle_segment(&segment, &mut TcpAgenda { wheel: &mut self.net.wheel });
                self.net.send(flow, flow < self.net.calls, tcp);
            }
            End::Foreign(foreign) => {
                let Datagram { id, .. } = self.net.datagrams.remove(parcel.key);
                foreign.ends.arrive(self.net.wheel.now(), Side::Source, id, parcel.has(Marks::MARKED));
                self.wake(flow);
            }
        }
    }

    /// Lets the ends of a flow do what they can now.
    pub(super) fn wake(&mut self, flow: u32) {
        match &mut self.ends[flow as usize] {
            End::Udp => {}
            End::Tcp(tcp) => {
                let tcp = &mut self.tcps[*tcp as usize];
                self.net.send(flow, flow < self.net.calls, tcp);
                self.net.acknowledge(flow, tcp);
            }
            End::Foreign(foreign) => {
                let speech = &self.calls[flow as usize];
                let now = self.net.wheel.now();
                while let Some(number) = self.net.exchange(flow, foreign, speech.packet_bytes) {
                    let Some(made) = speech.arrivals.get(number as usize) else { continue };
                    self.net.tallies[flow as usize].hear(now);
                    self.watch.delivered(flow, number, *made, now);
                }
            }
        }
    }
}

impl Net {
    /// The TCP sender sends what it may.
    fn send<C: Controller>(&mut self, flow: u32, is_call: bool, tcp: &mut TcpEnd<C>) {
        while let Some(segment) = &tcp.sender.poll_segment(&mut TcpAgenda { wheel: &mut self.wheel }) {
            let bytes = tcp.sender.packet_bytes(segment);
            let full = segment.len > 0;
            self.tallies[flow as usize].sent += u64::from(full);
            if !full {
                self.counts[flow as usize].empty_sent += 1;
            } else if segment.flags.again {
                self.counts[flow as usize].again += 1;
            }
            if is_call {
                tcp.slots.sent(segment.end());
            }
            let step = if is_call { Step::R1 } else { Step::R2 };
            self.launch(flow, segment, bytes, Way::Out, step, full);
        }
    }

    /// The TCP receiver sends what it has to.
    fn acknowledge<C: Controller>(&mut self, flow: u32, tcp: &mut TcpEnd<C>) {
        while let Some(segment) = &tcp.receiver.poll_segment(&mut TcpAgenda { wheel: &mut self.wheel }) {
            let bytes = tcp.receiver.packet_bytes(segment);
            self.tallies[flow as usize].back_sent += 1;
            self.launch(flow, segment, bytes, Way::Back, Step::BackR3, false);
        }
    }

    fn launch(&mut self, flow: u32, segment: &Segment, bytes: u32, way: Way, step: Step, full: bool) {
        let sent = self.wheel.now();
        let bytes = short(bytes);
        if let Some(at) = self.depart(flow, way, bytes, full) {
            let key = self.segments.insert(segment, sent);
            let marks = Marks::new(full, segment.flags.capable);
            self.wheel.push(at, Parcel { flow, key, bytes, step, marks });
        }
    }

    /// The ends of something else send what they want; then the next packet that is heard.
    fn exchange(&mut self, flow: u32, foreign: &mut ForeignEnd, packet_bytes: u32) -> Option<u32> {
        let now = self.wheel.now();
        for (side, way, step) in [(Side::Source, Way::Out, Step::R1), (Side::Sink, Way::Back, Step::BackR3)] {
            while let Some((id, bytes)) = foreign.ends.poll_transmit(now, side) {
                // What is long enough to carry a packet of speech counts as one.
                let full = side == Side::Source && bytes >= packet_bytes;
                let tally = &mut self.tallies[flow as usize];
                match side {
                    Side::Source if full => tally.sent += 1,
                    Side::Source => self.counts[flow as usize].empty_sent += 1,
                    Side::Sink => tally.back_sent += 1,
                }
                let bytes = short(bytes);
                match self.depart(flow, way, bytes, full) {
                    Some(at) => {
                        let key = self.datagrams.insert(Datagram { id, sent: now });
                        let marks = Marks::new(full, self.ecn);
                        self.wheel.push(at, Parcel { flow, key, bytes, step, marks });
                    }
                    None => foreign.ends.drop_datagram(id),
                }
            }
        }
        let delivered = foreign.ends.poll_delivered();
        if delivered.is_none() {
            self.set_timers(flow, foreign);
        }
        delivered
    }

    fn set_timers(&mut self, flow: u32, foreign: &mut ForeignEnd) {
        for (side, step) in [(Side::Source, Step::SourceTimer), (Side::Sink, Step::SinkTimer)] {
            let due = &mut foreign.due[side as usize];
            let now = self.wheel.now();
            if let Some(at) = foreign.ends.timeout(side).map(|at| at.max(now)).filter(|at| at < due) {
                *due = at;
                self.wheel.push(at, Parcel::event(step, flow));
            }
        }
    }

    /// A packet goes on the link of its host; when it arrives at the router.
    fn depart(&mut self, flow: u32, way: Way, bytes: u16, full: bool) -> Option<Instant> {
        match self.lanes.enqueue(flow, way, self.wheel.now(), bytes) {
            Passage::Arrives(at) => Some(at),
            passage @ (Passage::Lost | Passage::Dropped) => {
                self.count_lost(flow, way, full, passage == Passage::Lost);
                None
            }
        }
    }
}

fn short(bytes: u32) -> u16 {
    u16::try_from(bytes).expect("IP carries 65535 bytes at most")
}

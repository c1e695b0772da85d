//! Two pipes between the ends of a call, and the loop that runs them: made for these tests, so that they do not depend on
//! how links are modelled elsewhere.

use guestright_engine::{Instant, Nanos, Queue, Stream, Streams};
use guestright_quic::QuicEnds;
use guestright_transport::{Ends as _, Side};
use guestright_units::Seed;
use rand::RngExt as _;
use std::collections::VecDeque;

/// One way: a drop-tail queue, a rate, a delay, a share of packets that get lost.
pub(crate) struct Pipe {
    pub(crate) bits_per_second: u64,
    pub(crate) delay: Nanos,
    pub(crate) buffer: usize,
    pub(crate) lost_per_million: u32,
    /// Packets to lose whatever chance says, counted from 0.
    pub(crate) lost: Vec<u64>,
    departures: VecDeque<Instant>,
    pub(crate) packets: u64,
    pub(crate) dropped: u64,
    chance: Stream,
}

impl Pipe {
    pub(crate) fn new(bits_per_second: u64, delay: Nanos, buffer: usize, name: &str) -> Self {
        let chance = Streams::new(Seed::from_number(5)).stream(name, 0);
        let (departures, lost) = (VecDeque::new(), Vec::new());
        Self {
            bits_per_second,
            delay,
            buffer,
            lost_per_million: 0,
            lost,
            departures,
            packets: 0,
            dropped: 0,
            chance,
        }
    }

    /// When a packet of `bytes` arrives; `None`: it does not.
    fn send(&mut self, now: Instant, bytes: u32) -> Option<Instant> {
        let number = self.packets;
        self.packets += 1;
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        let unlucky = self.chance.random_range(0..1_000_000) < self.lost_per_million;
        if unlucky || self.departures.len() > self.buffer || self.lost.contains(&number) {
            self.dropped += 1;
            return None;
        }
        let start = self.departures.back().copied().unwrap_or(now);
        let departure = start + Nanos::of_bits(u64::from(bytes) * 8, self.bits_per_second);
        self.departures.push_back(departure);
        Some(departure + self.delay)
    }
}

#[derive(Clone, Copy)]
enum Happening {
    Speak(u32, u32),
    Arrive(Side, u64),
    TimeOut(Side),
}

/// A datagram on the wire: when, from which side, how long.
pub(crate) type Sent = (Instant, Side, u32);

/// A call between two pipes.
pub(crate) struct Call {
    pub(crate) ends: QuicEnds,
    pub(crate) there: Pipe,
    pub(crate) back: Pipe,
    queue: Queue<Happening>,
    armed: [Option<Instant>; 2],
    /// What was heard, and when.
    pub(crate) received: Vec<(Instant, u32)>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) events: u64,
}

impl Call {
    pub(crate) fn new(ends: QuicEnds, there: Pipe, back: Pipe) -> Self {
        Self {
            ends,
            there,
            back,
            queue: Queue::new(),
            armed: [None; 2],
            received: Vec::new(),
            sent: Vec::new(),
            events: 0,
        }
    }

    pub(crate) fn speak(&mut self, at: Instant, number: u32, bytes: u32) {
        self.queue.push(at, Happening::Speak(number, bytes));
    }

    pub(crate) fn run(&mut self, until: Instant) {
        self.drain(self.queue.now());
        while self.queue.next_at().is_some_and(|at| at <= until) {
            let (now, happening) = self.queue.pop().expect("there is a next one");
            self.events += 1;
            match happening {
                Happening::Speak(number, bytes) => self.ends.write(now, number, bytes),
                Happening::Arrive(side, id) => self.ends.arrive(now, side, id, false),
                Happening::TimeOut(side) => {
                    self.armed[index(side)] = None;
                    self.ends.time_out(now, side);
                }
            }
            self.drain(now);
        }
    }

    fn drain(&mut self, now: Instant) {
        for side in [Side::Source, Side::Sink] {
            while let Some((id, bytes)) = self.ends.poll_transmit(now, side) {
                self.sent.push((now, side, bytes));
                let (pipe, to) = match side {
                    Side::Source => (&mut self.there, Side::Sink),
                    Side::Sink => (&mut self.back, Side::Source),
                };
                match pipe.send(now, bytes) {
                    Some(at) => self.queue.push(at, Happening::Arrive(to, id)),
                    None => self.ends.drop_datagram(id),
                }
            }
            if let Some(at) = self.ends.timeout(side).map(|at| at.max(now))
                && self.armed[index(side)].is_none_or(|armed| at < armed)
            {
                self.armed[index(side)] = Some(at);
                self.queue.push(at, Happening::TimeOut(side));
            }
        }
        while let Some(number) = self.ends.poll_delivered() {
            self.received.push((now, number));
        }
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.received.iter().map(|(_, number)| *number).collect()
    }
}

const fn index(side: Side) -> usize {
    match side {
        Side::Source => 0,
        Side::Sink => 1,
    }
}

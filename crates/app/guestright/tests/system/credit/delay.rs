//! A line to the Internet on which everything takes some time.

use guestright_emulator::{Network, Side};
use std::collections::VecDeque;
use std::time::Duration;

/// The same time for every packet, both ways.
#[derive(Debug)]
pub(super) struct Delay {
    one_way: Duration,
    on_the_way: VecDeque<(Duration, Side, Vec<u8>)>,
}

impl Delay {
    pub(super) fn new(one_way: Duration) -> Self {
        Self { one_way, on_the_way: VecDeque::new() }
    }
}

impl Network for Delay {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.on_the_way.push_back((now + self.one_way, side.other(), packet.to_vec()));
    }

    fn due(&self) -> Option<Duration> {
        self.on_the_way.front().map(|(due, ..)| *due)
    }

    fn leave(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<(Side, Duration)> {
        let (due, side, bytes) = self.on_the_way.pop_front_if(|(due, ..)| *due <= now)?;
        *packet = bytes;
        Some((side, due))
    }
}

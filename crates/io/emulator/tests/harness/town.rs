//! Two hosts with an emulated network between them.

#[path = "hosts.rs"]
mod hosts;

use guestright_emulator::{Emulator, Network, Side};
use guestright_netns::World;
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Hands every packet over after a delay, except that of every `drops` the last one vanishes.
#[derive(Debug)]
pub(crate) struct Delay {
    delay: Duration,
    drops: Option<u64>,
    pub(crate) seen: u64,
    pub(crate) on_the_way: VecDeque<(Duration, Side, Vec<u8>)>,
}

impl Delay {
    pub(crate) fn of(delay: Duration, drops: Option<u64>) -> Self {
        Self { delay, drops, seen: 0, on_the_way: VecDeque::new() }
    }
}

impl Network for Delay {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.seen += 1;
        if self.drops.is_none_or(|drops| !self.seen.is_multiple_of(drops)) {
            self.on_the_way.push_back((now + self.delay, side.other(), packet.to_vec()));
        }
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

/// Two hosts, 198.18.0.1 and 198.19.0.1, and the emulator between them.
pub(crate) struct Town {
    pub(crate) world: World,
    pub(crate) emulator: Emulator<Delay>,
    pub(crate) started: Instant,
}

impl Town {
    pub(crate) fn build(network: Delay) -> Self {
        let mut world = World::new("emu-").unwrap();
        let hosts = [("near", "198.18.0.1", "198.19.0.1"), ("far", "198.19.0.1", "198.18.0.1")];
        let [near, far] = hosts::join(&mut world, hosts);
        let started = Instant::now();
        let emulator = Emulator::start(near, far, network, started).unwrap();
        Self { world, emulator, started }
    }

    /// Sockets at both sides; the near one sends to the far one, and that waits as long as `patience`.
    pub(crate) fn udp(&self, patience: Duration) -> (UdpSocket, UdpSocket) {
        let near = self.world.within("near", || UdpSocket::bind("198.18.0.1:7000")).unwrap().unwrap();
        let far = self.world.within("far", || UdpSocket::bind("198.19.0.1:7000")).unwrap().unwrap();
        near.connect("198.19.0.1:7000").unwrap();
        far.set_read_timeout(Some(patience)).unwrap();
        (near, far)
    }
}

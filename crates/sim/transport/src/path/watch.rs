//! Who is told of each packet.

use guestright_engine::Instant;

/// Told of packets while a path runs. Flows are numbered from 0, calls and file transfers together, in the order in which
/// they were added.
pub trait Watch {
    /// A packet with payload has crossed the network; it had been sent at `sent`. `fresh`: it brings what had not come before.
    fn crossed(&mut self, _flow: u32, _sent: Instant, _now: Instant, _fresh: bool) {}

    /// The application at the sink gets packet `number` of a call, made at `made`.
    fn delivered(&mut self, _flow: u32, _number: u32, _made: Instant, _now: Instant) {}
}

impl Watch for () {}

/// A packet that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveredPacket {
    /// Of which call.
    pub flow: u32,
    /// Its number in the call, from 0.
    pub number: u32,
    pub made: Instant,
    /// When it was heard.
    pub at: Instant,
}

/// Keeps all packets that were heard, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredPackets(pub Vec<DeliveredPacket>);

impl Watch for DeliveredPackets {
    fn delivered(&mut self, flow: u32, number: u32, made: Instant, at: Instant) {
        self.0.push(DeliveredPacket { flow, number, made, at });
    }
}

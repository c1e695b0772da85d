//! Ends that a network carries datagrams for without knowing what they are: those of QUIC, of TFRC, of anything.

use guestright_engine::Instant;
use std::fmt::Debug;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Where voice is spoken.
    Source,
    /// Where it is heard.
    Sink,
}

/// The two ends of one call's transport, voice going from the source to the sink.
///
/// After every call that goes in, the network drains [`Ends::poll_transmit`] of both sides and
/// [`Ends::poll_delivered`], and asks for [`Ends::timeout`] of both sides again.
pub trait Ends: Debug {
    /// The application speaks: packet `number` of `bytes` is to go to the other side.
    fn write(&mut self, now: Instant, number: u32, bytes: u32);

    /// Datagram `id` has arrived at `side`; `marked`: it met congestion on its way (ECN).
    fn arrive(&mut self, now: Instant, side: Side, id: u64, marked: bool);

    /// Datagram `id` will never arrive; what was kept for it can go.
    fn drop_datagram(&mut self, id: u64);

    /// When [`Ends::time_out`] is to be called next for `side`.
    fn timeout(&self, side: Side) -> Option<Instant>;

    /// It is that time. May be called too early; then nothing happens.
    fn time_out(&mut self, now: Instant, side: Side);

    /// A datagram that `side` sends now: its id, and the bytes of its IP packet.
    fn poll_transmit(&mut self, now: Instant, side: Side) -> Option<(u64, u32)>;

    /// The number of a voice packet that the application at the sink gets now.
    fn poll_delivered(&mut self) -> Option<u32>;
}

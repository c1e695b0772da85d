//! TCP, data one way: a [`Sender`] and a [`Receiver`].
//!
//! What is there: opening (optional), slow start, congestion avoidance, fast retransmit, fast recovery (Reno, NewReno, with
//! selective acknowledgements, and as ns-2's Vegas), limited transmit, retransmission timeout with backoff, delayed
//! acknowledgements, timestamps, marks of congestion (ECN), waves (TCP-Real), pacing, Nagle's algorithm, flows that pause; and
//! the ways of ns-2.35, each a switch ([`SenderSettings::ns2`]). What is not: data both ways in one connection, a reader that
//! is slower than the network (so the receive window never closes and there is no persist timer), urgent data, resets, path
//! MTU discovery.
//!
//! Places in the stream are 64-bit offsets from the first byte of payload: they do not wrap. FIN takes
//! the place of one byte behind the last, SYN none.

mod receiver;
mod segment;
mod sender;
mod timer;

pub use receiver::{Receiver, ReceiverSettings, ReceiverStats};
#[cfg(test)]
pub(crate) use segment::packet_bytes;
pub use segment::{Flags, Flow, Report, Sack, Segment};
pub use sender::{Sender, SenderSettings, SenderState, SenderStats};
pub use timer::{TcpEvent, Timer};

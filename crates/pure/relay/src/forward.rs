//! What becomes of a datagram that is passed on.

use crate::side::{Channel, Side};
use std::net::SocketAddr;

/// Where a datagram is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    /// The side to send it on.
    pub side: Side,
    /// The port of that side to send it from.
    pub channel: Channel,
    /// The address to send it to.
    pub to: SocketAddr,
    /// Whether it goes as it came. If not, what is to be sent was written.
    pub unchanged: bool,
}

//! What can be seen of a sender.

use super::{Sender, SenderState, SenderStats};
use crate::tcp::segment::{Flow, Segment, packet_bytes};
use guestright_congestion::RetransmissionTimeout;
use guestright_engine::Instant;

impl<C> Sender<C> {
    /// Which connection.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        self.flow
    }

    /// The congestion control.
    #[must_use]
    pub const fn controller(&self) -> &C {
        &self.controller
    }

    /// The estimate of the round-trip time, and the timeout made of it.
    #[must_use]
    pub const fn timeout(&self) -> &RetransmissionTimeout {
        &self.timeout
    }

    /// How far the connection has come.
    #[must_use]
    pub const fn state(&self) -> SenderState {
        self.state
    }

    /// When the end of the stream was acknowledged, or the connection given up.
    #[must_use]
    pub const fn finished_at(&self) -> Option<Instant> {
        self.finished_at
    }

    /// Bytes that were acknowledged, each once.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        if self.acknowledged > self.written { self.written } else { self.acknowledged }
    }

    /// Bytes that the application has written and nobody has acknowledged: its send buffer.
    #[must_use]
    pub const fn backlog(&self) -> u64 {
        self.written.saturating_sub(self.acknowledged)
    }

    /// Bytes on their way.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.next.saturating_sub(self.acknowledged)
    }

    /// Whether a fast recovery goes on.
    #[must_use]
    pub const fn in_recovery(&self) -> bool {
        self.recovery.is_active()
    }

    /// What it has done so far.
    #[must_use]
    pub const fn stats(&self) -> SenderStats {
        self.stats
    }

    /// Bytes of the IP packet that carries `segment`.
    #[must_use]
    pub fn packet_bytes(&self, segment: &Segment) -> u32 {
        if segment.flags.syn && self.settings.syn_packet {
            return self.settings.header_bytes;
        }
        packet_bytes(segment, self.settings.header_bytes, self.settings.timestamps)
    }
}

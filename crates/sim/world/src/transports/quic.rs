//! What carries calls over QUIC.

use super::settings::{Transport, TransportsSettings};
use guestright_quic::{Carriage, Congestion, Opening, QuicSettings};

/// RTP's, which UDP has too. In a stream a packet's length takes its place, as with TCP.
const RTP_BYTES: u32 = 12;
/// What waits without a limit: more packets than a run may make for a call.
const UNBOUNDED: u32 = 1_000_000;

/// From the testbed's settings. `send_buffer`: packets that may wait; `no_headers`: speech has no RTP around it, as in ns-2.
pub(super) fn settings(
    settings: &TransportsSettings,
    send_buffer: Option<u32>,
    no_headers: bool,
) -> QuicSettings {
    let carriage = if settings.transport == Transport::QuicDatagram {
        Carriage::Datagrams
    } else if settings.quic_stream_each {
        Carriage::StreamPerPacket
    } else {
        Carriage::Stream
    };
    let has_rtp = carriage == Carriage::Datagrams && !no_headers;
    QuicSettings {
        send_buffer: send_buffer.unwrap_or(UNBOUNDED),
        opening: Opening::WithFirstPacket,
        ack_every: settings.quic_ack_every,
        mtu_discovery: settings.quic_mtu_discovery,
        header_bytes: if has_rtp { RTP_BYTES } else { 0 },
        ..QuicSettings::call(carriage, Congestion::Named(settings.quic_congestion))
    }
}

#[cfg(test)]
mod tests;

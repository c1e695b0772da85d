//! What carries calls over QUIC.

use guestright_experiment::{SettingError, Settings};
use guestright_quic::{Algorithm, Carriage, Congestion, Opening, QuicSettings};

/// RTP's, which UDP has too. In a stream a packet's length takes its place, as with TCP.
const RTP_BYTES: u32 = 12;
/// What waits without a limit: more packets than a run may make for a call.
const UNBOUNDED: u32 = 1_000_000;

/// From the testbed's settings. `send_buffer`: packets that may wait; `no_headers`: speech has no RTP around it, as in ns-2.
pub(super) fn settings(
    settings: &Settings,
    send_buffer: Option<u32>,
    no_headers: bool,
) -> Result<QuicSettings, SettingError> {
    let carriage = match settings.text("transport")? {
        "quic-datagram" => Carriage::Datagrams,
        _ if settings.bool("quic.stream_each")? => Carriage::StreamPerPacket,
        _ => Carriage::Stream,
    };
    let unknown = || SettingError::unfit("quic.congestion", "there is no such congestion control for QUIC");
    let algorithm = Algorithm::from_name(settings.text("quic.congestion")?).ok_or_else(unknown)?;
    let has_rtp = carriage == Carriage::Datagrams && !no_headers;
    Ok(QuicSettings {
        send_buffer: send_buffer.unwrap_or(UNBOUNDED),
        opening: Opening::WithFirstPacket,
        ack_every: settings.whole("quic.ack_every")?,
        mtu_discovery: settings.bool("quic.mtu_discovery")?,
        header_bytes: if has_rtp { RTP_BYTES } else { 0 },
        ..QuicSettings::call(carriage, Congestion::Named(algorithm))
    })
}

#[cfg(test)]
mod tests;

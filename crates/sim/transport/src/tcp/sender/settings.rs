use crate::tcp::segment::{HEADER_BYTES, TIMESTAMPS_BYTES};
use guestright_congestion::{RecoveryKind, RecoverySettings, TimeoutSettings};

/// What a sender is, apart from its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderSettings {
    /// How losses are found; its `segment` is the payload of a full segment. With Ethernet's 1500 bytes: 1460, with
    /// timestamps 1448.
    pub recovery: RecoverySettings,
    /// Bounds of the retransmission timeout.
    pub timeout: TimeoutSettings,
    /// Whether segments carry timestamps (12 bytes each), and each acknowledgement of new data gives a round-trip time.
    /// Otherwise one segment at a time is timed, and none that was sent twice.
    pub timestamps: bool,
    /// Whether a SYN goes first.
    pub handshake: bool,
    /// Whether small segments wait while anything is on its way (RFC 896).
    pub nagle: bool,
    /// The receiver's window until the first acknowledgement tells, in bytes.
    pub window: u32,
    /// After how many timeouts without progress the connection is given up. Linux: 15.
    pub retries_max: u32,
    /// Bytes of headers without options: 40 with IPv4.
    pub header_bytes: u32,
}

impl SenderSettings {
    /// Plain TCP by the RFCs: NewReno with limited transmit, timeouts of RFC 6298, no options, no SYN.
    #[must_use]
    pub const fn rfc(segment: u32) -> Self {
        Self {
            recovery: RecoverySettings::new(RecoveryKind::NewReno, segment),
            timeout: TimeoutSettings::rfc6298(),
            timestamps: false,
            handshake: false,
            nagle: false,
            window: 65_535,
            retries_max: 15,
            header_bytes: HEADER_BYTES,
        }
    }

    /// A computer with Linux 2.6.8: timestamps, timeouts from 200 ms above the round-trip time, opened by a SYN.
    /// Not modelled: selective acknowledgements, which it had.
    #[must_use]
    pub const fn linux_2_6_8(segment: u32) -> Self {
        Self {
            timeout: TimeoutSettings::linux_2_6_8(),
            timestamps: true,
            handshake: true,
            ..Self::rfc(segment)
        }
    }

    pub(super) const fn options(&self) -> u32 {
        if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }
}

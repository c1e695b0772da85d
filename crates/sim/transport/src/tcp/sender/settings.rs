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
    /// Whether the SYN is ns-2's: a packet without payload and options, which counts as one of the flow. When it is lost, the
    /// timeout stays doubled until there is a round-trip time, and the threshold is lowered as by any timeout.
    pub syn_packet: bool,
    /// Whether the retransmission timer runs on when all is acknowledged, as ns-2's does. When it goes off then, the controller
    /// is told ([`guestright_congestion::Controller::on_idle_timeout`]), and it starts anew.
    pub idle_timer: bool,
    /// Whether a segment that was never sent is overdue by the fine-grained timeout, as in ns-2's Vegas, which then sends it
    /// before the application has made it. Only with [`RecoveryKind::Vegas`], and for streams that do not end.
    pub unsent_expires: bool,
    /// Whether small segments wait while anything is on its way (RFC 896).
    pub nagle: bool,
    /// Whether packets may be marked instead of dropped (ECN, RFC 3168).
    pub ecn: bool,
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
            syn_packet: false,
            idle_timer: false,
            unsent_expires: false,
            nagle: false,
            ecn: false,
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

    /// ns-2.35's one-way agents as they are by default, with `packetSize_` set to `segment` and `window_` to `window`:
    /// `Agent/TCP/Reno`, `Agent/TCP/Newreno`, `Agent/TCP/Vegas`. The last has no SYN and no headers.
    ///
    /// To be written to in whole segments. The receiver's window must be as large: [`super::super::ReceiverSettings::ns2`].
    #[must_use]
    pub const fn ns2(kind: RecoveryKind, segment: u32, window: u32) -> Self {
        let vegas = matches!(kind, RecoveryKind::Vegas);
        Self {
            recovery: RecoverySettings::ns2(kind, segment),
            timeout: TimeoutSettings::ns2(),
            handshake: !vegas,
            syn_packet: true,
            idle_timer: true,
            unsent_expires: vegas,
            window: window.saturating_mul(segment),
            retries_max: u32::MAX,
            header_bytes: if vegas { 0 } else { HEADER_BYTES },
            ..Self::rfc(segment)
        }
    }

    pub(super) const fn options(&self) -> u32 {
        if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }
}

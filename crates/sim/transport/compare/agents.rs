//! What carries calls, set as ns-2's agents are.

use guestright_congestion::{Controller, RecoveryKind, Reno, RenoSettings, Vegas, VegasSettings};
use guestright_transport::path::TcpCarrier;
use guestright_transport::{ReceiverSettings, SenderSettings};
use std::fmt;

/// Bytes of speech in a packet: 20 ms (paper C, section 4.2).
pub(crate) const BYTES: u32 = 160;
/// ns-2's `window_`, in packets.
pub(crate) const CALL_WINDOW: u32 = 20;
/// Bytes in a packet of a file transfer.
pub(crate) const BULK_BYTES: u32 = 1_000;
/// `window_` of a file transfer.
pub(crate) const BULK_WINDOW: u32 = 64;

/// An agent of ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agent {
    /// `Agent/UDP`.
    Udp,
    /// `Agent/TCP/Reno`.
    Reno,
    /// `Agent/TCP/Newreno`.
    NewReno,
    /// `Agent/TCP/Vegas`.
    Vegas,
}

impl Agent {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Udp, Self::Reno, Self::NewReno, Self::Vegas];

    /// What ns-2 calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::Reno => "Reno",
            Self::NewReno => "Newreno",
            Self::Vegas => "Vegas",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A TCP as ns-2's agent has it, with packets of `bytes` and `window_` set to `window`.
///
/// # Errors
///
/// UDP is none; or a setting cannot be.
pub(crate) fn carrier(
    agent: Agent,
    bytes: u32,
    window: u32,
) -> Result<TcpCarrier<Box<dyn Controller>>, String> {
    let controller: Box<dyn Controller> = match agent {
        Agent::Udp => return Err("UDP has no window".to_owned()),
        Agent::Reno | Agent::NewReno => {
            Box::new(Reno::new(RenoSettings::ns2(bytes, window)).map_err(|error| error.to_string())?)
        }
        Agent::Vegas => {
            Box::new(Vegas::new(VegasSettings::ns2(bytes, window)).map_err(|error| error.to_string())?)
        }
    };
    let kind = match agent {
        Agent::Udp | Agent::Reno => RecoveryKind::Reno,
        Agent::NewReno => RecoveryKind::NewReno,
        Agent::Vegas => RecoveryKind::Vegas,
    };
    let sender = SenderSettings::ns2(kind, bytes, window);
    let receiver = ReceiverSettings::ns2(bytes, window);
    Ok(TcpCarrier { sender, receiver, controller, send_buffer: None })
}

use thiserror::Error;

/// A setting of a link or of an end of TCP that cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    /// A rate of nothing.
    #[error("link {link} has a rate of 0 bit/s: a packet would never arrive")]
    Rate {
        /// Which link.
        link: u32,
    },
    /// A queue without room.
    #[error("the queue of link {link} has room for {got} {unit}, it must have room for 1 to {max}")]
    Queue {
        /// Which link.
        link: u32,
        /// What it was set to.
        got: u64,
        /// The most.
        max: u64,
        /// Of what.
        unit: &'static str,
    },
    /// A share of packets that cannot be.
    #[error("link {link} is to lose {got_per_million} of a million packets, it must be 0 to 1000000")]
    Loss {
        /// Which link.
        link: u32,
        /// What it was set to.
        got_per_million: u32,
    },
    /// A link that loses packets without chance.
    #[error("link {link} is to lose packets, but has no stream of chance: make it with Link::lossy")]
    NoChance {
        /// Which link.
        link: u32,
    },
    /// A receive window without room for two segments.
    #[error("flow {flow} has a receive window of {got} bytes, it must have {min} to {max}")]
    Window {
        /// Which flow.
        flow: u32,
        /// What it was set to.
        got: u64,
        /// The least: one segment.
        min: u64,
        /// The most: 2^30 (RFC 7323, section 2.3).
        max: u64,
    },
    /// Acknowledgements for too few or too many segments.
    #[error("flow {flow} acknowledges every {got} segments, it must be 1 to 255")]
    AcknowledgeEvery {
        /// Which flow.
        flow: u32,
        /// What it was set to.
        got: u32,
    },
    /// A setting of the congestion control.
    #[error("flow {flow}: {error}")]
    Congestion {
        /// Which flow.
        flow: u32,
        /// What is wrong.
        error: guestright_congestion::SettingsError,
    },
}

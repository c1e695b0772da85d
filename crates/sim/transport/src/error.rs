use thiserror::Error;

/// A setting of a link or of an end of TCP that cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    /// A rate of nothing.
    #[error("link {link} has a rate of 0 bit/s: a packet would never arrive")]
    Rate { link: u32 },
    /// A queue without room.
    #[error("the queue of link {link} has room for {got} {unit}, it must have room for 1 to {max}")]
    Queue {
        link: u32,
        /// What it was set to.
        got: u64,
        max: u64,
        unit: &'static str,
    },
    /// A share of packets that cannot be.
    #[error("link {link} is to lose {got_per_million} of a million packets, it must be 0 to 1000000")]
    Loss {
        link: u32,
        /// What it was set to.
        got_per_million: u32,
    },
    /// A link that loses packets without chance.
    #[error("link {link} is to lose packets, but has no stream of chance: make it with Link::lossy")]
    NoChance { link: u32 },
    /// Losses asked for in the settings and as errors.
    #[error("link {link} has both a share of loss in its settings and errors: give one of them")]
    ErrorsTwice { link: u32 },
    /// Bursts of losses that cannot be.
    #[error(
        "link {link} has bursts of {got} thousandths of a packet, for its losses it must be {min} to {max}"
    )]
    Burst {
        link: u32,
        /// What it was set to.
        got: u32,
        /// The least for this share of losses.
        min: u32,
        max: u32,
    },
    /// Too many scripted losses.
    #[error("link {link} has a script of {got} losses, the most is {max}")]
    Script { link: u32, got: usize, max: usize },
    /// A setting of RED.
    #[error("RED on link {link}: {setting} must be {want}")]
    Red {
        link: u32,
        setting: &'static str,
        /// What it must be.
        want: &'static str,
    },
    /// The times of CoDel.
    #[error(
        "CoDel on link {link}: target {target} ns and interval {interval} ns, want 0 < target <= interval <= {max} ns"
    )]
    CoDel {
        link: u32,
        /// The target, in nanoseconds.
        target: u64,
        /// The interval, in nanoseconds.
        interval: u64,
        /// The longest interval, in nanoseconds.
        max: u64,
    },
    /// The number of queues of fq_codel.
    #[error("fq_codel on link {link} has {got} queues, it must have 1 to {max}")]
    FlowQueues {
        link: u32,
        /// What it was set to.
        got: u32,
        max: u32,
    },
    /// A turn of nothing.
    #[error("fq_codel on link {link}: the quantum and the batch of drops must be 1 or more")]
    Quantum { link: u32 },
    /// No room for what waits to be sent.
    #[error("flow {flow} lets {got} packets wait to be sent, it must be 1 to {max}")]
    Waiting {
        flow: u32,
        /// What it was set to.
        got: u32,
        max: u32,
    },
    /// A receive window without room for two segments.
    #[error("flow {flow} has a receive window of {got} bytes, it must have {min} to {max}")]
    Window {
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
        flow: u32,
        /// What it was set to.
        got: u32,
    },
    /// A setting of the congestion control.
    #[error("flow {flow}: {error}")]
    Congestion {
        flow: u32,
        /// What is wrong.
        error: guestright_congestion::SettingsError,
    },
}

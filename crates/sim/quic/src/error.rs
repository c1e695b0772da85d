use thiserror::Error;

/// A setting of a call over QUIC that cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QuicError {
    /// What may wait.
    #[error("{got} voice packets may wait to be sent, it must be 1 to {max}")]
    SendBuffer {
        /// What it was set to.
        got: u32,
        max: u32,
    },
    /// Too much around each voice packet.
    #[error("{got} bytes are to come with each voice packet, it must be {max} at most")]
    Header {
        /// What it was set to.
        got: u32,
        max: u32,
    },
    /// Acknowledgements for too few or too many packets.
    #[error("every {got} packets are to be acknowledged, it must be 1 to {max}")]
    AcknowledgeEvery {
        /// What it was set to.
        got: u32,
        max: u32,
    },
    /// An idle timeout that quinn has no number for.
    #[error("the connection is to end after {got_ms} ms of silence, it must be 1000 to 3600000")]
    IdleTimeout {
        /// What it was set to, in milliseconds.
        got_ms: u64,
    },
    /// A keep-alive that comes too late.
    #[error(
        "a packet is to keep the connection alive every {got_ms} ms, it must be 100 ms to less than the idle timeout"
    )]
    KeepAlive {
        /// What it was set to, in milliseconds.
        got_ms: u64,
    },
}

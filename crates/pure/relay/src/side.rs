//! The names of a call's two sides, and of a side's two ports.

use std::fmt;

/// One of a call's two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that the call was made from, or any other first one.
    A,
    /// The other one.
    B,
}

/// One of a side's two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// The port for RTP, and for everything if reports come on the same port.
    Media,
    /// The port for RTCP alone.
    Control,
}

impl Side {
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

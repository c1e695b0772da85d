use crate::message::Volume;
use guestright_credit::{AllowanceConfig, Config as HoldsConfig};
use guestright_reciprocity::{ChainLimits, ClassBounds};
use guestright_units::{Bytes, Micros};

/// How much a household lends and gives away, and how credit is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditConfig {
    pub holds: HoldsConfig,
    pub allowance: AllowanceConfig,
    /// A visit begins on so much of the allowance…
    pub slice_first: Bytes,
    /// …and has twice of what it signed for at a time later, up to this.
    pub slice_max: Bytes,
    /// Nobody is let in for less, and access points end a session that has less left: [`Volume::MIN`].
    pub slice_min: Bytes,
    /// No more is reserved at a time.
    pub amount_max: Bytes,
    /// How long a later question waits for other homes, before it is answered with a slice of the allowance.
    pub wait_max: Micros,
    /// How long a grant holds, in seconds.
    pub grant_seconds: u32,
    /// How many visits are remembered.
    pub visits_max: usize,
    pub chains: ChainLimits,
    /// How what is reserved becomes a class.
    pub bounds: ClassBounds,
}

impl Default for CreditConfig {
    /// 4 MB at first, 64 MB at most, 128 KiB at least; a second for other homes; five minutes.
    fn default() -> Self {
        Self {
            holds: HoldsConfig::default(),
            allowance: AllowanceConfig::default(),
            slice_first: Bytes(4_000_000),
            slice_max: Bytes(64_000_000),
            slice_min: Volume::MIN,
            amount_max: Bytes(64_000_000),
            wait_max: Micros::from_seconds(1),
            grant_seconds: 300,
            visits_max: 4_096,
            chains: ChainLimits::default(),
            bounds: ClassBounds::default(),
        }
    }
}

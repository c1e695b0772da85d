//! What every program says of itself.

use guestright_units::UnixSeconds;

/// The process, as the kernel counts it. Names and meanings are those that Prometheus' own libraries use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    pub resident_bytes: u64,
    pub cpu_seconds: f64,
    pub descriptors: u64,
    /// How many it may have.
    pub descriptors_max: u64,
    /// When it started, in seconds since 1970.
    pub started: f64,
}

/// When the program's own certificate holds, and what the program takes the time to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCertificate {
    pub not_before: UnixSeconds,
    pub not_after: UnixSeconds,
    pub now: UnixSeconds,
}

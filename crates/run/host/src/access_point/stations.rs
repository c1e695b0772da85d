//! What the kernel's radios say of their stations, for the meter of calls; where they say nothing, why.

use guestright_firewall::{self as firewall, MacAddress, Station};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A kernel that has no nl80211 may get it with a module; it is asked again after so long.
const AGAIN: Duration = Duration::from_secs(30);

/// Stations by their hardware addresses.
pub(super) type Stations = BTreeMap<MacAddress, Station>;

/// Asks the kernel, on the firewall's thread: it blocks for the length of a system call or two.
#[derive(Debug, Default)]
pub(super) struct Radios {
    open: Option<firewall::Radios>,
    failed: Option<(Instant, String)>,
}

impl Radios {
    /// The stations of all access points of this kernel.
    ///
    /// # Errors
    /// Why that is not known, in words; it is tried again after half a minute.
    pub(super) fn stations(&mut self) -> Result<Stations, String> {
        if let Some((at, reason)) = &self.failed
            && at.elapsed() < AGAIN
        {
            return Err(reason.clone());
        }
        let result = self.ask().map_err(|error| error.to_string());
        self.failed = result.as_ref().err().map(|reason| (Instant::now(), reason.clone()));
        if result.is_err() {
            self.open = None;
        }
        result
    }

    fn ask(&mut self) -> Result<Stations, firewall::FirewallError> {
        let mut radios = self.open.take().map_or_else(firewall::Radios::open, Ok)?;
        let stations = radios.stations()?;
        self.open = Some(radios);
        Ok(stations)
    }
}

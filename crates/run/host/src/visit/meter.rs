//! The visitor's own count of what it used.

use super::AccessNetwork;
use guestright_error::{OrFail as _, RunError};
use guestright_firewall::VisitorMeter;
use guestright_units::Bytes;
use std::path::{Path, PathBuf};

/// Counts the bytes of IPv4 packets between this computer and the Internet.
#[derive(Debug)]
pub(super) enum Meter {
    /// Counters of the kernel's packet filter: exact, but only an administrator may set them up.
    Filter { meter: Option<VisitorMeter>, start: Bytes },
    /// The interface's own counters less the frames' headers: everything on the interface counts, also what is said
    /// to the access point itself, so this meter lets a little more pass.
    Interface { name: String, start: Bytes },
}

/// Ethernet's header, which interfaces count and the access point does not.
const FRAME_HEADER: u64 = 14;

impl Meter {
    /// The best meter that this program may use, and a remark if it is not the exact one.
    pub(super) fn start(network: &AccessNetwork, state: &Path) -> Result<(Self, Option<String>), RunError> {
        let interface = &network.interface;
        match VisitorMeter::up(interface, network.access_point, &file(state)) {
            Ok(meter) => Ok((Self::Filter { meter: Some(meter), start: Bytes(0) }, None)),
            Err(error) => {
                let start = read_interface(interface)?;
                let error = error.to_string();
                let error = error.lines().next().unwrap_or_default();
                let remark = format!("counting by the interface; run as root for an exact count ({error})");
                Ok((Self::Interface { name: interface.clone(), start }, Some(remark)))
            }
        }
    }

    /// Takes the counters away, before others take their place. From then on nothing more is counted.
    pub(super) fn stop(&mut self) {
        if let Self::Filter { meter, .. } = self {
            *meter = None;
        }
    }

    /// Counts from here on.
    pub(super) fn restart(&mut self) -> Result<(), RunError> {
        let now = self.total()?;
        match self {
            Self::Filter { start, .. } | Self::Interface { start, .. } => *start = now,
        }
        Ok(())
    }

    /// Both ways since the start.
    pub(super) fn read(&self) -> Result<Bytes, RunError> {
        let (Self::Filter { start, .. } | Self::Interface { start, .. }) = self;
        Ok(self.total()?.saturating_sub(*start))
    }

    fn total(&self) -> Result<Bytes, RunError> {
        match self {
            Self::Filter { meter, .. } => {
                let meter = meter.as_ref().ok_or_else(|| RunError::bug("the counters were taken away"))?;
                let traffic = meter.read().map_err(RunError::network)?;
                Ok(Bytes(traffic.up.saturating_add(traffic.down)))
            }
            Self::Interface { name, .. } => read_interface(name),
        }
    }
}

/// Where the counters' changes are written down.
pub(super) fn file(state: &Path) -> PathBuf {
    state.join("meter.json")
}

/// Both directions of an interface, from `/proc/net/dev` (proc(5)).
fn read_interface(name: &str) -> Result<Bytes, RunError> {
    let table = std::fs::read_to_string("/proc/net/dev").or_network(|| "read /proc/net/dev".to_owned())?;
    let mut lines = table.lines().filter_map(|line| line.trim_start().split_once(':'));
    let (_, counters) = lines
        .find(|(interface, _)| *interface == name)
        .ok_or_else(|| RunError::network(format!("find interface {name}")))?;
    let counters: Vec<u64> = counters.split_whitespace().map_while(|number| number.parse().ok()).collect();
    let at = |index: usize| counters.get(index).copied().unwrap_or(0);
    let (bytes, packets) = (at(0) + at(8), at(1) + at(9));
    Ok(Bytes(bytes.saturating_sub(packets * FRAME_HEADER)))
}

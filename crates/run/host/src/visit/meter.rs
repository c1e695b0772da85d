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
    Filter { filter: Box<Filter>, start: Bytes },
    /// The interface's own counters less the frames' headers: everything on the interface counts, also what is said
    /// to the access point itself, so this meter lets a little more pass.
    Interface { name: String, start: Bytes },
}

/// Counters that are made anew when another program has taken them away.
#[derive(Debug)]
pub(super) struct Filter {
    meter: Option<VisitorMeter>,
    network: AccessNetwork,
    file: PathBuf,
    /// What was counted by counters before these.
    before: Bytes,
    /// The last count.
    last: Bytes,
}

/// Ethernet's header, which interfaces count and the access point does not.
const FRAME_HEADER: u64 = 14;

impl Meter {
    /// The best meter that this program may use, and a remark if it is not the exact one.
    pub(super) fn start(network: &AccessNetwork, state: &Path) -> Result<(Self, Option<String>), RunError> {
        let interface = &network.interface;
        let file = file(state);
        match VisitorMeter::up(interface, network.access_point, &file) {
            Ok(meter) => {
                let (before, last) = (Bytes(0), Bytes(0));
                let filter = Filter { meter: Some(meter), network: network.clone(), file, before, last };
                Ok((Self::Filter { filter: Box::new(filter), start: Bytes(0) }, None))
            }
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
        if let Self::Filter { filter, .. } = self {
            filter.meter = None;
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
    pub(super) fn read(&mut self) -> Result<Bytes, RunError> {
        let total = self.total()?;
        let (Self::Filter { start, .. } | Self::Interface { start, .. }) = self;
        Ok(total.saturating_sub(*start))
    }

    fn total(&mut self) -> Result<Bytes, RunError> {
        match self {
            Self::Filter { filter, .. } => filter.total(),
            Self::Interface { name, .. } => read_interface(name),
        }
    }
}

impl Filter {
    fn total(&mut self) -> Result<Bytes, RunError> {
        let meter = self.meter.as_ref().ok_or_else(|| RunError::bug("the counters were taken away"))?;
        match meter.read() {
            Ok(traffic) => {
                self.last = self.before.saturating_add(Bytes(traffic.up.saturating_add(traffic.down)))
            }
            Err(error) => {
                // A firewall that is loaded anew flushes everybody's tables. What passed since the last count is lost.
                self.meter = None;
                let anew = VisitorMeter::up(&self.network.interface, self.network.access_point, &self.file);
                let anew = anew.map_err(|_| RunError::network(error))?;
                tracing::warn!("another program has removed the visitor's counters; they are made anew");
                (self.meter, self.before) = (Some(anew), self.last);
            }
        }
        Ok(self.last)
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

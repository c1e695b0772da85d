//! The visitor's own count of what the access point carries for it.
//!
//! A visitor signs for what it saw, so it counts the same bytes at its own end: all IPv4 that leaves or
//! enters by the interface towards the access point, except what is said to the access point itself.
//!
//! Both ends count at layer 3, a packet at a time, with its IPv4 header. They agree to the byte as long as
//! both see the same packets, and differ where they do not:
//!
//! - *Super-frames.* A kernel handles many UDP datagrams (or TCP segments) as one super-frame where it can, and its
//!   packet filter sees one packet with one set of headers. On the air there are as many as there are segments,
//!   and that is what an access point counts. So the frames that the interface counts beyond the packets that the
//!   packet filter saw are counted here too, with the 28 bytes that each repeats: IPv4's header and UDP's, as in
//!   a tunnel. A segment of TCP repeats 20 to 40 bytes more than IPv4's 20; without a tunnel that leaves a
//!   difference of up to 2 %, for which a visitor who signs allows in its tolerance. Frames that are no packets
//!   (ARP) count 28 bytes each. Where an interface hands on super-frames whole, as veth does, both ends see whole
//!   ones.
//! - *Loss.* What the air loses on the way up is counted here only, on the way down there only.
//! - *Refusals.* What the access point drops is counted here only.
//! - *Kernel IPsec.* The kernel shows a packet before and after ESP, and both are counted here.
//!
//! The table only counts: it accepts everything and changes nothing.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::lookup::require_interface;
use crate::settings::check_interface;
use crate::state::{State, clean_up};
use crate::{FirewallError, Traffic, elements, tool};

const TABLE: &str = "guestright_visit";
/// What a frame repeats of the headers of the super-frame that it was a part of: IPv4 (RFC 791) and UDP (RFC 768).
const REPEATED: u64 = 20 + 8;
const DEVICES: &str = "/proc/thread-self/net/dev";

/// Counts a visitor's bytes on one interface. Removed when dropped, if not before.
#[derive(Debug)]
pub struct VisitorMeter {
    interface: String,
    state_file: PathBuf,
    /// Frames that the interface had sent and received when counting began.
    start: Frames,
    /// The most super-frames' further frames that were ever seen: the two counts are read one after the other.
    further: Mutex<Frames>,
    is_up: bool,
}

/// Frames, out of the interface and into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Frames {
    up: u64,
    down: u64,
}

impl VisitorMeter {
    /// Begins to count at nothing. What a crashed run left behind is cleaned up first.
    ///
    /// # Errors
    /// No such interface, a table of our name that is not ours, or the system refuses.
    pub fn up(interface: &str, access_point: Ipv4Addr, state_file: &Path) -> Result<Self, FirewallError> {
        check_interface("interface", interface)?;
        require_interface(interface)?;
        clean_up(state_file)?;
        if elements::table_exists(TABLE)? {
            return Err(FirewallError::TableTaken { table: TABLE.to_owned() });
        }
        State::new(TABLE, &[], Vec::new())?.write(state_file)?;
        let mut meter = Self {
            interface: interface.to_owned(),
            state_file: state_file.to_owned(),
            start: Frames::default(),
            further: Mutex::default(),
            is_up: true,
        };
        tool::nft(&render(interface, access_point))?; // On failure, dropping cleans up.
        meter.start = frames(interface)?; // Last: what passes in between is a packet without a frame, not the reverse.
        Ok(meter)
    }

    /// Bytes counted so far.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn read(&self) -> Result<Traffic, FirewallError> {
        // The frames first, so that what passes in between is a packet without a frame.
        let frames = frames(&self.interface)?;
        let counters = elements::read_counters(TABLE)?;
        let of = |name: &str| counters.get(name).copied().unwrap_or_default();
        let beyond = |frames: u64, start: u64, name: &str| {
            frames.saturating_sub(start).saturating_sub(of(name).packets)
        };
        let mut most = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        most.up = most.up.max(beyond(frames.up, self.start.up, "frames_up"));
        most.down = most.down.max(beyond(frames.down, self.start.down, "frames_down"));
        let with = |name: &str, frames: u64| of(name).bytes.saturating_add(frames.saturating_mul(REPEATED));
        Ok(Traffic { up: with("up", most.up), down: with("down", most.down) })
    }

    /// Stops counting and removes the table.
    ///
    /// # Errors
    /// The system refuses; the state file stays, and [`clean_up`] may be tried again.
    pub fn down(mut self) -> Result<(), FirewallError> {
        self.is_up = false;
        clean_up(&self.state_file)
    }
}

impl Drop for VisitorMeter {
    fn drop(&mut self) {
        if !self.is_up {
            return;
        }
        if let Err(error) = clean_up(&self.state_file) {
            tracing::warn!(%error, "the visitor's meter could not be removed");
        }
    }
}

/// Frames of an interface since it is there (proc(5), `/proc/net/dev`).
fn frames(interface: &str) -> Result<Frames, FirewallError> {
    let table = std::fs::read_to_string(DEVICES)
        .map_err(|error| FirewallError::File { path: DEVICES.to_owned(), reason: error.to_string() })?;
    find_frames(&table, interface).ok_or_else(|| FirewallError::NoInterface { name: interface.to_owned() })
}

/// Packets received are the second number behind the name, packets sent the tenth.
fn find_frames(table: &str, interface: &str) -> Option<Frames> {
    table.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
        let of = |index: usize| numbers.get(index).copied();
        if name.trim() == interface { Some(Frames { up: of(9)?, down: of(1)? }) } else { None }
    })
}

/// Counts up last of all, after everything that may drop; down before anything may, once fragments are
/// joined. What is a frame of the interface is counted whatever it is, so that only super-frames are more.
fn render(interface: &str, access_point: Ipv4Addr) -> String {
    format!(
        "create table inet {TABLE}
table inet {TABLE} {{
	counter up {{ }}
	counter down {{ }}
	counter frames_up {{ }}
	counter frames_down {{ }}
	chain postrouting {{
		type filter hook postrouting priority 300; policy accept;
		oifname \"{interface}\" counter name \"frames_up\"
		oifname \"{interface}\" ip daddr != {{ {access_point}, 224.0.0.0/4, 255.255.255.255 }} counter name \"up\"
	}}
	chain received {{
		type filter hook prerouting priority raw; policy accept;
		iifname \"{interface}\" counter name \"frames_down\"
	}}
	chain prerouting {{
		type filter hook prerouting priority mangle; policy accept;
		iifname \"{interface}\" meta pkttype host ip saddr != {access_point} counter name \"down\"
	}}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_frames_of_an_interface() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo\n\
            wlan0: 1500      12    0    0    0     0          0         0     2800      34    0    0    0     0\n";
        assert_eq!(find_frames(table, "wlan0"), Some(Frames { up: 34, down: 12 }));
        assert_eq!(find_frames(table, "wlan"), None);
    }
}

//! The visitor's own count of what the access point carries for it.
//!
//! A visitor signs for what it saw, so it counts the same bytes at its own end: all IPv4 that leaves or
//! enters by the interface towards the access point, except what is said to the access point itself.
//!
//! Both ends count at layer 3, a packet at a time, with its IPv4 header. They agree to the byte as long as
//! both see the same packets, and differ where they do not:
//!
//! - *Super-frames.* A kernel handles many TCP segments (or UDP datagrams) as one super-frame where it can,
//!   and that counts as one packet with one header. Between veth interfaces super-frames pass from end to
//!   end, so both ends count the same. Over a radio, the visitor counts a super-frame before it is cut into
//!   segments, and the access point counts segments: 20 + 20 to 60 bytes of headers more for each segment
//!   after the first (about 3.5 % of 1,500-byte packets with timestamps), less what its receiving side joins
//!   again. A tunnel that sends its own datagrams one by one has no super-frames and no difference. A visitor
//!   who signs allows for it in its tolerance.
//! - *Loss.* What the air loses on the way up is counted here only, on the way down there only.
//! - *Refusals.* What the access point drops is counted here only.
//! - *Kernel IPsec.* The kernel shows a packet before and after ESP, and both are counted here.
//!
//! The table only counts: it accepts everything and changes nothing.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::lookup::require_interface;
use crate::settings::check_interface;
use crate::state::{State, clean_up};
use crate::{FirewallError, Traffic, elements, tool};

const TABLE: &str = "guestright_visit";

/// Counts a visitor's bytes on one interface. Removed when dropped, if not before.
#[derive(Debug)]
pub struct VisitorMeter {
    state_file: PathBuf,
    is_up: bool,
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
        let meter = Self { state_file: state_file.to_owned(), is_up: true };
        tool::nft(&render(interface, access_point))?; // On failure, dropping cleans up.
        Ok(meter)
    }

    /// Bytes counted so far.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn read(&self) -> Result<Traffic, FirewallError> {
        let counters = elements::read_counters(TABLE, "bytes")?;
        let of = |name: &str| counters.get(name).copied().unwrap_or_default();
        Ok(Traffic { up: of("up"), down: of("down") })
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

/// Counts up last of all, after everything that may drop; down before anything may, once fragments are
/// joined.
fn render(interface: &str, access_point: Ipv4Addr) -> String {
    format!(
        "create table inet {TABLE}
table inet {TABLE} {{
	counter up {{ }}
	counter down {{ }}
	chain postrouting {{
		type filter hook postrouting priority 300; policy accept;
		oifname \"{interface}\" ip daddr != {{ {access_point}, 224.0.0.0/4, 255.255.255.255 }} counter name \"up\"
	}}
	chain prerouting {{
		type filter hook prerouting priority mangle; policy accept;
		iifname \"{interface}\" meta pkttype host ip saddr != {access_point} counter name \"down\"
	}}
}}
"
    )
}

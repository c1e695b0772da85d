//! Which layers this computer can have: each is put in force and asked, in a network that ends with the trial.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use guestright_command::CommandError;

use crate::nftables::Nftables;
use crate::policy_routing::PERMITTED;
use crate::{Class, Firewall, FirewallError, MacAddress, Settings, Warning, tool};

const GUESTS: &str = "trial-guests";
const UPLINK: &str = "trial-uplink";
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const GUEST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const GUEST_MAC: [u8; 6] = [2, 0, 0x5e, 0x10, 0, 1];
/// Our side of a link to a neighbour that does not exist (RFC 5737): routes are looked up, and nothing is sent.
const UPLINK_ADDRESS: &str = "198.51.100.2/24";
const NEIGHBOUR: &str = "198.51.100.1";
const INTERNET: &str = "192.0.2.1";
/// A grant for so long is there when it is looked for, however busy the computer is.
const LEASE_LONG_MS: u64 = 60_000;
/// The end of one for so long is waited for.
const LEASE_MS: u64 = 500;
/// The kernel counts timeouts in ticks, of ten milliseconds at the most.
const TICKS: Duration = Duration::from_millis(50);

/// What came of a trial: for each layer nothing, or why this computer cannot have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// Grants end by themselves.
    pub leases: Option<String>,
    /// Routing prohibits what our table has not marked.
    pub routing: Option<String>,
    /// A static filter guards the router's own ports and the household.
    pub static_filter: Option<String>,
    /// Nobody else can change our table.
    pub owned_table: Option<String>,
}

/// Puts up an access point's firewall between two bridges of its own and looks at each layer. Takes less than a second.
///
/// The network of the calling thread is to be one that was made for this and ends after it, as a sandbox's: interfaces
/// and a default route stay. What stays on the computer are modules that the kernel has loaded.
///
/// # Errors
/// There is no firewall at all: a program is missing, nftables lacks a part, or we are not allowed to.
pub fn try_layers(state_file: &Path) -> Result<Trial, FirewallError> {
    for (interface, address) in [(GUESTS, format!("{ROUTER}/24").as_str()), (UPLINK, UPLINK_ADDRESS)] {
        tool::run("ip", &["link", "add", interface, "type", "bridge"], "")?;
        tool::run("ip", &["address", "add", address, "dev", interface], "")?;
        tool::run("ip", &["link", "set", interface, "up"], "")?;
    }
    tool::run("ip", &["route", "add", "default", "via", NEIGHBOUR], "")?;
    let mut settings = Settings::new(GUESTS, UPLINK, ROUTER, (ROUTER, 24), 7_273);
    settings.visitor_network.0 = Ipv4Addr::new(10, 77, 0, 0);
    settings.lease_ms = LEASE_LONG_MS;
    let table = settings.table.clone();
    let mut firewall = Firewall::up(settings, state_file)?;
    let reason =
        |wanted: fn(&Warning) -> Option<&String>| firewall.warnings().iter().find_map(wanted).cloned();
    let static_filter = reason(|warning| match warning {
        Warning::NoStaticFilter { reason } => Some(reason),
        Warning::NoOwner { .. } | Warning::ForeignQueue { .. } => None,
    });
    let owned_table = reason(|warning| match warning {
        Warning::NoOwner { reason } => Some(reason),
        Warning::NoStaticFilter { .. } | Warning::ForeignQueue { .. } => None,
    });
    let routing = try_routing()?;
    let leases = try_leases(&mut firewall, &table)?;
    firewall.down()?;
    Ok(Trial { leases, routing, static_filter, owned_table })
}

/// Asks the kernel where it would send a guest's packet: nowhere without our table's mark, on with it.
fn try_routing() -> Result<Option<String>, FirewallError> {
    let guest = GUEST.to_string();
    let question = ["route", "get", INTERNET, "from", &guest, "iif", GUESTS];
    match tool::run("ip", &question, "") {
        Err(FirewallError::Command(CommandError::Failed { .. })) => {}
        Err(error) => return Err(error),
        Ok(_) => return Ok(Some("what is not granted is routed on all the same".to_owned())),
    }
    let mark = format!("{PERMITTED:#x}");
    let marked = tool::run("ip", &[&question[..], &["mark", &mark]].concat(), "");
    Ok(marked.err().map(|error| format!("what is granted is not routed on: {error}")))
}

/// Grants for long, and looks; then for a short time, renews nothing, and looks once the lease is over.
fn try_leases(firewall: &mut Firewall, table: &str) -> Result<Option<String>, FirewallError> {
    let mut kernel = Nftables::open()?;
    let mac = MacAddress::new(GUEST_MAC)?;
    firewall.grant(mac, GUEST, Class::High, u64::MAX)?;
    if kernel.elements(table, "granted")?.is_empty() {
        return Ok(Some("a grant was taken and is not there".to_owned()));
    }
    firewall.close(mac, GUEST)?;
    firewall.reconfigure(LEASE_MS, firewall.settings().shaping)?;
    firewall.grant(mac, GUEST, Class::High, u64::MAX)?;
    std::thread::sleep(Duration::from_millis(LEASE_MS) + TICKS);
    let left = kernel.elements(table, "granted")?;
    firewall.close(mac, GUEST)?;
    Ok((!left.is_empty()).then(|| "a grant that nobody renewed is still there".to_owned()))
}

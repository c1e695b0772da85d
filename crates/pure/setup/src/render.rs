//! The texts of the files.

mod links;
mod settings;
mod units;

pub(crate) use links::{kept_links, resolved};
pub(crate) use settings::{access_point, dnsmasq, home, hostapd};
pub(crate) use units::{SYSUSERS, units};

//! What an access point is told, and what of it the firewall is.

use super::retention::Keep;
use super::{phones, splash};
use crate::{HomeAddress, interface};
use guestright_error::RunError;
use guestright_firewall::{self as firewall, Shaping, Tunnels};
use guestright_roaming::access_point;
use guestright_roaming::trials::TrialConfig;
#[cfg(feature = "metrics")]
use std::net::SocketAddr;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// A visitor's gate shuts after an interval in which this program has not kept it open; at least after so long.
const LEASE_MS_MIN: u64 = 1_000;

/// What an access point needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for what is kept between runs.
    pub state: PathBuf,
    /// The file of its own certificate, written anew when that is renewed.
    pub certificate: PathBuf,
    /// The team's home.
    pub home: HomeAddress,
    /// The port of the protocol on the visitors' link.
    pub port: u16,
    /// The interface on which visitors arrive; nothing else may be on it.
    pub visitor_interface: String,
    /// The interface to the Internet.
    pub uplink_interface: String,
    /// Further networks that visitors must never reach: address and prefix length.
    pub household: Vec<(IpAddr, u8)>,
    /// What passes to and from tunnels without a session, so that homes can be found.
    pub tunnels: Option<Tunnels>,
    /// The share of the line that visitors may have; without it they are not shaped.
    pub shaping: Option<Shaping>,
    /// The page for guests without a program of ours; without it there is none.
    pub splash: Option<splash::Settings>,
    /// Phones that join by 802.1X; without it none do.
    pub phones: Option<phones::Settings>,
    /// What its radio is; without it nobody reckons how many calls fit.
    pub radio: Option<super::Radio>,
    /// How long it is kept who had which address; nothing: not at all.
    pub retention: Option<Keep>,
    /// Where monitoring programs fetch metrics, besides the socket beside the state.
    #[cfg(feature = "metrics")]
    pub metrics: Option<SocketAddr>,
    /// What the machine is told.
    pub machine: access_point::Config,
}

impl Settings {
    /// What the firewall is told, with the access point's address read from the visitors' interface.
    ///
    /// # Errors
    /// An interface is not there, the visitors' has no IPv4 address, or a setting is wrong.
    pub fn rules(&self) -> Result<firewall::Settings, RunError> {
        let interface = &self.visitor_interface;
        let (address, length) =
            firewall::interface_address(interface).map_err(interface::refused)?.ok_or_else(|| {
                RunError::config(format!("{interface} has no IPv4 address")).with_hint(format!(
                    "give it one, for example: ip address add 10.73.0.1/24 dev {interface}"
                ))
            })?;
        firewall::require_interface(&self.uplink_interface).map_err(interface::refused)?;
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        let network = (Ipv4Addr::from_bits(address.to_bits() & mask), length);
        let mut rules =
            firewall::Settings::new(interface, &self.uplink_interface, address, network, self.port);
        rules.household.clone_from(&self.household);
        rules.tunnels.clone_from(&self.tunnels);
        rules.shaping = self.shaping;
        rules.page = self.splash.as_ref().map(splash::Settings::page);
        if let Some(splash) = &self.splash {
            splash.machine(address)?;
        }
        self.radio.as_ref().map(super::Radio::check).transpose()?;
        rules.lease_ms = self.lease_ms();
        rules.check().map_err(RunError::config)?;
        Ok(rules)
    }

    /// What strangers may try.
    pub(super) fn trial(&self) -> TrialConfig {
        self.splash.as_ref().map_or(TrialConfig::NONE, |splash| splash.trial)
    }

    /// How long a grant lasts unless it is renewed.
    pub(super) fn lease_ms(&self) -> u64 {
        (self.machine.interval.0 / 1_000).max(LEASE_MS_MIN)
    }

    /// How often the firewall's counters are read at least: ten times in an interval, within bounds. More often where
    /// somebody uses up what it may leave unsigned.
    pub(super) fn pace(&self) -> Duration {
        Duration::from_millis((self.machine.interval.0 / 10_000).clamp(50, 100))
    }
}

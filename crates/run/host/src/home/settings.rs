//! What a home is told.

#[cfg(feature = "page")]
use super::page;
use super::{gateway, links, own_name, phones};
use guestright_roaming::home;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What a home needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for what is kept between runs, the receipts among it.
    pub state: PathBuf,
    /// Where it awaits the programs of its team.
    pub listen: SocketAddr,
    /// The file of its own certificate, written anew when that is renewed.
    pub certificate: PathBuf,
    /// The team's revocation list, if there is one.
    pub revocations: Option<PathBuf>,
    /// The directory with the renewing key and its warrant, if this home renews certificates.
    pub renewal: Option<PathBuf>,
    /// How many receipts are kept; the oldest go first.
    pub receipts_max: u64,
    /// What the machine is told.
    pub machine: home::Config,
    /// Where access points ask for receipts of members that have nothing but a tunnel, if there is a gateway.
    pub protocol_listen: SocketAddr,
    /// The way home for roaming members; without it there is none.
    pub gateway: Option<gateway::Settings>,
    /// Links to homes of other teams, unless the household declines.
    pub links: Option<links::Settings>,
    /// The home's own name in the DNS, if it is to follow the home's address.
    pub own_name: Option<own_name::Settings>,
    /// Calls between members. They need a gateway and links.
    pub exchange: Option<guestright_exchange::Settings>,
    /// Members' phones that join Wi-Fi by certificates, unless the household declines.
    pub phones: Option<phones::Settings>,
    /// The household's page.
    #[cfg(feature = "page")]
    pub page: page::Settings,
    /// Where monitoring programs fetch metrics, besides the socket beside the state.
    #[cfg(feature = "metrics")]
    pub metrics: Option<SocketAddr>,
}

//! What a home opens before its loop begins.

use super::blocked::Blocked;
use super::gateway::{Gateway, OtherWays};
use super::ikev2::{self, Ikev2};
use super::mapping::{self, PortMapping};
use super::members;
use super::own_name::{self, OwnName};
use super::phones::{Announcing, Household, Phones, Surroundings};
use super::renewing;
use super::{Settings, everybody, limits, private};
use guestright_channel::{Credentials, CurrentCredentials};
use guestright_error::RunError;
use guestright_exchange::{Exchange, OwnHome};
use guestright_firewall::VoicePorts;
use guestright_identity::RevocationList;
use guestright_links::ExchangeLinks;
use guestright_portmap::{Protocol, Wanted};
use guestright_reciprocity::{Edge, StrangerCounters};
use guestright_roaming::TeamServer;
use guestright_roaming::home::Config;
use guestright_store::{Limits, Store, StoreError};
use guestright_units::{Bytes, TeamId, Time};
use rand::rngs::StdRng;
use std::net::SocketAddr;
use std::path::Path;
use tokio::sync::watch;

/// What people call the household, if it has said so.
pub(super) fn household_name(settings: &Settings) -> Option<String> {
    settings.phones.as_ref()?.name.clone()
}

pub(super) fn read_revocations(path: Option<&Path>) -> Result<Option<RevocationList>, RunError> {
    path.map(guestright_keys::read_revocations).transpose().map_err(RunError::config)
}

/// Opens the store, with the team's revocation list in it, in a directory that is made for it.
pub(super) fn store(settings: &Settings, team: TeamId) -> Result<Store, RunError> {
    private::make_private_directory(&settings.state)?;
    let own_team = settings.machine.credit.map(|_| team);
    let limits = Limits { receipts_max: settings.receipts_max, own_team };
    let mut store = Store::open(&settings.state.join(super::STORE), limits).map_err(RunError::network)?;
    store.check_rows().map_err(RunError::network)?;
    if let Some(list) = read_revocations(settings.revocations.as_deref())? {
        store.put_revocation(&list).map_err(RunError::network)?;
    }
    Ok(store)
}

/// What the machine is told, with what was set on the page.
pub(super) fn machine_config(settings: &Settings) -> Result<Config, RunError> {
    let credit = settings.machine.credit.map(|credit| limits::in_force(&settings.state, credit));
    Ok(Config { credit: credit.transpose()?, ..settings.machine.clone() })
}

/// The machine, knowing what the store knows, and what it remembers of strangers.
pub(super) fn machine(
    settings: &Settings,
    team: TeamId,
    store: &Store,
    now: Time,
) -> Result<(TeamServer, Blocked, StrangerCounters), RunError> {
    let config = machine_config(settings)?;
    let read = || -> Result<_, StoreError> {
        let edges = store.edges()?.into_iter().map(edge);
        let counters = read_counters(store)?;
        let mut server = TeamServer::new(config.clone(), team, edges, store.revocations()?, counters, now);
        if settings.machine.credit.is_some() {
            super::credit::restore(&mut server, store, team, now)?;
        }
        Ok((server, counters))
    };
    let (mut server, counters) = read().map_err(RunError::network)?;
    server.set_renewer(renewing::read(settings.renewal.as_deref(), team)?);
    let blocked = Blocked::open(&settings.state)?;
    server.block(blocked.teams());
    server.serve_everybody(everybody::kept(&settings.state, now.unix_seconds()));
    // Also if it is empty: an access point may know of an older one.
    server.set_blocked_devices(blocked.devices(), super::orders::AT_START);
    Ok((server, blocked, counters))
}

/// The ways in, and what is asked of the household's router for them.
#[derive(Default)]
pub(super) struct Ways {
    pub(super) gateway: Option<Gateway>,
    pub(super) ikev2: Option<Ikev2>,
    pub(super) mapping: Option<PortMapping>,
}

/// Starts the way home for roaming members: WireGuard and the firewall, then whatever else is wanted.
pub(super) fn ways(settings: &Settings) -> Result<Ways, RunError> {
    let Some(wanted) = &settings.gateway else { return Ok(Ways::default()) };
    let revoked = read_revocations(settings.revocations.as_deref())?;
    let voice = settings.exchange.as_ref().map(|exchange| VoicePorts {
        sip: exchange.sip_port,
        media: (exchange.media_port_first, exchange.media_port_last),
    });
    let other = OtherWays {
        home_port: Some(settings.listen.port()),
        #[cfg(feature = "page")]
        page_port: Some(super::page::PORT),
        voice,
        ..ikev2::other_ways(wanted)
    };
    let gateway = Gateway::start(wanted, &settings.state, revoked.as_ref(), &other)?;
    let ikev2 = Ikev2::start(wanted, &settings.state, &gateway, revoked.as_ref())?;
    let mapping =
        map_ports(settings, (cfg!(feature = "port-mapping") && wanted.port_mapping).then(|| gateway.port()))?;
    Ok(Ways { gateway: Some(gateway), ikev2, mapping })
}

/// Has the household's router let through what a home is asked at, if there is a tunnel port to go with it.
fn map_ports(settings: &Settings, tunnel: Option<u16>) -> Result<Option<PortMapping>, RunError> {
    let Some(tunnel) = tunnel else { return Ok(None) };
    let tcp = |address: SocketAddr| Wanted { protocol: Protocol::Tcp, port: address.port() };
    let udp = |port| Wanted { protocol: Protocol::Udp, port };
    let exchange = settings.exchange.as_ref();
    let links = settings.links.as_ref().map(|links| tcp(links.listen));
    let media = exchange.map(|exchange| exchange.media_port_first..=exchange.media_port_last);
    let media = media.into_iter().flat_map(mapping::media_ports).map(udp);
    let wanted = [udp(tunnel), tcp(settings.protocol_listen), tcp(settings.listen)];
    PortMapping::start(wanted.into_iter().chain(links).chain(media).collect()).map(Some)
}

/// Starts to keep the home's own name in the DNS, if it is to be kept.
pub(super) fn own_name(
    settings: Option<&own_name::Settings>,
    mapping: Option<&PortMapping>,
) -> Result<Option<OwnName>, RunError> {
    let router = mapping.map_or_else(|| watch::channel(None).1, PortMapping::external);
    settings.map(|settings| OwnName::start(settings, router)).transpose()
}

/// Whether calls are refused that would break others.
pub(super) fn admits(settings: &Settings) -> bool {
    settings.exchange.as_ref().is_some_and(|exchange| exchange.admit)
}

/// Starts the telephone exchange, if one is wanted.
pub(super) async fn exchange(
    settings: &Settings,
    credentials: &Credentials,
    gateway: Option<&Gateway>,
    links: Option<ExchangeLinks>,
) -> Result<Option<Exchange>, RunError> {
    let Some(wanted) = &settings.exchange else { return Ok(None) };
    let gateway = gateway.ok_or_else(|| RunError::config("[voice] needs a [gateway]"))?;
    let links = links.ok_or_else(|| RunError::config("[voice] needs [links], which are declined"))?;
    let (_, address) = gateway.network();
    let own = OwnHome {
        home: credentials.certificate.subject_id(),
        address: address.into(),
        state: &settings.state,
        members: members::read(gateway)?,
    };
    Exchange::start(wanted, own, links).await.map(Some)
}

/// What is known of members' phones, with whom the team has revoked, and where this home says that it is.
pub(super) fn phones(
    settings: &Settings,
    credentials: &CurrentCredentials,
    gateway: Option<&Gateway>,
    rng: &mut StdRng,
    now: Time,
) -> Result<Phones, RunError> {
    let team = credentials.get().certificate.team_id();
    let announced = settings.links.as_ref().and_then(|links| links.announce.clone());
    let announcing = announced.map(|address| Announcing::new(address, credentials.clone()));
    let Some(wanted) = &settings.phones else { return Ok(Phones::new(team, None, announcing)) };
    let surroundings = Surroundings {
        settings: wanted.clone(),
        state: settings.state.clone(),
        endpoint: gateway.and_then(|gateway| gateway.files().endpoint.socket_address()),
        ike: settings.gateway.as_ref().is_some_and(|gateway| gateway.ikev2.is_some()),
    };
    let mut household = Household::open(surroundings, team, rng, now)?;
    if let (Some(household), Some(list)) =
        (&mut household, read_revocations(settings.revocations.as_deref())?)
    {
        household.handle_revocations(&list, now);
    }
    Ok(Phones::new(team, household, announcing))
}

pub(super) fn edge(edge: guestright_store::Edge) -> Edge {
    Edge { consumer: edge.consumer, provider: edge.provider, bytes: edge.weight }
}

fn read_counters(store: &Store) -> Result<StrangerCounters, StoreError> {
    let read = |key| Ok::<_, StoreError>(Bytes(store.state(key)?.unwrap_or(0).cast_unsigned()));
    Ok(StrangerCounters { given: read("strangers-given")?, returned: read("strangers-returned")? })
}

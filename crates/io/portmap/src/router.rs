//! Mapping one port, by whatever protocol the router speaks.

use crate::talk;
use crate::upnp::{self, Service, UpnpError};
use crate::wire::{self, MapRequest, Protocol, WireError};
use crate::{PortmapError, Uplink};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// UPnP's code for a router that only maps for good.
const ONLY_FOR_GOOD: u16 = 725;
/// PCP's code for a router without a connection to the Internet (`NETWORK_FAILURE`, RFC 6887 §7.4).
const NO_NETWORK: u16 = 7;

/// How a router is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Port Control Protocol, RFC 6887.
    Pcp,
    /// NAT Port Mapping Protocol, RFC 6886.
    NatPmp,
    /// UPnP's Internet Gateway Device.
    Upnp,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcp => "PCP",
            Self::NatPmp => "NAT-PMP",
            Self::Upnp => "UPnP",
        })
    }
}

/// A port of this computer that others should reach, outside under the same number if the router can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// What goes through it.
    pub protocol: Protocol,
    pub port: u16,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.protocol, self.port)
    }
}

/// A port that others reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub wanted: Wanted,
    /// Where others reach it.
    pub external: SocketAddrV4,
    /// How the router was asked.
    pub method: Method,
    /// For how long it holds; for good if there is none.
    pub holds: Option<Duration>,
}

/// How long a router is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For an answer by PCP or NAT-PMP, questions sent again included.
    pub answer: Duration,
    /// For an answer to UPnP's search.
    pub search: Duration,
    /// For one request over HTTP.
    pub http: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            answer: Duration::from_millis(1_750),
            search: Duration::from_secs(2),
            http: Duration::from_secs(3),
        }
    }
}

/// A router that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Router {
    pub(crate) uplink: Uplink,
    pub(crate) timeouts: Timeouts,
}

impl Router {
    /// Asks for a mapping, or renews it, by one protocol.
    pub(crate) fn map(
        &self,
        method: Method,
        wanted: Wanted,
        nonce: [u8; 12],
        holds: Duration,
    ) -> Result<Mapping, PortmapError> {
        let seconds = u32::try_from(holds.as_secs()).unwrap_or(u32::MAX);
        let request = MapRequest {
            nonce,
            protocol: wanted.protocol,
            internal: wanted.port,
            suggested: wanted.port,
            seconds,
        };
        let Uplink { router, own } = self.uplink;
        let silent = PortmapError::Silent { router, method };
        let mapped = match method {
            Method::Pcp => {
                let answer =
                    talk::ask(router, &request.emit_pcp(own), self.timeouts.answer, |b| request.parse_pcp(b));
                refused(router, method, answer)?.ok_or(silent)?
            }
            Method::NatPmp => {
                let question = request.emit_nat_pmp();
                let answer = talk::ask(router, &question, self.timeouts.answer, |b| request.parse_nat_pmp(b));
                let mapped = refused(router, method, answer)?.ok_or(silent)?;
                wire::Mapped { address: Some(self.nat_pmp_address()?), ..mapped }
            }
            Method::Upnp => {
                let service = self.find_service()?.ok_or(silent)?;
                let ask = |seconds| {
                    self.send_request(
                        &service,
                        &upnp::add(&service, wanted.protocol, wanted.port, own, seconds),
                    )
                };
                let seconds = match ask(seconds) {
                    Err(PortmapError::Upnp(UpnpError::Refused(ONLY_FOR_GOOD))) => ask(0).map(|()| 0)?,
                    answer => answer.map(|()| seconds)?,
                };
                let address = Some(self.upnp_address(&service)?);
                wire::Mapped { port: wanted.port, address, seconds, epoch: u32::MAX }
            }
        };
        let address = mapped.address.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let holds = (mapped.seconds > 0).then(|| Duration::from_secs(mapped.seconds.into()));
        let external = SocketAddrV4::new(address, mapped.port);
        Ok(Mapping { wanted, external, method, holds })
    }

    /// Takes a mapping away.
    pub(crate) fn unmap(&self, mapping: &Mapping, nonce: [u8; 12]) -> Result<(), PortmapError> {
        let Wanted { protocol, port } = mapping.wanted;
        let request = MapRequest { nonce, protocol, internal: port, suggested: port, seconds: 0 };
        let Uplink { router, own } = self.uplink;
        match mapping.method {
            Method::Pcp => {
                talk::ask(router, &request.emit_pcp(own), self.timeouts.answer, |b| request.parse_pcp(b))
                    .map(drop)
            }
            Method::NatPmp => {
                talk::ask(router, &request.emit_nat_pmp(), self.timeouts.answer, |b| request.parse_nat_pmp(b))
                    .map(drop)
            }
            Method::Upnp => match self.find_service()? {
                Some(service) => {
                    self.send_request(&service, &upnp::remove(&service, protocol, mapping.external.port()))
                }
                None => Ok(()),
            },
        }
    }

    /// The router's address outside, as NAT-PMP says it.
    pub(crate) fn nat_pmp_address(&self) -> Result<Ipv4Addr, PortmapError> {
        let router = self.uplink.router;
        let answer = talk::ask(router, &wire::ASK_ADDRESS, self.timeouts.answer, wire::parse_address);
        let silent = PortmapError::Silent { router, method: Method::NatPmp };
        refused(router, Method::NatPmp, answer)?.ok_or(silent)
    }

    /// Whether the router speaks PCP. Without a mapping it does not say more.
    pub(crate) fn pcp_spoken(&self) -> Result<(), PortmapError> {
        let Uplink { router, own } = self.uplink;
        let answer = talk::ask(router, &wire::announce(own), self.timeouts.answer, wire::parse_announce);
        refused(router, Method::Pcp, answer)?.ok_or(PortmapError::Silent { router, method: Method::Pcp })
    }

    /// The router's service that maps ports, if it answers a search.
    pub(crate) fn find_service(&self) -> Result<Option<Service>, PortmapError> {
        let Some(url) = talk::search(self.uplink, self.timeouts.search)? else { return Ok(None) };
        let (status, text) = talk::http(&url, &upnp::get(&url), self.timeouts.http)?;
        upnp::check_answer(status, &text)?;
        Ok(Some(upnp::parse_description(&text, &url)?))
    }

    /// The router's address outside, as UPnP says it.
    pub(crate) fn upnp_address(&self, service: &Service) -> Result<Ipv4Addr, PortmapError> {
        let question = upnp::call(service, "GetExternalIPAddress", &[]);
        let (status, text) = talk::http(&service.control, &question, self.timeouts.http)?;
        let router = *service.control.address.ip();
        match upnp::parse_address(status, &text) {
            Err(UpnpError::Missing(_)) => Err(PortmapError::NoAddress { router, method: Method::Upnp }),
            address => Ok(address?),
        }
    }

    fn send_request(&self, service: &Service, request: &str) -> Result<(), PortmapError> {
        let router = self.uplink.router;
        let (status, text) = talk::http(&service.control, request, self.timeouts.http)?;
        match upnp::check_answer(status, &text) {
            Err(error @ UpnpError::Refused(code)) if code != ONLY_FOR_GOOD => {
                Err(PortmapError::Refused { router, method: Method::Upnp, reason: error.to_string() })
            }
            answer => Ok(answer?),
        }
    }
}

/// Says who refused, and how it was asked.
fn refused<T>(
    router: Ipv4Addr,
    method: Method,
    answer: Result<Option<T>, PortmapError>,
) -> Result<Option<T>, PortmapError> {
    match answer {
        Err(PortmapError::Wire(WireError::Result(NO_NETWORK))) => {
            Err(PortmapError::NoAddress { router, method })
        }
        Err(PortmapError::Wire(error @ (WireError::Result(_) | WireError::Version))) => {
            Err(PortmapError::Refused { router, method, reason: error.to_string() })
        }
        other => other,
    }
}

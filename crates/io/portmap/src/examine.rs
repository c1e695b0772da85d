//! What the household's router can do, without changing anything.

use crate::router::Router;
use crate::{Method, PortmapError, Reach, Timeouts, Uplink};
use std::net::Ipv4Addr;

/// What a router answered in one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub method: Method,
    /// The router's address outside, where the protocol says it without a mapping; or why there is no answer.
    pub outcome: Result<Option<Ipv4Addr>, PortmapError>,
}

/// What a router answered in all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// The way to it.
    pub uplink: Uplink,
    /// Its answers: PCP, NAT-PMP, UPnP.
    pub answers: Vec<Answer>,
}

impl Examination {
    /// The address under which the household appears outside, as far as the router knows. A computer with an address
    /// of the Internet of its own needs no router.
    #[must_use]
    pub fn external(&self) -> Option<Ipv4Addr> {
        if Reach::of(self.uplink.own) == Reach::Public {
            return Some(self.uplink.own);
        }
        self.answers.iter().find_map(|answer| answer.outcome.as_ref().ok().copied().flatten())
    }

    /// Whether the router maps ports, in any protocol.
    #[must_use]
    pub fn maps(&self) -> bool {
        self.answers.iter().any(|answer| answer.outcome.is_ok())
    }

    /// What to do so that others can reach this computer; nothing if all is well.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        match self.external() {
            Some(address) if self.maps() || address == self.uplink.own => Reach::of(address).advice(),
            _ if self
                .answers
                .iter()
                .any(|answer| matches!(answer.outcome, Err(PortmapError::NoAddress { .. }))) =>
            {
                Some(
                    "the router has no address of the Internet: it is not connected, behind another router, or your \
                     provider shares one address among many households (carrier-grade NAT); look at its status page, \
                     and ask the provider for a public IPv4 address",
                )
            }
            _ if self.maps() => None,
            _ => Some(
                "turn on PCP, NAT-PMP or UPnP in the router's settings, or forward the home's ports to this computer \
                 there by hand",
            ),
        }
    }
}

/// Asks the router of this thread's network in every protocol at the same time. Takes up to six seconds with the
/// usual timeouts where nobody answers; call it from a worker thread.
///
/// # Errors
/// There is no router to ask.
pub fn examine(timeouts: Timeouts) -> Result<Examination, PortmapError> {
    let uplink = crate::uplink()?;
    let router = Router { uplink, timeouts };
    let upnp = || match router.find_service()? {
        Some(service) => Ok(Some(router.upnp_address(&service)?)),
        None => Err(PortmapError::Silent { router: uplink.router, method: Method::Upnp }),
    };
    let answers = std::thread::scope(|scope| {
        let asked = [
            (Method::Pcp, scope.spawn(|| router.pcp_spoken().map(|()| None))),
            (Method::NatPmp, scope.spawn(|| router.nat_pmp_address().map(Some))),
            (Method::Upnp, scope.spawn(upnp)),
        ];
        asked
            .into_iter()
            .map(|(method, asked)| {
                let outcome = asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Answer { method, outcome }
            })
            .collect()
    });
    Ok(Examination { uplink, answers })
}

//! The household's router, as this computer sees it.

use crate::PortmapError;
use std::net::{Ipv4Addr, UdpSocket};

/// The way out of this computer's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uplink {
    pub router: Ipv4Addr,
    /// This computer's address towards it.
    pub own: Ipv4Addr,
}

const ROUTES: &str = "/proc/thread-self/net/route";
/// A port that nothing is sent to: connecting a UDP socket only makes the kernel choose a source address.
const DISCARD: u16 = 9;

/// The way that packets take for which there is no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultRoute {
    /// Who forwards them.
    pub gateway: Ipv4Addr,
    /// The interface towards it.
    pub interface: String,
}

/// The default route of this thread's network.
///
/// # Errors
/// [`PortmapError::NoRouter`] if there is none, or the system would not say.
pub fn default_route() -> Result<DefaultRoute, PortmapError> {
    let table = std::fs::read_to_string(ROUTES).map_err(PortmapError::system("read the routes"))?;
    parse(&table).ok_or(PortmapError::NoRouter)
}

/// The way to the household's router, and this computer's address on it.
///
/// # Errors
/// There is no default route, or the system would not say.
pub fn uplink() -> Result<Uplink, PortmapError> {
    let router = default_route()?.gateway;
    Ok(Uplink { router, own: own_address(router)? })
}

/// This computer's address towards another. Nothing is sent for it.
///
/// # Errors
/// No route leads there, or the system would not say.
pub fn own_address(other: Ipv4Addr) -> Result<Ipv4Addr, PortmapError> {
    let own = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((other, DISCARD))?;
        socket.local_addr()
    };
    match own().map_err(PortmapError::system("find our own address"))?.ip() {
        std::net::IpAddr::V4(own) => Ok(own),
        std::net::IpAddr::V6(_) => Err(PortmapError::NoRouter),
    }
}

/// The default route with the lowest metric (proc(5), `/proc/net/route`: destination, gateway and mask
/// are hexadecimal in the computer's byte order).
fn parse(table: &str) -> Option<DefaultRoute> {
    let routes = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let metric: u32 = fields.get(6)?.parse().ok()?;
        let gateway = Ipv4Addr::from(number(2)?.to_ne_bytes());
        let is_default = number(1)? == 0 && number(7)? == 0 && !gateway.is_unspecified();
        let interface = (*fields.first()?).to_owned();
        is_default.then_some((metric, DefaultRoute { gateway, interface }))
    });
    routes.min_by_key(|(metric, _)| *metric).map(|(_, route)| route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_with_the_lowest_metric_wins() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
            eth0\t00000000\t010B0A0A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
            eth0\t000B0A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let want = if cfg!(target_endian = "little") { [10, 10, 11, 1] } else { [1, 11, 10, 10] };
        assert_eq!(
            parse(table),
            Some(DefaultRoute { gateway: Ipv4Addr::from(want), interface: "eth0".to_owned() })
        );
        assert_eq!(parse("Iface\n"), None);
    }
}

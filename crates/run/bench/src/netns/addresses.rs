//! Where the flows of a run begin and end.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The host of the sources.
pub(super) const NEAR: &str = "near";
/// The host of the sinks.
pub(super) const FAR: &str = "far";
/// Where the calls' sources are; the network behind it is for measurements (RFC 2544, appendix C.2.2).
pub(super) const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Where the file transfers' sources are.
pub(super) const BULK_SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Where the calls' sinks are.
pub(super) const SINK: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// Where the file transfers' sinks are.
pub(super) const BULK_SINK: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);
/// The port of the first flow at its source; the next flow has the next one.
pub(super) const SOURCE_PORT: u16 = 20_000;
/// The same at its sink.
pub(super) const SINK_PORT: u16 = 30_000;
/// The most flows of a kind.
pub(super) const FLOWS_MAX: u32 = 1_000;

/// The number of the flow that has these ports at its source and at its sink.
pub(super) fn flow_of(source: u16, sink: u16) -> Option<u32> {
    let flow = source.checked_sub(SOURCE_PORT)?;
    (sink.checked_sub(SINK_PORT)? == flow).then_some(flow.into())
}

/// The addresses of the flow of this number.
pub(super) fn addresses((near, far): (Ipv4Addr, Ipv4Addr), flow: u32) -> (SocketAddrV4, SocketAddrV4) {
    let flow = u16::try_from(flow).unwrap_or(u16::MAX);
    let port = |first: u16| first.saturating_add(flow);
    (SocketAddrV4::new(near, port(SOURCE_PORT)), SocketAddrV4::new(far, port(SINK_PORT)))
}

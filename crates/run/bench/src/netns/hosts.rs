//! The two hosts of a run: the sources' and the sinks', with the emulated network between them.

use super::addresses::{BULK_SINK, BULK_SOURCE, FAR, NEAR, SINK, SOURCE};
use super::request::Request;
use crate::error::BenchError;
use guestright_emulator::Device;
use guestright_netns::{NetnsError, World};
use std::net::Ipv4Addr;

/// The interface to the network, on either host.
const INTERFACE: &str = "path0";
/// Packets that the kernel holds for the emulator. It takes them at once; there is no queue but those of the path.
const QUEUE_LENGTH: &str = "10000";

/// What is the same for all TCP of a host, whatever runs. The names are those of the kernel's ip-sysctl.rst.
const PARAMETERS: [(&str, &str); 3] = [
    // No run learns from the one before.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // Small records do not wait for each other.
    ("net.ipv4.tcp_autocorking", "0"),
    // Ports are ours to choose.
    ("net.ipv4.ip_local_port_range", "61000 61999"),
];

/// The hosts, and the devices that lead from one to the other.
pub(super) struct Hosts {
    pub(super) world: World,
    pub(super) near: Device,
    pub(super) far: Device,
}

impl Hosts {
    /// Makes both, for calls and file transfers.
    pub(super) fn build(request: &Request) -> Result<Self, BenchError> {
        let switch = |is_on: bool| if is_on { "1" } else { "0" };
        let hosts = Self::with(&[
            // Headers of 40 bytes, as the simulator's.
            ("net.ipv4.tcp_timestamps", "0"),
            ("net.ipv4.tcp_sack", switch(request.tcp.sack)),
            ("net.ipv4.tcp_ecn", switch(request.tcp.ecn)),
        ])?;
        hosts.join(request)?;
        Ok(hosts)
    }

    /// Makes both with such parameters of their TCP, without addresses.
    pub(super) fn with(parameters: &[(&str, &str)]) -> Result<Self, BenchError> {
        let mut world = World::new("lab-")?;
        let mut open = |host: &str| {
            world.add_host(host)?;
            for (parameter, value) in PARAMETERS.iter().chain(parameters) {
                world.sysctl(host, parameter, value)?;
            }
            // Where there is no IPv6, nothing has to be silenced.
            let _ = world.sysctl(host, "net.ipv6.conf.all.disable_ipv6", "1");
            let device = world.within(host, || Device::open(INTERFACE))??;
            Ok::<Device, BenchError>(device)
        };
        let (near, far) = (open(NEAR)?, open(FAR)?);
        Ok(Self { world, near, far })
    }

    /// Gives a host addresses, and its interface to the network.
    pub(super) fn address(&self, host: &str, addresses: &[Ipv4Addr]) -> Result<(), NetnsError> {
        for address in addresses {
            self.world.address(host, INTERFACE, &format!("{address}/32"))?;
        }
        // One segment at a time: TCP does not wait until it has several to hand over.
        self.ip(host, &["link", "set", INTERFACE, "txqueuelen", QUEUE_LENGTH, "gso_max_segs", "1"])?;
        self.world.up(host, INTERFACE)
    }

    /// Addresses and routes. What TCP is to do for a kind of flow stands at its route (ip-route(8)).
    fn join(&self, request: &Request) -> Result<(), NetnsError> {
        self.address(NEAR, &[SOURCE, BULK_SOURCE])?;
        self.address(FAR, &[SINK, BULK_SINK])?;
        let tcp = &request.tcp;
        let (initial, timeout) = (tcp.initial_window.to_string(), format!("{}ms", tcp.min_rto_ms));
        for (from, to, window) in [(SOURCE, SINK, tcp.window), (BULK_SOURCE, BULK_SINK, request.bulk.window)]
        {
            let window = window.to_string();
            let sender = ["initcwnd", &initial, "rto_min", &timeout, "cwnd", "lock", &window];
            self.route(NEAR, to, from, &sender)?;
            let quick = if tcp.quick { "1" } else { "0" };
            self.route(FAR, from, to, &["quickack", quick])?;
        }
        Ok(())
    }

    /// The way to an address, with what TCP is to do for connections on it.
    pub(super) fn route(
        &self,
        host: &str,
        to: Ipv4Addr,
        from: Ipv4Addr,
        more: &[&str],
    ) -> Result<(), NetnsError> {
        let (to, from) = (format!("{to}/32"), from.to_string());
        let mut words = vec!["route", "add", &to, "dev", INTERFACE, "src", &from];
        words.extend_from_slice(more);
        self.ip(host, &words)
    }

    fn ip(&self, host: &str, words: &[&str]) -> Result<(), NetnsError> {
        self.world.run(host, "ip", words).map(drop)
    }
}

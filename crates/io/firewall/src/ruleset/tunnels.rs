//! The part of the ruleset for visitors that have nothing but a tunnel.
//!
//! A tunnel's datagrams pass by a grant for that visitor and that home, or else by an allowance: three quotas, all of
//! which have to have room. Each is an element of a dynamic set that is made by the first packet and goes an hour
//! later. A set that is full lets nothing new through: the quota's `until` has to match for a packet to go on.

use super::{EARLY_DROP, Marks};
use crate::Settings;
use crate::settings::Tunnels;

/// Flows that one visitor may have to tunnel ports, by its grant or by its allowance.
const FLOWS_MAX: u32 = 8;
/// As many homes as have an allowance within an hour. Eight megabytes in all are spent long before.
const HOMES_MAX: u32 = 4_096;
/// No set of flows is larger, whatever the visitors' network.
const LEARNED_MAX: u32 = 65_536;

pub(super) fn sets(settings: &Settings) -> String {
    if settings.tunnels.is_none() {
        return String::new();
    }
    let addresses = 1_u32 << (32 - settings.visitor_network.1);
    let visitors = settings.limits.visitors_max;
    let learned = addresses.saturating_mul(FLOWS_MAX).min(LEARNED_MAX);
    format!(
        "
	# Tunnels: gates for a visitor and its home, and who holds the address; counts behind them as above.
	set tunnel_granted {{ type ether_addr . ipv4_addr . ipv4_addr; size {visitors}; flags timeout; }}
	set tunnel_open {{ type ipv4_addr . ipv4_addr; size {visitors}; flags timeout; }}
	set tunnel_held {{ type ipv4_addr; size {visitors}; }}
	set tunnel_holders {{ type ether_addr . ipv4_addr; size {visitors}; }}
	set tunnel_window {{ type ipv4_addr . ipv4_addr; size {visitors}; quota until 1 bytes; }}
	set tunnel_window_end {{ type ipv4_addr . ipv4_addr; size {visitors}; quota until 1 bytes; }}
	set tunnel_up {{ type ipv4_addr . ipv4_addr; size {visitors}; counter; }}
	set tunnel_down {{ type ipv4_addr . ipv4_addr; size {visitors}; counter; }}
	map tunnel_class {{ type ipv4_addr : classid; size {visitors}; }}

	# Tunnels without a grant: what visitors, homes and all together have had of their hour, and which were answered.
	set allowance_visitor {{ type ipv4_addr; size {addresses}; flags dynamic,timeout; timeout 1h; }}
	set allowance_home {{ type ipv4_addr; size {HOMES_MAX}; flags dynamic,timeout; timeout 1h; }}
	set allowance_hour {{ type inet_proto; size 1; flags dynamic,timeout; timeout 1h; }}
	set tunnel_flowing {{ type ipv4_addr; size {addresses}; flags dynamic; }}
	set tunnel_asked {{ type ipv4_addr . inet_service . ipv4_addr . inet_service; size {learned}; flags dynamic,timeout; timeout 10s; }}
	set tunnel_flows {{ type ipv4_addr . inet_service . ipv4_addr . inet_service; size {learned}; flags dynamic,timeout; timeout 1h; }}
"
    )
}

/// The rule that keeps a tunnel's address its holder's.
pub(super) fn identity(settings: &Settings) -> &'static str {
    match settings.tunnels {
        Some(_) => {
            "\t\tip saddr @tunnel_held ether saddr . ip saddr != @tunnel_holders counter name \"spoofed\" drop\n"
        }
        None => "",
    }
}

/// Where packets of tunnels turn off: from visitors, and to them.
pub(super) fn turnings(settings: &Settings) -> [String; 2] {
    let Some(tunnels) = &settings.tunnels else { return [String::new(), String::new()] };
    let ports = ports(tunnels);
    [
        format!("\t\tudp dport {{ {ports} }} goto tunnel_from_visitor\n"),
        format!("\t\tudp sport {{ {ports} }} goto tunnel_to_visitor\n"),
    ]
}

/// A rule about the ports of tunnels; none where there are none.
pub(super) fn ports_of(settings: &Settings, rule: impl Fn(&str) -> String) -> String {
    settings.tunnels.as_ref().map(|tunnels| rule(&ports(tunnels))).unwrap_or_default()
}

fn ports(tunnels: &Tunnels) -> String {
    let ports: Vec<_> = tunnels.ports.iter().map(u16::to_string).collect();
    ports.join(", ")
}

pub(super) fn chains(settings: &Settings, marks: Marks) -> String {
    let Some(tunnels) = &settings.tunnels else { return String::new() };
    let Tunnels { allowance_bytes: visitor, per_home_bytes: home, per_hour_bytes: hour, .. } = tunnels;
    let mark_up = if marks.up { "\t\tmeta priority set ip saddr map @tunnel_class\n" } else { "" };
    let mark_down = if marks.down { "\t\tmeta priority set ip daddr map @tunnel_class\n" } else { "" };
    let refuse = "\t\tcounter name \"allowance\" drop\n";
    format!(
        "
	chain tunnel_from_visitor {{
		ct state invalid counter name \"invalid\" drop
		ct state new add @tunnel_flowing {{ ip saddr ct count over {FLOWS_MAX} }} counter name \"flood\" drop
		ether saddr . ip saddr . ip daddr @tunnel_granted goto tunnel_upload
		add @allowance_visitor {{ ip saddr quota until {visitor} bytes }} goto allowance_to_home
{refuse}	}}

	chain allowance_to_home {{
		add @allowance_home {{ ip daddr quota until {home} bytes }} goto allowance_up
{refuse}	}}

	chain allowance_up {{
		add @allowance_hour {{ meta l4proto quota until {hour} bytes }} goto asked
{refuse}	}}

	chain asked {{
		update @tunnel_asked {{ ip saddr . udp sport . ip daddr . udp dport }}
		counter name \"allowance_used\" accept
	}}

	chain tunnel_upload {{
{mark_up}		ip saddr . ip daddr @tunnel_window ip saddr . ip daddr @tunnel_up accept
{EARLY_DROP}		ip saddr . ip daddr @tunnel_window_end ip saddr . ip daddr @tunnel_up accept
		counter name \"unsigned\" drop
	}}

	# Only answers: a flow that a visitor began.
	chain tunnel_to_visitor {{
		ct state != established counter name \"closed\" drop
		ct direction != reply counter name \"closed\" drop
		ip daddr . ip saddr @tunnel_open goto tunnel_download
		add @allowance_visitor {{ ip daddr quota until {visitor} bytes }} goto allowance_from_home
{refuse}	}}

	chain allowance_from_home {{
		add @allowance_home {{ ip saddr quota until {home} bytes }} goto allowance_down
{refuse}	}}

	# A home that has answered is one that may be called. What a home says to a visitor that has gone is no answer.
	chain allowance_down {{
		add @allowance_hour {{ meta l4proto quota until {hour} bytes }} goto learned
{refuse}	}}

	chain learned {{
		ip daddr . udp dport . ip saddr . udp sport @tunnel_asked update @tunnel_flows {{ ip daddr . udp dport . ip saddr . udp sport }}
		counter name \"allowance_used\" accept
	}}

	chain tunnel_download {{
{mark_down}		ip daddr . ip saddr @tunnel_window ip daddr . ip saddr @tunnel_down accept
{EARLY_DROP}		ip daddr . ip saddr @tunnel_window_end ip daddr . ip saddr @tunnel_down accept
		counter name \"unsigned\" drop
	}}
"
    )
}

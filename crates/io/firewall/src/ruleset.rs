//! The ruleset as text. Every value in it went through [`Settings::check`]; nothing else may get in.

mod limits;
mod page;
mod tunnels;

use crate::policy_routing::{GRANTED, PERMITTED};
use crate::{FirewallError, Settings};

/// What visitors never reach, and members only where it is a network of the household that was named, by RFC 6890 and
/// the RFCs that it names: this network, private use, shared address space, loopback, link-local, multicast, reserved
/// and broadcast.
pub(crate) const PRIVATE: [&str; 9] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// Why packets are dropped: one named counter each. The names are part of our interface
/// ([`Firewall::drops`]).
///
/// [`Firewall::drops`]: crate::Firewall::drops
const DROPS: [(&str, &str); 12] = [
    ("allowance", "of a tunnel without a grant, beyond its allowance"),
    ("between_visitors", "forwarding from one visitor to another"),
    ("closed", "from the Internet to an address that is not granted (any more)"),
    ("flood", "more packets, connections or flows than one station or address may have"),
    ("from_elsewhere", "to visitors, from anything but the uplink"),
    ("household4", "to private or household addresses, or out of another interface than the uplink"),
    ("invalid", "belonging to no flow, nor able to begin one"),
    ("ipv6", "IPv6, whatever it was"),
    ("not_granted", "to the Internet, without a grant"),
    ("spoofed", "with a source address that is not the sender's"),
    ("to_router", "to the router itself, other than what is open"),
    ("unsigned", "of a visitor that has to sign for earlier bytes first"),
];

/// The counter of what tunnels without a grant have had; it counts no drops.
pub(crate) const ALLOWANCE_USED: &str = "allowance_used";

/// Behind the first half of a window: one packet of sixteen is dropped, before it is counted. Where the window ends, all
/// are, and a TCP flow that lost whole flights needs a second or more to come back; one that loses a packet halves its
/// rate at once (the idea is RED's: Floyd and Jacobson, 1993).
const EARLY_DROP: &str = "\t\tnumgen random mod 16 == 0 counter name \"unsigned\" drop\n";

/// In which directions packets are marked with their service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) down: bool,
    pub(crate) up: bool,
}

/// The ruleset that these settings lead to, as `nft -f` reads it. It is what [`Firewall::up`] applies, unless
/// a foreign queue on an interface turns shaping off there.
///
/// # Errors
/// Settings that cannot be.
///
/// [`Firewall::up`]: crate::Firewall::up
pub fn render(settings: &Settings) -> Result<String, FirewallError> {
    settings.check()?;
    let shaped = settings.shaping.is_some();
    Ok(render_marked(settings, Marks { down: shaped, up: shaped }))
}

/// The same, with marks only where there is a queue of ours to read them.
pub(crate) fn render_marked(settings: &Settings, marks: Marks) -> String {
    let table = &settings.table;
    let mut text = format!("create table inet {table}\ntable inet {table} {{\n");
    text.push_str(&counters());
    text.push_str(&sets(settings));
    text.push_str(&tunnels::sets(settings));
    text.push_str(&page::sets(settings));
    text.push_str(&tracking(settings));
    text.push_str(&permits(settings));
    text.push_str(&page::redirection(settings));
    text.push_str(&input(settings));
    text.push_str(&forward(settings, marks));
    text.push_str(&tunnels::chains(settings, marks));
    text.push_str(&other_hooks(settings));
    text.push_str("}\n");
    text
}

/// The same ruleset as orders that add to a table that is there: `nft` begins a `table` block by setting the table's
/// flags, which the kernel refuses for one with an owner to be.
///
/// Chains come before all rules, which may name any of them.
pub(crate) fn flat(ruleset: &str, table: &str) -> String {
    let (mut objects, mut rules, mut orders) = (String::new(), String::new(), String::new());
    let mut chain = "";
    let mut lines = ruleset.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_start_matches('\t');
        match (line.len() - text.len(), text.split_once(' ')) {
            (0, Some(("add", _))) => orders += &format!("{text}\n"),
            (1, Some(("chain", rest))) => {
                chain = rest.trim_end_matches(" {");
                let hook = lines.next_if(|line| line.trim_start_matches('\t').starts_with("type "));
                let hook = hook.map(|hook| format!(" {{ {} }}", hook.trim_start_matches('\t')));
                objects += &format!("add chain inet {table} {chain}{}\n", hook.unwrap_or_default());
            }
            (1, Some((kind @ ("counter" | "map" | "set"), rest))) => {
                objects += &format!("add {kind} inet {table} {rest}\n");
            }
            (2, _) if !text.starts_with('#') => rules += &format!("add rule inet {table} {chain} {text}\n"),
            _ => {}
        }
    }
    objects + &rules + &orders
}

fn counters() -> String {
    let one = |(name, what)| format!("\tcounter {name} {{ comment \"{what}\"; }}\n");
    DROPS.map(one).concat() + &one((ALLOWANCE_USED, "what tunnels without a grant have had"))
}

fn sets(settings: &Settings) -> String {
    let prefix = settings.visitor_network.1;
    // As many as the network has addresses: whoever has a grant has one of them.
    let addresses = 1_u32 << (32 - prefix);
    let visitors = settings.limits.visitors_max;
    let never: Vec<_> = settings.never_reached().iter().map(ToString::to_string).collect();
    let never = never.join(", ");
    format!(
        "
	# What visitors never reach.
	set household {{ type ipv4_addr; flags interval; auto-merge; elements = {{ {never} }}; }}

	# Who may pass: gates, and behind them one count for each direction. Two sets, because closing shuts the gate
	# first and then reads counts that nothing changes any more. The gates shut by themselves unless they are renewed.
	# Whoever has a session is among the served: while a renewal is late, packets are dropped and not rejected.
	# How many bytes may still pass unsigned stands in a window, which finds nobody once they have passed. It has two
	# halves: in the second some packets are dropped, so that TCP slows down before all of them are.
	set granted {{ type ether_addr . ipv4_addr; size {visitors}; flags timeout; }}
	set online {{ type ipv4_addr; size {visitors}; flags timeout; }}
	set served {{ type ether_addr . ipv4_addr; size {visitors}; }}
	set window {{ type ipv4_addr; size {visitors}; quota until 1 bytes; }}
	set window_end {{ type ipv4_addr; size {visitors}; quota until 1 bytes; }}
	set up {{ type ipv4_addr; size {visitors}; counter; }}
	set down {{ type ipv4_addr; size {visitors}; counter; }}
	map class {{ type ipv4_addr : classid; size {visitors}; }}

	# The flows of each granted address.
	set flowing {{ type ipv4_addr; size {addresses}; flags dynamic; }}

	# What each station has asked of us lately, limit by limit; and who has a place in it.
{}",
        limits::sets()
    )
}

/// What is tracked: only what is granted, and tunnels. So strangers fill no table of the kernel's.
///
/// The mark of what passes by a grant is set here, by the look-up itself. Nothing that comes later may conclude from what
/// the kernel tracks that somebody was looked up: while a table is being put up or removed, the kernel changes chain by
/// chain, and without this one everybody is tracked.
fn tracking(settings: &Settings) -> String {
    let Settings { visitor_interface: visitors, access_point, .. } = settings;
    let grant = grant();
    let tunnels = tunnels::ports_of(settings, |ports| format!("\t\tudp dport {{ {ports} }} accept\n"));
    format!(
        "
	chain tracking {{
		type filter hook prerouting priority raw; policy accept;
		iifname \"{visitors}\" goto tracking_of_visitors
	}}

	chain tracking_of_visitors {{
		ip daddr != {access_point} ether saddr . ip saddr @granted {grant}
		ip daddr {access_point} notrack accept
{tunnels}		notrack accept
	}}

	chain tracking_of_answers {{
		type filter hook output priority raw; policy accept;
		oifname \"{visitors}\" ip saddr {access_point} notrack
	}}
"
    )
}

/// Marks what passes by a grant.
fn grant() -> String {
    format!("meta mark set meta mark | {:#x} accept", PERMITTED | GRANTED)
}

/// Whether it is marked so.
fn granted() -> String {
    format!("meta mark & {GRANTED:#x} == {GRANTED:#x}")
}

/// What may be forwarded: it is marked, and routing prohibits the rest.
fn permits(settings: &Settings) -> String {
    let Settings { visitor_interface: visitors, uplink_interface: uplink, access_point, .. } = settings;
    let (network, prefix) = settings.visitor_network;
    let rejections = settings.limits.rejections_per_second_max;
    let others = !(PERMITTED | GRANTED);
    let (grant, granted) = (grant(), granted());
    let permit = format!("meta mark set meta mark & {others:#x} | {PERMITTED:#x} accept");
    let page = page::turning(settings);
    let up = tunnels::ports_of(settings, |ports| format!("\t\tudp dport {{ {ports} }} {permit}\n"));
    let down = tunnels::ports_of(settings, |ports| {
        format!("\t\tudp sport {{ {ports} }} ct state established {permit}\n")
    });
    format!(
        "
	# Behind the translation of destinations, so that answers show the visitor's address; before routing.
	chain permits {{
		type filter hook prerouting priority dstnat + 5; policy accept;
		iifname \"{visitors}\" goto permits_up
		iifname \"{uplink}\" ip daddr {network}/{prefix} goto permits_down
	}}

	chain permits_up {{
		# Who is granted an address is who he says he is.
		{granted} accept
		goto permits_of_others
	}}

	# Nobody brings a permit along, and a rule of the household's may have taken away the mark of a guest's.
	chain permits_of_others {{
		ether saddr . ip saddr @granted {grant}
		meta mark set meta mark & {others:#x}
		meta nfproto ipv6 counter name \"ipv6\" drop
		ip daddr {{ 255.255.255.255, {access_point} }} accept
		jump identity
{up}		ip daddr {network}/{prefix} counter name \"between_visitors\" drop
		ip daddr @household counter name \"household4\" drop
{page}		counter name \"not_granted\"
		# A rejection would end the connections of a guest whose grant is only late.
		ether saddr . ip saddr @served drop
		limit rate over {rejections}/second burst {rejections} packets drop
		meta l4proto tcp reject with tcp reset
		reject with icmp admin-prohibited
	}}

	chain permits_down {{
		ct state established,related ip daddr @online {grant}
{down}		counter name \"closed\" drop
	}}
"
    )
}

/// What visitors may say to the router.
fn input(settings: &Settings) -> String {
    let Settings { visitor_interface: visitors, access_point, protocol_port: port, .. } = settings;
    let (network, prefix) = settings.visitor_network;
    let limits = limits::chains(&settings.limits);
    let (to_page, page) = page::input(settings);
    let tunnel_identity = tunnels::identity(settings);
    format!(
        "
	chain input {{
		type filter hook input priority filter; policy accept;
		iifname \"{visitors}\" goto visitor_to_router
	}}

	chain visitor_to_router {{
		meta nfproto ipv6 counter name \"ipv6\" drop
		ip daddr {{ 255.255.255.255, {access_point} }} udp sport 68 udp dport 67 goto lease
		jump identity
		ip daddr != {access_point} counter name \"to_router\" drop
		icmp type {{ destination-unreachable, time-exceeded, parameter-problem, echo-request }} goto ping
		meta l4proto {{ tcp, udp }} th dport {{ 53, {port} }} goto service
{to_page}		counter name \"to_router\" drop
	}}

{limits}{page}
	# A granted address is its holder's alone, also towards the router.
	chain identity {{
		ip saddr != {network}/{prefix} counter name \"spoofed\" drop
		ip saddr {access_point} counter name \"spoofed\" drop
		ip saddr @online ether saddr . ip saddr != @granted counter name \"spoofed\" drop
{tunnel_identity}	}}
"
    )
}

/// What passes through the router.
fn forward(settings: &Settings, marks: Marks) -> String {
    let Settings { visitor_interface: visitors, uplink_interface: uplink, limits, .. } = settings;
    let flows = limits.flows_max;
    let mark_up = if marks.up { "\t\tmeta priority set ip saddr map @class\n" } else { "" };
    let mark_down = if marks.down { "\t\tmeta priority set ip daddr map @class\n" } else { "" };
    let [tunnel_up, tunnel_down] = tunnels::turnings(settings);
    let granted = granted();
    format!(
        "
	# Whom the gates have let through a moment ago, in prerouting, is not looked up again, unless somebody else's rule has
	# taken the mark away.
	chain forward {{
		type filter hook forward priority filter; policy accept;
		iifname \"{visitors}\" goto from_visitor
		oifname \"{visitors}\" goto to_visitor
	}}

	chain from_visitor {{
		oifname != \"{uplink}\" goto elsewhere
		ip daddr @household counter name \"household4\" drop
		{granted} goto upload
		meta nfproto ipv6 counter name \"ipv6\" drop
		ether saddr . ip saddr @granted goto upload
{tunnel_up}		counter name \"not_granted\" drop
	}}

	chain elsewhere {{
		meta nfproto ipv6 counter name \"ipv6\" drop
		oifname \"{visitors}\" counter name \"between_visitors\" drop
		counter name \"household4\" drop
	}}

	chain upload {{
		# Counted when it began: a packet makes a flow, and the flow is confirmed when that packet leaves.
		ct status confirmed goto upload_of_flow
		ct state related goto upload_of_flow
		# These would leave with the visitor's own address: only flows are translated.
		ct state invalid counter name \"invalid\" drop
		# What the gates let through is tracked: this has its mark from somebody else's rule.
		ct state untracked counter name \"not_granted\" drop
		ct state new add @flowing {{ ip saddr ct count over {flows} }} counter name \"flood\" drop
		goto upload_of_flow
	}}

	chain upload_of_flow {{
{mark_up}		ip saddr @window ip saddr @up accept
{EARLY_DROP}		ip saddr @window_end ip saddr @up accept
		counter name \"unsigned\" drop
	}}

	chain to_visitor {{
		meta nfproto ipv6 counter name \"ipv6\" drop
		iifname != \"{uplink}\" counter name \"from_elsewhere\" drop
		{granted} goto download
		ct state established,related ip daddr @online goto download
{tunnel_down}		counter name \"closed\" drop
	}}

	chain download {{
{mark_down}		ip daddr @window ip daddr @down accept
{EARLY_DROP}		ip daddr @window_end ip daddr @down accept
		counter name \"unsigned\" drop
	}}
"
    )
}

/// No IPv6 from the router to visitors, names for all strangers within one limit, and the household's address for what
/// leaves.
fn other_hooks(settings: &Settings) -> String {
    let Settings { visitor_interface: visitors, uplink_interface: uplink, limits, .. } = settings;
    let (network, prefix) = settings.visitor_network;
    let names = limits.strangers_names_bytes_per_second_max;
    let (from_page, page) = page::output(settings);
    format!(
        "
	chain output {{
		type filter hook output priority filter; policy accept;
		oifname \"{visitors}\" meta nfproto ipv6 counter name \"ipv6\" drop
		oifname \"{visitors}\" meta l4proto {{ tcp, udp }} th sport 53 ip daddr != @online goto answers_to_strangers
{from_page}	}}

	chain answers_to_strangers {{
		limit rate {names} bytes/second burst {names} bytes accept
		counter name \"flood\" drop
	}}
{page}
	chain postrouting {{
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr {network}/{prefix} oifname \"{uplink}\" masquerade
	}}
"
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::{Page, Shaping, Tunnels};

    #[test]
    fn renders_the_ruleset_in_the_golden_file() {
        let mut settings = Settings::new(
            "br-visitors",
            "wan0",
            Ipv4Addr::new(10, 77, 0, 1),
            (Ipv4Addr::new(10, 77, 0, 0), 24),
            4_500,
        );
        settings.household =
            vec![(Ipv4Addr::new(198, 51, 100, 0).into(), 24), ("2001:db8:1::".parse().unwrap(), 48)];
        settings.shaping = Some(Shaping { down_bits_per_second: 20_000_000, up_bits_per_second: 5_000_000 });
        settings.tunnels = Some(Tunnels { ports: [4_501, 51_820].into(), ..Tunnels::default() });
        settings.page = Some(Page { port: 7_280, secured_port: Some(7_281) });
        let rendered = render(&settings).unwrap();
        crate::golden::assert_is_golden("ruleset.nft", &rendered);
    }

    #[test]
    fn marks_nothing_where_no_queue_of_ours_reads_it() {
        let network = (Ipv4Addr::new(10, 77, 0, 0), 24);
        let settings = Settings::new("br0", "wan0", Ipv4Addr::new(10, 77, 0, 1), network, 4_500);
        let plain = render(&settings).unwrap();
        assert!(!["priority set", "tunnel_", "page", "redirect"].iter().any(|word| plain.contains(word)));
        let one_way = render_marked(&settings, Marks { down: true, up: false });
        assert!(one_way.contains("priority set ip daddr") && !one_way.contains("priority set ip saddr"));
    }
}

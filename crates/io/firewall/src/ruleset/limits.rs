//! The part of the ruleset that bounds what each station may ask of the router.

use crate::Limits;

/// How many stations have a place of their own in a limit; made-up hardware addresses take places too.
const STATIONS_MAX: u32 = 1_024;
/// Packets that may come from all of those together for whom no place is left.
pub(super) const CROWD_PER_SECOND: u32 = 50;

/// The limits of stations, and after how long a place is free again that is not used.
const LIMITS: [(&str, &str); 8] = [
    ("leasing", "10s"),
    ("pinging", "10s"),
    ("connecting", "10s"),
    ("asking", "10s"),
    ("speaking", "10s"),
    ("sharing", "10s"),
    ("resolving", "10s"),
    ("resolved", "1h"),
];

/// Whom a limit is for, in nft's words: a type, and what of a packet is of that type.
#[derive(Clone, Copy)]
struct Subject {
    kind: &'static str,
    of_packet: &'static str,
}

const STATION: Subject = Subject { kind: "ether_addr", of_packet: "ether saddr" };
/// Behind a repeater several guests have one hardware address. Each has a grant, so this is not to be had for nothing.
const GUEST: Subject = Subject { kind: "ether_addr . ipv4_addr", of_packet: "ether saddr . ip saddr" };
/// All guests with one hardware address have so many times what one has: one computer may have many addresses, each with a grant.
const GUESTS_OF_STATION: u32 = 4;

pub(super) fn pair(limit: (&str, &str)) -> String {
    pair_for(STATION, limit)
}

fn pair_for(subject: Subject, (name, timeout): (&str, &str)) -> String {
    let Subject { kind, .. } = subject;
    let set = |name: &str| {
        format!(
            "\tset {name} {{ type {kind}; size {STATIONS_MAX}; flags dynamic,timeout; timeout {timeout}; }}\n"
        )
    };
    set(name) + &set(&format!("{name}_known"))
}

/// Rules that let a station's packet go on to `then` within a limit of its own, and drop what is more. A match allows: a
/// station that finds no place shares one small limit with all others like it, so that no set that was filled up with
/// made-up stations lets anything through.
///
/// Looking an element up that has a limit would use the limit; who has a place is therefore in a second set.
pub(super) fn within(name: &str, verb: &str, limit: &str, then: &str) -> String {
    within_for(STATION, name, &format!("{verb} @{name}"), limit, then)
}

fn within_for(subject: Subject, name: &str, verb: &str, limit: &str, then: &str) -> String {
    let Subject { of_packet, .. } = subject;
    format!(
        "\t\t{verb} {{ {of_packet} {limit} }} update @{name}_known {{ {of_packet} }} {then}
\t\t{of_packet} @{name}_known counter name \"flood\" drop
\t\tgoto crowd
"
    )
}

/// The sets of all limits.
pub(super) fn sets() -> String {
    LIMITS.map(pair).concat() + &pair_for(GUEST, ("signing", "10s"))
}

/// The chains that what stations may ask goes through; `lease`, `ping` and `service` are where it begins.
pub(super) fn chains(limits: &Limits) -> String {
    let packets = |rate: u32, burst: u32| format!("limit rate {rate}/second burst {burst} packets");
    let burst = limits.packets_per_second_max;
    let lease = within("leasing", "update", &packets(5, 10), "accept");
    let pings = limits.pings_per_second_max;
    let ping = within("pinging", "update", &packets(pings, pings), "accept");
    let connections = limits.connections_per_second_max;
    let connection = within("connecting", "update", &packets(connections, connections * 2), "goto packet");
    let shared = burst.saturating_mul(GUESTS_OF_STATION);
    let sharing = within("sharing", "update", &packets(shared, shared), "goto packet_of_grant");
    // Not what it had before its grant: that was less, and an element keeps the limit with which it came.
    let guest = within_for(GUEST, "signing", "update @signing", &packets(burst, burst), "accept");
    let stranger = packets(limits.stranger_packets_per_second_max, burst);
    let stranger = within("asking", "update", &stranger, "goto speech");
    let bytes = limits.stranger_bytes_per_second_max;
    let speech = format!("limit rate {bytes} bytes/second burst {} bytes", bytes * 4);
    let speech = within("speaking", "update", &speech, "accept");
    let names = limits.stranger_names_per_second_max;
    let question = within("resolving", "update", &packets(names, names * 3), "goto question_of_hour");
    let hour = format!("quota until {} bytes", limits.stranger_names_bytes_per_hour_max);
    let hour = within("resolved", "add", &hour, "accept");
    format!(
        "	chain lease {{
{lease}	}}

	chain ping {{
{ping}	}}

	chain service {{
		tcp flags & (fin | syn | rst | ack) == syn goto connection
		goto packet
	}}

	chain connection {{
{connection}	}}

	chain packet {{
		ether saddr . ip saddr @granted goto packet_of_guest
		th dport 53 goto question
{stranger}	}}

	chain packet_of_guest {{
{sharing}	}}

	chain packet_of_grant {{
{guest}	}}

	chain speech {{
{speech}	}}

	# Names before the grant: enough to find a home. Datagrams only, for a connection carries as much as one likes.
	chain question {{
		meta l4proto tcp counter name \"flood\" reject with tcp reset
{question}	}}

	chain question_of_hour {{
{hour}	}}

	# Those for whom there was no place any more, together.
	chain crowd {{
		limit rate {CROWD_PER_SECOND}/second burst {CROWD_PER_SECOND} packets accept
		counter name \"flood\" drop
	}}
"
    )
}

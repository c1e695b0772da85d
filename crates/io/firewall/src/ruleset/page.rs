//! The part of the ruleset for stations that ask for a page of the web before they have a grant: the access point's own page
//! answers, for all addresses outside.
//!
//! The kernel's table of connections has no part in it, for nothing of strangers is tracked. Destinations are rewritten packet
//! by packet, and a map remembers for each port of a station whom it has asked, so that the answer seems to come from there.
//! The map has a limit, and what finds no room in it is refused as if there were no page.

use super::limits::{CROWD_PER_SECOND, pair, within};
use crate::Settings;

/// Connections that are led to the page and may still be answered.
const REDIRECTED_MAX: u32 = 8_192;
/// How long that is: the page's own limit on a connection is less.
const REDIRECTED_SECONDS: u32 = 30;
const WEB: u16 = 80;

pub(super) fn sets(settings: &Settings) -> String {
    if settings.page.is_none() {
        return String::new();
    }
    let limits = ["redirecting", "paging"].map(|name| pair((name, "10s"))).concat();
    format!(
        "
	# Whom stations without a grant have asked for a page, by the port that they asked from.
	map redirected {{ type ipv4_addr . inet_service : ipv4_addr; size {REDIRECTED_MAX}; flags dynamic,timeout; timeout {REDIRECTED_SECONDS}s; }}
{limits}"
    )
}

/// Where packets turn off that are to be led to the page. A guest whose grant is only late is not led there.
pub(super) fn turning(settings: &Settings) -> String {
    let rule = format!("\t\ttcp dport {WEB} ether saddr . ip saddr != @served goto redirection\n");
    if settings.page.is_some() { rule } else { String::new() }
}

pub(super) fn redirection(settings: &Settings) -> String {
    let Some(page) = settings.page else { return String::new() };
    let rate = settings.limits.page_redirects_per_second_max;
    let limit = format!("limit rate {rate}/second burst {} packets", rate * 4);
    let limit = within("redirecting", "update", &limit, "goto redirect_connection");
    let limit = limit.replace(
        "\t\tgoto crowd\n",
        &format!(
            "\t\tlimit rate {CROWD_PER_SECOND}/second burst {CROWD_PER_SECOND} packets goto redirect_connection\n\
             \t\tcounter name \"flood\" drop\n"
        ),
    );
    let (address, port) = (settings.access_point, page.port);
    let translate = format!("ip daddr set {address} tcp dport set {port} accept");
    format!(
        "
	# To the page, packet by packet. A packet that begins no connection needs no room in the map.
	chain redirection {{
		tcp flags & (fin | syn | rst | ack) != syn {translate}
{limit}	}}

	# The same port may have asked somebody else before.
	chain redirect_connection {{
		delete @redirected {{ ip saddr . tcp sport : ip daddr }}
		update @redirected {{ ip saddr . tcp sport : ip daddr }} {translate}
		counter name \"flood\" reject with tcp reset
	}}
"
    )
}

/// What may be said to the page, and in which measure.
pub(super) fn input(settings: &Settings) -> (String, String) {
    let Some(page) = settings.page else { return <(String, String)>::default() };
    let ports: Vec<_> = page.ports().map(|port| port.to_string()).collect();
    let rate = settings.limits.page_packets_per_second_max;
    let limit =
        within("paging", "update", &format!("limit rate {rate}/second burst {} packets", rate * 4), "accept");
    (
        format!("\t\ttcp dport {{ {} }} goto page\n", ports.join(", ")),
        format!("\n\tchain page {{\n{limit}\t}}\n"),
    )
}

/// Answers of the page seem to come from whom the station has asked.
pub(super) fn output(settings: &Settings) -> (String, String) {
    let Some(page) = settings.page else { return <(String, String)>::default() };
    let (address, port, guests) = (settings.access_point, page.port, &settings.visitor_interface);
    (
        format!("\t\toifname \"{guests}\" ip saddr {address} tcp sport {port} goto answers_of_page\n"),
        format!(
            "
	chain answers_of_page {{
		ip saddr set ip daddr . tcp dport map @redirected tcp sport set {WEB}
	}}
"
        ),
    )
}

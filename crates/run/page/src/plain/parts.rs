//! One section for each part of an overview.

use super::{chain, left_out, name, nothing, team};
use guestright_overview::{
    AccessPoint, Call, Class, Device, DeviceKind, Guest, Member, Moment, Mos, Overview, Phase, Protection,
    Sum,
};
use guestright_units::{Bytes, UnixSeconds};
use maud::{Markup, html};

/// A day of hours is shown; the page of `web/` draws all of them.
const HOURS_SHOWN: usize = 24;

pub(super) fn access_points(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Access points" }
            @if overview.access_points.is_empty() { (nothing("There is none.")) }
            @for point in &overview.access_points { (access_point(point)) }
        }
    }
}

fn access_point(point: &AccessPoint) -> Markup {
    let key = String::from(point.key);
    html! {
        article {
            h3 { @match &point.name { Some(name) => (name), None => (key[..8]) } }
            p {
                @if point.up { "It answers" } @else { "It does not answer" }
                @if let Some(answered) = point.answered { "; last at " (time(answered)) }
                @match point.home_up {
                    Some(true) => ". It reaches its home.",
                    Some(false) => ". It does not reach its home.",
                    None => ".",
                }
            }
            @if let Some(trouble) = &point.trouble { p { strong { (trouble) } } }
            @if let Some(calls) = &point.calls {
                p { "Calls: " (calls.now.get()) " now, " (calls.more.get()) " more fit." }
            }
            p.soft {
                (point.undelivered.get()) " receipts wait to be delivered; without its home it may still give away "
                (bytes(point.left_while_away)) "."
                @for (counter, count) in &point.refused { " " (counter) ": " (count.get()) " refused." }
            }
        }
    }
}

pub(super) fn guests(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Guests" }
            @if overview.guests.is_empty() { (nothing("Nobody is here at the moment.")) }
            @for guest in &overview.guests { (one_guest(overview, guest)) }
            (left_out(overview.left_out.guests))
        }
    }
}

fn one_guest(overview: &Overview, guest: &Guest) -> Markup {
    html! {
        article {
            h3 { @match guest.team { Some(of) => (team(overview, of)), None => "A stranger" } " – " (class(guest.class)) }
            p { (guest.reason) }
            @if !guest.chain.is_empty() { p { "By way of " (chain(overview, &guest.chain)) "." } }
            p {
                (bytes(guest.counted)) " since " (time(guest.started)) ", of it " (bytes(guest.signed)) " signed for; "
                (rate(guest.bits_per_second.get())) " now."
                @if let Some(left) = guest.left { " " (bytes(left)) " left before the home decides again." }
                @if guest.reserved.get() > 0 { " " (bytes(guest.reserved)) " reserved." }
                @if let Some(until) = guest.until { " Until " (time(until)) " at the latest." }
            }
            p {
                @if guest.by_tunnel { "Through a tunnel to their home." } @else { "Without a tunnel: the exit is your address." }
                @if !guest.open { " Held back until a receipt is signed." }
            }
            @if guest.ip.is_some() || guest.mac.is_some() {
                p.soft { @if let Some(ip) = &guest.ip { (ip) " " } @if let Some(mac) = &guest.mac { (mac) } }
            }
            p.soft { "Session " code { (guest.id) } " at " (String::from(guest.access_point)[..8]) }
        }
    }
}

pub(super) fn calls(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Calls" }
            @if overview.calls.is_empty() { (nothing("Nobody of yours is calling at the moment.")) }
            @for call in &overview.calls { (one_call(call)) }
            (left_out(overview.left_out.calls))
        }
    }
}

fn one_call(call: &Call) -> Markup {
    let phase = match call.phase {
        Phase::Finding => "looking for the other home",
        Phase::Allocating => "preparing the connection",
        Phase::Calling => "ringing",
        Phase::Up => "talking",
    };
    let protection =
        call.protection.map_or("not agreed yet who may hear it", |protection| match protection {
            Protection::EndToEnd => "only the two hear it",
            Protection::HomeToHome => "their homes could hear it",
            Protection::Tunnels => "this home could hear it",
        });
    let mos =
        |mos: Option<Mos>| mos.map_or("not known yet".to_owned(), |mos| format!("MOS {:.2}", f64::from(mos)));
    html! {
        p {
            "Call " (call.id.get()) " since " (time(call.since)) ": " (phase) "; " (protection) ". Caller hears: "
            (mos(call.mos_to_caller)) "; called one hears: " (mos(call.mos_to_callee)) "."
        }
    }
}

pub(super) fn credit(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Owed in all" }
            @match &overview.credit {
                None => (nothing("The accounts cannot be read at the moment.")),
                Some(credit) => dl {
                    dt { "You owe" } dd { (bytes(credit.owed_by_us)) }
                    dt { "You are owed" } dd { (bytes(credit.owed_to_us)) }
                    @if let Some(allowance) = &credit.allowance {
                        dt { "Given away" } dd { (bytes(allowance.left)) " left of " (bytes(allowance.per_day)) " a day" }
                    }
                    dt { "Overdrawn" } dd { (bytes(credit.overdrawn)) " of at most " (bytes(credit.overdraft_max)) }
                    dt { "Reservations" } dd { (credit.holds_open.get()) }
                },
            }
        }
    }
}

pub(super) fn balances(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Accounts" }
            @if overview.balances.is_empty() { (nothing("There is none yet.")) } @else {
                div.wide { table {
                    thead { tr {
                        th { "Household" } th { "You owe" } th { "They owe" } th { "Ever given to you" } th { "Reserved" }
                        th { "Can be used" } th { "Set aside" }
                    } }
                    tbody { @for balance in &overview.balances { tr {
                        td { (team(overview, balance.team)) } td { (bytes(balance.we_owe)) } td { (bytes(balance.they_owe)) }
                        td { (bytes(balance.given_to_us_ever)) } td { (bytes(balance.reserved)) }
                        td { (bytes(balance.can_be_used)) } td { (bytes(balance.sponsored)) }
                    } } }
                } }
            }
            (left_out(overview.left_out.balances))
        }
    }
}

pub(super) fn why(overview: &Overview) -> Markup {
    let Some(why) = &overview.why else {
        return html! {};
    };
    html! {
        section #why {
            h2 { "Why: " (name(overview, why.team)) }
            p { @match why.class { Some(served) => (class(served)), None => "Refused" } ": " (why.reason) }
            p.soft {
                "Asked for " (bytes(why.request)) "."
                @if let Some(ind) = &why.ind { " Ratio " (ind) "." }
                @if !why.exact { " A limit cut a sum short." }
            }
            @for (heading, paths) in [("You owe them", &why.owed_to_consumer), ("They owe you", &why.owed_by_consumer)] {
                @if !paths.is_empty() {
                    h3 { (heading) }
                    ul { @for path in paths { li { (bytes(path.bytes)) ": " (chain(overview, &path.teams)) } } }
                }
            }
            @for line in &why.lines { p { (line) } }
        }
    }
}

pub(super) fn refusals(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Refusals" }
            @if overview.refusals.is_empty() { (nothing("Nobody was refused.")) }
            @for refusal in &overview.refusals {
                p {
                    (time(refusal.at)) ", "
                    @match refusal.team { Some(of) => (team(overview, of)), None => "no team shown" } ": " (refusal.reason)
                    @if let Some(to_do) = &refusal.to_do { " " (to_do) }
                }
            }
            (left_out(overview.left_out.refusals))
        }
    }
}

pub(super) fn members(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Members" }
            @if overview.members.is_empty() { (nothing("There is none.")) }
            @for member in &overview.members { (one_member(member)) }
            (left_out(overview.left_out.members))
        }
    }
}

fn one_member(member: &Member) -> Markup {
    html! {
        article {
            h3 { (member.name) }
            p {
                @if let Some(end) = member.not_after { "Until " (time(end)) "." }
                @if let Some(revoked) = member.revoked { strong { " Revoked " (time(revoked)) "." } }
                span.soft { " " (String::from(member.key)) }
            }
            @if !member.devices.is_empty() { ul { @for device in &member.devices { (one_device(device)) } } }
        }
    }
}

fn one_device(device: &Device) -> Markup {
    let kind = match device.kind {
        DeviceKind::Program => "a computer with this program",
        DeviceKind::Phone => "a phone with a profile",
        DeviceKind::Tunnel => "a tunnel home",
    };
    html! {
        li {
            (device.label) ", " (kind)
            @if let Some(end) = device.not_after { "; until " (time(end)) }
            @if let Some(revoked) = device.revoked { "; revoked " (time(revoked)) }
            @if let Some(handshake) = device.handshake { "; tunnel agreed on " (time(handshake)) }
            "; received " (bytes(device.received)) ", sent " (bytes(device.sent))
        }
    }
}

pub(super) fn findings(overview: &Overview) -> Markup {
    html! {
        section {
            h2 { "Health" }
            @if overview.findings.is_empty() { (nothing("Nothing was looked at yet.")) }
            ul { @for finding in &overview.findings { li {
                @if finding.good { "✓ " } @else if finding.needed { "✕ " } @else { "… " }
                strong { (finding.what) } ": " (finding.says)
                @if let Some(to_do) = &finding.to_do { " " (to_do) }
            } } }
        }
    }
}

pub(super) fn hours(overview: &Overview) -> Markup {
    let shown = &overview.hours[overview.hours.len().saturating_sub(HOURS_SHOWN)..];
    html! {
        section {
            h2 { "The last hours" }
            @if shown.is_empty() { (nothing("Nothing happened yet.")) } @else {
                div.wide { table {
                    thead { tr { th { "Hour" } th { "For others" } th { "By others" } th { "Given away" } th { "Refused" } } }
                    tbody { @for hour in shown.iter().rev() { tr {
                        td { (time(hour.start)) } td { (bytes(hour.served)) } td { (bytes(hour.consumed)) }
                        td { (bytes(hour.allowance_used)) }
                        td { @for (reason, count) in &hour.refused { (reason) ": " (count.get()) " " } }
                    } } }
                } }
            }
        }
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Lowest => "lowest class",
        Class::Low => "low class",
        Class::Middle => "middle class",
        Class::High => "high class",
        Class::Own => "own member",
    }
}

pub(super) fn bytes(sum: Sum) -> String {
    Bytes(sum.get()).to_string()
}

/// In UTC to the minute, for example `2026-11-20 10:00 UTC`.
pub(super) fn time(moment: Moment) -> String {
    let text = UnixSeconds(moment.get()).to_string();
    match text.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..5).unwrap_or(time)),
        None => text,
    }
}

fn rate(bits_per_second: u64) -> String {
    match bits_per_second {
        0..1_000 => format!("{bits_per_second} bit/s"),
        1_000..1_000_000 => format!("{} kbit/s", bits_per_second / 1_000),
        1_000_000.. => format!("{}.{} Mbit/s", bits_per_second / 1_000_000, bits_per_second / 100_000 % 10),
    }
}

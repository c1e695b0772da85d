//! The names of a home's metrics.

use super::{put_program, put_refusals};
use crate::sheet::{Sheet, bytes, plain, seconds};
use crate::{HomeFigures, StoreFigures};
use guestright_units::UnixSeconds;

pub(super) fn put(sheet: &mut Sheet, it: &HomeFigures) {
    put_program(sheet, it.version, &it.process, &it.certificate);
    sheet.gauge(
        plain("guestright_access_points", "Access points that are connected to the home"),
        it.access_points,
    );
    sheet.gauge(plain("guestright_links_up", "Homes of other teams that a link is open to"), it.links_up);
    sheet.gauge(plain("guestright_member_tunnels", "Members who may come home through a tunnel"), it.tunnels);
    let tunnelled = it.tunnelled.iter();
    sheet.gauges(
        bytes(
            "guestright_member_tunnels_carried",
            "What members' tunnels have carried since they were set up, by direction",
        ),
        "direction",
        tunnelled.flat_map(|it| [("received", it.received), ("sent", it.sent)]),
    );
    let calls = it.calls.iter().flatten().map(|(phase, count)| (*phase, *count));
    sheet.gauges(plain("guestright_calls", "Calls between members, by how far they are"), "phase", calls);
    if let Some(scores) = &it.call_scores {
        let help =
            "Calls that are over, by how well a member's telephone says that it heard: mean opinion scores";
        sheet.histogram(plain("guestright_call_mos", help), scores);
    }
    put_decisions(sheet, it);
    put_receipts(sheet, it);
    put_store(sheet, it);
    put_credit(sheet, it);
    sheet.gauge_if(
        seconds(
            "guestright_phone_certificate_not_after_timestamp",
            "When the first certificate of the household's phones ends, since 1970",
        ),
        it.phone_not_after.map(|UnixSeconds(at)| at),
    );
    sheet.gauge_if(
        seconds(
            "guestright_member_certificate_not_after_timestamp",
            "When the first certificate of the household's other members ends, since 1970",
        ),
        it.member_not_after.map(|UnixSeconds(at)| at),
    );
}

fn put_decisions(sheet: &mut Sheet, it: &HomeFigures) {
    sheet.counters(
        plain("guestright_decisions", "Visitors whose case was decided, by what came of it"),
        "verdict",
        [("served", it.decisions.served), ("refused", it.decisions.refused)],
    );
    if let Some(decided_in) = &it.decided_in {
        sheet.histogram(
            seconds("guestright_decision_duration", "Time from an access point's question until its answer"),
            decided_in,
        );
    }
    put_refusals(sheet, &it.refused, &it.messages_refused);
    sheet.counters(
        plain("guestright_sessions_ended", "Sessions that are over, by how they ended"),
        "end",
        [("paid", it.sessions_paid), ("unpaid", it.sessions_unpaid)],
    );
    sheet.counter(bytes("guestright_unpaid", "Bytes of guests that nobody has signed for"), it.unpaid_bytes);
}

fn put_receipts(sheet: &mut Sheet, it: &HomeFigures) {
    let receipts = it.receipts;
    sheet.counters(
        plain("guestright_receipts", "Receipts that came in, by what became of them"),
        "result",
        [
            ("added", receipts.added),
            ("known", receipts.known),
            ("lower", receipts.lower),
            ("failed", receipts.failed),
        ],
    );
}

fn put_store(sheet: &mut Sheet, it: &HomeFigures) {
    let store = |value: fn(StoreFigures) -> u64| it.store.map(value);
    sheet.gauge_if(
        plain("guestright_store_receipts", "Receipts that the store keeps"),
        store(|it| it.receipts),
    );
    sheet.gauge_if(
        plain(
            "guestright_store_receipts_limit",
            "Receipts that the store has room for, after which the oldest go",
        ),
        store(|it| it.receipts_max),
    );
    sheet.gauge_if(bytes("guestright_store_size", "Size of the store's files"), store(|it| it.bytes));
    sheet.gauge_if(
        bytes("guestright_store_free", "What the file system of the store has room for"),
        store(|it| it.free_bytes),
    );
    sheet.counters(
        plain("guestright_store_errors", "How often something could not be stored, by what it was"),
        "what",
        [("receipts", it.store_errors_receipts), ("accounts", it.store_errors_accounts)],
    );
    sheet.gauge(plain("guestright_store_unkept", "Changes of accounts that wait to be stored"), it.unkept);
}

fn put_credit(sheet: &mut Sheet, it: &HomeFigures) {
    let credit = it.credit;
    sheet.gauge_if(
        plain("guestright_accounts", "Teams that the home keeps an account of"),
        credit.map(|it| it.accounts),
    );
    sheet.gauge_if(
        bytes("guestright_owes", "What this household owes others, all accounts together"),
        credit.map(|it| it.owed_by_us),
    );
    sheet.gauge_if(
        bytes("guestright_owed", "What others owe this household, all accounts together"),
        credit.map(|it| it.owed_to_us),
    );
    sheet.gauge_if(
        bytes("guestright_held", "What is reserved of what this household owes"),
        credit.map(|it| it.held),
    );
    sheet.gauge_if(
        plain("guestright_holds_open", "Reservations that are open"),
        credit.map(|it| it.holds_open),
    );
    sheet.gauge_if(
        bytes("guestright_overdrawn", "What others took beyond what they are owed"),
        credit.map(|it| it.overdrawn),
    );
    sheet.gauge_if(
        bytes("guestright_overdraft_limit", "How much all others together may be overdrawn"),
        credit.map(|it| it.overdraft_max),
    );
    sheet.gauge_if(
        bytes("guestright_sponsored", "What is left of what the household has set aside for teams"),
        credit.map(|it| it.sponsored),
    );
    sheet.gauge_if(
        bytes(
            "guestright_allowance_left",
            "What is left of what the household gives to those whom it owes nothing",
        ),
        credit.map(|it| it.allowance_left),
    );
    sheet.gauge_if(
        bytes(
            "guestright_allowance_limit",
            "What the household gives in 24 hours to those whom it owes nothing",
        ),
        credit.map(|it| it.allowance_max),
    );
}

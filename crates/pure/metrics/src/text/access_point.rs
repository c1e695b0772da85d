//! The names of an access point's metrics.

use super::{put_program, put_refusals};
use crate::AccessPointFigures;
use crate::sheet::{Sheet, bytes, classes, plain, seconds};

pub(super) fn put(sheet: &mut Sheet, it: &AccessPointFigures) {
    put_program(sheet, it.version, &it.process, &it.certificate);
    sheet.flag(
        plain("guestright_home_up", "Whether the access point reaches its home (1) or not (0)"),
        it.home_up,
    );
    put_guests(sheet, it);
    put_calls(sheet, it);
    put_sessions(sheet, it);
    put_refusals(sheet, &it.refused, &it.messages_refused);
    put_firewall(sheet, it);
    sheet.counter(plain("guestright_receipts_accepted", "Receipts of guests that were good"), it.receipts);
    sheet.gauge(
        plain("guestright_receipts_undelivered", "Receipts that the home has not acknowledged yet"),
        it.undelivered,
    );
    sheet.gauge(
        bytes("guestright_away_left", "What may still be given away today while the home does not answer"),
        it.away_left,
    );
    sheet.gauge(
        bytes("guestright_away_limit", "What may be given away in a day while the home does not answer"),
        it.away_max,
    );
    sheet.gauge_if(
        bytes(
            "guestright_tunnels_allowance_used",
            "What tunnels without a session have had since the firewall was set up",
        ),
        it.tunnels_used,
    );
}

fn put_guests(sheet: &mut Sheet, it: &AccessPointFigures) {
    sheet.gauges(
        plain("guestright_guests", "Guests who have a session, by class"),
        "class",
        classes(&it.guests),
    );
    sheet.gauge(
        plain(
            "guestright_guests_for_everybody",
            "Guests who are served because the household serves everybody for now",
        ),
        it.for_everybody,
    );
    sheet.gauge(
        plain("guestright_guests_limit", "How many guests may have a session at a time"),
        it.sessions_max,
    );
    sheet.gauge(plain("guestright_trials", "Strangers without a session who try the Wi-Fi"), it.trials);
    if let Some(setups) = &it.setups {
        sheet.histogram(
            seconds("guestright_setup_duration", "Time from a guest's first message until its packets pass"),
            setups,
        );
    }
}

/// Nothing where the household has not told what its radio is.
fn put_calls(sheet: &mut Sheet, it: &AccessPointFigures) {
    sheet.gauge_if(
        plain("guestright_calls_estimated", "Calls of guests, by the rhythm of their packets"),
        it.calls.map(|(calls, _)| calls),
    );
    sheet.gauge_if(
        plain("guestright_calls_that_fit", "How many more calls keep a mean opinion score of 3.6"),
        it.calls.map(|(_, more)| more),
    );
}

fn put_sessions(sheet: &mut Sheet, it: &AccessPointFigures) {
    sheet.counters(
        plain("guestright_sessions_opened", "Sessions that began, by the class that they began in"),
        "class",
        classes(&it.opened),
    );
    let ends = it.ended;
    sheet.counters(
        plain("guestright_sessions_ended", "Sessions that are over, by how they ended"),
        "end",
        [
            ("left", ends.left),
            ("unpaid", ends.unpaid),
            ("refused", ends.refused),
            ("certificate", ends.certificate),
            ("other", ends.other),
        ],
    );
    sheet.counters(
        bytes("guestright_carried", "Bytes of guests, both ways together, by class"),
        "class",
        classes(&it.carried),
    );
    sheet.counters(
        bytes("guestright_uploaded", "Bytes that passed from guests to the Internet, by class"),
        "class",
        classes(&it.uploaded),
    );
    sheet.counters(
        bytes("guestright_downloaded", "Bytes that passed from the Internet to guests, by class"),
        "class",
        classes(&it.downloaded),
    );
    sheet.counters(
        bytes("guestright_signed", "Bytes of guests that they have signed for, by class"),
        "class",
        classes(&it.signed),
    );
}

fn put_firewall(sheet: &mut Sheet, it: &AccessPointFigures) {
    let layers = it.layers;
    sheet.gauges(
        plain(
            "guestright_firewall_layer_up",
            "Whether a layer that keeps strangers out is in force (1) or not (0)",
        ),
        "layer",
        [
            ("leases", 1),
            ("routing", u64::from(layers.routing)),
            ("static_filter", u64::from(layers.static_filter)),
            ("owned_table", u64::from(layers.owned_table)),
        ],
    );
    sheet.flag(
        plain("guestright_firewall_trouble", "Whether something is wrong with the firewall (1) or not (0)"),
        it.has_trouble,
    );
    sheet.counters(
        plain(
            "guestright_firewall_mended",
            "How often something else had changed a part of the firewall and it was put back",
        ),
        "part",
        it.mended.iter().map(|(part, count)| (*part, *count)),
    );
    sheet.counters(
        plain("guestright_firewall_dropped_packets", "Packets that the firewall dropped, by reason"),
        "reason",
        it.dropped.iter().map(|(reason, count)| (reason.clone(), *count)),
    );
}

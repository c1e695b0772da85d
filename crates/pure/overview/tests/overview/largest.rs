//! The largest overview that there can be.

use guestright_overview::{
    ACCESS_POINTS_MAX, AccessPoint, BALANCES_MAX, Balance, CALLERS_MAX, CALLS_MAX, COUNTERS_MAX, Call,
    CallRoom, Class, Count, DEVICES_MAX, DebtPath, Device, DeviceKind, FINDINGS_MAX, Finding, GUESTS_MAX,
    Guest, HOURS_MAX, Hour, JSON_BYTES_MAX, Key, LINES_MAX, LeftOut, MEMBERS_MAX, May, Member, Moment,
    NAMES_MAX, NUMBER_MAX, Name, Overview, PATH_TEAMS_MAX, PATHS_MAX, Phase, Protection, REASONS_MAX,
    REFUSALS_MAX, Rate, Refusal, RefusedBy, Sentence, ServedBy, Standing, State, Sum, Team, Why,
};
use guestright_units::TeamId;
use std::collections::BTreeMap;

/// No character takes more bytes in JSON: four in UTF-8, and none that has to be escaped takes more.
const LONGEST: &str = "\u{1f4f6}";
const TEAM: Team = Team(TeamId([0xff; 24]));
const KEY: Key = Key([0xff; 24]);
const SUM: Sum = Sum::at_most_max(NUMBER_MAX);
const COUNT: Count = Count::at_most_max(NUMBER_MAX);
const MOMENT: Moment = Moment::at_most_max(NUMBER_MAX);

#[test]
fn the_largest_overview_is_within_its_bytes() {
    let largest = largest();
    assert_eq!(largest.clone().shortened(), largest);
    let json = largest.to_json();
    // More than half of it: the limit is not there by mistake.
    assert!((JSON_BYTES_MAX / 2..=JSON_BYTES_MAX).contains(&json.len()), "{} bytes", json.len());
    assert_eq!(Overview::from_json(json.as_bytes()).unwrap(), largest);
}

fn name() -> Name {
    Name::shortened(&LONGEST.repeat(Name::CHARACTERS_MAX))
}

fn sentence() -> Sentence {
    Sentence::shortened(&LONGEST.repeat(Sentence::CHARACTERS_MAX))
}

fn counters(max: usize) -> BTreeMap<Name, Count> {
    (0..max)
        .map(|n| (Name::shortened(&format!("{n:02}{}", LONGEST.repeat(Name::CHARACTERS_MAX - 2))), COUNT))
        .collect()
}

fn largest() -> Overview {
    let names = (0..NAMES_MAX).map(|n| {
        let mut id = [0xff; 24];
        id[..8].copy_from_slice(&n.to_be_bytes());
        (Team(TeamId(id)), name())
    });
    Overview {
        version: name(),
        at: MOMENT,
        team: TEAM,
        may: May::Change,
        everybody_until: Some(MOMENT),
        standing: Standing {
            state: State::StoreLocked,
            on: false,
            says: sentence(),
            to_do: Some(sentence()),
            since: Some(MOMENT),
        },
        access_points: vec![access_point(); ACCESS_POINTS_MAX],
        guests: vec![guest(); GUESTS_MAX],
        calls: vec![call(); CALLS_MAX],
        credit: None, // It has no text and no list.
        balances: vec![balance(); BALANCES_MAX],
        why: Some(why()),
        hours: vec![hour(); HOURS_MAX],
        refusals: vec![refusal(); REFUSALS_MAX],
        members: vec![member(); MEMBERS_MAX],
        findings: vec![finding(); FINDINGS_MAX],
        names: names.collect(),
        left_out: LeftOut { guests: COUNT, calls: COUNT, balances: COUNT, refusals: COUNT, members: COUNT },
    }
}

fn access_point() -> AccessPoint {
    AccessPoint {
        key: KEY,
        name: Some(name()),
        up: false,
        answered: Some(MOMENT),
        home_up: Some(false),
        undelivered: COUNT,
        left_while_away: SUM,
        refused: counters(COUNTERS_MAX),
        trouble: Some(sentence()),
        calls: Some(CallRoom { now: COUNT, more: COUNT, members: vec![KEY; CALLERS_MAX] }),
    }
}

fn guest() -> Guest {
    Guest {
        id: name(),
        access_point: KEY,
        team: Some(TEAM),
        ip: Some(name()),
        mac: Some(name()),
        class: Class::Lowest,
        started: MOMENT,
        until: Some(MOMENT),
        counted: SUM,
        signed: SUM,
        left: Some(SUM),
        bits_per_second: Rate::at_most_max(NUMBER_MAX),
        open: false,
        by_tunnel: false,
        served_by: ServedBy::Sponsored,
        reason: sentence(),
        chain: vec![TEAM; PATH_TEAMS_MAX],
        reserved: SUM,
    }
}

fn call() -> Call {
    Call {
        id: COUNT,
        since: MOMENT,
        phase: Phase::Allocating,
        protection: Some(Protection::HomeToHome),
        mos_to_caller: None,
        mos_to_callee: None,
    }
}

fn balance() -> Balance {
    Balance {
        team: TEAM,
        we_owe: SUM,
        they_owe: SUM,
        given_to_us_ever: SUM,
        reserved: SUM,
        can_be_used: SUM,
        sponsored: SUM,
    }
}

fn why() -> Why {
    let paths = || vec![DebtPath { bytes: SUM, teams: vec![TEAM; PATH_TEAMS_MAX] }; PATHS_MAX];
    Why {
        team: TEAM,
        class: Some(Class::Lowest),
        reason: sentence(),
        ind: Some(name()),
        request: SUM,
        exact: false,
        owed_to_consumer: paths(),
        owed_by_consumer: paths(),
        lines: vec![sentence(); LINES_MAX],
    }
}

fn hour() -> Hour {
    Hour { start: MOMENT, served: SUM, consumed: SUM, allowance_used: SUM, refused: counters(REASONS_MAX) }
}

fn refusal() -> Refusal {
    Refusal {
        at: MOMENT,
        team: Some(TEAM),
        refused_by: RefusedBy::AllowanceUsedUp,
        reason: sentence(),
        to_do: Some(sentence()),
    }
}

fn member() -> Member {
    let device = Device {
        kind: DeviceKind::Program,
        label: name(),
        not_after: Some(MOMENT),
        revoked: Some(MOMENT),
        handshake: Some(MOMENT),
        received: SUM,
        sent: SUM,
    };
    Member {
        name: name(),
        key: KEY,
        not_after: Some(MOMENT),
        revoked: Some(MOMENT),
        devices: vec![device; DEVICES_MAX],
    }
}

fn finding() -> Finding {
    Finding { what: name(), good: false, needed: false, says: sentence(), to_do: Some(sentence()) }
}

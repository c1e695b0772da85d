//! Any overview, and any JSON.

use guestright_overview::{
    AccessPoint, Allowance, Balance, Call, CallRoom, Class, Count, Credit, DebtPath, Device, DeviceKind,
    Finding, Guest, Hour, Key, LeftOut, May, Member, Moment, Mos, NUMBER_MAX, Name, Overview, Phase,
    Protection, Rate, Refusal, RefusedBy, Sentence, ServedBy, Standing, State, Sum, Team, Why,
};
use guestright_units::TeamId;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;

pub(super) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..6).prop_map(|all| all.into_iter().collect()),
        ]
    })
}

fn sum() -> impl Strategy<Value = Sum> {
    prop_oneof![0..=NUMBER_MAX, 0..1_000_u64].prop_map(Sum::at_most_max)
}

fn count() -> impl Strategy<Value = Count> {
    (0..=NUMBER_MAX).prop_map(Count::at_most_max)
}

fn moment() -> impl Strategy<Value = Moment> {
    (0..=NUMBER_MAX).prop_map(Moment::at_most_max)
}

fn name() -> impl Strategy<Value = Name> {
    any::<String>().prop_map(|text| Name::shortened(&text))
}

fn sentence() -> impl Strategy<Value = Sentence> {
    any::<String>().prop_map(|text| Sentence::shortened(&text))
}

fn team() -> impl Strategy<Value = Team> {
    any::<[u8; 24]>().prop_map(|id| Team(TeamId(id)))
}

fn key() -> impl Strategy<Value = Key> {
    any::<[u8; 24]>().prop_map(Key)
}

fn mos() -> impl Strategy<Value = Option<Mos>> {
    option::of((1.0..=4.5).prop_map(|score| Mos::try_from(score).unwrap()))
}

prop_compose! {
    fn standing()(
        state in prop::sample::select(vec![
            State::Serving, State::Nobody, State::HomeAway, State::Trouble, State::StoreLocked, State::ClockWrong,
        ]),
        on in any::<bool>(), says in sentence(), to_do in option::of(sentence()), since in option::of(moment()),
    ) -> Standing {
        Standing { state, on, says, to_do, since }
    }
}

prop_compose! {
    fn access_point()(
        key in key(), name_ in option::of(name()), up in any::<bool>(), answered in option::of(moment()),
        home_up in option::of(any::<bool>()), undelivered in count(), left_while_away in sum(),
        refused in btree_map(name(), count(), 0..4), trouble in option::of(sentence()),
        calls in option::of((count(), count(), vec(key(), 0..4))),
    ) -> AccessPoint {
        let calls = calls.map(|(now, more, members)| CallRoom { now, more, members });
        AccessPoint { key, name: name_, up, answered, home_up, undelivered, left_while_away, refused, trouble, calls }
    }
}

prop_compose! {
    fn session()(
        id in name(), access_point in key(), ip in option::of(name()), mac in option::of(name()),
        team in option::of(team()), started in moment(), until in option::of(moment()),
        counted in sum(), signed in sum(), left in option::of(sum()), rate in 0..=NUMBER_MAX,
    ) -> Guest {
        Guest {
            id, access_point, team, ip, mac, started, until, counted, signed, left,
            bits_per_second: Rate::at_most_max(rate), class: Class::Own, open: true, by_tunnel: true,
            served_by: ServedBy::Own, reason: Sentence::default(), chain: Vec::new(), reserved: Sum::default(),
        }
    }
}

prop_compose! {
    fn guest()(
        session in session(),
        class in prop::sample::select(vec![Class::Lowest, Class::Low, Class::Middle, Class::High, Class::Own]),
        open in any::<bool>(), by_tunnel in any::<bool>(),
        served_by in prop::sample::select(vec![
            ServedBy::Own, ServedBy::Owed, ServedBy::Chain, ServedBy::Sponsored, ServedBy::Allowance,
            ServedBy::Everybody, ServedBy::Trial, ServedBy::Receipts, ServedBy::Other,
        ]),
        reason in sentence(), chain in vec(team(), 0..4), reserved in sum(),
    ) -> Guest {
        Guest { class, open, by_tunnel, served_by, reason, chain, reserved, ..session }
    }
}

prop_compose! {
    fn call()(
        id in count(), since in moment(),
        phase in prop::sample::select(vec![Phase::Finding, Phase::Allocating, Phase::Calling, Phase::Up]),
        protection in option::of(prop::sample::select(vec![
            Protection::EndToEnd, Protection::HomeToHome, Protection::Tunnels,
        ])),
        mos_to_caller in mos(), mos_to_callee in mos(),
    ) -> Call {
        Call { id, since, phase, protection, mos_to_caller, mos_to_callee }
    }
}

prop_compose! {
    fn credit()(
        owed_by_us in sum(), owed_to_us in sum(), overdrawn in sum(), overdraft_max in sum(), holds_open in count(),
        allowance in option::of((sum(), sum()).prop_map(|(left, per_day)| Allowance { left, per_day })),
    ) -> Credit {
        Credit { owed_by_us, owed_to_us, allowance, overdrawn, overdraft_max, holds_open }
    }
}

prop_compose! {
    fn balance()(
        team in team(), we_owe in sum(), they_owe in sum(), given_to_us_ever in sum(), reserved in sum(),
        can_be_used in sum(), sponsored in sum(),
    ) -> Balance {
        Balance { team, we_owe, they_owe, given_to_us_ever, reserved, can_be_used, sponsored }
    }
}

fn debt_path() -> impl Strategy<Value = DebtPath> {
    (sum(), vec(team(), 0..4)).prop_map(|(bytes, teams)| DebtPath { bytes, teams })
}

prop_compose! {
    fn why()(
        team in team(), class in option::of(Just(Class::Middle)), reason in sentence(), ind in option::of(name()),
        request in sum(), exact in any::<bool>(), owed_to_consumer in vec(debt_path(), 0..4),
        owed_by_consumer in vec(debt_path(), 0..4), lines in vec(sentence(), 0..4),
    ) -> Why {
        Why { team, class, reason, ind, request, exact, owed_to_consumer, owed_by_consumer, lines }
    }
}

prop_compose! {
    fn hour()(
        start in moment(), served in sum(), consumed in sum(), allowance_used in sum(),
        refused in btree_map(name(), count(), 0..4),
    ) -> Hour {
        Hour { start, served, consumed, allowance_used, refused }
    }
}

prop_compose! {
    fn refusal()(
        at in moment(), team in option::of(team()), refused_by in prop::sample::select(RefusedBy::ALL.to_vec()),
        reason in sentence(), to_do in option::of(sentence()),
    ) -> Refusal {
        Refusal { at, team, refused_by, reason, to_do }
    }
}

prop_compose! {
    fn device()(
        kind in prop::sample::select(vec![DeviceKind::Program, DeviceKind::Phone, DeviceKind::Tunnel]),
        label in name(), not_after in option::of(moment()), revoked in option::of(moment()),
        handshake in option::of(moment()), received in sum(), sent in sum(),
    ) -> Device {
        Device { kind, label, not_after, revoked, handshake, received, sent }
    }
}

prop_compose! {
    fn member()(
        name in name(), key in key(), not_after in option::of(moment()), revoked in option::of(moment()),
        devices in vec(device(), 0..3),
    ) -> Member {
        Member { name, key, not_after, revoked, devices }
    }
}

prop_compose! {
    fn finding()(
        what in name(), good in any::<bool>(), needed in any::<bool>(), says in sentence(),
        to_do in option::of(sentence()),
    ) -> Finding {
        Finding { what, good, needed, says, to_do }
    }
}

prop_compose! {
    fn left_out()(guests in count(), calls in count(), balances in count(), refusals in count(), members in count())
        -> LeftOut {
        LeftOut { guests, calls, balances, refusals, members }
    }
}

prop_compose! {
    fn lists()(
        access_points in vec(access_point(), 0..3), guests in vec(guest(), 0..4), calls in vec(call(), 0..3),
        balances in vec(balance(), 0..4), hours in vec(hour(), 0..4), refusals in vec(refusal(), 0..4),
        members in vec(member(), 0..3), findings in vec(finding(), 0..4), names in btree_map(team(), name(), 0..4),
        standing in standing(), team in team(),
    ) -> Overview {
        Overview {
            access_points, guests, calls, balances, hours, refusals, members, findings, names, standing, team,
            version: Name::default(), at: Moment::default(), may: May::Look, everybody_until: None, credit: None,
            why: None, left_out: LeftOut::default(),
        }
    }
}

prop_compose! {
    pub(super) fn overview()(
        lists in lists(), version in name(), at in moment(), may in prop::sample::select(vec![May::Look, May::Change]),
        everybody_until in option::of(moment()), credit in option::of(credit()), why in option::of(why()),
        left_out in left_out(),
    ) -> Overview {
        Overview { version, at, may, everybody_until, credit, why, left_out, ..lists }
    }
}

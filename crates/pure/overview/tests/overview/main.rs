//! What is written is read as the same, and nothing is read that has no bounds.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod arbitrary;
mod largest;
#[cfg(feature = "describe")]
mod schema;

use arbitrary::overview;
use guestright_overview::{
    Class, GUESTS_MAX, JSON_BYTES_MAX, Overview, OverviewError, Refusal, RefusedBy, ServedBy, State, Why,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Overviews as the page's tests show them too, by name.
fn recorded() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

fn serving() -> Value {
    let all = recorded();
    let (_, text) = all.iter().find(|(name, _)| name == "serving").unwrap();
    serde_json::from_str(text).unwrap()
}

fn read(value: &Value) -> Result<Overview, OverviewError> {
    Overview::from_json(value.to_string().as_bytes())
}

#[test]
fn recorded_overviews_are_the_same_after_reading_and_writing() {
    for (name, text) in recorded() {
        let overview = Overview::from_json(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (want, got): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&overview.to_json()).unwrap());
        for (key, want) in want.as_object().unwrap() {
            assert_eq!(&got[key], want, "{name}: {key}");
        }
        assert_eq!(got, want, "{name}");
        assert_eq!(overview.clone().shortened(), overview, "{name}");
    }
}

#[test]
fn recorded_overviews_show_each_state_and_each_class() {
    let all: Vec<_> =
        recorded().iter().map(|(_, text)| Overview::from_json(text.as_bytes()).unwrap()).collect();
    let states: BTreeSet<_> = all.iter().map(|overview| overview.standing.state).collect();
    let six = [
        State::Serving,
        State::Nobody,
        State::HomeAway,
        State::Trouble,
        State::StoreLocked,
        State::ClockWrong,
    ];
    assert_eq!(states, BTreeSet::from(six));
    let guests = || all.iter().flat_map(|overview| &overview.guests);
    let classes: BTreeSet<_> = guests().map(|guest| guest.class).collect();
    assert_eq!(classes, BTreeSet::from([Class::Lowest, Class::Low, Class::Middle, Class::High, Class::Own]));
    let served_by: BTreeSet<_> = guests().map(|guest| guest.served_by).collect();
    assert!(served_by.contains(&ServedBy::Trial) && served_by.contains(&ServedBy::Chain), "{served_by:?}");
}

#[test]
fn a_field_of_a_newer_program_is_passed_over() {
    let (mut newer, want) = (serving(), read(&serving()).unwrap());
    newer["weather"] = json!({ "rain": [1, 2] });
    newer["guests"][0]["hat"] = json!("red");
    newer["guests"][1]["served_by"] = json!("barter");
    newer["refusals"][0]["refused_by"] = json!("barter");
    let got = read(&newer).unwrap();
    assert_eq!(got.guests[0], want.guests[0]);
    assert_eq!(got.guests[1].served_by, ServedBy::Other);
    assert_eq!(got.refusals[0], Refusal { refused_by: RefusedBy::Other, ..want.refusals[0].clone() });
}

#[test]
fn a_missing_field_is_named_unless_it_may_be_null() {
    for key in serving().as_object().unwrap().keys() {
        let mut without = serving();
        without.as_object_mut().unwrap().remove(key);
        let outcome = read(&without);
        if ["why", "credit", "everybody_until"].contains(&key.as_str()) {
            assert!(outcome.is_ok(), "{key}: {outcome:?}");
        } else {
            assert!(outcome.unwrap_err().to_string().contains(key), "{key}");
        }
    }
}

#[test]
fn refuses_what_is_not_within_the_limits() {
    let beyond = |pointer: &str, value: Value| {
        let mut overview = serving();
        *overview.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        (pointer.to_owned(), overview)
    };
    let more_than = |pointer: &str, count: usize| {
        let one = serving().pointer(pointer).unwrap()[0].clone();
        let (_, most) = beyond(pointer, json!(vec![one.clone(); count]));
        assert!(read(&most).is_ok(), "{pointer}: {count} are allowed");
        beyond(pointer, json!(vec![one; count + 1]))
    };
    let cases = [
        more_than("/access_points", 16),
        more_than("/guests", 256),
        more_than("/calls", 64),
        more_than("/balances", 256),
        more_than("/hours", 744),
        more_than("/refusals", 128),
        more_than("/members", 256),
        more_than("/findings", 128),
        more_than("/members/0/devices", 16),
        more_than("/guests/2/chain", 16),
        more_than("/why/owed_to_consumer", 32),
        more_than("/why/owed_by_consumer", 32),
        more_than("/why/owed_to_consumer/0/teams", 16),
        more_than("/why/lines", 64),
        beyond("/access_points/0/refused", (0..65).map(|n| (n.to_string(), json!(n))).collect()),
        beyond("/hours/0/refused", (0..17).map(|n| (n.to_string(), json!(n))).collect()),
        beyond("/names", (0..1_025).map(|n| (format!("{n:048x}"), json!("one"))).collect()),
        beyond("/names", json!({ "0123": "short" })),
        beyond("/team", json!("F".repeat(48))),
        beyond("/at", json!(-1)),
        beyond("/credit/owed_by_us", json!(1_u64 << 53)),
        beyond("/calls/0/mos_to_caller", json!(4.6)),
        beyond("/standing/says", json!("a".repeat(513))),
        beyond("/version", json!("1\n2")),
        beyond("/guests/0/class", json!("best")),
        beyond("/standing/state", json!("asleep")),
    ];
    for (pointer, overview) in cases {
        assert!(matches!(read(&overview), Err(OverviewError::Json(_))), "{pointer} was read");
    }
}

#[test]
fn what_is_too_long_is_not_even_looked_at() {
    let spaces = vec![b' '; JSON_BYTES_MAX + 1];
    let refused = Overview::from_json(&spaces).unwrap_err();
    assert!(matches!(refused, OverviewError::Length { got } if got == JSON_BYTES_MAX + 1), "{refused}");
}

#[test]
fn what_is_left_out_is_counted() {
    let mut overview = read(&serving()).unwrap();
    let (guest, hours) = (overview.guests[0].clone(), overview.hours.clone());
    overview.guests = vec![guest; GUESTS_MAX + 3];
    overview.hours.extend(hours.clone());
    let shown = overview.shortened();
    assert_eq!((shown.guests.len(), shown.left_out.guests.get()), (GUESTS_MAX, 3));
    assert_eq!(shown.left_out.balances.get(), 0);
    assert_eq!(shown.hours[24..], hours, "the last hours stay");
    assert_eq!(shown.clone().shortened(), shown);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn reading_inverts_writing(overview in overview()) {
        prop_assert_eq!(Overview::from_json(overview.to_json().as_bytes()).unwrap(), overview);
    }

    #[test]
    fn cbor_says_the_same_as_json(overview in overview()) {
        let mut bytes = Vec::new();
        ciborium::into_writer(&overview, &mut bytes).unwrap();
        prop_assert_eq!(ciborium::from_reader::<Overview, _>(bytes.as_slice()).unwrap(), overview);
    }

    #[test]
    fn whatever_is_shortened_can_be_read(overview in overview(), times in 1_usize..100) {
        let mut many = overview;
        many.guests = repeated(&many.guests, times);
        many.balances = repeated(&many.balances, times);
        many.refusals = repeated(&many.refusals, times);
        many.findings = repeated(&many.findings, times);
        many.access_points = repeated(&many.access_points, times);
        many.members = repeated(&many.members, times);
        let shown = many.shortened();
        prop_assert_eq!(Overview::from_json(shown.to_json().as_bytes()).unwrap(), shown);
    }

    #[test]
    fn any_value_anywhere_never_panics(
        steps in vec(any::<prop::sample::Index>(), 1..6),
        other in arbitrary::json(),
    ) {
        let mut changed = serving();
        *descend(&mut changed, &steps) = other;
        if let Ok(overview) = read(&changed) {
            prop_assert_eq!(Overview::from_json(overview.to_json().as_bytes()).unwrap(), overview);
        }
    }

    #[test]
    fn bytes_never_panic(bytes in vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
        let mut text = serving().to_string().into_bytes();
        let at = cut.index(text.len());
        text.splice(at..at, bytes.iter().copied());
        let _ = Overview::from_json(&text);
        let _ = Overview::from_json(&bytes);
        let _ = serde_json::from_slice::<Why>(&bytes);
    }
}

fn repeated<T: Clone>(list: &[T], times: usize) -> Vec<T> {
    list.iter().cycle().take(list.len() * times).cloned().collect()
}

/// What these steps lead to: each chooses one of what is inside.
fn descend<'a>(value: &'a mut Value, steps: &[prop::sample::Index]) -> &'a mut Value {
    let inside = value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len));
    let (Some((first, rest)), Some(count @ 1..)) = (steps.split_first(), inside) else { return value };
    let index = first.index(count);
    let inner = if value.is_array() {
        &mut value[index]
    } else {
        value.as_object_mut().unwrap().values_mut().nth(index).unwrap()
    };
    descend(inner, rest)
}

//! Settings as a struct: what a declaration says, what is read, and what is refused.

use crate::testbed::{CpuSettings, FormulaSettings, text};
use guestright_experiment::{SettingError, SettingInfo, Settings, Value, settings};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Queue {
    DropTail,
    Red,
}

const QUEUES: [(&str, Queue); 2] = [("droptail", Queue::DropTail), ("red", Queue::Red)];
const MOST: i64 = 40;

settings! {
    struct LinkSettings {
        /// What is done
        /// with what waits.
        kind: Queue = choice("link.queue", "red", QUEUES),
        /// What waits for it.
        queue_max: u8 = integer("link.queue_max", "packets", 7, (1, MOST)),
    }
}

settings! {
    /// One setting of each kind, and a group in their midst.
    struct OfEachKind {
        /// Calls at once.
        calls: i64 = integer("calls", "", -3, (i64::MIN, i64::MAX)),
        link: LinkSettings,
        /// How long a call lasts; 90 in the paper.
        duration_s: f64 = float("call.duration_s", "s", 90.0, (0.1, 1e6)),
        /// Whether it is recorded.
        is_recorded: bool = bool("recorded", true),
        /// What is said.
        words: String = text("words", "hello"),
    }
}

fn read(given: Settings) -> OfEachKind {
    OfEachKind::read(&given.complete(OfEachKind::SETTINGS).unwrap()).unwrap()
}

fn refused(given: Settings) -> String {
    given.complete(OfEachKind::SETTINGS).unwrap_err().to_string()
}

#[test]
fn a_declaration_is_what_is_listed_in_its_order() {
    let listed = [
        SettingInfo::integer("calls", "", -3, (i64::MIN, i64::MAX), "Calls at once."),
        SettingInfo::choice("link.queue", "red", &["droptail", "red"], "What is done with what waits."),
        SettingInfo::integer("link.queue_max", "packets", 7, (1, 40), "What waits for it."),
        SettingInfo::float(
            "call.duration_s",
            "s",
            90.0,
            (0.1, 1e6),
            "How long a call lasts; 90 in the paper.",
        ),
        SettingInfo::bool("recorded", true, "Whether it is recorded."),
        SettingInfo::text("words", "hello", "What is said."),
    ];
    assert_eq!(OfEachKind::SETTINGS, listed);
    assert_eq!(FormulaSettings::SETTINGS.len(), 5 + CpuSettings::SETTINGS.len());
}

#[test]
fn what_is_not_given_has_its_default() {
    let OfEachKind { calls, link, duration_s, is_recorded, words } = read(Settings::new());
    assert_eq!((calls, duration_s, is_recorded, words.as_str()), (-3, 90.0, true, "hello"));
    assert_eq!((link.kind, link.queue_max), (Queue::Red, 7));
}

#[test]
fn what_is_given_is_what_is_read() {
    let given = Settings::new()
        .with("calls", i64::MAX)
        .with("link.queue", "droptail")
        .with("link.queue_max", 40)
        .with("call.duration_s", 30)
        .with("recorded", false)
        .with("words", "");
    let OfEachKind { calls, link, duration_s, is_recorded, words } = read(given);
    assert_eq!((calls, duration_s, is_recorded, words.as_str()), (i64::MAX, 30.0, false, ""));
    assert_eq!((link.kind, link.queue_max), (Queue::DropTail, 40));
}

#[test]
fn what_does_not_fit_is_refused_and_says_what_would() {
    let long = "x".repeat(Settings::TEXT_MAX + 1);
    #[rustfmt::skip]
    let cases: [(&str, Value, &str); 17] = [
        ("cals", 1.into(), "there is no setting `cals`; did you mean `calls`?"),
        ("link.queue_mx", 1.into(), "there is no setting `link.queue_mx`; did you mean `link.queue_max`?"),
        ("banana", 1.into(), "there is no setting `banana`"),
        ("calls", 1.0.into(), "the setting `calls` is 1.0; a whole number from -9223372036854775808 to 9223372036854775807 is wanted"),
        ("calls", true.into(), "the setting `calls` is true; a whole number from -9223372036854775808 to 9223372036854775807 is wanted"),
        ("link.queue_max", 0.into(), "the setting `link.queue_max` is 0; a whole number from 1 to 40 is wanted"),
        ("link.queue_max", 41.into(), "the setting `link.queue_max` is 41; a whole number from 1 to 40 is wanted"),
        ("link.queue_max", text("40"), "the setting `link.queue_max` is \"40\"; a whole number from 1 to 40 is wanted"),
        ("link.queue", text("Red"), "the setting `link.queue` is \"Red\"; one of \"droptail\", \"red\" is wanted"),
        ("link.queue", 1.into(), "the setting `link.queue` is 1; one of \"droptail\", \"red\" is wanted"),
        ("call.duration_s", 0.into(), "the setting `call.duration_s` is 0; a number from 0.1 to 1000000 is wanted"),
        ("call.duration_s", 0.09.into(), "the setting `call.duration_s` is 0.09; a number from 0.1 to 1000000 is wanted"),
        ("call.duration_s", f64::NAN.into(), "the setting `call.duration_s` is NaN; a number from 0.1 to 1000000 is wanted"),
        ("call.duration_s", text("90 s"), "the setting `call.duration_s` is \"90 s\"; a number from 0.1 to 1000000 is wanted"),
        ("recorded", text("yes"), "the setting `recorded` is \"yes\"; true or false is wanted"),
        ("words", 1.into(), "the setting `words` is 1; text of at most 1000 bytes is wanted"),
        ("words", text(&long), "the setting `words` is \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\" (1001 bytes); text of at most 1000 bytes is wanted"),
    ];
    for (name, value, want) in cases {
        assert_eq!(refused(Settings::new().with(name, value)), want);
    }
}

/// A testbed gets completed settings, but a wrong call of it is an error too and no panic.
#[test]
fn what_was_not_completed_is_an_error_of_the_first_that_is_missing() {
    #[rustfmt::skip]
    let cases = [
        (Settings::new(), "the setting `calls` is not given; a whole number is wanted"),
        (Settings::new().with("calls", 1), "the setting `link.queue` is not given; one of \"droptail\", \"red\" is wanted"),
        (Settings::new().with("calls", 1).with("link.queue", "blue"), "the setting `link.queue` is \"blue\"; one of \"droptail\", \"red\" is wanted"),
        (Settings::new().with("calls", 1).with("link.queue", "red").with("link.queue_max", 256), "the setting `link.queue_max` is 256; a whole number that fits into u8 is wanted"),
        (Settings::new().with("calls", true), "the setting `calls` is true; a whole number is wanted"),
    ];
    for (given, want) in cases {
        assert_eq!(OfEachKind::read(&given).unwrap_err().to_string(), want);
    }
    let rest = read_all_but("call.duration_s");
    assert_eq!(rest.to_string(), "the setting `call.duration_s` is not given; a number is wanted");
    assert_eq!(
        read_all_but("recorded").to_string(),
        "the setting `recorded` is not given; true or false is wanted"
    );
    assert_eq!(read_all_but("words").setting(), "words");
}

fn read_all_but(name: &str) -> SettingError {
    let all = Settings::new().complete(OfEachKind::SETTINGS).unwrap();
    let rest = all.iter().filter(|(other, _)| *other != name);
    let rest: Settings = rest.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    OfEachKind::read(&rest).unwrap_err()
}

#[test]
fn a_misfit_names_its_setting_and_its_reason() {
    let error = SettingError::unfit("calls", "there is no room");
    assert_eq!(
        (error.setting(), error.to_string().as_str()),
        ("calls", "the setting `calls` does not fit: there is no room")
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_i64..1_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof!["red", "droptail", "\\PC{0,8}"].prop_map(Value::Text),
    ]
}

proptest! {
    /// Whatever `complete` lets through can be read, and completing twice changes nothing.
    #[test]
    fn what_is_accepted_is_read(index in 0..OfEachKind::SETTINGS.len(), value in any_value()) {
        let info = &OfEachKind::SETTINGS[index];
        let given = Settings::new().with(info.name, value.clone());
        match given.complete(OfEachKind::SETTINGS) {
            Ok(complete) => {
                prop_assert!(OfEachKind::read(&complete).is_ok());
                prop_assert_eq!(complete.complete(OfEachKind::SETTINGS), Ok(complete.clone()));
                prop_assert_eq!(complete.get(info.name).cloned(), info.accept(&value).ok());
                prop_assert_eq!(complete.len(), OfEachKind::SETTINGS.len());
            }
            Err(error) => {
                prop_assert_eq!(error.setting(), info.name);
                prop_assert_eq!(Err(error), info.accept(&value));
            }
        }
    }
}

//! TCP Westwood and TCP-Real beside a second implementation, in Python, that was written from the texts (`second.py`).
//!
//! `judge.py` draws scripts of events, or reads those in `by_hand.txt`, plays them to the second implementation, and prints
//! each event with the state after it. The same events go to ours here, and every state is compared.

mod script;

use std::process::Command;

use guestright_congestion::{RealReadings, WestwoodFilter};
use guestright_units::Micros;
use script::{Case, Event, Outcome, Player};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/second/");
/// Scripts of each transport, and what they are drawn from.
const COUNT: &str = "200";
const SEED: &str = "20060401";
/// Scripts that have to show that a setting matters.
const FEW: &str = "60";

const BY_HAND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/second/by_hand.txt");

#[test]
fn both_do_by_hand_what_the_texts_say() {
    assert_same(&["by-hand", BY_HAND]);
}

#[test]
fn westwood_does_what_the_second_one_does_in_drawn_scripts() {
    assert_same(&["drawn", SEED, COUNT, "westwood"]);
}

#[test]
fn real_does_what_the_second_one_does_in_drawn_scripts() {
    assert_same(&["drawn", SEED, COUNT, "real"]);
}

/// The second implementation as it was first written, with its own readings.
#[test]
fn real_read_as_the_second_one_reads_it_does_the_same_too() {
    assert_same(&["drawn", SEED, COUNT, "real", "reading=second"]);
}

/// So the drawn scripts would show a difference in any of them.
#[test]
fn each_reading_of_real_is_one_that_drawn_scripts_tell_apart() {
    for (reading, _) in RealReadings::NAMED.into_iter().skip(1) {
        let text = ask(&["drawn", SEED, FEW, "real", &format!("reading={reading}")]);
        let (_, same) = differences(&text, |_| ());
        assert!(same.is_empty(), "{reading}: {same:?}");
        let (scripts, found) = differences(&text, |case| case.real.readings = RealReadings::OURS);
        println!("{reading}: {} of {scripts} scripts differ", found.len());
        assert!(!found.is_empty(), "{reading}: nothing differs");
    }
}

#[test]
fn each_reading_of_westwood_is_one_that_scripts_tell_apart() {
    type Change = fn(&mut Case);
    let drawn = ["drawn", SEED, FEW, "westwood"];
    let cases: [(&str, Change); 4] = [
        ("divisor=on", |case| case.westwood.divide_on_timeout = false),
        ("tick=10000", |case| case.westwood.tick = None),
        ("tau=1000000", |case| case.westwood.filter = WestwoodFilter::FixedPole),
        ("tau=0", |case| case.westwood.filter = WestwoodFilter::TimeConstant { tau: Micros(1_000_000) }),
    ];
    for (setting, change) in cases {
        let text = ask(&[&drawn[..], &[setting]].concat());
        let (_, same) = differences(&text, |_| ());
        assert!(same.is_empty(), "{setting}: {same:?}");
        let (scripts, found) = differences(&text, change);
        println!("{setting}: {} of {scripts} scripts differ", found.len());
        assert!(!found.is_empty(), "{setting}: nothing differs");
    }
    let (_, found) = differences(&ask(&["by-hand", BY_HAND, "ties=held"]), |_| ());
    assert_eq!(found.len(), 1, "ties: {found:?}");
    assert!(found[0].starts_with("ties:"), "{found:?}");
}

/// Plays all scripts; the first difference in each.
fn differences(text: &str, change: impl Fn(&mut Case)) -> (usize, Vec<String>) {
    let mut scripts = 0;
    let mut found = Vec::new();
    let mut player: Option<Player> = None;
    for (number, line) in text.lines().enumerate() {
        if let Some(case) = line.strip_prefix("case ") {
            let mut case = Case::read(case);
            change(&mut case);
            player = Some(Player::new(case));
            scripts += 1;
            continue;
        }
        // After its first difference a script says nothing more.
        let Some(current) = &mut player else { continue };
        let (event, want) = line.split_once(" | ").unwrap_or_else(|| panic!("line {number}: {line}"));
        if let Err(difference) = current.play(&Event::read(event), &Outcome::read(want)) {
            found.push(format!("{}: line {number}: {line}\n  {difference}", current.name()));
            player = None;
        }
    }
    (scripts, found)
}

fn assert_same(arguments: &[&str]) {
    let (scripts, found) = differences(&ask(arguments), |_| ());
    assert!(scripts > 0, "no scripts");
    assert!(
        found.is_empty(),
        "{} of {scripts} scripts differ; python3 {FOLDER}judge.py {}\n{}",
        found.len(),
        arguments.join(" "),
        found.iter().take(5).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// What the second implementation prints.
fn ask(arguments: &[&str]) -> String {
    let output = Command::new("python3")
        .arg("-B")
        .arg(format!("{FOLDER}judge.py"))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("python3: {error}; sh scripts/setup.sh test"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "judge.py {arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("it prints ASCII")
}

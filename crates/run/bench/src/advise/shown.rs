//! What is advised, for people and for programs.

use guestright_quality::{Advice, DirectionStats, Trial};
use guestright_units::Micros;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Every trial, what is advised after them, and the shortest round trip.
pub fn in_json(trials: &[Trial], advice: &Advice, round_trip: Micros) -> Value {
    json!({ "round_trip_ms": in_ms(round_trip), "trials": trials, "advice": advice })
}

fn in_ms(round_trip: Micros) -> f64 {
    round_trip.0 as f64 / 1e3
}

/// The same as a table, and a sentence for each reason.
pub fn in_text(trials: &[Trial], advice: &Advice, round_trip: Micros) -> String {
    let mut text = format!("\nround trip: {:.1} ms at least\n\n", in_ms(round_trip));
    let _ = writeln!(
        text,
        "{:<16} {:<6} {:>7} {:>7} {:>10} {:>10} {:>5} {:>5}",
        "transport", "", "lost %", "late %", "playout ms", "longest ms", "R", "MOS"
    );
    for Trial { name, result, .. } in trials {
        let directions = match result {
            Ok(directions) => directions.iter().zip(["there", "back"]),
            Err(why) => {
                let _ = writeln!(text, "{name:<16} {why}");
                continue;
            }
        };
        for (stats, direction) in directions {
            let DirectionStats { lost, late, playout_ms, longest_ms, r, mos, .. } = stats;
            let longest = longest_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}"));
            let (lost, late) = (lost * 100.0, late * 100.0);
            let _ = writeln!(
                text,
                "{name:<16} {direction:<6} {lost:>7.2} {late:>7.2} {playout_ms:>10.0} {longest:>10} {r:>5.0} {mos:>5.1}"
            );
        }
    }
    text.push('\n');
    if let Some(name) = &advice.recommended {
        let _ = writeln!(text, "Voice should take {name}:");
    }
    for reason in &advice.reasons {
        let _ = writeln!(text, "  - {reason}");
    }
    text
}

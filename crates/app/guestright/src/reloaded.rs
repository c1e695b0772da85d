//! What a running program says that was asked for something: to read its settings again, to stop, or something else.

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use serde_json::Value;

/// Says what is in force now, and what counts from the next start on.
///
/// # Errors
/// The new settings are wrong; the old ones stay.
pub(crate) fn print(answer: &Value, out: &mut Output) -> Outcome {
    if let Some(error) = answer["error"].as_str() {
        let failure = Failure::config(anyhow!("nothing was changed: {error}"));
        return Err(match answer["hint"].as_str() {
            Some(hint) => failure.hint(hint),
            None => failure,
        });
    }
    let names = |key: &str| {
        let names: Vec<_> = answer[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        names.join(", ")
    };
    let (changed, waiting) = (names("changed"), names("waiting"));
    if changed.is_empty() {
        writeln!(out, "the settings in force are as before")?;
    } else {
        writeln!(out, "in force now: {changed}")?;
    }
    if !waiting.is_empty() {
        writeln!(out, "in force only after a restart: {waiting}")?;
    }
    Ok(())
}

/// Whether it did what it was asked for.
///
/// # Errors
/// It says why not, to the person who asked.
pub(crate) fn accepted(answer: &Value) -> Outcome {
    match answer["error"].as_str() {
        Some(error) => Err(Failure::user(anyhow!("{error}"))),
        None => Ok(()),
    }
}

/// Says what was done: in a word for programs, in a sentence for people.
pub(crate) fn done(json: bool, what: &str, sentence: &str, out: &mut Output) -> Outcome {
    if json {
        writeln!(out, "{}", serde_json::json!({ "done": what }))?;
    } else {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

//! What a running program says at its control socket.
//!
//! The same as `guestright ap status --json` and its like print, which have tests of their own, without a program that is
//! started to ask: a test that waits asks some hundred times.

use guestright_host::control;
use serde_json::Value;
use std::path::Path;

/// What the program, `ap` or `home`, that runs with these settings answers; null if nobody does.
pub(crate) fn ask(program: &str, settings: &Path, question: &str) -> Value {
    let text = std::fs::read_to_string(settings).unwrap();
    let table = text.parse::<toml::Table>().unwrap();
    let usual = format!("{program}-state");
    let state = table.get("state").map_or(usual.as_str(), |state| state.as_str().unwrap());
    at(&settings.with_file_name(state).join(program).with_extension("sock"), question)
}

/// The same by the socket itself.
pub(crate) fn at(socket: &Path, question: &str) -> Value {
    control::ask(socket, question).unwrap().unwrap_or_default()
}

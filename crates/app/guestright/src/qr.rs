//! QR codes on the terminal.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::qr::Code;
use std::io::IsTerminal as _;

/// On a terminal it sets its colours; elsewhere light is what is printed, for a dark background.
pub(crate) fn print(code: &Code, out: &mut Output) -> Outcome {
    let is_terminal = std::io::stdout().is_terminal();
    for line in code.lines() {
        // White on black (ECMA-48, "select graphic rendition").
        if is_terminal {
            writeln!(out, "\x1b[97;40m{}\x1b[0m", line.as_str())?;
        } else {
            writeln!(out, "{}", line.as_str())?;
        }
    }
    Ok(())
}

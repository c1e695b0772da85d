//! QR codes on the terminal.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::qr::Code;

/// On a terminal it sets its colours; elsewhere light is what is printed, for a dark background.
pub(crate) fn print(code: &Code, is_terminal: bool, out: &mut Output) -> Outcome {
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

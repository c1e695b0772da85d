//! Commands that the program of the researchers, `guestright-lab`, carries out in place of this one.

use anyhow::anyhow;
use guestright_cli::failure::Failure;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program's file.
const PROGRAM: &str = "guestright-lab";

/// Becomes that program, with these arguments; comes back only with the reason why it could not. The one beside our own
/// file comes first, so that a folder with both programs works wherever it is; then PATH is searched.
pub(crate) fn hand_over(arguments: impl IntoIterator<Item = OsString>) -> Failure {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|file| file.is_file());
    let program = beside.as_deref().map_or(OsStr::new(PROGRAM), |file| file.as_os_str());
    let error = Command::new(program).args(arguments).exec();
    if error.kind() == ErrorKind::NotFound {
        let missing = anyhow!("the program {PROGRAM}, which has this command, is not installed");
        return Failure::network(missing).hint(format!(
            "install the package {PROGRAM}; or build it from the sources, `cargo build --release --package {PROGRAM}`, \
             and put it beside this program or on PATH"
        ));
    }
    Failure::network(anyhow!(error).context(format!("start {}", program.to_string_lossy())))
}

/// Whether a command line, without the name of the program, is one of `call` with a profile.
pub(crate) fn is_profile_call(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--");
    loop {
        match words.next().as_deref() {
            // The options of the program itself, with their values.
            Some("--log") => drop(words.next()),
            Some(option) if option.starts_with("--log=") => {}
            Some("call") => return words.any(|word| word == "--profile" || word.starts_with("--profile=")),
            Some(_) | None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_with_a_profile_are_for_the_other_program() {
        let is_theirs =
            |line: &str| is_profile_call(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        for line in [
            "call 192.0.2.7 --profile boat",
            "call listen --answer auto --profile=pgpfone",
            "--log debug call bea --profile boat",
            "--log=call call --profile boat bea",
        ] {
            assert!(is_theirs(line), "{line}");
        }
        for line in
            ["call bea", "call bea -- --profile", "home run --profile x", "--log call", "", "call --profiles"]
        {
            assert!(!is_theirs(line), "{line}");
        }
    }
}

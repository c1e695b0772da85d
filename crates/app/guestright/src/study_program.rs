//! The program for studies, `guestright-lab`: commands that it has are handed over to it, as git and cargo do.

use anyhow::anyhow;
use guestright_cli::failure::Failure;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const NAME: &str = "guestright-lab";

/// Becomes that program, with these arguments. Returns only if that cannot be, with the reason.
pub(crate) fn hand_over(arguments: impl IntoIterator<Item = OsString>) -> Failure {
    let program = beside().unwrap_or_else(|| NAME.into());
    let error = Command::new(&program).args(arguments).exec();
    if error.kind() == ErrorKind::NotFound {
        return Failure::network(anyhow!("the program {NAME}, which has this command, is not installed"))
            .hint(format!(
                "put {NAME} beside this program or on the PATH; `cargo build --release -p {NAME}` makes it"
            ));
    }
    Failure::network(anyhow!("start {}: {error}", program.display()))
}

/// The one that was installed together with this program.
fn beside() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(NAME);
    path.is_file().then_some(path)
}

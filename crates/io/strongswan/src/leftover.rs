//! Programs that an earlier start left running, because the process that watched them was killed and they had no time
//! to end, or no kernel to tell them.
//!
//! A process id means little: the kernel gives it to others. So every program gets its directory in its environment,
//! and only a process that has it is ended.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::StrongswanError;
use crate::process::end_process;

/// The variable in a program's environment that names its directory.
pub(crate) const MARK: &str = "GUESTRIGHT_STRONGSWAN";

/// Notes which process is the program `name` of `directory`.
pub(crate) fn remember(directory: &Path, name: &str, pid: u32) -> Result<(), StrongswanError> {
    let path = file(directory, name);
    let written = fs::write(&path, pid.to_string());
    written.map_err(|error| StrongswanError::File { path, reason: error.to_string() })
}

/// Forgets it again.
pub(crate) fn forget(directory: &Path, name: &str) {
    // If it stays, it names a process that is not ours any more, and will not be ended.
    let _ = fs::remove_file(file(directory, name));
}

/// Ends the program `name` that is noted in `directory`, if it runs still and is ours.
pub(crate) fn end(directory: &Path, name: &str) -> Result<(), StrongswanError> {
    let path = file(directory, name);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StrongswanError::File { path, reason: error.to_string() }),
    };
    if let Some(pid) = text.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
        && is_ours(pid, directory)
    {
        tracing::info!(name, "ending what an earlier start left");
        end_process(pid).map_err(|_| StrongswanError::Leftover { pid: pid.as_raw_nonzero().get() })?;
    }
    forget(directory, name);
    Ok(())
}

fn is_ours(pid: Pid, directory: &Path) -> bool {
    let want = [MARK.as_bytes(), b"=", directory.as_os_str().as_bytes()].concat();
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    environment.is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|variable| variable == want))
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.process"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A program that runs for a directory. Killed and waited for when dropped.
    struct Program(Child);

    impl Program {
        fn start(of: &Path) -> Self {
            let mut command = Command::new("sleep");
            command.arg("600").env(MARK, of).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let program = Self(command.spawn().unwrap());
            // It has its environment a moment after its parent goes on.
            while !is_ours(program.pid(), of) {
                std::thread::yield_now();
            }
            program
        }

        fn pid(&self) -> Pid {
            Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap()
        }

        fn has_ended(&mut self) -> bool {
            self.0.try_wait().unwrap().is_some()
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn ends_what_is_ours_and_nothing_else() {
        let (ours, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        end(ours.path(), "charon").unwrap();

        let mut stranger = Program::start(other.path());
        remember(ours.path(), "charon", stranger.0.id()).unwrap();
        end(ours.path(), "charon").unwrap();
        assert!(!stranger.has_ended(), "a process of somebody else's was ended");

        let mut left = Program::start(ours.path());
        remember(ours.path(), "charon", left.0.id()).unwrap();
        end(ours.path(), "charon").unwrap();
        assert!(left.has_ended(), "ours still runs");
        assert!(!file(ours.path(), "charon").exists());
    }

    #[test]
    fn a_file_with_anything_in_it_ends_nobody() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["", "0", "-1", "99999999999", "charon"] {
            fs::write(file(directory.path(), "charon"), text).unwrap();
            assert_eq!(end(directory.path(), "charon"), Ok(()), "{text:?}");
        }
    }
}

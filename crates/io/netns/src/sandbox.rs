//! A process inside namespaces of its own, so that the kernel cleans up however it ends.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guestright_command::CommandError;

use crate::{NetnsError, tool};

/// Set for a program inside, by the command line that started it.
const MARK: &str = "GUESTRIGHT_SANDBOX";

/// What a sandbox must be able to do, tried for real by [`Sandbox::probe`].
const TRIAL: &str = "mount -t tmpfs guestright /run && mkdir -p /run/netns && ip netns add trial \
                     && ip netns exec trial ip link set lo up";

/// How this computer lets us make namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// We are root: network, mount and process namespaces are enough.
    Root,
    /// We are not: a user namespace around them makes us root inside, and only there.
    UserNamespace,
}

/// Starts programs inside namespaces of their own.
///
/// The program inside is process 1 of its process namespace. Two consequences: when it ends, the kernel kills
/// everything that it started; and a signal that it does not handle is ignored, so a program that Ctrl-C
/// should end installs a handler for `SIGINT` and `SIGTERM`.
#[derive(Debug)]
pub struct Sandbox;

impl Sandbox {
    /// Tries a sandbox for real and returns the mode that works.
    ///
    /// # Errors
    /// [`NetnsError::Refused`] says which switch of the kernel is in the way and how to turn it.
    pub fn probe() -> Result<Mode, NetnsError> {
        let mode = if rustix::process::geteuid().is_root() { Mode::Root } else { Mode::UserNamespace };
        for (program, argument) in [("ip", "-V"), ("setpriv", "--version"), ("mount", "--version")] {
            tool::run(program, &[argument])?;
        }
        let mut trial = Self::command(mode, Path::new("/bin/sh"), ["-c", TRIAL]);
        trial.stdin(Stdio::null());
        match tool::output(&mut trial) {
            Ok(_) => Ok(mode),
            Err(NetnsError::Command(CommandError::Failed { stderr, .. })) => Err(refusal(mode, &stderr)),
            Err(other) => Err(other),
        }
    }

    /// The command that runs `program` inside a new sandbox.
    ///
    /// The sandbox is killed when the *thread* that started it ends (that is what the kernel watches), so
    /// start it from the main thread. Inside, the program calls [`Sandbox::prepare`] first.
    pub fn command<I, S>(mode: Mode, program: &Path, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = tool::command("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare"]);
        finish(command, mode, program, arguments)
    }

    /// Becomes the sandbox: replaces this process by `unshare`, which runs `program` inside, dies with it, takes
    /// it along when killed, and exits as it exits. Returns only if `unshare` could not be started, with why.
    #[must_use]
    pub fn enter<I, S>(mode: Mode, program: &Path, arguments: I) -> NetnsError
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = finish(tool::command("unshare"), mode, program, arguments);
        let error = command.exec();
        tool::start_error(&command, &error)
    }

    /// Whether a sandbox started this process.
    #[must_use]
    pub fn inside() -> bool {
        std::env::var_os(MARK).is_some()
    }

    /// Makes a fresh sandbox usable: the loopback interface up, and an empty `/run` of our own, so that
    /// `ip netns add` touches nothing of the computer's.
    ///
    /// Files under the computer's `/run` are hidden from now on. Calling it twice is harmless.
    ///
    /// # Errors
    /// [`NetnsError::NotInside`] if this process is not the first one of a sandbox.
    pub fn prepare() -> Result<(), NetnsError> {
        if !Self::inside() || std::process::id() != 1 {
            return Err(NetnsError::NotInside);
        }
        for directory in run_directories() {
            if is_ours(&directory)? {
                continue;
            }
            let directory = directory.to_string_lossy();
            tool::run("mount", &["-t", "tmpfs", "-o", "mode=755,size=128m", "guestright", &directory])?;
        }
        tool::run("ip", &["link", "set", "lo", "up"])?;
        Ok(())
    }
}

fn finish<I, S>(mut command: Command, mode: Mode, program: &Path, arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    if mode == Mode::UserNamespace {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    command.arg(program).args(arguments).env(MARK, "1");
    command
}

/// `/run`, and `/var/run` where that is not the same place: iproute2 keeps its namespaces in the latter.
fn run_directories() -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::from("/run")];
    if let Ok(other) = fs::canonicalize("/var/run")
        && other != directories[0]
    {
        directories.push(other);
    }
    directories
}

/// Whether the innermost mount on `directory` is a tmpfs that we put there.
fn is_ours(directory: &Path) -> Result<bool, NetnsError> {
    let path = "/proc/self/mounts";
    let mounts = fs::read_to_string(path)
        .map_err(|error| NetnsError::File { path: path.to_owned(), reason: error.to_string() })?;
    let innermost = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .rfind(|fields| fields.get(1).is_some_and(|at| Path::new(at) == directory));
    Ok(innermost.is_some_and(|fields| fields[0] == "guestright"))
}

/// Finds the switch that stands in the way.
fn refusal(mode: Mode, stderr: &str) -> NetnsError {
    let switches = [
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
        ("/proc/sys/user/max_net_namespaces", "0", "sysctl -w user.max_net_namespaces=10000"),
    ];
    let reason = if stderr.is_empty() { "it gave no reason".to_owned() } else { stderr.to_owned() };
    let closed = switches.iter().find(|(path, value, _)| {
        (mode == Mode::UserNamespace || path.ends_with("net_namespaces"))
            && fs::read_to_string(path).is_ok_and(|found| found.trim() == *value)
    });
    let remedy = match (closed, mode) {
        (Some((path, value, cure)), Mode::UserNamespace) => {
            format!("{path} is {value}: run `sudo {cure}`, or run this command with sudo")
        }
        (Some((path, value, cure)), Mode::Root) => format!("{path} is {value}: run `{cure}`"),
        (None, Mode::UserNamespace) => {
            "Run this command with sudo; in a container, give it the SYS_ADMIN and NET_ADMIN capabilities"
                .to_owned()
        }
        (None, Mode::Root) => {
            "We are root, but without the SYS_ADMIN or NET_ADMIN capability; in a container, start it with \
             `--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt apparmor=unconfined`"
                .to_owned()
        }
    };
    NetnsError::Refused { reason, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_to_mount_over_the_computers_own_run() {
        assert_eq!(Sandbox::prepare(), Err(NetnsError::NotInside));
    }

    #[test]
    fn a_command_names_every_namespace() {
        let line = tool::line(&Sandbox::command(Mode::UserNamespace, Path::new("/bin/true"), ["x"]));
        assert_eq!(
            line,
            "setpriv --pdeathsig KILL unshare --user --map-root-user --net --mount --pid --fork --kill-child \
             --mount-proc -- /bin/true x"
        );
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let NetnsError::Refused { reason, remedy } = refusal(Mode::Root, "unshare failed: no") else {
            panic!("a refusal is a refusal");
        };
        assert_eq!(reason, "unshare failed: no");
        assert!(remedy.contains("SYS_ADMIN"), "{remedy}");
    }
}

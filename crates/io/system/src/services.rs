//! Programs that run from now on: started by systemd where it runs, and otherwise by us.

use crate::SystemError;
use crate::links;
use crate::tool::{run, succeeds};
use guestright_command::system_command;
use guestright_setup::Service;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take until it is ready (what systemd allows by default), and until it has ended. One that ends
/// before it is ready is not waited for.
const READY_MAX: Duration = Duration::from_secs(90);
const END_MAX: Timespec = Timespec { tv_sec: 15, tv_nsec: 0 };
/// How often a program that starts is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What gives a program a session of its own, and becomes it.
const NEW_SESSION: &str = "setsid";
/// So long a process may be between two programs, without a command line. Only disks are slow enough for some of it.
const EXEC_MAX: Duration = Duration::from_secs(2);

/// Whether it runs and is ready. `logs` is where [`start`] has its words written.
pub(crate) fn is_running(service: &Service, logs: &Path) -> bool {
    if service.by_systemd {
        succeeds("systemctl", &["--quiet", "is-active", &service.unit])
    } else {
        !processes(&service.command).is_empty()
            && (!service.says_when_ready || is_ready(service, logs))
            && service.isolated_ports.iter().all(|port| links::is_isolated(port).unwrap_or(false))
    }
}

/// Whether it has said that it is ready. Whoever removes the file later does not stop anybody.
fn is_ready(service: &Service, logs: &Path) -> bool {
    fs::read_to_string(words_path(service, logs)).map_or(true, |words| words.contains('\n'))
}

fn words_path(service: &Service, logs: &Path) -> PathBuf {
    logs.join(format!("{}.out", service.unit))
}

/// Starts it, and waits until it is ready. What it says goes to a file in `logs`, where systemd does not keep it.
pub(crate) fn start(service: &Service, logs: &Path) -> Result<(), SystemError> {
    if service.by_systemd {
        return run("systemctl", &["start", &service.unit]).map(drop);
    }
    // Left by a setup that was ended before this one was ready, or its ports were isolated.
    processes(&service.command).into_iter().for_each(end);
    if !service.says_when_ready {
        return start_in_background(service);
    }
    let (program, arguments) = split(&service.command);
    // Apart from what it logs: the reason why it ends is no sign that it is ready.
    let words = words_path(service, logs);
    let log = logs.join(format!("{}.log", service.unit));
    let (words_file, log_file) = (new_file(&words)?, new_file(&log)?);
    let failed = |error: std::io::Error| SystemError::Service {
        unit: service.unit.clone(),
        reason: error.to_string(),
    };
    // In a session of its own, so that it outlives this terminal. `setsid` becomes the program: the child is it.
    let mut command = system_command(NEW_SESSION);
    command.arg(program).args(arguments).current_dir("/").stdin(Stdio::null());
    command.stdout(words_file).stderr(log_file);
    let child = command.spawn().map_err(failed)?;
    await_first_word(service, child, &words, &log)
}

fn new_file(path: &Path) -> Result<fs::File, SystemError> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path);
    file.map_err(|error| SystemError::file("write", path, &error))
}

/// One that goes into the background by itself, and whose ports are isolated then. If they cannot be, it does not stay.
fn start_in_background(service: &Service) -> Result<(), SystemError> {
    let (program, arguments) = split(&service.command);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    run(program, &arguments)?;
    let deadline = Instant::now() + READY_MAX;
    service.isolated_ports.iter().try_for_each(|port| isolate(port, deadline)).inspect_err(|_| {
        processes(&service.command).into_iter().for_each(end);
    })
}

/// Isolates a port as soon as it is one: hostapd with a country first waits for the kernel, already in the background.
fn isolate(port: &str, deadline: Instant) -> Result<(), SystemError> {
    loop {
        match links::isolate(port) {
            Err(_) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
            result => return result,
        }
    }
}

fn await_first_word(
    service: &Service,
    mut child: Child,
    words: &Path,
    log: &Path,
) -> Result<(), SystemError> {
    let deadline = Instant::now() + READY_MAX;
    loop {
        let has_ended = child.try_wait().is_ok_and(|status| status.is_some());
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        if has_ended || Instant::now() > deadline {
            let last = read(log).lines().last().unwrap_or("it said nothing").to_owned();
            return Err(SystemError::Service { unit: service.unit.clone(), reason: last });
        }
        if read(words).contains('\n') {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Ends it, however it was started, and puts back what it has changed.
pub(crate) fn stop(
    unit: &str,
    by_systemd: bool,
    command: &[String],
    clean_up: Option<&[String]>,
) -> Result<(), SystemError> {
    if by_systemd && succeeds("systemctl", &["cat", unit]) {
        run("systemctl", &["stop", unit])?;
    }
    for pid in processes(command) {
        end(pid);
    }
    let Some(clean_up) = clean_up else { return Ok(()) };
    let (program, arguments) = split(clean_up);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    run(program, &arguments).map(drop)
}

/// Asks a process to end, waits, and does not ask any more.
fn end(pid: Pid) {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let _ = kill_process(pid, Signal::TERM);
    let mut events = [PollFd::new(&process, PollFlags::IN)];
    if poll(&mut events, Some(&END_MAX)) == Ok(0) {
        let _ = kill_process(pid, Signal::KILL);
        let _ = poll(&mut events, Some(&END_MAX));
    }
}

/// The processes with this command line, in our network and with our files. Nothing else is ever ended.
fn processes(command: &[String]) -> Vec<Pid> {
    let (program, arguments) = split(command);
    let program = Path::new(program).file_name();
    let Some(own) = surroundings("self") else { return Vec::new() };
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let Some(pid) = name.parse().ok().and_then(Pid::from_raw) else { continue };
        if surroundings(&name).as_ref() != Some(&own) || is_zombie(&name) {
            continue;
        }
        let Some(line) = command_line(&entry.path()) else { continue };
        let words: Vec<_> = line.trim_end_matches('\0').split('\0').collect();
        // It may be about to become the program: whoever was to wait for that has been killed.
        let words = if is_new_session(words[0]) { &words[1..] } else { &words[..] };
        let is_same = words.first().is_some_and(|first| Path::new(first).file_name() == program)
            && words[1..].iter().copied().eq(arguments.iter().map(String::as_str));
        if is_same {
            found.push(pid);
        }
    }
    found
}

fn is_new_session(word: &str) -> bool {
    Path::new(word).file_name() == Some(NEW_SESSION.as_ref())
}

/// A process's command line, as in `/proc`; nothing if it has gone, or is a thread of the kernel.
///
/// Between two programs a process has the second one's file and an empty line (execve(2)): then it is looked at again.
fn command_line(process: &Path) -> Option<String> {
    let deadline = Instant::now() + EXEC_MAX;
    loop {
        let line = fs::read(process.join("cmdline")).ok()?;
        if !line.is_empty() {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
        fs::read_link(process.join("exe")).ok()?;
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process's network and root directory: a container that shares the network has another root.
fn surroundings(process: &str) -> Option<(PathBuf, u64, u64)> {
    let network = fs::read_link(format!("/proc/{process}/ns/net")).ok()?;
    let root = fs::metadata(format!("/proc/{process}/root/")).ok()?;
    Some((network, root.dev(), root.ino()))
}

/// One that has ended and whose parent has not asked for it (proc(5), the third field of `stat`).
fn is_zombie(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

fn split(command: &[String]) -> (&str, &[String]) {
    command.split_first().map_or(("", &[][..]), |(program, arguments)| (program.as_str(), arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    fn service(command: &[&str]) -> Service {
        Service {
            unit: "test".to_owned(),
            by_systemd: false,
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            clean_up: None,
            says_when_ready: true,
            isolated_ports: Vec::new(),
        }
    }

    #[test]
    fn what_is_about_to_become_the_program_is_found_and_ended() {
        let mut child = Command::new("sleep").arg0("/usr/bin/setsid").arg("613").spawn().unwrap();
        // `setsid 613` would become `613`.
        let command = ["613".to_owned()];
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        assert_eq!(processes(&command), [pid]);
        assert_eq!(processes(&["/usr/bin/614".to_owned()]), []);
        stop("test", false, &command, None).unwrap();
        child.wait().unwrap();
        assert_eq!(processes(&command), []);
    }

    #[test]
    fn one_that_was_left_before_it_was_ready_is_started_again() {
        let logs = tempfile::tempdir().unwrap();
        let ready = logs.path().join("ready");
        fs::write(&ready, "").unwrap();
        let service = service(&["tail", "-f", "-s", "0.01", ready.to_str().unwrap()]);
        let mut left =
            Command::new("tail").args(&service.command[1..]).stdout(Stdio::null()).spawn().unwrap();
        fs::write(words_path(&service, logs.path()), "").unwrap();
        assert!(!is_running(&service, logs.path()), "it has not said that it is ready");
        fs::write(&ready, "ready\n").unwrap();
        start(&service, logs.path()).unwrap();
        assert!(left.try_wait().unwrap().is_some(), "there is only one of them");
        assert!(is_running(&service, logs.path()));
        fs::remove_file(words_path(&service, logs.path())).unwrap();
        assert!(is_running(&service, logs.path()), "it goes on when its log is removed");
        stop("test", false, &service.command, None).unwrap();
        assert!(!is_running(&service, logs.path()));
    }
}

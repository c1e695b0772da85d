//! What a process can still do once it has given up everything but its needs.
//!
//! Each case is a process of its own with one thread: only such a one can be confined, and libtest always has two. So
//! this file has its own `main`, which starts itself again for each case and prints what libtest would.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what broke by panicking, and prints its results"
)]

use std::net::{TcpListener, UdpSocket};
use std::process::{Command, ExitCode, Stdio};

use guestright_privileges::{CapabilitySet, Needs, PrivilegesError, confine};
use rustix::io::Errno;

/// Names the case, for the process that is to be confined.
const CASE: &str = "GUESTRIGHT_CONFINED";
const NETWORK: Needs =
    Needs { network: true, low_ports: false, files_of_others: false, strongswan: false, l2tp: false };

/// As whom a case runs.
#[derive(Clone, Copy)]
enum User {
    /// Whoever runs the tests.
    Own,
    /// Root with all capabilities.
    Root,
    /// Nobody in particular, as a unit with `User=` and `AmbientCapabilities=` starts a program.
    Unit,
    /// Nobody in particular, without any capability.
    Nobody,
}

const CASES: [(&str, User, fn()); 5] = [
    (
        "root_and_its_children_keep_what_is_needed_and_nothing_else",
        User::Root,
        root_and_its_children_keep_what_is_needed_and_nothing_else,
    ),
    ("another_users_children_keep_what_is_needed", User::Unit, another_users_children_keep_what_is_needed),
    (
        "threads_that_have_more_are_not_left_behind_and_others_are_confined_too",
        User::Root,
        threads_that_have_more_are_not_left_behind_and_others_are_confined_too,
    ),
    ("who_has_no_privileges_runs_on_without", User::Nobody, who_has_no_privileges_runs_on_without),
    (
        "calls_that_nobody_needs_are_refused_and_ordinary_ones_are_not",
        User::Own,
        calls_that_nobody_needs_are_refused_and_ordinary_ones_are_not,
    ),
];

fn main() -> ExitCode {
    if let Ok(case) = std::env::var(CASE) {
        let (_, _, run) = CASES.iter().find(|(name, ..)| *name == case).unwrap();
        run();
        return ExitCode::SUCCESS;
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for (name, user, _) in CASES.iter().filter(|(name, ..)| name.contains(&wanted)) {
        let Some(mut command) = command(*user) else {
            println!("test {name} ... ignored, it needs root");
            ignored += 1;
            continue;
        };
        let is_good = command.env(CASE, name).stdin(Stdio::null()).status().unwrap().success();
        println!("test {name} ... {}", if is_good { "ok" } else { "FAILED" });
        if is_good { passed += 1 } else { failed += 1 }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out"
    );
    ExitCode::from(u8::from(failed > 0))
}

/// This program as somebody; nothing where that takes root and we are not.
fn command(user: User) -> Option<Command> {
    let words: &[&str] = match user {
        User::Own | User::Root => &[],
        User::Unit => &[
            "--inh-caps",
            "-all,+net_admin,+net_raw",
            "--ambient-caps",
            "-all,+net_admin,+net_raw",
            "--bounding-set",
            "-all,+net_admin,+net_raw",
        ],
        User::Nobody => &["--inh-caps", "-all"],
    };
    let program = std::env::current_exe().unwrap();
    if matches!(user, User::Own) {
        return Some(Command::new(program));
    }
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let mut command = Command::new("setpriv");
    if !matches!(user, User::Root) {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    command.args(words).arg("--").arg(program);
    Some(command)
}

/// A line of a thread's status in /proc, without its name.
fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("proc(5) has it").trim().to_owned()
}

fn own_status() -> String {
    std::fs::read_to_string("/proc/thread-self/status").unwrap()
}

fn child_status() -> String {
    let output = Command::new("cat").arg("/proc/self/status").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn set(status: &str, name: &str) -> CapabilitySet {
    CapabilitySet::from_bits_retain(u64::from_str_radix(&field(status, name), 16).unwrap())
}

/// Makes a system call with these arguments and gives its error.
fn error_of(number: i64, arguments: [i64; 3]) -> Option<Errno> {
    let [first, second, third] = arguments;
    // SAFETY: none of the calls below reads or writes memory of ours: the arguments are numbers, or null for addresses.
    #[expect(unsafe_code, reason = "a call that is to be refused has no safe name")]
    let result = unsafe { libc::syscall(number, first, second, third, 0, 0, 0) };
    (result == -1).then(|| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap())
}

fn root_and_its_children_keep_what_is_needed_and_nothing_else() {
    let confinement = confine(NETWORK).unwrap();
    assert_eq!((confinement.kept, confinement.filtered), (CapabilitySet::NET_ADMIN, true));
    let of_thread = std::thread::spawn(own_status).join().unwrap();
    for status in [own_status(), of_thread, child_status()] {
        for name in ["CapPrm", "CapEff", "CapBnd"] {
            assert_eq!(set(&status, name), CapabilitySet::NET_ADMIN, "{name}: {status}");
        }
        for name in ["CapInh", "CapAmb"] {
            assert_eq!(set(&status, name), CapabilitySet::empty(), "{name}: {status}");
        }
        assert_eq!([field(&status, "NoNewPrivs"), field(&status, "Seccomp")], ["1", "2"], "{status}");
    }
    // What is given up stays so.
    let more = rustix::thread::CapabilitySets {
        effective: CapabilitySet::NET_ADMIN,
        permitted: CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN,
        inheritable: CapabilitySet::empty(),
    };
    assert_eq!(rustix::thread::set_capabilities(None, more), Err(Errno::PERM));
}

fn another_users_children_keep_what_is_needed() {
    assert_eq!(confine(NETWORK).unwrap().kept, CapabilitySet::NET_ADMIN);
    for status in [own_status(), child_status()] {
        for name in ["CapPrm", "CapEff", "CapInh", "CapAmb"] {
            assert_eq!(set(&status, name), CapabilitySet::NET_ADMIN, "{name}: {status}");
        }
        assert_eq!([field(&status, "NoNewPrivs"), field(&status, "Seccomp")], ["1", "2"], "{status}");
    }
}

fn threads_that_have_more_are_not_left_behind_and_others_are_confined_too() {
    let (end, ended) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || ended.recv().unwrap());
    assert_eq!(confine(NETWORK), Err(PrivilegesError::Threads { got: 1 }));
    end.send(()).unwrap();
    other.join().unwrap();
    // A joined thread may still be listed for a moment.
    while std::fs::read_dir("/proc/self/task").unwrap().count() > 1 {
        std::thread::yield_now();
    }
    confine(NETWORK).unwrap();
    let (ask, asked) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        asked.recv().unwrap();
        error_of(libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_DGRAM.into(), 0])
    });
    // Less than before, while a thread is there that has no more than that: what is refused holds for it too.
    assert_eq!(confine(NETWORK).unwrap().kept, CapabilitySet::NET_ADMIN);
    assert_eq!(confine(Needs::default()), Err(PrivilegesError::Threads { got: 1 }));
    ask.send(()).unwrap();
    assert_eq!(other.join().unwrap(), None, "it opens sockets as before");
}

fn who_has_no_privileges_runs_on_without() {
    let confinement = confine(NETWORK).unwrap();
    assert_eq!((confinement.kept, confinement.filtered), (CapabilitySet::empty(), true));
    assert_eq!(field(&own_status(), "Seccomp"), "2");
}

fn calls_that_nobody_needs_are_refused_and_ordinary_ones_are_not() {
    let any = u32::MAX.into();
    let refused = [
        ("personality", libc::SYS_personality, [any, 0, 0]),
        ("keyctl", libc::SYS_keyctl, [any, 0, 0]),
        ("io_uring_setup", libc::SYS_io_uring_setup, [0, 0, 0]),
        ("process_vm_readv", libc::SYS_process_vm_readv, [0, 0, 0]),
        ("move_pages", libc::SYS_move_pages, [0, 0, 0]),
        ("mount", libc::SYS_mount, [0, 0, 0]),
        ("ioctl TIOCSTI", libc::SYS_ioctl, [-1, 0x5412, 0]),
        ("a socket of AF_ALG", libc::SYS_socket, [38, any, 0]),
        ("a socket of AF_VSOCK", libc::SYS_socket, [40, any, 0]),
        ("unshare of the user namespace", libc::SYS_unshare, [0x1000_0000 | 1, 0, 0]),
        ("clone with a network namespace", libc::SYS_clone, [0x4000_0000 | 0x0001_0000, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        ("personality of x32", libc::SYS_personality | 0x4000_0000, [any, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        ("ptrace of x32", 521 | 0x4000_0000, [any, 0, 0]),
    ];
    for (what, number, arguments) in refused {
        let before = error_of(number, arguments);
        assert_ne!(before, Some(Errno::PERM), "{what}: refused before, so this shows nothing");
    }
    assert!(confine(Needs::default()).unwrap().filtered);
    for (what, number, arguments) in refused {
        assert_eq!(error_of(number, arguments), Some(Errno::PERM), "{what}");
    }
    assert_eq!(error_of(libc::SYS_clone3, [0, 0, 0]), Some(Errno::NOSYS), "its flags cannot be read");
    // Threads, children, sockets and time are as before.
    std::thread::spawn(|| ()).join().unwrap();
    assert!(Command::new("sh").args(["-c", "ls /proc/self/fd | cat"]).output().unwrap().status.success());
    TcpListener::bind("127.0.0.1:0").unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1));
}

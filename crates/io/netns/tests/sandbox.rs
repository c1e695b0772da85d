//! Worlds on the real kernel, as root and as an unprivileged user, and what is left of them: nothing.
//!
//! Every test starts itself again inside a sandbox; there it finds itself `inside` and does its work.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what broke by panicking, and prints what it measured"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guestright_netns::{LinkOptions, Mode, NetnsError, Sandbox, World};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, recvfrom, sendto, socket_with,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Long enough for a crowded computer; nothing waits for it unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);
const NOBODY: &str = "65534";
/// Tells the victim whether to start a sandbox or to become one.
const HOW: &str = "GUESTRIGHT_TEST_HOW";

#[test]
fn hosts_ping_through_a_router_as_root() {
    if inside_as_root("hosts_ping_through_a_router_as_root") {
        ping_through_a_router();
    }
}

#[test]
fn hosts_ping_through_a_router_without_root() {
    if inside_as_nobody("hosts_ping_through_a_router_without_root") {
        ping_through_a_router();
    }
}

#[test]
fn isolated_visitors_reach_the_bridge_and_not_each_other() {
    if !inside_as_nobody("isolated_visitors_reach_the_bridge_and_not_each_other") {
        return;
    }
    let world = wireless_network(true);
    assert!(ping(&world, "w1", Ipv4Addr::new(10, 77, 0, 1), PATIENCE), "the access point answers");
    let short = Duration::from_millis(300);
    assert!(!ping(&world, "w1", Ipv4Addr::new(10, 77, 0, 3), short), "another visitor does not");
    drop(world);
    let world = wireless_network(false);
    assert!(ping(&world, "w1", Ipv4Addr::new(10, 77, 0, 3), PATIENCE), "without isolation it does");
}

#[test]
fn without_offload_no_frame_is_larger_than_the_cable_carries() {
    if !inside_as_nobody("without_offload_no_frame_is_larger_than_the_cable_carries") {
        return;
    }
    for (segmentation_offload, expected) in [(false, 1_514), (true, u64::MAX)] {
        let world = pair(&LinkOptions { mtu: Some(1_500), segmentation_offload });
        transfer(&world, 4_000_000);
        let counters = world.counters("a", "eth0").unwrap();
        let mean = counters.sent_bytes / counters.sent_frames;
        println!("offload {segmentation_offload}: mean frame {mean} bytes");
        assert!(mean <= expected, "{counters:?}");
        assert!(segmentation_offload || mean > 1_300, "{counters:?}");
        assert!(
            !segmentation_offload || mean > 1_514,
            "super-frames are what the switch is about: {counters:?}"
        );
    }
}

#[test]
fn a_process_runs_on_its_host_and_ends_when_told() {
    if !inside_as_nobody("a_process_runs_on_its_host_and_ends_when_told") {
        return;
    }
    let world = pair(&LinkOptions::default());
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.log");
    let mut process =
        world.spawn("a", "sh", ["-c", "ip -br address show eth0; exec sleep 1000"], &log).unwrap();
    until(|| process.output().contains("10.77.0.1/24"));
    process.terminate().unwrap();
    assert_eq!(process.wait().unwrap().to_string(), "signal: 15 (SIGTERM)");
    process.terminate().unwrap(); // Once it has ended, nothing is signalled.

    let process = world.spawn("a", "sleep", ["1000"], &log).unwrap();
    let at = format!("/proc/{}", process.id());
    assert!(Path::new(&at).exists());
    drop(process);
    assert!(!Path::new(&at).exists(), "dropped means gone");
}

#[test]
fn errors_name_the_command_and_its_words() {
    if !inside_as_nobody("errors_name_the_command_and_its_words") {
        return;
    }
    let mut world = World::new("gr-fwtest-").unwrap();
    world.add_host("a").unwrap();
    assert_eq!(world.add_host("a"), Err(NetnsError::DuplicateHost { got: "a".to_owned() }));
    let error = world.up("a", "eth7").unwrap_err().to_string();
    assert!(error.contains("ip -n gr-fwtest-a link set eth7 up"), "{error}");
    assert!(error.contains("Cannot find device"), "{error}");
    let error = world.sysctl("a", "net.ipv4.no_such", "1").unwrap_err().to_string();
    assert!(error.contains("/proc/sys/net/ipv4/no_such"), "{error}");
    drop(world);
    let left = fs::read_dir("/run/netns").unwrap().count();
    assert_eq!(left, 0, "a dropped world leaves no namespace");
}

#[test]
fn a_refused_sandbox_names_the_switch_to_turn() {
    if !inside_as_nobody("a_refused_sandbox_names_the_switch_to_turn") {
        return;
    }
    Sandbox::probe().expect("a sandbox in a sandbox");
    fs::write("/proc/sys/user/max_net_namespaces", "0").unwrap(); // This sandbox's own limit.
    let error = Sandbox::probe().unwrap_err().to_string();
    assert!(error.contains("/proc/sys/user/max_net_namespaces is 0: run `sysctl -w"), "{error}");
}

#[test]
fn kill_9_leaves_nothing_as_root() {
    if rustix::process::geteuid().is_root() {
        nothing_is_left_after_kill_9(false, "spawn");
        nothing_is_left_after_kill_9(false, "enter");
    }
}

#[test]
fn kill_9_leaves_nothing_without_root() {
    nothing_is_left_after_kill_9(true, "spawn");
    nothing_is_left_after_kill_9(true, "enter");
}

/// Not a test of its own: what the two above start, and kill.
#[test]
#[ignore = "started and killed by the kill_9 tests"]
fn victim() {
    if Sandbox::inside() {
        Sandbox::prepare().unwrap();
        let world = pair(&LinkOptions::default());
        let folder = tempfile::tempdir().unwrap();
        let sleepers = ["a", "b"].map(|host| {
            let log = folder.path().join(host);
            world.spawn(host, "sh", ["-c", "echo up; exec sleep 1000"], &log).unwrap()
        });
        until(|| sleepers.iter().all(|sleeper| sleeper.output() == "up\n"));
        fs::remove_dir_all(folder.path()).unwrap(); // Nobody will be there to do it later.
        println!("READY");
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let mode = Sandbox::probe().unwrap();
    let arguments = ["--exact", "victim", "--ignored", "--nocapture"];
    if std::env::var_os(HOW).is_some_and(|how| how == "enter") {
        panic!("{}", Sandbox::enter(mode, &own_program(), arguments));
    }
    let mut command = Sandbox::command(mode, &own_program(), arguments);
    command.status().unwrap();
}

fn nothing_is_left_after_kill_9(as_nobody: bool, how: &str) {
    let program = program_for(as_nobody);
    let mut outer = outer_command(&program, "victim", as_nobody);
    outer.args(["--ignored"]).env(HOW, how).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = outer.spawn().unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("READY"));
    assert!(ready, "the world was built");

    let pid = i32::try_from(child.id()).unwrap();
    let family = descendants(pid);
    let networks: BTreeSet<PathBuf> =
        family.iter().filter_map(|pid| fs::read_link(format!("/proc/{pid}/ns/net")).ok()).collect();

    assert!(networks.len() >= 3, "the sandbox's, one for each host: {networks:?}");
    let ours = fs::read_link("/proc/self/ns/net").unwrap();
    let watched: Vec<_> =
        family.iter().filter_map(|pid| pidfd_open(Pid::from_raw(*pid)?, PidfdFlags::empty()).ok()).collect();

    child.kill().unwrap();
    child.wait().unwrap();
    for process in &watched {
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "a process outlived the kill");
    }
    until(|| {
        processes().iter().all(|(pid, _)| {
            fs::read_link(format!("/proc/{pid}/ns/net"))
                .map_or(true, |network| network == ours || !networks.contains(&network))
        })
    });
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("gr-fwtest-"), "a mount is left: {mounts}");
    assert!(!Path::new("/run/netns/gr-fwtest-a").exists(), "a name is left");
}

fn ping_through_a_router() {
    let mut world = World::new("gr-fwtest-").unwrap();
    for host in ["a", "router", "b"] {
        world.add_host(host).unwrap();
    }
    world.link(("a", "eth0"), ("router", "lan0"), &LinkOptions::default()).unwrap();
    world.link(("b", "eth0"), ("router", "wan0"), &LinkOptions::default()).unwrap();
    for (host, interface, address) in [
        ("a", "eth0", "10.77.0.2/24"),
        ("router", "lan0", "10.77.0.1/24"),
        ("router", "wan0", "203.0.113.1/24"),
        ("b", "eth0", "203.0.113.2/24"),
    ] {
        world.address(host, interface, address).unwrap();
    }
    world.route("a", "default", "10.77.0.1").unwrap();
    world.route("b", "default", "203.0.113.1").unwrap();
    world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
    assert!(ping(&world, "a", Ipv4Addr::new(203, 0, 113, 2), PATIENCE));
}

/// An access point with a bridge and two visitors on it.
fn wireless_network(isolated: bool) -> World {
    let mut world = World::new("gr-fwtest-").unwrap();
    for host in ["ap", "w1", "w2"] {
        world.add_host(host).unwrap();
    }
    world.add_bridge("ap", "visitors").unwrap();
    world.address("ap", "visitors", "10.77.0.1/24").unwrap();
    for (host, port, address) in [("w1", "port1", "10.77.0.2/24"), ("w2", "port2", "10.77.0.3/24")] {
        world.link((host, "eth0"), ("ap", port), &LinkOptions::default()).unwrap();
        world.attach("ap", port, "visitors", isolated).unwrap();
        world.address(host, "eth0", address).unwrap();
    }
    world
}

fn pair(options: &LinkOptions) -> World {
    let mut world = World::new("gr-fwtest-").unwrap();
    world.add_host("a").unwrap();
    world.add_host("b").unwrap();
    world.link(("a", "eth0"), ("b", "eth0"), options).unwrap();
    world.address("a", "eth0", "10.77.0.1/24").unwrap();
    world.address("b", "eth0", "10.77.0.2/24").unwrap();
    world
}

/// Sends bytes from `a` to `b` over TCP and waits until all have arrived.
fn transfer(world: &World, bytes: usize) {
    let listener = world.within("b", || TcpListener::bind("10.77.0.2:7777")).unwrap().unwrap();
    let mut sender = world.within("a", || TcpStream::connect("10.77.0.2:7777")).unwrap().unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.write_all(&vec![7; bytes]).unwrap());
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), bytes);
    });
}

/// Sends one ICMP echo request (RFC 792) and waits for its answer.
fn ping(world: &World, host: &str, to: Ipv4Addr, patience: Duration) -> bool {
    let socket = world.within(host, || {
        let flags = SocketFlags::CLOEXEC;
        socket_with(AddressFamily::INET, SocketType::RAW, flags, Some(ipproto::ICMP)).unwrap()
    });
    let socket = socket.unwrap();
    // Type 8, code 0, checksum, identifier 0x4752, sequence 1; the sum of all words is 0xffff.
    let request = [8, 0, 0xb0, 0xac, 0x47, 0x52, 0, 1];
    let address = SocketAddr::V4(SocketAddrV4::new(to, 0));
    sendto(&socket, &request, SendFlags::empty(), &address).unwrap();
    let deadline = Instant::now() + patience;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        let mut fds = [PollFd::new(&socket, PollFlags::IN)];
        if poll(&mut fds, Some(&Timespec::try_from(left).unwrap())).unwrap() == 0 {
            return false;
        }
        let mut buffer = [MaybeUninit::uninit(); 2_048];
        let ((answer, _), ..) = recvfrom(&socket, &mut buffer, RecvFlags::empty()).unwrap();
        // A raw socket shows the IPv4 header (20 bytes) too; type 0 is an echo reply.
        if answer.len() >= 28 && answer[20] == 0 && answer[24..28] == request[4..8] {
            return true;
        }
    }
    false
}

/// Inside: prepares the sandbox and says yes. Outside: runs the test of this name inside, and says no.
fn inside_as_root(test: &str) -> bool {
    if !Sandbox::inside() && !rustix::process::geteuid().is_root() {
        assert!(std::env::var_os("CI").is_none(), "where changes are judged, the tests as root run too");
        eprintln!("not root: only the tests without root run");
        return false;
    }
    inside(test, false)
}

fn inside_as_nobody(test: &str) -> bool {
    inside(test, true)
}

fn inside(test: &str, as_nobody: bool) -> bool {
    if Sandbox::inside() {
        Sandbox::prepare().unwrap();
        Sandbox::prepare().unwrap(); // Twice is harmless.
        return true;
    }
    let program = program_for(as_nobody);
    let mode = if as_nobody { Mode::UserNamespace } else { Mode::Root };
    Sandbox::probe().expect("this computer can make sandboxes");
    let sandbox = Sandbox::command(mode, &program.path, ["--exact", test, "--nocapture"]);
    let output = as_user(&sandbox, as_nobody).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "inside the sandbox: {text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

/// The command that runs one of our tests, as nobody if asked and we are root.
fn outer_command(program: &Program, test: &str, as_nobody: bool) -> Command {
    let mut command = Command::new(&program.path);
    command.args(["--exact", test, "--nocapture"]);
    as_user(&command, as_nobody)
}

fn as_user(command: &Command, as_nobody: bool) -> Command {
    if !as_nobody || !rustix::process::geteuid().is_root() {
        return again(command);
    }
    let mut wrapped = Command::new("setpriv");
    wrapped.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    wrapped.env("TMPDIR", "/tmp").current_dir("/");
    wrapped
}

fn again(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    copy.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        copy.current_dir(folder);
    }
    copy
}

fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// This test program; for nobody, a copy that nobody may read, for the target folder may be root's alone.
struct Program {
    path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

fn program_for(as_nobody: bool) -> Program {
    if !as_nobody || !rustix::process::geteuid().is_root() {
        return Program { path: own_program(), _folder: None };
    }
    let folder = tempfile::Builder::new().prefix("gr-fwtest-").tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("test");
    // A process of its own writes it. Were it this one, what another thread starts meanwhile would hold the file open for
    // writing until it runs its own program, and nobody could run the copy (ETXTBSY).
    assert!(Command::new("cp").arg("-p").arg(own_program()).arg(&path).status().unwrap().success());
    Program { path, _folder: Some(folder) }
}

/// Every process and its parent.
fn processes() -> Vec<(i32, i32)> {
    let parent = |pid: i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, parent(pid)?))).collect()
}

fn descendants(of: i32) -> BTreeSet<i32> {
    let all = processes();
    let mut family = BTreeSet::from([of]);
    loop {
        let before = family.len();
        family.extend(
            all.iter().filter(|(_, parent)| family.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if family.len() == before {
            return family;
        }
    }
}

fn until(mut what: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !what() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

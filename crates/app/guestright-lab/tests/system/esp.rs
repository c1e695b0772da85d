//! `guestright-lab tunnel esp`: two ends in two network namespaces, for every suite.
//!
//! ```text
//!   one 192.0.2.1 ── veth ── 192.0.2.2 two
//!    esp0 10.93.0.1          esp0 10.93.0.2
//! ```

use crate::guestright_lab;
use guestright_netns::{LinkOptions, World};
use guestright_testbed::{PATIENCE, Program, inside, succeeded, until};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

const SUITES: [&str; 6] = [
    "3des-cbc+hmac-sha1-96",
    "aes-128-cbc+hmac-md5-96",
    "aes-128-cbc+hmac-sha1-96",
    "aes-128-gcm",
    "aes-256-gcm",
    "chacha20-poly1305",
];
/// Enough for segmentation offload, little enough for triple DES.
const TRANSFER_BYTES: usize = 2 << 20;

/// Two hosts and a wire.
struct Ends {
    world: World,
    folder: tempfile::TempDir,
}

impl Ends {
    fn build() -> Self {
        let mut world = World::new("esp-").unwrap();
        for host in ["one", "two"] {
            world.add_host(host).unwrap();
        }
        let wire = LinkOptions { mtu: None, segmentation_offload: false };
        world.link(("one", "eth0"), ("two", "eth0"), &wire).unwrap();
        world.address("one", "eth0", "192.0.2.1/24").unwrap();
        world.address("two", "eth0", "192.0.2.2/24").unwrap();
        Self { world, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes keys for both ends, over those of the last time.
    fn keys(&self, arguments: &[&str]) {
        for name in ["one.toml", "two.toml", "one.sequence", "two.sequence"] {
            let _ = std::fs::remove_file(self.path(name));
        }
        let mut command = guestright_lab();
        command.args(["tunnel", "esp-keys", "--one", "192.0.2.1:4500"]).args(arguments);
        succeeded(&command.args(["one.toml", "two.toml"]).current_dir(self.folder.path()).output().unwrap());
    }

    fn start(&self, host: &str) -> Program {
        let mut command = self.world.command(host, crate::PROGRAM).unwrap();
        command.args(["tunnel", "esp", "--config"]).arg(self.path(&format!("{host}.toml")));
        let program = Program::start(&mut command, &self.path(&format!("{host}.log")));
        program.hear_line("to be up", |line| line.starts_with("esp0 is up"));
        program
    }

    fn ping(&self, from: &str, to: &str) -> bool {
        let mut command = self.world.command(from, "ping").unwrap();
        command.args(["-n", "-c", "1", "-W", "1", to]);
        command.output().unwrap().status.success()
    }

    /// Carries bytes from one to two and back, and looks at them.
    fn transfer(&self) {
        let address = SocketAddr::from(([10, 93, 0, 2], 7));
        let listener = self.world.within("two", || TcpListener::bind(address).unwrap()).unwrap();
        let echo = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
        });
        let connect = || TcpStream::connect_timeout(&address, PATIENCE).unwrap();
        let mut stream = self.world.within("one", connect).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let sent: Vec<u8> = (0..=250).cycle().take(TRANSFER_BYTES).collect();
        stream.write_all(&sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == sent, "{} bytes came back of {}", received.len(), sent.len());
        echo.join().unwrap();
    }
}

fn finish(mut program: Program) -> String {
    program.signal(Signal::TERM);
    let last = program.hear_line("to sum up", |line| line.contains(" packets in, "));
    assert!(program.wait().success(), "{}", program.log());
    last
}

fn carries(arguments: &[&str]) {
    let ends = Ends::build();
    for suite in SUITES {
        let mut all = vec!["--suite", suite, "--legacy-paper", "--two", "192.0.2.2:4500"];
        all.extend(arguments);
        ends.keys(&all);
        let (two, one) = (ends.start("two"), ends.start("one"));
        until("a ping", || ends.ping("one", "10.93.0.2"));
        ends.transfer();
        for program in [one, two] {
            let counts = finish(program);
            assert!(!counts.starts_with("0 packets in"), "{suite}: {counts}");
        }
    }
}

#[test]
fn carries_every_suite_in_udp() {
    if inside("esp::carries_every_suite_in_udp") {
        carries(&["--extended-sequence"]);
    }
}

#[test]
fn carries_paper_a_s_stack_in_every_suite() {
    if inside("esp::carries_paper_a_s_stack_in_every_suite") {
        carries(&["--mode", "l2tp"]);
    }
}

#[test]
fn carries_every_suite_right_behind_the_ip_header() {
    if inside("esp::carries_every_suite_right_behind_the_ip_header") {
        carries(&["--encapsulation", "raw"]);
    }
}

#[test]
fn carries_paper_a_s_stack_right_behind_the_ip_header() {
    if inside("esp::carries_paper_a_s_stack_right_behind_the_ip_header") {
        carries(&["--encapsulation", "raw", "--mode", "l2tp"]);
    }
}

/// The end that learns where the other is, and both after one was killed without a word.
#[test]
fn an_end_that_was_killed_comes_back_without_repeating_a_number() {
    if !inside("esp::an_end_that_was_killed_comes_back_without_repeating_a_number") {
        return;
    }
    let ends = Ends::build();
    ends.keys(&["--suite", "aes-256-gcm"]);
    // Only the second knows the first, and says so at once.
    let mut one = ends.start("one");
    let two = ends.start("two");
    until("a ping to who began", || ends.ping("one", "10.93.0.2"));
    ends.transfer();
    let reserved = || std::fs::read_to_string(ends.path("one.sequence")).unwrap();
    let before: u64 = reserved().trim().parse().unwrap();
    one.kill();
    let one = ends.start("one");
    let killed = Instant::now();
    until("a ping after the crash", || ends.ping("two", "10.93.0.1"));
    println!("a ping goes through {:?} after one end was killed", killed.elapsed());
    let after: u64 = reserved().trim().parse().unwrap();
    assert!(after >= before + (1 << 19), "{before} was reserved, and now {after}");
    ends.transfer();
    // A second program with the same numbers would repeat them.
    let mut command = ends.world.command("one", crate::PROGRAM).unwrap();
    let refused = command.args(["tunnel", "esp", "--config"]).arg(ends.path("one.toml")).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("in use"));
    for program in [one, two] {
        let log = program.log();
        finish(program);
        let keys = std::fs::read_to_string(ends.path("one.toml")).unwrap();
        for key in keys.lines().filter_map(|line| line.strip_prefix("encryption_key = ")) {
            assert!(key.len() > 60 && !log.contains(key.trim_matches('"')), "a key is in the log");
        }
    }
}

#[test]
fn keys_are_made_once_and_the_papers_suites_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = guestright_lab();
        command.args(["tunnel", "esp-keys"]).args(arguments).args(["one.toml", "two.toml"]);
        command.current_dir(folder.path()).output().unwrap()
    };
    let refused = run(&["--suite", "aes-128-cbc+hmac-md5-96"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--legacy-paper"), "{refused:?}");
    succeeded(&run(&["--one", "192.0.2.1:4500", "--two", "192.0.2.2:4500"]));
    assert!(!run(&[]).status.success(), "it has overwritten keys");
    let mut command = guestright_lab();
    command.args(["tunnel", "esp", "--kernel-commands", "--config", "two.toml"]);
    let commands = succeeded(&command.current_dir(folder.path()).output().unwrap());
    assert!(commands.contains("ip xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp"), "{commands}");
    assert!(commands.contains("encap espinudp 4500 4500 0.0.0.0"), "{commands}");
    assert!(commands.contains("src 10.93.0.2/32 dst 10.93.0.1/32 dir out"), "{commands}");
}

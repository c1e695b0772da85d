//! `guestright mos --live` beside tcpdump, at one end of a call between two baresips.

use super::{bad, number};
use crate::town::baresip::{Baresip, Wanted};
use crate::town::{Program, guestright, inside, until};
use guestright_netns::{LinkOptions, World};
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const NEAR: &str = "10.9.0.1";
const FAR: &str = "10.9.0.2";

/// Two telephones on a wire. What is watched is the far end.
struct Wire {
    world: World,
    desk: tempfile::TempDir,
}

impl Wire {
    fn new() -> Self {
        let mut world = World::new("mos-").unwrap();
        for host in ["near", "far"] {
            world.add_host(host).unwrap();
        }
        world.link(("near", "eth0"), ("far", "eth0"), &LinkOptions::default()).unwrap();
        world.address("near", "eth0", &format!("{NEAR}/24")).unwrap();
        world.address("far", "eth0", &format!("{FAR}/24")).unwrap();
        Self { world, desk: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.desk.path().join(name)
    }

    /// Every so many of the packets of voice that leave the near end never do: one in twenty by chance, and ten in a row.
    fn lose(&self) {
        let rules = "add table inet lossy; add chain inet lossy out { type filter hook output priority 0; }; \
            add rule inet lossy out udp dport 10000-10100 numgen inc mod 400 200-209 drop; \
            add rule inet lossy out udp dport 10000-10100 numgen random mod 100 < 5 drop";
        self.world.run("near", "nft", &[rules]).unwrap();
    }

    fn phone(&self, host: &str, address: &str) -> Baresip {
        let wanted = Wanted {
            directory: &self.path(&format!("{host}-phone")),
            log: &self.path(&format!("{host}-phone.log")),
            listen: &format!("{address}:5060"),
            account: &format!("<sip:{host}@{address}>;regint=0"),
            module: "stun",
            more: "",
        };
        Baresip::start(&self.world, host, &wanted)
    }

    /// Starts `mos --live`, and waits until it watches.
    fn watch(&self, arguments: &[&str]) -> Program {
        let mut command = self.world.command("far", guestright().get_program()).unwrap();
        command.args(["mos", "--live", "eth0", "--delay-ms", "20"]).args(arguments);
        let program = Program::start(&mut command, &self.path("live.log"));
        program.hear("watches", |line| line["event"] == "watching");
        program
    }

    fn capture(&self) -> Program {
        let mut command = self.world.command("far", "tcpdump").unwrap();
        // Otherwise the last packets would still be in the kernel when it ends.
        command.args([
            "-Z",
            "root",
            "-i",
            "eth0",
            "-U",
            "-n",
            "-s",
            "0",
            "-B",
            "16384",
            "--immediate-mode",
            "-w",
        ]);
        command.arg(self.path("call.pcap"));
        let program = Program::start(&mut command, &self.path("tcpdump.log"));
        until("tcpdump to listen", || program.log().contains("listening on"));
        program
    }

    /// Ends the capture, and says what `mos` finds in it.
    fn judged(&self, mut capture: Program) -> Value {
        capture.signal(Signal::INT);
        capture.wait();
        assert!(capture.log().contains("0 packets dropped by kernel"), "{}", capture.log());
        let file = self.path("call.pcap");
        super::json_of_file(&[file.to_str().unwrap(), "--delay-ms", "20"])
    }
}

/// Until both streams have so many packets.
fn until_both_have(live: &Program, packets: f64) {
    live.hear("sees both streams", |line| {
        let streams = line["streams"].as_array().map_or(&[][..], Vec::as_slice);
        streams.len() == 2 && streams.iter().all(|stream| stream["packets"].as_f64() > Some(packets))
    });
}

/// Ends it as a person does: its last report of the interface, and the summary.
fn ended(mut live: Program) -> (Value, Value) {
    live.signal(Signal::INT);
    let last = live.hear("reports", |line| line["event"] == "report");
    let status = live.wait();
    assert!(status.success(), "{status}: {}", live.log());
    (last["files"][0].clone(), last["summary"].clone())
}

fn stream<'a>(report: &'a Value, from: &str) -> &'a Value {
    let streams = report["streams"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(streams.len(), 2, "one each way: {report:#}");
    let from = format!("{from}:");
    let is_from = |stream: &&Value| stream["from"].as_str().unwrap().starts_with(&from);
    streams.iter().find(is_from).unwrap_or_else(|| panic!("{from} in {report:#}"))
}

#[test]
fn what_is_watched_is_judged_as_a_capture_of_the_same_packets() {
    if !inside("mos::live::what_is_watched_is_judged_as_a_capture_of_the_same_packets") {
        return;
    }
    let wire = Wire::new();
    wire.lose();
    let metrics = wire.path("mos.prom");
    let capture = wire.capture();
    let live = wire.watch(&["--prometheus", metrics.to_str().unwrap()]);
    let (near, far) = (wire.phone("near", NEAR), wire.phone("far", FAR));
    near.command("dial", &format!("sip:far@{FAR}"));
    near.event("CALL_ESTABLISHED");
    until_both_have(&live, 600.0);
    near.command("hangup", "");
    far.event("CALL_CLOSED");
    near.quit();
    far.quit();
    let (report, summary) = ended(live);
    let judged = wire.judged(capture);
    for from in [NEAR, FAR] {
        let (here, there) = (stream(&report, from), stream(&judged, from));
        for path in
            ["/ssrc", "/from", "/to", "/packets", "/payload_types", "/direction", "/sounding", "/srtp"]
        {
            assert_eq!(here.pointer(path), there.pointer(path), "{path} of {from}");
        }
        for path in
            ["codec", "network", "counts", "heard", "jitter", "conversation", "worst_ten_seconds", "buffers"]
        {
            assert_eq!(here["parts"][0][path], there["parts"][0][path], "{path} of {from}");
        }
    }
    let lossy = &stream(&report, NEAR)["parts"][0];
    assert!(number(lossy, "/network/lost") > 20.0, "{lossy:#}");
    assert!(
        number(lossy, "/network/run_lengths/9") + number(lossy, "/network/run_lengths/10") >= 1.0,
        "{lossy:#}"
    );
    assert_eq!(number(&stream(&report, FAR)["parts"][0], "/network/lost"), 0.0);
    assert_eq!(report["sip_messages"], judged["sip_messages"]);
    assert!(number(&report, "/sip_messages") > 2.0 && number(&report, "/own_drops") == 0.0, "{report:#}");
    assert_eq!((number(&summary, "/streams"), number(&summary, "/mos/count")), (2.0, 2.0));
    let text = std::fs::read_to_string(metrics).unwrap();
    assert!(text.contains("guestright_mos_streams_total 2\n"), "{text}");
}

#[test]
fn what_this_computer_drops_is_not_the_networks_loss() {
    if !inside("mos::live::what_this_computer_drops_is_not_the_networks_loss") {
        return;
    }
    let wire = Wire::new();
    let capture = wire.capture();
    let live = wire.watch(&["--kernel-buffer-kb", "1"]);
    let (near, far) = (wire.phone("near", NEAR), wire.phone("far", FAR));
    near.command("dial", &format!("sip:far@{FAR}"));
    near.event("CALL_ESTABLISHED");
    until_both_have(&live, 50.0);
    // It does not look for a while, in which some 150 packets come each way and the kernel has room for two or three.
    live.signal(Signal::STOP);
    let sent = || wire.world.counters("far", "eth0").unwrap().sent_frames;
    let (before, since) = (sent(), Instant::now());
    until("packets that nobody looks at", || {
        sent() > before + 150 && since.elapsed() > Duration::from_secs(2)
    });
    live.signal(Signal::CONT);
    until_both_have(&live, 200.0);
    near.command("hangup", "");
    far.event("CALL_CLOSED");
    near.quit();
    far.quit();
    let (report, _) = ended(live);
    let judged = wire.judged(capture);
    assert!(number(&report, "/own_drops") > 200.0, "{report:#}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("dropped by this computer") && notes.contains("our fault"), "{notes}");
    let mut not_seen = 0.0;
    for from in [NEAR, FAR] {
        let (here, there) = (&stream(&report, from)["parts"][0], &stream(&judged, from)["parts"][0]);
        assert_eq!(number(there, "/network/lost"), 0.0, "the network loses nothing: {there:#}");
        assert_eq!(number(here, "/network/lost"), 0.0, "{here:#}");
        let unseen = number(here, "/counts/unseen");
        assert!(unseen > 100.0, "{here:#}");
        let [expected, sent] = [here, there].map(|stream| number(stream, "/network/expected"));
        // Of what was dropped behind the last packet that it saw it cannot know.
        assert!(expected + unseen <= sent, "{here:#}\n{there:#}");
        not_seen += sent - expected;
        assert!(here["notes"].to_string().contains("neither as received nor as lost"), "{here:#}");
        assert!(number(here, "/conversation/mos/low") > 4.0, "{here:#}");
    }
    assert!(
        number(&report, "/own_drops") >= not_seen,
        "each is counted as dropped here: {not_seen}, {report:#}"
    );
}

#[test]
fn says_why_an_interface_cannot_be_watched() {
    if !inside("mos::live::says_why_an_interface_cannot_be_watched") {
        return;
    }
    let (code, words) = bad(&["--live", "nosuch0"]);
    assert!(
        code == 1 && words.contains("no network interface \"nosuch0\"") && words.contains("ip -brief link")
    );
    let mut command = std::process::Command::new("setpriv");
    command.args(["--bounding-set=-net_raw", "--inh-caps=-net_raw"]).arg(guestright().get_program());
    let output = command.args(["mos", "--live", "lo"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(69), "{words}");
    assert!(words.contains("CAP_NET_RAW") && words.contains("run it as root"), "{words}");
}

#[test]
fn gives_up_its_privileges_and_ends_by_itself() {
    if !inside("mos::live::gives_up_its_privileges_and_ends_by_itself") {
        return;
    }
    let wire = Wire::new();
    let mut live = wire.watch(&["--seconds", "3"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", live.pid().as_raw_nonzero())).unwrap();
    for set in ["CapEff", "CapPrm", "CapBnd"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000")), "{status}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let last = live.hear("reports", |line| line["event"] == "report");
    assert_eq!(last["files"][0]["streams"].as_array().map(Vec::len), Some(0), "nobody called");
    assert!(live.wait().success());
}

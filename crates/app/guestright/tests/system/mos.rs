//! `guestright mos`: with captures of real calls, with none, and with what is no capture.

mod live;

use crate::town::guestright;
use base64::Engine as _;
use guestright_capture::{FrameWriter, LinkType, Stamp, Writer};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pure/capture/tests/captures").join(name)
}

fn mos(arguments: &[&str]) -> Output {
    guestright().arg("mos").args(arguments).output().unwrap()
}

fn good(arguments: &[&str]) -> String {
    let output = mos(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(&[arguments, &["--json"]].concat())).unwrap()
}

/// What is said of the only file.
fn json_of_file(arguments: &[&str]) -> Value {
    let found = json(arguments);
    assert_eq!(found["files"].as_array().unwrap().len(), 1, "{found:#}");
    found["files"][0].clone()
}

fn bad(arguments: &[&str]) -> (i32, String) {
    let output = mos(arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && !words.contains("panicked"), "{arguments:?}: {words}");
    (output.status.code().unwrap(), words)
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value:#}"))
}

/// Ten calls' worth of seconds of G.711, of which every fourth packet is lost in the first ten seconds.
fn recovering(seconds: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new("test", "any", &mut out);
    let (from, to) = ("192.0.2.1:4000".parse().unwrap(), "198.51.100.2:5000".parse().unwrap());
    for index in (0..seconds * 50).filter(|index| *index >= 500 || index % 4 != 1) {
        let mut packet = vec![0x80, 0];
        packet.extend(&index.to_be_bytes()[2..]);
        packet.extend((index * 160).to_be_bytes());
        packet.extend([0, 0, 0, 7]);
        packet.extend([0xd5; 160]);
        let at = Stamp(1_700_000_000_000_000_000 + u64::from(index) * 20_000_000);
        writer.packet(at, from, to, &packet, &mut out).unwrap();
    }
    out
}

/// An IPv4 packet with a part of packet `number` of a stream of G.711: all of the datagram, or a fragment of it.
fn internet(number: u16, part: std::ops::Range<usize>) -> Vec<u8> {
    let mut datagram = vec![0x0f, 0xa0, 0x13, 0x88, 0, 180, 0, 0, 0x80, 0];
    datagram.extend(number.to_be_bytes());
    datagram.extend((u32::from(number) * 160).to_be_bytes());
    datagram.extend([0, 0, 0, 7]);
    datagram.extend([0xd5; 160]);
    let more = u16::from(part.end < datagram.len()) << 13;
    let offset = u16::try_from(part.start / 8).unwrap() | more;
    let mut packet = vec![0x45, 0];
    for field in [u16::try_from(20 + part.len()).unwrap(), number, offset, 64 << 8 | 17, 0] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend([192, 0, 2, 1, 198, 51, 100, 2]);
    packet.extend(&datagram[part]);
    packet
}

/// A capture on two interfaces, of what is on each: packets 20 ms apart.
fn on_two_interfaces(packets: impl Fn(u16) -> Vec<(u32, Vec<u8>)>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FrameWriter::new("test", &mut out);
    for name in ["wlan0", "wlan1"] {
        writer.interface(name, LinkType::IP, None, &mut out);
    }
    for number in 0..200 {
        let at = Stamp(1_700_000_000_000_000_000 + u64::from(number) * 20_000_000);
        for (interface, packet) in packets(number) {
            writer.frame(interface, at, &packet, "", &mut out).unwrap();
        }
    }
    out
}

#[test]
fn what_is_counted_once_or_in_part_is_said() {
    let desk = tempfile::tempdir().unwrap();
    let written = |name: &str, bytes: Vec<u8>| {
        std::fs::write(desk.path().join(name), bytes).unwrap();
        desk.path().join(name).to_str().unwrap().to_owned()
    };
    // Every other datagram in two fragments, all on the first interface.
    let cut = |number: u16| match number % 2 {
        0 => vec![(0, internet(number, 0..180))],
        _ => vec![(0, internet(number, 0..96)), (0, internet(number, 96..180))],
    };
    let file = written("fragments.pcapng", on_two_interfaces(cut));
    let (text, found) = (good(&[&file]), json_of_file(&[&file]));
    assert!(text.contains("100 datagrams came in IP fragments: each is counted by its first one"), "{text}");
    assert!(text.contains("100 IP fragments besides the first are left out"), "{text}");
    assert!(text.contains("0.00 %") && !text.contains("several interfaces"), "{text}");
    assert_eq!(number(&found, "/streams/0/parts/0/network/lost"), 0.0);
    assert_eq!(
        (number(&found, "/fragments"), number(&found, "/datagrams_by_first_fragment")),
        (100.0, 100.0)
    );
    assert_eq!(number(&found, "/ciphered_rtcp_datagrams"), 0.0);
    // Over both interfaces by turns.
    let by_turns = |number: u16| vec![(u32::from(number % 2), internet(number, 0..180))];
    let file = written("turns.pcapng", on_two_interfaces(by_turns));
    let (text, found) = (good(&[&file]), json_of_file(&[&file]));
    assert!(
        text.contains("over several interfaces of the capture (wlan0, wlan1), and are counted together"),
        "{text}"
    );
    assert_eq!(
        (found["streams"].as_array().unwrap().len(), number(&found, "/streams/0/packets")),
        (1, 200.0)
    );
    // All of it on both.
    let twice = |number: u16| [0, 1].map(|interface| (interface, internet(number, 0..180))).into();
    let file = written("twice.pcapng", on_two_interfaces(twice));
    let (text, found) = (good(&[&file]), json_of_file(&[&file]));
    assert!(text.contains("stream 2 is this one as another interface of the capture saw it"), "{text}");
    assert_eq!((number(&found, "/streams/0/copies/0"), number(&found, "/streams/1/copies/0")), (2.0, 1.0));
}

#[test]
fn computes_without_a_capture_and_prints_every_input() {
    let line = ["--delay-ms", "150", "--loss", "0.01", "--codec", "g729a"];
    let got = json(&line);
    // ITU-T G.107 (06/2015) by hand: Ta = 150 + 25 + 60, Ie-eff = 11 + 84 · 1 / (1 + 19).
    assert_eq!(number(&got, "/stated/mouth_to_ear_ms/low"), 235.0);
    assert!((number(&got, "/conversation/best/ie_eff") - 15.2).abs() < 1e-9, "{got:#}");
    let parts = number(&got, "/conversation/best/ro")
        - number(&got, "/conversation/best/is/sum")
        - number(&got, "/conversation/best/id/sum")
        - 15.2;
    assert!((number(&got, "/conversation/r/low") - parts).abs() < 1e-9, "R is the sum of its parts");
    // Cole and Rosenbluth: 94.2 − 0.024 · 235 − 0.11 · (235 − 177.3) − 11 − 40 ln(1 + 10 · 0.01).
    let reduced = 94.2 - 0.024 * 235.0 - 0.11 * (235.0 - 177.3) - 11.0 - 40.0 * 1.1_f64.ln();
    assert!((number(&got, "/paper_a/r/low") - reduced).abs() < 1e-3, "{got:#}");
    let text = good(&line);
    for input in [
        "SLR 8 dB",
        "TELR 65 dB",
        "Bpl 19",
        "Ppl 1 %",
        "BurstR 1",
        "mT 100 ms",
        "mouth to ear",
        "235 ms",
        "Ie-eff",
    ] {
        assert!(text.contains(input), "{input} is missing: {text}");
    }
}

#[test]
fn each_statement_changes_the_rating() {
    let base = ["--codec", "g711u", "--delay-ms", "50", "--loss", "0.02"];
    let r = |more: &[&str]| number(&json(&[&base, more].concat()), "/conversation/r/low");
    let plain = r(&[]);
    for worse in [
        &["--burst-ratio", "2"][..],
        &["--dejitter-loss", "0.01"],
        &["--playout-ms", "300"],
        &["--packet-ms", "200"],
        &["--buffer-ms", "700"],
    ] {
        assert!(r(worse) < plain - 0.5, "{worse:?}: {} {plain}", r(worse));
    }
    assert!((r(&["--advantage", "10"]) - plain - 10.0).abs() < 1e-6);
    assert!(r(&["--playout-ms", "200", "--sensitivity", "very-low"]) > r(&["--playout-ms", "200"]));
    let between = json(&["--codec", "g711u", "--delay-ms", "50..250"]);
    assert!(number(&between, "/conversation/r/low") < number(&between, "/conversation/r/high") - 5.0);
}

#[test]
fn a_real_call_from_one_capture_is_at_most_so_good_and_says_why() {
    let file = capture("baresip-far.pcap");
    let file = file.to_str().unwrap();
    let text = good(&[file]);
    for wanted in [
        "2 streams of RTP",
        "PCMU",
        "≤ 93.2",
        "≤ 4.41",
        "tells no one-way delay",
        "--other-end",
        "more packets lost",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing: {text}");
    }
    let got = json_of_file(&[file]);
    assert_eq!(got["streams"].as_array().unwrap().len(), 2);
    assert_eq!(got["streams"][0]["parts"][0]["conversation"]["unknown"], "no-delay", "{got:#}");
    // With a word on the delay both are rated, one of them still "at most", because its receiver has lost more.
    let stated = json_of_file(&[file, "--delay-ms", "30..90"]);
    assert!(
        number(&stated, "/streams/1/parts/0/conversation/r/high")
            > number(&stated, "/streams/1/parts/0/conversation/r/low") + 1.0
    );
}

#[test]
fn two_captures_tell_the_delay() {
    let (near, far) = (capture("baresip-near.pcap"), capture("baresip-far.pcap"));
    let line = [far.to_str().unwrap(), "--other-end", near.to_str().unwrap()];
    let got = json_of_file(&line);
    let came = got["streams"]
        .as_array()
        .unwrap()
        .iter()
        .find(|stream| stream["delay_source"]["kind"] == "two-captures");
    let came = came.unwrap_or_else(|| panic!("{got:#}"));
    let delay = number(came, "/parts/0/delay/mean_ms/high");
    assert!((-0.1..2.0).contains(&delay), "{came:#}");
    assert!(number(came, "/parts/0/conversation/mos/low") > 2.0, "{came:#}");
    assert!(number(&got, "/clock_offset_ms/low") <= 0.0 && number(&got, "/clock_offset_ms/high") >= 0.0);
    let text = good(&[&line[..], &["--clock-error-ms", "5"]].concat());
    assert!(text.contains("sent here") || text.contains("at its sender"), "{text}");
    // A capture that has nothing of the call.
    let other = capture("sipp.pcap");
    let text = good(&[line[0], "--other-end", other.to_str().unwrap()]);
    assert!(text.contains("no stream is in both captures"), "{text}");
}

#[test]
fn seconds_are_rated_by_their_own_losses_in_table_and_page() {
    let desk = tempfile::tempdir().unwrap();
    let path = |name: &str| desk.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("call.pcapng"), recovering(30)).unwrap();
    let (csv, html) = (path("call.csv"), path("call.html"));
    good(&[&path("call.pcapng"), "--delay-ms", "20", "--csv", &csv, "--html", &html]);
    let table = std::fs::read_to_string(csv).unwrap();
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 30);
    let mos = |second: usize| rows[second][column("mos_low")].parse::<f64>().unwrap();
    assert!(mos(3) < 2.0, "one packet in four is lost: {}", mos(3));
    assert!(mos(12) > 4.3 && mos(29) > 4.3, "what was lost before does not count any more: {}", mos(12));
    assert!(rows.iter().all(|row| row.len() == head.len() && row[column("why")].is_empty()));
    let page = std::fs::read_to_string(html).unwrap();
    assert!(
        page.matches("<svg xmlns").count() == 2 && page.matches("</figure>").count() == 2,
        "MOS and loss"
    );
    assert!(page.contains("Jitter: 0 ms in every second; no figure."), "nothing is to be seen in it");
    let head: Vec<&str> =
        page.split("<th scope=").skip(1).filter_map(|cell| cell.split(['>', '<']).nth(1)).collect();
    assert_eq!(head[..4], ["#", "R", "MOS", "lost"], "what a telephone shows without scrolling");
    let link = page.split("href=\"data:text/csv;charset=utf-8;base64,").nth(1).unwrap();
    let inside = base64::engine::general_purpose::STANDARD.decode(link.split('"').next().unwrap()).unwrap();
    assert_eq!(String::from_utf8(inside).unwrap(), table, "the page keeps the table");
    for wanted in [
        "<title>",
        "lang=\"en\"",
        "aria-label=\"MOS\"",
        "<desc>",
        "prefers-color-scheme",
        "default-src 'none'",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    for absent in ["<script", "src=", "@import", "href=\"http"] {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn reads_standard_input_and_a_file_that_was_cut() {
    let file = recovering(4);
    let mut child =
        guestright().args(["mos", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&file).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("standard input"));
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("cut.pcapng");
    std::fs::write(&path, &file[..file.len() - 100]).unwrap();
    let text = good(&[path.to_str().unwrap()]);
    assert!(text.contains("ends within the packet") && text.contains("PCMU"), "{text}");
}

#[test]
fn what_is_no_call_says_why_and_what_to_do() {
    let desk = tempfile::tempdir().unwrap();
    let with = |name: &str, bytes: &[u8]| {
        std::fs::write(desk.path().join(name), bytes).unwrap();
        desk.path().join(name).to_str().unwrap().to_owned()
    };
    let mut nothing = Vec::new();
    let mut writer = Writer::new("test", "any", &mut nothing);
    let empty_capture = with("nothing.pcapng", &nothing);
    let (from, to) = ("192.0.2.1:53".parse().unwrap(), "192.0.2.2:53".parse().unwrap());
    writer.packet(Stamp(0), from, to, &[0x80; 40], &mut nothing).unwrap();
    let (empty, text) = (with("empty", b""), with("page.html", b"<html>"));
    let (packed, names) = (with("call.pcap.gz", &[0x1f, 0x8b, 8, 0]), with("names.pcapng", &nothing));
    let missing = desk.path().join("missing.pcap").to_str().unwrap().to_owned();
    let folder = desk.path().to_str().unwrap().to_owned();
    let call = capture("sipp.pcap").to_str().unwrap().to_owned();
    #[rustfmt::skip]
    let cases: [(&[&str], i32, &[&str]); 14] = [
        (&[&missing],                        78, &["missing.pcap", "No such file", "what to do"]),
        (&[&folder],                         78, &["directory", "what to do"]),
        (&[&empty],                          78, &["empty", "what to do"]),
        (&[&text],                           78, &["no pcap or pcapng", "what to do"]),
        (&[&packed],                         78, &["gzip", "gunzip", "what to do"]),
        (&[&empty_capture],                   1, &["no stream of RTP", "nothing was captured", "what to do"]),
        (&[&names],                           1, &["no stream of RTP", "1 datagrams", "what to do"]),
        (&[&call, "--other-end", &names],     1, &["no stream of RTP in", "names.pcapng", "what to do"]),
        (&[&call, "--delay-ms", "60..40"],    2, &["60 is more than 40"]),
        (&[&call, "--codec", "g999"],         2, &["g999", "g729a"]),
        (&[&call, "--loss", "0.1"],           2, &["cannot be used with"]),
        (&["--codec", "g711u"],               1, &["a delay is needed", "what to do"]),
        (&["--delay-ms", "0", "--loss", "3"], 2, &["0.01 for one per cent"]),
        (&["--codec", "opus", "--delay-ms", "0", "--loss", "0.1"], 1, &["no rating", "opus", "what to do"]),
    ];
    for (arguments, want, wanted) in cases {
        let (code, words) = bad(arguments);
        assert_eq!(code, want, "{arguments:?}: {words}");
        for part in wanted {
            assert!(
                words.to_lowercase().contains(&part.to_lowercase()),
                "{arguments:?}: {part} is missing: {words}"
            );
        }
    }
}

#[test]
fn says_so_where_a_codec_is_not_known_or_is_no_voice() {
    let text = good(&[capture("sipp.pcap").to_str().unwrap()]);
    assert!(text.contains("keypad tones") && text.contains("not rated"), "{text}");
}

#[test]
fn many_files_are_judged_whatever_is_wrong_with_one() {
    let desk = tempfile::tempdir().unwrap();
    let path = |name: &str| desk.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("text"), "this is no capture").unwrap();
    std::fs::write(path("lossy.pcapng"), recovering(30)).unwrap();
    let (lossy, good_one, missing) = (path("lossy.pcapng"), capture("baresip-far.pcap"), path("missing"));
    let files = [path("text"), lossy.clone(), missing.clone(), good_one.to_str().unwrap().to_owned()];
    let mut line: Vec<&str> = files.iter().map(String::as_str).collect();
    line.extend(["--delay-ms", "20"]);
    let output = mos(&line);
    let (shown, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(78), "{words}");
    assert!(
        words.contains("2 of 4 files were not rated; the first: read ") && words.contains("text"),
        "{words}"
    );
    for wanted in ["4 files: 3 streams", "no pcap or pcapng", "No such file", "one-way"] {
        assert!(shown.contains(wanted), "{wanted} is missing: {shown}");
    }
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.contains("source")).skip(1).collect();
    assert_eq!(rows.len(), 3, "{shown}");
    assert!(rows[0].contains("lossy.pcapng"), "the worst is first: {shown}");
    // The same as JSON, on standard output and on standard error.
    line.push("--json");
    let output = mos(&line);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["files"].as_array().unwrap().len(), 4);
    assert_eq!((number(&all, "/files/0/error/code"), number(&all, "/files/2/error/code")), (78.0, 78.0));
    assert_eq!(all["files"][1], json_of_file(&[&lossy, "--delay-ms", "20"]), "the same as of one file");
    assert_eq!((number(&all, "/summary/files"), number(&all, "/summary/files_failed")), (4.0, 2.0));
    assert_eq!((number(&all, "/summary/streams"), number(&all, "/summary/mos/count")), (3.0, 3.0));
    assert_eq!(all["summary"]["worst"]["source"], lossy.as_str());
    // What is of one file.
    let (code, words) = bad(&[&files[1], &files[3], "--csv", "x"]);
    assert!(code == 1 && words.contains("--csv goes with one FILE"), "{words}");
}

#[test]
fn what_hurts_is_said_besides_the_mean() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("call.pcapng").to_str().unwrap().to_owned();
    std::fs::write(&path, recovering(30)).unwrap();
    let text = good(&[&path, "--delay-ms", "20"]);
    for wanted in [
        "worst 10 s, from second 0: MOS 1.",
        "packets lost in a row, and how often: 1: 125",
        "behind other buffers: fixed 50 ms MOS ",
        "; fixed 200 ms MOS ",
        "; adaptive 500 ms MOS ",
        "one-way: nothing came back",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing: {text}");
    }
    let found = json_of_file(&[&path, "--delay-ms", "20"]);
    let part = &found["streams"][0]["parts"][0];
    assert_eq!(number(part, "/network/run_lengths/0"), 125.0);
    assert_eq!(number(part, "/worst_ten_seconds/measured/lost"), 125.0);
    assert!(number(part, "/worst_ten_seconds/conversation/mos/low") < 2.0);
    assert_eq!(number(part, "/buffers/fixed 50 ms/playout_ms"), 50.0);
    assert_eq!(found["streams"][0]["direction"], "one-way");
    // A call of two who speak is neither.
    let call = json_of_file(&[capture("baresip-far.pcap").to_str().unwrap()]);
    assert_eq!(call["streams"][0]["direction"], "both");
    assert_eq!(call["streams"][0]["sounding"]["measured"], 0, "only its headers were captured: {call:#}");
}

#[test]
fn a_score_that_is_too_low_has_an_exit_code_of_its_own() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("call.pcapng").to_str().unwrap().to_owned();
    std::fs::write(&path, recovering(30)).unwrap();
    let (code, words) = bad(&[&path, "--delay-ms", "20", "--fail-under-mos", "3.6"]);
    assert_eq!(code, 3, "{words}");
    let sentence = format!("stream 1 in {path}, 192.0.2.1:4000 -> 198.51.100.2:5000, has MOS ");
    assert!(words.contains(&sentence) && words.contains(", below 3.6"), "{words}");
    good(&[&path, "--delay-ms", "20", "--fail-under-mos", "1.5"]);
    let (code, words) = bad(&["--delay-ms", "400", "--codec", "g711u", "--fail-under-mos", "4"]);
    assert!(code == 3 && words.contains("is below 4"), "{words}");
    assert_eq!(bad(&[&path, "--fail-under-mos", "9"]).0, 2);
    // What has no rating is not known to be good.
    let (code, words) = bad(&[&path, "--codec", "opus", "--fail-under-mos", "2"]);
    assert!(code == 1 && words.contains("no stream could be rated"), "{words}");
}

#[test]
fn prometheus_reads_what_is_written_for_it() {
    let desk = tempfile::tempdir().unwrap();
    let path = |name: &str| desk.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("call.pcapng"), recovering(30)).unwrap();
    let (file, call) = (path("mos.prom"), capture("baresip-far.pcap"));
    good(&[&path("call.pcapng"), call.to_str().unwrap(), "--delay-ms", "20", "--prometheus", &file]);
    let text = std::fs::read_to_string(&file).unwrap();
    for wanted in ["guestright_mos_streams_total 3\n", "guestright_mos_score_bucket{le=\"+Inf\"} 3\n"] {
        assert!(text.contains(wanted), "{wanted} is missing: {text}");
    }
    let left: Vec<_> =
        std::fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing is left beside it: {left:?}");
    let mut promtool = std::process::Command::new("promtool");
    let mut child =
        promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (code, words) = bad(&[&path("call.pcapng"), "--prometheus", &path("none/mos.prom")]);
    assert!(code == 78 && words.contains("none/mos.prom"), "{words}");
}

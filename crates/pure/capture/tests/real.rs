//! Captures made by real programs, with tshark as judge; and what we write, read by tshark.
//!
//! `captures/`: see the README beside them.

use guestright_capture::{
    DelaySource, Departures, FrameWriter, Limits, LinkType, Report, Sound, Stamp, StreamReport, Survey,
    SurveyConfig, Writer,
};
use guestright_quality::{Codec, Interval};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

fn survey(name: &str, departures: Option<Departures>) -> Report {
    look(&std::fs::read(file(name)).expect("it is committed"), departures)
}

fn look(bytes: &[u8], departures: Option<Departures>) -> Report {
    let mut survey = Survey::new(SurveyConfig::default(), departures);
    for piece in bytes.chunks(999) {
        survey.feed(piece).expect("it is good");
    }
    survey.end().expect("it is whole");
    survey.finish()
}

fn departures(name: &str) -> Departures {
    let mut departures = Departures::new(Limits::default(), 100_000);
    departures.feed(&std::fs::read(file(name)).expect("it is committed")).expect("it is good");
    departures.end().expect("it is whole");
    departures
}

/// What tshark says.
fn tshark(arguments: &[&str]) -> String {
    let output = Command::new("tshark").args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("tshark has to be installed: sh scripts/setup.sh test");
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A source and the sender's port; packets, lost packets, the largest jitter in ms.
type Streams = BTreeMap<(u32, u16), (u64, i64, f64)>;

/// Packets, lost packets and the largest jitter, by SSRC and the sender's port, as `tshark -z rtp,streams` has them.
fn rtp_streams(path: &Path) -> Streams {
    let path = path.to_str().expect("it is text");
    // Without SIP in sight tshark has to be told to look for RTP.
    let text = tshark(&["-r", path, "-q", "-o", "rtp.heuristic_rtp:TRUE", "-z", "rtp,streams"]);
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("0x")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ssrc = words.iter().position(|word| word.starts_with("0x")).expect("it is there");
        let source = u32::from_str_radix(&words[ssrc][2..], 16).expect("it is a number");
        // Behind the SSRC: payload, packets, lost, (share), three deltas, three jitters.
        let percent = words.iter().position(|word| word.ends_with("%)")).expect("it is there");
        let number = |at: usize| words[at].parse::<f64>().expect("it is a number");
        let packets = words[percent - 2].parse().expect("it is a number");
        let lost = words[percent - 1].parse().expect("it is a number");
        let port = words[ssrc - 3].parse().expect("it is a number");
        found.insert((source, port), (packets, lost, number(percent + 6)));
    }
    found
}

/// The largest and the last jitter of RFC 3550's formula, packet by packet, with the arrivals that tshark sees.
fn jitter_by_hand(path: &Path, (ssrc, port): (u32, u16), clock_rate: f64) -> (f64, f64) {
    let filter = format!("rtp.ssrc == {ssrc:#x} && udp.srcport == {port}");
    let text = tshark(&[
        "-r",
        path.to_str().expect("it is text"),
        "-o",
        "rtp.heuristic_rtp:TRUE",
        "-Y",
        &filter,
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "rtp.timestamp",
    ]);
    let (mut jitter, mut largest, mut last) = (0.0_f64, 0.0_f64, None);
    for line in text.lines() {
        let (time, timestamp) = line.split_once('\t').expect("two fields");
        let now = (time.parse::<f64>().expect("a number"), timestamp.parse::<f64>().expect("a number"));
        if let Some((time, timestamp)) = last.replace(now) {
            let d: f64 = (now.0 - time) * 1e3 - (now.1 - timestamp) * 1e3 / clock_rate;
            jitter += (d.abs() - jitter) / 16.0;
            largest = largest.max(jitter);
        }
    }
    (largest, jitter)
}

fn stream(report: &Report, (ssrc, port): (u32, u16)) -> &StreamReport {
    let flow = |stream: &&StreamReport| (stream.info.flow.ssrc, stream.info.flow.from.port()) == (ssrc, port);
    report.streams.iter().find(flow).expect("we found it too")
}

#[test]
fn tshark_finds_the_same_streams_losses_and_jitter() {
    for name in ["baresip-near.pcap", "baresip-far.pcap", "baresip-srtp.pcap", "sipp.pcap"] {
        let report = survey(name, None);
        let theirs = rtp_streams(&file(name));
        assert_eq!(report.streams.len(), theirs.len(), "{name}: {theirs:?}");
        for (key, (packets, lost, jitter)) in theirs {
            let (ours, ssrc) = (stream(&report, key), key.0);
            let summary = &ours.parts[0].summary;
            // tshark takes doubles for received packets, and shows a loss below zero.
            let net = summary.network.lost.cast_signed() - summary.counts.duplicates.cast_signed();
            assert_eq!((ours.info.packets, net), (packets, lost), "{name} {ssrc:08x}");
            if ours.parts[0].sound == Sound::Tones {
                continue;
            }
            // tshark prints the largest of the running estimates, we the last one: the formula by hand connects both.
            let (largest, last) = jitter_by_hand(&file(name), key, 8_000.0);
            assert!((largest - jitter).abs() < 0.1, "{name} {ssrc:08x}: {largest} {jitter}");
            let shown = summary.jitter.rfc3550_ms.expect("packets came");
            assert!((shown - last).abs() < 0.01, "{name} {ssrc:08x}: {shown} {last}");
        }
    }
}

#[test]
fn a_real_call_is_named_paired_and_rated() {
    let report = survey("baresip-far.pcap", None);
    assert_eq!(report.streams.len(), 2);
    assert!(report.sip_messages >= 3);
    for (index, stream) in report.streams.iter().enumerate() {
        assert_eq!(stream.opposite, Some(1 - index));
        assert_eq!(stream.parts.len(), 1);
        let part = &stream.parts[0];
        assert_eq!(part.summary.codec, Some(Codec::G711u));
        assert_eq!((stream.info.protected, stream.info.ptime_ms), (Some(false), Some(20)));
        let lost = part.summary.network.rate.expect("packets came");
        let opinion = stream.judgement(part).listening.expect("the codec is known");
        if stream.info.flow.from.ip().to_string() == "10.9.1.1" {
            // It came through the router, which drops one packet in 25.
            assert!(lost > 0.01 && lost < 0.08, "{lost}");
            assert!(opinion.mos.high < 3.7 && opinion.mos.high > 2.0, "{:?}", opinion.mos);
            assert!(stream.info.beyond.is_none_or(|beyond| beyond.mean.0 < 1_000));
        } else {
            // It is still to come to the router, and its receiver says what that drops.
            assert!(lost == 0.0 && opinion.mos.high > 4.4, "{lost}");
            assert_eq!(stream.info.other.map(|other| other.lost), Some(5));
        }
    }
}

#[test]
fn srtp_is_judged_by_its_headers() {
    let report = survey("baresip-srtp.pcap", None);
    assert_eq!(report.streams.len(), 2);
    for stream in &report.streams {
        assert_eq!(stream.info.protected, Some(true));
        assert_eq!(stream.parts[0].summary.codec, Some(Codec::G711a));
        assert!(stream.judgement(&stream.parts[0]).listening.is_ok());
        assert_eq!(stream.delay, DelaySource::Unknown, "its reports are ciphered");
    }
    assert!(report.search.rtcp_ciphered > 0);
}

#[test]
fn both_ends_of_a_real_call_tell_its_delay() {
    let report = survey("baresip-far.pcap", Some(departures("baresip-near.pcap")));
    let clocks = report.clocks.expect("both directions are in both");
    // Both captures were made on one computer, with one clock.
    assert!(clocks.measured && !clocks.contradicted && clocks.offset_ms.contains(0.0), "{clocks:?}");
    let came: Vec<_> =
        report.streams.iter().filter(|stream| matches!(stream.delay, DelaySource::Captures { .. })).collect();
    assert_eq!(came.len(), 1, "the other direction was sent here");
    let mean = came[0].parts[0].summary.delay.as_ref().expect("it was measured").mean_ms;
    assert!(mean.low > -0.5 && mean.high < 2.0, "a cable without length: {mean:?}");
    let conversation = came[0].judgement(&came[0].parts[0]).conversation.expect("the delay is known");
    assert!(conversation.r.width() < 1.0, "{:?}", conversation.r);
}

#[test]
fn a_word_on_the_delay_is_carried_through() {
    let config = SurveyConfig { delay_ms: Some(Interval::new(20.0, 200.0)), ..SurveyConfig::default() };
    let mut survey = Survey::new(config, None);
    survey.feed(&std::fs::read(file("sipp.pcap")).expect("it is committed")).expect("it is good");
    let report = survey.finish();
    let stream = &report.streams[0];
    assert!(
        matches!(stream.parts[0].sound, Sound::Speech { codec: Some(Codec::G711a), .. }),
        "{:?}",
        stream.parts[0].sound
    );
    let opinion = stream.judgement(&stream.parts[0]).conversation.expect("the delay was said");
    assert!(opinion.r.width() > 5.0 && opinion.caveats.len() == 1, "{opinion:?}");
}

#[test]
fn tshark_reads_what_we_write_and_finds_every_checksum_right() {
    let mut out = Vec::new();
    let mut writer = Writer::new("guestright", "call", &mut out);
    let (four, four_too): (SocketAddr, SocketAddr) =
        ("192.0.2.1:4000".parse().expect("an address"), "198.51.100.2:5000".parse().expect("an address"));
    let (six, six_too): (SocketAddr, SocketAddr) = (
        "[2001:db8::1]:4000".parse().expect("an address"),
        "[2001:db8::2]:5000".parse().expect("an address"),
    );
    for index in 0..50_u16 {
        let mut packet = vec![0x80, 0];
        packet.extend(index.to_be_bytes());
        packet.extend((u32::from(index) * 160).to_be_bytes());
        packet.extend(7_u32.to_be_bytes());
        packet.extend(vec![index.to_be_bytes()[1]; 33 + usize::from(index)]);
        let at = Stamp(1_700_000_000_123_456_789 + u64::from(index) * 20_000_000);
        let words = if index == 3 { "the fourth – späte Zeit" } else { "" };
        writer.packet_with_comment(at, four, four_too, &packet, words, &mut out).expect("it is short");
        writer.packet(at, six_too, six, &packet, &mut out).expect("it is short");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("written.pcapng");
    std::fs::write(&path, &out).expect("the folder is there");
    let path = path.to_str().expect("it is text");
    let fields = [
        "frame.time_epoch",
        "ip.checksum.status",
        "udp.checksum.status",
        "udp.length",
        "frame.comment",
        "frame.interface_name",
    ];
    let mut arguments =
        vec!["-r", path, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let text = tshark(&arguments);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 100);
    assert_eq!(rows[0][0], "1700000000.123456789");
    assert!(rows.iter().step_by(2).all(|row| row[1] == "1"), "IPv4's checksums are good: {:?}", rows[0]);
    assert!(rows.iter().all(|row| row[2] == "1"), "UDP's checksums are good: {:?}", rows[1]);
    assert_eq!((rows[6][4], rows[6][5]), ("the fourth – späte Zeit", "call"));
    let found = rtp_streams(Path::new(path));
    assert_eq!(found.get(&(7, 4_000)).map(|stream| (stream.0, stream.1)), Some((50, 0)));
}

/// A datagram of G.711 from 192.0.2.1:4000 to 198.51.100.2:5000, as IPv4 packets of at most `mtu` bytes.
fn voice(number: u16, mtu: usize) -> Vec<Vec<u8>> {
    let mut datagram = vec![0x0f, 0xa0, 0x13, 0x88, 0, 180, 0, 0, 0x80, 0];
    datagram.extend(number.to_be_bytes());
    datagram.extend((u32::from(number) * 160).to_be_bytes());
    datagram.extend(7_u32.to_be_bytes());
    datagram.extend([0xd5; 160]);
    let piece_len = (mtu - 20) / 8 * 8;
    let pieces = datagram.chunks(piece_len).enumerate().map(|(index, piece)| {
        let more = (index + 1) * piece_len < datagram.len();
        let offset = u16::try_from(index * piece_len / 8).expect("a small datagram") | u16::from(more) << 13;
        let length = u16::try_from(20 + piece.len()).expect("a small datagram");
        let mut packet = vec![0x45, 0];
        for field in [length, number, offset, 64 << 8 | 17, 0] {
            packet.extend(field.to_be_bytes());
        }
        packet.extend([192, 0, 2, 1, 198, 51, 100, 2]);
        packet.extend(piece);
        packet
    });
    pieces.collect()
}

/// A capture on `interfaces` of these packets, 20 ms apart: the number of each, the longest packet, the interface.
fn written(
    name: &str,
    interfaces: &[&str],
    packets: impl Iterator<Item = (u16, usize, u32)>,
) -> (PathBuf, Report) {
    let mut out = Vec::new();
    let mut writer = FrameWriter::new("guestright", &mut out);
    for interface in interfaces {
        writer.interface(interface, LinkType::IP, None, &mut out);
    }
    for (index, (number, mtu, interface)) in (0_u64..).zip(packets) {
        let at = Stamp(1_700_000_000_000_000_000 + index * 20_000_000);
        for piece in voice(number, mtu) {
            writer.frame(interface, at, &piece, "", &mut out).expect("it is short");
        }
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, &out).expect("the folder is there");
    let report = look(&out, None);
    (path, report)
}

#[test]
fn no_packet_is_lost_for_tshark_and_us_where_a_third_came_in_fragments() {
    let mtu = |number: u16| if number.is_multiple_of(3) { 100 } else { 1_500 };
    let (path, report) = written("fragments.pcapng", &["eth0"], (0..400).map(|n| (n, mtu(n), 0)));
    let theirs = rtp_streams(&path);
    assert_eq!(theirs.get(&(7, 4_000)).map(|stream| (stream.0, stream.1)), Some((400, 0)));
    assert_eq!(report.streams.len(), 1);
    let (stream, part) = (&report.streams[0], &report.streams[0].parts[0]);
    assert_eq!(
        (stream.info.packets, part.summary.network.expected, part.summary.network.lost),
        (400, 400, 0)
    );
    assert_eq!(stream.info.payload, 400 * 160, "whole payloads, whatever they came in");
    // Datagrams 0, 3 .. 399 have 180 bytes: 80, 80 and 20.
    assert_eq!((report.counts.first_fragments, report.counts.fragments), (134, 268));
    assert_eq!(report.search.datagrams, 400);
}

#[test]
fn a_stream_over_two_interfaces_is_one_for_tshark_and_us() {
    // Three of four over one radio, the others over a second one.
    let packets = (0..400).map(|n| (n, 1_500, u32::from(n % 4 == 1)));
    let (path, report) = written("two.pcapng", &["wlan0", "wlan1"], packets);
    let theirs = rtp_streams(&path);
    assert_eq!(theirs.get(&(7, 4_000)).map(|stream| (stream.0, stream.1)), Some((400, 0)));
    assert_eq!(report.streams.len(), 1);
    let (stream, summary) = (&report.streams[0], &report.streams[0].parts[0].summary);
    assert_eq!((summary.network.expected, summary.network.lost, summary.counts.reordered), (400, 0, 0));
    assert_eq!((stream.merged.as_slice(), &stream.copies), (&["wlan0".into(), "wlan1".into()][..], &vec![]));
    assert_eq!(summary.dejitter_loss, Some(0.0));
    assert_eq!(report.search.unlike, 0);
}

#[test]
fn a_first_packet_that_has_overtaken_others_loses_none_for_tshark_and_us() {
    let order = [2, 0, 1].into_iter().chain(3..400);
    let (path, report) = written("overtaken.pcapng", &["eth0"], order.map(|n| (n, 1_500, 0)));
    let (packets, lost, _) = rtp_streams(&path)[&(7, 4_000)];
    assert_eq!(packets, 400);
    assert!(lost <= 0, "tshark counts from the packet that came first: {lost}");
    let summary = &report.streams[0].parts[0].summary;
    assert_eq!((summary.network.expected, summary.network.lost), (400, 0));
    assert_eq!((summary.counts.reordered, summary.counts.stale), (2, 0));
}

//! Every mistake that other tools are known for is a test here.

#![expect(clippy::cast_possible_truncation, reason = "numbers of packets wrap on purpose")]

use super::*;
use crate::Writer;
use guestright_quality::Unknown;

const ALICE: &str = "192.0.2.1:4000";
const BOB: &str = "198.51.100.2:5000";
const START: u64 = 1_700_000_000_000_000_000;

/// A capture in the making.
struct Call {
    file: Vec<u8>,
    writer: Writer,
}

impl Call {
    fn new() -> Self {
        let mut file = Vec::new();
        let writer = Writer::new("test", "any", &mut file);
        Self { file, writer }
    }

    fn datagram(&mut self, ms: f64, from: &str, to: &str, payload: &[u8]) {
        let at = Stamp(START + (ms * 1e6) as u64);
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        self.writer.packet(at, from, to, payload, &mut self.file).unwrap();
    }

    fn rtp(&mut self, ms: f64, kind: u8, sequence: u64, timestamp: u64, ssrc: u32) {
        self.datagram(ms, ALICE, BOB, &rtp(kind, sequence, timestamp, ssrc));
    }

    /// Seconds of G.711 without loss but where `lost` says so.
    fn talk(&mut self, seconds: u64, lost: impl Fn(u64) -> bool) {
        for index in (0..seconds * 50).filter(|index| !lost(*index)) {
            self.rtp(index as f64 * 20.0, 0, index, index * 160, 7);
        }
    }

    fn survey(&self, config: SurveyConfig) -> Report {
        survey(&self.file, config, None)
    }
}

fn rtp(kind: u8, sequence: u64, timestamp: u64, ssrc: u32) -> Vec<u8> {
    let mut bytes = vec![0x80, kind];
    bytes.extend((sequence as u16).to_be_bytes());
    bytes.extend((timestamp as u32).to_be_bytes());
    bytes.extend(ssrc.to_be_bytes());
    bytes.extend([0xd5; 160]);
    bytes
}

fn survey(file: &[u8], config: SurveyConfig, departures: Option<Departures>) -> Report {
    let mut survey = Survey::new(config, departures);
    for piece in file.chunks(1_000) {
        survey.feed(piece).unwrap();
    }
    survey.end().unwrap();
    survey.finish()
}

fn listening(stream: &StreamReport) -> f64 {
    stream.judgement(&stream.parts[0]).listening.unwrap().mos.low
}

#[test]
fn loss_is_that_of_each_second_and_not_all_since_the_start() {
    let mut call = Call::new();
    // One packet in four is lost in the first ten seconds, none later.
    call.talk(30, |index| index < 500 && index % 4 == 1);
    let report = call.survey(SurveyConfig::default());
    let stream = &report.streams[0];
    let mos = |second: usize| {
        let row = &stream.parts[0].rows[second];
        stream.row_judgement(&stream.parts[0], row).listening.unwrap().mos.low
    };
    assert!(mos(5) < 2.0, "{}", mos(5));
    assert!(
        mos(12) > 4.3 && mos(29) > 4.3,
        "a call that has recovered is good again: {} {}",
        mos(12),
        mos(29)
    );
}

#[test]
fn ten_per_cent_loss_is_never_4_5_and_nearly_all_lost_never_below_r_0() {
    let config = || SurveyConfig { delay_ms: Some(Interval::exact(20.0)), ..SurveyConfig::default() };
    let mut call = Call::new();
    call.talk(20, |index| index * 7 % 10 == 3);
    let report = call.survey(config());
    let stream = &report.streams[0];
    let measured = stream.measured(&stream.parts[0]);
    assert!((measured.network_loss.unwrap() - 0.1).abs() < 0.002, "{measured:?}");
    let opinion = stream.judgement(&stream.parts[0]).conversation.unwrap();
    assert!(opinion.mos.high < 3.0, "{:?}", opinion.mos);
    let mut call = Call::new();
    call.talk(60, |index| index > 20 && index % 40 != 0);
    let report = call.survey(config());
    let stream = &report.streams[0];
    let opinion = stream.judgement(&stream.parts[0]).conversation.unwrap();
    assert!(opinion.r.low >= 0.0 && opinion.mos.low >= 1.0, "{opinion:?}");
    for row in &stream.parts[0].rows {
        if let Ok(opinion) = stream.row_judgement(&stream.parts[0], row).conversation {
            assert!(opinion.r.low >= 0.0 && opinion.mos.low >= 1.0, "{opinion:?}");
        }
    }
}

#[test]
fn what_cannot_be_computed_says_why() {
    let mut call = Call::new();
    for index in 0..200 {
        call.rtp(index as f64 * 20.0, 96, index, index * 960, 7);
    }
    let report = call.survey(SurveyConfig::default());
    let stream = &report.streams[0];
    let part = &stream.parts[0];
    assert_eq!((part.clock_rate, part.clock_rate_guessed), (Some(48_000), true));
    let judgement = stream.judgement(part);
    assert_eq!((judgement.conversation, judgement.listening), (Err(Unknown::NoCodec), Err(Unknown::NoCodec)));
    // With a word on the codec: known, but one capture tells no delay.
    let report = call.survey(SurveyConfig { codec: Some(Codec::G711aPlc), ..SurveyConfig::default() });
    let stream = &report.streams[0];
    assert_eq!(stream.delay, DelaySource::Unknown);
    assert_eq!(stream.judgement(&stream.parts[0]).conversation, Err(Unknown::NoDelay));
    assert!(listening(stream) > 4.3);
}

#[test]
fn two_streams_with_one_ssrc_are_two() {
    let mut call = Call::new();
    call.talk(4, |_| false);
    for index in 0..200 {
        let (ms, packet) = (index as f64 * 20.0, rtp(8, 30_000 + index, index * 160, 7));
        if index % 2 == 0 {
            call.datagram(ms, BOB, "203.0.113.9:7000", &packet);
        }
    }
    let report = call.survey(SurveyConfig::default());
    let rates: Vec<f64> = report.streams.iter().map(|s| s.parts[0].summary.network.rate.unwrap()).collect();
    assert_eq!(rates.len(), 2);
    assert!(rates[0] == 0.0 && (rates[1] - 0.5).abs() < 0.01, "{rates:?}");
}

#[test]
fn a_sequence_that_wraps_loses_nothing() {
    let mut call = Call::new();
    for index in 0..400_u64 {
        call.rtp(index as f64 * 20.0, 0, 65_400 + index, u64::from(u32::MAX) - 20_000 + index * 160, 7);
    }
    let report = call.survey(SurveyConfig::default());
    let summary = &report.streams[0].parts[0].summary;
    assert_eq!((summary.network.expected, summary.network.lost, summary.playout.lost), (400, 0, 0));
}

#[test]
fn silence_that_is_not_sent_is_no_loss() {
    let mut call = Call::new();
    let mut sequence = 0;
    for spurt in 0..5_u64 {
        for index in 0..100 {
            let ms = spurt * 62_000 + index * 20;
            call.rtp(ms as f64, 0, sequence, ms * 8, 7);
            sequence += 1;
        }
    }
    let report = call.survey(SurveyConfig::default());
    assert_eq!(report.streams.len(), 1);
    let summary = &report.streams[0].parts[0].summary;
    assert_eq!((summary.network.expected, summary.network.lost, summary.playout.lost), (500, 0, 0));
}

#[test]
fn a_sender_that_starts_anew_has_not_lost_a_hundred_thousand_packets() {
    let mut call = Call::new();
    for index in 0..600_u64 {
        // A new number and a new timestamp after half of it.
        let jump = if index < 300 { (0, 0) } else { (40_000, 3_000_000_000) };
        call.rtp(index as f64 * 20.0, 0, index + jump.0, index * 160 + jump.1, 7);
    }
    let report = call.survey(SurveyConfig::default());
    let summary = &report.streams[0].parts[0].summary;
    assert!(summary.network.lost <= 1, "{:?}", summary.network);
    assert_eq!(summary.counts.restarts, 1);
    assert!(summary.jitter.rfc3550_ms.unwrap() < 0.1, "{:?}", summary.jitter);
}

#[test]
fn a_codec_that_changes_is_rated_by_parts_and_what_was_lost_between_is_said() {
    let mut call = Call::new();
    for index in 0..500_u64 {
        let kind = if index < 250 { 0 } else { 18 };
        if !(250..260).contains(&index) {
            call.rtp(index as f64 * 20.0, kind, index, index * 160, 7);
        }
    }
    let report = call.survey(SurveyConfig::default());
    let parts = &report.streams[0].parts;
    let codecs: Vec<_> = parts.iter().map(|part| part.summary.codec).collect();
    assert_eq!(codecs, [Some(Codec::G711u), Some(Codec::G729a)]);
    assert_eq!((parts[0].missing_before, parts[1].missing_before), (0, 10));
    assert_eq!(parts[0].summary.network.expected + parts[1].summary.network.expected, 490);
    assert!((parts[1].start.nanos_since(parts[0].start) - 5_200_000_000).abs() < 1_000);
}

#[test]
fn keypad_tones_are_neither_a_new_codec_nor_jitter() {
    let mut call = Call::new();
    call.datagram(
        0.0,
        "198.51.100.2:5060",
        "192.0.2.1:5060",
        b"SIP/2.0 200 OK\r\n\r\nv=0\r\nc=IN IP4 198.51.100.2\r\n\
        m=audio 5000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n",
    );
    for index in 0..500_u64 {
        // A long tone: its timestamp stands still.
        let tone = (200..260).contains(&index);
        let timestamp = if tone { 200 * 160 } else { index * 160 };
        call.rtp(index as f64 * 20.0, if tone { 101 } else { 0 }, index, timestamp, 7);
    }
    let report = call.survey(SurveyConfig::default());
    let stream = &report.streams[0];
    assert_eq!((stream.parts.len(), stream.info.packets), (1, 500));
    let summary = &stream.parts[0].summary;
    assert_eq!((summary.network.lost, summary.playout.lost), (0, 0));
    assert!(summary.jitter.rfc3550_ms.unwrap() < 0.1, "{:?}", summary.jitter);
}

/// A call as both ends see it: packets both ways, the clock at Bob `ahead` ms ahead of Alice's.
fn both_ends(ahead: f64) -> (Call, Call) {
    let (mut alice, mut bob) = (Call::new(), Call::new());
    for index in 0..250_u64 {
        let ms = 1_000.0 + index as f64 * 20.0;
        let there = 30.0 + (index % 5) as f64;
        let back = 50.0 + (index % 7) as f64;
        let (out, home) = (rtp(0, index, index * 160, 7), rtp(0, 900 + index, index * 160, 9));
        alice.datagram(ms, ALICE, BOB, &out);
        alice.datagram(ms + 10.0 + back, BOB, ALICE, &home);
        if index % 10 != 4 {
            bob.datagram(ms + there + ahead, ALICE, BOB, &out);
        }
        bob.datagram(ms + 10.0 + ahead, BOB, ALICE, &home);
    }
    (alice, bob)
}

fn departures(file: &[u8]) -> Departures {
    let mut departures = Departures::new(Limits::default(), 10_000);
    departures.feed(file).unwrap();
    departures.end().unwrap();
    departures
}

#[test]
fn two_captures_tell_the_delay_and_bound_the_error_of_their_clocks() {
    let (alice, bob) = both_ends(-700.0);
    let report = survey(&bob.file, SurveyConfig::default(), Some(departures(&alice.file)));
    let clocks = report.clocks.unwrap();
    assert!(clocks.measured && !clocks.contradicted && clocks.offset_ms.contains(-700.0), "{clocks:?}");
    let from_alice = report.streams.iter().find(|stream| stream.info.flow.ssrc == 7).unwrap();
    assert_eq!(from_alice.delay, DelaySource::Captures { matched: 225, unmatched: 0 });
    let mean = from_alice.parts[0].summary.delay.as_ref().unwrap().mean_ms;
    assert!(
        mean.contains(31.9) && (mean.width() - 80.0).abs() < 1.0,
        "no better than the round trip: {mean:?}"
    );
    let from_bob = report.streams.iter().find(|stream| stream.info.flow.ssrc == 9).unwrap();
    assert_eq!(from_bob.delay, DelaySource::SentHere);
    let opinion = from_alice.judgement(&from_alice.parts[0]).conversation.unwrap();
    assert!(opinion.mos.width() > 0.0 && opinion.mos.high < 3.0, "ten per cent are lost: {:?}", opinion.mos);
}

#[test]
fn a_word_on_the_clocks_narrows_the_delay() {
    let (alice, bob) = both_ends(0.5);
    let config = SurveyConfig { clock_error_ms: Some(1.0), ..SurveyConfig::default() };
    let report = survey(&bob.file, config, Some(departures(&alice.file)));
    let stream = report.streams.iter().find(|stream| stream.info.flow.ssrc == 7).unwrap();
    let mean = stream.parts[0].summary.delay.as_ref().unwrap().mean_ms;
    assert!(mean.contains(31.9) && mean.width() < 2.1, "{mean:?}");
    let row = stream.parts[0].rows[2];
    assert!(row.delay_ms.unwrap().contains(32.0), "{row:?}");
}

#[test]
fn one_direction_alone_and_no_word_on_the_clocks_is_no_delay() {
    let (mut alice, mut bob) = (Call::new(), Call::new());
    alice.talk(4, |_| false);
    bob.talk(4, |_| false);
    let report = survey(&bob.file, SurveyConfig::default(), Some(departures(&alice.file)));
    let stream = &report.streams[0];
    assert_eq!((stream.delay, report.clocks), (DelaySource::NoClocks, None));
    assert_eq!(stream.judgement(&stream.parts[0]).conversation, Err(Unknown::NoDelay));
}

#[test]
fn rtcp_gives_a_delay_between_nothing_and_the_round_trip() {
    let mut call = Call::new();
    for index in 0..250_u64 {
        let ms = index as f64 * 20.0;
        call.rtp(ms, 0, index, index * 160, 7);
        call.datagram(ms, BOB, ALICE, &rtp(0, index, index * 160, 9));
    }
    let report = |reporter: u32, clock: u32, about: u32, last: u32, kept_ms: u32| {
        let mut bytes = vec![0x81, 200, 0, 12];
        bytes.extend(reporter.to_be_bytes());
        bytes.extend((u64::from(clock) << 16).to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend(about.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend(last.to_be_bytes());
        bytes.extend((kept_ms * 65_536 / 1_000).to_be_bytes());
        bytes
    };
    call.datagram(6_000.0, ALICE, BOB, &report(7, 100, 9, 0, 0));
    call.datagram(6_250.0, BOB, ALICE, &report(9, 200, 7, 100, 50));
    call.datagram(6_300.0, ALICE, BOB, &report(7, 300, 9, 200, 30));
    let report = call.survey(SurveyConfig::default());
    let stream = &report.streams[0];
    let DelaySource::RoundTrip(delay) = stream.delay else { panic!("{:?}", stream.delay) };
    assert!(delay.low == 0.0 && (delay.high - 220.0).abs() < 0.1, "{delay:?}");
    let opinion = stream.judgement(&stream.parts[0]).conversation.unwrap();
    assert!(opinion.r.width() > 5.0 && opinion.caveats.is_empty(), "{opinion:?}");
}

#[test]
fn keeps_no_more_seconds_than_it_may_and_says_so() {
    let mut call = Call::new();
    call.talk(30, |_| false);
    let report = call.survey(SurveyConfig { rows_max: 10, ..SurveyConfig::default() });
    assert_eq!((report.streams[0].parts[0].rows.len(), report.rows_dropped), (10, 20));
    assert_eq!(report.streams[0].parts[0].summary.network.expected, 1_500);
}

#[test]
fn a_picture_is_not_rated() {
    let mut call = Call::new();
    for index in 0..200 {
        call.rtp(index as f64 * 20.0, 34, index, index * 1_800, 7);
    }
    let report = call.survey(SurveyConfig::default());
    assert_eq!(report.streams[0].parts[0].sound, Sound::NoVoice { name: "H263".to_owned() });
}

/// Hands each frame of a file to a live survey; `between` is called with the number of each before it.
fn live(file: &[u8], mut between: impl FnMut(&mut Survey, u64)) -> Survey {
    let mut reader = Reader::new();
    reader.feed(file);
    reader.finish();
    let mut survey = Survey::live(SurveyConfig::default(), "eth7");
    let mut number = 0;
    while let Some(frame) = reader.next().unwrap() {
        between(&mut survey, number);
        survey.handle_frame(&frame);
        number += 1;
    }
    survey
}

#[test]
fn what_is_seen_live_is_judged_as_in_a_file() {
    let mut call = Call::new();
    call.talk(20, |index| index % 17 == 3);
    let (here, there) = (live(&call.file, |_, _| ()), call.survey(SurveyConfig::default()));
    // A look in between changes nothing.
    assert_eq!(here.report().streams.len(), 1);
    let here = here.finish();
    assert_eq!(here.streams[0].interface.as_deref(), Some("eth7"));
    let (one, other) = (&here.streams[0], &there.streams[0]);
    assert_eq!((&one.info, &one.parts[0].rows), (&other.info, &other.parts[0].rows));
    assert_eq!(one.parts[0].summary, other.parts[0].summary);
}

#[test]
fn a_gap_of_our_own_is_no_loss_and_those_before_and_after_are() {
    let mut call = Call::new();
    // Lost at 100 and at 600; the frames 300 to 349 we drop ourselves.
    let lost = |index: u64| index == 100 || index == 600 || (300..350).contains(&index);
    call.talk(20, lost);
    let at = |index: u64| Stamp(START + index * 20_000_000);
    // 299 frames came before the gap, without the lost one.
    let survey = live(&call.file, |survey, number| {
        if number == 299 {
            survey.handle_drops(50, at(310), at(351));
        }
    });
    let report = survey.finish();
    let summary = &report.streams[0].parts[0].summary;
    assert_eq!((summary.network.lost, summary.counts.unseen), (2, 50));
    assert_eq!((summary.network.expected, report.counts.own_drops), (950, 50));
    assert_eq!(summary.network.run_lengths[0], 2);
}

#[test]
fn streams_that_ended_are_taken_out_in_pairs_and_leave_room() {
    let mut call = Call::new();
    for index in 0..500 {
        let ms = index as f64 * 20.0;
        if index < 100 {
            call.datagram(ms, ALICE, BOB, &rtp(0, index, index * 160, 7));
        }
        if index < 250 {
            call.datagram(ms + 1.0, BOB, ALICE, &rtp(0, index, index * 160, 8));
        }
        call.datagram(ms + 2.0, "192.0.2.9:4000", "198.51.100.9:5000", &rtp(0, index, index * 160, 9));
    }
    let mut survey = live(&call.file, |_, _| ());
    let at = |seconds: u64| Stamp(START + seconds * 1_000_000_000);
    assert!(survey.retire(at(4)).is_empty(), "Alice is silent, and Bob has spoken since");
    let ended = survey.retire(at(9));
    let sources: Vec<u32> = ended.iter().map(|stream| stream.info.flow.ssrc).collect();
    assert_eq!(sources, [7, 8]);
    // Of both all is said as if the file had ended.
    let there = call.survey(SurveyConfig::default());
    for (one, other) in ended.iter().zip(&there.streams) {
        assert_eq!((one.direction, &one.parts[0].summary), (other.direction, &other.parts[0].summary));
    }
    let left = survey.report();
    assert_eq!((left.streams.len(), left.streams[0].info.flow.ssrc), (1, 9));
    assert_eq!((left.streams[0].direction, left.streams[0].opposite), (Direction::OneWay, None));
    // Others come in their stead, and no more is remembered.
    let mut later = Call::new();
    for index in 0..50 {
        later.datagram(20_000.0 + index as f64 * 20.0, ALICE, BOB, &rtp(0, index, index * 160, 10));
    }
    let mut reader = Reader::new();
    reader.feed(&later.file);
    while let Some(frame) = reader.next().unwrap() {
        survey.handle_frame(&frame);
    }
    assert_eq!(survey.watched.tracks.len(), 3);
    let sources: Vec<u32> = survey.finish().streams.iter().map(|stream| stream.info.flow.ssrc).collect();
    assert!(sources.contains(&9) && sources.contains(&10) && sources.len() == 2, "{sources:?}");
}

#[test]
fn one_way_calls_and_silence_are_found() {
    let mut call = Call::new();
    let loud = |index: u64, ssrc: u32| {
        let mut packet = rtp(0, index, index * 160, ssrc);
        packet[12..]
            .iter_mut()
            .enumerate()
            .for_each(|(at, code)| *code = if at % 8 < 4 { 0x9a } else { 0x1a });
        packet
    };
    let silent = |index: u64, ssrc: u32| {
        let mut packet = rtp(0, index, index * 160, ssrc);
        packet[12..].fill(0xff);
        packet
    };
    for index in 0..300 {
        let ms = index as f64 * 20.0;
        call.datagram(ms, ALICE, BOB, &loud(index, 1));
        call.datagram(ms + 1.0, BOB, ALICE, &silent(index, 2));
        call.datagram(ms + 2.0, "192.0.2.3:1000", "192.0.2.4:1000", &loud(index, 3));
        call.datagram(ms + 3.0, "192.0.2.5:1000", "192.0.2.6:1000", &loud(index, 4));
        call.datagram(ms + 4.0, "192.0.2.6:1000", "192.0.2.5:1000", &loud(index, 5));
        if index < 100 {
            call.datagram(ms + 5.0, "192.0.2.7:1000", "192.0.2.8:1000", &loud(index, 6));
        }
    }
    let report = call.survey(SurveyConfig::default());
    let found: Vec<_> =
        report.streams.iter().map(|stream| (stream.direction, stream.sounding.is_silence())).collect();
    assert_eq!(
        found,
        [
            (Direction::SilentReturn, false),
            (Direction::Both, true),
            (Direction::OneWay, false),
            (Direction::Both, false),
            (Direction::Both, false),
            (Direction::TooShort, false),
        ]
    );
    assert!((report.streams[1].sounding.longest_silence_s - 5.98).abs() < 1e-6);
}

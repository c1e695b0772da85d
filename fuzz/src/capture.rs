//! Files of packets, and the search for voice in them.

use crate::seeds::Seed;
use guestright_capture::{
    CaptureError, Datagram, Decoded, Finder, Limits, Reader, Report, Stamp, Survey, SurveyConfig, Writer,
    decode,
};
use std::net::SocketAddr;

const ALICE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 4_000);
const BOB: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 2)), 5_000);

/// A file of packets: in whatever pieces it comes, it has the same packets and the same end. What is read of it can be
/// written again, and every rating lies on its scale.
pub fn capture(bytes: &[u8]) {
    let (packets, end) = read(bytes, bytes.len().max(1));
    let pieces = read(bytes, 7);
    assert_eq!((packets.len(), &end), (pieces.0.len(), &pieces.1));
    assert_eq!(packets, pieces.0);
    if let Err(CaptureError::CutOff { offset, got, .. }) = end {
        assert!(offset + got <= bytes.len() as u64);
    }
    let mut survey = Survey::new(SurveyConfig::default(), None);
    let _ = survey.feed(bytes).and_then(|()| survey.end());
    check(&survey.report());
    let mut emptied = survey.clone();
    let ended = emptied.retire(Stamp(u64::MAX)).len();
    let all = survey.finish();
    check(&all);
    assert_eq!(
        ended + emptied.finish().streams.len(),
        all.streams.len(),
        "none is in both, and none is gone"
    );
}

/// Datagrams of a conversation, each behind a byte with its length: streams have as many packets as were handed out,
/// and no more is remembered than the limits allow.
pub fn streams(bytes: &[u8]) {
    let limits = Limits { streams_max: 4, candidates_max: 8 };
    let mut finder = Finder::new(limits);
    let mut file = Vec::new();
    let mut writer = Writer::new("fuzz", "any", &mut file);
    let mut rest = bytes;
    let mut handed = 0;
    for index in 0_u64.. {
        let Some((&length, behind)) = rest.split_first() else { break };
        let (payload, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        let (from, to) = if length % 2 == 0 { (ALICE, BOB) } else { (BOB, ALICE) };
        let at = Stamp(1_700_000_000_000_000_000 + index * 10_000_000);
        writer.packet(at, from, to, payload, &mut file).expect("it is short and of one family");
        let datagram = Datagram { at: Some(at), interface: 0, from, to, payload, missing: 0 };
        finder.handle_datagram(&datagram);
        while finder.poll_packet().is_some() {
            handed += 1;
        }
    }
    assert!(finder.streams().len() <= limits.streams_max);
    assert_eq!(finder.streams().iter().map(|stream| stream.packets).sum::<u64>(), handed);
    for index in 0..finder.streams().len() {
        assert_ne!(finder.opposite(index), Some(index));
    }
    let mut survey = Survey::new(SurveyConfig { limits, ..SurveyConfig::default() }, None);
    survey.feed(&file).and_then(|()| survey.end()).expect("what we write we read");
    let report = survey.finish();
    assert_eq!(report.streams.len(), finder.streams().len(), "a file changes nothing");
    check(&report);
}

/// A frame: when it was caught, and its bytes.
type Read = (Option<Stamp>, Vec<u8>);

fn read(bytes: &[u8], piece: usize) -> (Vec<Read>, Result<(), CaptureError>) {
    let mut reader = Reader::new();
    let mut packets = Vec::new();
    let mut drain = |reader: &mut Reader| {
        while let Some(frame) = reader.next()? {
            assert!(frame.bytes.len() as u64 <= u64::from(frame.length));
            if let Decoded::Udp(datagram) = decode(&frame) {
                assert!(datagram.payload.len() <= frame.bytes.len());
            }
            packets.push((frame.at, frame.bytes.to_vec()));
        }
        Ok(())
    };
    let mut end = Ok(());
    for piece in bytes.chunks(piece) {
        reader.feed(piece);
        end = drain(&mut reader);
        if end.is_err() {
            return (packets, end);
        }
    }
    reader.finish();
    end = end.and_then(|()| drain(&mut reader));
    (packets, end)
}

fn check(report: &Report) {
    for stream in &report.streams {
        for part in &stream.parts {
            let loss = &part.summary.network;
            assert!(loss.lost <= loss.expected);
            let in_runs = (1..).zip(loss.run_lengths).map(|(length, count)| length * count).sum::<u64>();
            assert!(in_runs <= loss.lost, "those of more than ten count as eleven");
            let stretch = stream.worst_stretch(part);
            assert!(stretch.is_none_or(|(stretch, _)| stretch.lost <= stretch.unplayed));
            assert!(
                stream.labelled(part).iter().all(|(_, loss_there, _)| loss_there.playout.lost >= loss.lost)
            );
            let judgements = part.rows.iter().map(|row| stream.row_judgement(part, row));
            for judgement in judgements.chain([stream.judgement(part)]) {
                for opinion in [judgement.conversation, judgement.listening].into_iter().flatten() {
                    assert!(opinion.r.low >= 0.0 && opinion.r.high <= 129.0, "{:?}", opinion.r);
                    assert!(opinion.mos.low >= 1.0 && opinion.mos.high <= 4.5, "{:?}", opinion.mos);
                }
            }
        }
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let packet = |index: u16| {
        let mut packet = vec![0x80, 0];
        packet.extend(index.to_be_bytes());
        packet.extend((u32::from(index) * 160).to_be_bytes());
        packet.extend(7_u32.to_be_bytes());
        packet.extend([0xff; 4]);
        packet
    };
    let mut file = Vec::new();
    let mut writer = Writer::new("guestright", "call", &mut file);
    let mut conversation = Vec::new();
    let sdp: &[u8] = b"SIP/2.0 200 OK\r\n\r\nc=IN IP4 198.51.100.2\r\nm=audio 5000 RTP/AVP 0 101\r\n\
        a=rtpmap:101 telephone-event/8000\r\n";
    for index in 0..12 {
        let payload = if index == 0 { sdp.to_vec() } else { packet(index) };
        let at = Stamp(1_700_000_000_000_000_000 + u64::from(index) * 20_000_000);
        writer.packet(at, ALICE, BOB, &payload, &mut file).expect("it is short");
        conversation.push(u8::try_from(payload.len()).expect("it is short"));
        conversation.extend(payload);
    }
    // A report of RTCP with a block.
    conversation.extend([32, 0x81, 201, 0, 7]);
    conversation
        .extend([0, 0, 0, 9, 0, 0, 0, 7, 1, 0, 0, 2, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut old = vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4];
    old.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 1]);
    for _ in 0..2 {
        old.extend([0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 22, 0, 0, 0, 64]);
        old.extend([0; 12]);
        old.extend([0x81, 0, 0, 5, 8, 0, 0x45, 0, 0, 46]);
    }
    seeds.push(("capture", "pcapng".to_owned(), file));
    seeds.push(("capture", "pcap-vlan".to_owned(), old));
    seeds.push(("streams", "call".to_owned(), conversation));
}

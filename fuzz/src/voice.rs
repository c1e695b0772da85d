//! What comes to a media port and out of SDP: RTP, RTCP, keys in `a=crypto`, datagrams of a key agreement, and of BoAT.

use std::sync::LazyLock;

use guestright_boat::modern::{self, Introduction, Member, Modern, introduction};
use guestright_boat::{Content, Opening, Seal as _, SealError};
use guestright_identity::{Certificate, Role as CertifiedRole, SecretKey, Suite};
use guestright_units::{Micros, Seed as Chance, Time, UnixSeconds};
use guestright_voice::agreement::{self, Agreement, Call, Event, Fingerprint, Prepared, Role};
use guestright_voice::playout::Fixed;
use guestright_voice::session::{Config, Protection, Session};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile, Protect, SrtpError, Unprotect};
use guestright_voice::tool::Side;
use guestright_wire::rtcp::{self, BLOCKS_MAX, Part};
use guestright_wire::rtp::{HEADER_LEN, Header, Kind, Packet};
use rand::SeedableRng;
use zeroize::Zeroizing;

use crate::seeds::Seed;

const NOW: Time = Time(1_700_000_000_000_000);

fn key(profile: Profile) -> MasterKey {
    let bytes: Vec<u8> = (1..=46).collect();
    MasterKey::new(profile, &bytes[..profile.key_len()], &bytes[..profile.salt_len()]).expect("its lengths")
}

/// A packet is read whole or not at all; nobody without the key has one opened; what was protected is opened to the same.
/// The first byte says which profile.
pub fn rtp(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    if let Ok(packet) = Packet::parse(bytes) {
        assert_eq!(packet.header_len() + packet.payload().len() + packet.padding(), bytes.len());
        assert!(matches!(Kind::of(bytes), Kind::Rtp | Kind::Rtcp));
        if packet.header_len() == HEADER_LEN && packet.padding() == 0 {
            let mut again = Vec::new();
            packet.header().emit(&mut again);
            assert_eq!(again, bytes[..HEADER_LEN]);
        }
        assert_eq!(packet.contributors().count(), usize::from(bytes[0] & 15));
        assert_eq!(packet.extension().is_some(), bytes[0] & 0x10 != 0);
        // Cut off anywhere behind the fixed part, the same fields are read.
        assert_eq!(Header::parse(&bytes[..HEADER_LEN]), Ok(packet.header()));
    }
    let profile = Profile::ALL[usize::from(*choice) % Profile::ALL.len()];
    let (mut protect, mut unprotect) = (Protect::new(&key(profile)), Unprotect::new(&key(profile)));
    let (mut sealed, mut opened) = (Vec::new(), Vec::new());
    assert!(unprotect.rtp(bytes, &mut opened).is_err() && opened.is_empty(), "opened what nobody protected");
    assert!(unprotect.rtcp(bytes, &mut opened).is_err() && opened.is_empty(), "opened what nobody protected");
    if protect.rtp(bytes, &mut sealed).is_ok() {
        assert_eq!(unprotect.rtp(&sealed, &mut opened), Ok(()));
        assert_eq!(opened, bytes);
        assert!(matches!(unprotect.rtp(&sealed, &mut opened), Err(SrtpError::Replayed { .. })));
    }
    let policy = Box::new(Fixed::new(Micros::from_millis(40)));
    let mut session =
        Session::new(Config::g711(8, "fuzz"), Protection::None, policy, &Chance::from_number(1), NOW);
    let from = ([192, 0, 2, 1], 4_000).into();
    for repeat in 0..3 {
        let now = Time(NOW.0 + repeat * 20_000);
        let _ = session.handle_datagram(bytes, from, now);
        session.poll_sound(now);
        session.handle_timeout(now);
    }
}

/// What is accepted can be written, and is then read as the same.
pub fn rtcp(bytes: &[u8]) {
    let skimmed = rtcp::skim(bytes);
    let Ok(parts) = rtcp::parse(bytes) else { return };
    // What somebody else's packet is read for is a part of what one's own is: the one reader forgives what the other does not.
    let counted = |parts: &[Part]| parts.iter().map(report_blocks).sum::<usize>();
    let skimmed = skimmed.expect("what is read whole can be skimmed");
    assert!(skimmed.len() == parts.len() && counted(&skimmed) == counted(&parts));
    let is_whole = parts.iter().all(|part| match part {
        // A name that was not UTF-8 grows, and is cut.
        Part::Description(chunks) => {
            chunks.iter().all(|(_, name)| name.as_ref().is_none_or(|name| name.len() < 256))
        }
        Part::Extended { voip, .. } => voip.len() <= BLOCKS_MAX,
        Part::SenderReport { .. }
        | Part::ReceiverReport { .. }
        | Part::Goodbye(_)
        | Part::ClockError { .. }
        | Part::Other { .. } => true,
    });
    let known: Vec<Part> = parts.into_iter().filter(|part| !matches!(part, Part::Other { .. })).collect();
    let mut written = Vec::new();
    rtcp::emit(&known, &mut written);
    if known.is_empty() {
        assert!(written.is_empty());
        return;
    }
    let again = rtcp::parse(&written).expect("what we write is read");
    assert!(!is_whole || again == known);
    let (mut sealed, mut opened) = (Vec::new(), Vec::new());
    for profile in Profile::ALL {
        let (mut protect, mut unprotect) = (Protect::new(&key(profile)), Unprotect::new(&key(profile)));
        if protect.rtcp(&written, &mut sealed).is_ok() {
            assert_eq!(unprotect.rtcp(&sealed, &mut opened), Ok(()));
            assert_eq!(opened, written);
        }
    }
}

fn report_blocks(part: &Part) -> usize {
    match part {
        Part::SenderReport { blocks, .. } | Part::ReceiverReport { blocks, .. } => blocks.len(),
        Part::Description(_)
        | Part::Goodbye(_)
        | Part::Extended { .. }
        | Part::ClockError { .. }
        | Part::Other { .. } => 0,
    }
}

/// A line that is accepted is written and read as the same, and never shows its key.
pub fn crypto_line(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = text.parse::<Fingerprint>();
    let Ok(line) = text.parse::<CryptoLine>() else { return };
    let written = line.to_text();
    assert_eq!(written.parse(), Ok(line.clone()));
    let (_, secret) = written.split_once("inline:").expect("a key follows");
    assert!(!format!("{line:?} {}", line.hidden()).contains(secret), "a key is shown");
}

fn member(number: u64) -> (SecretKey, Certificate) {
    let mut rng = rand::rngs::StdRng::seed_from_u64(number);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(Suite::Ed25519, &mut rng);
    let until = UnixSeconds(4_000_000_000);
    let certificate = Certificate::issue(&team, key.public(), CertifiedRole::Member, UnixSeconds(0), until);
    (key, certificate)
}

static MEMBER: LazyLock<(SecretKey, Certificate)> = LazyLock::new(|| member(1));

static MEMBERS: LazyLock<[Prepared; 2]> = LazyLock::new(|| {
    [1, 2].map(|number| {
        let (key, certificate) = member(number);
        Prepared::new(key, certificate, &Chance::from_number(number)).expect("a short certificate")
    })
});

fn side(role: Role) -> Agreement {
    let [one, other] = &*MEMBERS;
    let (own, peer) = if role == Role::Caller { (one, other) } else { (other, one) };
    let call = Call { role, profile: Profile::AeadAes128Gcm, peer: peer.fingerprint(), expected: None };
    Agreement::new(own.clone(), call, NOW)
}

/// Whatever comes, nobody agrees with nobody: bytes as they are, and behind a header with the right tag. The first byte
/// says how far the exchange has come before.
pub fn agreement(bytes: &[u8]) {
    let Some((progress, bytes)) = bytes.split_first() else { return };
    let mut sides = [side(Role::Caller), side(Role::Callee)];
    let mut tag = Vec::new();
    for step in 0..progress % 5 {
        let from = usize::from(step % 2 == 0);
        while let Some(datagram) = sides[from].poll_transmit() {
            assert!(agreement::parses(&datagram) && Kind::of(&datagram) == Kind::Agreement);
            tag = datagram[4..12].to_vec();
            let _ = sides[1 - from].handle_input(&datagram, NOW);
        }
    }
    for side in &mut sides {
        while side.poll_event().is_some() {}
        let _ = side.handle_input(bytes, NOW);
        if let [kind, body @ ..] = bytes {
            let _ = side.handle_input(&[&[Kind::AGREEMENT, 1, *kind, 0][..], &tag, body].concat(), NOW);
        }
        while let Some(event) = side.poll_event() {
            assert!(!matches!(event, Event::Agreed(_)), "agreed with nobody");
        }
        while let Some(datagram) = side.poll_transmit() {
            assert!(agreement::parses(&datagram));
        }
    }
}

fn boat_sides(key: u8) -> [Modern; 2] {
    [Role::Caller, Role::Callee].map(|role| {
        Modern::new(role, &Zeroizing::new([key; 32]), modern::Config::default(), &Chance::from_number(1))
    })
}

/// Nobody without the key has a datagram opened, and what is refused changes nothing; content has one form.
pub fn boat(bytes: &[u8]) {
    let _ = modern::parses(bytes);
    let [mut caller, mut callee] = boat_sides(7);
    let mut honest = Vec::new();
    for second in 0..3 {
        let now = Time(NOW.0 + second * 1_000_000);
        caller.seal(&Content::Cover, bytes.len(), now, &mut honest).expect("the key is fresh");
        assert!(callee.open(bytes, now).is_err(), "opened what nobody sealed");
        // The label and the counter that are expected, and anything behind them.
        let forged = [&honest[..3], bytes].concat();
        assert!(callee.open(&forged, now).is_err(), "opened what nobody sealed");
        assert_eq!(callee.open(&honest, now).expect("it is sealed").content, Content::Cover);
        assert_eq!(callee.open(&honest, now), Err(SealError::Replayed));
    }
    let (phase, key) = (bytes.len().try_into().unwrap_or(u32::MAX), bytes);
    let _ = (callee.response(phase, key), callee.ack(phase, key), caller.install(phase, key));
    assert!(caller.complete(phase, key).is_err(), "completed what was not begun");
    caller.seal(&Content::Bye, 34, NOW, &mut honest).expect("the key is fresh");
    assert!(callee.open(&honest, NOW).is_ok());
}

/// Whatever comes, nobody is introduced to nobody: bytes as they are, and behind the header of each step.
pub fn introduction(bytes: &[u8]) {
    let parsed = introduction::parses(bytes);
    let from = ([192, 0, 2, 1], 4_000).into();
    for side in [Side::Caller { to: from }, Side::Callee] {
        let (key, certificate) = MEMBER.clone();
        let member = Member { key, certificate, expected: None };
        let mut side = Introduction::new(side, member, modern::Config::default(), &Chance::from_number(1))
            .expect("a short certificate");
        side.handle_timeout(NOW);
        let question = side.poll_transmit();
        let answered = side.handle_datagram(bytes, from, NOW);
        assert!(parsed || answered.is_err(), "took what is no datagram of an introduction");
        for kind in 0..5 {
            let header = [introduction::INTRODUCTION, 1, kind, 0];
            let _ = side.handle_datagram(&[&header[..], bytes].concat(), from, NOW);
            // With the nonce of the question.
            let nonce = question.as_ref().and_then(|transmit| transmit.bytes.get(4..20)).unwrap_or_default();
            let _ = side.handle_datagram(&[&header[..], nonce, bytes].concat(), from, NOW);
        }
        assert!(side.poll_outcome().is_none(), "introduced to nobody");
        while let Some(sent) = side.poll_transmit() {
            assert!(introduction::parses(&sent.bytes) || agreement::parses(&sent.bytes));
        }
    }
}

/// One input for each target: all kinds of a thing in it where that is possible.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let header = Header { marker: true, payload_type: 8, sequence: 1, timestamp: 160, ssrc: 7 };
    let mut packet = vec![0];
    header.emit(&mut packet);
    packet[1] |= 0x20 | 0x10 | 1;
    packet.extend([0, 0, 0, 9, 0xbe, 0xde, 0, 1, 0x10, 0x7f, 0, 0, 1, 2, 3, 1]);
    seeds.push(("rtp", "all-parts".to_owned(), packet));
    let block = rtcp::ReportBlock { ssrc: 8, fraction_lost: 3, cumulative_lost: -1, ..Default::default() };
    let parts = [
        Part::SenderReport { ssrc: 7, info: rtcp::SenderInfo::default(), blocks: vec![block] },
        Part::Description(vec![(7, Some("w1@home".to_owned())), (8, None)]),
        Part::Extended { ssrc: 7, voip: vec![rtcp::VoipMetrics::default()] },
        Part::ClockError { ssrc: 7, error: Micros::from_millis(5) },
        Part::Goodbye(vec![7]),
    ];
    let mut report = Vec::new();
    rtcp::emit(&parts, &mut report);
    seeds.push(("rtcp", "all-parts".to_owned(), report));
    let line = CryptoLine { tag: 1, key: key(Profile::AeadAes256Gcm) };
    let text = format!("a=crypto:{}|2^31 WSH=64", line.to_text().as_str());
    seeds.push(("crypto_line", "good".to_owned(), text.into_bytes()));
    let mut callee = side(Role::Callee);
    let commit = callee.poll_transmit().expect("it commits at once");
    seeds.push(("agreement", "commit".to_owned(), [&[1, 2], &commit[12..]].concat()));
    // Under another key than the target's, which has to refuse it.
    let [mut caller, _] = boat_sides(8);
    let mut datagram = Vec::new();
    caller.seal(&Content::Bye, 34, NOW, &mut datagram).expect("the key is fresh");
    seeds.push(("boat", "sealed".to_owned(), datagram));
    let response = [&[0x80, 1, 0, 0, 0, 9, 0, 3][..], &[9; 32], &[4, 0, 0]].concat();
    seeds.push(("boat", "response".to_owned(), response));
    let (key, certificate) = MEMBER.clone();
    let member = Member { key, certificate, expected: None };
    let to = ([192, 0, 2, 1], 4_000).into();
    let mut caller =
        Introduction::new(Side::Caller { to }, member, modern::Config::default(), &Chance::from_number(1))
            .expect("a short certificate");
    caller.handle_timeout(NOW);
    let ask = caller.poll_transmit().expect("it asks at once").bytes;
    seeds.push(("introduction", "ask".to_owned(), ask));
    seeds.push(("introduction", "answer".to_owned(), [&[9; 48][..], &[1]].concat()));
}

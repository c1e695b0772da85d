use super::*;
use data_encoding::HEXLOWER_PERMISSIVE;
use guestright_wire::rtp;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER_PERMISSIVE.decode(text.replace(char::is_whitespace, "").as_bytes()).unwrap()
}

fn key(profile: Profile, fill: u8) -> MasterKey {
    let key: Vec<u8> = (0..32).map(|n| n ^ fill).collect();
    MasterKey::new(profile, &key[..profile.key_len()], &key[..profile.salt_len()]).unwrap()
}

fn packet(sequence: u16, ssrc: u32, payload: &[u8]) -> Vec<u8> {
    let timestamp = u32::from(sequence) * 160;
    let mut bytes = Vec::new();
    rtp::Header { marker: false, payload_type: 8, sequence, timestamp, ssrc }.emit(&mut bytes);
    bytes.extend(payload);
    bytes
}

/// A sender and a receiver with one key.
struct Pair {
    protect: Protect,
    unprotect: Unprotect,
}

impl Pair {
    fn new(profile: Profile) -> Self {
        let key = key(profile, 0);
        Self { protect: Protect::new(&key), unprotect: Unprotect::new(&key) }
    }

    fn seal(&mut self, sequence: u16) -> Vec<u8> {
        let mut out = Vec::new();
        self.protect.rtp(&packet(sequence, 7, &[0x55; 160]), &mut out).unwrap();
        out
    }

    fn open(&mut self, sealed: &[u8]) -> Result<Vec<u8>, SrtpError> {
        let mut out = Vec::new();
        self.unprotect.rtp(sealed, &mut out).map(|()| out)
    }
}

#[test]
fn every_profile_opens_what_it_protected_and_grows_by_what_it_says() {
    for profile in Profile::ALL {
        let mut pair = Pair::new(profile);
        let plain = packet(1, 7, &[0x55; 160]);
        let sealed = pair.seal(1);
        assert_eq!(sealed.len(), plain.len() + profile.rtp_overhead(), "{profile}");
        assert_eq!(sealed[..12], plain[..12], "{profile}: the header stays readable");
        assert!(!sealed.windows(8).any(|part| part == [0x55; 8]), "{profile}");
        assert_eq!(pair.open(&sealed), Ok(plain), "{profile}");

        let report =
            [&[0x80, 201, 0, 1, 0, 0, 0, 7][..], &[0x81, 202, 0, 2, 0, 0, 0, 7, 1, 1, b'x', 0]].concat();
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        pair.protect.rtcp(&report, &mut sealed).unwrap();
        assert_eq!(sealed.len(), report.len() + profile.rtcp_overhead(), "{profile}");
        pair.unprotect.rtcp(&sealed, &mut opened).unwrap();
        assert_eq!(opened, report, "{profile}");
    }
}

#[test]
fn every_changed_bit_is_refused_and_changes_nothing() {
    for profile in Profile::ALL {
        let mut pair = Pair::new(profile);
        let sealed = pair.seal(9);
        let mut report = Vec::new();
        pair.protect.rtcp(&[0x80, 201, 0, 1, 0, 0, 0, 7], &mut report).unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut forged = sealed.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(pair.open(&forged).is_err(), "{profile}, bit {bit}");
        }
        for bit in 0..report.len() * 8 {
            let mut forged = report.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            let mut out = Vec::new();
            assert!(pair.unprotect.rtcp(&forged, &mut out).is_err(), "{profile}, RTCP bit {bit}");
            assert!(out.is_empty());
        }
        assert_eq!(pair.unprotect.rollover(7), None, "{profile}: no forgery made a source");
        assert!(pair.open(&sealed).is_ok(), "{profile}");
        assert!(pair.unprotect.rtcp(&report, &mut Vec::new()).is_ok(), "{profile}");
    }
}

#[test]
fn every_cut_is_refused() {
    for profile in Profile::ALL {
        let mut pair = Pair::new(profile);
        let sealed = pair.seal(9);
        let mut report = Vec::new();
        pair.protect.rtcp(&[0x80, 201, 0, 1, 0, 0, 0, 7], &mut report).unwrap();
        for length in 0..sealed.len() {
            assert!(pair.open(&sealed[..length]).is_err(), "{profile}, {length}");
        }
        for length in 0..report.len() {
            assert!(pair.unprotect.rtcp(&report[..length], &mut Vec::new()).is_err(), "{profile}, {length}");
        }
    }
}

/// A library that we looked at takes such a packet without looking at its check value.
#[test]
fn srtcp_in_the_clear_is_refused_whoever_wrote_it() {
    for profile in Profile::ALL {
        let mut pair = Pair::new(profile);
        let mut bye = vec![0x81, 203, 0, 1, 0, 0, 0, 7];
        bye.extend(vec![0; profile.rtcp_overhead()]);
        let mut out = Vec::new();
        assert_eq!(pair.unprotect.rtcp(&bye, &mut out), Err(SrtpError::NotEncrypted), "{profile}");
        assert!(out.is_empty());
    }
}

#[test]
fn what_came_is_not_opened_again() {
    for profile in Profile::ALL {
        let mut pair = Pair::new(profile);
        let sealed: Vec<Vec<u8>> = (0..2_000).map(|sequence| pair.seal(sequence)).collect();
        for part in sealed.chunks(7) {
            part.iter().rev().for_each(|packet| assert!(pair.open(packet).is_ok()));
        }
        for (index, packet) in (0..).zip(&sealed) {
            let want = if index < 2_000 - WINDOW {
                SrtpError::TooOld { ssrc: 7, index }
            } else {
                SrtpError::Replayed { ssrc: 7, index }
            };
            assert_eq!(pair.open(packet), Err(want), "{profile}");
        }
        let mut report = Vec::new();
        pair.protect.rtcp(&[0x80, 201, 0, 1, 0, 0, 0, 7], &mut report).unwrap();
        pair.unprotect.rtcp(&report, &mut Vec::new()).unwrap();
        let again = pair.unprotect.rtcp(&report, &mut Vec::new());
        assert_eq!(again, Err(SrtpError::Replayed { ssrc: 7, index: 1 }), "{profile}");
    }
}

#[test]
fn an_index_is_protected_once() {
    let mut pair = Pair::new(Profile::AeadAes128Gcm);
    pair.seal(5);
    pair.seal(3);
    let again = pair.protect.rtp(&packet(5, 7, b"another text"), &mut Vec::new());
    assert_eq!(again, Err(SrtpError::Replayed { ssrc: 7, index: 5 }));
    pair.seal(3_000);
    let old = pair.protect.rtp(&packet(4, 7, b"another text"), &mut Vec::new());
    assert_eq!(old, Err(SrtpError::TooOld { ssrc: 7, index: 4 }));
}

/// 22 minutes of voice, with losses before, at and after the wrap.
#[test]
fn the_sequence_may_wrap_with_losses_around_it() {
    for profile in Profile::ALL {
        for lost in [0..0, 65_400..65_536, 65_536..65_700, 65_500..65_600, 65_536..65_537_u32] {
            let mut pair = Pair::new(profile);
            for number in 65_000..66_200_u32 {
                let sequence = u16::try_from(number % 65_536).unwrap();
                let sealed = pair.seal(sequence);
                if !lost.contains(&number) {
                    assert!(pair.open(&sealed).is_ok(), "{profile}: {number}, lost {lost:?}");
                }
            }
            assert_eq!((pair.protect.rollover(7), pair.unprotect.rollover(7)), (Some(1), Some(1)));
        }
    }
}

#[test]
fn the_first_packets_may_be_lost_over_a_wrap() {
    let mut pair = Pair::new(Profile::AeadAes128Gcm);
    for sequence in [65_534, 65_535, 0, 1] {
        pair.seal(sequence);
    }
    let sealed = pair.seal(2);
    assert!(pair.open(&sealed).is_ok());
    assert_eq!(pair.unprotect.rollover(7), Some(1));
}

/// A call of 45 minutes: after the second wrap it is put on hold, taken up elsewhere and goes on with its contexts.
#[test]
fn hold_and_resume_keep_the_rollover_counter() {
    let mut pair = Pair::new(Profile::AesCm128HmacSha1_80);
    let mut number = 100_u32;
    let mut talk = |pair: &mut Pair, packets: u32| {
        for _ in 0..packets {
            let sealed = pair.seal(u16::try_from(number % 65_536).unwrap());
            assert!(pair.open(&sealed).is_ok(), "{number}");
            number += 1;
        }
    };
    talk(&mut pair, 135_000);
    assert_eq!((pair.protect.rollover(7), pair.unprotect.rollover(7)), (Some(2), Some(2)));
    talk(&mut pair, 70_000);
    assert_eq!((pair.protect.rollover(7), pair.unprotect.rollover(7)), (Some(3), Some(3)));
}

#[test]
fn forged_sources_take_no_place_and_real_ones_have_a_limit() {
    let key = key(Profile::AeadAes128Gcm, 0);
    let (mut protect, mut unprotect) = (Protect::new(&key), Unprotect::new(&key));
    let mut forger = Protect::new(&self::key(Profile::AeadAes128Gcm, 1));
    let (mut sealed, mut out) = (Vec::new(), Vec::new());
    for ssrc in 1_000..1_050 {
        forger.rtp(&packet(1, ssrc, b"x"), &mut sealed).unwrap();
        assert_eq!(unprotect.rtp(&sealed, &mut out), Err(SrtpError::Forged));
    }
    for ssrc in 0..64 {
        protect.rtp(&packet(1, ssrc, b"x"), &mut sealed).unwrap();
        assert_eq!(unprotect.rtp(&sealed, &mut out), Ok(()), "{ssrc}");
    }
    let refused = Err(SrtpError::TooManySources { ssrc: 64 });
    assert_eq!(protect.rtp(&packet(1, 64, b"x"), &mut sealed), refused);
    sealed[8..12].copy_from_slice(&64_u32.to_be_bytes());
    assert_eq!(unprotect.rtp(&sealed, &mut out), refused);
}

#[test]
fn debug_shows_no_key() {
    for profile in Profile::ALL {
        let key = key(profile, 0x40);
        let line = CryptoLine { tag: 1, key: key.clone() };
        let shown = format!("{key:?} {line:?} {} {:?}", line.hidden(), Protect::new(&key));
        let text = line.to_text();
        let secret = text.split_once("inline:").unwrap().1;
        assert!(!shown.contains(&secret[..8]) && !shown.contains("64, 65"), "{shown}");
    }
}

/// RFC 7714, section 16.1.1 and 16.2.1: session keys are given, so only the cipher's part is compared here. The whole
/// path from the master key is compared with other implementations in `tests/srtp_judges.rs`.
#[test]
fn seals_the_packet_of_rfc_7714() {
    use super::session_key::{Layout, SessionKey};
    use aes_gcm::{Aes128Gcm, Aes256Gcm, KeyInit as _};
    use zeroize::Zeroizing;
    let salt: [u8; 12] = hex("51756964 2070726f 2071756f").try_into().unwrap();
    let packet = hex("8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976
        69736120 696e2070 61727465 73207472 6573");
    let key: Vec<u8> = (0..32).collect();
    let of_128 = Aes128Gcm::new_from_slice(&key[..16]).unwrap();
    let of_256 = Aes256Gcm::new_from_slice(&key).unwrap();
    let cases = [
        (
            SessionKey::Gcm128 { cipher: Box::new(of_128), salt: Zeroizing::new(salt) },
            "8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f
             42a5f47a 51c7d19b 36de3adf 8833899d 7f27beb1 6a9152cf 765ee439 0cce",
        ),
        (
            SessionKey::Gcm256 { cipher: Box::new(of_256), salt: Zeroizing::new(salt) },
            "8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238 9a58e2f3
             b50b2a02 76ffae0f 1ba63799 b87b7aa3 db36dfff d6b0f9bb 7878d7a7 6c13",
        ),
    ];
    for (session, want) in cases {
        let layout = Layout { header: 12, ssrc: 0x5501_a0b2, index: 0xf17b, tag_len: 16 };
        let mut sealed = packet.clone();
        session.seal_rtp(&mut sealed, &layout);
        assert_eq!(sealed, hex(want));
        session.open_rtp(&mut sealed, &layout).unwrap();
        assert_eq!(sealed, packet);
    }
}

/// RFC 3711, appendix B.2: the key stream of AES in counter mode, up to block 0xff00.
#[test]
fn the_key_stream_is_that_of_rfc_3711() {
    use super::session_key::apply_counter_mode;
    use aes::Aes128;
    use aes::cipher::KeyInit as _;
    let cipher = Aes128::new_from_slice(&hex("2B7E151628AED2A6ABF7158809CF4F3C")).unwrap();
    let salt: [u8; 14] = hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD").try_into().unwrap();
    let mut stream = vec![0; 0xff02 * 16];
    apply_counter_mode(&cipher, &salt, 0, 0, &mut stream);
    assert_eq!(stream[..32], hex("E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB"));
    let end = hex("EC8CDF7398607CB0F2D21675EA9EA1E4 362B7C3C6773516318A077D7FC5073AE");
    assert_eq!(stream[0xfeff * 16..][..32], end);
    let mut short = vec![0; 7];
    apply_counter_mode(&cipher, &salt, 0, 0, &mut short);
    assert_eq!(short, stream[..7]);
}

#[test]
fn reads_crypto_lines_of_the_rfcs() {
    // RFC 4568, section 9.2 (the first key of the example in 10.1, with its lifetime).
    let line: CryptoLine =
        "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz|2^20\r\n"
            .parse()
            .unwrap();
    assert_eq!((line.tag, line.key.profile()), (1, Profile::AesCm128HmacSha1_80));
    assert_eq!(line.key.key(), b"YS___semctl () {");
    let value = "1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
    assert_eq!(line.to_text().as_str(), value);
    for profile in Profile::ALL {
        let line = CryptoLine { tag: 999_999_999, key: key(profile, 3) };
        assert_eq!(line.to_text().parse(), Ok(line.clone()));
        let unpadded = line.to_text().trim_end_matches('=').to_owned();
        assert_eq!(format!("a=crypto:{unpadded} WSH=64 -x=1").parse(), Ok(line));
    }
}

#[test]
fn refuses_crypto_lines_that_weaken_or_confuse() {
    use CryptoLineError::{Key, KeyIdentifier, Malformed, SessionParameter, UnknownSuite};
    let good = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
    let suite = "AES_CM_128_HMAC_SHA1_80";
    let profile = Profile::AesCm128HmacSha1_80;
    let bad_key = Key { profile, want: 30 };
    #[rustfmt::skip]
    let cases = [
        (String::new(),                                           Malformed("there is no tag")),
        ("x".repeat(513),                                         Malformed("it is longer than 512 bytes")),
        (format!("x {suite} inline:{good}"),                      Malformed("the tag is not 1 to 9 digits")),
        (format!("1234567890 {suite} inline:{good}"),             Malformed("the tag is not 1 to 9 digits")),
        ("1".to_owned(),                                          Malformed("there is no suite")),
        (format!("1 F8_128_HMAC_SHA1_80 inline:{good}"),          UnknownSuite),
        (format!("1 {suite}"),                                    Malformed("there is no key")),
        (format!("1 {suite} {good}"),                             Malformed("the key is not after inline:")),
        (format!("1 {suite} uri:{good}"),                         Malformed("the key is not after inline:")),
        (format!("1 {suite} inline:{good}|1:4"),                  KeyIdentifier),
        (format!("1 {suite} inline:{good}|2^20|1:4"),             KeyIdentifier),
        (format!("1 {suite} inline:{good};inline:{good}"),        KeyIdentifier),
        (format!("1 {suite} inline:{good}|x"),                    Malformed("the lifetime of the key is not a number")),
        (format!("1 {suite} inline:"),                            bad_key),
        (format!("1 {suite} inline:AAAA"),                        bad_key),
        (format!("1 {suite} inline:{good}{good}{good}{good}"),    bad_key),
        (format!("1 {suite} inline:{good} UNENCRYPTED_SRTP"),     SessionParameter),
        (format!("1 {suite} inline:{good} UNENCRYPTED_SRTCP"),    SessionParameter),
        (format!("1 {suite} inline:{good} UNAUTHENTICATED_SRTP"), SessionParameter),
        (format!("1 {suite} inline:{good} KDR=1"),                SessionParameter),
        (format!("1 {suite} inline:{good} FEC_ORDER=FEC_SRTP"),   SessionParameter),
    ];
    for (line, want) in cases {
        assert_eq!(line.parse::<CryptoLine>(), Err(want), "{line}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, rtcp: bool) {
        for profile in Profile::ALL {
            let mut pair = Pair::new(profile);
            let mut out = Vec::new();
            let opened =
                if rtcp { pair.unprotect.rtcp(&bytes, &mut out) } else { pair.unprotect.rtp(&bytes, &mut out) };
            prop_assert!(opened.is_err());
            prop_assert!(out.is_empty());
            let _ = pair.protect.rtp(&bytes, &mut out);
            let _ = pair.protect.rtcp(&bytes, &mut out);
        }
    }

    #[test]
    fn no_line_makes_it_panic(line: String, tail: String) {
        let _ = line.parse::<CryptoLine>();
        let _ = format!("a=crypto:1 AEAD_AES_256_GCM inline:{tail}").parse::<CryptoLine>();
    }
}

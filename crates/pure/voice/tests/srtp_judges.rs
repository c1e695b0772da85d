//! SRTP against two implementations of somebody else's: libsrtp, by way of GStreamer's elements, and the crate `rtc-srtp`.
//!
//! GStreamer runs as a program that reads and writes packets on pipes; there is no network.

#![expect(clippy::unwrap_used, reason = "a judge that cannot judge has to say so")]

use guestright_voice::srtp::{MasterKey, Profile, Protect, SrtpError, Unprotect};
use guestright_wire::rtp::Header;
use rtc_srtp::context::Context;
use rtc_srtp::crypto::default_provider;
use rtc_srtp::option::{srtcp_replay_protection, srtp_replay_protection};
use rtc_srtp::protection_profile::ProtectionProfile;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

const SSRC: u32 = 0x1234_5678;

fn key(profile: Profile) -> MasterKey {
    let bytes: Vec<u8> = (1..=46).map(|byte| byte * 5).collect();
    let (key, salt) = bytes.split_at(32);
    MasterKey::new(profile, &key[..profile.key_len()], &salt[..profile.salt_len()]).unwrap()
}

/// Voice over the wrap of the sequence number, with and without contributors and an extension.
fn packets() -> Vec<Vec<u8>> {
    let packet = |number: u32| {
        let sequence = u16::try_from(number % 65_536).unwrap();
        let mut bytes = Vec::new();
        Header { marker: false, payload_type: 8, sequence, timestamp: number * 160, ssrc: SSRC }
            .emit(&mut bytes);
        if number.is_multiple_of(5) {
            bytes[0] |= 1;
            bytes.extend([9, 9, 9, 9]);
        }
        if number.is_multiple_of(7) {
            bytes[0] |= 0x10;
            bytes.extend([0xbe, 0xde, 0, 1, 0x10, 0x7f, 0, 0]);
        }
        bytes.extend((0..160).map(|n| u8::try_from(n).unwrap() ^ number.to_be_bytes()[3]));
        bytes
    };
    (65_500..65_600).map(packet).collect()
}

fn protect_all(profile: Profile, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut protect = Protect::new(&key(profile));
    let seal = |packet: &Vec<u8>| {
        let mut out = Vec::new();
        protect.rtp(packet, &mut out).unwrap();
        out
    };
    packets.iter().map(seal).collect()
}

fn unprotect_all(profile: Profile, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut unprotect = Unprotect::new(&key(profile));
    let open = |packet: &Vec<u8>| {
        let mut out = Vec::new();
        unprotect.rtp(packet, &mut out).unwrap();
        out
    };
    packets.iter().map(open).collect()
}

fn other(profile: Profile) -> Context {
    let theirs = match profile {
        Profile::AeadAes128Gcm => ProtectionProfile::AeadAes128Gcm,
        Profile::AeadAes256Gcm => ProtectionProfile::AeadAes256Gcm,
        Profile::AesCm128HmacSha1_80 => ProtectionProfile::Aes128CmHmacSha1_80,
        Profile::AesCm128HmacSha1_32 => ProtectionProfile::Aes128CmHmacSha1_32,
    };
    let key = key(profile);
    let provider = default_provider().unwrap();
    let replay = (Some(srtp_replay_protection(1_024)), Some(srtcp_replay_protection(1_024)));
    Context::new(key.key(), key.salt(), theirs, replay.0, replay.1, provider.crypto()).unwrap()
}

#[test]
fn rtc_srtp_opens_ours_and_we_open_its() {
    for profile in Profile::ALL {
        let packets = packets();
        let mut context = other(profile);
        for (sealed, plain) in protect_all(profile, &packets).iter().zip(&packets) {
            assert_eq!(&context.decrypt_rtp(sealed).unwrap()[..], plain, "{profile}");
        }
        let mut context = other(profile);
        let sealed: Vec<Vec<u8>> =
            packets.iter().map(|plain| context.encrypt_rtp(plain).unwrap().to_vec()).collect();
        assert_eq!(unprotect_all(profile, &sealed), packets, "{profile}");
    }
}

#[test]
fn rtc_srtp_opens_our_reports_and_we_open_its() {
    let report = [
        &[0x80, 201, 0, 1][..],
        &SSRC.to_be_bytes(),
        &[0x81, 202, 0, 3],
        &SSRC.to_be_bytes(),
        &[1, 4, b'n', b'a', b'm', b'e', 0, 0],
    ]
    .concat();
    for profile in Profile::ALL {
        let (mut protect, mut unprotect) = (Protect::new(&key(profile)), Unprotect::new(&key(profile)));
        let (mut theirs, mut sealing) = (other(profile), other(profile));
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            protect.rtcp(&report, &mut sealed).unwrap();
            assert_eq!(&theirs.decrypt_rtcp(&sealed).unwrap()[..], report, "{profile}");
            let sealed = sealing.encrypt_rtcp(&report).unwrap();
            unprotect.rtcp(&sealed, &mut opened).unwrap();
            assert_eq!(opened, report, "{profile}");
        }
    }
}

/// Why the framing is ours: `rtc-srtp` 0.21.1 takes SRTCP that says it is not encrypted, and never looks at its check
/// value (RFC 3711, section 3.4, wants it there). Anybody could end a call with a forged farewell. If this test fails, the
/// crate has been repaired, and the choice can be looked at again.
#[test]
fn what_rtc_srtp_takes_unchecked_we_refuse() {
    let profile = Profile::AesCm128HmacSha1_80;
    let mut forged = vec![0x81, 203, 0, 1];
    forged.extend(SSRC.to_be_bytes());
    forged.extend([0, 0, 0, 1]);
    forged.extend([0xaa; 10]);
    assert!(other(profile).decrypt_rtcp(&forged).is_ok(), "it has been repaired");
    let mut out = Vec::new();
    assert_eq!(Unprotect::new(&key(profile)).rtcp(&forged, &mut out), Err(SrtpError::NotEncrypted));
}

/// The names of cipher and check in GStreamer.
fn names(profile: Profile) -> (&'static str, &'static str) {
    match profile {
        Profile::AeadAes128Gcm => ("aes-128-gcm", "null"),
        Profile::AeadAes256Gcm => ("aes-256-gcm", "null"),
        Profile::AesCm128HmacSha1_80 => ("aes-128-icm", "hmac-sha1-80"),
        Profile::AesCm128HmacSha1_32 => ("aes-128-icm", "hmac-sha1-32"),
    }
}

fn hex(profile: Profile) -> String {
    let key = key(profile);
    key.key().iter().chain(key.salt()).map(|byte| format!("{byte:02x}")).collect()
}

/// Runs packets through a pipeline, each after its length in two bytes (RFC 4571).
fn pipe(caps: &str, element: &[String], packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut command = Command::new("gst-launch-1.0");
    command.args(["-q", "fdsrc", "fd=0", "!", caps, "!", "rtpstreamdepay", "!"]).args(element);
    command.args(["!", "rtpstreampay", "!", "fdsink", "fd=1"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("GStreamer is installed (scripts/setup.sh test)");
    let mut input = child.stdin.take().unwrap();
    for packet in packets {
        input.write_all(&u16::try_from(packet.len()).unwrap().to_be_bytes()).unwrap();
        input.write_all(packet).unwrap();
    }
    drop(input);
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    assert!(child.wait().unwrap().success(), "srtpenc and srtpdec are installed (scripts/setup.sh test)");
    let mut rest = &output[..];
    let mut packets = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk::<2>() {
        let (packet, more) = more.split_at(usize::from(u16::from_be_bytes(*length)));
        packets.push(packet.to_vec());
        rest = more;
    }
    packets
}

const MEDIA: &str = "media=audio,clock-rate=8000,encoding-name=PCMA,payload=8";

#[test]
fn libsrtp_opens_ours() {
    for profile in Profile::ALL {
        let (cipher, check) = names(profile);
        // RTCP always has the long check value (RFC 4568, section 6.2.2).
        let control = check.replace("-32", "-80");
        let caps = format!(
            "application/x-srtp-stream,{MEDIA},ssrc=(uint){SSRC},roc=(uint)0,srtp-key=(buffer){},srtp-cipher={cipher},\
             srtp-auth={check},srtcp-cipher={cipher},srtcp-auth={control}",
            hex(profile)
        );
        let packets = packets();
        let opened = pipe(&caps, &["srtpdec".to_owned()], &protect_all(profile, &packets));
        assert_eq!(opened, packets, "{profile}");
    }
}

#[test]
fn we_open_libsrtps() {
    for profile in Profile::ALL {
        let (cipher, check) = names(profile);
        let control = check.replace("-32", "-80");
        let element = [
            "srtpenc".to_owned(),
            format!("key={}", hex(profile)),
            format!("rtp-cipher={cipher}"),
            format!("rtp-auth={check}"),
            format!("rtcp-cipher={cipher}"),
            format!("rtcp-auth={control}"),
        ];
        let packets = packets();
        let sealed = pipe(&format!("application/x-rtp-stream,{MEDIA}"), &element, &packets);
        assert_eq!(sealed, protect_all(profile, &packets), "{profile}: the same bytes");
        assert_eq!(unprotect_all(profile, &sealed), packets, "{profile}");
    }
}

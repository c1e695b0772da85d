//! What the tests have in common: addresses, settings, packets.

use guestright_relay::{
    Call, Channel, Forward, Limits, Protection, Refusal, Side, SideSettings, Sources, SrtpKeys,
};
use guestright_units::Time;
use guestright_voice::srtp::{MasterKey, Profile};
use std::net::SocketAddr;

pub(crate) const MEMBER: &str = "10.80.0.2:4000";
pub(crate) const HOME: &str = "192.0.2.1:20000";
pub(crate) const OTHER_HOME: &str = "198.51.100.1:30000";
pub(crate) const STRANGER: &str = "203.0.113.66:6666";

pub(crate) fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub(crate) fn key(number: u8) -> MasterKey {
    key_of(Profile::AeadAes128Gcm, number)
}

pub(crate) fn key_of(profile: Profile, number: u8) -> MasterKey {
    MasterKey::new(profile, &[number; 32][..profile.key_len()], &[number ^ 0x55; 14][..profile.salt_len()])
        .unwrap()
}

pub(crate) fn keys(incoming: u8, outgoing: u8) -> SrtpKeys {
    SrtpKeys { incoming: key(incoming), outgoing: key(outgoing) }
}

pub(crate) fn member() -> SideSettings {
    SideSettings {
        media: Some(at(MEMBER)),
        sources: Sources::Address(at(MEMBER).ip()),
        protection: Protection::Plain,
        ..SideSettings::closed()
    }
}

pub(crate) fn home(address: &str, keys: SrtpKeys) -> SideSettings {
    SideSettings {
        media: Some(at(address)),
        mux: true,
        sources: Sources::Address(at(address).ip()),
        protection: Protection::Srtp(keys),
        ..SideSettings::closed()
    }
}

/// A member with a softphone, and another home.
pub(crate) fn outward() -> Call {
    Call::new(Limits::default(), member(), home(OTHER_HOME, keys(1, 2)), Time(0)).unwrap()
}

/// The same call at the other home: A is the first home.
pub(crate) fn inward() -> Call {
    Call::new(Limits::default(), home(HOME, keys(2, 1)), member(), Time(0)).unwrap()
}

pub(crate) fn rtp(payload_type: u8, sequence: u16, payload: &[u8]) -> Vec<u8> {
    rtp_of(0x1234_5678, payload_type, sequence, payload)
}

pub(crate) fn rtp_of(ssrc: u32, payload_type: u8, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x80, payload_type];
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(&(u32::from(sequence) * 160).to_be_bytes());
    packet.extend_from_slice(&ssrc.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

/// A receiver report without a report.
pub(crate) fn rtcp(ssrc: u32) -> Vec<u8> {
    let mut packet = vec![0x80, 201, 0, 1];
    packet.extend_from_slice(&ssrc.to_be_bytes());
    packet
}

/// Gives a call a datagram: where it goes, and as what.
pub(crate) fn give(
    call: &mut Call,
    (side, channel): (Side, Channel),
    from: &str,
    datagram: &[u8],
    millis: u64,
) -> Result<(Forward, Vec<u8>), Refusal> {
    let mut out = Vec::new();
    let forward = call.handle_datagram(side, channel, at(from), datagram, &mut out, Time(millis * 1_000))?;
    Ok((forward, if forward.unchanged { datagram.to_vec() } else { out }))
}

pub(crate) const A: (Side, Channel) = (Side::A, Channel::Media);
pub(crate) const B: (Side, Channel) = (Side::B, Channel::Media);
pub(crate) const A_CONTROL: (Side, Channel) = (Side::A, Channel::Control);
pub(crate) const B_CONTROL: (Side, Channel) = (Side::B, Channel::Control);

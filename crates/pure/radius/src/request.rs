//! What an access point asks and reports, in types.

use crate::attribute::Kind;
use crate::eap;
use crate::error::RadiusError;
use crate::packet::Packet;
use crate::station::{Network, Station};
use guestright_units::{Bytes, Micros};
use std::net::IpAddr;

/// Who is to get our answer, and what has to be in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessRequest<'a> {
    pub(crate) user_name: &'a str,
    pub(crate) station: Station,
    pub(crate) network: Option<Network>,
    pub(crate) framed_mtu: Option<u32>,
    pub(crate) state: Option<&'a [u8]>,
    pub(crate) eap: Vec<u8>,
    /// The identifier of what the station has sent.
    pub(crate) eap_identifier: u8,
    pub(crate) nas: Nas,
}

/// Which access point, and where on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nas {
    pub address: Option<IpAddr>,
    pub identifier: Option<String>,
    pub port: Option<u32>,
    /// 19 is 802.11 (RFC 2865, section 5.41).
    pub port_type: Option<u32>,
}

impl Nas {
    fn read(packet: &Packet<'_>) -> Result<Self, RadiusError> {
        Ok(Self {
            address: packet.nas_address()?,
            identifier: packet.text(Kind::NAS_IDENTIFIER)?.map(str::to_owned),
            port: packet.integer(Kind::NAS_PORT)?,
            port_type: packet.integer(Kind::NAS_PORT_TYPE)?,
        })
    }
}

impl<'a> AccessRequest<'a> {
    pub(crate) fn read(packet: &Packet<'a>) -> Result<Self, RadiusError> {
        let eap = packet.joined(Kind::EAP_MESSAGE).ok_or(RadiusError::Missing { kind: Kind::EAP_MESSAGE })?;
        let calling = Kind::CALLING_STATION_ID;
        Ok(Self {
            user_name: packet.text(Kind::USER_NAME)?.ok_or(RadiusError::Missing { kind: Kind::USER_NAME })?,
            station: Station::parse(packet.one(calling)?.ok_or(RadiusError::Missing { kind: calling })?)?,
            network: packet.one(Kind::CALLED_STATION_ID)?.map(Network::parse).transpose()?,
            framed_mtu: packet.integer(Kind::FRAMED_MTU)?,
            state: packet.one(Kind::STATE)?,
            eap_identifier: eap::read_response(&eap)?,
            eap,
            nas: Nas::read(packet)?,
        })
    }
}

/// What an access point says of a session. It is information for people: nobody else has counted, and nobody has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounting {
    pub status: AccountingStatus,
    pub station: Option<Station>,
    pub network: Option<Network>,
    /// Acct-Session-Id: the access point's own name of the session.
    pub session_id: Option<String>,
    /// What [`Event::Opened`](crate::Event::Opened) named, if it is repeated as it was given.
    pub class: Option<Vec<u8>>,
    /// From the station.
    pub input: Bytes,
    /// To the station.
    pub output: Bytes,
    pub lasted: Option<Micros>,
    /// Acct-Terminate-Cause (RFC 2866, section 5.10).
    pub terminate_cause: Option<u32>,
    pub nas: Nas,
}

/// Acct-Status-Type (RFC 2866, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountingStatus {
    Start,
    Stop,
    Interim,
    /// The access point has started.
    On,
    /// The access point is about to stop.
    Off,
}

impl Accounting {
    pub(crate) fn read(packet: &Packet<'_>) -> Result<Self, RadiusError> {
        let kind = Kind::ACCT_STATUS_TYPE;
        let status = match packet.integer(kind)?.ok_or(RadiusError::Missing { kind })? {
            1 => AccountingStatus::Start,
            2 => AccountingStatus::Stop,
            3 => AccountingStatus::Interim,
            7 => AccountingStatus::On,
            8 => AccountingStatus::Off,
            _ => return Err(RadiusError::Value { kind, got: 4 }),
        };
        let seconds = packet.integer(Kind::ACCT_SESSION_TIME)?;
        Ok(Self {
            status,
            station: packet.one(Kind::CALLING_STATION_ID)?.map(Station::parse).transpose()?,
            network: packet.one(Kind::CALLED_STATION_ID)?.map(Network::parse).transpose()?,
            session_id: packet.text(Kind::ACCT_SESSION_ID)?.map(str::to_owned),
            class: packet.all(Kind::CLASS).next().map(<[u8]>::to_vec),
            input: read_octets(packet, Kind::ACCT_INPUT_OCTETS, Kind::ACCT_INPUT_GIGAWORDS)?,
            output: read_octets(packet, Kind::ACCT_OUTPUT_OCTETS, Kind::ACCT_OUTPUT_GIGAWORDS)?,
            lasted: seconds.map(|seconds| Micros::from_seconds(seconds.into())),
            terminate_cause: packet.integer(Kind::ACCT_TERMINATE_CAUSE)?,
            nas: Nas::read(packet)?,
        })
    }
}

/// Gigawords say how often the 32 bits have wrapped (RFC 2869, section 5.1).
fn read_octets(packet: &Packet<'_>, octets: Kind, gigawords: Kind) -> Result<Bytes, RadiusError> {
    let [low, high] = [packet.integer(octets)?, packet.integer(gigawords)?].map(Option::unwrap_or_default);
    Ok(Bytes(u64::from(high) << 32 | u64::from(low)))
}

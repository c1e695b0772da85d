//! An access point as RADIUS sees it.

use guestright_radius::{
    Code, Config, Draft, Event, ForwardingServer, Kind, Limits, Msk, Packet, Realm, Relay, Secret, Service,
    Station,
};
use guestright_units::{Seed, TeamId, Time};
use std::net::SocketAddr;

pub(crate) const SECOND: u64 = 1_000_000;
pub(crate) const NETWORK: &[u8] = b"02-AA-00-00-00-01:guests";

pub(crate) fn secret() -> Secret {
    Secret::new(b"between hostapd and us").unwrap()
}

pub(crate) fn hostapd() -> SocketAddr {
    ([127, 0, 0, 1], 40_000).into()
}

pub(crate) fn server(limits: Limits) -> ForwardingServer {
    let clients = [hostapd().ip(), [127, 0, 0, 2].into()].map(|address| (address, secret()));
    ForwardingServer::new(
        Config { clients: clients.into(), reply_message: true, limits },
        Seed::from_number(1),
    )
}

pub(crate) fn realm(number: u8) -> Realm {
    Realm(TeamId([number; 24]))
}

pub(crate) fn station(number: u32) -> Station {
    let [a, b, c, d] = number.to_be_bytes();
    Station([2, 0, a, b, c, d])
}

pub(crate) fn msk() -> Msk {
    Msk::new(std::array::from_fn(|index| u8::try_from(index).unwrap()))
}

/// What a station sends: an EAP-Response with so many bytes in it.
pub(crate) fn response(identifier: u8, bytes: usize) -> Vec<u8> {
    eap(2, identifier, bytes)
}

/// What a home asks.
pub(crate) fn request(identifier: u8, bytes: usize) -> Vec<u8> {
    eap(1, identifier, bytes)
}

fn eap(code: u8, identifier: u8, bytes: usize) -> Vec<u8> {
    let mut eap = vec![code, identifier];
    eap.extend(u16::try_from(bytes + 5).unwrap().to_be_bytes());
    eap.push(13);
    eap.resize(bytes + 5, 0xe0);
    eap
}

/// A question of the access point's.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) source: SocketAddr,
    pub(crate) identifier: u8,
    pub(crate) authenticator: [u8; 16],
    pub(crate) user_name: String,
    pub(crate) station: Station,
    pub(crate) network: Vec<u8>,
    pub(crate) state: Option<Vec<u8>>,
    pub(crate) eap: Vec<u8>,
    pub(crate) proxy_states: Vec<Vec<u8>>,
    pub(crate) framed_mtu: Option<u32>,
}

impl Question {
    pub(crate) fn first(identifier: u8, realm: Realm, station: Station) -> Self {
        Self {
            source: hostapd(),
            identifier,
            authenticator: [identifier ^ 0x5a; 16],
            user_name: realm.anonymous_identity(),
            station,
            network: NETWORK.to_vec(),
            state: None,
            eap: response(identifier, 70),
            proxy_states: Vec::new(),
            framed_mtu: Some(1_400),
        }
    }

    /// The station's answer to a challenge.
    pub(crate) fn next(&self, challenge: &[u8]) -> Self {
        let identifier = self.identifier.wrapping_add(1);
        let packet = self.verified(challenge);
        assert_eq!(packet.code(), Code::AccessChallenge);
        let state = packet.one(Kind::STATE).unwrap().map(<[u8]>::to_vec);
        let authenticator = self.authenticator.map(|byte| byte.wrapping_add(1));
        Self { identifier, authenticator, state, eap: response(identifier, 100), ..self.clone() }
    }

    pub(crate) fn draft(&self) -> Draft {
        let mut draft = Draft::new(Code::AccessRequest, self.identifier);
        draft.push(Kind::USER_NAME, self.user_name.as_bytes()).unwrap();
        draft.push(Kind::CALLING_STATION_ID, self.station.to_string().as_bytes()).unwrap();
        draft.push(Kind::CALLED_STATION_ID, &self.network).unwrap();
        if let Some(mtu) = self.framed_mtu {
            draft.push_integer(Kind::FRAMED_MTU, mtu).unwrap();
        }
        for state in &self.proxy_states {
            draft.push(Kind::PROXY_STATE, state).unwrap();
        }
        if let Some(state) = &self.state {
            draft.push(Kind::STATE, state).unwrap();
        }
        draft.push_eap(&self.eap).unwrap();
        draft
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.draft().emit_request(&secret(), self.authenticator)
    }

    pub(crate) fn ask(&self, server: &mut ForwardingServer, now: Time) {
        server.handle_datagram(Service::Authentication, self.source, &self.bytes(), now).unwrap();
    }

    /// Checks an answer as an access point does.
    pub(crate) fn verified<'a>(&self, answer: &'a [u8]) -> Packet<'a> {
        let packet = Packet::parse(answer).unwrap();
        packet.verify_response(&secret(), &self.authenticator).unwrap();
        assert_eq!(packet.identifier(), self.identifier);
        assert_eq!(packet.attributes().next().unwrap().kind, Kind::MESSAGE_AUTHENTICATOR);
        packet
    }

    /// The sentence of an Access-Reject.
    pub(crate) fn sentence(&self, answer: &[u8]) -> String {
        let packet = self.verified(answer);
        assert_eq!(packet.code(), Code::AccessReject);
        let identifier = self.eap[1];
        assert_eq!(packet.joined(Kind::EAP_MESSAGE), Some(vec![4, identifier, 0, 4]), "EAP-Failure");
        String::from_utf8(packet.joined(Kind::REPLY_MESSAGE).unwrap()).unwrap()
    }
}

/// The one datagram that there is to send.
#[track_caller]
pub(crate) fn sent(server: &mut ForwardingServer) -> Vec<u8> {
    let transmit = server.poll_transmit().expect("an answer");
    assert_eq!(server.poll_transmit(), None);
    transmit.bytes
}

#[track_caller]
pub(crate) fn relayed(server: &mut ForwardingServer) -> Relay {
    match server.poll_event() {
        Some(Event::Relay(relay)) => relay,
        other => panic!("{other:?} in place of something for the home"),
    }
}

/// The kind of the refusal that is reported next.
#[track_caller]
pub(crate) fn refused(server: &mut ForwardingServer) -> &'static str {
    match server.poll_event() {
        Some(Event::Refused { refusal, .. }) => refusal.kind(),
        other => panic!("{other:?} in place of a refusal"),
    }
}

//! What an access point reports: information, and never a proof.

use crate::stage::{NETWORK, SECOND, hostapd, secret, server, station};
use guestright_radius::{
    AccountingStatus, Code, Draft, Event, ForwardingServer, Kind, Limits, Network, Packet, Secret, Service,
};
use guestright_units::{Bytes, Micros, Time};

fn stop() -> Draft {
    let mut draft = Draft::new(Code::AccountingRequest, 5);
    draft.push_integer(Kind::ACCT_STATUS_TYPE, 2).unwrap();
    draft.push(Kind::CALLING_STATION_ID, station(1).to_string().as_bytes()).unwrap();
    draft.push(Kind::CALLED_STATION_ID, NETWORK).unwrap();
    draft.push(Kind::ACCT_SESSION_ID, b"A1B2C3D4").unwrap().push(Kind::CLASS, &[7; 16]).unwrap();
    draft
        .push_integer(Kind::ACCT_INPUT_OCTETS, 5)
        .unwrap()
        .push_integer(Kind::ACCT_INPUT_GIGAWORDS, 2)
        .unwrap();
    draft.push_integer(Kind::ACCT_OUTPUT_OCTETS, u32::MAX).unwrap();
    draft
        .push_integer(Kind::ACCT_SESSION_TIME, 90)
        .unwrap()
        .push_integer(Kind::ACCT_TERMINATE_CAUSE, 1)
        .unwrap();
    draft
}

fn report(server: &mut ForwardingServer, bytes: &[u8], now: Time) -> Result<(), &'static str> {
    let reported = server.handle_datagram(Service::Accounting, hostapd(), bytes, now);
    reported.map_err(|error| error.kind())
}

#[test]
fn a_session_that_ended_is_reported_once_and_acknowledged_as_often_as_asked() {
    let mut server = server(Limits::default());
    let bytes = stop().emit_request(&secret(), [0; 16]);
    for now in [0, 3, 9] {
        report(&mut server, &bytes, Time(now * SECOND)).unwrap();
        let transmit = server.poll_transmit().unwrap();
        let packet = Packet::parse(&transmit.bytes).unwrap();
        assert_eq!((transmit.service, transmit.to), (Service::Accounting, hostapd()));
        assert_eq!((packet.code(), packet.identifier()), (Code::AccountingResponse, 5));
        packet.verify_response(&secret(), &Packet::parse(&bytes).unwrap().authenticator()).unwrap();
    }
    let Some(Event::Accounting(accounting)) = server.poll_event() else { panic!() };
    assert_eq!(server.poll_event(), None);
    assert_eq!(accounting.status, AccountingStatus::Stop);
    assert_eq!((accounting.station, accounting.network), (Some(station(1)), Network::parse(NETWORK).ok()));
    assert_eq!((accounting.input, accounting.output), (Bytes((2 << 32) + 5), Bytes(u64::from(u32::MAX))));
    assert_eq!((accounting.lasted, accounting.terminate_cause), (Some(Micros::from_seconds(90)), Some(1)));
    assert_eq!(accounting.session_id.as_deref(), Some("A1B2C3D4"));
    assert_eq!(accounting.class, Some(vec![7; 16]));
}

#[test]
fn what_is_no_report_is_not_acknowledged() {
    let mut without = Draft::new(Code::AccountingRequest, 1);
    without.push(Kind::CLASS, b"a").unwrap();
    let mut unknown = Draft::new(Code::AccountingRequest, 1);
    unknown.push_integer(Kind::ACCT_STATUS_TYPE, 99).unwrap();
    let other = Secret::new(b"another secret").unwrap();
    let access = Draft::new(Code::AccessRequest, 1).emit_request(&secret(), [0; 16]);
    for (bytes, kind) in [
        (stop().emit_request(&other, [0; 16]), "authenticator"),
        (without.emit_request(&secret(), [0; 16]), "missing"),
        (unknown.emit_request(&secret(), [0; 16]), "attribute"),
        (access, "other-service"),
    ] {
        let mut server = server(Limits::default());
        assert_eq!(report(&mut server, &bytes, Time(0)), Err(kind));
        assert_eq!((server.poll_transmit(), server.poll_event()), (None, None), "{kind}");
    }
}

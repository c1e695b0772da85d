use super::*;

fn config() -> DisconnectConfig {
    DisconnectConfig {
        server: ([127, 0, 0, 1], 3_799).into(),
        secret: Secret::new(b"a secret of 16 b").unwrap(),
        attempts_max: 3,
        retry_after: Micros::from_seconds(1),
        pending_max: 300,
    }
}

fn session() -> SessionName {
    SessionName {
        station: Some(Station([2, 0, 0, 0, 0, 1])),
        session_id: Some("A1B2".to_owned()),
        nas_identifier: None,
    }
}

const NOW: Time = Time(1_800_000_000_000_000);

fn answer(request: &[u8], code: Code, cause: Option<u32>) -> Vec<u8> {
    let request = Packet::parse(request).unwrap();
    let mut draft = Draft::new(code, request.identifier());
    if let Some(cause) = cause {
        draft.push_integer(Kind::ERROR_CAUSE, cause).unwrap();
    }
    draft.emit_response(&config().secret, &request.authenticator())
}

#[test]
fn a_request_says_which_session_and_when() {
    let mut client = DisconnectClient::new(config());
    client.handle_disconnect(&session(), NOW).unwrap();
    let bytes = client.poll_transmit().unwrap();
    let packet = Packet::parse(&bytes).unwrap();
    packet.verify_request(&config().secret).unwrap();
    assert_eq!(packet.code(), Code::DisconnectRequest);
    assert_eq!(packet.text(Kind::CALLING_STATION_ID), Ok(Some("02-00-00-00-00-01")));
    assert_eq!(packet.text(Kind::ACCT_SESSION_ID), Ok(Some("A1B2")));
    assert_eq!(packet.integer(Kind::EVENT_TIMESTAMP), Ok(Some(1_800_000_000)));
    assert_eq!(
        client.handle_disconnect(&SessionName::default(), NOW).map_err(|error| error.kind()),
        Err("missing")
    );
}

#[test]
fn each_answer_has_its_outcome() {
    let cases = [
        (Code::DisconnectAck, None, Outcome::Ended),
        (Code::DisconnectNak, Some(503), Outcome::NoSession),
        (Code::DisconnectNak, Some(407), Outcome::Refused { cause: Some(407) }),
        (Code::DisconnectNak, None, Outcome::Refused { cause: None }),
    ];
    for (code, cause, outcome) in cases {
        let mut client = DisconnectClient::new(config());
        let disconnect = client.handle_disconnect(&session(), NOW).unwrap();
        let answer = answer(&client.poll_transmit().unwrap(), code, cause);
        assert_eq!(client.handle_datagram(config().server, &answer), Ok(()));
        assert_eq!(client.poll_event(), Some(DisconnectEvent { disconnect, outcome }));
        assert_eq!(client.poll_timeout(), None);
        assert_eq!(client.handle_datagram(config().server, &answer), Err(RadiusError::NotAsked), "once");
    }
}

#[test]
fn what_others_say_ends_nothing() {
    let mut client = DisconnectClient::new(config());
    client.handle_disconnect(&session(), NOW).unwrap();
    let request = client.poll_transmit().unwrap();
    let good = answer(&request, Code::DisconnectAck, None);
    let elsewhere = ([127, 0, 0, 1], 3_800).into();
    assert_eq!(client.handle_datagram(elsewhere, &good), Err(RadiusError::UnknownClient));
    let mut changed = good.clone();
    changed[0] = Code::DisconnectNak as u8;
    assert_eq!(client.handle_datagram(config().server, &changed), Err(RadiusError::Authenticator));
    let other = answer(&request, Code::CoaAck, None);
    assert_eq!(client.handle_datagram(config().server, &other), Err(RadiusError::NotAsked));
    assert_eq!(client.handle_datagram(config().server, &good), Ok(()));
}

#[test]
fn is_repeated_with_the_same_bytes_and_given_up() {
    let mut client = DisconnectClient::new(config());
    let disconnect = client.handle_disconnect(&session(), NOW).unwrap();
    let first = client.poll_transmit().unwrap();
    let mut waits = Vec::new();
    let mut last = NOW;
    while let Some(at) = client.poll_timeout() {
        client.handle_timeout(Time(at.0 - 1));
        assert_eq!((client.poll_transmit(), client.poll_event()), (None, None), "not before");
        client.handle_timeout(at);
        waits.push(at.since(last).0 / 1_000_000);
        last = at;
        if let Some(again) = client.poll_transmit() {
            assert_eq!(again, first);
        }
    }
    assert_eq!(waits, [1, 2, 4]);
    assert_eq!(client.poll_event(), Some(DisconnectEvent { disconnect, outcome: Outcome::Unanswered }));
}

#[test]
fn no_identifier_is_used_twice_at_a_time() {
    let mut client = DisconnectClient::new(config());
    for _ in 0..256 {
        client.handle_disconnect(&session(), NOW).unwrap();
    }
    let mut identifiers: Vec<u8> =
        std::iter::from_fn(|| client.poll_transmit()).map(|bytes| bytes[1]).collect();
    identifiers.sort_unstable();
    assert_eq!(identifiers, (0..=255).collect::<Vec<u8>>());
    assert_eq!(client.handle_disconnect(&session(), NOW), Err(RadiusError::TooLong));
}

use super::*;

const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEERS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn ends(with_length: bool, checked: bool) -> (Stack, Stack) {
    let one = Stack {
        tunnel_out: 7,
        session_out: 8,
        tunnel_in: 9,
        session_in: 10,
        with_length,
        addresses: checked.then_some((OURS, PEERS)),
    };
    let other = Stack {
        tunnel_out: 9,
        session_out: 10,
        tunnel_in: 7,
        session_in: 8,
        with_length,
        addresses: checked.then_some((PEERS, OURS)),
    };
    (one, other)
}

fn packet(version: u8) -> Vec<u8> {
    let mut packet = vec![0; 60];
    packet[0] = if version == 4 { 0x45 } else { 0x60 };
    packet[if version == 4 { 3 } else { 5 }] = if version == 4 { 60 } else { 20 };
    packet
}

fn wrapped(stack: &Stack, packet: &[u8]) -> Vec<u8> {
    let mut payload = [vec![0; stack.header_len()], packet.to_vec()].concat();
    stack.wrap(&mut payload).unwrap();
    payload
}

#[test]
fn what_one_end_wraps_the_other_unwraps() {
    for (with_length, headers) in [(true, 20), (false, 18)] {
        for checked in [true, false] {
            for version in [4, 6] {
                let (one, other) = ends(with_length, checked);
                let payload = wrapped(&one, &packet(version));
                assert_eq!(payload.len(), 60 + headers);
                assert_eq!(other.unwrap(&payload), Ok(headers..headers + 60));
                assert!(matches!(
                    one.unwrap(&payload),
                    Err(StackError::L2tp(L2tpError::OtherSession { tunnel: 7, session: 8 }) | StackError::Udp)
                ));
            }
        }
    }
}

#[test]
fn refuses_what_is_damaged_or_cut() {
    let (one, other) = ends(true, true);
    let payload = wrapped(&one, &packet(4));
    for length in 0..payload.len() {
        assert!(other.unwrap(&payload[..length]).is_err(), "{length}");
    }
    for at in 0..payload.len() {
        let mut payload = payload.clone();
        payload[at] ^= 0x10;
        assert!(other.unwrap(&payload).is_err(), "byte {at}");
    }
}

#[test]
fn takes_compressed_frames_and_refuses_other_protocols() {
    let (_, other) = ends(true, false);
    let with_frame = |frame: &[u8]| {
        let mut payload = vec![0; 16];
        payload.extend_from_slice(frame);
        write_header(&mut payload[8..], 7, 8, frame.len(), true);
        udp::write(&mut payload, PORT, PORT, None);
        payload
    };
    let inner = packet(4);
    let payload = with_frame(&[&[0x21], &inner[..]].concat());
    assert_eq!(other.unwrap(&payload), Ok(17..77));
    let payload = with_frame(&[&[0xff, 3, 0xc0, 0x21], &inner[..]].concat());
    assert_eq!(other.unwrap(&payload), Err(StackError::OtherProtocol(0xc021)));
    let payload = with_frame(&[&[0x57], &inner[..]].concat());
    assert_eq!(other.unwrap(&payload), Err(StackError::Inner));
    let payload = with_frame(&[]);
    assert_eq!(other.unwrap(&payload), Err(StackError::Ppp(PppError::Truncated)));
}

#[test]
fn a_datagram_for_another_port_is_refused() {
    let (one, other) = ends(true, false);
    let mut payload = wrapped(&one, &packet(4));
    payload[3] ^= 1;
    assert_eq!(other.unwrap(&payload), Err(StackError::Udp));
}

use super::*;
use proptest::prelude::*;

#[test]
fn reads_what_rfc_3748_and_5216_draw() {
    #[rustfmt::skip]
    let cases = [
        (&b"\x02\x07\x00\x09\x01anna"[..], Packet::Response { identifier: 7, method: Method::Identity(b"anna") }),
        (b"\x01\x00\x00\x05\x01", Packet::Request { identifier: 0, method: Method::Identity(b"") }),
        (b"\x02\x01\x00\x07\x03\x19\x15", Packet::Response { identifier: 1, method: Method::Nak(&[25, 21]) }),
        (b"\x02\x01\x00\x05\x02", Packet::Response { identifier: 1, method: Method::Notification(b"") }),
        (b"\x01\x08\x00\x06\x0d\x20", Packet::Request { identifier: 8, method: Method::Tls(Fragment::START) }),
        (b"\x02\x08\x00\x06\x0d\x00", Packet::Response { identifier: 8, method: Method::Tls(Fragment::ACKNOWLEDGEMENT) }),
        (b"\x02\x08\x00\x0c\x0d\xc0\x00\x00\x01\x02hi", Packet::Response {
            identifier: 8, method: Method::Tls(Fragment { start: false, more: true, total: Some(258), bytes: b"hi" }) }),
        (b"\x02\x08\x00\x06\x19\x00", Packet::Response { identifier: 8, method: Method::Other { method: 25, content: b"\0" } }),
        (b"\x03\x09\x00\x04", Packet::Success { identifier: 9 }),
        (b"\x04\x09\x00\x04", Packet::Failure { identifier: 9 }),
    ];
    for (bytes, packet) in cases {
        assert_eq!(Packet::parse(bytes), Ok(packet));
        assert_eq!(packet.emit(), bytes);
    }
}

#[test]
fn refuses_what_is_no_packet() {
    let long_identity = Packet::Response { identifier: 1, method: Method::Identity(&[b'a'; 254]) }.emit();
    let long = Packet::Request { identifier: 1, method: Method::Notification(&[b'a'; 4_092]) }.emit();
    #[rustfmt::skip]
    let cases = [
        (&b""[..],                          PacketError::Short { got: 0 }),
        (b"\x01\x00\x00",                   PacketError::Short { got: 3 }),
        (b"\x01\x00\x00\x04",               PacketError::Short { got: 4 }),
        (b"\x01\x00\x00\x05\x0d",           PacketError::Short { got: 5 }),
        (b"\x01\x00\x00\x08\x0d\x80\0\0",   PacketError::Short { got: 8 }),
        (b"\x01\x00\x00\x03\x01",           PacketError::Length { got: 5, want: 3 }),
        (b"\x01\x00\x00\x06\x01",           PacketError::Length { got: 5, want: 6 }),
        (b"\x05\x00\x00\x05\x01",           PacketError::Code(5)),
        (b"\x03\x00\x00\x05\x01",           PacketError::Trailing),
        (&long_identity,                    PacketError::Identity { got: 254 }),
        (&long,                             PacketError::Long { got: 4_097 }),
    ];
    for (bytes, error) in cases {
        assert_eq!(Packet::parse(bytes), Err(error), "{bytes:?}");
    }
}

#[test]
fn padding_and_reserved_flags_mean_nothing() {
    let want = Packet::Response { identifier: 8, method: Method::Tls(Fragment::ACKNOWLEDGEMENT) };
    assert_eq!(Packet::parse(b"\x02\x08\x00\x06\x0d\x1fpadding"), Ok(want));
}

proptest! {
    #[test]
    fn what_is_read_is_written_and_read_again(bytes: Vec<u8>, code in 0..6_u8, method in 0..15_u8) {
        let length = u8::try_from(bytes.len() + 5).unwrap_or(u8::MAX);
        let framed = [&[code, 1, 0, length, method][..], &bytes].concat();
        for bytes in [&bytes, &framed] {
            if let Ok(packet) = Packet::parse(bytes) {
                let written = packet.emit();
                prop_assert_eq!(written.len(), usize::from(u16::from_be_bytes([bytes[2], bytes[3]])));
                prop_assert_eq!(Packet::parse(&written), Ok(packet));
            }
        }
    }
}

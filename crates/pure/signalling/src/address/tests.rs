use super::*;
use proptest::prelude::*;

#[test]
fn uris_are_read_and_written() {
    #[rustfmt::skip]
    let cases = [
        ("sip:bob@10.0.0.1", "sip:bob@10.0.0.1"), ("SIP:Bob@Home:5070", "sip:Bob@home:5070"), ("sip:home", "sip:home"),
        ("sip:b%6Fb@h;transport=TCP;lr", "sip:bob@h;transport=TCP;lr"), ("sip:a:secret@h", "sip:a@h"),
        ("sip:a@[2001:db8::1]:5060", "sip:a@[2001:db8::1]:5060"), ("sip:a@h?Route=x", "sip:a@h"),
        ("sip:a%20b@h", "sip:a%20b@h"), ("sip:a@b@h", "sip:a%40b@h"),
    ];
    for (text, want) in cases {
        let uri = Uri::parse(text).unwrap();
        assert_eq!(uri.to_string(), want, "{text}");
        assert_eq!(Uri::parse(want).unwrap(), uri);
    }
    assert!(Uri::parse("sip:a@h;Transport=tcp").unwrap().wants_tcp());
    #[rustfmt::skip]
    let bad = ["", "sip", "sips:a@h", "tel:+1", "sip:@h", "sip:a@", "sip:a@h:0", "sip:a@h:70000", "sip:a b@h", "sip:a@h>",
        "sip:a@[h]", "sip:a@h;=x", "sip:a%0d%0a@h", "sip:a%zz@h", "sip:a@h\r\nX", "sip:a@h_é"];
    for text in bad {
        assert!(Uri::parse(text).is_err(), "{text}");
    }
}

#[test]
fn names_and_addresses_are_read_and_written() {
    #[rustfmt::skip]
    let cases = [
        ("<sip:a@h>;tag=1", "<sip:a@h>;tag=1"), ("sip:a@h;tag=1", "<sip:a@h>;tag=1"), ("Bob <sip:a@h>", "\"Bob\" <sip:a@h>"),
        ("\"B \\\"x\\\" <sip:evil@h>\" <sip:a@h;lr> ; q=0.5", "\"B \\\"x\\\" <sip:evil@h>\" <sip:a@h;lr>;q=0.5"),
    ];
    for (text, want) in cases {
        let address = NameAddress::parse(text).unwrap();
        assert_eq!(address.to_string(), want, "{text}");
        assert_eq!(NameAddress::parse(want).unwrap(), address);
        assert_eq!(address.uri.user.as_deref(), Some("a"));
    }
    let tagged = NameAddress::parse("<sip:a@h>;tag=1;x=2").unwrap();
    assert_eq!((tagged.tag(), tagged.tagged(Some("9")).to_string().as_str()), (Some("1"), "<sip:a@h>;tag=9"));
    for text in ["", "\"open <sip:a@h>", "<sip:a@h", "<sip:a@h> x", "<sip:a@h>;tag=a,b", "<>"] {
        assert!(NameAddress::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_way_back_is_where_a_request_came_from() {
    let from = "10.0.0.9:4000".parse().unwrap();
    #[rustfmt::skip]
    let cases = [
        ("SIP/2.0/UDP 10.0.0.9:4000;branch=z9hG4bK1", "SIP/2.0/UDP 10.0.0.9:4000;branch=z9hG4bK1"),
        ("SIP/2.0/UDP h;branch=z9hG4bK1", "SIP/2.0/UDP h;branch=z9hG4bK1;received=10.0.0.9"),
        ("SIP/2.0/UDP 10.0.0.9;rport;branch=z9hG4bK1", "SIP/2.0/UDP 10.0.0.9;rport=4000;branch=z9hG4bK1;received=10.0.0.9"),
        ("SIP/2.0/UDP h;received=1.2.3.4;branch=z9hG4bK1", "SIP/2.0/UDP h;branch=z9hG4bK1;received=10.0.0.9"),
    ];
    for (text, want) in cases {
        let via = Via::parse(text).unwrap();
        assert_eq!(via.branch(), Some("z9hG4bK1"));
        assert_eq!(via.received(from).to_string(), want);
    }
    for text in ["", "SIP/2.0/UDP", "SIP/1.0/UDP h", "SIP/2.0/ h", "SIP/2.0/UDP ;branch=1"] {
        assert!(Via::parse(text).is_err(), "{text}");
    }
    assert_eq!(Via::parse("SIP/2.0/UDP h;branch=1").unwrap().branch(), None);
}

proptest! {
    #[test]
    fn whatever_is_read_is_read_again(text in "(sip:)?[ -~é]{0,40}", more: String) {
        for text in [&text, &format!("sip:{more}"), &format!("\"{more}\" <sip:a@h>")] {
            if let Ok(uri) = Uri::parse(text) {
                prop_assert_eq!(Uri::parse(&uri.to_string()), Ok(uri.clone()));
            }
            if let Ok(address) = NameAddress::parse(text) {
                prop_assert_eq!(NameAddress::parse(&address.to_string()), Ok(address.clone()));
            }
        }
    }
}

//! What a household's router answers: PCP, NAT-PMP and UPnP.

use guestright_portmap::Protocol;
use guestright_portmap::upnp::{self, HttpUrl};
use guestright_portmap::wire::{self, MapRequest};

/// A datagram of PCP or NAT-PMP: what is accepted answers what was asked, and a mapping that holds has an address.
pub fn portmap(bytes: &[u8]) {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        // The name and the port that the corpus has, so that the fuzzer gets past the first checks.
        let ask =
            MapRequest { nonce: [7; 12], protocol, internal: 51_820, suggested: 51_820, seconds: 7_200 };
        if let Ok(mapped) = ask.parse_pcp(bytes) {
            assert_eq!((bytes[0], bytes[1]), (2, 0x81));
            assert!(mapped.seconds == 0 || mapped.external().is_some());
            let other = MapRequest { internal: 1, ..ask };
            assert_eq!(other.parse_pcp(bytes), Err(wire::WireError::NotOurs));
        }
        if let Ok(mapped) = ask.parse_nat_pmp(bytes) {
            assert_eq!(bytes[0], 0);
            assert_eq!(mapped.address, None);
        }
    }
    if let Ok(address) = wire::parse_address(bytes) {
        assert_eq!(bytes[8..12], address.octets());
    }
    let _ = wire::parse_announce(bytes);
}

/// A text of UPnP: nobody is called but the router, and what is asked of it is one request.
pub fn upnp(bytes: &[u8]) {
    let router =
        HttpUrl { address: "192.168.1.1:5000".parse().expect("an address"), path: "/root.xml".to_owned() };
    if upnp::is_complete(bytes) {
        // What is complete is read, or is no answer at all.
        let read = upnp::parse_http(bytes);
        assert!(!matches!(read, Err(upnp::UpnpError::Missing("last chunk"))), "{read:?}");
    }
    if let Ok((status, body)) = upnp::parse_http(bytes) {
        let _ = (upnp::parse_address(status, &body), upnp::check_answer(status, &body));
        description(&body, &router);
    }
    let text = String::from_utf8_lossy(bytes);
    description(&text, &router);
    if let Ok(location) = upnp::parse_search_answer(&text) {
        one_request(&upnp::get(&location), 4);
    }
}

fn description(text: &str, router: &HttpUrl) {
    if let Ok(service) = upnp::parse_description(text, router) {
        assert_eq!(service.control.address.ip(), router.address.ip());
        one_request(&upnp::call(&service, "GetExternalIPAddress", &[]), 6);
    }
}

/// One request with so many lines in its head.
fn one_request(request: &str, lines: usize) {
    let (head, _) = request.split_once("\r\n\r\n").expect("an end of the head");
    assert_eq!(head.split("\r\n").count(), lines, "{head:?}");
    assert!(head.split("\r\n").all(|line| !line.contains(['\r', '\n'])), "{head:?}");
}

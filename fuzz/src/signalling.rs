//! What members' telephones and other homes say in SIP.

use crate::seeds::Seed;
use guestright_identity::KeyId;
use guestright_signalling::sdp::{
    Direction, LocalMedia, Mode, Network, Ports, parse_description, read_media, rewrite_description,
};
use guestright_signalling::{Config, Event, Link, Member, Message, Peer, Proxy};
use guestright_units::{Seed as Chance, Time};
use std::net::IpAddr;

const INVITE: &str = "INVITE sip:carol@10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.73.5.2:5060;branch=z9hG4bK1;rport\r\n\
                      Max-Forwards: 70\r\nFrom: <sip:alice@10.73.5.1>;tag=1\r\nTo: <sip:carol@10.73.5.1>\r\nCall-ID: 1\r\n\
                      CSeq: 1 INVITE\r\nContact: <sip:alice@10.73.5.2>\r\nContent-Type: application/sdp\r\n";
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 10.73.5.2\r\ns=-\r\nc=IN IP4 10.73.5.2\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n\
                   a=sendrecv\r\n";

/// Any message to a home: what is accepted is written as it is read again; a stream agrees on its length; the home
/// neither panics nor sends what is not SIP, whether a member or another home has sent it.
pub fn sip(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        let written = message.emit();
        assert_eq!(Message::parse(&written).map(|again| again.emit()), Ok(written.clone()));
        assert_eq!(Message::measure(&written), Ok(Some(written.len())));
    }
    let _ = Message::measure(bytes);
    let [gateway, alice, carol] = [1, 2, 3].map(|last| IpAddr::from([10, 73, 5, last]));
    let (now, other) = (Time(1_000_000_000), KeyId([2; 24]));
    let mut home = Proxy::new(Config::new(gateway, KeyId([1; 24])), Chance::from_number(1), now);
    let member = |name: &str, key, address| Member { name: name.to_owned(), key: KeyId([key; 24]), address };
    home.set_members(vec![member("alice", 3, alice), member("carol", 4, carol)], now);
    let [address, local] = [1, 2].map(|last| IpAddr::from([203, 0, 113, last]));
    home.handle_link(other, Link { address, local });
    for from in [Peer::Udp((alice, 5_060).into()), Peer::Tcp((carol, 5_060).into()), Peer::Home(other)] {
        home.handle_message(from, bytes, now);
        while let Some(event) = home.poll_event() {
            if let Event::Allocate { call, .. } = event {
                home.handle_allocated(call, None, now);
            }
        }
        while let Some((_, sent)) = home.poll_transmit() {
            assert!(sent == b"\r\n" || Message::parse(&sent).is_ok(), "{}", String::from_utf8_lossy(&sent));
        }
    }
}

/// Any session description: what a home says in the place of whoever wrote it is one, and carries one stream at most.
pub fn session(bytes: &[u8]) {
    let Ok(description) = parse_description(bytes) else { return };
    for network in [Network::Tunnel, Network::Between] {
        let Ok(remote) = read_media(&description, network, None) else { continue };
        for mode in [Mode::EndToEnd, Mode::Homes] {
            let local = LocalMedia {
                network,
                ports: Ports { address: [10, 73, 5, 1].into(), media: 20_000, control: 20_001 },
                mux: remote.mux,
                mode,
                key: None,
                index: remote.index,
                is_answer: false,
                open: true,
                direction: Direction::SendReceive,
            };
            let rewritten = rewrite_description(&description, &local);
            let again = parse_description(&rewritten).expect("what is written is understood");
            assert_eq!(again.media.len(), description.media.len());
            assert!(again.media.iter().filter(|stream| stream.port != 0).count() <= 1);
        }
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let mut add = |target: &'static str, name: &str, text: &str| {
        seeds.push((target, name.to_owned(), text.as_bytes().to_vec()));
    };
    add("sip", "invite", &format!("{INVITE}Content-Length: {}\r\n\r\n{SDP}", SDP.len()));
    add(
        "sip",
        "register",
        "REGISTER sip:10.73.5.1 SIP/2.0\r\nv: SIP/2.0/TCP a;branch=z9hG4bK2\r\nf: <sip:alice@10.73.5.1>;tag=1\r\n\
         t: sip:alice@10.73.5.1\r\ni: 2\r\nCSeq: 1 REGISTER\r\nm: \"A, B\" <sip:alice@10.73.5.2>;expires=60,*\r\nl: 0\r\n\r\n",
    );
    add(
        "sip",
        "answer",
        "SIP/2.0 183 Session Progress\r\nVia: SIP/2.0/UDP [2001:db8::1]:5060;branch=z9hG4bK3\r\n\
         From: sip:a@b;tag=1\r\nTo: x <sip:c@d>;tag=2\r\nCall-ID: 3\r\nCSeq: 1 INVITE\r\n\r\n",
    );
    add("session", "plain", SDP);
    add(
        "session",
        "protected",
        &SDP.replace(
            "RTP/AVP 0\r\n",
            "UDP/TLS/RTP/SAVPF 0\r\na=rtcp-mux\r\na=candidate:1 1 UDP 1 10.73.5.2 4 typ host\r\n",
        ),
    );
    add(
        "session",
        "between-homes",
        &SDP.replace(
            "RTP/AVP 0\r\n",
            "RTP/SAVP 0\r\na=guestright-protection:home\r\n\
         a=crypto:1 AEAD_AES_128_GCM inline:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw==\r\n",
        ),
    );
}

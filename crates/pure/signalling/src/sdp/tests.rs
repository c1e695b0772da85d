use super::*;
use proptest::prelude::*;
use std::net::IpAddr;

const OFFER: &str = "v=0\r\no=alice 3 4 IN IP4 10.1.1.2\r\ns=Alice at 10.1.1.2\r\ni=x\r\nu=http://10.1.1.2\r\nc=IN IP4 10.1.1.2\r\n\
                     b=AS:64\r\nt=0 0\r\na=x-session:kept\r\nm=video 5000 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n\
                     m=audio 4000 RTP/AVP 111 0\r\nc=IN IP4 10.1.1.3\r\na=rtpmap:111 opus/48000/2\r\na=rtcp:4009 IN IP4 10.1.1.3\r\n\
                     a=candidate:1 1 UDP 9 10.1.1.2 4000 typ host\r\na=ice-ufrag:x\r\na=x-unknown:kept\r\na=x-leak:10.1.1.3 here\r\n\
                     a=ssrc:1 cname:alice@pc\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\na=ptime:20\r\na=sendonly\r\n\
                     m=image 6000 udptl t38\r\n";

fn ports(media: u16, control: u16) -> Option<MediaPorts> {
    Some(MediaPorts { media, control })
}

fn parse(text: &str) -> Description {
    parse_description(text.as_bytes()).unwrap()
}

fn local(network: Network, mode: Mode, address: &str) -> LocalMedia {
    let ports = Ports { address: address.parse().unwrap(), media: 20_000, control: 20_001 };
    let key = (network == Network::Between && mode == Mode::Homes).then_some(Secret([7; 28]));
    let (mux, direction) = (network == Network::Between, Direction::SendOnly);
    LocalMedia { network, ports, mux, mode, key, index: 1, is_answer: false, open: true, direction }
}

fn rewritten(description: &Description, local: &LocalMedia) -> String {
    String::from_utf8(rewrite_description(description, local)).unwrap()
}

#[test]
fn an_offer_is_understood() {
    let media = read_media(&parse(OFFER), Network::Tunnel, None).unwrap();
    assert_eq!(
        (media.index, media.ports, media.mux, media.mode),
        (1, ports(4_000, 4_009), false, Mode::Homes)
    );
    assert_eq!((media.direction, media.clock_hz), (Direction::SendOnly, 48_000));
    let cases =
        [("m=audio 4000", "m=audio 0", SdpError::NoAudio), ("RTP/AVP 111", "RTP/XYZ 111", SdpError::NoAudio)];
    for (old, new, want) in cases {
        assert_eq!(read_media(&parse(&OFFER.replace(old, new)), Network::Tunnel, None), Err(want), "{new}");
    }
    let cases = [
        ("a=ptime:20", "a=rtcp-mux", ports(4_000, 4_000)),
        ("a=rtcp:4009 IN IP4 10.1.1.3\r\n", "", ports(4_000, 4_001)),
        ("c=IN IP4 10.1.1.3", "c=IN IP4 0.0.0.0", None),
        ("m=audio 4000", "m=audio 65535", ports(65_535, 4_009)),
    ];
    for (old, new, want) in cases {
        assert_eq!(
            read_media(&parse(&OFFER.replace(old, new)), Network::Tunnel, None).unwrap().ports,
            want,
            "{new}"
        );
    }
}

#[test]
fn another_home_is_told_nothing_but_what_it_needs() {
    let text = rewritten(&parse(OFFER), &local(Network::Between, Mode::Homes, "198.51.100.2"));
    let key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw==";
    assert_eq!(
        text,
        format!(
            "v=0\r\no=- 3 4 IN IP4 198.51.100.2\r\ns=-\r\nc=IN IP4 198.51.100.2\r\nb=AS:64\r\nt=0 0\r\na=x-session:kept\r\n\
             m=video 0 RTP/AVP 96\r\nm=audio 20000 RTP/SAVP 111 0\r\na=rtpmap:111 opus/48000/2\r\na=x-unknown:kept\r\n\
             a=ptime:20\r\na=rtcp-mux\r\na=guestright-protection:home\r\na=crypto:1 AEAD_AES_128_GCM inline:{key}\r\n\
             a=sendonly\r\nm=image 0 udptl t38\r\n"
        )
    );
    let media = read_media(&parse(&text), Network::Between, None).unwrap();
    assert_eq!(
        (media.mode, media.key, media.ports),
        (Mode::Homes, Some(Secret([7; 28])), ports(20_000, 20_000))
    );
    // The other home tells its member about neither keys nor homes.
    let inside = rewritten(
        &parse(&text),
        &LocalMedia { mux: true, ..local(Network::Tunnel, Mode::Homes, "10.1.1.1") },
    );
    assert!(
        inside.contains("m=audio 20000 RTP/AVP 111 0\r\n")
            && inside.contains("a=rtcp-mux\r\na=rtcp:20001 IN IP4 10.1.1.1\r\n")
    );
    assert!(!inside.contains("crypto") && !inside.contains("guestright"), "{inside}");
}

#[test]
fn what_members_protect_stays_as_it_is() {
    let offer = OFFER
        .replace("RTP/AVP 111", "UDP/TLS/RTP/SAVPF 111")
        .replace("a=ptime:20", "a=fingerprint:sha-256 AA\r\na=setup:actpass");
    for (network, address) in [(Network::Between, "2001:db8::2"), (Network::Tunnel, "10.1.1.1")] {
        let text = rewritten(&parse(&offer), &local(network, Mode::EndToEnd, address));
        for kept in
            ["UDP/TLS/RTP/SAVPF", "a=crypto:1 AES_CM_128", "a=fingerprint:sha-256 AA", "a=setup:actpass"]
        {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        assert!(!text.contains("guestright-protection"), "{text}");
        assert_eq!(read_media(&parse(&text), network, None).unwrap().mode, Mode::EndToEnd);
    }
    let text = rewritten(&parse(&offer), &local(Network::Between, Mode::EndToEnd, "2001:db8::2"));
    assert!(text.contains("c=IN IP6 2001:db8::2\r\n"), "{text}");
}

#[test]
fn between_homes_voice_is_protected_or_refused() {
    let protected = OFFER.replace("RTP/AVP 111", "RTP/SAVP 111");
    let marked = protected.replace("a=ptime:20", "a=guestright-protection:home");
    let key = "a=crypto:1 AEAD_AES_128_GCM inline:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw==";
    #[rustfmt::skip]
    let cases = [
        (OFFER.to_owned(), Err(SdpError::Unprotected)),
        (protected, Ok(Mode::EndToEnd)),
        (marked.clone(), Err(SdpError::NoKey)),
        (marked.replace("a=sendonly", key), Ok(Mode::Homes)),
        (marked.replace("a=sendonly", &format!("{key}|2^20")), Err(SdpError::NoKey)),
        (marked.replace("a=sendonly", &key.replace("Bw==", "")), Err(SdpError::NoKey)),
    ];
    for (text, want) in cases {
        let mode = read_media(&parse(&text), Network::Between, None).map(|media| media.mode);
        assert_eq!(mode, want, "{text}");
    }
    // A member cannot pretend to be a home.
    let own = OFFER.replace("a=ptime:20", "a=guestright-protection:home");
    assert!(
        !rewritten(&parse(&own), &local(Network::Between, Mode::EndToEnd, "198.51.100.2"))
            .contains("guestright")
    );
}

#[test]
fn a_secret_is_not_shown() {
    assert_eq!(
        format!("{:?}", Keys { ours: Secret([1; 28]), theirs: Secret([2; 28]) }),
        "Keys { ours: Secret, theirs: Secret }"
    );
}

#[test]
fn what_is_no_description_is_refused() {
    #[rustfmt::skip]
    let cases = [
        ("v=0", "v=1"), ("o=alice 3 4", "o=alice x 4"), ("o=alice 3 4", "o=alice 99999999999999999999999 4"),
        ("c=IN IP4 10.1.1.2", "c"), ("m=audio 4000", "m=audio 70000"), ("m=audio 4000", "m=audio 4000/2"),
        ("RTP/AVP 111 0", "RTP/AVP"), ("b=AS:64", "b=AS:\u{7}"), ("b=AS:64", "v=0"), ("b=AS:64", "B=AS:64"),
    ];
    for (old, new) in cases {
        assert!(parse_description(OFFER.replacen(old, new, 1).as_bytes()).is_err(), "{new:?}");
    }
    assert!(parse_description(format!("{OFFER}{}", "a=x\r\n".repeat(300)).as_bytes()).is_err());
    assert!(parse_description(format!("{OFFER}{}", "m=audio 0 RTP/AVP 0\r\n".repeat(9)).as_bytes()).is_err());
    assert!(parse_description(&[b'x'; 9_000]).is_err());
}

proptest! {
    #[test]
    fn a_rewritten_description_names_no_address_of_the_other_side(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), home in any::<[u8; 4]>(),
        between: bool, ends: bool,
    ) {
        let mut bytes = OFFER.as_bytes().to_vec();
        edits.into_iter().for_each(|(index, byte)| { let position = index.index(bytes.len()); bytes[position] = byte; });
        let Ok(description) = parse_description(&bytes) else { return Ok(()) };
        let network = if between { Network::Between } else { Network::Tunnel };
        let mode = if ends { Mode::EndToEnd } else { Mode::Homes };
        let home = IpAddr::from([198, 18, home[2], home[3]]);
        let text = rewritten(&description, &local(network, mode, &home.to_string()));
        for secret in named_addresses(&description).into_iter().filter(|address| address.parse::<IpAddr>().is_ok()) {
            let elsewhere = text.replace(&home.to_string(), "");
            prop_assert!(!elsewhere.contains(secret), "{} in {}", secret, text);
        }
        let again = parse_description(text.as_bytes()).expect("what is said is understood");
        prop_assert_eq!(again.media.len(), description.media.len());
        let carried = again.media.iter().filter(|stream| stream.port != 0).count();
        prop_assert!(carried <= 1);
    }
}

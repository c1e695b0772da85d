use super::*;

const MODERN: &str = r#"
suite = "aes-128-gcm"
mode = "tunnel"
encapsulation = "udp"
extended_sequence = true
peer_networks = ["10.9.0.2/32"]
outbound = { spi = 0x1001, encryption_key = "000102030405060708090a0b0c0d0e0f10111213" }
inbound = { spi = 0x1002, encryption_key = "202122232425262728292a2b2c2d2e2f30313233" }
"#;

const PAPER_A: &str = r#"
profile = "legacy-paper"
suite = "aes-128-cbc+hmac-md5-96"
mode = "l2tp"
encapsulation = "raw"
[outbound]
spi = 0x1001
encryption_key = "000102030405060708090a0b0c0d0e0f"
authentication_key = "101112131415161718191a1b1c1d1e1f"
[inbound]
spi = 0x1002
encryption_key = "202122232425262728292a2b2c2d2e2f"
authentication_key = "303132333435363738393a3b3c3d3e3f"
[l2tp]
tunnel_out = 7
session_out = 8
tunnel_in = 9
session_in = 10
"#;

fn read(text: &str) -> EspSettingsFile {
    toml::from_str(text).unwrap()
}

#[test]
fn reads_both_profiles_and_writes_them_back() {
    for text in [MODERN, PAPER_A] {
        let file = read(text);
        EspSettings::try_from(&file).unwrap();
        let written = toml::to_string(&file).unwrap();
        assert_eq!(toml::to_string(&read(&written)).unwrap(), written);
        let back = file.mirrored().mirrored();
        assert_eq!(toml::to_string(&back).unwrap(), written);
    }
}

#[test]
fn refuses_what_cannot_be() {
    let with = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        EspSettings::try_from(&read(&text.replacen(from, to, 1))).map(|_| ())
    };
    #[rustfmt::skip]
    let cases = [
        (PAPER_A, "profile = \"legacy-paper\"", "", EspSettingsError::LegacySuite(Suite::Aes128CbcHmacMd5)),
        (MODERN, "tunnel", "transport", EspSettingsError::Transport),
        (MODERN, "spi = 0x1001", "spi = 255", EspSettingsError::Spi { direction: "outbound", got: 255 }),
        (MODERN, "spi = 0x1002", "spi = 0", EspSettingsError::Spi { direction: "inbound", got: 0 }),
        (MODERN, "00010203", "", EspSettingsError::Key {
            direction: "outbound",
            error: KeyError::EncryptionLength { suite: Suite::Aes128Gcm, got: 16, want: 20 },
        }),
        (MODERN, "202122232425262728292a2b2c2d2e2f30313233", "000102030405060708090a0b0c0d0e0f10111213",
            EspSettingsError::SameKey),
        (MODERN, "suite", "window = 63\nsuite", EspSettingsError::Window(63)),
        (MODERN, "10.9.0.2/32", "10.9.0.2/33", EspSettingsError::Network("10.9.0.2/33".to_owned())),
        (MODERN, "\"tunnel\"", "\"l2tp\"", EspSettingsError::L2tp),
        (PAPER_A, "\"l2tp\"", "\"tunnel\"", EspSettingsError::L2tp),
        (PAPER_A, "session_in = 10", "session_in = 0", EspSettingsError::L2tpNumber),
    ];
    for (text, from, to, want) in cases {
        assert_eq!(with(text, from, to), Err(want), "{to}");
    }
    for (from, to) in [("suite", "colour = 1\nsuite"), ("aes-128-gcm", "aes-512"), ("spi =", "spj =")] {
        assert!(toml::from_str::<EspSettingsFile>(&MODERN.replacen(from, to, 1)).is_err(), "{to}");
    }
}

#[test]
fn no_message_and_no_debug_output_holds_a_key() {
    for text in [MODERN, PAPER_A] {
        let file = read(text);
        let settings = EspSettings::try_from(&file).unwrap();
        let shown = format!("{file:?} {settings:?} {:?}", settings.inbound_sa());
        assert!(
            !shown.contains("0a0b0c") && !shown.contains("2a2b2c") && !shown.contains("10, 11, 12"),
            "{shown}"
        );
    }
    for bad in ["0a0b0c0d0x", "0a0b0c0d0", &"0a0b0c0d".repeat(17)] {
        let text = MODERN.replace("000102030405060708090a0b0c0d0e0f10111213", bad);
        let error = toml::from_str::<EspSettingsFile>(&text).unwrap_err();
        assert!(!error.message().contains("0a0b0c"), "{}", error.message());
    }
}

#[test]
fn commands_for_the_kernel_are_these() {
    let ends = XfrmEnds {
        local: Ipv4Addr::new(192, 0, 2, 1),
        peer: Ipv4Addr::new(192, 0, 2, 2),
        local_port: 4500,
        peer_port: 4501,
        local_network: "10.9.0.1/32".parse().unwrap(),
        peer_network: "10.9.0.2/32".parse().unwrap(),
    };
    let settings = EspSettings::try_from(&read(MODERN)).unwrap();
    let want = "\
ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x00001001 mode tunnel encap espinudp 4500 4501 0.0.0.0 \
replay-window 4096 flag esn aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128
ip xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x00001002 mode tunnel encap espinudp 4501 4500 0.0.0.0 \
replay-window 4096 flag esn aead 'rfc4106(gcm(aes))' 0x202122232425262728292a2b2c2d2e2f30313233 128
ip xfrm policy add src 10.9.0.1/32 dst 10.9.0.2/32 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel
ip xfrm policy add src 10.9.0.2/32 dst 10.9.0.1/32 dir in tmpl src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel
ip xfrm policy add src 10.9.0.2/32 dst 10.9.0.1/32 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel
";
    assert_eq!(*xfrm_commands(&settings, &ends), want);
    let settings = EspSettings::try_from(&read(PAPER_A)).unwrap();
    let want = "\
ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x00001001 mode transport replay-window 4096 \
enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f auth-trunc 'hmac(md5)' 0x101112131415161718191a1b1c1d1e1f 96
ip xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x00001002 mode transport replay-window 4096 \
enc 'cbc(aes)' 0x202122232425262728292a2b2c2d2e2f auth-trunc 'hmac(md5)' 0x303132333435363738393a3b3c3d3e3f 96
ip xfrm policy add src 192.0.2.1 dst 192.0.2.2 proto udp sport 1701 dport 1701 dir out \
tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode transport
ip xfrm policy add src 192.0.2.2 dst 192.0.2.1 proto udp sport 1701 dport 1701 dir in \
tmpl src 192.0.2.2 dst 192.0.2.1 proto esp mode transport
";
    assert_eq!(*xfrm_commands(&settings, &ends), want);
}

//! Files as people have them, files as they should not be, and the promise about both.

use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const PRIVATE: &str = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const OTHER: &str = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";

/// The example of wg(8), with what wg-quick(8) and the apps add.
fn stock() -> String {
    format!(
        "\u{feff}# home\r\n[interface]\r\nprivatekey={PRIVATE}\r\nAddress = 10.64.1.2/32, fd00::2/128 # ours\r\n\
         Address = 10.64.2.2\r\nDNS = 10.64.1.1, example.org\r\nMTU = 1420\r\nListenPort = 51820\r\nFwMark = 0xca6c\r\n\
         PostUp = iptables -A FORWARD -i %i -j ACCEPT\r\nTable = off\r\n\r\n\
         [Peer]\r\nPublicKey = {OTHER}\r\nAllowedIPs = 0.0.0.0/0, ::/0\r\nAllowedIPs = 10.64.1.9/24\r\n\
         Endpoint = home.example.org:51820\r\nPersistentKeepalive = 25\r\n"
    )
}

#[test]
fn reads_what_stock_programs_write() {
    let config = Config::parse(&stock()).unwrap();
    let interface = &config.interface;
    let text = |networks: &[Network]| networks.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(text(&interface.addresses), ["10.64.1.2/32", "fd00::2/128", "10.64.2.2/32"]);
    assert_eq!(interface.dns, ["10.64.1.1".parse::<IpAddr>().unwrap()]);
    assert_eq!(interface.search, ["example.org"]);
    assert_eq!(
        (interface.mtu, interface.listen_port, interface.fwmark),
        (Some(1_420), Some(51_820), Some(0xca6c))
    );
    let [peer] = config.peers.as_slice() else { panic!("one peer: {:?}", config.peers) };
    assert_eq!(peer.public_key.to_string(), OTHER);
    assert_eq!(text(&peer.allowed_ips), ["0.0.0.0/0", "::/0", "10.64.1.0/24"]);
    assert_eq!(peer.endpoint.as_ref().unwrap().to_string(), "home.example.org:51820");
    assert_eq!(peer.persistent_keepalive, Some(25));
    assert_eq!(config.ignored, ["PostUp", "Table"]);
}

#[test]
fn the_public_key_is_what_wg_pubkey_says() {
    // `echo yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk= | wg pubkey`
    let key: PrivateKey = PRIVATE.parse().unwrap();
    assert_eq!(key.public().to_string(), "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=");
    let clamped = PrivateKey::from_random([0xff; 32]);
    assert_eq!((clamped.as_bytes()[0], clamped.as_bytes()[31]), (0xf8, 0x7f));
    assert_eq!(clamped.public(), PrivateKey::from_bytes([0xff; 32]).public());
}

#[test]
fn says_which_line_is_wrong_and_why() {
    let interface = format!("[Interface]\nPrivateKey = {PRIVATE}\n");
    let peer = format!("[Peer]\nPublicKey = {OTHER}\n");
    #[rustfmt::skip]
    let cases = [
        (String::new(), "line 1: [Interface] has no `PrivateKey`"),
        ("PrivateKey = x".into(), "line 1: `PrivateKey` stands before any section"),
        ("[Interfaces]".into(), "line 1: there is no section of this name; there are `[Interface]` and `[Peer]`"),
        ("[Interface]\nPrivateKey".into(), "line 2: this is neither `[Interface]`, `[Peer]` nor `Key = value`"),
        (format!("[Interface]\nPrivateKey = {}", &PRIVATE[..43]), "line 2: `PrivateKey` is a key: 32 bytes in base64, 44 letters"),
        // The last letter has bits that no byte has.
        (format!("[Interface]\nPrivateKey = {}l=", &PRIVATE[..42]), "line 2: `PrivateKey` is a key: 32 bytes in base64, 44 letters"),
        (format!("{interface}PrivateKey = {OTHER}"), "line 3: a second PrivateKey"),
        (format!("{interface}PersistentKeepalive = 1"), "line 3: [Interface] has no key `PersistentKeepalive`"),
        (format!("{interface}{PRIVATE}"), "line 3: [Interface] has no key `(not shown)`"),
        (format!("{interface}Jc = 4"), "line 3: [Interface] has no key `Jc`"),
        (format!("{interface}MTU = 20"), "line 3: `MTU` is a number of bytes from 576 to 65535"),
        (format!("{interface}MTU = +1400"), "line 3: `MTU` is a number of bytes from 576 to 65535"),
        (format!("{interface}Address = 10.0.0.1/33"), "line 3: `Address` is an address, or an address, `/` and how many bits the network has"),
        (format!("{interface}Address = 10.0.0.1,,10.0.0.2"), "line 3: `Address` is an address, or an address, `/` and how many bits the network has"),
        (format!("{interface}DNS = 10.0.0.256"), "line 3: `DNS` is addresses of resolvers, or domains"),
        (format!("{interface}FwMark = 0x+1"), "line 3: `FwMark` is a number of 32 bits, decimal or after 0x hexadecimal, or off"),
        (format!("{interface}{interface}"), "line 3: a second [Interface]"),
        (format!("{interface}[Peer]\n[Peer]\nPublicKey = {OTHER}"), "line 4: [Peer] has no `PublicKey`"),
        (format!("{interface}[Peer]\n"), "line 3: [Peer] has no `PublicKey`"),
        (format!("{interface}{peer}{peer}"), "line 6: a second [Peer] with the same `PublicKey`"),
        (format!("{interface}{peer}PostUp = reboot"), "line 5: [Peer] has no key `PostUp`"),
        (format!("{interface}{peer}Endpoint = 10.0.0.1:0"), "line 5: `Endpoint` is an address or a name, `:` and a port, such as home.example.org:51820"),
        (format!("{interface}{peer}Endpoint = 10.0.0.300:1"), "line 5: `Endpoint` is an address or a name, `:` and a port, such as home.example.org:51820"),
        (format!("{interface}{peer}Endpoint = fd00::1:1"), "line 5: `Endpoint` is an address or a name, `:` and a port, such as home.example.org:51820"),
        (format!("{interface}{peer}PersistentKeepalive = often"), "line 5: `PersistentKeepalive` is a number of seconds from 0 to 65535, or off"),
        (" ".repeat(Config::LEN_MAX + 1), "line 1: the text has 262145 bytes; at most 262144 are read"),
    ];
    for (text, want) in cases {
        let got = Config::parse(&text).expect_err(want).to_string();
        assert_eq!(got, want);
    }
}

#[test]
fn there_is_a_limit_to_everything() {
    let mut text = format!("[Interface]\nPrivateKey = {PRIVATE}\n");
    let many = vec!["10.0.0.1"; Config::VALUES_MAX].join(",");
    assert!(Config::parse(&format!("{text}Address = {many}\nDNS = {many}")).is_ok());
    for key in ["Address", "DNS"] {
        let got = Config::parse(&format!("{text}{key} = {many}\n{key} = 10.0.0.2")).unwrap_err();
        assert_eq!(
            got,
            ConfigError { line: 4, fault: Fault::TooMany { what: key, max: Config::VALUES_MAX } }
        );
    }
    for number in 0..=Config::PEERS_MAX {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        text += &format!("[Peer]\nPublicKey = {}\n", PublicKey(key));
    }
    let got = Config::parse(&text).unwrap_err().fault;
    assert_eq!(got, Fault::TooMany { what: "peers", max: Config::PEERS_MAX });
}

#[test]
fn neither_debug_nor_an_error_shows_a_secret() {
    let text = stock().replace("[Peer]", &format!("[Peer]\nPresharedKey = {PRIVATE}"));
    let shown = format!("{:?}", Config::parse(&text).unwrap());
    assert!(shown.contains("PresharedKey(hidden)") && shown.contains("PrivateKey(of HIgo9"), "{shown}");
    for spoilt in [text.replace("PresharedKey", "PresharedKye"), text.replace(PRIVATE, &PRIVATE[1..])] {
        let error = Config::parse(&spoilt).unwrap_err();
        let shown = format!("{shown} {error} {error:?}");
        assert!(!shown.contains(&PRIVATE[2..12]), "{shown}");
    }
}

fn networks() -> impl Strategy<Value = Vec<Network>> {
    let network = (any::<IpAddr>(), 0_u8..=128);
    let network = network.prop_map(|(address, prefix)| {
        Network::new(address, if address.is_ipv4() { prefix % 33 } else { prefix }).unwrap()
    });
    vec(network, 0..4)
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-zA-Z0-9_-]{0,20}(\\.[a-zA-Z0-9_-]{1,20}){0,3}"
}

fn interface() -> impl Strategy<Value = Interface> {
    let numbers = (option::of(576_u16..), option::of(1_u16..), option::of(1_u32..));
    let names = (vec(any::<IpAddr>(), 0..3), vec(name(), 0..3));
    (any::<[u8; 32]>(), networks(), names, numbers).prop_map(
        |(key, addresses, (dns, search), (mtu, listen_port, fwmark))| {
            let private_key = PrivateKey::from_random(key);
            Interface { private_key, addresses, dns, search, mtu, listen_port, fwmark }
        },
    )
}

fn peer() -> impl Strategy<Value = Peer> {
    let host = prop_oneof![any::<IpAddr>().prop_map(Host::Address), name().prop_map(Host::Name)];
    let endpoint = (host, 1_u16..).prop_map(|(host, port)| HostPort { host, port });
    let keys = (any::<[u8; 32]>(), option::of(any::<[u8; 32]>()));
    (keys, networks(), option::of(endpoint), option::of(1_u16..)).prop_map(
        |((key, preshared), networks, endpoint, persistent_keepalive)| Peer {
            public_key: PublicKey(key),
            preshared_key: preshared.map(PresharedKey::from_bytes),
            allowed_ips: networks.iter().map(Network::first).collect(),
            endpoint,
            persistent_keepalive,
        },
    )
}

proptest! {
    #[test]
    fn parse_inverts_emit(interface in interface(), peers in vec(peer(), 0..4)) {
        let config = Config { interface, peers, ignored: Vec::new() };
        let text = config.emit();
        prop_assert_eq!(Config::parse(&text), Ok(config), "{}", text.as_str());
    }

    #[test]
    fn what_is_accepted_means_the_same_when_it_is_written_again(
        lines in vec("(\\[(Interface|peer)\\]|(Address|DNS|MTU|Endpoint|AllowedIPs|PublicKey)[ =]{1,3}[0-9a-f.:/,]{0,12})?[ #]{0,2}", 0..12)
    ) {
        let text = format!("[Interface]\nPrivateKey={PRIVATE}\n{}", lines.join("\n"));
        if let Ok(config) = Config::parse(&text) {
            prop_assert_eq!(Config::parse(&config.emit()), Ok(config));
        }
    }

    #[test]
    fn a_network_holds_its_own_addresses_only(address: std::net::Ipv4Addr, other: std::net::Ipv4Addr, prefix in 0_u8..=32) {
        let network = Network::new(address.into(), prefix).unwrap();
        let same = u64::from(address.to_bits() ^ other.to_bits()) >> (32 - prefix) == 0;
        prop_assert_eq!(network.contains(other.into()), same);
        prop_assert!(network.contains(network.first().address()));
    }
}

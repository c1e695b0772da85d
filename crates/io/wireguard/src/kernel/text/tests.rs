use super::*;
use guestright_tunnel::wireguard::{PresharedKey, PrivateKey};
use guestright_units::Time;

const PEER: &str = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";

fn settings() -> KernelSettings {
    KernelSettings {
        interface: "gr-home".to_owned(),
        private_key: PrivateKey::from_random([7; 32]),
        addresses: vec!["10.88.0.1/24".parse().unwrap(), "fd88::1/64".parse().unwrap()],
        mtu: 1_420,
        listen_port: Some(51_820),
        mark: Some(0x6772),
    }
}

#[test]
fn writes_what_wg_and_ip_read() {
    let secret = settings().private_key.to_base64();
    let want =
        format!("[Interface]\nPrivateKey = {}\nListenPort = 51820\nFwMark = 0x6772\n", secret.as_str());
    assert_eq!(*interface(&settings()), want);
    assert_eq!(
        addresses(&settings()),
        "link set dev gr-home mtu 1420\naddress add 10.88.0.1/24 dev gr-home\n\
         address add fd88::1/64 dev gr-home\nlink set dev gr-home up\n"
    );
}

#[test]
fn a_peer_is_set_without_its_secret_in_the_arguments() {
    let plain = Peer::new(PEER.parse().unwrap());
    let full = Peer {
        preshared_key: Some(PresharedKey::from_bytes([9; 32])),
        allowed_ips: vec!["10.88.0.2/32".parse().unwrap(), "fd88::2/128".parse().unwrap()],
        address: Some("[2001:db8::1]:51820".parse().unwrap()),
        keepalive_s: Some(25),
        ..plain.clone()
    };
    let (arguments, input) = set_peer("wg0", &full);
    assert_eq!(
        arguments.join(" "),
        format!(
            "set wg0 peer {PEER} preshared-key /dev/stdin allowed-ips 10.88.0.2/32,fd88::2/128 \
             endpoint [2001:db8::1]:51820 persistent-keepalive 25"
        )
    );
    assert_eq!(*input, *full.preshared_key.unwrap().to_base64());
    let (arguments, input) = set_peer("wg0", &plain);
    let want = format!("set wg0 peer {PEER} preshared-key /dev/stdin allowed-ips  persistent-keepalive off");
    assert_eq!((arguments.join(" "), input.as_str()), (want, ""));
}

#[test]
fn reads_the_dump() {
    let dump = format!(
        "PRIVATE\tPUBLIC\t51820\t0x6772\n\
         {PEER}\t(none)\t192.0.2.7:40000\t10.88.0.2/32,fd88::2/128\t1790000000\t1234\t56789\t25\n\
         {PEER}\t(none)\t(none)\t(none)\t0\t0\t0\toff\n\
         {PEER}\tSECRET\t[2001:db8::1]:1\t10.88.0.3/32\t0\t5\t6\toff\n"
    );
    let peers = parse_dump(&dump).unwrap();
    let rows: Vec<_> = peers
        .iter()
        .map(|peer| (peer.address.map(|at| at.to_string()), peer.agreed, peer.received.0, peer.sent.0))
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows,
        [
            (text("192.0.2.7:40000"), Some(Time(1_790_000_000_000_000)), 1_234, 56_789),
            (None, None, 0, 0),
            (text("[2001:db8::1]:1"), None, 5, 6),
        ]
    );
    assert!(parse_dump("PRIVATE\tPUBLIC\t51820\toff\n").unwrap().is_empty());
}

#[test]
fn a_dump_that_cannot_be_read_says_where() {
    #[rustfmt::skip]
    let cases = [
        (format!("i\n{PEER}\t(none)\t(none)\t(none)\t0\t0\t0"),             (2, "expected 8 fields with tabs between them")),
        (format!("i\n{PEER}\t(none)\tx:1\t(none)\t0\t0\t0\toff"),           (2, "an endpoint is no address and port")),
        (format!("i\n{PEER}\t(none)\t(none)\t(none)\t0\t-1\t0\toff"),       (2, "expected a number")),
        ("i\nshort\t(none)\t(none)\t(none)\t0\t0\t0\toff".to_owned(),       (2, "a key: 32 bytes in base64, 44 letters")),
    ];
    for (dump, want) in cases {
        assert_eq!(parse_dump(&dump), Err(want), "{dump:?}");
    }
}

#[test]
fn finds_the_packets_of_an_interface() {
    let devices = "Inter-|   Receive                                                |  Transmit\n \
         face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo\n\
         gr-visit: 1500      12    0    0    0     0          0         0     2800      34    0    0    0     0\n";
    assert_eq!(packets(devices, "gr-visit"), Some(46));
    assert_eq!(packets(devices, "gr"), None);
    assert_eq!(packets("gr: 1 2 3\n", "gr"), None);
}

use super::*;
use guestright_tunnel::Datagrams;
use std::time::Duration;

fn option_of(socket: &Socket, level: libc::c_int, name: libc::c_int) -> libc::c_int {
    let mut value: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap();
    #[expect(unsafe_code, reason = "no safe crate of ours reads these options")]
    // SAFETY: the descriptor is open, and both pointers are to values of the sizes that are given.
    let status = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    };
    assert_eq!(status, 0);
    value
}

#[test]
fn datagrams_may_be_fragmented_and_nothing_is_told_that_nobody_asks() {
    let socket = Socket::open(&SocketSettings::default()).unwrap();
    let options = [libc::IP_MTU_DISCOVER, libc::IP_PKTINFO, libc::IP_RECVTOS];
    assert_eq!(options.map(|name| option_of(&socket, libc::IPPROTO_IP, name)), [PATH_MTU_OMIT, 0, 0]);
    assert_eq!(option_of(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS), 0);
}

#[test]
fn a_run_arrives_as_the_datagrams_it_is_made_of() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let to = receiver.local_addr().unwrap();
    for (offload, bind) in [(true, "127.0.0.1:0"), (false, "127.0.0.1:0"), (true, "[::]:0")] {
        let settings = SocketSettings { bind: bind.parse().unwrap(), mark: None, offload };
        let Ok(socket) = Socket::open(&settings) else {
            assert!(bind.starts_with('['), "IPv4 is everywhere, IPv6 is not");
            continue;
        };
        let mut datagrams = Datagrams::new();
        // The second is more than the kernel takes at once.
        for (length, count) in [(100, 3), (60_000, 2), (40, 1)] {
            for number in 0..count {
                datagrams.room(length).fill(number);
                datagrams.push(to, length);
            }
        }
        datagrams.runs().for_each(|run| socket.send(run));
        let mut buffer = vec![0; 65_536];
        for (length, number) in [(100, 0), (100, 1), (100, 2), (60_000, 0), (60_000, 1), (40, 0)] {
            let got = receiver.recv(&mut buffer).unwrap();
            assert_eq!((got, buffer[0], buffer[got - 1]), (length, number, number), "offload {offload}");
        }
        assert_eq!(socket.unsent.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn an_impossible_address_costs_its_datagram_and_nothing_else() {
    let socket = Socket::open(&SocketSettings::default()).unwrap();
    let before = socket.state.max_gso_segments();
    let impossible = ["127.0.0.1:0", "0.0.0.0:9", "255.255.255.255:9", "224.0.0.1:9", "[fe80::1]:9"];
    for to in impossible {
        let mut datagrams = Datagrams::new();
        for _ in 0..3 {
            datagrams.room(50);
            datagrams.push(to.parse().unwrap(), 50);
        }
        datagrams.runs().for_each(|run| socket.send(run));
    }
    assert_eq!(socket.unsent.load(Ordering::Relaxed), 5);
    assert_eq!(socket.state.max_gso_segments(), before, "segmentation is not given up for that");
}

#[test]
fn a_port_that_is_taken_is_an_error_that_says_so() {
    let first =
        Socket::open(&SocketSettings { bind: "127.0.0.1:0".parse().unwrap(), ..Default::default() }).unwrap();
    let bind = first.address().unwrap();
    let error = Socket::open(&SocketSettings { bind, ..Default::default() }).unwrap_err();
    assert!(matches!(&error, TunError::Bind { address, .. } if *address == bind), "{error}");
}

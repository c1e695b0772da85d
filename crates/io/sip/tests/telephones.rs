//! Telephones on loopback.
#![expect(clippy::unwrap_used, reason = "the helpers of a test end it where they cannot go on")]

use guestright_netns::testing::inside;
use guestright_signalling::Peer;
use guestright_sip::{Incoming, SipError, Telephones};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc::Receiver;

const OPTIONS: &[u8] = b"OPTIONS sip:a SIP/2.0\r\nContent-Length: 2\r\n\r\nhi";

async fn open() -> (Telephones, Receiver<Incoming>, SocketAddr) {
    let (telephones, incoming) = Telephones::open("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = telephones.address();
    (telephones, incoming, address)
}

/// Nothing waits for it unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

async fn next(incoming: &mut Receiver<Incoming>) -> Incoming {
    tokio::time::timeout(PATIENCE, incoming.recv()).await.unwrap().unwrap()
}

#[test]
fn any_port_is_one_that_is_free_for_both_protocols() {
    if !inside("any_port_is_one_that_is_free_for_both_protocols") {
        return;
    }
    // There are two, and one of them is somebody's in TCP. A socket for datagrams gets it every other time.
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001").unwrap();
    let any: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let held = std::net::TcpListener::bind(any).unwrap();
    let taken = held.local_addr().unwrap();
    for _ in 0..32 {
        // Its sockets end with it.
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (telephones, _) = runtime.block_on(Telephones::open(any)).unwrap();
        assert_ne!(telephones.address().port(), taken.port());
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let chosen = runtime.block_on(Telephones::open(taken)).unwrap_err();
    assert!(matches!(chosen, SipError::Listen { .. }), "a port that was chosen is not replaced: {chosen}");
}

#[tokio::test]
async fn datagrams_come_and_go() {
    let (telephones, mut incoming, address) = open().await;
    let phone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let peer = Peer::Udp(phone.local_addr().unwrap());
    phone.send_to(OPTIONS, address).await.unwrap();
    assert_eq!(next(&mut incoming).await, Incoming::Message(peer, OPTIONS.to_vec()));
    telephones.send(peer, b"SIP/2.0 200 OK\r\n\r\n".to_vec());
    let mut buffer = [0; 100];
    let (length, from) = phone.recv_from(&mut buffer).await.unwrap();
    assert_eq!((&buffer[..length], from), (&b"SIP/2.0 200 OK\r\n\r\n"[..], address));
}

#[tokio::test]
async fn a_stream_is_cut_into_messages_however_it_arrives() {
    let (telephones, mut incoming, address) = open().await;
    let mut phone = TcpStream::connect(address).await.unwrap();
    let peer = Peer::Tcp(phone.local_addr().unwrap());
    let bytes = [OPTIONS, b"\r\n\r\n", OPTIONS].concat();
    for piece in bytes.chunks(7) {
        phone.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut got = Vec::new();
    while got.len() < bytes.len() {
        let Incoming::Message(from, message) = next(&mut incoming).await else { panic!("it has hung up") };
        assert_eq!(from, peer);
        got.extend(message);
    }
    assert_eq!(got, bytes);
    telephones.send(peer, b"over the same".to_vec());
    let mut buffer = [0; 13];
    phone.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"over the same");
    drop(phone);
    assert_eq!(next(&mut incoming).await, Incoming::Gone(peer));
}

#[tokio::test]
async fn a_telephone_is_called_over_tcp_and_its_absence_is_reported() {
    let (telephones, mut incoming, _) = open().await;
    let phone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = phone.local_addr().unwrap();
    telephones.send(Peer::Tcp(at), b"one".to_vec());
    telephones.send(Peer::Tcp(at), b"two".to_vec());
    let (mut stream, _) = phone.accept().await.unwrap();
    let mut buffer = [0; 6];
    stream.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"onetwo");
    drop((stream, phone));
    assert_eq!(next(&mut incoming).await, Incoming::Gone(Peer::Tcp(at)));
    telephones.send(Peer::Tcp(at), b"three".to_vec());
    assert_eq!(next(&mut incoming).await, Incoming::Gone(Peer::Tcp(at)));
}

#[tokio::test]
async fn rubbish_and_too_many_cost_connections_only() {
    let (_telephones, mut incoming, address) = open().await;
    let mut phone = TcpStream::connect(address).await.unwrap();
    let peer = Peer::Tcp(phone.local_addr().unwrap());
    phone.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(next(&mut incoming).await, Incoming::Gone(peer));
    let mut phones = Vec::new();
    for _ in 0..9 {
        phones.push(TcpStream::connect(address).await.unwrap());
    }
    // The ninth is closed at once.
    let mut buffer = [0; 1];
    let closed = tokio::time::timeout(PATIENCE, phones[8].read(&mut buffer)).await.unwrap();
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    phones[0].write_all(OPTIONS).await.unwrap();
    assert!(matches!(next(&mut incoming).await, Incoming::Message(..)));
}

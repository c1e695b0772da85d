//! The peer: rtpengine without its kernel module, told what to do in its "ng" protocol (bencoded dictionaries over UDP).

use crate::ends::{Ends, Leg};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "rtpengine";

pub(crate) fn is_installed() -> bool {
    Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// A running rtpengine with one thread for media.
pub(crate) struct Peer {
    child: Child,
    control: UdpSocket,
}

impl Peer {
    /// Starts it. It inherits the core of this thread.
    pub(crate) fn start() -> Self {
        let free =
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr()).expect("a port");
        let child = Command::new(PROGRAM)
            .args(["--foreground", "--log-stderr", "--log-level=2", "--table=-1", "--num-threads=1"])
            .args(["--interface=127.0.0.1", "--port-min=10000", "--port-max=29999"])
            .arg(format!("--listen-ng={free}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("rtpengine starts");
        let control = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        control.connect(free).expect("loopback");
        control.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
        let peer = Self { child, control };
        let until = Instant::now() + Duration::from_secs(10);
        while peer.ask("ping", "d7:command4:pinge").is_none() {
            assert!(Instant::now() < until, "rtpengine answers");
        }
        peer
    }

    pub(crate) fn tasks(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/task", self.child.id()))
    }

    /// Makes a call: plain at the near end, SRTP at the far one, which protects with `from_far`.
    pub(crate) fn open(&self, leg: u32, ends: &Ends, from_far: &MasterKey) -> Leg {
        let call = format!("leg-{leg}");
        let offer = sdp("RTP/AVP", ends.near(), None);
        let words = [
            ("call-id", call.as_str()),
            ("from-tag", "a"),
            ("transport-protocol", "RTP/SAVP"),
            ("sdp", &offer),
        ];
        let offered = self.command(&call, "offer", &words);
        let line = offered
            .lines()
            .filter_map(|line| line.strip_prefix("a=crypto:")?.parse::<CryptoLine>().ok())
            .find(|line| line.key.profile() == Profile::AesCm128HmacSha1_80)
            .expect("the peer offers the suite");
        let answer = CryptoLine { tag: line.tag, key: from_far.clone() };
        let answer = sdp("RTP/SAVP", ends.far(), Some(&answer.to_text()));
        let words = [("call-id", call.as_str()), ("from-tag", "a"), ("to-tag", "b"), ("sdp", &answer)];
        let answered = self.command(&call, "answer", &words);
        Leg { near: port(&answered), far: port(&offered), keys: Some((line.key, from_far.clone())) }
    }

    /// The SDP that comes back.
    fn command(&self, call: &str, command: &str, words: &[(&str, &str)]) -> String {
        let mut words = [words, &[("command", command)]].concat();
        // Bencoded dictionaries are sorted.
        words.sort_unstable();
        let body: String = words.iter().map(|(key, value)| string(key) + &string(value)).collect();
        let cookie = format!("{call}-{command}");
        let text = self.ask(&cookie, &format!("d{body}e")).expect("rtpengine answers");
        let sdp = text.split_once("3:sdp").unwrap_or_else(|| panic!("no SDP in {text}")).1;
        let (length, rest) = sdp.split_once(':').expect("a length");
        rest[..length.parse::<usize>().expect("a number")].to_owned()
    }

    fn ask(&self, cookie: &str, text: &str) -> Option<String> {
        self.control.send(format!("{cookie} {text}").as_bytes()).ok()?;
        let mut buffer = vec![0; 65_536];
        let length = self.control.recv(&mut buffer).ok()?;
        String::from_utf8(buffer[..length].to_vec()).ok()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn string(text: &str) -> String {
    format!("{}:{text}", text.len())
}

fn sdp(protocol: &str, at: SocketAddr, crypto: Option<&str>) -> String {
    let crypto = crypto.map(|line| format!("a=crypto:{line}\r\n")).unwrap_or_default();
    format!(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio {} {protocol} 8\r\n\
         a=rtpmap:8 PCMA/8000\r\n{crypto}",
        at.port()
    )
}

fn port(sdp: &str) -> SocketAddrV4 {
    let media = sdp.lines().find_map(|line| line.strip_prefix("m=audio ")).expect("a line for audio");
    let port = media.split(' ').next().and_then(|port| port.parse().ok()).expect("a port");
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

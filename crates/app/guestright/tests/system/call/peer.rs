//! Other telephones: a stock one, and ones that do what no telephone should.

use crate::town::PATIENCE;
use crate::town::baresip::{Baresip, Wanted};
use guestright_netns::World;
use guestright_sip::agent::{
    Agent, AgentEvent, AgentSettings, Agreement, Call, CallEvent, Crypto, Description, Direction, Profile,
    Transport,
};
use guestright_voice::rtp::{Header, Kind};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile as Suite, Protect};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use zeroize::Zeroizing;

/// Where Debian's baresip on the host `phone` is called.
pub(crate) const PHONE: &str = "10.71.0.2:5070";

/// Starts a baresip there that takes every call and says a tone. `account` is added to its account.
pub(crate) fn phone(world: &World, directory: &Path, account: &str) -> Baresip {
    let wanted = Wanted {
        directory,
        log: &directory.join("log"),
        listen: PHONE,
        account: &format!("<sip:phone@10.71.0.2>;regint=0{account}"),
        module: "srtp",
        more: "",
    };
    Baresip::start(world, "phone", &wanted)
}

/// What a stranger does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trick {
    Plain,
    Sdes,
    Silent,
    HomeThenSdes,
    Wraps,
    VoiceFirst,
}

/// A telephone that takes calls, and does with them what it should not. It ends with the test.
pub(crate) struct Stranger {
    address: SocketAddr,
    counts: Arc<Counts>,
}

/// What a stranger has seen.
#[derive(Default)]
struct Counts {
    /// Packets of voice that came.
    voice: AtomicU32,
    /// Of them, in another codec than G.711 mu-law.
    other_voice: AtomicU32,
}

/// A trick, for those outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer(Trick);

impl Stranger {
    /// Answers without protection.
    pub(crate) const PLAIN: Answer = Answer(Trick::Plain);
    /// Answers with a key in the description.
    pub(crate) const SDES: Answer = Answer(Trick::Sdes);
    /// Promises an agreement, and takes no part in it.
    pub(crate) const SILENT: Answer = Answer(Trick::Silent);
    /// Answers as it should, and then wants less.
    pub(crate) const HOME_THEN_SDES: Answer = Answer(Trick::HomeThenSdes);
    /// Speaks from packet 65,500 on, past the wrap.
    pub(crate) const WRAPS: Answer = Answer(Trick::Wraps);

    /// Sends packets of a codec that it was offered in the middle of the call, and only then answers.
    pub(crate) const VOICE_FIRST: Answer = Answer(Trick::VoiceFirst);

    pub(crate) fn answer(Answer(trick): Answer) -> Self {
        let counts = Arc::<Counts>::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let counted = Arc::clone(&counts);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let settings = AgentSettings {
                    user: "x".to_owned(),
                    bind: "127.0.0.1:0".parse().unwrap(),
                    transport: Transport::Udp,
                    home: None,
                    expires_s: 60,
                };
                let mut agent = Agent::start(settings).await.unwrap();
                sender.send(agent.address()).unwrap();
                loop {
                    if let AgentEvent::Incoming(call) = agent.event().await {
                        serve(trick, *call, &counted).await;
                    }
                }
            });
        });
        let address = receiver.recv_timeout(PATIENCE).unwrap();
        Self { address, counts }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Packets of voice that came.
    pub(crate) fn voice(&self) -> u32 {
        self.counts.voice.load(Ordering::Relaxed)
    }

    /// Of them, packets in another codec than G.711 mu-law.
    pub(crate) fn other_voice(&self) -> u32 {
        self.counts.other_voice.load(Ordering::Relaxed)
    }
}

impl Counts {
    /// Counts what has come.
    fn receive(&self, socket: &UdpSocket) {
        let mut datagram = [0; 2_048];
        while let Ok((length, _)) = socket.recv_from(&mut datagram) {
            if Kind::of(&datagram[..length]) == Kind::Rtp {
                self.voice.fetch_add(1, Ordering::Relaxed);
                let is_other = datagram[1] & 0x7f != 0;
                self.other_voice.fetch_add(is_other.into(), Ordering::Relaxed);
            }
        }
    }
}

async fn serve(trick: Trick, mut call: Call, counts: &Counts) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let offer = Description::parse(&call.offer().unwrap()).unwrap();
    let secure = Profile::Secure { feedback: false };
    let mut answer = Description {
        address: socket.local_addr().unwrap(),
        control_port: None,
        profile: Profile::Plain { feedback: false },
        formats: offer.formats.iter().filter(|format| format.name == "PCMU").cloned().collect(),
        direction: Direction::SendReceive,
        crypto: Vec::new(),
        agreement: None,
        ..offer.clone()
    };
    let key = MasterKey::from_chance(Suite::AesCm128HmacSha1_80, &Zeroizing::new([9; MasterKey::LEN_MAX]));
    let tag = offer
        .crypto
        .iter()
        .find(|crypto| crypto.suite == key.profile().name())
        .map_or(1, |crypto| crypto.tag);
    let sdes = || vec![as_crypto(tag, &key)];
    match trick {
        Trick::Plain | Trick::HomeThenSdes | Trick::VoiceFirst => {}
        Trick::Sdes | Trick::Wraps => (answer.profile, answer.crypto) = (secure, sdes()),
        Trick::Silent => {
            answer.profile = secure;
            answer.agreement = Some(Agreement { version: 1, digest: "00".repeat(32) });
        }
    }
    call.accept(&answer.emit());
    let speaker = (trick == Trick::Wraps).then(|| {
        let to = offer.address;
        let (socket, key) = (socket.try_clone().unwrap(), key.clone());
        tokio::spawn(speak(socket, to, key))
    });
    let mut look = tokio::time::interval(Duration::from_millis(10));
    loop {
        tokio::select! {
            event = call.event() => match event {
                CallEvent::Ended(_) => break,
                CallEvent::Changed(change) if trick == Trick::VoiceFirst => {
                    let offer = Description::parse(change.offer.as_ref().unwrap()).unwrap();
                    answer.version += 1;
                    answer.formats = offer.formats[..1].to_vec();
                    say_early(&socket, offer.address, offer.formats[0].payload).await;
                    change.accept(Some(&answer.emit())).await;
                }
                CallEvent::Acknowledged { .. } if trick == Trick::HomeThenSdes => {
                    let mut less = answer.clone();
                    less.version += 1;
                    (less.profile, less.crypto) = (secure, sdes());
                    call.modify(&less.emit());
                }
                CallEvent::Trying
                | CallEvent::Ringing
                | CallEvent::Answered { .. }
                | CallEvent::Acknowledged { .. }
                | CallEvent::Changed(_)
                | CallEvent::Modified { .. }
                | CallEvent::Probed { .. } => {}
            },
            _ = look.tick() => counts.receive(&socket),
        }
    }
    if let Some(speaker) = speaker {
        speaker.abort();
    }
}

/// Packets before the answer that lets them be expected.
pub(crate) const EARLY: u16 = 25;

async fn say_early(socket: &UdpSocket, to: SocketAddr, payload_type: u8) {
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    for number in 0..EARLY {
        pace.tick().await;
        let timestamp = u32::from(number) * 160;
        let header = Header { marker: number == 0, payload_type, sequence: number, timestamp, ssrc: 8 };
        let mut packet = Vec::new();
        header.emit(&mut packet);
        packet.extend([0xd5; 160]);
        socket.send_to(&packet, to).unwrap();
    }
}

fn as_crypto(tag: u32, key: &MasterKey) -> Crypto {
    let text = CryptoLine { tag, key: key.clone() }.to_text();
    let digits = text.split_once("inline:").unwrap().1.to_owned();
    Crypto { tag, suite: key.profile().name().to_owned(), key: Zeroizing::new(digits) }
}

/// Silence in mu-law, from a little before the wrap on.
async fn speak(socket: UdpSocket, to: SocketAddr, key: MasterKey) {
    let mut protect = Protect::new(&key);
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let (mut sequence, mut timestamp) = (65_500_u16, u32::MAX - 3_000);
    let mut sealed = Vec::new();
    loop {
        pace.tick().await;
        let header = Header { marker: false, payload_type: 0, sequence, timestamp, ssrc: 7 };
        let mut packet = Vec::new();
        header.emit(&mut packet);
        packet.extend([0xff; 160]);
        protect.rtp(&packet, &mut sealed).unwrap();
        // The other side may have gone.
        let _ = socket.send_to(&sealed, to);
        (sequence, timestamp) = (sequence.wrapping_add(1), timestamp.wrapping_add(160));
    }
}

//! Other telephones: a stock one, and ones that do what no telephone should.

use crate::call::wav;
use crate::town::program::Program;
use crate::town::{PATIENCE, until};
use guestright_netns::World;
use guestright_sip::agent::{
    Agent, AgentEvent, AgentSettings, Agreement, Call, CallEvent, Crypto, Description, Direction, Profile,
    Transport,
};
use guestright_voice::rtp::{Header, Kind};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile as Suite, Protect};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

const TONE_HZ: f64 = 440.0;

#[expect(clippy::cast_possible_truncation, reason = "samples are small")]
fn tone() -> Vec<i16> {
    let angle = |number: u32| f64::from(number) / 8_000.0 * TONE_HZ * std::f64::consts::TAU;
    (0..8_000 * 30).map(|number| (angle(number).sin() * 8_000.0) as i16).collect()
}

/// In how many of the pieces of 50 ms the tone is nearly all there is, 0 to 1.
pub(crate) fn share_of_tone(samples: &[i16]) -> f64 {
    let is_tone = |piece: &[i16]| {
        let (mut sine, mut cosine, mut energy) = (0.0, 0.0, 0.0);
        for (number, sample) in (0_u32..).zip(piece) {
            let (value, angle) =
                (f64::from(*sample), f64::from(number) / 8_000.0 * TONE_HZ * std::f64::consts::TAU);
            sine += value * angle.sin();
            cosine += value * angle.cos();
            energy += value * value;
        }
        energy > 400_000.0 && (sine * sine + cosine * cosine) * 2.0 / (energy * 400.0) > 0.9
    };
    let pieces: Vec<_> = samples.chunks_exact(400).collect();
    let good = pieces.iter().filter(|piece| is_tone(piece)).count();
    f64::from(u32::try_from(good).unwrap()) / f64::from(u32::try_from(pieces.len().max(1)).unwrap())
}

/// Debian's baresip on the host `phone`, told what to do over its control connection.
pub(crate) struct Baresip {
    _program: Program,
    control: RefCell<TcpStream>,
    buffer: RefCell<Vec<u8>>,
}

impl Baresip {
    pub(crate) const ADDRESS: &'static str = "10.71.0.2:5070";

    /// Starts one that takes every call and says a tone. `account` is added to its account.
    pub(crate) fn start(world: &World, directory: &Path, account: &str) -> Self {
        std::fs::create_dir(directory).unwrap();
        wav::write(&directory.join("tone.wav"), &tone());
        let here = directory.display();
        let mut config = format!(
            "poll_method epoll\nsip_listen {}\ncall_max_calls 4\nausrc_srate 8000\nauplay_srate 8000\n\
             ausrc_channels 1\nauplay_channels 1\naudio_buffer 20-160\nmodule_path /usr/lib/baresip/modules\n\
             ctrl_tcp_listen 127.0.0.1:4444\nrtp_ports 10000-10100\naudio_player aufile,{here}/play.wav\n\
             audio_alert aufile,{here}/alert.wav\naudio_source aufile,{here}/tone.wav\n",
            Self::ADDRESS
        );
        for module in ["g711", "aufile", "srtp"] {
            config += &format!("module {module}.so\n");
        }
        config += "module_tmp account.so\nmodule_app menu.so\nmodule_app ctrl_tcp.so\n";
        std::fs::write(directory.join("config"), config).unwrap();
        let account = format!(
            "<sip:phone@10.71.0.2>;regint=0;answermode=auto;audio_codecs=pcmu;auth_pass=none{account}\n"
        );
        std::fs::write(directory.join("accounts"), account).unwrap();
        let mut command = world.command("phone", "baresip").unwrap();
        command.arg("-f").arg(directory).args(["-4", "-v"]);
        let program = Program::start(&mut command, &directory.join("log"));
        let mut control = None;
        until("baresip to listen", || {
            control = world.within("phone", || TcpStream::connect("127.0.0.1:4444")).unwrap().ok();
            control.is_some()
        });
        let control = control.unwrap();
        control.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { _program: program, control: RefCell::new(control), buffer: RefCell::default() }
    }

    pub(crate) fn command(&self, command: &str, parameters: &str) {
        let text = json!({ "command": command, "params": parameters, "token": command }).to_string();
        write!(self.control.borrow_mut(), "{}:{text},", text.len()).unwrap();
    }

    /// Waits for an event of this type; others before it are passed over.
    pub(crate) fn event(&self, wanted: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        let mut said = Vec::new();
        while Instant::now() < deadline {
            while let Some(value) = self.next_said() {
                if value["type"] == wanted {
                    return value;
                }
                said.push(value);
            }
            let mut chunk = [0; 4_096];
            match self.control.borrow_mut().read(&mut chunk) {
                Ok(length @ 1..) => self.buffer.borrow_mut().extend(&chunk[..length]),
                Ok(0) | Err(_) => break,
            }
        }
        panic!("waited in vain for {wanted}; it said {said:?}");
    }

    /// The next netstring.
    fn next_said(&self) -> Option<Value> {
        let mut buffer = self.buffer.borrow_mut();
        let colon = buffer.iter().position(|byte| *byte == b':')?;
        let length: usize = std::str::from_utf8(&buffer[..colon]).unwrap().parse().unwrap();
        let text = buffer.get(colon + 1..colon + 1 + length)?.to_vec();
        if buffer.len() < colon + 2 + length {
            return None;
        }
        buffer.drain(..colon + 2 + length);
        Some(serde_json::from_slice(&text).unwrap_or_default())
    }
}

/// What a stranger does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trick {
    Plain,
    Sdes,
    Silent,
    HomeThenSdes,
    Wraps,
}

/// A telephone that takes calls, and does with them what it should not. It ends with the test.
pub(crate) struct Stranger {
    address: SocketAddr,
    voice: Arc<AtomicU32>,
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

    pub(crate) fn answer(Answer(trick): Answer) -> Self {
        let voice = Arc::new(AtomicU32::new(0));
        let (sender, receiver) = std::sync::mpsc::channel();
        let counted = Arc::clone(&voice);
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
        Self { address, voice }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Packets of voice that came.
    pub(crate) fn voice(&self) -> u32 {
        self.voice.load(Ordering::Relaxed)
    }
}

async fn serve(trick: Trick, mut call: Call, voice: &AtomicU32) {
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
        Trick::Plain | Trick::HomeThenSdes => {}
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
            _ = look.tick() => {
                let mut datagram = [0; 2_048];
                while let Ok((length, _)) = socket.recv_from(&mut datagram) {
                    if Kind::of(&datagram[..length]) == Kind::Rtp {
                        voice.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
    }
    if let Some(speaker) = speaker {
        speaker.abort();
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

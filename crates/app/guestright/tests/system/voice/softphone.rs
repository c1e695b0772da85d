//! Debian's baresip and sipp, without a sound card and without a screen.

use super::exchange::Exchange;
use crate::town::program::Program;
use crate::town::{PATIENCE, until};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What softphones say: a tone, as 16-bit samples of 8 kHz.
pub(crate) const TONE_HZ: f64 = 440.0;
const RATE: u32 = 8_000;

#[expect(clippy::cast_possible_truncation, reason = "samples are small")]
fn tone() -> Vec<i16> {
    let sample = |number: u32| {
        let angle = f64::from(number) / f64::from(RATE) * TONE_HZ * std::f64::consts::TAU;
        (angle.sin() * 8_000.0) as i16
    };
    (0..RATE * 60).map(sample).collect()
}

/// The tone's first 60 samples in G.711 mu-law (G.711 table 2a), which come again every 200 samples whatever packets
/// they are cut into.
pub(crate) fn tone_payload() -> Vec<u8> {
    tone()[..60].iter().map(|sample| mu_law(*sample)).collect()
}

#[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "the parts have 1, 3 and 4 bits")]
pub(crate) fn mu_law(sample: i16) -> u8 {
    let negative = sample < 0;
    let level = (i32::from(sample).abs().min(32_635)) + 132;
    let exponent = (0..8).rev().find(|exponent| level >> (exponent + 7) != 0).unwrap_or(0);
    let mantissa = (level >> (exponent + 3)) & 15;
    !((u8::from(negative) << 7) | ((exponent as u8) << 4) | mantissa as u8)
}

fn write_wav(path: &Path, samples: &[i16]) {
    let size = u32::try_from(samples.len() * 2).unwrap();
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((size + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(RATE.to_le_bytes());
    bytes.extend((RATE * 2).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(size.to_le_bytes());
    bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// How much of what is heard is the tone, 0 to 1: energy at its frequency by Goertzel's sum, over all energy, in the
/// loudest half of pieces of 50 ms.
pub(crate) fn share_of_tone(samples: &[i16], hertz: f64) -> f64 {
    let share = |piece: &[i16]| {
        let (mut sine, mut cosine, mut energy) = (0.0, 0.0, 0.0);
        for (number, sample) in (0_u32..).zip(piece) {
            let (value, angle) =
                (f64::from(*sample), f64::from(number) / f64::from(RATE) * hertz * std::f64::consts::TAU);
            sine += value * angle.sin();
            cosine += value * angle.cos();
            energy += value * value;
        }
        let length = f64::from(u32::try_from(piece.len()).unwrap());
        if energy < length * 1_000.0 {
            0.0
        } else {
            (sine * sine + cosine * cosine) * 2.0 / (energy * length)
        }
    };
    let pieces: Vec<f64> = samples.chunks_exact(400).map(share).collect();
    let good = pieces.iter().filter(|share| **share > 0.9).count();
    f64::from(u32::try_from(good).unwrap()) / f64::from(u32::try_from(pieces.len().max(1)).unwrap())
}

/// A running baresip, told what to do over its control connection.
pub(crate) struct Baresip {
    _program: Program,
    control: RefCell<TcpStream>,
    buffer: RefCell<Vec<u8>>,
    directory: PathBuf,
}

impl Baresip {
    /// Starts one that registers as `name` and takes every call. `more` is further configuration.
    pub(crate) fn start(exchange: &Exchange, host: &str, name: &str, more: &str) -> Self {
        let directory = exchange.town.path(&format!("{host}-phone"));
        std::fs::create_dir(&directory).unwrap();
        let tone_file = directory.join("tone.wav");
        write_wav(&tone_file, &tone());
        let (here, tone_file) = (directory.display(), tone_file.display());
        let mut config = "poll_method epoll\nsip_listen 10.73.5.2:5060\ncall_max_calls 4\nausrc_srate 8000\n\
                          auplay_srate 8000\nausrc_channels 1\nauplay_channels 1\naudio_buffer 20-160\n\
                          module_path /usr/lib/baresip/modules\nctrl_tcp_listen 127.0.0.1:4444\nrtp_ports 10000-10100\n"
            .to_owned();
        write!(
            config,
            "audio_player aufile,{here}/play.wav\naudio_alert aufile,{here}/alert.wav\n\
             audio_source aufile,{tone_file}\nsnd_path {here}\n{more}"
        )
        .unwrap();
        for module in ["g711", "aufile", "sndfile"] {
            writeln!(config, "module {module}.so").unwrap();
        }
        config += "module_tmp account.so\nmodule_app menu.so\nmodule_app ctrl_tcp.so\n";
        std::fs::write(directory.join("config"), config).unwrap();
        let account =
            format!("<sip:{name}@10.73.5.1>;regint=60;answermode=auto;audio_codecs=pcmu;auth_pass=none\n");
        std::fs::write(directory.join("accounts"), account).unwrap();
        let mut command = exchange.town.world.command(host, "baresip").unwrap();
        command.arg("-f").arg(&directory).args(["-4", "-v"]);
        let program = Program::start(&mut command, &exchange.town.path(&format!("{host}-baresip.log")));
        let mut control = None;
        until("baresip to listen", || {
            let connect = || TcpStream::connect("127.0.0.1:4444");
            control = exchange.town.world.within(host, connect).unwrap().ok();
            control.is_some()
        });
        let control = control.unwrap();
        control.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { _program: program, control: RefCell::new(control), buffer: RefCell::default(), directory }
    }

    /// Gives it a command; see its documentation of ctrl_tcp.
    pub(crate) fn command(&self, command: &str, parameters: &str) {
        let text = json!({ "command": command, "params": parameters, "token": command }).to_string();
        // In one piece: pieces would wait for each other's acknowledgement.
        let netstring = format!("{}:{text},", text.len());
        self.control.borrow_mut().write_all(netstring.as_bytes()).unwrap();
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

    /// Ends it, and gives what it has heard: all that its sound filter has written.
    pub(crate) fn heard(self) -> Vec<i16> {
        self.command("quit", "");
        let Self { mut _program, directory, .. } = self;
        _program.wait();
        let entries = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.to_string_lossy().ends_with("-dec.wav"));
        let samples = files.flat_map(|file| {
            let bytes = std::fs::read(file).unwrap();
            bytes[44.min(bytes.len())..]
                .chunks_exact(2)
                .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
                .collect::<Vec<_>>()
        });
        samples.collect()
    }
}

/// A running sipp.
pub(crate) struct Sipp {
    program: Program,
    statistics: PathBuf,
}

/// How many calls went well.
pub(crate) struct Told {
    pub(crate) successful: u64,
    pub(crate) failed: u64,
}

impl Sipp {
    /// Takes every call at port 5060 and sends back what it hears.
    pub(crate) fn answer(exchange: &Exchange, host: &str) -> Self {
        Self::start(
            exchange,
            host,
            &["-sn", "uas", "-rtp_echo", "-i", "10.73.5.2", "-mi", "10.73.5.2", "-p", "5060"],
        )
    }

    /// Makes so many calls at a time, with a tone in each, for some seconds.
    pub(crate) fn call(exchange: &Exchange, host: &str, whom: &str, calls: u32) -> Self {
        let directory = exchange.town.directory.clone();
        let payload: Vec<u8> = tone().iter().take(8_000).map(|sample| mu_law(*sample)).collect();
        std::fs::write(directory.join("tone.ul"), payload).unwrap();
        let scenario = directory.join("caller.xml");
        std::fs::write(&scenario, CALLER.replace("TONE", directory.join("tone.ul").to_str().unwrap()))
            .unwrap();
        let calls = calls.to_string();
        let arguments = [
            "-sf",
            scenario.to_str().unwrap(),
            "-s",
            whom,
            "-i",
            "10.73.5.2",
            "-mi",
            "10.73.5.2",
            "-p",
            "5080",
        ];
        let load = ["-m", &calls, "-l", &calls, "-r", "25", "-d", "14000", "10.73.5.1:5060"];
        Self::start(exchange, host, &[&arguments[..], &load].concat())
    }

    fn start(exchange: &Exchange, host: &str, arguments: &[&str]) -> Self {
        let statistics = exchange.town.path(&format!("{host}-sipp.csv"));
        let mut command = exchange.town.world.command(host, "sipp").unwrap();
        command.args(arguments).args(["-nostdin", "-trace_stat", "-fd", "1", "-stf"]).arg(&statistics);
        command
            .args(["-trace_err", "-error_file"])
            .arg(exchange.town.path(&format!("{host}-sipp-errors.log")));
        let program = Program::start(&mut command, &exchange.town.path(&format!("{host}-sipp.log")));
        Self { program, statistics }
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self) -> Told {
        let status = self.program.wait();
        let text = std::fs::read_to_string(&self.statistics).unwrap_or_default();
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(';').collect();
        let last: Vec<&str> = lines.last().unwrap_or_default().split(';').collect();
        let value = |name: &str| {
            let place = names.iter().position(|each| *each == name);
            place
                .and_then(|place| last.get(place)?.parse().ok())
                .unwrap_or_else(|| panic!("{name} in {text}: {status}"))
        };
        Told { successful: value("SuccessfulCall(C)"), failed: value("FailedCall(C)") }
    }
}

/// A caller that talks while the call is up.
const CALLER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<scenario name="caller">
  <send retrans="500"><![CDATA[
INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:alice@[remote_ip]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:alice@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=alice 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="200" rtd="true"/>
  <send><![CDATA[
ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:alice@[remote_ip]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <nop><action><exec rtp_stream="TONE,-1,0"/></action></nop>
  <pause/>
  <send retrans="500"><![CDATA[
BYE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:alice@[remote_ip]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 2 BYE
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <recv response="200"/>
</scenario>
"#;

//! Debian's baresip, without a sound card and without a screen.

use super::Program;
use super::{PATIENCE, until};
use crate::call::wav;
use guestright_netns::World;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

/// What it says: a tone, as 16-bit samples of 8 kHz.
pub(crate) const TONE_HZ: f64 = 440.0;

/// A minute of it.
#[expect(clippy::cast_possible_truncation, reason = "samples are small")]
pub(crate) fn tone() -> Vec<i16> {
    let angle = |number: u32| f64::from(number) / 8_000.0 * TONE_HZ * std::f64::consts::TAU;
    (0..8_000 * 60).map(|number| (angle(number).sin() * 8_000.0) as i16).collect()
}

/// How much of what is heard is the tone, 0 to 1: energy at its frequency by Goertzel's sum, over all energy, in the
/// loudest half of pieces of 50 ms.
pub(crate) fn share_of_tone(samples: &[i16], hertz: f64) -> f64 {
    let share = |piece: &[i16]| {
        let (mut sine, mut cosine, mut energy) = (0.0, 0.0, 0.0);
        for (number, sample) in (0_u32..).zip(piece) {
            let (value, angle) =
                (f64::from(*sample), f64::from(number) / 8_000.0 * hertz * std::f64::consts::TAU);
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

/// What a baresip is to be.
pub(crate) struct Wanted<'a> {
    /// A new directory for its files.
    pub(crate) directory: &'a Path,
    pub(crate) log: &'a Path,
    pub(crate) listen: &'a str,
    /// Its line in `accounts`, to which the codec and the rest is added.
    pub(crate) account: &'a str,
    /// Modules besides those for sound from a file.
    pub(crate) module: &'a str,
    /// Further configuration.
    pub(crate) more: &'a str,
}

/// A running baresip, told what to do over its control connection. It takes every call and says a tone.
pub(crate) struct Baresip {
    program: Program,
    control: RefCell<TcpStream>,
    buffer: RefCell<Vec<u8>>,
}

impl Baresip {
    pub(crate) fn start(world: &World, host: &str, wanted: &Wanted<'_>) -> Self {
        let Wanted { directory, log, listen, account, module, more } = wanted;
        std::fs::create_dir(directory).unwrap();
        wav::write(&directory.join("tone.wav"), &tone());
        let here = directory.display();
        let mut config = format!(
            "poll_method epoll\nsip_listen {listen}\ncall_max_calls 4\nausrc_srate 8000\nauplay_srate 8000\n\
             ausrc_channels 1\nauplay_channels 1\naudio_buffer 20-160\nmodule_path /usr/lib/baresip/modules\n\
             ctrl_tcp_listen 127.0.0.1:4444\nrtp_ports 10000-10100\naudio_player aufile,{here}/play.wav\n\
             audio_alert aufile,{here}/alert.wav\naudio_source aufile,{here}/tone.wav\n{more}"
        );
        for module in ["g711", "aufile", module] {
            writeln!(config, "module {module}.so").unwrap();
        }
        config += "module_tmp account.so\nmodule_app menu.so\nmodule_app ctrl_tcp.so\n";
        std::fs::write(directory.join("config"), config).unwrap();
        let account = format!("{account};answermode=auto;audio_codecs=pcmu;auth_pass=none\n");
        std::fs::write(directory.join("accounts"), account).unwrap();
        let mut command = world.command(host, "baresip").unwrap();
        command.arg("-f").arg(directory).args(["-4", "-v"]);
        let program = Program::start(&mut command, log);
        let mut control = None;
        until("baresip to listen", || {
            control = world.within(host, || TcpStream::connect("127.0.0.1:4444")).unwrap().ok();
            control.is_some()
        });
        let control = control.unwrap();
        control.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { program, control: RefCell::new(control), buffer: RefCell::default() }
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
        self.events_until(wanted).pop().unwrap_or_default()
    }

    /// The same, with those before it.
    pub(crate) fn events_until(&self, wanted: &str) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        let mut events = Vec::new();
        while Instant::now() < deadline {
            while let Some(value) = self.next_message() {
                let is_wanted = value["type"] == wanted;
                events.push(value);
                if is_wanted {
                    return events;
                }
            }
            let mut chunk = [0; 4_096];
            match self.control.borrow_mut().read(&mut chunk) {
                Ok(length @ 1..) => self.buffer.borrow_mut().extend(&chunk[..length]),
                Ok(0) | Err(_) => break,
            }
        }
        panic!("waited in vain for {wanted}; it said {events:?}");
    }

    /// The next netstring.
    fn next_message(&self) -> Option<Value> {
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

    /// Ends it, and waits until its files are written.
    pub(crate) fn quit(mut self) {
        self.command("quit", "");
        self.program.wait();
    }
}

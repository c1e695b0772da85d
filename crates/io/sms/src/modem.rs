//! A GSM modem on a serial line, by AT commands in PDU mode (3GPP TS 27.005 and TS 27.007).

mod line;
mod machine;
mod trouble;

use crate::drive::{Driven, Link, Receiving, Sending, Sms, Stream, micros};
use crate::port::Port;
use guestright_directory::TelephoneNumber;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use zeroize::Zeroizing;

pub use machine::{Machine, MachineConfig};

/// Where the modem is, and how to use it.
///
/// The SIM has to be for this alone: every message that comes is deleted from its memory, lest it fill up.
#[derive(Clone)]
pub struct ModemSettings {
    /// The line, for example `/dev/ttyUSB2`; anything that can be opened and speaks like a modem will do.
    pub device: PathBuf,
    /// Bits per second, where the line has a speed.
    pub speed: u32,
    /// The SIM's PIN, if it wants one. It is tried once, and only if the modem asks for it.
    pub pin: Option<Zeroizing<String>>,
    /// How long the modem may take to answer a command.
    pub answer_max: Duration,
    /// How long the network may take to take a message.
    pub network_max: Duration,
    /// After how long a silent modem is asked for its signal.
    pub idle_max: Duration,
    /// How long a message may wait for the modem and the network.
    pub send_max: Duration,
}

/// Short messages by a modem. The line is opened in a task; when the modem goes, it is opened again.
pub struct Modem {
    driven: Driven,
}

impl ModemSettings {
    /// The usual speed and times: 115,200 bits per second, 5 s for an answer, 60 s for the network.
    pub fn new(device: impl Into<PathBuf>) -> Self {
        Self {
            device: device.into(),
            speed: 115_200,
            pin: None,
            answer_max: Duration::from_secs(5),
            network_max: Duration::from_secs(60),
            idle_max: Duration::from_secs(60),
            send_max: Duration::from_secs(180),
        }
    }

    fn config(&self) -> MachineConfig {
        MachineConfig {
            pin: self.pin.clone(),
            answer_max: micros(self.answer_max),
            network_max: micros(self.network_max),
            idle_max: micros(self.idle_max),
        }
    }
}

impl Modem {
    /// Begins to open the line. Has to be called inside a tokio runtime.
    pub fn start(settings: &ModemSettings) -> Self {
        let (device, speed, config) = (settings.device.clone(), settings.speed, settings.config());
        let target = format!("the modem {}", device.display());
        let link = Link {
            target,
            open: Box::new(move || {
                let opened = Port::open(&device, speed).map(|port| Box::new(port) as Box<dyn Stream>);
                Box::pin(std::future::ready(opened))
            }),
            machine: Box::new(move |now| Box::new(Machine::new(config.clone(), now))),
            send_max: settings.send_max,
        };
        Self { driven: Driven::start(link) }
    }
}

impl Sms for Modem {
    fn send<'a>(&'a self, to: &'a TelephoneNumber, parts: &'a [Vec<u8>], validity: u8) -> Sending<'a> {
        Box::pin(self.driven.send(to, parts, validity))
    }

    fn receive(&self) -> Receiving<'_> {
        Box::pin(async { self.driven.receive().await })
    }
}

impl fmt::Debug for ModemSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModemSettings({}, {} bit/s)", self.device.display(), self.speed)
    }
}

impl fmt::Debug for Modem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Modem")
    }
}

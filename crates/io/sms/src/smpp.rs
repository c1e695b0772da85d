//! An operator's message centre over SMPP 3.4 (SMPP Protocol Specification v3.4, issue 1.2).

mod frame;
mod session;

use crate::drive::{Driven, Link, Received, Receiving, Sending, Sms, Stream, micros};
use guestright_directory::TelephoneNumber;
use std::fmt;
use std::time::Duration;
use tokio::net::TcpStream;
use zeroize::Zeroizing;

pub use session::{Session, SessionConfig};

/// How to log in at a gateway, and how to behave there.
#[derive(Clone)]
pub struct SmppSettings {
    /// Host and port, for example `smsc.example:2775`. SMPP itself is in the clear: over a tunnel, please.
    pub server: String,
    /// Our name there; at most 15 characters.
    pub system_id: String,
    /// The password; at most 8 characters.
    pub password: Zeroizing<String>,
    /// What the operator says; mostly empty, at most 12 characters.
    pub system_type: String,
    /// Our number, which messages come from.
    pub number: TelephoneNumber,
    /// How many messages may be under way at once.
    pub window: usize,
    /// How long an answer may take.
    pub answer_max: Duration,
    /// After how long a silent link is tried.
    pub enquire_every: Duration,
    /// How long a message may wait for the link and the gateway.
    pub send_max: Duration,
}

/// Short messages over SMPP. The link is made and bound in a task; when it ends, it is made again.
pub struct Smpp {
    driven: Driven,
}

impl SmppSettings {
    /// The usual times and limits: eight messages under way, answers within 10 s, a sign of life every 30 s, a minute
    /// for each message.
    pub fn new(server: &str, system_id: &str, password: &str, number: TelephoneNumber) -> Self {
        Self {
            server: server.to_owned(),
            system_id: system_id.to_owned(),
            password: Zeroizing::new(password.to_owned()),
            system_type: String::new(),
            number,
            window: 8,
            answer_max: Duration::from_secs(10),
            enquire_every: Duration::from_secs(30),
            send_max: Duration::from_secs(60),
        }
    }

    fn config(&self) -> SessionConfig {
        SessionConfig {
            system_id: self.system_id.clone(),
            password: self.password.clone(),
            system_type: self.system_type.clone(),
            number: self.number.clone(),
            window: self.window.max(1),
            answer_max: micros(self.answer_max),
            enquire_every: micros(self.enquire_every),
        }
    }
}

impl Smpp {
    /// Begins to make the link. Has to be called inside a tokio runtime.
    pub fn start(settings: &SmppSettings) -> Self {
        let (server, config) = (settings.server.clone(), settings.config());
        let target = format!("the SMPP gateway {server}");
        let connect = settings.answer_max;
        let link = Link {
            target,
            open: Box::new(move || {
                let server = server.clone();
                Box::pin(async move {
                    let stream = tokio::time::timeout(connect, TcpStream::connect(server)).await??;
                    stream.set_nodelay(true)?;
                    Ok(Box::new(stream) as Box<dyn Stream>)
                })
            }),
            machine: Box::new(move |now| Box::new(Session::new(config.clone(), now))),
            send_max: settings.send_max,
        };
        Self { driven: Driven::start(link) }
    }
}

impl Sms for Smpp {
    fn send<'a>(&'a self, to: &'a TelephoneNumber, parts: &'a [Vec<u8>], validity: u8) -> Sending<'a> {
        Box::pin(self.driven.send(to, parts, validity))
    }

    fn receive(&self) -> Receiving<'_> {
        Box::pin(async { self.driven.receive().await })
    }
}

impl fmt::Debug for SmppSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmppSettings({} as {:?})", self.server, self.system_id)
    }
}

impl fmt::Debug for Smpp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Smpp")
    }
}

/// A message as the gateway delivers it, if it is one of 8-bit data with a header.
fn received(message: &rusmpp::pdus::DeliverSm) -> Option<Received> {
    use rusmpp::values::Ton;
    let class = u8::from(message.esm_class);
    // Section 5.2.12: bits 5 to 2 say what kind of message it is, none of them that it is an ordinary one; bit 6 that
    // its user data begin with a header.
    if class & 0x3c != 0 || class & 0x40 == 0 {
        return None;
    }
    // Section 5.2.19; 0xf4 to 0xf7 are GSM's 8-bit data with a message class.
    if !matches!(u8::from(message.data_coding), 0x02 | 0x04 | 0xf4..=0xf7) {
        return None;
    }
    let digits = message.source_addr.as_str();
    let international = matches!(message.source_addr_ton, Ton::International | Ton::Unknown);
    let plus = if digits.starts_with('+') { "" } else { "+" };
    let from = format!("{plus}{digits}").parse().ok().filter(|_| international);
    let user_data: &[u8] = message.short_message().as_ref();
    let user_data = if user_data.is_empty() { payload(message)? } else { user_data.to_vec() };
    (user_data.len() <= guestright_directory::sms::USER_DATA_MAX).then_some(Received { from, user_data })
}

/// A long message may be beside the message instead of in it (section 5.3.2.32).
fn payload(message: &rusmpp::pdus::DeliverSm) -> Option<Vec<u8>> {
    use rusmpp::tlvs::TlvValue;
    message.tlvs().iter().find_map(|tlv| {
        if let Some(TlvValue::MessagePayload(payload)) = tlv.value() {
            Some(payload.value.as_ref().to_vec())
        } else {
            None
        }
    })
}

//! One bound session with a message centre, without I/O.

use super::frame::{Frame, Frames, emit};
use crate::SmsLinkError;
use crate::drive::{Event, Machine, Queues, ToSend};
use guestright_directory::TelephoneNumber;
use guestright_directory::sms::validity_seconds;
use guestright_units::{Micros, Time};
use rusmpp::pdus::{BindTransceiver, DeliverSm, DeliverSmResp, SubmitSm};
use rusmpp::types::{COctetString, EmptyOrFullCOctetString, OctetString};
use rusmpp::values::{DataCoding, EsmClass, InterfaceVersion, Npi, Ton};
use rusmpp::{Command, CommandStatus, Pdu};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use zeroize::Zeroizing;

/// How often a message is offered to a gateway that says it has too much to do.
const TRIES_MAX: u32 = 6;
/// How long to wait then: at first, and at most.
const THROTTLE: (Micros, Micros) = (Micros::from_millis(500), Micros::from_seconds(16));

/// How a session logs in and behaves.
#[derive(Clone)]
pub struct SessionConfig {
    /// Our name there.
    pub system_id: String,
    pub password: Zeroizing<String>,
    /// What the operator says.
    pub system_type: String,
    pub number: TelephoneNumber,
    /// How many messages may be under way at once; not zero.
    pub window: usize,
    /// How long an answer may take.
    pub answer_max: Micros,
    /// After how long a silent link is tried.
    pub enquire_every: Micros,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Binding,
    Bound,
    Over,
}

#[derive(Debug)]
enum Asked {
    Bind,
    Enquire,
    Submit { number: u64, message: ToSend, tries: u32 },
}

/// A session: binds as a transceiver, keeps the link alive, sends within a window, takes deliveries.
#[derive(Debug)]
pub struct Session {
    config: SessionConfig,
    state: State,
    frames: Frames,
    sequence: u32,
    asked: BTreeMap<u32, (Asked, Time)>,
    queue: VecDeque<(u64, ToSend, u32)>,
    /// Nothing is sent before, because the gateway has too much to do.
    throttled: Option<Time>,
    throttle: Micros,
    last_received: Time,
    queues: Queues,
}

impl Session {
    /// Begins to bind on a fresh connection.
    pub fn new(config: SessionConfig, now: Time) -> Self {
        let mut session = Self {
            state: State::Binding,
            frames: Frames::default(),
            sequence: 0,
            asked: BTreeMap::new(),
            queue: VecDeque::new(),
            throttled: None,
            throttle: THROTTLE.0,
            last_received: now,
            queues: Queues::default(),
            config,
        };
        match session.bind() {
            Some(bind) => session.ask(bind, Asked::Bind, now),
            None => {
                session.end(SmsLinkError::Login("the system id, type or password is too long".to_owned()))
            }
        }
        session
    }

    fn bind(&self) -> Option<Pdu> {
        let SessionConfig { system_id, password, system_type, .. } = &self.config;
        Some(Pdu::BindTransceiver(
            BindTransceiver::builder()
                .system_id(text(system_id)?)
                .password(text(password)?)
                .system_type(text(system_type)?)
                .interface_version(InterfaceVersion::Smpp3_4)
                .build(),
        ))
    }

    fn handle_command(&mut self, command: &Command, now: Time) {
        let (sequence, status) = (command.sequence_number(), command.status());
        if u32::from(command.id()) & 0x8000_0000 != 0 {
            if let Some((asked, _)) = self.asked.remove(&sequence) {
                self.answered(asked, status, now);
            }
            return; // An answer to nothing of ours changes nothing.
        }
        match command.pdu() {
            Some(Pdu::EnquireLink) => self.answer(sequence, CommandStatus::EsmeRok, Pdu::EnquireLinkResp),
            Some(Pdu::Unbind) => {
                self.answer(sequence, CommandStatus::EsmeRok, Pdu::UnbindResp);
                self.end(SmsLinkError::Ended("the gateway has unbound".to_owned()));
            }
            Some(Pdu::DeliverSm(message)) => self.delivered(sequence, message),
            Some(Pdu::AlertNotification(_)) => {}
            _ => self.answer(sequence, CommandStatus::EsmeRinvcmdid, Pdu::GenericNack),
        }
    }

    fn delivered(&mut self, sequence: u32, message: &DeliverSm) {
        let answer = Pdu::DeliverSmResp(DeliverSmResp::builder().build());
        let received = super::received(message);
        if received.is_some() && !self.queues.receiving {
            return self.answer(sequence, CommandStatus::EsmeRxTAppn, answer);
        }
        self.answer(sequence, CommandStatus::EsmeRok, answer);
        self.queues.events.extend(received.map(Event::Received));
    }

    fn answered(&mut self, asked: Asked, status: CommandStatus, now: Time) {
        match asked {
            Asked::Bind if status == CommandStatus::EsmeRok => {
                self.state = State::Bound;
                self.queues.events.push_back(Event::Ready("bound".to_owned()));
            }
            Asked::Bind => self.end(SmsLinkError::Login(format!("{status:?}"))),
            Asked::Enquire => {}
            Asked::Submit { number, .. } if status == CommandStatus::EsmeRok => {
                self.throttle = THROTTLE.0;
                self.queues.events.push_back(Event::Sent(number));
            }
            Asked::Submit { number, message, tries } if is_throttling(status) && tries < TRIES_MAX => {
                if self.throttled.is_none() {
                    self.throttled = Some(now + self.throttle);
                    self.throttle = Micros(self.throttle.0 * 2).min(THROTTLE.1);
                }
                self.queue.push_front((number, message, tries));
            }
            Asked::Submit { number, .. } => {
                let error = SmsLinkError::Refused(format!("{status:?}"));
                self.queues.events.push_back(Event::Failed(number, error));
            }
        }
        self.fill(now);
    }

    /// Sends what the window has room for.
    fn fill(&mut self, now: Time) {
        let may = self.state == State::Bound && self.throttled.is_none();
        while may && self.under_way() < self.config.window {
            let Some((number, message, tries)) = self.queue.pop_front() else { return };
            match self.submit_sm(&message) {
                Some(pdu) => self.ask(pdu, Asked::Submit { number, message, tries: tries + 1 }, now),
                None => {
                    let error = SmsLinkError::Refused("it does not fit SMPP".to_owned());
                    self.queues.events.push_back(Event::Failed(number, error));
                }
            }
        }
    }

    fn under_way(&self) -> usize {
        self.asked.values().filter(|(asked, _)| matches!(asked, Asked::Submit { .. })).count()
    }

    /// Section 4.4.1. The class of message is set by its bits: the library's default says delivery acknowledgement.
    fn submit_sm(&self, message: &ToSend) -> Option<Pdu> {
        let pdu = SubmitSm::builder()
            .source_addr_ton(Ton::International)
            .source_addr_npi(Npi::Isdn)
            .source_addr(text(self.config.number.digits())?)
            .dest_addr_ton(Ton::International)
            .dest_addr_npi(Npi::Isdn)
            .destination_addr(text(message.to.digits())?)
            .esm_class(EsmClass::from(0x40))
            .validity_period(relative_time(validity_seconds(message.validity))?)
            .data_coding(DataCoding::from(0x04))
            .short_message(OctetString::from_slice(&message.user_data).ok()?)
            .build();
        Some(Pdu::SubmitSm(pdu))
    }

    fn ask(&mut self, pdu: Pdu, asked: Asked, now: Time) {
        self.sequence = if self.sequence >= 0x7fff_ffff { 1 } else { self.sequence + 1 };
        self.asked.insert(self.sequence, (asked, now + self.config.answer_max));
        self.queues.transmits.push_back(emit(&Command::new(CommandStatus::EsmeRok, self.sequence, pdu)));
    }

    fn answer(&mut self, sequence: u32, status: CommandStatus, pdu: Pdu) {
        self.queues.transmits.push_back(emit(&Command::new(status, sequence, pdu)));
    }

    fn end(&mut self, reason: SmsLinkError) {
        if self.state == State::Over {
            return;
        }
        self.state = State::Over;
        // What the gateway never saw was certainly not sent.
        let unsent = self.queue.drain(..).map(|(number, _, _)| Event::Failed(number, reason.clone()));
        self.queues.events.extend(unsent);
        for (asked, _) in std::mem::take(&mut self.asked).into_values() {
            if let Asked::Submit { number, .. } = asked {
                self.queues.events.push_back(Event::Failed(number, SmsLinkError::Unknown));
            }
        }
        self.queues.events.push_back(Event::Ended(reason));
    }
}

impl Machine for Session {
    fn handle_input(&mut self, bytes: &[u8], now: Time) {
        self.last_received = now;
        self.frames.push(bytes);
        while self.state != State::Over {
            match self.frames.next() {
                Ok(None) => return,
                Ok(Some(Frame::Command(command))) => self.handle_command(&command, now),
                Ok(Some(Frame::Unreadable(sequence))) => {
                    self.answer(sequence, CommandStatus::EsmeRsyserr, Pdu::GenericNack);
                }
                Err(length) => {
                    self.end(SmsLinkError::Ended(format!(
                        "the gateway speaks of a message of {length} bytes"
                    )));
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.throttled.is_some_and(|at| at <= now) {
            self.throttled = None;
        }
        if self.asked.values().any(|(_, until)| *until <= now) {
            // One late answer is the end: the next ones would come later still.
            let what = if self.state == State::Binding { "the login" } else { "a message or a sign of life" };
            return self.end(SmsLinkError::Silent(what));
        }
        if self.state == State::Bound && self.last_received + self.config.enquire_every <= now {
            let enquired = self.asked.values().any(|(asked, _)| matches!(asked, Asked::Enquire));
            if !enquired {
                self.ask(Pdu::EnquireLink, Asked::Enquire, now);
            }
        }
        self.fill(now);
    }

    fn submit(&mut self, number: u64, message: ToSend, now: Time) {
        if self.state == State::Over {
            let error = SmsLinkError::Ended("the session is over".to_owned());
            return self.queues.events.push_back(Event::Failed(number, error));
        }
        self.queue.push_back((number, message, 0));
        self.fill(now);
    }

    fn has_room(&self) -> bool {
        self.queue.is_empty() && self.under_way() < self.config.window
    }

    fn queues(&mut self) -> &mut Queues {
        &mut self.queues
    }

    fn poll_timeout(&self) -> Option<Time> {
        let asked = self.asked.values().map(|(_, until)| *until);
        let enquired = self.asked.values().any(|(asked, _)| matches!(asked, Asked::Enquire));
        let alive =
            (self.state == State::Bound && !enquired).then(|| self.last_received + self.config.enquire_every);
        asked.chain(self.throttled).chain(alive).min()
    }
}

/// Section 5.1.3: the gateway has too much to do; it has not taken the message.
fn is_throttling(status: CommandStatus) -> bool {
    [CommandStatus::EsmeRthrottled, CommandStatus::EsmeRmsgqful].contains(&status)
}

fn text<const MIN: usize, const MAX: usize>(text: &str) -> Option<COctetString<MIN, MAX>> {
    COctetString::from_string(text.to_owned()).ok()
}

/// A span as section 7.1.1 writes it: years, months, days, hours, minutes, seconds, tenths, `00R`.
fn relative_time(seconds: u64) -> Option<EmptyOrFullCOctetString<17>> {
    let seconds = seconds.min(28 * 86_400); // Months have no fixed length.
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let text = format!("0000{days:02}{hours:02}{minutes:02}{seconds:02}000R");
    EmptyOrFullCOctetString::from_string(text).ok()
}

impl fmt::Debug for SessionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionConfig({:?})", self.system_id)
    }
}

#[cfg(test)]
mod tests;

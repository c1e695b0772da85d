//! A modem's conversation, without I/O: one command at a time, and unsolicited lines at any time.

use super::line::{Lines, Token};
use super::trouble::{equipment_error, is_temporary, message_error};
use crate::SmsLinkError;
use crate::drive::{Event, Queues, Received, ToSend};
use guestright_directory::sms::{Alphabet, Deliver, Party, Submit, from_hex, to_hex};
use guestright_units::{Micros, Time};
use std::collections::VecDeque;
use std::fmt;
use zeroize::Zeroizing;

/// How often a modem that says nothing is greeted before we give up.
const GREETINGS_MAX: u32 = 5;
/// How often a message is offered again after a temporary failure, and after how long.
const TRIES_MAX: u32 = 3;
const TRY_AGAIN: Micros = Micros::from_seconds(5);
/// How often a SIM that is busy is asked again.
const SIM_TRIES_MAX: u32 = 10;
/// How many stored messages wait to be read.
const STORED_MAX: usize = 256;

/// How a modem is used.
#[derive(Clone)]
pub struct MachineConfig {
    /// The SIM's PIN.
    pub pin: Option<Zeroizing<String>>,
    /// How long the modem may take to answer a command.
    pub answer_max: Micros,
    /// How long the network may take to take a message.
    pub network_max: Micros,
    /// After how long a silent modem is asked for its signal.
    pub idle_max: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Command {
    /// `AT`, to find the speed and the end of whatever was before.
    Greet(u32),
    EchoOff,
    /// Errors with numbers.
    Errors,
    AskPin(u32),
    GivePin,
    PduMode,
    /// New messages are said; the second form is for modems that do not know the first.
    Announce(bool),
    /// What came while we were away.
    List,
    Signal,
    Read(u32),
    Delete(u32),
    /// Waits for the prompt first, then for the network.
    Send {
        number: u64,
        message: ToSend,
        tries: u32,
        prompted: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Over,
}

/// The line after this one is the PDU of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// One that was asked for; if it was listed, with its place in the memory.
    Stored(Option<u32>),
    /// One that comes by itself.
    Direct,
    /// A report or a broadcast, which nobody wants.
    Nothing,
}

#[derive(Debug)]
pub struct Machine {
    config: MachineConfig,
    state: State,
    lines: Lines,
    current: Option<(Command, Time)>,
    follows: Option<Follows>,
    todo: VecDeque<Command>,
    sends: VecDeque<(u64, ToSend, u32)>,
    /// Nothing is sent before.
    pause: Option<Time>,
    /// The command that the pause is for.
    after_pause: Option<Command>,
    pin_tried: bool,
    /// The command under way has brought a stored message, or the state of the PIN.
    has_read: bool,
    signal: Option<u8>,
    quiet_since: Time,
    queues: Queues,
}

impl Machine {
    /// A modem on a line that was just opened.
    pub fn new(config: MachineConfig, now: Time) -> Self {
        let mut machine = Self {
            config,
            state: State::Starting,
            lines: Lines::default(),
            current: None,
            follows: None,
            todo: VecDeque::from([Command::Greet(1)]),
            sends: VecDeque::new(),
            pause: None,
            after_pause: None,
            pin_tried: false,
            has_read: false,
            signal: None,
            quiet_since: now,
            queues: Queues::default(),
        };
        // Escape ends a message that somebody left unfinished at its prompt.
        machine.queues.transmits.push_back(b"\x1b\r".to_vec());
        machine.next(now);
        machine
    }

    /// The last known strength of the signal, 0 (−113 dBm) to 31 (−51 dBm or more), if the modem knows it.
    pub fn signal(&self) -> Option<u8> {
        self.signal
    }

    /// Begins the next command if there is none under way.
    fn next(&mut self, now: Time) {
        if self.current.is_some() || self.state == State::Over || self.pause.is_some_and(|at| at > now) {
            return;
        }
        self.pause = None;
        let command = self.after_pause.take().or_else(|| self.next_command());
        let Some(command) = command else { return };
        let text = match &command {
            Command::Greet(_) => "AT".to_owned(),
            Command::EchoOff => "ATE0".to_owned(),
            Command::Errors => "AT+CMEE=1".to_owned(),
            Command::AskPin(_) => "AT+CPIN?".to_owned(),
            Command::GivePin => {
                format!("AT+CPIN=\"{}\"", self.config.pin.as_deref().map(String::as_str).unwrap_or_default())
            }
            Command::PduMode => "AT+CMGF=0".to_owned(),
            Command::Announce(true) => "AT+CNMI=2,1,0,0,0".to_owned(),
            Command::Announce(false) => "AT+CNMI=1,1,0,0,0".to_owned(),
            Command::List => "AT+CMGL=4".to_owned(),
            Command::Signal => "AT+CSQ".to_owned(),
            Command::Read(index) => format!("AT+CMGR={index}"),
            Command::Delete(index) => format!("AT+CMGD={index}"),
            Command::Send { number, message, .. } => match pdu(message) {
                Ok(pdu) => format!("AT+CMGS={}", pdu.len()),
                Err(error) => {
                    self.queues.events.push_back(Event::Failed(*number, error));
                    return self.next(now);
                }
            },
        };
        self.queues.transmits.push_back((text + "\r").into_bytes());
        (self.quiet_since, self.has_read) = (now, false);
        self.current = Some((command, now + self.config.answer_max));
    }

    fn next_command(&mut self) -> Option<Command> {
        // What is stored is read only while somebody takes it; the memory keeps the rest.
        let is_read = |command: &Command| matches!(command, Command::Read(_) | Command::List);
        let index = self.todo.iter().position(|command| self.queues.receiving || !is_read(command));
        if let Some(command) = index.and_then(|index| self.todo.remove(index)) {
            return Some(command);
        }
        if self.state != State::Ready {
            return None;
        }
        let (number, message, tries) = self.sends.pop_front()?;
        Some(Command::Send { number, message, tries: tries + 1, prompted: false })
    }

    fn handle_token(&mut self, token: Token, now: Time) {
        let line = match token {
            Token::Prompt => return self.prompted(now),
            Token::Line(line) => line,
        };
        if let Some(follows) = self.follows.take() {
            if !line.starts_with(['+', '^']) && from_hex(&line).is_ok() {
                return self.handle_pdu(follows, &line);
            }
            // Something came between: a report with its text on its own line, or the end.
            if self.is_unsolicited(&line) {
                self.follows = Some(follows);
            }
        }
        if self.handle_unsolicited(&line) {
            return;
        }
        if line == "OK" {
            return self.ended(Ok(()), now);
        }
        if line == "ERROR" || line.starts_with("+CMS ERROR") || line.starts_with("+CME ERROR") {
            return self.ended(Err(line), now);
        }
        self.handle_answer(&line);
    }

    fn is_unsolicited(&self, line: &str) -> bool {
        ["+CMTI:", "RING", "+CREG:", "+CSQN:", "^", "NO CARRIER"].iter().any(|start| line.starts_with(start))
    }

    /// Lines that come by themselves (TS 27.005 section 3.4.1), in the middle of anything.
    fn handle_unsolicited(&mut self, line: &str) -> bool {
        if let Some(rest) = line.strip_prefix("+CMTI:") {
            let index = rest.rsplit(',').next().and_then(|index| index.trim().parse().ok());
            if let Some(index) = index {
                self.add(Command::Read(index));
            }
            return true;
        }
        if line.starts_with("+CMT:") {
            self.follows = Some(Follows::Direct);
            return true;
        }
        if line.starts_with("+CDS:") || line.starts_with("+CBM:") {
            self.follows = Some(Follows::Nothing);
            return true;
        }
        self.is_unsolicited(line)
    }

    /// Lines that belong to the command under way.
    fn handle_answer(&mut self, line: &str) {
        let Some((command, _)) = &self.current else { return };
        if let Some(rest) = line.strip_prefix("+CSQ:") {
            let strength = rest.split(',').next().and_then(|number| number.trim().parse().ok());
            self.signal = strength.filter(|&strength: &u8| strength <= 31);
        } else if let Some(state) = line.strip_prefix("+CPIN:")
            && let Command::AskPin(tries) = *command
        {
            let state = state.trim().to_owned();
            self.handle_pin_state(&state, tries);
        } else if line.starts_with("+CMGR:") && matches!(command, Command::Read(_)) {
            self.follows = Some(Follows::Stored(None));
        } else if let Some(rest) = line.strip_prefix("+CMGL:")
            && *command == Command::List
        {
            let index = rest.split(',').next().and_then(|index| index.trim().parse().ok());
            self.follows = Some(Follows::Stored(index));
        }
        // Anything else is the echo of a command, or none of our business.
    }

    /// TS 27.007 section 8.3.
    fn handle_pin_state(&mut self, state: &str, tries: u32) {
        self.has_read = true;
        match state {
            "READY" => {
                let rest = [Command::PduMode, Command::Announce(true), Command::Signal, Command::List];
                self.todo.extend(rest);
            }
            "SIM PIN" if self.has_pin() && !self.pin_tried => {
                self.pin_tried = true;
                self.todo.extend([Command::GivePin, Command::AskPin(tries + 1)]);
            }
            "SIM PIN" if self.pin_tried => self.end(SmsLinkError::Sim("it still wants a PIN".to_owned())),
            "SIM PIN" => {
                let problem = "it wants a PIN, and none of 4 to 8 digits is set";
                self.end(SmsLinkError::Sim(problem.to_owned()));
            }
            "SIM PUK" => self.end(SmsLinkError::Sim("it is locked and wants its PUK".to_owned())),
            other => {
                let other: String = other.chars().take(32).collect();
                self.end(SmsLinkError::Sim(format!("it wants {other:?}")));
            }
        }
    }

    fn has_pin(&self) -> bool {
        let is_pin =
            |pin: &str| (4..=8).contains(&pin.len()) && pin.bytes().all(|digit| digit.is_ascii_digit());
        self.config.pin.as_deref().is_some_and(|pin| is_pin(pin))
    }

    fn handle_pdu(&mut self, follows: Follows, line: &str) {
        let received = match follows {
            Follows::Nothing => None,
            Follows::Direct | Follows::Stored(_) => received(line),
        };
        self.queues.events.extend(received.map(Event::Received));
        self.has_read = self.has_read || matches!(follows, Follows::Stored(_));
        if let Follows::Stored(Some(index)) = follows {
            // It was announced as well, perhaps: to read and delete it once more could hit one that came since.
            self.todo.retain(|command| *command != Command::Read(index));
            self.add(Command::Delete(index));
        }
    }

    /// Adds what is to be done with a stored message, once.
    fn add(&mut self, command: Command) {
        if self.todo.len() < STORED_MAX && !self.todo.contains(&command) {
            self.todo.push_back(command);
        }
    }

    fn prompted(&mut self, now: Time) {
        let network_max = self.config.network_max;
        if let Some((Command::Send { message, prompted, .. }, until)) = &mut self.current
            && !*prompted
            && let Ok(pdu) = pdu(message)
        {
            *prompted = true;
            *until = now + network_max;
            // Two zeros: the message centre that the SIM knows (TS 27.005 section 3.1). Ctrl-Z ends the text.
            self.queues.transmits.push_back(format!("00{}\x1a", to_hex(&pdu)).into_bytes());
        }
    }

    /// The command under way has ended.
    fn ended(&mut self, end: Result<(), String>, now: Time) {
        let Some((command, _)) = self.current.take() else { return };
        if matches!(command, Command::Read(_)) {
            self.follows = None;
        }
        match (command, end) {
            (Command::Greet(_), Ok(())) => {
                self.todo.extend([Command::EchoOff, Command::Errors, Command::AskPin(1)]);
            }
            (Command::Greet(tries), Err(_)) => self.greet_again(tries),
            (Command::AskPin(tries), Err(line)) => self.sim_failed(tries, &line, now),
            (Command::AskPin(tries), Ok(())) if !self.has_read => self.sim_failed(tries, "nothing", now),
            (Command::GivePin, Err(line)) => {
                self.todo.clear();
                self.end(SmsLinkError::Sim(format!("it does not take the PIN: {}", words(&line))));
            }
            (Command::PduMode, Err(line)) => {
                self.end(SmsLinkError::Refused(format!("the modem has no PDU mode: {}", words(&line))));
            }
            (Command::Announce(true), Err(_)) => self.todo.push_front(Command::Announce(false)),
            (Command::List, _) => self.ready(),
            (Command::Read(index), _) if self.has_read => self.todo.push_front(Command::Delete(index)),
            (Command::Send { number, .. }, Ok(())) => self.queues.events.push_back(Event::Sent(number)),
            (Command::Send { number, message, tries, .. }, Err(line)) => {
                self.send_failed(number, message, tries, &line, now);
            }
            // Echo, numbers of errors, announcements: we can do without.
            (_, Ok(()) | Err(_)) => {}
        }
        self.next(now);
    }

    fn ready(&mut self) {
        if self.state == State::Starting {
            self.state = State::Ready;
            let signal = self.signal.map_or("unknown".to_owned(), |signal| format!("{signal} of 31"));
            self.queues.events.push_back(Event::Ready(format!("signal {signal}")));
        }
    }

    fn greet_again(&mut self, tries: u32) {
        if tries < GREETINGS_MAX {
            self.todo.push_front(Command::Greet(tries + 1));
        } else {
            self.end(SmsLinkError::Silent("AT; is it a modem, and at this speed"));
        }
    }

    /// A SIM that has just got its PIN, or was just plugged in, is busy for some seconds.
    fn sim_failed(&mut self, tries: u32, line: &str, now: Time) {
        let number = number(line);
        if matches!(number, Some(10 | 310)) || tries >= SIM_TRIES_MAX {
            return self.end(SmsLinkError::Sim(words(line)));
        }
        self.pause = Some(now + Micros::from_seconds(1));
        self.after_pause = Some(Command::AskPin(tries + 1));
    }

    fn send_failed(&mut self, number_of: u64, message: ToSend, tries: u32, line: &str, now: Time) {
        let temporary = line.starts_with("+CMS ERROR") && number(line).is_some_and(is_temporary);
        if temporary && tries < TRIES_MAX {
            self.pause = Some(now + TRY_AGAIN);
            return self.sends.push_front((number_of, message, tries));
        }
        self.queues.events.push_back(Event::Failed(number_of, SmsLinkError::Refused(words(line))));
    }

    fn end(&mut self, reason: SmsLinkError) {
        if self.state == State::Over {
            return;
        }
        self.state = State::Over;
        if let Some((Command::Send { number, prompted, .. }, _)) = self.current.take() {
            let error = if prompted { SmsLinkError::Unknown } else { reason.clone() };
            self.queues.events.push_back(Event::Failed(number, error));
        }
        let unsent = self.sends.drain(..).map(|(number, _, _)| Event::Failed(number, reason.clone()));
        self.queues.events.extend(unsent);
        self.queues.events.push_back(Event::Ended(reason));
    }
}

impl crate::drive::Machine for Machine {
    fn handle_input(&mut self, bytes: &[u8], now: Time) {
        for &byte in bytes {
            let waits = matches!(self.current, Some((Command::Send { prompted: false, .. }, _)));
            if let Some(token) = self.lines.push(byte, waits) {
                self.handle_token(token, now);
                self.next(now);
            }
        }
        self.next(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        let late = self.current.as_ref().is_some_and(|(_, until)| *until <= now);
        if late && let Some((command, until)) = self.current.take() {
            if let Command::Greet(tries) = command {
                self.greet_again(tries);
            } else if let Command::Send { number, message, tries, prompted: false } = &command
                && *tries < TRIES_MAX
            {
                // No prompt, so nothing was sent.
                self.queues.transmits.push_back(b"\x1b\r".to_vec());
                self.sends.push_front((*number, message.clone(), *tries));
            } else {
                self.current = Some((command, until));
                self.end(SmsLinkError::Silent("a command"));
            }
        }
        let idle = self.state == State::Ready && self.current.is_none() && self.todo.is_empty();
        if idle && self.quiet_since + self.config.idle_max <= now {
            self.todo.push_back(Command::Signal);
        }
        self.next(now);
    }

    fn submit(&mut self, number: u64, message: ToSend, now: Time) {
        if self.state == State::Over {
            let error = SmsLinkError::Ended("the modem is gone".to_owned());
            return self.queues.events.push_back(Event::Failed(number, error));
        }
        self.sends.push_back((number, message, 0));
        self.next(now);
    }

    fn has_room(&self) -> bool {
        self.sends.is_empty() && !matches!(self.current, Some((Command::Send { .. }, _)))
    }

    fn queues(&mut self) -> &mut Queues {
        &mut self.queues
    }

    fn poll_timeout(&self) -> Option<Time> {
        let current = self.current.as_ref().map(|(_, until)| *until);
        let idle = (self.state == State::Ready && current.is_none())
            .then(|| self.quiet_since + self.config.idle_max);
        [current, self.pause, idle].into_iter().flatten().min().filter(|_| self.state != State::Over)
    }
}

/// The TPDU of a message.
fn pdu(message: &ToSend) -> Result<Vec<u8>, SmsLinkError> {
    let submit = Submit {
        to: Party::Number(message.to.clone()),
        validity: Some(message.validity),
        user_data: message.user_data.clone(),
    };
    Ok(submit.emit()?)
}

/// A stored or delivered message, its message centre first, if it is one of 8-bit data with a header.
fn received(line: &str) -> Option<Received> {
    let bytes = from_hex(line).ok()?;
    let (&length, rest) = bytes.split_first()?;
    let deliver = Deliver::parse(rest.get(usize::from(length)..)?).ok()?;
    let ours = deliver.has_header && deliver.alphabet() == Alphabet::Data;
    let from = deliver.from.number().cloned();
    ours.then_some(Received { from, user_data: deliver.user_data })
}

fn number(line: &str) -> Option<u32> {
    line.rsplit(':').next().and_then(|number| number.trim().parse().ok())
}

fn words(line: &str) -> String {
    match number(line) {
        Some(number) if line.starts_with("+CMS") => {
            format!("{} (+CMS ERROR {number})", message_error(number))
        }
        Some(number) if line.starts_with("+CME") => {
            format!("{} (+CME ERROR {number})", equipment_error(number))
        }
        _ => format!("the modem says {:?}", line.chars().take(32).collect::<String>()),
    }
}

impl fmt::Debug for MachineConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MachineConfig(PIN: {})", if self.pin.is_some() { "set" } else { "none" })
    }
}

#[cfg(test)]
mod tests;

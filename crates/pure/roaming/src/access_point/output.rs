use crate::access_point::{Address, BLOCKED, Config, Event, Path, Transmit};
use crate::message::{Code, Message};
use crate::queue::{Queue, Worth};
use std::collections::BTreeMap;

/// Why a message was refused.
pub(super) struct Refusal {
    /// In a word, for the counters.
    pub(super) kind: &'static str,
    /// For the visitor's program.
    pub(super) code: Code,
    /// In a sentence, for the visitor.
    pub(super) reason: String,
}

impl Refusal {
    /// Nothing is wrong with the message; the visitor may ask again.
    pub(super) fn busy(reason: &str) -> Self {
        Self { kind: "busy", code: Code::Busy, reason: reason.to_owned() }
    }

    /// The household does not serve this device.
    pub(super) fn blocked() -> Self {
        Self { kind: "blocked", code: Code::Refused, reason: BLOCKED.to_owned() }
    }
}

/// What waits to be fetched, and how many messages were refused.
///
/// Both queues have limits, for a program that does not drain them as fast as it takes messages in:
///
/// - No transmit is the only copy of anything. A visitor repeats its CONN until there is an answer; RREQ, QUER and RCPT are
///   repeated by the timers of the session and of the outbox, and a QUER that got lost is decided as the configuration says.
///   So any of them may give way: first what strangers have caused, then what sessions have.
/// - An event other than [`Event::Refused`] is the only one to say that a receipt is to be kept, or what the firewall has to
///   do. It never gives way. When the queue is full of these, [`Output::is_blocked`] says so, and the machine takes nothing
///   in from outside that could add another; the visitors ask again. What is still added is bounded by the sessions
///   that are open: a few events each, until they are over.
#[derive(Debug)]
pub(super) struct Output {
    transmits: Queue<Transmit>,
    events: Queue<Event>,
    refusals: BTreeMap<&'static str, u64>,
}

impl Output {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            transmits: Queue::new(config.transmits_max),
            events: Queue::new(config.events_max),
            refusals: BTreeMap::new(),
        }
    }

    /// Answers what anybody can send.
    pub(super) fn reply(&mut self, path: Path, message: &Message) {
        self.transmit(Worth::Reply, Transmit::Visitor(path, message.emit()));
    }

    /// Sends to the visitor of a session, or to a visitor's home.
    pub(super) fn send(&mut self, path: Path, message: &Message) {
        self.transmit(Worth::Session, Transmit::Visitor(path, message.emit()));
    }

    /// Asks the own team server on behalf of somebody who has sent a CONN, as anybody can.
    pub(super) fn ask_home(&mut self, message: &Message) {
        self.transmit(Worth::Reply, Transmit::Home(message.emit()));
    }

    /// Sends to the own team server, for a session or for the team.
    pub(super) fn send_home(&mut self, message: &Message) {
        self.transmit(Worth::Team, Transmit::Home(message.emit()));
    }

    fn transmit(&mut self, worth: Worth, transmit: Transmit) {
        if self.transmits.push(worth, transmit) {
            self.count("queue-full");
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        let worth = if matches!(event, Event::Refused { .. }) { Worth::Reply } else { Worth::Durable };
        if self.events.push(worth, event) {
            self.count("queue-full");
        }
    }

    /// Refuses a message, and says so to its sender.
    pub(super) fn refuse(&mut self, address: Address, path: Path, refusal: Refusal) {
        let Refusal { kind, code, reason } = refusal;
        self.count(kind);
        self.reply(path, &Message::error(code, &reason));
        self.event(Event::Refused { address, kind, reason });
    }

    pub(super) fn count(&mut self, kind: &'static str) {
        *self.refusals.entry(kind).or_default() += 1;
    }

    /// Whether nothing may be taken in that would add an event.
    pub(super) fn is_blocked(&self) -> bool {
        self.events.is_blocked()
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop()
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    pub(super) fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }
}

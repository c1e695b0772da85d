//! The telephone: dialling, waiting for calls, and the people on either side of it.

use super::contacts::{self, Callee};
use super::ear;
use super::line::{Conversation, Over, Part};
use super::offer::{Refusal, protection_of};
use super::place::Place;
use super::report::Report;
use super::{Answer, LineArgs, Protection};
use anyhow::anyhow;
use guestright_channel::Credentials;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::signals::Signals;
use guestright_codec::Kind;
use guestright_directory::Contacts;
use guestright_identity::KeyId;
use guestright_sip::agent::{
    Agent, AgentError, AgentEvent, AgentSettings, Call, CallEvent, Description, Direction, Ending,
};
use std::io::{BufRead, IsTerminal, Write};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;

/// A command on standard input has at most so many bytes.
const COMMAND_MAX: u64 = 256;

/// What the telephone is for this time.
pub(super) enum Task {
    Dial(String),
    Listen(Waiting),
}

/// How calls are waited for.
pub(super) struct Waiting {
    pub(super) answer: Answer,
    pub(super) accept: Protection,
    pub(super) calls: Option<u32>,
    /// A registration is asked for, for so many seconds.
    pub(super) expires_s: u32,
}

/// Everything that outlives a single call.
pub(super) struct Phone<'a, W> {
    pub(super) line: &'a LineArgs,
    /// Codecs, the best first.
    pub(super) kinds: Vec<Kind>,
    pub(super) place: Place,
    pub(super) credentials: Option<Credentials>,
    pub(super) contacts: Contacts,
    pub(super) signals: Signals,
    pub(super) commands: mpsc::Receiver<String>,
    pub(super) report: Report<'a, W>,
}

pub(super) async fn run<W: Write>(line: &LineArgs, task: Task, out: &mut W) -> Outcome {
    let kinds = line.kinds()?;
    drop(ear::policy(line.playout())?);
    let signals = Signals::take()?;
    let contacts = contacts::load(line.contacts.as_deref())?;
    let least = match &task {
        Task::Dial(_) => line.protection,
        // Whoever calls may want more than the least.
        Task::Listen(_) => Protection::EndToEnd,
    };
    let credentials = match least {
        Protection::EndToEnd => credentials(line, &task)?,
        Protection::Home | Protection::Sdes => None,
    };
    let towards = match &task {
        Task::Dial(name) if line.direct => address_in(name),
        Task::Dial(_) | Task::Listen(_) => None,
    };
    let place = Place::find(line, towards)?;
    let settings = AgentSettings {
        user: place.user.clone(),
        bind: SocketAddr::new(place.own, line.port),
        transport: line.transport.into(),
        home: place.home,
        expires_s: match &task {
            Task::Listen(waiting) => waiting.expires_s,
            // Whoever calls does not register.
            Task::Dial(_) => 0,
        },
    };
    let agent = Agent::start(settings).await.map_err(|error| {
        Failure::network(error)
            .hint("is the tunnel up? `guestright visit status` says; --address names your own address")
    })?;
    let waits = matches!(&task, Task::Listen(waiting) if waiting.answer == Answer::Ask);
    let commands = commands(line.control || waits || std::io::stdin().is_terminal());
    let report = Report::new(line, out)?;
    let mut phone = Phone { line, kinds, place, credentials, contacts, signals, commands, report };
    match task {
        Task::Dial(name) => phone.dial(agent, &name).await,
        Task::Listen(waiting) => phone.listen(agent, &waiting).await,
    }
}

/// The member's own; with `listen` at less than end to end it may do without.
fn credentials(line: &LineArgs, task: &Task) -> Result<Option<Credentials>, Failure> {
    let needed = match task {
        Task::Dial(_) => true,
        Task::Listen(waiting) => waiting.accept == Protection::EndToEnd,
    };
    if !needed && !line.key.exists() {
        return Ok(None);
    }
    line.passphrase.credentials(&line.key, &line.certificate).map(Some).map_err(|failure| {
        failure.hint("name your files with --key and --certificate; `guestright team member add` makes them")
    })
}

/// The address in `sip:name@address`, if there is one.
fn address_in(name: &str) -> Option<SocketAddr> {
    let host = name.rsplit_once('@')?.1.split(';').next()?;
    super::place::parse_home(host).ok()
}

/// Lines of standard input, if they are wanted.
pub(super) fn commands(wanted: bool) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(4);
    if wanted {
        // A thread that may wait for ever; it ends with the program.
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            loop {
                let mut text = String::new();
                match std::io::Read::take(&mut input, COMMAND_MAX).read_line(&mut text) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if sender.blocking_send(text.trim().to_lowercase()).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
    }
    receiver
}

impl<W: Write> Phone<'_, W> {
    async fn dial(&mut self, agent: Agent, name: &str) -> Outcome {
        let home = self.place.home.map(|home| home.to_string());
        let callee = contacts::resolve(name, &self.contacts, home.as_deref())?;
        let protection = self.line.protection;
        let mut part = Part::open(self, protection, true, callee.expected)?;
        let offer = part.own.offer(Direction::SendReceive);
        let card = home.and_then(|_| contacts::card(&self.contacts, callee.expected?));
        let card = card.as_deref().map(|card| (contacts::CARD_HEADER, card));
        let call = agent.dial_with(&callee.address, &offer, card);
        let call = call.map_err(|error| not_dialled(error, &callee))?;
        let facts = serde_json::json!({ "to": callee.shown, "protection": protection.name() });
        self.report.say("calling", &format!("calling {}", callee.shown), facts)?;
        let over = Conversation::new(self, call, part).run(callee.shown.clone()).await;
        agent.stop().await;
        over?.outcome(&callee.shown)
    }

    async fn listen(&mut self, mut agent: Agent, waiting: &Waiting) -> Outcome {
        let at = agent.address().to_string();
        let facts = serde_json::json!({ "address": at, "user": self.place.user });
        self.report.say("listening", &format!("listening for calls on {at}"), facts)?;
        agent.register();
        let mut taken = 0;
        let mut registered = None;
        let outcome = loop {
            if waiting.calls.is_some_and(|most| taken >= most) {
                break Ok(());
            }
            let event = tokio::select! {
                event = agent.event() => event,
                () = self.signals.recv() => break Ok(()),
                Some(command) = self.commands.recv() => {
                    if command == "quit" {
                        break Ok(());
                    }
                    continue;
                }
            };
            match event {
                AgentEvent::Incoming(call) => {
                    if self.incoming(*call, waiting).await? {
                        taken += 1;
                    }
                }
                event @ (AgentEvent::Registered { .. } | AgentEvent::NotRegistered { .. }) => {
                    self.registration(&event, &mut registered)?;
                }
            }
        };
        agent.stop().await;
        outcome
    }

    /// Says when it begins or ceases that calls come through, not each time that it is refreshed.
    fn registration(&mut self, event: &AgentEvent, before: &mut Option<bool>) -> Outcome {
        match event {
            AgentEvent::Registered { seconds } if *before != Some(true) => {
                *before = Some(true);
                let facts = serde_json::json!({ "up": true, "seconds": seconds });
                self.report.say("registered", "your home knows that you can be called here", facts)?;
            }
            AgentEvent::NotRegistered { code, reason } if *before != Some(false) => {
                *before = Some(false);
                let said = match code {
                    Some(code) => {
                        format!("your home does not take calls for you ({code} {reason}); trying again")
                    }
                    None => "your home does not answer; trying again".to_owned(),
                };
                let facts = serde_json::json!({ "up": false, "code": code, "reason": reason });
                self.report.say("registered", &said, facts)?;
            }
            AgentEvent::Registered { .. } | AgentEvent::NotRegistered { .. } | AgentEvent::Incoming(_) => {}
        }
        Ok(())
    }

    /// Takes a call, or not; true if it was taken.
    async fn incoming(&mut self, mut call: Call, waiting: &Waiting) -> Result<bool, Failure> {
        let peer = call.peer();
        let (offer, protection) = match self.look_at(&call, waiting) {
            Ok(seen) => seen,
            Err(refusal) => {
                call.reject(Refusal::CODE, &refusal.to_string());
                let facts = serde_json::json!({ "from": peer, "reason": refusal.to_string() });
                let said = format!("a call from {peer} was not taken: {refusal}");
                self.report.say("not_taken", &said, facts)?;
                return Ok(false);
            }
        };
        call.ring();
        let facts = serde_json::json!({ "from": peer, "protection": protection.name() });
        let said = format!("{peer} calls (the name is not proven); {}", protection.who_hears());
        self.report.say("ringing", &said, facts)?;
        if waiting.answer == Answer::Ask && !self.ask(&mut call).await? {
            return Ok(false);
        }
        let mut part = Part::open(self, protection, false, None)?;
        let answer = match &offer {
            Some(offer) => part.own.answer(offer, Direction::SendReceive),
            None => Ok(part.own.offer(Direction::SendReceive)),
        };
        match answer {
            Ok(answer) => {
                let is_agreed = offer.is_some();
                let mut conversation = Conversation::new(self, call, part);
                conversation.begin(is_agreed)?;
                conversation.accept(&answer);
                let over = conversation.run(peer).await?;
                // What went wrong in one call has been said; the next one may go well.
                drop(over);
                Ok(true)
            }
            Err(refusal) => {
                call.reject(Refusal::CODE, &refusal.to_string());
                let facts = serde_json::json!({ "from": peer, "reason": refusal.to_string() });
                self.report.say("not_taken", &format!("the call was not taken: {refusal}"), facts)?;
                Ok(false)
            }
        }
    }

    /// The caller's offer, and the protection that the call will have.
    fn look_at(&self, call: &Call, waiting: &Waiting) -> Result<(Option<Description>, Protection), Refusal> {
        let Some(text) = call.offer() else { return Ok((None, waiting.accept)) };
        let offer = Description::parse(&text)?;
        let want = waiting.accept;
        let offered = protection_of(&offer);
        let enough = offered.filter(|offered| *offered >= want);
        let protection = enough.ok_or(Refusal::Protection {
            want: want.name(),
            got: offered.map_or("one that we do not know", Protection::name),
        })?;
        if protection == Protection::EndToEnd && self.credentials.is_none() {
            return Err(Refusal::Protection {
                want: want.name(),
                got: "end-to-end, for which there is no key here",
            });
        }
        Ok((Some(offer), protection))
    }

    /// Asks the person. The caller may give up meanwhile.
    async fn ask(&mut self, call: &mut Call) -> Result<bool, Failure> {
        self.report.say("asking", "take the call? [yes/no]", serde_json::json!({}))?;
        let limit = tokio::time::sleep(Duration::from_secs(self.line.ring_seconds));
        tokio::pin!(limit);
        let (code, reason) = loop {
            tokio::select! {
                Some(command) = self.commands.recv() => match command.as_str() {
                    "y" | "yes" => return Ok(true),
                    _ => break (603, "declined"),
                },
                event = call.event() => if let CallEvent::Ended(ending) = event {
                    let said = if ending == Ending::Cancelled { "the caller has given up" } else { "the call is over" };
                    self.report.say("missed", said, serde_json::json!({}))?;
                    return Ok(false);
                },
                () = &mut limit => break (480, "nobody answers"),
                () = self.signals.recv() => break (480, "nobody answers"),
            }
        };
        call.reject(code, reason);
        self.report.say("not_taken", "the call was not taken", serde_json::json!({ "reason": reason }))?;
        Ok(false)
    }
}

fn not_dialled(error: AgentError, callee: &Callee) -> Failure {
    match error {
        AgentError::Address { .. } => {
            Failure::user(error).hint("dial a contact, a name that your home knows, or sip:name@address")
        }
        AgentError::Bind { .. } | AgentError::Busy | AgentError::Send { .. } => {
            Failure::network(anyhow!(error).context(format!("call {}", callee.shown)))
        }
    }
}

/// A call that came to nothing, in words (RFC 3261 section 21).
pub(super) fn refused(code: u16, reason: &str, who: &str) -> Failure {
    let (said, hint) = match code {
        401 | 403 | 407 => (
            format!("your home does not let you call {who} ({reason})"),
            "calls have to come out of the tunnel: is `guestright visit` running?",
        ),
        404 | 604 => (
            format!("nobody knows {who} ({reason})"),
            "`guestright call contact list` lists your contacts; a card from the other person brings a new one",
        ),
        410 => (format!("{who} is not there any more ({reason})"), "ask the other person for a new card"),
        480 => (
            format!("{who} cannot be reached at the moment ({reason})"),
            "the other person's telephone has to be on: `guestright call listen`, or a softphone at the home",
        ),
        486 | 600 => (format!("{who} is busy"), "try again later"),
        488 | 606 | 406 | 415 => (
            format!("{who} did not take the call as it was offered: {reason}"),
            "other codecs (--codec) may do; a stock softphone needs --protection home, and then both homes can hear",
        ),
        603 | 607 => (format!("{who} declined"), "try again when it suits"),
        408 | 504 => (format!("no answer from {who} ({reason})"), "try again later"),
        500..=599 => (format!("a home on the way failed ({code} {reason})"), "try again later"),
        _ => (format!("the call to {who} failed ({code} {reason})"), "try again later"),
    };
    Failure::network(anyhow!(said)).hint(hint)
}

impl Over {
    /// What the program says in the end of a call that it made.
    fn outcome(self, who: &str) -> Outcome {
        match self {
            Self::Ended(Ending::Refused { code, reason }) => Err(refused(code, &reason, who)),
            Self::Ended(Ending::Silence) => {
                Err(Failure::network(anyhow!("no answer from {who}")).hint("try again later"))
            }
            Self::Unanswered => {
                Err(Failure::network(anyhow!("{who} did not answer")).hint("try again later"))
            }
            Self::Refused(refusal) => {
                Err(Failure::network(anyhow!("the call was ended: {refusal}")).hint(refusal.hint()))
            }
            Self::Broken(failure) => Err(failure),
            Self::Ended(Ending::HungUp | Ending::HungUpHere | Ending::Cancelled) | Self::Here => Ok(()),
        }
    }
}

/// Who the other side has proven to be.
pub(super) fn identity(contacts: &Contacts, key: KeyId) -> String {
    match contacts.of_member(key).next() {
        Some(contact) => format!("{}, as your contacts have it", contact.name),
        None => format!("somebody who is not among your contacts, with the key {key}"),
    }
}

//! The telephone: dialling, waiting for calls, and the people on either side of it.

use crate::contacts::{self, Callee};
use crate::line::{Conversation, Over, Part};
use crate::offer::{Refusal, protection_of};
use crate::report::Report;
use crate::sound::Sound;
use crate::{Answer, Controls, Protection, Task, TelephoneError, TelephoneSettings, Waiting};
use guestright_sip::agent::{
    Agent, AgentError, AgentEvent, AgentSettings, Call, CallEvent, CallQuality, Description, Direction,
    Ending,
};
use std::io::Write;
use std::net::SocketAddr;

/// Everything that outlives a single call.
pub(crate) struct Phone<'a, W> {
    pub(crate) settings: TelephoneSettings,
    pub(crate) controls: Controls,
    pub(crate) report: Report<'a, W>,
    /// How the last call was, until the home is told.
    pub(crate) quality: Option<CallQuality>,
}

/// Calls, or waits for calls, and writes what happens to `out`.
///
/// # Errors
/// The call came to nothing, or nobody could call. What goes wrong in one of the calls that are waited for is only
/// written.
pub async fn run<W: Write>(
    settings: TelephoneSettings,
    task: Task,
    controls: Controls,
    out: &mut W,
) -> Result<(), TelephoneError> {
    let agent = AgentSettings {
        user: settings.account.user.clone(),
        bind: SocketAddr::new(settings.account.own, settings.port),
        transport: settings.transport,
        home: settings.account.home,
        expires_s: settings.reachable.expires_s,
    };
    let agent = Agent::start(agent).await.map_err(TelephoneError::NotStarted)?;
    let report = Report::new(&settings.line.report, out)?;
    let mut phone = Phone { settings, controls, report, quality: None };
    match task {
        Task::Dial(name) => phone.dial(agent, &name).await,
        Task::Listen(waiting) => phone.listen(agent, &waiting).await,
    }
}

impl<W: Write> Phone<'_, W> {
    async fn dial(&mut self, agent: Agent, name: &str) -> Result<(), TelephoneError> {
        let home = self.settings.account.home.map(|home| home.to_string());
        let callee = contacts::resolve(name, &self.settings.contacts, home.as_deref())?;
        let protection = self.settings.protection;
        let mut part = Part::open(self, protection, true, callee.expected)?;
        let offer = part.own.offer(Direction::SendReceive);
        let card = home.and_then(|_| contacts::card(&self.settings.contacts, callee.expected?));
        let card = card.as_deref().map(|card| (contacts::CARD_HEADER, card));
        let call = agent.dial_with(&callee.address, &offer, card);
        let call = call.map_err(|error| not_dialled(error, &callee))?;
        let facts = serde_json::json!({ "to": callee.shown, "protection": protection.name() });
        self.report.print("calling", &format!("calling {}", callee.shown), facts)?;
        let over = Conversation::new(self, call, part).run(callee.shown.clone()).await;
        self.report_quality(&agent).await;
        agent.stop().await;
        over?.outcome(&callee.shown)
    }

    async fn listen(&mut self, mut agent: Agent, waiting: &Waiting) -> Result<(), TelephoneError> {
        // Whoever calls must not be the first to find out that there is no sound card.
        let rate_hz = self.settings.kinds.first().map_or(8_000, |kind| kind.format().sample_rate_hz);
        Sound::check(&self.settings.line.sound, rate_hz)?;
        let at = agent.address().to_string();
        let facts = serde_json::json!({ "address": at, "user": self.settings.account.user });
        self.report.print("listening", &format!("listening for calls on {at}"), facts)?;
        agent.register();
        let mut taken = 0;
        let mut registered = None;
        let outcome = loop {
            if waiting.calls.is_some_and(|most| taken >= most) {
                break Ok(());
            }
            let event = tokio::select! {
                event = agent.event() => event,
                _ = self.controls.stop.recv() => break Ok(()),
                Some(command) = self.controls.commands.recv() => {
                    if command == "quit" {
                        break Ok(());
                    }
                    continue;
                }
            };
            match event {
                AgentEvent::Incoming(call) => {
                    let is_taken = self.incoming(*call, waiting).await?;
                    self.report_quality(&agent).await;
                    taken += u32::from(is_taken);
                }
                event @ (AgentEvent::Registered { .. } | AgentEvent::NotRegistered { .. }) => {
                    self.registration(&event, &mut registered)?;
                }
            }
        };
        agent.stop().await;
        outcome
    }

    /// The home learns how well was heard in the call that is over, and keeps the number alone.
    async fn report_quality(&mut self, agent: &Agent) {
        if let Some(quality) = self.quality.take() {
            agent.report(&quality).await;
        }
    }

    /// Says when it begins or ceases that calls come through, not each time that it is refreshed.
    fn registration(&mut self, event: &AgentEvent, before: &mut Option<bool>) -> Result<(), TelephoneError> {
        match event {
            AgentEvent::Registered { seconds } if *before != Some(true) => {
                *before = Some(true);
                let facts = serde_json::json!({ "up": true, "seconds": seconds });
                self.report.print("registered", "your home knows that you can be called here", facts)?;
            }
            AgentEvent::NotRegistered { code, reason } if *before != Some(false) => {
                *before = Some(false);
                let message = match code {
                    Some(code) => {
                        format!("your home does not take calls for you ({code} {reason}); trying again")
                    }
                    None => "your home does not answer; trying again".to_owned(),
                };
                let facts = serde_json::json!({ "up": false, "code": code, "reason": reason });
                self.report.print("registered", &message, facts)?;
            }
            AgentEvent::Registered { .. } | AgentEvent::NotRegistered { .. } | AgentEvent::Incoming(_) => {}
        }
        Ok(())
    }

    /// Takes a call, or not; true if it was taken.
    async fn incoming(&mut self, mut call: Call, waiting: &Waiting) -> Result<bool, TelephoneError> {
        let peer = call.peer();
        let (offer, protection) = match self.look_at(&call) {
            Ok(seen) => seen,
            Err(refusal) => {
                call.reject(Refusal::CODE, &refusal.to_string());
                let facts = serde_json::json!({ "from": peer, "reason": refusal.to_string() });
                let message = format!("a call from {peer} was not taken: {refusal}");
                self.report.print("not_taken", &message, facts)?;
                return Ok(false);
            }
        };
        call.ring();
        let facts = serde_json::json!({ "from": peer, "protection": protection.name() });
        let message = format!("{peer} calls (the name is not proven); {}", protection.who_hears());
        self.report.print("ringing", &message, facts)?;
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
                self.report.print("not_taken", &format!("the call was not taken: {refusal}"), facts)?;
                Ok(false)
            }
        }
    }

    /// The caller's offer, and the protection that the call will have.
    fn look_at(&self, call: &Call) -> Result<(Option<Description>, Protection), Refusal> {
        let want = self.settings.reachable.accept;
        let Some(text) = call.offer() else { return Ok((None, want)) };
        let offer = Description::parse(&text)?;
        let offered = protection_of(&offer);
        let enough = offered.filter(|offered| *offered >= want);
        let protection = enough.ok_or(Refusal::Protection {
            want: want.name(),
            got: offered.map_or("one that we do not know", Protection::name),
        })?;
        if protection == Protection::EndToEnd && self.settings.credentials.is_none() {
            return Err(Refusal::Protection {
                want: want.name(),
                got: "end-to-end, for which there is no key here",
            });
        }
        Ok((Some(offer), protection))
    }

    /// Asks the person. The caller may give up meanwhile.
    async fn ask(&mut self, call: &mut Call) -> Result<bool, TelephoneError> {
        self.report.print("asking", "take the call? [yes/no]", serde_json::json!({}))?;
        let limit = tokio::time::sleep(self.settings.line.ring_max);
        tokio::pin!(limit);
        let (code, reason) = loop {
            tokio::select! {
                Some(command) = self.controls.commands.recv() => match command.as_str() {
                    "y" | "yes" => return Ok(true),
                    _ => break (603, "declined"),
                },
                event = call.event() => if let CallEvent::Ended(ending) = event {
                    let message = if ending == Ending::Cancelled { "the caller has given up" } else { "the call is over" };
                    self.report.print("missed", message, serde_json::json!({}))?;
                    return Ok(false);
                },
                () = &mut limit => break (480, "nobody answers"),
                _ = self.controls.stop.recv() => break (480, "nobody answers"),
            }
        };
        call.reject(code, reason);
        self.report.print("not_taken", "the call was not taken", serde_json::json!({ "reason": reason }))?;
        Ok(false)
    }
}

fn not_dialled(error: AgentError, callee: &Callee) -> TelephoneError {
    match error {
        AgentError::Address { .. } => TelephoneError::NotAnAddress(error),
        AgentError::Bind { .. } | AgentError::Busy | AgentError::Send { .. } => {
            TelephoneError::NotDialled { who: callee.shown.clone(), source: error }
        }
    }
}

impl Over {
    /// What the program says in the end of a call that it made.
    fn outcome(self, who: &str) -> Result<(), TelephoneError> {
        let who = who.to_owned();
        match self {
            Self::Ended(Ending::Refused { code, reason }) => {
                Err(TelephoneError::Refused { code, reason, who })
            }
            Self::Ended(Ending::Silence) => Err(TelephoneError::Silence { who }),
            Self::Unanswered => Err(TelephoneError::Unanswered { who }),
            Self::Refused(refusal) => Err(TelephoneError::NotAgreeable(refusal)),
            Self::Broken(error) => Err(error),
            Self::Ended(Ending::HungUp | Ending::HungUpHere | Ending::Cancelled) | Self::Here => Ok(()),
        }
    }
}

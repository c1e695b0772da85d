//! One call with a profile, from the first datagram to the summary, and the people on either side.

use crate::StudyError;
use crate::engine::{self, Accept, Call, EngineEvent, Parts};
use crate::profile::Straight;
use guestright_clock::Clock;
use guestright_identity::KeyId;
use guestright_telephone::contacts::identity;
use guestright_telephone::driver::News;
use guestright_telephone::{Answer, Waiting};
use guestright_units::TeamId;
use guestright_voice::tool::{Connected, Ending, Side, ToolError};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How a call was over.
enum Over {
    /// We hung up, as was wanted.
    Here,
    /// The tool says why.
    Ended(Ending),
    /// Nobody answered for too long; perhaps something came that was refused.
    Unanswered(Option<ToolError>),
    /// The person did not want it.
    Declined,
    /// The program is to end.
    Quit,
    /// The thread has ended by itself.
    Broken,
}

/// What is known of a call while it lasts.
struct State {
    call: Call,
    connected: Option<Connected>,
    /// Since when both can hear each other.
    talking: Option<Instant>,
    /// The person is asked.
    is_asking: bool,
    deadline: Option<Instant>,
    refused: Option<ToolError>,
}

impl<W: Write> Straight<'_, W> {
    pub(crate) async fn dial(mut self, whom: &str, peer: SocketAddr) -> Result<(), StudyError> {
        let facts = json!({ "to": peer.to_string(), "profile": self.choice.profile.text() });
        let message = format!("calling {whom} at {peer} with {}", self.choice.profile.text());
        self.report.print("calling", &message, facts)?;
        let call = self.start(Side::Caller { to: peer }, true)?;
        let ring = Instant::now() + self.settings.line.ring_max;
        let state = State::new(call, Some(ring));
        let (over, _) = self.talk(state, Answer::Auto).await?;
        self.outcome(over, whom)
    }

    pub(crate) async fn listen(mut self, waiting: &Waiting) -> Result<(), StudyError> {
        let at = self.socket.local_addr()?.to_string();
        let name = self.choice.profile.text();
        let facts = json!({ "address": at, "profile": name });
        self.report.print("listening", &format!("listening for calls with {name} on {at}"), facts)?;
        let mut taken = 0;
        while waiting.calls.is_none_or(|most| taken < most) {
            let call = self.start(Side::Callee, waiting.answer == Answer::Auto)?;
            let (over, was_connected) = self.talk(State::new(call, None), waiting.answer).await?;
            if let Over::Quit = over {
                break;
            }
            // What went wrong in one call has been said; the next one may go well.
            taken += u32::from(was_connected);
        }
        Ok(())
    }

    fn start(&self, side: Side, is_accepted: bool) -> Result<Call, StudyError> {
        let mut clock = Clock::start();
        let tool = self.choice.tool(side, clock.now())?;
        engine::start(Parts {
            line: self.settings.line.clone(),
            profile: self.choice.profile.text(),
            cipher: self.choice.cipher,
            codec: self.choice.codec,
            socket: self.socket.clone(),
            clock,
            tool,
            is_accepted,
            opens_at_once: side != Side::Callee,
        })
        .map_err(StudyError::from)
    }

    /// Goes on until the call is over. Whether there was somebody.
    async fn talk(&mut self, mut state: State, answer: Answer) -> Result<(Over, bool), StudyError> {
        let over = loop {
            tokio::select! {
                news = state.call.news() => match news {
                    Some(news) => if let Some(over) = self.handle_news(&mut state, news, answer)? {
                        break over;
                    },
                    None => break Over::Broken,
                },
                _ = self.controls.stop.recv() => break if state.connected.is_some() { Over::Here } else { Over::Quit },
                Some(command) = self.controls.commands.recv() => {
                    if let Some(over) = self.command(&mut state, &command)? {
                        break over;
                    }
                }
                () = until(state.deadline) => break state.too_long(),
            }
        };
        self.finish(state, over).await
    }

    fn handle_news(
        &mut self,
        state: &mut State,
        news: News<EngineEvent>,
        answer: Answer,
    ) -> Result<Option<Over>, StudyError> {
        match news {
            News::Event(EngineEvent::Connected(connected)) => self.connected(state, *connected, answer)?,
            News::Event(EngineEvent::Refused { from, why, count }) => {
                let message = format!("refused {count} datagrams by now, the last one from {from}: {why}");
                let facts = json!({ "from": from.to_string(), "why": why.to_string(), "count": count });
                self.report.print("refused", &message, facts)?;
                state.refused = Some(why);
            }
            News::Event(EngineEvent::Ended(ending)) => return Ok(Some(Over::Ended(ending))),
            News::Second(second) => {
                self.report.second(&second)?;
                self.report.second_in_json(&second)?;
            }
            News::Trouble(message) => self.report.print("trouble", &message, json!({ "said": message }))?,
        }
        Ok(None)
    }

    fn connected(
        &mut self,
        state: &mut State,
        connected: Connected,
        answer: Answer,
    ) -> Result<(), StudyError> {
        let who = self.who(&connected);
        let facts = json!({
            "profile": self.choice.profile.text(),
            "codec": self.choice.codec.name,
            "cipher": self.choice.cipher,
            "peer": connected.peer.to_string(),
            "name": connected.name,
            "verified": connected.is_verified,
            "words": connected.words,
            "protection": connected.protection,
        });
        let words = match connected.words.as_slice() {
            [] => String::new(),
            words => format!("\n  read to each other: {}", words.join(" ")),
        };
        let message = format!(
            "you speak with {who} at {}; who could hear it: {}{words}",
            connected.peer, connected.protection
        );
        self.report.print("connected", &message, facts)?;
        state.connected = Some(connected);
        if answer == Answer::Ask {
            state.is_asking = true;
            state.deadline = Some(Instant::now() + self.settings.line.ring_max);
            self.report.print("asking", "take the call? [yes/no]", json!({}))?;
        } else {
            state.begin(self.settings.line.talk_max);
        }
        Ok(())
    }

    fn who(&self, connected: &Connected) -> String {
        let key = connected.name.as_deref().and_then(|name| name.parse::<TeamId>().ok());
        match (key, &connected.name, connected.is_verified) {
            (Some(key), _, true) => identity(&self.settings.contacts, KeyId(key.0)),
            (_, Some(name), true) => name.clone(),
            (_, Some(name), false) => format!("somebody who says to be {name:?}, unproven"),
            (_, None, _) => "somebody without a name".to_owned(),
        }
    }

    fn command(&mut self, state: &mut State, command: &str) -> Result<Option<Over>, StudyError> {
        match command {
            "y" | "yes" if state.is_asking => {
                state.is_asking = false;
                state.call.change(Accept);
                state.begin(self.settings.line.talk_max);
            }
            "" => {}
            "q" | "quit" if state.connected.is_some() => return Ok(Some(Over::Here)),
            "q" | "quit" => return Ok(Some(Over::Quit)),
            _ if state.is_asking => return Ok(Some(Over::Declined)),
            _ => self.report.print("trouble", "the only command is: quit", json!({}))?,
        }
        Ok(None)
    }

    /// Hangs up, and says how it was.
    async fn finish(&mut self, state: State, over: Over) -> Result<(Over, bool), StudyError> {
        let was_connected = state.connected.is_some();
        let outcome = state.call.finish().await?;
        if was_connected || !matches!(over, Over::Quit) {
            let (message, reason) = over.in_words();
            self.report.print("ended", &message, json!({ "reason": reason, "said": message }))?;
        }
        if was_connected {
            for second in &outcome.seconds {
                self.report.second(second)?;
                self.report.second_in_json(second)?;
            }
            let mut facts = outcome.facts;
            facts["seconds"] = json!(state.talking.map(|since| since.elapsed().as_secs_f64()));
            let lines = facts["in_words"].take();
            let lines: Vec<String> = serde_json::from_value(lines)?;
            if let Some(facts) = facts.as_object_mut() {
                facts.remove("in_words");
            }
            self.report.end(facts, &lines)?;
        }
        Ok((over, was_connected))
    }

    /// What the program says in the end of a call that it made.
    fn outcome(&self, over: Over, whom: &str) -> Result<(), StudyError> {
        let (whom, tool) = (whom.to_owned(), self.choice.profile.text());
        match over {
            Over::Here | Over::Quit | Over::Declined | Over::Ended(Ending::PeerLeft) => Ok(()),
            Over::Ended(Ending::Silence) => Err(StudyError::Silence { whom, tool }),
            Over::Ended(Ending::Failed(message)) => Err(StudyError::Failed { whom, message, tool }),
            Over::Broken => Err(StudyError::Broken { whom, tool }),
            Over::Unanswered(Some(why)) => {
                Err(StudyError::OtherAnswer { whom, why, hint: self.choice.when_refused() })
            }
            Over::Unanswered(None) => {
                Err(StudyError::Unanswered { whom, hint: self.choice.when_unanswered() })
            }
        }
    }
}

impl State {
    fn new(call: Call, deadline: Option<Instant>) -> Self {
        Self { call, connected: None, talking: None, is_asking: false, deadline, refused: None }
    }

    /// Both can hear each other.
    fn begin(&mut self, talk_max: Option<Duration>) {
        let now = Instant::now();
        self.talking = Some(now);
        self.deadline = talk_max.map(|talk_max| now + talk_max);
    }

    fn too_long(&mut self) -> Over {
        if self.connected.is_none() {
            return Over::Unanswered(self.refused.take());
        }
        if self.is_asking { Over::Declined } else { Over::Here }
    }
}

impl Over {
    fn in_words(&self) -> (String, &'static str) {
        match self {
            Self::Here | Self::Quit => ("you hung up".to_owned(), "here"),
            Self::Ended(Ending::PeerLeft) => ("the other side hung up".to_owned(), "hung-up"),
            Self::Ended(Ending::Silence) => ("nothing came any more".to_owned(), "silence"),
            Self::Ended(Ending::Failed(message)) => (message.clone(), "failed"),
            Self::Unanswered(Some(why)) => (format!("no answer of this call: {why}"), "no-answer"),
            Self::Unanswered(None) => ("no answer".to_owned(), "no-answer"),
            Self::Declined => ("the call was not taken".to_owned(), "declined"),
            Self::Broken => ("the voice ended by itself".to_owned(), "broken"),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

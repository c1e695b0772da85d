//! Phones that join Wi-Fi by their certificates: what access points ask, carried to the home that knows, and answered where
//! that is this one (design note 0014).
//!
//! An access point of the own team asks about a phone of any team ([`Phones::ask`]), and gets what the phone's home says
//! ([`Phones::poll_answer`]). Questions about other teams' phones go over the links between homes; those of other teams'
//! access points come in there ([`Phones::handle_frame`]). Phones of the own team are the [`Household`]'s.
//!
//! Nothing here waits, and nothing is asked without an end: a question is sent at most twice, and answered within
//! [`WAIT_MAX`], if only by [`What::Away`].

mod household;
#[cfg(feature = "phones")]
mod kept;

pub use household::Settings;
pub(super) use household::{Household, Surroundings};

use guestright_error::{Fault as _, RunError};
use guestright_identity::{KeyId, RevocationList};
use guestright_radius::relay::{Answer, Conversation, Question, Sentence, What};
use guestright_units::{Micros, TeamId, Time};
use household::{IkeAccess, Request};
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use zeroize::Zeroizing;

/// Questions to other homes that wait for an answer, and those to one of them.
const ASKED_MAX: usize = 1_024;
const ASKED_EACH_MAX: usize = 128;
/// An access point waits for 8 s (`radius`'s limits); what it is told after that is lost.
const WAIT_MAX: Micros = Micros::from_seconds(7);
/// A link may have ended with the question on it.
const ASK_AGAIN: Micros = Micros(2_500_000);
/// Packets of other teams' access points that are looked at within a second: each may cost a handshake's computation.
const FOREIGN_PER_SECOND: u32 = 500;
const SECOND: Micros = Micros::from_seconds(1);

const AWAY: &str =
    "Your home cannot be reached from here. It has to be online for you to join; try again in a while.";
const SLOW: &str = "Your home did not answer in time. Try again.";
const CROWDED: &str = "Too many devices are trying to join at the moment. Try again.";
const NO_PHONES: &str = "Your home lets no phones join. Ask whoever looks after it.";

/// A question that another home has not answered yet.
#[derive(Debug)]
struct Asked {
    message: Vec<u8>,
    /// When it is sent once more.
    again_at: Option<Time>,
    until: Time,
}

/// All that a home knows of phones that join somewhere.
#[derive(Debug)]
pub(super) struct Phones {
    team: TeamId,
    /// Nothing if the household lets no phones join.
    household: Option<Household>,
    asked: BTreeMap<(TeamId, Conversation), Asked>,
    frames: VecDeque<(TeamId, Vec<u8>)>,
    answers: VecDeque<(TeamId, Answer)>,
    /// How many packets of other teams were looked at since.
    foreign: (Time, u32),
    counts: BTreeMap<&'static str, u64>,
}

impl Phones {
    pub(super) fn new(team: TeamId, household: Option<Household>) -> Self {
        Self {
            team,
            household,
            asked: BTreeMap::new(),
            frames: VecDeque::new(),
            answers: VecDeque::new(),
            foreign: (Time(0), 0),
            counts: BTreeMap::new(),
        }
    }

    /// An access point of ours asks about a phone of a team. A repeated question takes the place of the first.
    pub(super) fn ask(&mut self, team: TeamId, question: &Question, rng: &mut StdRng, now: Time) {
        if team == self.team {
            let answer = self.answer_own(team, question, rng, now);
            self.answers.extend(answer.map(|answer| (team, answer)));
            return;
        }
        let (conversation, message) = (question.conversation, question.emit());
        let key = (team, conversation);
        if !self.asked.contains_key(&key) {
            let of_team = self.asked.keys().filter(|(asked, _)| *asked == team).count();
            if self.asked.len() >= ASKED_MAX || of_team >= ASKED_EACH_MAX {
                self.count("crowded");
                return self.away(team, conversation, CROWDED);
            }
        }
        self.frames.push_back((team, message.clone()));
        let asked = Asked { message, again_at: Some(now + ASK_AGAIN), until: now + WAIT_MAX };
        self.asked.insert(key, asked);
    }

    /// What a home has answered to an access point of ours: the team, and the answer with the conversation in it.
    pub(super) fn poll_answer(&mut self) -> Option<(TeamId, Answer)> {
        self.answers.pop_front()
    }

    /// What is to be sent to a home of a team; if that cannot be done, [`Self::handle_unreachable`].
    pub(super) fn poll_frame(&mut self) -> Option<(TeamId, Vec<u8>)> {
        self.frames.pop_front()
    }

    /// A home of another team has sent a message of `relay`.
    pub(super) fn handle_frame(&mut self, team: TeamId, bytes: &[u8], rng: &mut StdRng, now: Time) {
        if let Ok(question) = Question::parse(bytes) {
            if !self.may_look(now) {
                return self.count("foreign");
            }
            let answer = self.answer_own(team, &question, rng, now);
            self.frames.extend(answer.map(|answer| (team, answer.emit())));
            return;
        }
        match Answer::parse(bytes) {
            // Of a home that was not asked, or for the second time: nobody waits for it.
            Ok(answer) if self.asked.remove(&(team, answer.conversation)).is_some() => {
                self.answers.push_back((team, answer));
            }
            Ok(_) => self.count("unasked"),
            Err(error) => {
                tracing::debug!(team = %team.short(), %error, "a message about a phone cannot be read");
                self.count("unreadable");
            }
        }
    }

    /// The link to a team has ended: what was sent on it may be lost.
    pub(super) fn handle_down(&mut self, team: TeamId, now: Time) {
        for ((asked, _), question) in &mut self.asked {
            if *asked == team && question.again_at.is_some() {
                question.again_at = Some(now);
            }
        }
    }

    /// Nobody of the team can be reached.
    pub(super) fn handle_unreachable(&mut self, team: TeamId) {
        let gone: Vec<_> = self.asked.keys().filter(|(asked, _)| *asked == team).copied().collect();
        for (team, conversation) in gone {
            self.asked.remove(&(team, conversation));
            self.count("away");
            self.away(team, conversation, AWAY);
        }
    }

    /// When [`Self::handle_timeout`] is wanted.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let asked = self.asked.values().flat_map(|asked| [asked.again_at, Some(asked.until)]).flatten();
        asked.chain(self.household.as_ref().and_then(Household::poll_timeout)).min()
    }

    /// Time has passed.
    pub(super) fn handle_timeout(&mut self, rng: &mut StdRng, now: Time) {
        let mut late = Vec::new();
        for ((team, conversation), asked) in &mut self.asked {
            if now >= asked.until {
                late.push((*team, *conversation));
            } else if asked.again_at.take_if(|at| now >= *at).is_some() {
                self.frames.push_back((*team, asked.message.clone()));
            }
        }
        for (team, conversation) in late {
            self.asked.remove(&(team, conversation));
            self.count("slow");
            self.away(team, conversation, SLOW);
        }
        if let Some(household) = &mut self.household {
            household.handle_timeout(rng, now);
        }
    }

    pub(super) fn status(&self, now: Time) -> Value {
        let mut status = self.household.as_ref().map_or(Value::Null, |household| household.status(now));
        if self.asked.is_empty() && self.counts.is_empty() && status.is_null() {
            return Value::Null;
        }
        status["waiting_for_homes"] = json!(self.asked.len());
        status["not_carried"] = json!(self.counts);
        status
    }

    /// Members of whose keys the team says that they count no longer.
    pub(super) fn handle_revocations(&mut self, list: &RevocationList, now: Time) {
        if let Some(household) = &mut self.household {
            household.handle_revocations(list, now);
        }
    }

    /// `ready`, `add` and JSON, or `revoke MEMBER`: what `team member` asks.
    pub(super) fn answer(&mut self, words: &str, rng: &mut StdRng, now: Time) -> Value {
        let Some(household) = &mut self.household else {
            return json!({
                "error": "this home lets no phones join",
                "hint": "take `enabled = false` out of [phones] in home.toml, and start the home again",
            });
        };
        let answered = match words.split_once(' ') {
            Some(("add", request)) => {
                parse_request(request).and_then(|request| household.add(request, rng, now))
            }
            Some(("revoke", member)) => household.revoke(member, now),
            None if words == "ready" => Ok(json!({ "ready": true })),
            _ => Err(RunError::user("the questions are: phone ready, phone add JSON, phone revoke MEMBER")),
        };
        answered.unwrap_or_else(|error| json!({ "error": error.sentence(), "hint": error.hint() }))
    }

    fn answer_own(
        &mut self,
        asker: TeamId,
        question: &Question,
        rng: &mut StdRng,
        now: Time,
    ) -> Option<Answer> {
        match &mut self.household {
            Some(household) => household.answer(asker, question, rng, now),
            None => {
                let what = What::Away { reason: Sentence::new(NO_PHONES) };
                Some(Answer { conversation: question.conversation, what })
            }
        }
    }

    fn may_look(&mut self, now: Time) -> bool {
        if now.since(self.foreign.0) >= SECOND {
            self.foreign = (now, 0);
        }
        self.foreign.1 += 1;
        self.foreign.1 <= FOREIGN_PER_SECOND
    }

    fn away(&mut self, team: TeamId, conversation: Conversation, reason: &str) {
        let what = What::Away { reason: Sentence::new(reason) };
        self.answers.push_back((team, Answer { conversation, what }));
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// What `team member add --phone` asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    member: String,
    key: String,
    #[serde(default)]
    page: bool,
    #[serde(default)]
    anew: bool,
    #[serde(default)]
    wireguard: Option<String>,
    #[serde(default)]
    ike: Option<WantedIke>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedIke {
    gateway: String,
    gateway_identity: String,
    secret: String,
}

fn parse_request(text: &str) -> Result<Request, RunError> {
    // An error of the parser would show what stands there, which may be a secret.
    let wanted: Wanted =
        serde_json::from_str(text).map_err(|_| RunError::user("this is no wish for a phone"))?;
    let key = wanted.key.parse::<TeamId>().map_err(|_| RunError::user("a member's key has 48 digits"))?;
    let ike = wanted.ike.map(|ike| IkeAccess {
        gateway: ike.gateway,
        gateway_identity: ike.gateway_identity,
        secret: Zeroizing::new(ike.secret),
    });
    let (member, wireguard, page) = (wanted.member, wanted.wireguard.map(Zeroizing::new), wanted.page);
    Ok(Request { member, key: KeyId(key.0), ike, wireguard, page, anew: wanted.anew })
}

#[cfg(test)]
mod tests;

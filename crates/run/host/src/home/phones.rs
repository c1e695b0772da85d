//! Phones that join Wi-Fi by their certificates: what access points ask, carried to the home that knows, and answered where
//! that is this one (design note 0014).
//!
//! An access point of the own team asks about a phone of any team (`Phones::ask`), and gets what the phone's home says
//! (`Phones::poll_answer`). Questions about other teams' phones go over the links between homes; those of other teams'
//! access points come in there (`Phones::handle_frame`). Phones of the own team are the `Household`'s.
//!
//! A team whose home nobody here has met, or that is not where it was, is looked for at the homes that are known
//! (`Homes` of `directory`): its questions wait for that, some of each and some in all.
//!
//! Nothing here waits, and nothing is asked without an end: a question is sent at most twice where its home is known, and
//! answered within `WAIT_MAX`, if only by `What::Away`.

mod announcing;
mod household;
#[cfg(feature = "phones")]
mod kept;

pub(super) use announcing::Announcing;
pub use household::Settings;
pub(super) use household::{Household, Surroundings};

use super::overview::Phone;
use guestright_directory::{Address, Homes, HomesEvent, Seek, is_home_message};
use guestright_error::{Fault as _, RunError};
use guestright_identity::{KeyId, RevocationList};
use guestright_radius::relay::{Answer, Conversation, Question, Sentence, What};
use guestright_units::{Micros, TeamId, Time, UnixSeconds};
use household::{IkeAccess, Request};
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use zeroize::Zeroizing;

/// Questions to other homes that wait for an answer, and those to one of them.
const ASKED_MAX: usize = 1_024;
const ASKED_EACH_MAX: usize = 128;
/// And those of one team whose home is looked for: there are at most 16 such teams, so names that somebody makes up take an
/// eighth of all.
const SOUGHT_EACH_MAX: usize = 8;
/// An access point waits for 8 s (`radius`'s limits); what it is told after that is lost.
const WAIT_MAX: Micros = Micros::from_seconds(7);
/// A link may have ended with the question on it.
const ASK_AGAIN: Micros = Micros(2_500_000);
/// Packets of other teams' access points that are looked at within a second: each may cost a handshake's computation.
const FOREIGN_PER_SECOND: u32 = 500;
const SECOND: Micros = Micros::from_seconds(1);

const AWAY: &str =
    "Your home cannot be reached from here. It has to be online for you to join; try again in a while.";
const NOWHERE: &str = "Your home cannot be reached from here: nobody whom this household knows can say where it is. It has to be \
                       online, and to have met one of them; try again in a while.";
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
    homes: Homes,
    announcing: Option<Announcing>,
    /// Teams whose questions wait until their home is found.
    sought: BTreeSet<TeamId>,
    found: VecDeque<(TeamId, Vec<Address>)>,
    frames: VecDeque<(TeamId, Vec<u8>)>,
    answers: VecDeque<(TeamId, Answer)>,
    /// How many packets of other teams were looked at since.
    foreign: (Time, u32),
    counts: BTreeMap<&'static str, u64>,
}

impl Phones {
    /// `announcing`: what this home says of where it is, if it is known.
    pub(super) fn new(team: TeamId, household: Option<Household>, announcing: Option<Announcing>) -> Self {
        Self {
            team,
            household,
            asked: BTreeMap::new(),
            homes: Homes::new(team),
            announcing,
            sought: BTreeSet::new(),
            found: VecDeque::new(),
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
        let is_sought = self.sought.contains(&team);
        if !self.asked.contains_key(&key) {
            let of_team = self.asked.keys().filter(|(asked, _)| *asked == team).count();
            let each_max = if is_sought { SOUGHT_EACH_MAX } else { ASKED_EACH_MAX };
            if self.asked.len() >= ASKED_MAX || of_team >= each_max {
                self.count("crowded");
                return self.away(team, conversation, CROWDED);
            }
        }
        if !is_sought {
            self.frames.push_back((team, message.clone()));
        }
        let again_at = (!is_sought).then_some(now + ASK_AGAIN);
        self.asked.insert(key, Asked { message, again_at, until: now + WAIT_MAX });
    }

    /// What a home has answered to an access point of ours: the team, and the answer with the conversation in it.
    pub(super) fn poll_answer(&mut self) -> Option<(TeamId, Answer)> {
        self.answers.pop_front()
    }

    /// Where a home of a team says that it is, the best address first; to be known before the next frame is sent.
    pub(super) fn poll_found(&mut self) -> Option<(TeamId, Vec<Address>)> {
        self.found.pop_front()
    }

    /// What is to be sent to a home of a team; if that cannot be done, [`Self::handle_unreachable`].
    pub(super) fn poll_frame(&mut self) -> Option<(TeamId, Vec<u8>)> {
        self.frames.pop_front().or_else(|| self.homes.poll_transmit())
    }

    /// A home of another team has sent a message of `relay`, or one about where homes are.
    pub(super) fn handle_frame(&mut self, team: TeamId, bytes: &[u8], rng: &mut StdRng, now: Time) {
        if is_home_message(bytes) {
            self.announce(now);
            self.homes.handle_frame(team, bytes, now);
            return self.drain_homes(now);
        }
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

    /// There is a link to a team.
    pub(super) fn handle_up(&mut self, team: TeamId, now: Time) {
        self.announce(now);
        self.homes.handle_up(team, now);
    }

    /// It is known where a home of the team may be.
    pub(super) fn handle_known(&mut self, team: TeamId) {
        self.homes.handle_known(team);
    }

    /// The link to a team has ended: what was sent on it may be lost.
    pub(super) fn handle_down(&mut self, team: TeamId, now: Time) {
        self.homes.handle_down(team, now);
        self.drain_homes(now);
        for ((asked, _), question) in &mut self.asked {
            if *asked == team && question.again_at.is_some() {
                question.again_at = Some(now);
            }
        }
    }

    /// Nobody of the team can be reached, or nobody knows where. What is asked of it waits until it is found, if it is looked
    /// for.
    pub(super) fn handle_unreachable(&mut self, team: TeamId, now: Time) {
        self.homes.handle_unsent(team, now);
        if self.asked.keys().any(|(asked, _)| *asked == team) {
            match self.homes.find(team, now) {
                Seek::UnderWay => {
                    self.sought.insert(team);
                    self.asked_of(team).for_each(|asked| asked.again_at = None);
                }
                Seek::Nowhere => self.give_up(team, self.reason(team)),
                Seek::Crowded => self.give_up(team, CROWDED),
            }
        }
        self.drain_homes(now);
    }

    /// When [`Self::handle_timeout`] is wanted.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let asked = self.asked.values().flat_map(|asked| [asked.again_at, Some(asked.until)]).flatten();
        let household = self.household.as_ref().and_then(Household::poll_timeout);
        asked.chain(household).chain(self.homes.poll_timeout()).min()
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
        self.homes.handle_timeout(now);
        self.drain_homes(now);
    }

    pub(super) fn status(&self, now: Time) -> Value {
        let mut status = self.household.as_ref().map_or(Value::Null, |household| household.status(now));
        let homes = json!({
            "records": self.homes.record_count(),
            "looked_for": self.homes.pursuit_count(),
            "refused": self.homes.counts(),
        });
        let is_quiet = self.asked.is_empty() && self.counts.is_empty();
        if is_quiet && self.homes.record_count() == 0 && self.homes.counts().is_empty() && status.is_null() {
            return Value::Null;
        }
        status["waiting_for_homes"] = json!(self.asked.len());
        status["not_carried"] = json!(self.counts);
        status["homes"] = homes;
        status
    }

    /// The household's phones, for its overview.
    pub(super) fn phones(&self, now: UnixSeconds) -> Vec<Phone> {
        self.household.as_ref().map(|household| household.phones(now)).unwrap_or_default()
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

    /// Takes in what was found, and what was not.
    fn drain_homes(&mut self, now: Time) {
        while let Some(event) = self.homes.poll_event() {
            match event {
                HomesEvent::Found { team, addresses } => {
                    self.sought.remove(&team);
                    self.found.push_back((team, addresses));
                    let again = |asked: &mut Asked| {
                        asked.again_at = Some(now + ASK_AGAIN);
                        (team, asked.message.clone())
                    };
                    let frames: Vec<_> = self.asked_of(team).map(again).collect();
                    self.frames.extend(frames);
                }
                HomesEvent::NotFound(team) => {
                    self.sought.remove(&team);
                    self.give_up(team, self.reason(team));
                }
            }
        }
    }

    /// Says where this home is from now on, if it has not said so today.
    fn announce(&mut self, now: Time) {
        if let Some(record) = self.announcing.as_mut().and_then(|announcing| announcing.renewed(now)) {
            self.homes.set_own(record);
        }
    }

    fn asked_of(&mut self, team: TeamId) -> impl Iterator<Item = &mut Asked> {
        let asked = self.asked.iter_mut().filter(move |((asked, _), _)| *asked == team);
        asked.map(|(_, asked)| asked)
    }

    /// Why a team that was not found, or is not where it was, is not asked.
    fn reason(&self, team: TeamId) -> &'static str {
        if self.homes.knows(team) { AWAY } else { NOWHERE }
    }

    fn give_up(&mut self, team: TeamId, reason: &str) {
        let gone: Vec<_> = self.asked.keys().filter(|(asked, _)| *asked == team).copied().collect();
        for (team, conversation) in gone {
            self.asked.remove(&(team, conversation));
            self.count("away");
            self.away(team, conversation, reason);
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

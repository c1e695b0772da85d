//! What the access point says when its home asks what the household wants to see (design note 0015).
//!
//! Nothing is gathered while nobody asks, but who was turned away: the latest of that are remembered.

use super::{HomeState, Loop};
use crate::refusals::{Refusals, Why};
use guestright_firewall::MacAddress;
use guestright_ordered::OrderedMap;
use guestright_overview::{
    ANSWER_VERSION, AccessPoint, Answer, Class, Count, Guest, Key, Name, Rate, RefusedBy, Sentence, ServedBy,
    Sum, Team,
};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point::{Address, SessionStatus};
use guestright_roaming::home::is_used_up;
use guestright_roaming::message::{Code, GuestId, Message, Reference};
use guestright_roaming::trials::TrialState;
use guestright_units::{Bytes, Micros, Time, UnixSeconds};
use rand::Rng;
use std::collections::BTreeMap;

/// What makes a session another one than the one before at its address.
type SessionId = (Address, UnixSeconds);

/// What is remembered between two questions.
#[derive(Debug, Default)]
pub(super) struct Shown {
    sessions: OrderedMap<SessionId, Seen>,
    refusals: Refusals,
}

/// A session at the last question.
#[derive(Debug)]
struct Seen {
    /// By what it is called. Chance, for whoever may only look is not to learn an address from it.
    name: GuestId,
    counted: Bytes,
    at: Time,
}

impl Shown {
    /// A message was refused.
    pub(super) fn note_refusal(&mut self, kind: &str, reason: &str, home_is_up: bool, now: Time) {
        let (refused_by, to_do) = match kind {
            // The home has decided that, and knows of it.
            "denied" if home_is_up => return,
            "denied" if is_used_up(reason) => (RefusedBy::AllowanceUsedUp, None),
            "denied" => (RefusedBy::Undecided, Some("Look whether the home runs: guestright home status.")),
            "home-refused" => (RefusedBy::Other, None),
            "certificate" => (
                RefusedBy::CertificateEnded,
                Some("If it happens to everybody, set the clock of the access point's computer."),
            ),
            "revoked" => (RefusedBy::Revoked, None),
            "blocked" => {
                (RefusedBy::Other, Some("guestright home block lists the devices that are blocked."))
            }
            "busy" => (RefusedBy::Busy, None),
            "home-away" => (RefusedBy::HomeAway, None),
            // It says nothing of a guest, but of a message.
            _ => return,
        };
        self.refusals.note(None, Why { refused_by, reason, to_do }, now.unix_seconds());
    }

    /// How many got nothing since the start, by reason.
    pub(super) fn refusals_counted(&self) -> &BTreeMap<RefusedBy, u64> {
        self.refusals.counted()
    }

    /// A session is over. What of that is a refusal is remembered.
    pub(super) fn note_end(&mut self, session: &SessionStatus, code: Code, now: Time) {
        let (refused_by, reason) = match code {
            // That was said when it was ended.
            Code::Refused if session.was_blocked => return,
            Code::Unpaid => (RefusedBy::Unpaid, "No receipt came for what was carried."),
            Code::Refused if session.left.is_some() => {
                (RefusedBy::AllowanceUsedUp, "What the household gives away was used up during the session.")
            }
            Code::Refused => (RefusedBy::Other, "The decision changed during the session."),
            Code::Certificate => (RefusedBy::Revoked, "The member's key was revoked during the session."),
            Code::Malformed | Code::Receipt | Code::Busy | Code::NoSession | Code::Closed => return,
        };
        let why = Why { refused_by, reason, to_do: None };
        self.refusals.note(Some(session.team), why, now.unix_seconds());
    }

    /// The session of this name: where it is, and when it began. A trial is one that began at no time.
    pub(super) fn session(&self, name: GuestId) -> Option<(Address, UnixSeconds)> {
        self.sessions.iter().find(|(_, seen)| seen.name == name).map(|(session, _)| *session)
    }

    /// The name of a session, and how much it carries a second since the last question.
    fn look(&mut self, session: SessionId, counted: Bytes, rng: &mut impl Rng, now: Time) -> (Name, Rate) {
        let (_, started) = session;
        let seen = self.sessions.entry(session).or_insert_with(|| Seen {
            name: GuestId(rng.next_u64()),
            counted: Bytes(0),
            at: started.time(),
        });
        let rate = rate(counted.saturating_sub(seen.counted), now - seen.at);
        (seen.counted, seen.at) = (counted, now);
        (Name::shortened(&seen.name.to_string()), rate)
    }
}

fn rate(carried: Bytes, time: Micros) -> Rate {
    let bits = u128::from(carried.0) * 8 * 1_000_000 / u128::from(time.0.max(1));
    Rate::at_most_max(u64::try_from(bits).unwrap_or(u64::MAX))
}

/// The answer to the home's question.
pub(super) fn answer_home(this: &mut Loop, reference: Reference, version: u8, now: Time) -> Message {
    let version = version.min(ANSWER_VERSION);
    Message::Says { reference, version, answer: answer(this, now).to_cbor() }
}

fn answer(this: &mut Loop, now: Time) -> Answer {
    let mut sessions = this.machine.status();
    sessions.sort_by_key(|session| session.started);
    let is_known = |(address, started): &SessionId| {
        sessions.iter().any(|it| it.address == *address && it.started == *started)
            || this.guests.trials.contains(*address)
    };
    this.shown.sessions.retain(|session, _| is_known(session));
    let guests: Vec<_> = sessions.iter().map(|session| guest(this, session, now)).collect();
    let trials: Vec<_> = this.guests.trials.gates().collect();
    let trials = trials.into_iter().filter_map(|gate| trial(this, gate.address, gate.most, now));
    let guests = guests.into_iter().chain(trials.collect::<Vec<_>>()).collect();
    Answer {
        access_point: access_point(this),
        guests,
        refusals: this.shown.refusals.iter().cloned().collect(),
        guests_left_out: Count::default(),
        refusals_left_out: Count::default(),
    }
}

fn access_point(this: &Loop) -> AccessPoint {
    let counter = |(kind, count): (&&str, &u64)| (Name::shortened(kind), Count::at_most_max(*count));
    let trouble = this.condition.trouble.as_ref().or(this.refused.as_ref());
    AccessPoint {
        key: own_key(this),
        name: None,
        up: true,
        answered: None,
        home_up: Some(this.home_state == HomeState::Up),
        undelivered: Count::from(this.machine.undelivered()),
        left_while_away: this.machine.left_while_away().into(),
        refused: this.machine.refusals().iter().map(counter).collect(),
        trouble: trouble.map(|trouble| Sentence::shortened(trouble)),
        calls: super::calls::room(this),
    }
}

fn own_key(this: &Loop) -> Key {
    Key(this.credentials.get().certificate.subject_id().0)
}

fn guest(this: &mut Loop, session: &SessionStatus, now: Time) -> Guest {
    let SessionStatus {
        address,
        team,
        class,
        started,
        until,
        counted,
        signed,
        open,
        left,
        chain,
        for_everybody,
        ..
    } = session;
    let (id, bits_per_second) = this.shown.look((*address, *started), *counted, &mut this.rng, now);
    let own = this.machine.team_id();
    let is_own = *team == own || *class == ServiceClass::Own;
    let served_by = match chain {
        _ if is_own => ServedBy::Own,
        Some(chain) if chain.between.is_empty() => ServedBy::Owed,
        Some(_) => ServedBy::Chain,
        None if *for_everybody => ServedBy::Everybody,
        // A budget is what credit gives. The papers' policies know none.
        None if left.is_some() => ServedBy::Allowance,
        None => ServedBy::Receipts,
    };
    Guest {
        id,
        access_point: own_key(this),
        team: Some(Team(*team)),
        ip: Some(Name::shortened(&address.ip.to_string())),
        mac: mac(*address),
        class: Class::from(*class),
        started: (*started).into(),
        until: Some((*until).into()),
        counted: (*counted).into(),
        signed: (*signed).into(),
        left: left.map(Sum::from),
        bits_per_second,
        open: *open && this.passing.contains(address),
        by_tunnel: address.home.is_some(),
        served_by,
        reason: Sentence::shortened(&reason(*class, served_by)),
        chain: chain.iter().flat_map(|chain| &chain.between).copied().map(Team).collect(),
        reserved: chain.as_ref().map(|chain| chain.bytes).unwrap_or_default().into(),
    }
}

/// Somebody who tries the Wi-Fi without being a member of a team.
fn trial(this: &mut Loop, address: Address, most: Bytes, now: Time) -> Option<Guest> {
    let TrialState::Running { left, seconds_left } = this.guests.trials.state(address, now) else {
        return None;
    };
    let until = now.unix_seconds().plus(seconds_left.into());
    let started = until.minus(this.settings.trial().time.0 / 1_000_000);
    let counted = most.saturating_sub(left);
    // The second in which it began is reckoned back and may be another each time, so it is no part of the name.
    let (id, bits_per_second) = this.shown.look((address, UnixSeconds(0)), counted, &mut this.rng, now);
    Some(Guest {
        id,
        access_point: own_key(this),
        team: None,
        ip: Some(Name::shortened(&address.ip.to_string())),
        mac: mac(address),
        class: Class::Lowest,
        started: started.into(),
        until: Some(until.into()),
        counted: counted.into(),
        signed: Sum::default(),
        left: Some(left.into()),
        bits_per_second,
        open: true,
        by_tunnel: false,
        served_by: ServedBy::Trial,
        reason: Sentence::shortened("A stranger tries the Wi-Fi for a few minutes."),
        chain: Vec::new(),
        reserved: Sum::default(),
    })
}

fn mac(address: Address) -> Option<Name> {
    MacAddress::new(address.mac).ok().map(|mac| Name::shortened(&mac.to_string()))
}

/// Why somebody is served, for a person.
fn reason(class: ServiceClass, served_by: ServedBy) -> String {
    let class = class.name();
    let because = match served_by {
        ServedBy::Own => return "Served first of all, as a member of this household.".to_owned(),
        ServedBy::Owed => "this household owes the team",
        ServedBy::Chain => {
            "this household owes another team, and a chain of debts leads from there to this one"
        }
        ServedBy::Allowance => "out of what this household gives away",
        ServedBy::Everybody => "this household serves everybody for now",
        ServedBy::Receipts => "by the receipts that are known, as the policy in force has it",
        ServedBy::Sponsored | ServedBy::Trial | ServedBy::Other => "as the home has decided",
    };
    format!("Served in the {class} class: {because}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::KeyId;
    use guestright_roaming::access_point::BLOCKED;
    use guestright_units::TeamId;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use std::net::Ipv4Addr;

    const START: UnixSeconds = UnixSeconds(1_800_000_000);

    fn address() -> Address {
        Address::new([2, 0, 0, 0, 0, 1], Ipv4Addr::new(10, 11, 0, 2))
    }

    fn session(left: Option<Bytes>) -> SessionStatus {
        SessionStatus {
            address: address(),
            member: KeyId([3; 24]),
            team: TeamId([4; 24]),
            class: ServiceClass::Low,
            started: START,
            until: START.plus(9_000),
            counted: Bytes(5),
            signed: Bytes(3),
            open: true,
            was_blocked: false,
            left,
            chain: None,
            for_everybody: false,
        }
    }

    fn reasons(shown: &Shown) -> Vec<RefusedBy> {
        shown.refusals.iter().map(|it| it.refused_by).collect()
    }

    #[test]
    fn a_rate_is_that_since_the_last_question() {
        let (mut shown, mut rng) = (Shown::default(), StdRng::seed_from_u64(1));
        let id = (address(), START);
        let mut look = |counted, seconds| {
            let now = START.plus(seconds).time();
            shown.look(id, Bytes(counted), &mut rng, now)
        };
        let (name, rate) = look(1_000, 10);
        assert_eq!(rate.get(), 800, "the first time: since it began");
        assert_eq!(look(2_000, 12), (name.clone(), Rate::at_most_max(4_000)));
        assert_eq!(look(2_000, 14), (name, Rate::default()));
    }

    #[test]
    fn what_the_home_has_decided_is_left_to_the_home() {
        let mut shown = Shown::default();
        shown.note_refusal("denied", "it took more than it gave", true, START.time());
        shown.note_refusal("malformed", "not a message", true, START.time());
        assert!(reasons(&shown).is_empty());
        shown.note_refusal("denied", "the home does not answer", false, START.time());
        assert_eq!(reasons(&shown), [RefusedBy::Undecided]);
    }

    #[test]
    fn a_session_that_was_not_paid_for_is_a_refusal_and_one_that_was_left_is_none() {
        let mut shown = Shown::default();
        shown.note_end(&session(None), Code::Closed, START.time());
        assert!(reasons(&shown).is_empty());
        shown.note_end(&session(None), Code::Unpaid, START.time());
        shown.note_end(&session(Some(Bytes(0))), Code::Refused, START.time());
        assert_eq!(reasons(&shown), [RefusedBy::AllowanceUsedUp, RefusedBy::Unpaid]);
        assert!(shown.refusals.iter().all(|it| it.team == Some(Team(TeamId([4; 24])))));
    }

    #[test]
    fn a_blocked_device_is_one_refusal_and_not_two() {
        let mut shown = Shown::default();
        shown.note_refusal("blocked", BLOCKED, true, START.time());
        let ended = SessionStatus { was_blocked: true, ..session(Some(Bytes(0))) };
        shown.note_end(&ended, Code::Refused, START.time());
        let refusals: Vec<_> = shown.refusals.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(refusals, ["This household does not serve this device."]);
    }

    #[test]
    fn a_session_is_found_by_its_name_and_by_no_other() {
        let (mut shown, mut rng) = (Shown::default(), StdRng::seed_from_u64(1));
        let sessions = [(address(), START), (address(), START.plus(1)), (address(), UnixSeconds(0))];
        for session in sessions {
            let (name, _) = shown.look(session, Bytes(0), &mut rng, START.plus(2).time());
            assert_eq!(shown.session(name.as_str().parse().unwrap()), Some(session));
        }
        assert_eq!(shown.session(GuestId(0)), None);
    }

    #[test]
    fn each_reason_is_a_whole_sentence() {
        for served_by in [
            ServedBy::Own,
            ServedBy::Owed,
            ServedBy::Chain,
            ServedBy::Allowance,
            ServedBy::Everybody,
            ServedBy::Receipts,
        ] {
            let sentence = reason(ServiceClass::Middle, served_by);
            assert!(sentence.starts_with("Served ") && sentence.ends_with('.'), "{sentence}");
        }
    }
}

//! What is asked about the records: of the program that runs, page by page, or of the file.

use super::keeper::RECORDS_MAX;
use super::{Keep, file};
use crate::access_point::socket;
use crate::control;
use guestright_clock::Clock;
use guestright_error::RunError;
use guestright_firewall::MacAddress;
use guestright_store::addresses::{
    AddressLimits, AddressRecord, Addresses, AddressesError, Forget, Moment, remove_addresses,
};
use guestright_units::{TeamId, UnixSeconds};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::path::Path;

/// A page has so many records.
const PAGE: usize = 1_024;
/// Fewer digits of a team's id name too many.
const DIGITS_MIN: usize = 8;

/// Which records are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Of sessions that were there in this second; nothing: of any time.
    pub at: Option<UnixSeconds>,
    /// Of this address; nothing: of any.
    pub ip: Option<Ipv4Addr>,
}

/// A question at the control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// And from which slot on.
    Find(Query, i64),
    /// What to forget, as a person writes it.
    Forget(String),
}

impl Question {
    /// `who AT|- ADDRESS|- SLOT` or `forget ADDRESS|TEAM|--all`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(which) = text.strip_prefix("forget ") {
            return Some(Self::Forget(which.trim().to_owned()));
        }
        let parts: Vec<_> = text.strip_prefix("who ")?.split(' ').collect();
        let [at, ip, slot] = parts[..] else { return None };
        let at = if at == "-" { None } else { Some(at.parse().ok()?) };
        let ip = if ip == "-" { None } else { Some(ip.parse().ok()?) };
        Some(Self::Find(Query { at, ip }, slot.parse().ok()?))
    }

    fn emit(&self) -> String {
        match self {
            Self::Find(Query { at, ip }, slot) => {
                let at = at.map_or_else(|| "-".to_owned(), |at| at.0.to_string());
                let ip = ip.map_or_else(|| "-".to_owned(), |ip| ip.to_string());
                format!("who {at} {ip} {slot}")
            }
            Self::Forget(which) => format!("forget {which}"),
        }
    }
}

/// The records that are wanted, as JSON, the oldest first. Those that are due are removed before, where no program runs.
///
/// # Errors
/// Nothing is kept, or the records cannot be read.
pub fn fetch(state: &Path, keep: Option<Keep>, query: Query) -> Result<Vec<Value>, RunError> {
    let (mut records, mut slot) = (Vec::new(), 0);
    let mut asked = Asked::new(state, keep);
    loop {
        let mut page = asked.ask(&Question::Find(query, slot))?;
        records.extend(page["records"].as_array_mut().map(std::mem::take).unwrap_or_default());
        match page["next"].as_i64() {
            Some(next) if next > slot => slot = next,
            _ => break,
        }
    }
    records.sort_by_key(|record| {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        (text("began"), text("ip"))
    });
    Ok(records)
}

/// Removes the records of an address, of a team, whose first digits are enough, or `--all`. Returns how many.
///
/// # Errors
/// Nothing is kept, what is named is neither, or the disk refuses.
pub fn forget(state: &Path, keep: Option<Keep>, which: &str) -> Result<u64, RunError> {
    let answer = Asked::new(state, keep).ask(&Question::Forget(which.to_owned()))?;
    Ok(answer["forgotten"].as_u64().unwrap_or_default())
}

/// Where questions are answered: by the program, or by the file if none runs.
struct Asked<'a> {
    state: &'a Path,
    keep: Option<Keep>,
    records: Option<Addresses>,
}

impl<'a> Asked<'a> {
    fn new(state: &'a Path, keep: Option<Keep>) -> Self {
        Self { state, keep, records: None }
    }

    fn ask(&mut self, question: &Question) -> Result<Value, RunError> {
        let answer = match &mut self.records {
            Some(records) => answer(records, question),
            None => match control::ask(&socket(self.state), &question.emit())? {
                Some(answer) => answer,
                None => self.ask_file(question)?,
            },
        };
        if answer.is_null() {
            let error =
                RunError::network("the access point has not answered: it ends, or has too much to do");
            return Err(error.with_hint("ask again in a moment"));
        }
        match answer["error"].as_str() {
            Some(error) => {
                let error = RunError::user(error.to_owned());
                Err(match answer["hint"].as_str() {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                })
            }
            None => Ok(answer),
        }
    }

    fn ask_file(&mut self, question: &Question) -> Result<Value, RunError> {
        let path = file(self.state);
        if !path.exists() {
            return Ok(match (self.keep, question) {
                (None, Question::Find(..)) => nothing_is_kept(),
                (_, Question::Forget(which)) => match Which::parse(which) {
                    Ok(_) => json!({ "forgotten": 0 }),
                    Err(answer) => answer,
                },
                (Some(_), Question::Find(..)) => json!({ "records": [] }),
            });
        }
        let all = Question::Forget("--all".to_owned());
        let Some(keep) = self.keep.filter(|_| *question != all) else {
            return self.remove(&path, question);
        };
        let limits = AddressLimits { keep_seconds: keep.seconds(), records_max: RECORDS_MAX };
        let now = Moment { wall: Clock::start().now().unix_seconds(), steady_seconds: 0 };
        let records = Addresses::open(&path, limits, now).map_err(RunError::network)?;
        Ok(answer(self.records.insert(records), question))
    }

    /// All of it, also where the file is damaged; and whatever is wanted where nothing is to be kept.
    fn remove(&self, path: &Path, question: &Question) -> Result<Value, RunError> {
        if matches!(question, Question::Find(..)) {
            return Ok(nothing_is_kept());
        }
        let limits = AddressLimits { keep_seconds: u64::MAX, records_max: RECORDS_MAX };
        let now = Moment { wall: UnixSeconds(0), steady_seconds: 0 };
        // It says how many there were, and that no program has them open.
        let count = match Addresses::open(path, limits, now) {
            Ok(records) => records.count(),
            Err(AddressesError::Damaged { .. }) => 0,
            Err(error) => return Err(RunError::network(error)),
        };
        remove_addresses(path).map_err(RunError::network)?;
        Ok(json!({ "forgotten": count }))
    }
}

pub(super) fn nothing_is_kept() -> Value {
    json!({
        "error": "it is not kept who had which address",
        "hint": "to keep it for a week from now on, write addresses = \"7d\" below [retention] in ap.toml",
    })
}

pub(super) fn cannot_be_read(trouble: Option<&str>) -> Value {
    json!({ "error": trouble.unwrap_or("the records cannot be read at this moment; try again in a minute") })
}

/// Answers from the file.
pub(super) fn answer(records: &mut Addresses, question: &Question) -> Value {
    let answered = match question {
        Question::Find(Query { at, ip }, slot) => {
            let found = records.find(*at, *ip, *slot, PAGE);
            found.map(|(found, next)| json!({ "records": found.iter().map(record).collect::<Vec<_>>(), "next": next }))
        }
        Question::Forget(which) => match Which::parse(which) {
            Ok(which) => which.forget(records),
            Err(answer) => Ok(answer),
        },
    };
    answered.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}

/// What a person wants to have forgotten.
enum Which {
    Exactly(Forget),
    /// The first digits of a team's id.
    TeamBegins(String),
}

impl Which {
    fn parse(text: &str) -> Result<Self, Value> {
        if text == "--all" {
            return Ok(Self::Exactly(Forget::All));
        }
        if let Ok(ip) = text.parse() {
            return Ok(Self::Exactly(Forget::Address(ip)));
        }
        if let Ok(team) = text.parse::<TeamId>() {
            return Ok(Self::Exactly(Forget::Team(team)));
        }
        if (DIGITS_MIN..48).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::TeamBegins(text.to_owned()));
        }
        Err(json!({
            "error": format!("{text} is neither an IPv4 address nor a team"),
            "hint": format!("a team is its 48 hexadecimal digits, or at least the first {DIGITS_MIN} of them"),
        }))
    }

    fn forget(self, records: &mut Addresses) -> Result<Value, AddressesError> {
        let which = match self {
            Self::Exactly(which) => which,
            Self::TeamBegins(digits) => {
                let mut teams = records.teams(&digits)?;
                match (teams.pop_first(), teams.is_empty()) {
                    (Some(team), true) => Forget::Team(team),
                    (None, _) => return Ok(json!({ "forgotten": 0 })),
                    (Some(_), false) => {
                        let error = format!("several teams begin with {digits}; write more of its digits");
                        return Ok(json!({ "error": error }));
                    }
                }
            }
        };
        records.forget(which).map(|count| json!({ "forgotten": count }))
    }
}

fn record(record: &AddressRecord) -> Value {
    let holder = &record.holder;
    let mac = holder.mac.and_then(|mac| MacAddress::new(mac).ok());
    json!({
        "ip": holder.ip.to_string(),
        "mac": mac.map(|mac| mac.to_string()),
        "team": holder.team.map(|team| team.to_string()),
        "member": holder.member.map(|member| member.to_string()),
        "by_tunnel": holder.by_tunnel,
        "began": record.began.to_string(),
        "ended": record.ended.map(|ended| ended.to_string()),
        "cut": record.is_cut,
        "carried": record.carried.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let at = Some(UnixSeconds(1_800_000_000));
        let ip = Some(Ipv4Addr::new(10, 11, 0, 21));
        for question in [
            Question::Find(Query { at, ip }, 5),
            Question::Find(Query::default(), 0),
            Question::Forget("--all".to_owned()),
        ] {
            assert_eq!(Question::parse(&question.emit()), Some(question));
        }
        for other in
            ["status", "who", "who x - 0", "who - x 0", "who - -", "who - - 0 0", "forget", "whoever - - 0"]
        {
            assert_eq!(Question::parse(other), None, "{other}");
        }
    }

    #[test]
    fn what_names_nobody_is_refused_and_few_digits_are() {
        for wrong in ["", "all", "10.11.0", "::1", "3f1c08a", "3f1c08ag", "* OR 1"] {
            let refused = Which::parse(wrong).err().expect(wrong);
            assert!(refused["hint"].as_str().unwrap().contains("first 8"), "{wrong}");
        }
    }
}

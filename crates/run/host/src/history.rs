//! The past of a home, page by page: from the program that has its store open, over its control socket, or from a store that
//! no program has open.
//!
//! Nobody else waits for it longer than a page takes. A page over the socket costs the store's thread some ten milliseconds; the
//! file is opened anew for each page, so that a home that starts meanwhile finds it free at the next attempt.

use crate::{control, home};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_credit::{HoldId, HoldState};
use guestright_error::RunError;
use guestright_identity::MemberId;
use guestright_receipt::SessionKey;
use guestright_store::{Arrival, ClosedStore, Store, StoreError, WriterHandle};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::sync::oneshot;

/// What a page is asked for with: `history sessions NUMBER`, `history holds NAME`.
pub(crate) const QUESTION: &str = "history";
/// A page over the socket has so many rows…
const PAGE: usize = 2_048;
/// …and one from the file.
const FILE_PAGE: usize = 16_384;
/// A session's number, when it came, key, consumer, weight and what of it was on holds.
const SESSION_LEN: usize = 8 + 8 + 56 + 24 + 8 + 8;
/// A hold's session, end, neighbours on the path, amount and what of it was used.
const HOLD_LEN: usize = 56 + 8 + 24 + 24 + 8 + 8;
/// In the place of a neighbour, where there is none.
const NOBODY: TeamId = TeamId([0; 24]);

/// A hold that was settled, as a home on its path sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledHold {
    pub session: SessionKey,
    pub end: UnixSeconds,
    /// Who owes us, and whom we owe, on its path.
    pub previous: Option<TeamId>,
    pub next: Option<TeamId>,
    pub amount: Bytes,
    pub used: Bytes,
}

/// Where a home's past is.
#[derive(Clone, Debug)]
pub struct History {
    socket: PathBuf,
    store: PathBuf,
    team: TeamId,
}

/// Sessions, and where the next page begins; nothing after the last.
type Page<T> = (Vec<T>, Option<String>);

impl History {
    /// That of the home of `team` with this state directory.
    pub fn of_home(state: &Path, team: TeamId) -> Self {
        Self { socket: home::socket(state), store: state.join(home::STORE), team }
    }

    /// How many sessions have become known so far, those that are kept no more among them.
    ///
    /// # Errors
    /// The home does not answer, or the store cannot be read.
    pub fn last_arrival(&self) -> Result<i64, RunError> {
        match control::ask(&self.socket, &format!("{QUESTION} last"))? {
            Some(answer) => number(&checked(answer)?["last"]).ok_or_else(no_history),
            None => {
                let closed = ClosedStore::open(&self.store).map_err(RunError::network)?;
                closed.last_arrival().map_err(RunError::network)
            }
        }
    }

    /// All sessions in the order in which they became known, until `show` says no.
    ///
    /// # Errors
    /// The home does not answer, the store cannot be read, or what `show` says.
    pub fn for_each_session(
        &self,
        mut show: impl FnMut(Arrival) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut after = 0;
        loop {
            let page = match control::ask(&self.socket, &format!("{QUESTION} sessions {after}"))? {
                Some(answer) => rows(&checked(answer)?, SESSION_LEN, read_session)?,
                None => {
                    let closed = ClosedStore::open(&self.store).map_err(RunError::network)?;
                    closed.arrivals_after(after, FILE_PAGE).map_err(RunError::network)?
                }
            };
            let Some(last) = page.last() else { return Ok(()) };
            after = last.number;
            page.into_iter().try_for_each(&mut show)?;
        }
    }

    /// The holds that were settled and are remembered. There are as many as a home remembers, some ten thousands at most.
    ///
    /// # Errors
    /// The home does not answer, or the store cannot be read.
    pub fn settled_holds(&self) -> Result<Vec<SettledHold>, RunError> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let (page, next) =
                match control::ask(&self.socket, format!("{QUESTION} holds {after}").trim_end())? {
                    Some(answer) => {
                        let answer = checked(answer)?;
                        (rows(&answer, HOLD_LEN, read_hold)?, answer["next"].as_str().map(str::to_owned))
                    }
                    None => self.holds_of_file(&after)?,
                };
            all.extend(page);
            match next {
                Some(next) if next != after => after = next,
                _ => return Ok(all),
            }
        }
    }

    fn holds_of_file(&self, after: &str) -> Result<Page<SettledHold>, RunError> {
        let closed = ClosedStore::open(&self.store).map_err(RunError::network)?;
        let found = closed.settled_holds_after(hold_id(after), FILE_PAGE).map_err(RunError::network)?;
        let next = found.last().filter(|_| found.len() == FILE_PAGE).map(|(id, _)| STANDARD.encode(id.0));
        Ok((found.iter().filter_map(|(_, hold)| paid(hold, self.team)).collect(), next))
    }
}

/// Answers a question for a page; `words` is what follows the first one.
pub(crate) fn answer(store: &WriterHandle, team: TeamId, words: &str, reply: oneshot::Sender<Value>) {
    let words = words.to_owned();
    let job = move |store: &mut Store| {
        let answer = page(store, team, &words).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        let _ = reply.send(answer); // The asker may have gone.
    };
    if let Err(error) = store.run(job) {
        tracing::warn!(%error, "the store is too busy to be asked");
    }
}

fn page(store: &Store, team: TeamId, words: &str) -> Result<Value, StoreError> {
    let (what, after) = words.split_once(' ').unwrap_or((words, ""));
    match what {
        "last" => Ok(json!({ "last": store.last_arrival()? })),
        "sessions" => {
            let found = store.arrivals_after(after.parse().unwrap_or(0), PAGE)?;
            Ok(json!({ "rows": STANDARD.encode(found.iter().flat_map(write_session).collect::<Vec<_>>()) }))
        }
        "holds" => {
            let found = store.settled_holds_after(hold_id(after), PAGE)?;
            let next = found.last().filter(|_| found.len() == PAGE).map(|(id, _)| STANDARD.encode(id.0));
            let paid =
                found.iter().filter_map(|(_, hold)| paid(hold, team)).flat_map(|hold| write_hold(&hold));
            Ok(json!({ "rows": STANDARD.encode(paid.collect::<Vec<_>>()), "next": next }))
        }
        _ => Ok(json!({ "error": "the history is of: last, sessions NUMBER, holds NAME" })),
    }
}

fn paid(hold: &guestright_credit::Hold, team: TeamId) -> Option<SettledHold> {
    let HoldState::Settled { used, .. } = hold.state else { return None };
    let path: Vec<_> = hold.terms.path().collect();
    let index = path.iter().position(|other| *other == team)?;
    let previous = index.checked_sub(1).and_then(|before| path.get(before)).copied();
    let (next, terms) = (path.get(index + 1).copied(), &hold.terms);
    Some(SettledHold { session: hold.session, end: terms.end, previous, next, amount: terms.amount, used })
}

fn checked(answer: Value) -> Result<Value, RunError> {
    match answer["error"].as_str() {
        Some(error) => Err(RunError::network(format!("the running home does not show its history: {error}"))
            .with_hint("a home that was started before an update does not know how: restart it")),
        None if answer.is_null() => Err(RunError::network("the home ended while it was asked; try again")),
        None => Ok(answer),
    }
}

fn no_history() -> RunError {
    RunError::network("the running home's history cannot be read")
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64()
}

fn rows<T>(answer: &Value, len: usize, read: fn(&mut Reader<'_>) -> Option<T>) -> Result<Vec<T>, RunError> {
    let bytes = answer["rows"].as_str().and_then(|text| STANDARD.decode(text).ok()).ok_or_else(no_history)?;
    if bytes.len() % len != 0 {
        return Err(no_history());
    }
    bytes.chunks_exact(len).map(|row| read(&mut Reader(row)).ok_or_else(no_history)).collect()
}

fn write_key(session: &SessionKey) -> Vec<u8> {
    [session.provider.0.as_slice(), &session.started.0.to_be_bytes(), &session.member.0].concat()
}

fn write_session(arrival: &Arrival) -> Vec<u8> {
    let Arrival { number, at, session, consumer, weight, on_holds } = arrival;
    let (number, at) = (number.to_be_bytes(), at.0.to_be_bytes());
    let (weight, on_holds) = (weight.0.to_be_bytes(), on_holds.0.to_be_bytes());
    [number.as_slice(), &at, &write_key(session), &consumer.0, &weight, &on_holds].concat()
}

fn write_hold(hold: &SettledHold) -> Vec<u8> {
    let SettledHold { session, end, previous, next, amount, used } = hold;
    let [previous, next] = [previous, next].map(|team| team.unwrap_or(NOBODY).0);
    let (end, amount, used) = (end.0.to_be_bytes(), amount.0.to_be_bytes(), used.0.to_be_bytes());
    [write_key(session).as_slice(), &end, &previous, &next, &amount, &used].concat()
}

/// Reads fields of a known length, one after the other.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    fn key(&mut self) -> Option<SessionKey> {
        let provider = TeamId(self.bytes()?);
        let started = UnixSeconds(self.number()?);
        Some(SessionKey { provider, started, member: MemberId(self.bytes()?) })
    }

    fn neighbour(&mut self) -> Option<Option<TeamId>> {
        let team = TeamId(self.bytes()?);
        Some((team != NOBODY).then_some(team))
    }
}

fn read_session(row: &mut Reader<'_>) -> Option<Arrival> {
    Some(Arrival {
        number: row.number()?.cast_signed(),
        at: UnixSeconds(row.number()?),
        session: row.key()?,
        consumer: TeamId(row.bytes()?),
        weight: Bytes(row.number()?),
        on_holds: Bytes(row.number()?),
    })
}

fn read_hold(row: &mut Reader<'_>) -> Option<SettledHold> {
    Some(SettledHold {
        session: row.key()?,
        end: UnixSeconds(row.number()?),
        previous: row.neighbour()?,
        next: row.neighbour()?,
        amount: Bytes(row.number()?),
        used: Bytes(row.number()?),
    })
}

fn hold_id(text: &str) -> Option<HoldId> {
    STANDARD.decode(text).ok()?.try_into().ok().map(HoldId)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionKey {
        SessionKey { provider: TeamId([1; 24]), member: MemberId([2; 24]), started: UnixSeconds(3) }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let arrival = Arrival {
            number: 7,
            at: UnixSeconds(8),
            session: session(),
            consumer: TeamId([9; 24]),
            weight: Bytes(u64::MAX),
            on_holds: Bytes(11),
        };
        let answer = json!({ "rows": STANDARD.encode(write_session(&arrival).repeat(2)) });
        assert_eq!(rows(&answer, SESSION_LEN, read_session).unwrap(), [arrival, arrival]);
        let (previous, next) = (None, Some(TeamId([4; 24])));
        let (amount, used) = (Bytes(100), Bytes(99));
        let hold = SettledHold { session: session(), end: UnixSeconds(5), previous, next, amount, used };
        let answer = json!({ "rows": STANDARD.encode(write_hold(&hold)) });
        assert_eq!(rows(&answer, HOLD_LEN, read_hold).unwrap(), [hold]);
        for wrong in [json!({}), json!({ "rows": "*" }), json!({ "rows": "AAAA" })] {
            rows(&wrong, SESSION_LEN, read_session).unwrap_err();
        }
    }
}

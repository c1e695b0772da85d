//! What a home counts, and what it says when somebody asks for its metrics (design note 0015).
//!
//! Nothing is gathered while nobody asks; what the loop counts meanwhile costs it an addition.

use super::overview::{LookAtTunnels, ask_calls, calls_of, members};
use super::{FromStore, Loop};
use guestright_credit::Account;
use guestright_metrics::{
    Buckets, CreditFigures, Decisions, HomeFigures, OwnCertificate, Receipts, StoreFigures, TunnelBytes,
    Waits,
};
use guestright_overview::Call;
use guestright_reciprocity::Verdict;
use guestright_roaming::home::{Event, Peer, Stored};
use guestright_roaming::message::Reference;
use guestright_store::{Store, WriterHandle};
use guestright_units::{Bytes, Micros, Time, UnixSeconds};
use rustix::fs::statvfs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Somebody who waits for figures.
pub(super) type Asked = oneshot::Sender<HomeFigures>;
/// How many may wait.
pub(super) const ASKED_MAX: usize = 4;
/// The store and the exchange usually answer within milliseconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// A question that was answered no sooner was given up by the access point.
const DECIDED_WITHIN: Micros = Micros::from_seconds(30);
/// As many as access points may have open, with room to spare.
const QUESTIONS_MAX: usize = 1_024;
/// The reference stands in one of the first headers.
const HEAD_BYTES: usize = 256;

/// What is counted while the home runs.
#[derive(Debug)]
pub(super) struct Counts {
    decisions: Decisions,
    questions: Waits<(Peer, Reference)>,
    decided_in: Buckets,
    receipts: Receipts,
    sessions_paid: u64,
    sessions_unpaid: u64,
    unpaid_bytes: u64,
    errors_receipts: u64,
    errors_accounts: u64,
    receipts_max: u64,
}

impl Counts {
    pub(super) fn new(receipts_max: u64) -> Self {
        Self {
            decisions: Decisions::default(),
            questions: Waits::new(QUESTIONS_MAX, DECIDED_WITHIN),
            decided_in: Buckets::decisions(),
            receipts: Receipts::default(),
            sessions_paid: 0,
            sessions_unpaid: 0,
            unpaid_bytes: 0,
            errors_receipts: 0,
            errors_accounts: 0,
            receipts_max,
        }
    }

    /// A program of the team has sent something.
    pub(super) fn note_received(&mut self, peer: Peer, message: &[u8], now: Time) {
        if message.starts_with(b"QUER ")
            && let Some(reference) = reference(message)
        {
            self.questions.begin((peer, reference), now);
        }
    }

    /// A program of the team is sent something.
    pub(super) fn note_sent(&mut self, peer: Peer, message: &[u8], now: Time) {
        let is_answer = message.starts_with(b"QRSP ") || message.starts_with(b"ERRO ");
        if is_answer
            && let Some(reference) = reference(message)
            && let Some(took) = self.questions.end(&(peer, reference), now)
        {
            self.decided_in.observe(took);
        }
    }

    /// The machine wants something to be done.
    pub(super) fn note_event(&mut self, event: &Event) {
        if let Event::Finished { unpaid, .. } = event {
            self.note_finished(*unpaid);
        }
        let is_served = if let Event::Begun { is_let_in, .. } = event {
            *is_let_in
        } else if let Event::Decided { decision, .. } = event {
            decision.verdict != Verdict::Refused
        } else {
            return;
        };
        *(if is_served { &mut self.decisions.served } else { &mut self.decisions.refused }) += 1;
    }

    /// A session is over; so much of it is unsigned.
    fn note_finished(&mut self, unpaid: Bytes) {
        *(if unpaid.0 == 0 { &mut self.sessions_paid } else { &mut self.sessions_unpaid }) += 1;
        self.unpaid_bytes += unpaid.0;
    }

    /// The store has answered.
    pub(super) fn note_store(&mut self, answer: &FromStore) {
        match answer {
            FromStore::Stored(_, Ok(report)) => {
                for outcome in &report.outcomes {
                    match super::stored(outcome) {
                        Stored::Added => self.receipts.added += 1,
                        Stored::Known => self.receipts.known += 1,
                        Stored::Lower => self.receipts.lower += 1,
                    }
                }
            }
            FromStore::Stored(_, Err(_)) => {
                self.receipts.failed += 1;
                self.errors_receipts += 1;
            }
            FromStore::Fetched(..) | FromStore::Kept(..) => {}
        }
    }

    /// Accounts could not be kept.
    pub(super) fn note_unkept(&mut self) {
        self.errors_accounts += 1;
    }
}

/// The number by which a question and its answer know each other.
fn reference(message: &[u8]) -> Option<Reference> {
    let head = message.get(..HEAD_BYTES).unwrap_or(message);
    let lines = head.split(|byte| *byte == b'\n').take_while(|line| *line != b"\r");
    let value = lines.filter_map(|line| line.strip_prefix(b"Reference: ")).next()?;
    std::str::from_utf8(value).ok()?.trim_end().parse().ok()
}

/// The next one who asks; for ever if nobody can.
pub(super) async fn next(asked: &mut mpsc::Receiver<Asked>) -> Asked {
    match asked.recv().await {
        Some(reply) => reply,
        None => std::future::pending().await,
    }
}

/// Says what the loop knows; a task adds what others have to be asked for.
pub(super) fn answer(this: &mut Loop, reply: Asked) {
    if cfg!(not(feature = "metrics")) {
        return; // Nobody can ask.
    }
    let figures = figures(this);
    let calls = this.exchange.as_ref().map(ask_calls);
    let tunnels = this.gateway.as_ref().map(super::gateway::Gateway::look_at_tunnels);
    let (store, receipts_max) = (this.store.clone(), this.counts.receipts_max);
    tokio::spawn(async move {
        let (store, calls, tunnelled) =
            tokio::join!(look_at_store(&store, receipts_max), count_calls(calls), add_tunnels(tunnels));
        let (calls, call_scores) = calls.unzip();
        // The asker may have gone.
        let _ = reply.send(HomeFigures { store, calls, call_scores, tunnelled, ..figures });
    });
}

fn figures(this: &mut Loop) -> HomeFigures {
    let now = this.clock.now();
    let certificate = this.renewing.certificate();
    let own = OwnCertificate {
        not_before: certificate.not_before(),
        not_after: certificate.not_after(),
        now: now.unix_seconds(),
    };
    let (phone_not_after, member_not_after) = first_ends(this, now.unix_seconds());
    let credit = credit(this, now);
    let counts = &this.counts;
    HomeFigures {
        version: env!("CARGO_PKG_VERSION"),
        certificate: own,
        access_points: count(
            this.server.peers().filter(|(_, role, _)| *role == guestright_identity::Role::AccessPoint),
        ),
        links_up: this.neighbours.as_ref().map_or(0, |neighbours| {
            let teams: std::collections::BTreeSet<_> =
                neighbours.addresses().into_iter().map(|known| known.team).collect();
            count(teams.into_iter().filter(|team| neighbours.is_up(*team)))
        }),
        tunnels: this.gateway.as_ref().map_or(0, |gateway| count(gateway.members())),
        decisions: counts.decisions,
        decided_in: Some(counts.decided_in.clone()),
        refused: this.overviews.refusals_counted().clone(),
        messages_refused: this.server.refusals().clone(),
        receipts: counts.receipts,
        sessions_paid: counts.sessions_paid,
        sessions_unpaid: counts.sessions_unpaid,
        unpaid_bytes: counts.unpaid_bytes,
        store_errors_receipts: counts.errors_receipts,
        store_errors_accounts: counts.errors_accounts,
        unkept: this.keeper.unkept(),
        credit,
        phone_not_after,
        member_not_after,
        ..HomeFigures::default()
    }
}

fn credit(this: &mut Loop, now: Time) -> Option<CreditFigures> {
    let (left, per_day) = this.server.allowance(now)?;
    let accounts = this.server.accounts()?;
    let sum =
        |of: fn(Account) -> u64| accounts.iter().map(|(_, account)| of(account)).fold(0, u64::saturating_add);
    Some(CreditFigures {
        accounts: count(accounts.iter()),
        owed_by_us: sum(|account| account.net().max(0).unsigned_abs()),
        owed_to_us: sum(|account| account.net().min(0).unsigned_abs()),
        held: sum(|account| account.held.0),
        holds_open: count(this.server.holds().filter(|(_, hold)| hold.state.is_held())),
        overdrawn: accounts.overdrawn().0,
        overdraft_max: accounts.overdraft().total.0,
        sponsored: this.server.sponsored().map(|(_, left)| left.0).fold(0, u64::saturating_add),
        allowance_left: left.0,
        allowance_max: per_day.0,
    })
}

/// When the first certificate ends of a phone, and of another member: of those that hold now.
fn first_ends(this: &Loop, now: UnixSeconds) -> (Option<UnixSeconds>, Option<UnixSeconds>) {
    let members = members(this, now);
    let revoked = this.server.own_revocations();
    let phones = members.iter().filter_map(|member| member.phone.as_ref());
    let phones = phones.filter(|phone| phone.revoked.is_none()).filter_map(|phone| phone.not_after);
    let others = members.iter().filter(|member| revoked.is_none_or(|list| !list.contains_key(&member.key)));
    let others = others.filter_map(|member| member.not_after);
    (phones.filter(|end| *end > now).min(), others.filter(|end| *end > now).min())
}

fn count<T>(of: impl Iterator<Item = T>) -> u64 {
    u64::try_from(of.count()).unwrap_or(u64::MAX)
}

async fn look_at_store(store: &WriterHandle, receipts_max: u64) -> Option<StoreFigures> {
    let (reply, answer) = oneshot::channel();
    let look = move |store: &mut Store| {
        let (bytes, free_bytes) = sizes(store.path());
        // The asker may have gone.
        let _ = reply.send(StoreFigures { receipts: store.count(), receipts_max, bytes, free_bytes });
    };
    store.run(look).ok()?;
    timeout(ANSWER_WITHIN, answer).await.ok()?.ok()
}

/// How large the store's files are, and what their file system has room for.
fn sizes(path: &Path) -> (u64, u64) {
    // SQLite's write-ahead log, and its index (sqlite.org/walformat.html).
    let beside = ["", "-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    });
    let bytes = beside.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    let free = statvfs(path).map_or(0, |system| system.f_bavail.saturating_mul(system.f_frsize));
    (bytes, free)
}

/// What all tunnels carried: nothing without a gateway. `None` where WireGuard does not answer.
async fn add_tunnels(look: Option<LookAtTunnels>) -> Option<TunnelBytes> {
    let mut sum = TunnelBytes::default();
    let Some(look) = look else { return Some(sum) };
    let looked = timeout(ANSWER_WITHIN, tokio::task::spawn_blocking(look)).await;
    for tunnel in looked.ok()?.ok()?.values() {
        sum.received = sum.received.saturating_add(tunnel.received.0);
        sum.sent = sum.sent.saturating_add(tunnel.sent.0);
    }
    Some(sum)
}

/// How many calls there are, and how those were that are over: none without an exchange. All phases stand there.
async fn count_calls(
    calls: Option<oneshot::Receiver<Value>>,
) -> Option<(BTreeMap<&'static str, u64>, Buckets)> {
    let Some(calls) = calls else { return Some((by_phase(&[]), Buckets::scores())) };
    let status = timeout(ANSWER_WITHIN, calls).await.ok()?.ok()?;
    Some((by_phase(&calls_of(&status)), scores(&status)))
}

/// What members' telephones have said of calls that are over.
fn scores(status: &Value) -> Buckets {
    let mut buckets = Buckets::scores();
    for score in status["voice"]["scores"].as_array().into_iter().flatten() {
        let hundredths = score[0].as_u64().and_then(|hundredths| u16::try_from(hundredths).ok());
        if let (Some(hundredths), Some(calls)) = (hundredths, score[1].as_u64()) {
            buckets.observe_scores(hundredths, calls);
        }
    }
    buckets
}

fn by_phase(calls: &[Call]) -> BTreeMap<&'static str, u64> {
    use guestright_overview::Phase::{Allocating, Calling, Finding, Up};
    let phases = [("finding", Finding), ("allocating", Allocating), ("calling", Calling), ("up", Up)];
    phases.map(|(name, phase)| (name, count(calls.iter().filter(|call| call.phase == phase)))).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_store::StoreError;

    const MESSAGE: &[u8] = b"QUER P2PWNC/3.0\r\nReference: 7\r\nRequest: 0\r\n\r\nReference: 8\r\n";

    #[test]
    fn a_question_and_its_answer_are_known_by_their_number() {
        assert_eq!(reference(MESSAGE), Some(7));
        assert_eq!(reference(b"QRSP P2PWNC/3.0\r\n\r\nReference: 8\r\n"), None, "that is no header");
        assert_eq!(reference(b"QRSP P2PWNC/3.0\r\nReference: x\r\n\r\n"), None);
        let mut counts = Counts::new(10);
        let at = |millis: u64| Time(1_000_000 + millis * 1_000);
        counts.note_received(1, MESSAGE, at(0));
        counts.note_sent(2, b"QRSP P2PWNC/3.0\r\nReference: 7\r\n\r\n", at(3));
        assert_eq!(counts.decided_in.count(), 0, "another peer's number is another one");
        counts.note_sent(1, b"QRSP P2PWNC/3.0\r\nReference: 7\r\n\r\n", at(4));
        counts.note_sent(1, b"QRSP P2PWNC/3.0\r\nReference: 7\r\n\r\n", at(900));
        assert_eq!(counts.decided_in.count(), 1, "a second answer to it says that more is reserved");
        assert!((counts.decided_in.sum() - 0.004).abs() < 1e-9);
    }

    #[test]
    fn what_the_store_answers_is_counted() {
        let mut counts = Counts::new(10);
        counts.note_store(&FromStore::Stored(1, Err(StoreError::Stopped)));
        counts.note_unkept();
        assert_eq!((counts.receipts.failed, counts.errors_receipts, counts.errors_accounts), (1, 1, 1));
        counts.note_finished(Bytes(0));
        counts.note_finished(Bytes(9));
        assert_eq!((counts.sessions_paid, counts.sessions_unpaid, counts.unpaid_bytes), (1, 1, 9));
    }

    #[test]
    fn a_store_has_a_size_and_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipts.sqlite");
        std::fs::write(&path, [0; 100]).unwrap();
        std::fs::write(folder.path().join("receipts.sqlite-wal"), [0; 20]).unwrap();
        let (bytes, free) = sizes(&path);
        assert_eq!(bytes, 120);
        assert!(free > 0);
    }
}

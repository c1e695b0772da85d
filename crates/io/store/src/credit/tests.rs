use super::*;
use crate::sample::{Member, NOW, old_format, store};
use crate::{Limits, Store, Writer, WriterLimits, schema};
use guestright_credit::{
    Account, Accounted, Config, Hold, HoldId, HoldState, HoldUse, Holds, Message, Proof, Signed, Terms,
};
use guestright_identity::MemberId;
use guestright_receipt::SessionKey;
use guestright_units::{Bytes, TeamId, Time};
use proptest::prelude::*;
use rusqlite::Connection;
use std::sync::mpsc::channel;

fn team(number: u8) -> TeamId {
    TeamId([number; 24])
}

fn session(number: u8) -> SessionKey {
    SessionKey { provider: team(1), member: MemberId([number; 24]), started: NOW }
}

fn terms(nonce: u8) -> Terms {
    let (provider, between, consumer) = (team(1), vec![team(2), team(3)], team(4));
    Terms { provider, between, consumer, amount: Bytes(1_000_000), end: NOW.plus(60), nonce: [nonce; 16] }
}

fn write(changes: Vec<Change>) -> Write {
    Write { token: 1, changes }
}

fn keep(store: &mut Store, changes: Vec<Change>) {
    store.keep_credit(&write(changes)).unwrap();
}

fn every_state() -> Vec<HoldState> {
    let proof = Proof { receipt: vec![1, 2], certificate: vec![] };
    vec![
        HoldState::Asked,
        HoldState::Good,
        HoldState::Ended,
        HoldState::Settled { used: Bytes(0), owed: None },
        HoldState::Settled { used: Bytes(0), owed: Some(None) },
        HoldState::Settled { used: Bytes(7), owed: Some(Some(proof)) },
        HoldState::Settled { used: Bytes(7), owed: None },
    ]
}

#[test]
fn a_new_store_keeps_no_credit() {
    let (_directory, store) = store(10);
    let credit = store.credit().unwrap();
    assert!(
        credit.kept.accounts.is_empty() && credit.kept.holds.is_empty() && credit.kept.sessions.is_empty()
    );
    assert_eq!((credit.kept.sessions_since, credit.allowance), (UnixSeconds(0), None));
}

#[test]
fn holds_in_every_state_are_read_as_they_were_kept() {
    let (_directory, mut store) = store(10);
    for (state, nonce) in every_state().into_iter().zip(0..) {
        let direct = Terms { between: vec![], ..terms(nonce) };
        for terms in [terms(nonce), direct] {
            let hold = Hold { terms, session: session(nonce), state: state.clone() };
            let id = hold.terms.id();
            keep(&mut store, vec![Change::Hold(id, Some(hold.clone()))]);
            assert_eq!(store.credit().unwrap().kept.holds, [hold]);
            keep(&mut store, vec![Change::Hold(id, None)]);
            assert!(store.credit().unwrap().kept.holds.is_empty());
        }
    }
}

#[test]
fn one_hold_goes_through_every_state() {
    let (_directory, mut store) = store(10);
    for state in every_state() {
        let hold = Hold { terms: terms(1), session: session(1), state };
        keep(&mut store, vec![Change::Hold(hold.terms.id(), Some(hold.clone()))]);
        assert_eq!(store.credit().unwrap().kept.holds, [hold]);
    }
}

#[test]
fn accounts_sessions_and_marks_are_read_as_they_were_kept() {
    let (_directory, mut store) = store(10);
    let most = Bytes(u64::MAX);
    let hold = Some(HoldId([5; 24]));
    let far = SessionKey { started: UnixSeconds(u64::MAX), ..session(2) };
    let accounts = [
        (team(1), Account { owed: i64::MIN, allowance_debt: most, given: Bytes(1 << 63), held: Bytes(0) }),
        (team(2), Account { owed: i64::MAX, ..Account::default() }),
    ];
    let sessions = [
        (session(1), Accounted { weight: Bytes(9), hold: None, on_holds: Bytes(4) }),
        (session(2), Accounted { weight: most, hold, on_holds: most }),
    ];
    for since in [NOW, UnixSeconds(u64::MAX)] {
        let mut changes: Vec<_> = accounts.map(|(team, account)| Change::Account(team, Some(account))).into();
        changes.extend(sessions.map(|(session, accounted)| Change::Session(session, Some(accounted))));
        changes.extend([Change::SessionsSince(since), Change::Session(far, Some(Accounted::default()))]);
        keep(&mut store, changes);
        let kept = store.credit().unwrap().kept;
        assert_eq!((kept.accounts.as_slice(), kept.sessions_since), (accounts.as_slice(), since));
        // A start beyond all dates is kept as a negative number, and listed first.
        assert_eq!(kept.sessions[0], (far, Accounted::default()));
        assert_eq!(kept.sessions[1..], sessions);
    }
    keep(&mut store, vec![Change::Account(team(1), None), Change::Session(session(2), None)]);
    let kept = store.credit().unwrap().kept;
    assert_eq!((kept.accounts, kept.sessions.len()), (accounts[1..].to_vec(), 2));
}

#[test]
fn the_allowance_is_read_as_it_was_kept() {
    let (_directory, mut store) = store(10);
    for (left, at) in [(5, 7), (0, u64::MAX), (u64::MAX, 0)] {
        let state = AllowanceState { left: Bytes(left), at: Time(at) };
        keep(&mut store, vec![Change::Allowance(state)]);
        assert_eq!(store.credit().unwrap().allowance, Some(state));
    }
}

#[test]
fn what_is_left_for_a_sponsored_team_is_read_as_it_was_kept() {
    let (_directory, mut store) = store(10);
    let changes = [(1, 5), (2, u64::MAX), (1, 4), (3, 9), (3, 0)];
    keep(&mut store, changes.map(|(number, left)| Change::Sponsored(team(number), Bytes(left))).to_vec());
    assert_eq!(store.credit().unwrap().sponsored, [(team(1), Bytes(4)), (team(2), Bytes(u64::MAX))]);
}

#[test]
fn a_write_that_fails_leaves_nothing_of_itself() {
    let (_directory, mut store) = store(10);
    let account = Some(Account { owed: 1, ..Account::default() });
    store
        .connection
        .execute_batch(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON hold BEGIN SELECT RAISE(ABORT, 'no room'); END",
        )
        .unwrap();
    let hold = Hold { terms: terms(1), session: session(1), state: HoldState::Asked };
    let changes = vec![Change::Account(team(9), account), Change::Hold(hold.terms.id(), Some(hold))];
    assert!(store.keep_credit(&write(changes)).is_err());
    let kept = store.credit().unwrap().kept;
    assert!(kept.accounts.is_empty() && kept.holds.is_empty());
}

#[test]
fn a_bit_that_fell_over_in_any_column_is_found() {
    let (_directory, mut store) = store(10);
    let proof = Proof { receipt: vec![1, 2], certificate: vec![3] };
    let state = HoldState::Settled { used: Bytes(7), owed: Some(Some(proof)) };
    let hold = Hold { terms: terms(1), session: session(1), state };
    let accounted = Accounted { weight: Bytes(9), hold: Some(HoldId([5; 24])), on_holds: Bytes(4) };
    keep(
        &mut store,
        vec![
            Change::Account(team(1), Some(Account { owed: 5, ..Account::default() })),
            Change::Hold(hold.terms.id(), Some(hold)),
            Change::Session(session(1), Some(accounted)),
            Change::SessionsSince(NOW),
            Change::Sponsored(team(1), Bytes(3)),
        ],
    );
    assert_eq!(store.integrity_check(), Ok(()));
    for table in ["account", "hold", "accounted", "credit", "sponsored"] {
        let columns: Vec<(String, String)> = store
            .connection
            .prepare("SELECT name, type FROM pragma_table_info(?)")
            .unwrap()
            .query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(columns.len() >= 3, "{table}");
        for (column, kind) in columns {
            let other = match (kind.as_str(), column.as_str()) {
                ("INTEGER", "state") => "3".to_owned(),
                ("INTEGER", _) => format!("{column} + 4096"),
                ("TEXT", _) => "'allowance'".to_owned(),
                _ => format!("randomblob(length({column}))"),
            };
            store.connection.execute_batch(&format!("BEGIN; UPDATE {table} SET {column} = {other}")).unwrap();
            assert!(matches!(store.credit(), Err(StoreError::Damaged { .. })), "{table}.{column}");
            assert!(store.integrity_check().is_err(), "{table}.{column}");
            store.connection.execute_batch("ROLLBACK").unwrap();
        }
    }
    assert!(store.credit().is_ok());
}

#[test]
fn no_receipt_that_comes_makes_an_account_go() {
    let (_directory, mut store) = store(2);
    let account = Account { owed: 5, ..Account::default() };
    let hold = Hold { terms: terms(1), session: session(1), state: HoldState::Good };
    let id = hold.terms.id();
    keep(
        &mut store,
        vec![
            Change::Account(team(1), Some(account)),
            Change::Hold(id, Some(hold)),
            Change::Session(session(1), Some(Accounted::default())),
        ],
    );
    let receipts: Vec<_> = (0..50).map(|number| Member::new(1).item(9, NOW.plus(number), 1)).collect();
    store.put(&receipts, NOW).unwrap();
    let kept = store.credit().unwrap().kept;
    assert_eq!((kept.accounts.len(), kept.holds.len(), kept.sessions.len()), (1, 1, 1));
    assert_eq!(store.count(), 2);
}

#[test]
fn writes_share_a_commit_with_receipts_and_are_answered_in_order() {
    let (_directory, store) = store(10);
    let writer = Writer::start(store, WriterLimits { queue_max: 8, group_max: 100 }).unwrap();
    let (release, wait) = channel::<()>();
    let (started, starts) = channel();
    let hold_up = move |_: &mut Store| {
        started.send(()).unwrap();
        let _ = wait.recv();
    };
    writer.handle().run(hold_up).unwrap();
    starts.recv().unwrap();
    let (answer, answers) = channel();
    let handle = writer.handle();
    for number in 1..=3 {
        let owed = Some(Account { owed: number, ..Account::default() });
        let (reply, put) = (answer.clone(), answer.clone());
        let items = vec![Member::new(1).item(9, NOW, number.unsigned_abs())];
        handle.put(items, NOW, move |report| put.send((0, report.is_ok())).unwrap()).unwrap();
        let changes = vec![Change::Account(team(1), owed)];
        handle.keep(write(changes), move |kept| reply.send((number, kept.is_ok())).unwrap()).unwrap();
    }
    let reply = answer.clone();
    let state = AllowanceState { left: Bytes(1), at: Time(2) };
    let changes = vec![Change::Allowance(state)];
    handle.keep(write(changes), move |kept| reply.send((4, kept.is_ok())).unwrap()).unwrap();
    let reply = answer.clone();
    handle.keep(write(vec![]), move |kept| reply.send((5, kept.is_ok())).unwrap()).unwrap();
    let never = |_| panic!("a refused request is not answered");
    assert_eq!(handle.keep(write(vec![]), never), Err(StoreError::Busy { queue_max: 8 }));
    drop((release, answer));
    let kept: Vec<_> = answers.iter().filter(|(number, _)| *number > 0).collect();
    assert_eq!(kept, [(1, true), (2, true), (3, true), (4, true), (5, true)]);
    let store = writer.stop().unwrap();
    let credit = store.credit().unwrap();
    assert_eq!((credit.kept.accounts[0].1.owed, credit.allowance), (3, Some(state)));
    assert_eq!(handle.keep(write(vec![]), never), Err(StoreError::Stopped));
}

#[test]
fn no_write_is_kept_after_one_that_was_not() {
    let (_directory, store) = store(10);
    let fill = "CREATE TEMP TRIGGER full BEFORE INSERT ON account BEGIN SELECT RAISE(ABORT, 'no room'); END";
    store.connection.execute_batch(fill).unwrap();
    let writer = Writer::start(store, WriterLimits::default()).unwrap();
    let handle = writer.handle();
    let (answer, answers) = channel();
    let account = Some(Account { owed: 1, ..Account::default() });
    let keep = |token: u8| {
        let answer = answer.clone();
        let write = Write { token: token.into(), changes: vec![Change::Account(team(token), account)] };
        handle.keep(write, move |kept| answer.send(kept.is_ok()).unwrap()).unwrap();
        answers.recv().unwrap()
    };
    assert!(!keep(1));
    handle.run(|store| store.connection.execute_batch("DROP TRIGGER full").unwrap()).unwrap();
    assert!(!keep(2), "it may rely on the one before");
    let (answer, puts) = channel();
    let items = vec![Member::new(1).item(9, NOW, 1)];
    handle.put(items, NOW, move |report| answer.send(report.is_ok()).unwrap()).unwrap();
    assert_eq!(puts.recv(), Ok(true), "receipts do not");
    assert_eq!([keep(2), keep(1), keep(2)], [false, true, true]);
    handle.run(move |store| store.connection.execute_batch(fill).unwrap()).unwrap();
    assert!(!keep(3));
    handle.run(|store| store.connection.execute_batch("DROP TRIGGER full").unwrap()).unwrap();
    assert!(!keep(4));
    let (answer, credits) = channel();
    handle.credit(move |credit| answer.send(credit.unwrap().kept.accounts.len()).unwrap()).unwrap();
    assert_eq!(credits.recv(), Ok(2));
    assert!(keep(1), "of a new machine");
    assert_eq!(writer.stop().unwrap().credit().unwrap().kept.accounts.len(), 2);
}

/// What a home is told in a test.
#[derive(Clone, Debug)]
enum Step {
    /// A receipt of our member, or of a guest: of a session, over so much, perhaps on a hold that was made.
    Receipt {
        ours: bool,
        session: u8,
        weight: u64,
        on: Option<usize>,
    },
    Reserve {
        session: u8,
        amount: u64,
    },
    Asked {
        session: u8,
        amount: u64,
        nonce: u8,
    },
    Answer {
        refused: bool,
        which: usize,
    },
    Commit {
        which: usize,
        used: u64,
    },
    Done {
        which: usize,
    },
    Wait {
        seconds: u64,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let which = || 0_usize..6;
    let on = prop::option::of(which());
    prop_oneof![
        4 => (any::<bool>(), 0_u8..4, 0_u64..40_000_000, on)
            .prop_map(|(ours, session, weight, on)| Step::Receipt { ours, session, weight, on }),
        3 => (0_u8..4, 65_536_u64..4_000_000).prop_map(|(session, amount)| Step::Reserve { session, amount }),
        3 => (0_u8..4, 65_536_u64..4_000_000, any::<u8>())
            .prop_map(|(session, amount, nonce)| Step::Asked { session, amount, nonce }),
        1 => (any::<bool>(), which()).prop_map(|(refused, which)| Step::Answer { refused, which }),
        2 => (which(), 0_u64..4_000_000).prop_map(|(which, used)| Step::Commit { which, used }),
        1 => which().prop_map(|which| Step::Done { which }),
        1 => (1_u64..100_000).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Restart),
    ]
}

/// A home with friends 2 and 3, a guest's team 4, and its store.
struct Home {
    holds: Holds,
    made: Vec<Terms>,
    now: Time,
    nonce: u8,
}

const OWN: u8 = 1;

impl Home {
    fn new(kept: Kept, now: Time) -> Self {
        Self { holds: Holds::new(Config::default(), team(OWN), kept, now), made: Vec::new(), now, nonce: 0 }
    }

    fn receipt(&self, ours: bool, number: u8, weight: u64, on: Option<usize>) -> Signed {
        let (provider, consumer) = if ours { (team(2), team(OWN)) } else { (team(OWN), team(4)) };
        let session = SessionKey { provider, member: MemberId([number; 24]), started: NOW };
        let on = on.and_then(|which| self.made.get(which));
        let hold = on.map(|terms| HoldUse { id: terms.id(), weight: Bytes(weight / 2) });
        let on_holds = hold.map_or(Bytes(0), |hold| hold.weight);
        Signed { session, consumer, weight: Bytes(weight), hold, on_holds }
    }

    fn terms(&self, path: [u8; 3], amount: u64, nonce: u8) -> Terms {
        let [provider, between, consumer] = path.map(team);
        let end = self.now.unix_seconds().plus(3_600);
        Terms { provider, between: vec![between], consumer, amount: Bytes(amount), end, nonce: [nonce; 16] }
    }

    fn handle(&mut self, step: Step) {
        let proof = Proof { receipt: vec![7; 128], certificate: vec![8; 9] };
        let made = |which: usize| self.made.get(which).cloned();
        match step {
            Step::Receipt { ours, session, weight, on } => {
                let signed = self.receipt(ours, session, weight, on);
                self.holds.handle_receipt(signed, proof, self.now);
            }
            Step::Reserve { session, amount } => {
                self.nonce += 1;
                let terms = self.terms([OWN, 2, 4], amount, self.nonce);
                let signed = self.receipt(false, session, 0, None);
                if self.holds.reserve(terms.clone(), proof, signed, self.now).is_ok() {
                    self.made.push(terms);
                }
            }
            Step::Asked { session, amount, nonce } => {
                let terms = self.terms([3, OWN, 2], amount, nonce);
                let session =
                    SessionKey { provider: team(3), ..self.receipt(false, session, 0, None).session };
                let signed =
                    Signed { session, consumer: team(2), weight: Bytes(0), hold: None, on_holds: Bytes(0) };
                self.made.push(terms.clone());
                self.holds.handle_message(team(3), Message::Hold { terms, proof }, Some(signed), self.now);
            }
            Step::Answer { refused, which } => {
                let Some(terms) = made(which) else { return };
                let (id, available) = (terms.id(), Bytes(0));
                let answer = if refused { Message::Refused { id, available } } else { Message::Good { id } };
                self.holds.handle_message(team(2), answer, None, self.now);
            }
            Step::Commit { which, used } => {
                let Some(terms) = made(which) else { return };
                let session =
                    SessionKey { provider: terms.provider, ..self.receipt(false, 1, 0, None).session };
                let hold = Some(HoldUse { id: terms.id(), weight: Bytes(used) });
                let (weight, on_holds) = (Bytes(used), Bytes(used));
                let signed = Signed { session, consumer: terms.consumer, weight, hold, on_holds };
                if terms.provider == team(OWN) {
                    let _ = self.holds.commit(terms.id(), proof, &signed, self.now);
                } else {
                    let commit = Message::Commit { terms, proof: Some(proof) };
                    self.holds.handle_message(team(3), commit, Some(signed), self.now);
                }
            }
            Step::Done { which } => {
                let Some(terms) = made(which) else { return };
                self.holds.handle_message(team(2), Message::Done { id: terms.id() }, None, self.now);
            }
            Step::Wait { seconds } => {
                self.now = Time(self.now.0 + seconds * 1_000_000);
                self.holds.handle_timeout(self.now);
            }
            Step::Restart => {}
        }
    }

    fn keep(&mut self, store: &mut Store) {
        while let Some(write) = self.holds.poll_write() {
            store.keep_credit(&write).unwrap();
            self.holds.handle_written(write.token);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The promise to the machine: what it is made from after a crash is what it was.
    #[test]
    fn holds_made_from_the_store_are_those_in_memory(steps in prop::collection::vec(step(), 1..60)) {
        let (_directory, mut store) = store(10);
        let mut home = Home::new(Kept::default(), NOW.time());
        // Without something that we owe nothing can be reserved.
        home.holds.signed(team(2), Bytes(50_000_000), Bytes(50_000_000));
        home.keep(&mut store);
        for step in steps {
            let restart = matches!(step, Step::Restart);
            home.handle(step);
            home.keep(&mut store);
            let again = Home::new(store.credit().unwrap().kept, home.now);
            prop_assert!(again.holds.accounts().iter().eq(home.holds.accounts().iter()));
            let open = |holds: &Holds| -> Vec<_> {
                holds.holds().map(|(id, hold)| (id, hold.terms.clone(), hold.session, hold.state.clone())).collect()
            };
            prop_assert_eq!(open(&again.holds), open(&home.holds));
            if restart {
                let (made, nonce) = (std::mem::take(&mut home.made), home.nonce);
                home = Home { made, nonce, ..again };
            }
        }
    }
}

#[test]
fn a_store_of_the_first_format_keeps_its_receipts_and_gets_accounts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let (own, other) = (Member::new(1), Member::new(2));
    let items = [own.item(9, NOW, 5), other.item(9, NOW, 6), other.item(8, NOW, 7)];
    old_format(&path, 1, &items);
    let limits = Limits { receipts_max: 100, own_team: Some(own.certificate.team_id()) };
    let mut store = Store::open(&path, limits).unwrap();
    assert_eq!((store.count(), store.counts.second_hand), (3, 2));
    assert_eq!(store.integrity_check(), Ok(()));
    for (receipt, _) in &items {
        assert_eq!(store.get(&receipt.session()), Ok(Some(receipt.clone())));
    }
    keep(&mut store, vec![Change::SessionsSince(NOW)]);
    drop(store);
    let store = Store::open(&path, limits).unwrap();
    assert_eq!(store.credit().unwrap().kept.sessions_since, NOW);
}

#[test]
fn an_upgrade_that_finds_no_room_leaves_the_old_format_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let items: Vec<_> = (0..50).map(|number| Member::new(1).item(9, NOW.plus(number), number)).collect();
    old_format(&path, 1, &items);
    let mut connection = Connection::open(&path).unwrap();
    let number = |connection: &Connection, name: &str| -> i64 {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap()
    };
    let pages = number(&connection, "page_count");
    // Room for none of the new pages, or for some: what was written before the last one is undone.
    for room in 0..5 {
        connection.pragma_update(None, "max_page_count", pages + room).unwrap();
        let error = schema::prepare(&mut connection, &path, 1_024, None).unwrap_err();
        assert_eq!(error, StoreError::DiskFull { path: path.clone() });
        assert!(error.to_string().starts_with("no space is left for the receipt store"), "{error}");
        assert_eq!(number(&connection, "user_version"), 1);
    }
    drop(connection);
    let store = Store::open(&path, Limits { receipts_max: 100, own_team: None }).unwrap();
    assert_eq!((store.count(), store.integrity_check()), (50, Ok(())));
}

//! Acknowledged means durable: a process that ingests receipts, or keeps accounts, is killed a hundred times, at any moment.
//!
//! This shows that what we acknowledged has left our process. That it survives the end of the power is SQLite's
//! part (`synchronous=FULL`), which a test of the settings guards.

#![expect(clippy::unwrap_used, reason = "a test may end at once")]

use guestright_credit::{Account, Change, Hold, HoldState, Proof, Terms, Write};
use guestright_identity::{Certificate, MemberId, Role, SecretKey, Suite};
use guestright_receipt::{Receipt, SessionKey};
use guestright_store::{Limits, Store, Writer, WriterLimits};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const LIMITS: Limits = Limits { receipts_max: 1_000_000, own_team: None };
const ROUNDS: usize = 100;
const PER_ROUND: usize = 160;
const DIRECTORY: &str = "GUESTRIGHT_KILL_TEST_DIRECTORY";
const ROUND: &str = "GUESTRIGHT_KILL_TEST_ROUND";

#[test]
fn every_acknowledged_receipt_survives_a_hundred_kills() {
    let directory = tempfile::tempdir().unwrap();
    let receipts = sign_receipts();
    let certificate = &receipts[0].1;
    std::fs::write(directory.path().join("certificate"), certificate.as_bytes()).unwrap();
    let mut acknowledged: BTreeMap<SessionKey, Bytes> = BTreeMap::new();
    let mut in_flight = 0;
    for round in 0..ROUNDS {
        let share = &receipts[round * PER_ROUND..(round + 1) * PER_ROUND];
        let bytes: Vec<u8> = share.iter().flat_map(|(receipt, _)| frame(receipt.as_bytes())).collect();
        std::fs::write(directory.path().join("receipts"), bytes).unwrap();
        // From before the store is open to nearly everything, never the same.
        let reads = round * 97 % (PER_ROUND - 20);
        let reported = run_and_kill("child_that_ingests", directory.path(), round, reads);
        let mut touched = Vec::new();
        for number in &reported {
            let receipt = &share[*number].0;
            let known = acknowledged.entry(receipt.session()).or_default();
            *known = receipt.weight().max(*known);
            touched.push(receipt.session());
        }
        if round % 10 == 9 {
            touched = acknowledged.keys().copied().collect();
        }
        let store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        for session in &touched {
            let kept = store.get(session).unwrap().map(|receipt| receipt.weight());
            let expected = acknowledged[session];
            assert!(
                kept >= Some(expected),
                "round {round}: {session:?} has {kept:?}, acknowledged {expected:?}"
            );
        }
        assert_eq!(store.integrity_check(), Ok(()), "round {round}");
        in_flight += usize::from(reported.len() < PER_ROUND);
    }
    assert!(acknowledged.len() > 2_000, "only {} sessions were acknowledged", acknowledged.len());
    assert!(in_flight > ROUNDS / 2, "only {in_flight} children were killed at work");
}

/// What the killed process runs; on its own it does nothing.
#[test]
fn child_that_ingests() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let directory = Path::new(&directory);
    let certificate = Certificate::parse(&std::fs::read(directory.join("certificate")).unwrap()).unwrap();
    let bytes = std::fs::read(directory.join("receipts")).unwrap();
    let mut items: Vec<_> = unframe(&bytes)
        .map(|raw| (Receipt::from_kept(raw, &certificate).unwrap(), certificate.clone()))
        .enumerate()
        .collect();
    let mut store = Store::open(&directory.join("receipts.db"), LIMITS).unwrap();
    if round.is_multiple_of(2) {
        // One by one, in batches of up to seven, and in large ones, which wait to be moved to the others.
        let size = if round % 4 == 2 { 70 } else { 1 + round % 7 };
        while !items.is_empty() {
            let batch: Vec<_> = items.drain(..items.len().min(size)).collect();
            let (numbers, batch): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            store.put(&batch, NOW).unwrap();
            numbers.into_iter().for_each(acknowledge);
        }
    } else {
        // Through the writer, which commits many at once.
        let limits = WriterLimits { queue_max: PER_ROUND, group_max: 1 + round };
        let writer = Writer::start(store, limits).unwrap();
        for (number, item) in items {
            let reply = move |report: Result<_, _>| report.map(|_| acknowledge(number)).unwrap();
            writer.handle().put(vec![item], NOW, reply).unwrap();
        }
        writer.stop().unwrap();
    }
    wait_for_the_end();
}

#[test]
fn every_write_of_accounts_survives_a_hundred_kills_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (mut kept, mut in_flight) = (0, 0);
    for round in 0..ROUNDS {
        let reads = round * 37 % (WRITES - 10);
        let reported = run_and_kill("child_that_keeps_accounts", directory.path(), round, reads);
        let store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        let credit = store.credit().unwrap();
        let last = credit.kept.sessions_since.0;
        let acknowledged = reported.last().map_or(kept, |number| kept.max(*number as u64));
        assert!(last >= acknowledged, "round {round}: {last} is kept, {acknowledged} was acknowledged");
        assert_eq!(credit.kept.accounts, accounts_after(last), "round {round}");
        let mut holds: Vec<_> = (1..=last).rev().take(TEAMS).map(hold).collect();
        holds.sort_by_key(|hold| hold.terms.id());
        assert_eq!(credit.kept.holds, holds, "round {round}");
        in_flight += usize::from(reported.len() < WRITES);
        kept = last;
    }
    assert!(kept > 2_000, "only {kept} writes were kept");
    assert!(in_flight > ROUNDS / 2, "only {in_flight} children were killed at work");
}

/// What the killed process runs; on its own it does nothing.
#[test]
fn child_that_keeps_accounts() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let mut store = Store::open(&Path::new(&directory).join("receipts.db"), LIMITS).unwrap();
    let first = store.credit().unwrap().kept.sessions_since.0 + 1;
    let numbers = first..first + WRITES as u64;
    if round.is_multiple_of(2) {
        for number in numbers {
            store.keep_credit(&write(number)).unwrap();
            acknowledge(usize::try_from(number).unwrap());
        }
    } else {
        let limits = WriterLimits { queue_max: 2 * WRITES, group_max: 1 + 8 * round };
        let writer = Writer::start(store, limits).unwrap();
        let handle = writer.handle();
        for number in numbers {
            let acknowledge = move |kept: Result<(), _>| {
                kept.unwrap();
                acknowledge(usize::try_from(number).unwrap());
            };
            handle.keep(write(number), acknowledge).unwrap();
            handle.put(Vec::new(), NOW, |report| drop(report.unwrap())).unwrap();
        }
        writer.stop().unwrap();
    }
    wait_for_the_end();
}

const TEAMS: usize = 20;
const WRITES: usize = 60;

/// The write with a number: what a team owes goes to another one, a new hold takes the place of the oldest.
fn write(number: u64) -> Write {
    let [from, to] = pair(number);
    let amount = i64::try_from(number).unwrap();
    let owed = |owed| Some(Account { owed, ..Account::default() });
    let mut changes = vec![
        Change::Account(from, owed(-amount)),
        Change::Hold(hold(number).terms.id(), Some(hold(number))),
        Change::SessionsSince(UnixSeconds(number)),
        Change::Account(to, owed(amount)),
    ];
    if let Some(old) = number.checked_sub(TEAMS as u64).filter(|old| *old > 0) {
        changes.push(Change::Hold(hold(old).terms.id(), None));
    }
    Write { token: number, changes }
}

fn pair(number: u64) -> [TeamId; 2] {
    let digit = u8::try_from(number % TEAMS as u64).unwrap();
    [TeamId([digit; 24]), TeamId([digit + 100; 24])]
}

fn hold(number: u64) -> Hold {
    let [provider, consumer] = pair(number);
    let (between, amount, mut nonce) = (Vec::new(), Bytes(1_000_000), [0; 16]);
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    let session = SessionKey { provider, member: MemberId([1; 24]), started: NOW };
    let proof = Proof { receipt: vec![1; 165], certificate: vec![2; 260] };
    let state = HoldState::Settled { used: Bytes(number), owed: Some(Some(proof)) };
    Hold { terms: Terms { provider, between, consumer, amount, end: NOW, nonce }, session, state }
}

fn accounts_after(last: u64) -> Vec<(TeamId, Account)> {
    let mut accounts = BTreeMap::new();
    for number in 1..=last {
        for change in write(number).changes {
            if let Change::Account(team, Some(account)) = change {
                accounts.insert(team, account);
            }
        }
    }
    accounts.into_iter().collect()
}

/// The parent kills us here at the latest.
fn wait_for_the_end() {
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn acknowledge(number: usize) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "acknowledged {number}").unwrap();
    out.flush().unwrap();
}

/// The numbers of what the child acknowledged before it was killed, after `reads` of them were read.
fn run_and_kill(child: &str, directory: &Path, round: usize, reads: usize) -> Vec<usize> {
    // A processor in software starts no program by itself.
    let own = std::env::current_exe().unwrap();
    let runner = std::env::var("GUESTRIGHT_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(own).args(words);
            command
        }
        None => Command::new(own),
    };
    let mut child = command
        .args(["--exact", child, "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut reported = Vec::new();
    let mut killed = false;
    let mut line = String::new();
    loop {
        if !killed && reported.len() >= reads {
            child.kill().unwrap(); // SIGKILL.
            killed = true;
        }
        line.clear();
        if out.read_line(&mut line).unwrap() == 0 {
            break;
        }
        // The last line may be cut off: then it was not said.
        let number = line.strip_suffix('\n').and_then(|line| line.split("acknowledged ").nth(1));
        reported.extend(number.map(|number| number.parse::<usize>().unwrap()));
    }
    let status = child.wait().unwrap();
    assert!(killed && !status.success(), "round {round}: the child ended by itself: {status}");
    reported
}

/// Two of three receipts raise a session of an earlier round or of this one.
fn sign_receipts() -> Vec<(Receipt, Certificate)> {
    let mut rng = StdRng::seed_from_u64(5);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(Suite::Ed25519, &mut rng);
    let certificate =
        Certificate::issue(&team, key.public(), Role::Member, NOW.minus(100_000), NOW.plus(100_000));
    let sign = |number: u64| {
        let session = number / 3 + number % 3 * 40;
        let provider = TeamId([u8::try_from(session % 50).unwrap(); 24]);
        let receipt = Receipt::sign(&key, &certificate, provider, NOW.minus(session), Bytes(number));
        (receipt, certificate.clone())
    };
    (0..ROUNDS * PER_ROUND).map(|number| sign(number as u64)).collect()
}

fn frame(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
    [length.as_slice(), bytes].concat()
}

fn unframe(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk()?;
        let (item, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
        bytes = rest;
        Some(item)
    })
}

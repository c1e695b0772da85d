//! How many receipts a second are checked and on the disk.
//!
//! `cargo bench -p guestright-store` prints rates; every round works on a fresh store on the disk that holds the
//! target directory, with receipts of 200 members of 40 teams. `GUESTRIGHT_BENCH_LARGE=1` adds a store of a million,
//! `GUESTRIGHT_BENCH_LARGE=only` leaves the others out.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program that prints, or ends at once")]

use guestright_credit::{Account, Accounted, Change, Write};
use guestright_identity::{Certificate, CertificateRef, Role, SecretKey, Suite};
use guestright_receipt::{Receipt, Rules, UncheckedReceipt, verify_batch};
use guestright_store::{HintQuery, Limits, Store, Writer, WriterLimits};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const ROUNDS: usize = 7;
const WORKERS: usize = 2;
const GROUP: usize = 64;
/// As a home's, which knows its own team.
const LIMITS: Limits = Limits { receipts_max: 10_000_000, own_team: Some(TeamId([7; 24])) };

type Certificates = BTreeMap<CertificateRef, Certificate>;

fn main() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let is_large = std::env::var_os("GUESTRIGHT_BENCH_LARGE");
    if is_large.as_ref().is_none_or(|value| value != "only") {
        small(target);
    }
    if is_large.is_some() {
        large(target);
    }
}

fn small(target: &Path) {
    let (certificates, receipts) = sign(64_000, a_year_back);
    println!(
        "{WORKERS} workers, {} receipts of {} bytes, {ROUNDS} rounds",
        receipts.len(),
        receipts[0].len()
    );
    rates("verify, groups of 64, 2 threads", || {
        let meter = Meter::start();
        verify_on_workers(&receipts, &certificates, |_| ());
        meter.stop(receipts.len())
    });
    rates("verify and store, durable", || {
        let directory = tempfile::tempdir_in(target).unwrap();
        let store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        verify_and_store(store, &receipts, &certificates, Until::Durable)
    });
    rates("verify and store, until all are in the indexes", || {
        let directory = tempfile::tempdir_in(target).unwrap();
        let store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        verify_and_store(store, &receipts, &certificates, Until::Indexed)
    });
    let (certificates_now, receipts_now) = sign(64_000, as_they_come);
    rates("verify and store, durable, in the order of the sessions", || {
        let directory = tempfile::tempdir_in(target).unwrap();
        let store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        verify_and_store(store, &receipts_now, &certificates_now, Until::Durable)
    });
    rates("store only, groups of 64, one commit each", || {
        let checked = check(&receipts[..16_000], &certificates);
        let directory = tempfile::tempdir_in(target).unwrap();
        let mut store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        let meter = Meter::start();
        for group in checked.chunks(GROUP) {
            store.put(group, NOW).unwrap();
        }
        meter.stop(checked.len())
    });
    for (name, accounts) in [("without", false), ("with", true)] {
        rates(&format!("first-hand, groups of 64 through the writer, {name} accounts"), || {
            let checked = check(&receipts[..16_000], &certificates);
            let directory = tempfile::tempdir_in(target).unwrap();
            let store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
            store_and_account(store, &checked, accounts)
        });
    }
    rates("store only, one receipt, one commit", || {
        let checked = check(&receipts[..1_000], &certificates);
        let directory = tempfile::tempdir_in(target).unwrap();
        let mut store = Store::open(&directory.path().join("receipts.db"), LIMITS).unwrap();
        let meter = Meter::start();
        for item in &checked {
            store.put(std::slice::from_ref(item), NOW).unwrap();
        }
        meter.stop(checked.len())
    });
}

/// A store of a million receipts: how it fills, opens, and sums up.
fn large(target: &Path) {
    let directory = tempfile::tempdir_in(target).unwrap();
    let path = directory.path().join("receipts.db");
    let limits = Limits { receipts_max: 1_000_000, own_team: None };
    let (certificates, receipts) = sign(1_040_000, a_year_back);
    let fill = |name: &str, part: &[Vec<u8>]| {
        let store = Store::open(&path, limits).unwrap();
        let round = verify_and_store(store, part, &certificates, Until::Indexed);
        println!("{name}: {:.0} receipts/s, {:.1} us of processor time each", round.rate(), round.cost());
    };
    fill("first 100,000 of 1,000,000", &receipts[..100_000]);
    fill("to 900,000", &receipts[100_000..900_000]);
    fill("last 100,000 of 1,000,000", &receipts[900_000..1_000_000]);
    fill("40,000 more, evicting", &receipts[1_000_000..]);
    let size = std::fs::metadata(&path).unwrap().len();
    let start = Instant::now();
    let store = Store::open(&path, limits).unwrap();
    println!("open with {} receipts, {} MB: {:.1?}", store.count(), size / 1_000_000, start.elapsed());
    for _ in 0..3 {
        let start = Instant::now();
        let edges = store.edges().unwrap();
        println!("{} edges: {:.1?}", edges.len(), start.elapsed());
    }
    let start = Instant::now();
    let shown = store.receipts_of_provider(TeamId([7; 24]), UnixSeconds(0), GROUP).unwrap();
    println!("{} receipts to carry: {:.1?}", shown.len(), start.elapsed());
    let start = Instant::now();
    let query = HintQuery { team: TeamId([7; 24]), now: NOW, count: GROUP, seed: 1 };
    println!("{} hints: {:.1?}", store.hints(query).unwrap().len(), start.elapsed());
    let start = Instant::now();
    let mut count = 0;
    store.first_hand(TeamId([7; 24]), NOW.minus(31 * 86_400), |_, _| count += 1).unwrap();
    println!("{count} receipts of a team's own dealings in 31 days: {:.1?}", start.elapsed());
    let start = Instant::now();
    store.integrity_check().unwrap();
    println!("integrity check: {:.1?}", start.elapsed());
}

/// Where a round ends.
enum Until {
    /// When all receipts are on the disk.
    Durable,
    /// When none waits any more to be moved to the table with its indexes.
    Indexed,
}

fn verify_and_store(store: Store, receipts: &[Vec<u8>], certificates: &Certificates, until: Until) -> Round {
    let limits = WriterLimits::default();
    let writer = Writer::start(store, limits).unwrap();
    let (done, dones) = mpsc::channel();
    // Whoever has a request that waits has put something into this.
    let (enter, leave) = mpsc::sync_channel(limits.queue_max);
    let leave = Arc::new(Mutex::new(leave));
    let meter = Meter::start();
    let handle = writer.handle();
    verify_on_workers(receipts, certificates, |checked| {
        let (count, done, leave) = (checked.len(), done.clone(), leave.clone());
        enter.send(()).unwrap();
        let reply = move |report: Result<_, _>| {
            report.expect("the disk takes it");
            leave.lock().unwrap().recv().unwrap();
            done.send(count).unwrap();
        };
        handle.put(checked, NOW, reply).unwrap();
    });
    drop(done);
    let count = dones.iter().sum();
    let durable = meter.stop(count);
    writer.stop().unwrap();
    match until {
        Until::Durable => durable,
        Until::Indexed => meter.stop(count),
    }
}

/// Receipts of our own dealings: with each group comes a write of what it changes in the accounts.
fn store_and_account(store: Store, checked: &[(Receipt, Certificate)], accounts: bool) -> Round {
    let limits = WriterLimits { queue_max: checked.len(), ..WriterLimits::default() };
    let writer = Writer::start(store, limits).unwrap();
    let handle = writer.handle();
    let meter = Meter::start();
    for group in checked.chunks(GROUP) {
        handle.put(group.to_vec(), NOW, |report| drop(report.expect("the disk takes it"))).unwrap();
        if accounts {
            handle.keep(account_for(group), |kept| kept.expect("the disk takes it")).unwrap();
        }
    }
    writer.stop().unwrap();
    meter.stop(checked.len())
}

fn account_for(group: &[(Receipt, Certificate)]) -> Write {
    let changes = group.iter().flat_map(|(receipt, _)| {
        let weight = receipt.weight();
        let account = Account { given: weight, ..Account::default() };
        let accounted = Accounted { weight, ..Accounted::default() };
        [
            Change::Account(receipt.provider(), Some(account)),
            Change::Session(receipt.session(), Some(accounted)),
        ]
    });
    Write { token: 1, changes: changes.collect() }
}

fn verify_on_workers(
    receipts: &[Vec<u8>],
    certificates: &Certificates,
    consume: impl Fn(Vec<(Receipt, Certificate)>) + Sync,
) {
    let share = receipts.len().div_ceil(WORKERS);
    thread::scope(|scope| {
        for part in receipts.chunks(share) {
            scope.spawn(|| part.chunks(GROUP).for_each(|group| consume(check(group, certificates))));
        }
    });
}

/// What a home does with bytes from a peer.
fn check(receipts: &[Vec<u8>], certificates: &Certificates) -> Vec<(Receipt, Certificate)> {
    let pair = |bytes: &Vec<u8>| {
        let receipt = UncheckedReceipt::parse(bytes).unwrap();
        let certificate = &certificates[&receipt.certificate()];
        (receipt, certificate)
    };
    let mut rng = StdRng::seed_from_u64(3);
    let pairs = receipts.iter().map(pair).collect();
    let checked = verify_batch(pairs, &Rules::default(), NOW, &mut rng).into_iter();
    checked
        .map(|receipt| {
            let receipt = receipt.unwrap();
            let certificate = certificates[&receipt.certificate()].clone();
            (receipt, certificate)
        })
        .collect()
}

/// Any session of the last year: no index likes it.
fn a_year_back(_number: usize, chance: &mut StdRng) -> UnixSeconds {
    NOW.minus(chance.random_range(0..30_000_000))
}

/// Sessions of half a day, three in two seconds, whose receipts come up to five minutes after them.
fn as_they_come(number: usize, chance: &mut StdRng) -> UnixSeconds {
    let number = u64::try_from(number).expect("a few thousand");
    NOW.minus(86_400).plus(number * 2 / 3).minus(chance.random_range(0..300))
}

fn sign(count: usize, started: impl Fn(usize, &mut StdRng) -> UnixSeconds) -> (Certificates, Vec<Vec<u8>>) {
    let mut rng = StdRng::seed_from_u64(1);
    let teams: Vec<_> = (0..40).map(|_| SecretKey::generate(Suite::Ed25519, &mut rng)).collect();
    let member = |number: usize| {
        let key = SecretKey::generate(Suite::Ed25519, &mut rng);
        let team = &teams[number % teams.len()];
        let certificate =
            Certificate::issue(team, key.public(), Role::Member, NOW.minus(40_000_000), NOW.plus(1_000));
        (key, certificate)
    };
    let members: Vec<_> = (0..200).map(member).collect();
    let mut rng = StdRng::seed_from_u64(2);
    let receipt = |number| {
        let (key, certificate) = &members[rng.random_range(0..members.len())];
        let provider = TeamId([rng.random_range(0..40); 24]);
        let started = started(number, &mut rng);
        let weight = Bytes(rng.random_range(0..1_000_000_000));
        Receipt::sign(key, certificate, provider, started, weight).as_bytes().to_vec()
    };
    let receipts = (0..count).map(receipt).collect();
    let certificates =
        members.into_iter().map(|(_, certificate)| (certificate.reference(), certificate)).collect();
    (certificates, receipts)
}

struct Meter {
    start: Instant,
    processor: Duration,
}

/// How many receipts there were, and what they took.
struct Round {
    count: f64,
    took: Duration,
    processor: Duration,
}

impl Meter {
    fn start() -> Self {
        Self { start: Instant::now(), processor: processor_time() }
    }

    fn stop(&self, count: usize) -> Round {
        let count = f64::from(u32::try_from(count).expect("a few million"));
        Round { count, took: self.start.elapsed(), processor: processor_time() - self.processor }
    }
}

impl Round {
    fn rate(&self) -> f64 {
        self.count / self.took.as_secs_f64()
    }

    /// Microseconds of processor time for each receipt.
    fn cost(&self) -> f64 {
        self.processor.as_secs_f64() * 1e6 / self.count
    }
}

/// Prints the median, the smallest and the largest rate, and the median of the processor time for each receipt.
fn rates(name: &str, mut round: impl FnMut() -> Round) {
    let rounds: Vec<_> = (0..ROUNDS).map(|_| round()).collect();
    let sorted = |figure: fn(&Round) -> f64| {
        let mut figures: Vec<_> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures
    };
    let (rates, costs) = (sorted(Round::rate), sorted(Round::cost));
    let (least, median, most) = (rates[0], rates[ROUNDS / 2], rates[ROUNDS - 1]);
    let cost = costs[ROUNDS / 2];
    println!("{name}: {median:.0} receipts/s ({least:.0} to {most:.0}), {cost:.1} us of processor time each");
}

/// What this process has used so far, in steps of 10 ms: `utime` and `stime` in proc(5).
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    let ticks = after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

use super::*;
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::Receipt as Signed;
use guestright_reciprocity::{PerMille, Policy};
use guestright_roaming::home::CreditConfig;
use guestright_store::{Limits, Store};
use guestright_units::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rusqlite::params;
use std::path::PathBuf;
use tempfile::TempDir;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const DAY: u64 = 86_400;
const OWN: TeamId = TeamId([0xaa; 24]);

/// The member of a team that is a guest here.
struct Guest {
    key: SecretKey,
    certificate: Certificate,
}

impl Guest {
    fn new(rng: &mut StdRng) -> Self {
        let [team, key] = [(); 2].map(|()| SecretKey::generate(Suite::Ed25519, rng));
        let certificate =
            Certificate::issue(&team, key.public(), Role::Member, UnixSeconds(0), UnixSeconds(u64::MAX));
        Self { key, certificate }
    }

    fn signs(&self, started: UnixSeconds, weight: u64) -> (Signed, Certificate) {
        let receipt = Signed::sign(&self.key, &self.certificate, OWN, started, Bytes(weight));
        (receipt, self.certificate.clone())
    }
}

fn credit(per_day: u64) -> Config {
    let mut credit = CreditConfig::default();
    (credit.allowance.per_day, credit.allowance.founding) = (Bytes(per_day), Bytes(0));
    Config { credit: Some(credit), ..Config::default() }
}

fn store(receipts_max: u64) -> (TempDir, PathBuf, Store) {
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join(guestright_host::home::STORE);
    let store = Store::open(&path, Limits { receipts_max, own_team: Some(OWN) }).unwrap();
    (state, path, store)
}

fn replay(state: &Path, other: &Config, since: UnixSeconds) -> Report {
    let (team, in_force) = (OWN, &credit(200_000_000));
    run(Settings { state, team, in_force, other, since }, |_, _| Ok(())).unwrap()
}

/// Ten guests with 20 MB each, an hour apart.
fn ten_guests() -> (TempDir, PathBuf) {
    let (state, path, mut store) = store(1_000);
    let mut rng = StdRng::seed_from_u64(1);
    for hour in 0..10 {
        let at = NOW.plus(hour * 3_600);
        store.put(&[Guest::new(&mut rng).signs(at, 20_000_000)], at).unwrap();
    }
    (state, path)
}

#[test]
fn half_as_much_to_give_away_leaves_guests_without() {
    let (state, _) = ten_guests();
    let same = replay(state.path(), &credit(200_000_000), UnixSeconds(0));
    assert!(same.kept.is_complete() && same.summary.changed.is_empty());
    assert!(same.to_text().contains("in the same way"), "{}", same.to_text());
    let fewer = replay(state.path(), &credit(50_000_000), UnixSeconds(0));
    let row = |class: Option<&str>| {
        let of_class = |row: &&guestright_replay::Row| row.class.map(|class| class.name()) == class;
        fewer.summary.rows.iter().find(of_class).copied().unwrap()
    };
    let lowest = row(Some("lowest"));
    assert_eq!((lowest.before.sessions, lowest.before.bytes), (10, Bytes(200_000_000)));
    // 50 MB at first, and 9 hours of two megabytes each.
    let most = 50_000_000 + 9 * 50_000_000 / 24;
    assert!((most - 1_000_000..=most).contains(&lowest.after.bytes.0), "{:?}", lowest.after);
    let refused = row(None);
    assert_eq!(refused.after.bytes.0 + lowest.after.bytes.0, 200_000_000);
    assert_eq!(
        fewer.summary.changed.len() as u64,
        fewer.summary.changed.iter().map(|it| it.differ.sessions).sum::<u64>()
    );
    let json = fewer.to_json();
    assert_eq!((&json["complete"], &json["since"]), (&true.into(), &0.into()));
    assert_eq!(json["rows"].as_array().unwrap().len(), 6);
    assert!(json["rows"][0]["class"].is_null() && json["changed"][0]["before"] == "lowest");
    assert!(fewer.to_figure().unwrap().starts_with("<svg"));
    println!("{}", fewer.to_text());
}

#[test]
fn only_what_came_since_then_is_counted_and_what_is_missing_is_named() {
    let (state, path) = ten_guests();
    let since = NOW.plus(5 * 3_600);
    let half = replay(state.path(), &credit(0), since);
    assert_eq!(half.summary.rows.iter().map(|row| row.before.sessions).sum::<u64>(), 5);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("DELETE FROM receipt WHERE id IN (2, 8)", []).unwrap();
    drop(connection);
    let missing = replay(state.path(), &credit(0), since);
    assert_eq!((missing.kept.missing_before, missing.kept.missing_since), (1, 1));
    assert!(!missing.kept.is_complete() && missing.to_json()["complete"] == false);
    assert!(missing.to_text().contains("no longer has 1 sessions"), "{}", missing.to_text());
}

#[test]
fn it_ends_when_the_person_who_waits_says_so() {
    let (state, _, mut store) = store(10_000);
    let guest = Guest::new(&mut StdRng::seed_from_u64(1));
    let receipts: Vec<_> = (0..5_000).map(|second| guest.signs(NOW.plus(second), 1)).collect();
    store.put(&receipts, NOW).unwrap();
    drop(store);
    let (team, config) = (OWN, &credit(0));
    let settings = Settings { state: state.path(), team, in_force: config, other: config, since: NOW };
    let stopped = run(settings, |_, _| Err(RunError::user("enough")));
    assert_eq!(stopped.unwrap_err().sentence(), "enough");
}

/// Rows as `Store::put` writes them, without a signature each: a million of those would take longer than the rest.
fn write_month(path: &Path, sessions: u32) {
    let mut rng = StdRng::seed_from_u64(3);
    let guest = Guest::new(&mut rng);
    let signed = guest.signs(NOW, 25_000_000).0;
    let mut connection = rusqlite::Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    let teams: Vec<[u8; 24]> = (0..3_000).map(|_| rng.random()).collect();
    let all = teams.iter().chain([&OWN.0]);
    for (team, id) in all.zip(1_i64..) {
        let reference: [u8; 16] = rng.random();
        let raw = guest.certificate.as_bytes();
        let name: [u8; 24] = rng.random();
        transaction.execute("INSERT INTO member VALUES (?, ?)", params![id, name]).unwrap();
        transaction.execute("INSERT INTO provider VALUES (?, ?)", params![id, team]).unwrap();
        let insert =
            "INSERT INTO certificate (id, ref, team, member, receipts, raw) VALUES (?, ?, ?, ?, 0, ?)";
        transaction.execute(insert, params![id, reference, team, id, raw]).unwrap();
    }
    let insert = "INSERT INTO receipt
         (provider, started, member, certificate, weight, first_seen, age, second_hand, flushed, raw)
         VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?)";
    let mut statement = transaction.prepare(insert).unwrap();
    let mut keep_member = transaction.prepare("INSERT INTO member (name) VALUES (?)").unwrap();
    for number in 0..sessions {
        let at = NOW.0 + u64::from(number) * 30 * DAY / u64::from(sessions);
        let name: [u8; 24] = rng.random();
        let member = keep_member.insert([name]).unwrap();
        // Two in five were served here, one of our own people somewhere, the others' dealings were shown.
        let provider: i64 = if number % 5 < 2 { 3_001 } else { rng.random_range(1..=3_000) };
        let consumer: i64 = if number % 5 == 2 { 3_001 } else { rng.random_range(1..=3_000) };
        let at = i64::try_from(at).unwrap();
        statement
            .execute(params![provider, at, member, consumer, 25_000_000, at, at, signed.as_bytes()])
            .unwrap();
    }
    drop((statement, keep_member));
    transaction.commit().unwrap();
}

/// What this process has had of the processor (proc(5)); how long that takes depends on what else the computer does.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after = stat.rsplit_once(") ").unwrap().1;
    let fields: Vec<f64> = after.split(' ').skip(11).take(2).map(|field| field.parse().unwrap()).collect();
    fields.iter().sum::<f64>() / 100.0
}

/// A policy of the papers as a household would set it.
fn by_receipts(policy: Policy) -> Config {
    let mut config = Config::default();
    config.judge.policy = policy;
    config
}

#[test]
#[ignore = "a measurement: a month of a million receipts; some minutes to be written"]
fn a_month_of_a_million_receipts_takes_less_than_a_minute_of_the_processor() {
    let (state, path, store) = store(2_000_000);
    drop(store);
    write_month(&path, 1_000_000);
    let netflow = Policy::NetFlow { sigma: PerMille(750), kappa: Bytes(25_000_000) };
    let policies = [
        ("credit", credit(100_000_000)),
        ("quota", by_receipts(Policy::Quota { bytes: Bytes(1_000_000_000) })),
        ("gmf", by_receipts(Policy::Gmf { gain: PerMille(500) })),
        ("srm", by_receipts(Policy::Srm)),
        ("netflow", by_receipts(netflow)),
    ];
    for (name, other) in policies {
        let began = processor_seconds();
        let report = replay(state.path(), &other, UnixSeconds(0));
        let took = processor_seconds() - began;
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        println!(
            "credit and {name}: {took:.1} s of processor time for {} sessions; {peak}",
            report.kept.sessions
        );
        assert_eq!(report.kept.sessions, 1_000_000);
        assert!(took <= 60.0, "{name}: {took} s");
    }
}

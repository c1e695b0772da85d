use super::*;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

const START: UnixSeconds = UnixSeconds(1_800_000_000);
const HOUR: u64 = 3_600;
const LIMITS: AddressLimits = AddressLimits { keep_seconds: HOUR, records_max: 1_000 };

/// So many seconds after the start by both clocks.
fn after(seconds: u64) -> Moment {
    Moment { wall: START.plus(seconds), steady_seconds: seconds }
}

fn holder(number: u8) -> AddressHolder {
    AddressHolder {
        ip: Ipv4Addr::new(10, 11, 0, number),
        mac: Some([2, 0xaa, 0xbb, 0xcc, 0xdd, number]),
        team: Some(TeamId([number; 24])),
        member: Some(KeyId([0xf0 ^ number; 24])),
        by_tunnel: number.is_multiple_of(2),
    }
}

struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("addresses.sqlite")
    }

    fn open(&self, now: Moment) -> Addresses {
        Addresses::open(&self.path(), LIMITS, now).unwrap()
    }

    /// Whether any file of the directory has these bytes.
    fn has(&self, needle: &[u8]) -> bool {
        fs::read_dir(self.directory.path()).unwrap().any(|file| {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
    }
}

/// The last numbers of the addresses.
fn numbers(records: &[AddressRecord]) -> Vec<u8> {
    let mut numbers: Vec<_> = records.iter().map(|record| record.holder.ip.octets()[3]).collect();
    numbers.sort_unstable();
    numbers
}

fn all(addresses: &Addresses) -> Vec<AddressRecord> {
    addresses.find(None, None, 0, 10_000).unwrap().0
}

#[test]
fn who_was_there_at_a_time_is_found_and_nobody_else() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    let first = addresses.begin(&holder(1), after(10)).unwrap();
    let second = addresses.begin(&holder(2), after(20)).unwrap();
    addresses.end(first, Some(Bytes(500)), after(30)).unwrap();
    for (seconds, want) in
        [(9, vec![]), (10, vec![1]), (20, vec![1, 2]), (30, vec![1, 2]), (31, vec![2]), (10_000, vec![2])]
    {
        let found = addresses.find(Some(START.plus(seconds)), None, 0, 10).unwrap().0;
        assert_eq!(numbers(&found), want, "{seconds}");
    }
    let only = addresses.find(Some(START.plus(25)), Some(holder(1).ip), 0, 10).unwrap().0;
    assert_eq!(
        only,
        [AddressRecord {
            holder: holder(1),
            began: START.plus(10),
            ended: Some(START.plus(30)),
            is_cut: false,
            carried: Bytes(500),
        }]
    );
    addresses.note_carried(second, Bytes(7)).unwrap();
    let (page, next) = addresses.find(None, None, 0, 1).unwrap();
    assert_eq!(numbers(&page), [1]);
    let (rest, end) = addresses.find(None, None, next.unwrap(), 1).unwrap();
    assert_eq!((numbers(&rest), rest[0].carried, rest[0].ended, end), (vec![2], Bytes(7), None, None));
    assert_eq!(fs::metadata(bench.path()).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_is_due_is_gone_from_the_disk_and_what_is_open_stays() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    let gone = addresses.begin(&holder(1), after(0)).unwrap();
    addresses.begin(&holder(2), after(0)).unwrap();
    addresses.end(gone, Some(Bytes(1)), after(60)).unwrap();
    assert_eq!(addresses.pass_time(after(60 + HOUR - 1)), Ok(0));
    let [mac, other] = [holder(1), holder(2)].map(|it| it.mac.unwrap());
    assert!(bench.has(&mac) && bench.has(&other));
    assert_eq!(addresses.pass_time(after(60 + HOUR)), Ok(1));
    assert!(!bench.has(&mac) && !bench.has(&[1; 24]) && bench.has(&other));
    assert_eq!(addresses.count(), 1);
}

#[test]
fn nothing_that_was_removed_can_be_read_in_the_files_whatever_was_written_before() {
    // Pages are split, filled, emptied and used again.
    let bench = Bench::new();
    let limits = AddressLimits { records_max: 700, ..LIMITS };
    let mut addresses = Addresses::open(&bench.path(), limits, after(0)).unwrap();
    let mut macs = Vec::new();
    for round in 0_u32..3_000 {
        let [_, a, b, c] = round.wrapping_mul(2_654_435_761).to_be_bytes();
        let mac = [0x5e, 0x5f, a, b, c, (round % 251) as u8];
        let mut who = AddressHolder { mac: Some(mac), ..holder((round % 200) as u8) };
        who.team = who.team.filter(|_| round % 3 > 0);
        let now = after(u64::from(round) * 10);
        let number = addresses.begin(&who, now).unwrap();
        macs.push(mac);
        if round % 7 != 0 {
            addresses.end(number, Some(Bytes(u64::from(round) << (round % 40))), now).unwrap();
        }
        if round % 97 == 0 {
            addresses.pass_time(now).unwrap();
        }
        if round % 400 == 399 {
            addresses.forget(Forget::Address(holder((round % 199) as u8).ip)).unwrap();
        }
    }
    addresses.pass_time(after(30_000)).unwrap();
    let kept: Vec<_> = all(&addresses);
    assert!((300..=700).contains(&kept.len()), "{}", kept.len());
    let kept: std::collections::BTreeSet<_> = kept.iter().filter_map(|it| it.holder.mac).collect();
    let mut found = std::collections::BTreeSet::new();
    for file in fs::read_dir(bench.directory.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        found.extend(
            bytes.windows(6).filter(|it| it[..2] == [0x5e, 0x5f]).map(|it| <[u8; 6]>::try_from(it).unwrap()),
        );
    }
    let leaked: Vec<_> = macs.iter().filter(|mac| found.contains(*mac) && !kept.contains(*mac)).collect();
    assert!(leaked.is_empty(), "{} of {} are still there", leaked.len(), macs.len());
    assert!(kept.iter().all(|mac| found.contains(mac)), "the test sees what is there");
}

#[test]
fn what_became_due_while_nothing_ran_is_gone_once_it_is_opened() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    let ended = addresses.begin(&holder(1), after(0)).unwrap();
    addresses.end(ended, Some(Bytes(1)), after(10)).unwrap();
    addresses.begin(&holder(3), after(20)).unwrap();
    addresses.pass_time(after(60)).unwrap();
    drop(addresses);
    // By the wall alone: the steady clock begins anew in each run.
    let now = Moment { wall: START.plus(10 + HOUR), steady_seconds: 0 };
    let addresses = bench.open(now);
    let left = all(&addresses);
    assert_eq!(numbers(&left), [3]);
    assert_eq!((left[0].ended, left[0].is_cut), (Some(START.plus(60)), true), "when it was last seen");
    drop(addresses);
    bench.open(Moment { wall: START.plus(60 + HOUR), steady_seconds: 0 });
    assert!(!bench.has(&holder(1).mac.unwrap()) && !bench.has(&holder(3).mac.unwrap()));
}

#[test]
fn a_clock_that_is_set_back_keeps_nothing_for_longer_over_several_runs() {
    let bench = Bench::new();
    let set_back = |steady_seconds| Moment { wall: START.minus(10_000_000), steady_seconds };
    let mut addresses = bench.open(after(0));
    let ended = addresses.begin(&holder(1), after(0)).unwrap();
    addresses.end(ended, Some(Bytes(1)), after(100)).unwrap();
    assert_eq!(addresses.pass_time(set_back(100 + HOUR / 2)), Ok(0));
    drop(addresses);
    let mut addresses = bench.open(set_back(0));
    assert_eq!(addresses.pass_time(set_back(HOUR / 2 - 1)), Ok(0));
    assert_eq!(addresses.pass_time(set_back(HOUR / 2)), Ok(1));
    assert!(!bench.has(&holder(1).mac.unwrap()));
}

#[test]
fn a_lower_setting_removes_at_once() {
    let bench = Bench::new();
    let limits = AddressLimits { keep_seconds: 10 * HOUR, ..LIMITS };
    let mut addresses = Addresses::open(&bench.path(), limits, after(0)).unwrap();
    let ended = addresses.begin(&holder(1), after(0)).unwrap();
    addresses.end(ended, Some(Bytes(1)), after(0)).unwrap();
    assert_eq!(addresses.pass_time(after(2 * HOUR)), Ok(0));
    assert_eq!(addresses.keep_for(HOUR, after(2 * HOUR)), Ok(1));
    assert!(!bench.has(&holder(1).mac.unwrap()));
}

#[test]
fn when_there_are_too_many_the_oldest_that_have_ended_go_first() {
    let bench = Bench::new();
    let limits = AddressLimits { records_max: 4, ..LIMITS };
    let mut addresses = Addresses::open(&bench.path(), limits, after(0)).unwrap();
    for number in 1..=7 {
        let row = addresses.begin(&holder(number), after(number.into())).unwrap();
        if number != 1 {
            addresses.end(row, Some(Bytes(0)), after(number.into())).unwrap();
        }
        assert!(addresses.count() <= 4);
    }
    let left = all(&addresses);
    assert_eq!(numbers(&left), [1, 5, 6, 7], "the first one is still there");
}

#[test]
fn what_is_forgotten_is_gone_and_does_not_come_back() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    let rows: Vec<_> = (1..=4).map(|number| addresses.begin(&holder(number), after(0)).unwrap()).collect();
    assert_eq!(addresses.teams("0202"), Ok(BTreeSet::from([TeamId([2; 24])])));
    assert_eq!(addresses.teams("0").unwrap().len(), 4);
    assert_eq!(addresses.teams("0%"), Ok(BTreeSet::new()));
    assert_eq!(addresses.forget(Forget::Address(holder(1).ip)), Ok(1));
    assert_eq!(addresses.forget(Forget::Team(TeamId([2; 24]))), Ok(1));
    // Somebody else gets the slot.
    addresses.begin(&holder(3), after(4)).unwrap();
    addresses.end(rows[0], Some(Bytes(1)), after(5)).unwrap();
    assert!(all(&addresses).iter().all(|record| record.ended.is_none()));
    assert_eq!(numbers(&all(&addresses)), [3, 3, 4]);
    assert_eq!(addresses.forget(Forget::All), Ok(3));
    assert!((1..=4).all(|number| !bench.has(&holder(number).mac.unwrap())));
}

#[test]
fn what_cannot_be_removed_is_overdue_once_it_is_due() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    let ended = addresses.begin(&holder(1), after(0)).unwrap();
    addresses.begin(&holder(2), after(0)).unwrap();
    addresses.end(ended, None, after(1)).unwrap();
    addresses.connection.pragma_update(None, "query_only", true).unwrap();
    let last = 1 + LIMITS.keep_seconds;
    for (seconds, is_overdue) in [(1, false), (last - 1, false), (last, true)] {
        addresses.pass_time(after(seconds)).unwrap_err();
        assert_eq!(addresses.is_overdue(after(seconds)), is_overdue, "{seconds} s");
    }
    addresses.connection.pragma_update(None, "query_only", false).unwrap();
    assert_eq!(addresses.pass_time(after(last)), Ok(1));
    assert!(!addresses.is_overdue(after(last)));
}

#[test]
fn a_full_disk_is_named_and_what_is_there_can_still_be_read_and_removed() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    addresses.begin(&holder(1), after(0)).unwrap();
    // SQLite refuses a page more as it does when the disk has none.
    addresses.connection.pragma_update(None, "max_page_count", 6).unwrap();
    let full = (0..1_000).find_map(|_| addresses.begin(&holder(2), after(1)).err()).unwrap();
    assert_eq!(full, AddressesError::DiskFull { path: bench.path() });
    assert!(full.to_string().contains("make room"));
    let count = addresses.count();
    assert_eq!(all(&addresses).len() as u64, count, "it counts what is there");
    assert!(!addresses.is_overdue(after(2)), "nothing has ended");
    assert_eq!(addresses.forget(Forget::All), Ok(count));
    addresses.begin(&holder(3), after(2)).unwrap();
}

#[test]
fn a_damaged_file_is_named_and_can_be_removed_for_good() {
    let bench = Bench::new();
    let mut addresses = bench.open(after(0));
    for _ in 0..500 {
        addresses.begin(&holder(1), after(0)).unwrap();
    }
    drop(addresses);
    let whole = fs::read(bench.path()).unwrap();
    let damage: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[..16].fill(b'x'),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes[4_096..8_192].fill(0xff),
        |bytes| bytes[8_192..12_000].fill(0xff),
    ];
    for (case, damage) in damage.into_iter().enumerate() {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(bench.path(), &bytes).unwrap();
        let error = Addresses::open(&bench.path(), LIMITS, after(1)).unwrap_err();
        assert!(matches!(error, AddressesError::Damaged { .. }), "case {case}: {error:?}");
        assert!(remove_addresses(&bench.path()).unwrap());
        assert_eq!(fs::read_dir(bench.directory.path()).unwrap().count(), 0, "case {case}");
        assert_eq!(bench.open(after(1)).count(), 0, "case {case}: it begins anew");
    }
    assert!(remove_addresses(&bench.path()).unwrap());
    assert!(!remove_addresses(&bench.path()).unwrap());
}

#[test]
fn what_is_somebody_elses_or_newer_is_not_touched() {
    let bench = Bench::new();
    Connection::open(bench.path()).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = fs::read(bench.path()).unwrap();
    let refused = Addresses::open(&bench.path(), LIMITS, after(0)).unwrap_err();
    assert_eq!(refused, AddressesError::NotOurs { path: bench.path() });
    assert_eq!(fs::read(bench.path()).unwrap(), before);
    fs::remove_file(bench.path()).unwrap();
    bench.open(after(0)).connection.pragma_update(None, "user_version", 2).unwrap();
    let refused = Addresses::open(&bench.path(), LIMITS, after(0)).unwrap_err();
    assert_eq!(refused, AddressesError::Newer { path: bench.path(), got: 2, want: 1 });
    let open = Bench::new();
    let _first = open.open(after(0));
    let refused = Addresses::open(&open.path(), LIMITS, after(0)).unwrap_err();
    assert_eq!(refused, AddressesError::InUse { path: open.path() });
}

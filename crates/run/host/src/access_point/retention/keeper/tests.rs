use super::*;
use crate::access_point::retention::{Query, Retention, fetch, file, forget};
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

const MAC: [u8; 6] = [2, 0x5e, 0x11, 0x22, 0x33, 0x44];

fn address() -> Address {
    Address::new(MAC, Ipv4Addr::new(10, 11, 0, 21))
}

fn keep(text: &str) -> Option<Keep> {
    Keep::parse(text).unwrap()
}

/// Whether the file, or what SQLite has beside it, has the hardware address.
fn has_mac(state: &Path) -> bool {
    fs::read_dir(state)
        .unwrap()
        .any(|file| fs::read(file.unwrap().path()).unwrap().windows(6).any(|window| window == MAC))
}

/// A stranger comes and goes.
fn one_visit(state: &Path) {
    let retention = Retention::open(state, keep("1h")).unwrap();
    retention.trial_begins(address());
    retention.trial_ends(address(), Bytes(1_234));
}

#[test]
fn what_is_kept_is_found_when_nothing_runs_and_forgotten_by_its_address() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    one_visit(state);
    let ip = Some(Ipv4Addr::new(10, 11, 0, 21));
    let found = fetch(state, keep("1h"), Query { at: None, ip }).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["mac"], &found[0]["team"], &found[0]["carried"], &found[0]["cut"]),
        (&"02:5e:11:22:33:44".into(), &Value::Null, &1_234.into(), &false.into())
    );
    assert_eq!(forget(state, keep("1h"), "10.11.0.22").unwrap(), 0);
    assert!(has_mac(state));
    assert_eq!(forget(state, keep("1h"), "10.11.0.21").unwrap(), 1);
    assert!(!has_mac(state));
    assert!(forget(state, keep("1h"), "everybody").is_err());
}

#[test]
fn off_removes_the_file_at_the_start_and_by_hand() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    one_visit(state);
    let off = Retention::open(state, None).unwrap();
    assert!(!file(state).exists() && off.status().is_null());
    off.trial_begins(address());
    drop(off);
    assert!(!has_mac(state), "nothing is recorded");
    assert!(fetch(state, None, Query::default()).unwrap_err().to_string().contains("not kept"));
    one_visit(state);
    assert_eq!(forget(state, None, "--all").unwrap(), 1);
    assert!(!file(state).exists());
}

#[test]
fn a_damaged_file_goes_as_a_whole_and_what_comes_then_is_kept() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    one_visit(state);
    let whole = fs::read(file(state)).unwrap();
    let at = whole.windows(6).position(|window| window == MAC).unwrap();
    let mut damaged = whole.clone();
    damaged[at - 4] ^= 1; // An address that is another one: SQLite notices nothing.
    fs::write(file(state), damaged).unwrap();
    let retention = Retention::open(state, keep("1h")).unwrap();
    assert_eq!(retention.status()["records"], 0);
    assert!(!has_mac(state));
    retention.trial_begins(address());
    drop(retention);
    assert_eq!(fetch(state, keep("1h"), Query::default()).unwrap().len(), 1);
}

#[test]
fn a_file_that_cannot_be_used_stops_nobody_and_is_named() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    fs::create_dir(file(state)).unwrap();
    let retention = Retention::open(state, keep("1h")).unwrap();
    retention.trial_begins(address());
    retention.trial_ends(address(), Bytes(1));
    let status = retention.status();
    let trouble = status["trouble"].as_str().unwrap();
    assert!(trouble.contains("addresses.sqlite"), "{trouble}");
}

#[test]
fn a_session_that_begins_before_a_trial_at_its_address_is_closed_has_a_record_of_its_own() {
    let state = tempfile::tempdir().unwrap();
    let shown = Arc::<Mutex<Shown>>::default();
    let mut keeper = Keeper::new(file(state.path()), Clock::start(), shown);
    keeper.change(keep("2h"));
    let holder =
        AddressHolder { ip: address().ip, mac: Some(MAC), team: None, member: None, by_tunnel: false };
    let [trial, session] = [true, false].map(|is_trial| SessionKey { address: address(), is_trial });
    keeper.carry_out(Job::Begin(trial, holder));
    keeper.carry_out(Job::Begin(session, holder));
    keeper.carry_out(Job::Resume(session, holder));
    keeper.carry_out(Job::End(trial, Bytes(7)));
    keeper.carry_out(Job::Carried(vec![(session, Bytes(8))]));
    let (found, _) = keeper.records.as_ref().unwrap().find(None, None, 0, 10).unwrap();
    let carried: Vec<_> = found.iter().map(|record| (record.carried, record.ended.is_some())).collect();
    assert_eq!(carried, [(Bytes(7), true), (Bytes(8), false)]);
}

#[test]
fn a_session_whose_end_found_no_room_is_over_with_the_next_pass_or_with_the_next_session() {
    let state = tempfile::tempdir().unwrap();
    let shown = Arc::<Mutex<Shown>>::default();
    // A disk that takes nothing for now: nobody reads the jobs.
    let (jobs, waiting) = std::sync::mpsc::sync_channel(1);
    let retention = Retention { keep: keep("2h"), jobs, shown: Arc::clone(&shown), thread: None };
    let mut keeper = Keeper::new(file(state.path()), Clock::start(), shown);
    keeper.change(keep("2h"));
    let records = |keeper: &Keeper| {
        let (found, _) = keeper.records.as_ref().unwrap().find(None, None, 0, 10).unwrap();
        let carried: Vec<_> = found.iter().map(|record| (record.carried, record.ended.is_some())).collect();
        carried
    };
    retention.trial_begins(address());
    retention.trial_ends(address(), Bytes(7));
    keeper.pass_time();
    keeper.carry_out(waiting.recv().unwrap());
    assert_eq!(records(&keeper), [(Bytes(0), false)]);
    keeper.pass_time();
    assert_eq!(records(&keeper), [(Bytes(7), true)]);
    retention.trial_begins(address());
    retention.trial_ends(address(), Bytes(8));
    keeper.carry_out(waiting.recv().unwrap());
    retention.trial_begins(address());
    keeper.carry_out(waiting.recv().unwrap());
    keeper.pass_time();
    assert_eq!(records(&keeper), [(Bytes(7), true), (Bytes(0), true), (Bytes(0), false)]);
    drop(waiting);
}

#[test]
fn a_file_that_could_not_be_removed_is_once_it_can() {
    let state = tempfile::tempdir().unwrap();
    let shown = Arc::<Mutex<Shown>>::default();
    let mut keeper = Keeper::new(file(state.path()), Clock::start(), Arc::clone(&shown));
    // A directory in its way is no file that can be removed.
    fs::create_dir(file(state.path())).unwrap();
    keeper.change(None);
    assert!(shown.lock().unwrap().trouble.as_ref().is_some_and(|it| it.contains("by hand")));
    fs::remove_dir(file(state.path())).unwrap();
    one_visit(state.path());
    keeper.pass_time();
    assert!(!has_mac(state.path()) && shown.lock().unwrap().trouble.is_none());
}

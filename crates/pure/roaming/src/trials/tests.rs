use super::*;
use proptest::prelude::*;

const MEGABYTE: u64 = 1_000_000;
const CONFIG: TrialConfig = TrialConfig {
    each: Bytes(20 * MEGABYTE),
    per_day: Bytes(50 * MEGABYTE),
    time: Micros::from_seconds(600),
};
const NOW: Time = Time(1_000_000_000);

fn station(number: u8) -> Address {
    Address::new([2, 0, 0, 0, 0, number], [10, 0, 0, number].into())
}

fn drain(trials: &mut Trials) -> Vec<TrialEvent> {
    std::iter::from_fn(|| trials.poll_event()).collect()
}

/// Starts one, and lets the home and the firewall say yes.
fn begin(trials: &mut Trials, address: Address, now: Time) {
    trials.start(address, now);
    let [TrialEvent::Ask { reference, bytes }] = drain(trials)[..] else { panic!("the home is not asked") };
    trials.handle_answer(reference, bytes, now);
    assert!(
        matches!(drain(trials)[..], [TrialEvent::Open(Gate { address: of, most, .. })] if of == address && most == bytes)
    );
    trials.handle_opened(address);
    assert_eq!(drain(trials), [TrialEvent::Begun { address, runs: true }]);
}

#[test]
fn a_trial_runs_until_it_is_used_up_and_gives_the_rest_back() {
    let mut trials = Trials::new(CONFIG, NOW);
    let address = station(1);
    assert_eq!(trials.state(address, NOW), TrialState::Offered(CONFIG.each));
    begin(&mut trials, address, NOW);
    let later = NOW + Micros::from_seconds(100);
    trials.handle_traffic(address, Bytes(5 * MEGABYTE), later);
    let running = TrialState::Running { left: Bytes(15 * MEGABYTE), seconds_left: 500 };
    assert_eq!(trials.state(address, later), running);
    trials.handle_traffic(address, Bytes(20 * MEGABYTE - 1_000), later);
    assert_eq!(drain(&mut trials), [TrialEvent::Close(address)]);
    assert_eq!(trials.gates().count(), 0, "nobody keeps it open");
    trials.handle_closed(address, Bytes(20 * MEGABYTE - 600));
    let [TrialEvent::Over { unused, .. }] = drain(&mut trials)[..] else { panic!("the home is not told") };
    assert_eq!(unused, Bytes(600));
    assert_eq!(trials.state(address, later), TrialState::UsedUp);
    assert_eq!(trials.state(address, NOW + DAY), TrialState::Offered(CONFIG.each), "one a day");
}

#[test]
fn a_trial_ends_with_its_time_and_is_closed_again_until_it_is() {
    let mut trials = Trials::new(CONFIG, NOW);
    begin(&mut trials, station(1), NOW);
    let end = NOW + CONFIG.time;
    assert_eq!(trials.poll_timeout(), Some(end));
    for second in 0..3 {
        trials.handle_timeout(end + Micros::from_seconds(second));
        assert_eq!(drain(&mut trials), [TrialEvent::Close(station(1))]);
    }
    trials.handle_closed(station(1), Bytes(0));
    assert_eq!((trials.is_empty(), trials.poll_timeout()), (true, None));
}

#[test]
fn all_stations_together_have_so_much_in_a_day() {
    let mut trials = Trials::new(CONFIG, NOW);
    begin(&mut trials, station(1), NOW);
    begin(&mut trials, station(2), NOW);
    assert_eq!(trials.state(station(3), NOW), TrialState::UsedUp, "10 MB of 50 are left");
    trials.start(station(3), NOW);
    assert_eq!(drain(&mut trials), [TrialEvent::Begun { address: station(3), runs: false }]);
    trials.end(station(1).ip, NOW);
    trials.handle_closed(station(1), Bytes(5 * MEGABYTE));
    drain(&mut trials);
    assert_eq!(
        trials.state(station(3), NOW),
        TrialState::Offered(CONFIG.each),
        "what was not carried is there again"
    );
    assert_eq!(trials.state(station(1), NOW), TrialState::UsedUp, "it had its trial");
}

#[test]
fn nothing_begins_without_the_home() {
    let mut trials = Trials::new(CONFIG, NOW);
    let turned_away = [TrialEvent::Begun { address: station(1), runs: false }];
    trials.start(station(1), NOW);
    let [TrialEvent::Ask { reference, .. }] = drain(&mut trials)[..] else { panic!() };
    trials.start(station(1), NOW);
    assert_eq!(drain(&mut trials), [], "pressed twice it starts once");
    trials.handle_answer(reference, Bytes(0), NOW);
    assert_eq!(drain(&mut trials), turned_away);
    assert_eq!(trials.state(station(1), NOW), TrialState::UsedUp);
    let later = NOW + TURNED_AWAY;
    trials.start(station(1), later);
    let [TrialEvent::Ask { reference, bytes }] = drain(&mut trials)[..] else {
        panic!("a minute later again")
    };
    trials.handle_timeout(later + BEGIN_MAX);
    assert_eq!(drain(&mut trials), turned_away, "a person waits no longer");
    trials.handle_answer(reference, bytes, later + BEGIN_MAX);
    assert_eq!(
        drain(&mut trials),
        [TrialEvent::Over { reference, unused: bytes }],
        "too late: all goes back"
    );
    assert!(trials.is_empty());
}

#[test]
fn a_household_that_offers_none_any_more_lets_those_run_that_run() {
    let mut trials = Trials::new(CONFIG, NOW);
    begin(&mut trials, station(1), NOW);
    trials.reconfigure(TrialConfig::NONE, NOW);
    assert_eq!(trials.state(station(2), NOW), TrialState::Closed);
    assert_eq!(trials.gates().count(), 1);
    trials.reconfigure(CONFIG, NOW);
    begin(&mut trials, station(2), NOW);
    assert_eq!(trials.state(station(3), NOW), TrialState::UsedUp, "what was given today stays given");
}

proptest! {
    /// Whoever asks with whatever addresses, and however the home and the firewall answer: what passes in a span is what
    /// there was and what a day brings, and everything that the home gave is carried or goes back.
    #[test]
    fn no_more_passes_than_a_day_has(
        steps in prop::collection::vec((0_u8..7, 0_u8..40, 0_u64..30 * MEGABYTE, 0_u64..7_200), 1..200)
    ) {
        let mut trials = Trials::new(CONFIG, NOW);
        let (mut now, mut asked) = (NOW, VecDeque::new());
        let (mut given, mut back, mut carried) = (0, 0, 0);
        let mut open = OrderedMap::<Address, (u64, u64)>::new();
        for (what, number, bytes, seconds) in steps {
            let address = station(number);
            match what {
                0 | 1 => trials.start(address, now),
                2 => if let Some((reference, wanted)) = asked.pop_front() {
                    let granted = bytes.min(wanted);
                    given += granted;
                    trials.handle_answer(reference, Bytes(granted), now);
                },
                3 => trials.handle_opened(address),
                4 => if let Some((used, most)) = open.get_mut(&address) {
                    *used = (*used + bytes).min(*most);
                    trials.handle_traffic(address, Bytes(*used), now);
                },
                5 => {
                    now = now + Micros::from_seconds(seconds);
                    trials.handle_timeout(now);
                }
                _ => trials.end(address.ip, now),
            }
            while let Some(event) = trials.poll_event() {
                match event {
                    TrialEvent::Ask { reference, bytes } => asked.push_back((reference, bytes.0)),
                    TrialEvent::Open(gate) => drop(open.insert(gate.address, (0, gate.most.0))),
                    TrialEvent::Close(address) => {
                        let (used, _) = open.remove(&address).unwrap_or_default();
                        carried += used;
                        trials.handle_closed(address, Bytes(used));
                    }
                    TrialEvent::Over { unused, .. } => back += unused.0,
                    TrialEvent::Begun { .. } => {}
                }
            }
            let passing: u64 = open.values().map(|(used, _)| used).sum();
            let days = u128::from((now - NOW).0);
            let most = u128::from(CONFIG.per_day.0) * (u128::from(DAY.0) + days) / u128::from(DAY.0);
            prop_assert!(u128::from(carried + passing) <= most, "{carried} and {passing} of {most}");
        }
        trials.end_all(now);
        while let Some(event) = trials.poll_event() {
            match event {
                TrialEvent::Close(address) => {
                    let (used, _) = open.remove(&address).unwrap_or_default();
                    carried += used;
                    trials.handle_closed(address, Bytes(used));
                }
                TrialEvent::Over { unused, .. } => back += unused.0,
                TrialEvent::Ask { .. } | TrialEvent::Open(_) | TrialEvent::Begun { .. } => {}
            }
        }
        prop_assert!(trials.is_empty());
        prop_assert_eq!(given, back + carried);
    }
}

#[test]
fn what_a_blocked_station_tries_is_over_at_every_stage() {
    let mut trials = Trials::new(CONFIG, NOW);
    begin(&mut trials, station(1), NOW);
    assert!(!trials.end_station(station(2).mac, NOW), "it tries nothing");
    assert!(trials.end_station(station(1).mac, NOW));
    assert_eq!(drain(&mut trials), [TrialEvent::Close(station(1))]);
    trials.start(station(2), NOW);
    let [TrialEvent::Ask { reference, bytes }] = drain(&mut trials)[..] else {
        panic!("the home is not asked")
    };
    assert!(trials.end_station(station(2).mac, NOW));
    assert_eq!(drain(&mut trials), [TrialEvent::Begun { address: station(2), runs: false }]);
    trials.handle_answer(reference, bytes, NOW);
    assert_eq!(drain(&mut trials), [TrialEvent::Over { reference, unused: bytes }], "all of it goes back");
}

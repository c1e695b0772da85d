//! Two sides over a bad network, in virtual time.

use super::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Half of a side: it begins a phase each second, and answers the other's.
#[derive(Default)]
struct Phases {
    /// The phase that we have begun, if it is still open.
    open: Option<u32>,
    next: u32,
    answered: Option<u32>,
}

struct World {
    sides: [Modern; 2],
    phases: [Phases; 2],
    flying: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    seen: [BTreeSet<u64>; 2],
    sent: u64,
    loss: f64,
    delay_max: u64,
    rng: ChaCha8Rng,
}

impl World {
    fn send(&mut self, from: usize, content: &Content, now: Time) {
        let datagram = seal(&mut self.sides[from], content, now);
        let copies = if self.rng.random_bool(0.1) { 2 } else { 1 };
        for _ in 0..copies {
            self.sent += 1;
            if !self.rng.random_bool(self.loss) {
                let at = now + Micros(self.rng.random_range(1..=self.delay_max));
                self.flying.insert((at, self.sent), (1 - from, datagram.clone()));
            }
        }
    }

    fn send_message(&mut self, from: usize, phase: u32, step: Step, key: Vec<u8>, now: Time) {
        self.send(from, &Content::Message(Message { phase, step, key }), now);
    }

    fn receive(&mut self, to: usize, datagram: &[u8], now: Time) {
        let opened = match self.sides[to].open(datagram, now) {
            Ok(opened) => opened,
            Err(error) => {
                // Everything here is honest and less than the grace late: nothing may be refused but a copy.
                assert_eq!(error, SealError::Replayed);
                return;
            }
        };
        assert!(self.seen[to].insert(opened.sequence), "{} was opened twice", opened.sequence);
        let Content::Message(message) = opened.content else { return };
        let (phase, side) = (message.phase, &mut self.sides[to]);
        match message.step {
            Step::Probe { .. } if self.phases[to].answered.is_none_or(|answered| phase > answered) => {
                self.phases[to].answered = Some(phase);
                let key = side.response(phase, &message.key).expect("a good probe");
                self.send_message(to, phase, Step::Response { time: 0, held: 0 }, key, now);
            }
            Step::Response { .. } if self.phases[to].open == Some(phase) => {
                let key = side.install(phase, &message.key).expect("a good response");
                self.send_message(to, phase, Step::Install { round_trip: 0 }, key, now);
            }
            Step::Install { .. } if self.phases[to].answered == Some(phase) => {
                let key = side.ack(phase, &message.key).expect("a good installation");
                self.send_message(to, phase, Step::Ack { round_trip: 0 }, key, now);
            }
            Step::Ack { .. } if self.phases[to].open == Some(phase) => {
                side.complete(phase, &message.key).expect("a good acknowledgement");
                self.phases[to].open = None;
            }
            Step::Probe { .. } | Step::Response { .. } | Step::Install { .. } | Step::Ack { .. } => {}
        }
    }

    fn deliver(&mut self, until: Time) {
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, _), (to, datagram)) = entry.remove_entry();
            self.receive(to, &datagram, at);
        }
    }
}

/// Half a minute of 25 packets a second each way, with `loss` on each, copies, and delays of up to `delay_max` µs.
fn run(seed: u64, loss: f64, delay_max: u64, healing_interval: u32) -> World {
    let mut world = World {
        sides: pair(config(healing_interval)),
        phases: [Phases::default(), Phases::default()],
        flying: BTreeMap::new(),
        seen: [BTreeSet::new(), BTreeSet::new()],
        sent: 0,
        loss,
        delay_max,
        rng: ChaCha8Rng::seed_from_u64(seed),
    };
    for slot in 0..750_u64 {
        let now = Time(slot * 40_000);
        world.deliver(now);
        for side in 0..2 {
            world.send(side, &sound(&[9; 34]), now);
            if slot % 25 == 7 * side as u64 {
                let phases = &mut world.phases[side];
                let number = phases.next;
                phases.next += 1;
                let gone = phases.open.replace(number);
                gone.into_iter().for_each(|phase| world.sides[side].abandon(phase));
                let key = world.sides[side].probe(number);
                world.send_message(side, number, Step::Probe { time: 0 }, key, now);
            }
        }
    }
    world.deliver(Time(u64::MAX));
    world
}

/// After anything at all, what either side says next is understood.
fn assert_common_key(world: &mut World, seed: u64) {
    for side in 0..2 {
        let datagram = seal(&mut world.sides[side], &sound(&[1; 34]), seconds(30));
        assert!(world.sides[1 - side].open(&datagram, seconds(30)).is_ok(), "seed {seed}");
    }
}

#[test]
fn both_sides_have_a_common_key_after_any_loss_and_reordering() {
    let mut generations = 0;
    for seed in 0..12_u64 {
        let delay_max = if seed.is_multiple_of(2) { 900_000 } else { 100_000 };
        let mut world = run(seed, 0.4, delay_max, 1);
        assert_common_key(&mut world, seed);
        generations += world.sides[0].generations()[0] + world.sides[1].generations()[0];
    }
    assert!(generations > 12, "{generations}: some phases get through nevertheless");
}

#[test]
fn nothing_late_is_refused_when_two_phases_end_one_right_after_the_other() {
    // Here a datagram of the generation before the previous one comes within the grace.
    run(1_604_679_700_117_775_571, 0.025_404_126_467_764_1, 786_433, 1);
}

#[test]
fn on_a_good_network_every_due_phase_brings_a_generation() {
    for (interval, want) in [(1, 30), (4, 7), (16, 1)] {
        let mut world = run(1, 0.0, 50_000, interval);
        assert_common_key(&mut world, 1);
        let [caller, callee] = [0, 1].map(|side| world.sides[side].generations());
        assert_eq!((caller, callee), ([want, want], [want, want]), "every {interval}");
    }
}

#[test]
fn the_same_seed_gives_the_same_datagrams() {
    let last = |seed| seal(&mut run(seed, 0.2, 300_000, 1).sides[0], &sound(b"x"), seconds(31));
    assert_eq!(last(1), last(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_network_will_do(seed: u64, loss in 0.0..0.4_f64, delay_max in 1_u64..900_000, interval in 1_u32..6) {
        let mut world = run(seed, loss, delay_max, interval);
        assert_common_key(&mut world, seed);
    }
}

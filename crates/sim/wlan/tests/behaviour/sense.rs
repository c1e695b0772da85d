//! Who begins before a frame is noticed collides with it.

use guestright_engine::{Instant, Nanos, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::{Config, ConfigError, Mac, Msdu, StationId, Wlan};

/// How many accesses were shared when a second packet comes to an idle medium so long after the first.
fn collisions(sense_time: u64, apart: u64) -> u64 {
    let config = Config::new(&[1], 1);
    let mac = Mac { sense_time: Nanos(sense_time), ..config.mac };
    let mut radio =
        Wlan::new(&Config { mac, ..config }, &Streams::new(Seed::from_number(1))).expect("good settings");
    let (mut queue, mut keys) = (Queue::new(), Pool::new());
    // After 10 ms nothing is left of the first backoffs; both packets come before the first DIFS is over.
    for (at, from, to) in [(10_000_000, 0, 1), (10_000_000 + apart, 1, 0)] {
        let msdu = Msdu { key: keys.insert(()), bytes: 60, to: StationId(to) };
        assert!(radio.enqueue(StationId(from), msdu, &mut At { at: Instant(at), queue: &mut queue }));
    }
    while let Some((_, event)) = queue.pop() {
        radio.handle(event, &mut queue);
    }
    assert_eq!((radio.stats(StationId(0)).delivered, radio.stats(StationId(1)).delivered), (1, 1));
    radio.channel_stats(1).expect("stations are on it").collisions
}

/// The queue at a time to which it has not yet come.
struct At<'a> {
    at: Instant,
    queue: &'a mut Queue<guestright_wlan::Event>,
}

impl guestright_engine::Agenda<guestright_wlan::Event> for At<'_> {
    fn now(&self) -> Instant {
        self.at
    }

    fn schedule(&mut self, at: Instant, event: guestright_wlan::Event) {
        self.queue.push(at, event);
    }
}

#[test]
fn late_notice_is_a_collision() {
    #[rustfmt::skip]
    let cases = [
        // Noticed after, apart, collisions.
        (0,     0,     1),
        (0,     1,     0),
        (4_000, 3_390, 1),
        (4_000, 3_999, 1),
        (4_000, 4_000, 0),
    ];
    for (sense_time, apart, want) in cases {
        assert_eq!(collisions(sense_time, apart), want, "noticed after {sense_time} ns, {apart} ns apart");
    }
}

#[test]
fn notice_takes_less_than_a_slot() {
    let mut config = Config::new(&[1], 1);
    config.mac.sense_time = config.phy.slot;
    assert_eq!(config.check(), Err(ConfigError::SenseTime { got: 20_000, slot: 20_000 }));
}

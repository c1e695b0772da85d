//! A call over TFRC through a link that is wide, narrow, or cut.

use guestright_congestion::Reno;
use guestright_congestion::tfrc::TfrcSenderSettings;
use guestright_engine::{Instant, Nanos, Part, Pool, Queue, Streams};
use guestright_transport::path::{Call as PathCall, Carrier, Path, PathConfig};
use guestright_transport::{
    Ends, Errors, Flow, Link, LinkEvent, LinkNumber, LinkSettings, QueueLimit, SettingsError, Side, TfrcEnds,
    TfrcEndsSettings,
};
use guestright_units::Seed;

#[derive(Clone, Copy, Debug)]
enum Event {
    Speak(u32),
    Link(LinkEvent),
    Timer(Side),
}

/// What a call was like.
struct Call {
    ends: TfrcEnds,
    /// Packets that were heard, and how long after they were spoken.
    delivered: Vec<(u32, Nanos)>,
    spoken: u32,
    lost: u64,
    dropped: u64,
}

/// A call and its network.
struct World {
    call: Call,
    /// There and back.
    links: [Link; 2],
    queue: Queue<Event>,
    pool: Pool<u64>,
    /// For when each side has a timer.
    due: [Instant; 2],
}

const SPAN: Nanos = Nanos::from_millis(20);

fn spoken_at(number: u32) -> Instant {
    Instant::START + SPAN * u64::from(number)
}

/// `count` packets of 160 bytes, one every 20 ms, over a link there and a wide one back, 30 ms each.
fn call(count: u32, rate: u64, errors: &Errors, settings: TfrcEndsSettings) -> Call {
    let streams = Streams::new(Seed::from_number(2));
    let there = LinkSettings {
        delay: Nanos::from_millis(30),
        queue_max: QueueLimit::Packets(20),
        ..LinkSettings::bare(rate)
    };
    let back = LinkSettings { rate: 10_000_000, ..there };
    let links = [
        Link::with_errors(LinkNumber(0), there, errors, &streams).expect("the settings can be"),
        Link::new(LinkNumber(1), back).expect("the settings can be"),
    ];
    let ends = TfrcEnds::new(Flow(0), settings, Instant::START).expect("the settings can be");
    let call = Call { ends, delivered: Vec::new(), spoken: 0, lost: 0, dropped: 0 };
    let mut world = World { call, links, queue: Queue::new(), pool: Pool::new(), due: [Instant::NEVER; 2] };
    for number in 0..count {
        world.queue.push(spoken_at(number), Event::Speak(number));
    }
    let end = spoken_at(count) + Nanos::from_seconds(5);
    while let Some((now, event)) = world.queue.pop().filter(|(at, _)| *at <= end) {
        world.happen(now, event);
        world.drain(now, event);
    }
    let call = world.call;
    let stats = call.ends.stats();
    assert_eq!(stats.delivered, call.delivered.len() as u64);
    assert_eq!(stats.sent, stats.delivered + call.lost + call.dropped, "nothing is left on the way");
    let unsent = stats.expired + stats.displaced + call.ends.waiting() as u64;
    assert_eq!(u64::from(call.spoken), stats.sent + unsent, "{stats:?}");
    call
}

impl World {
    fn happen(&mut self, now: Instant, event: Event) {
        let call = &mut self.call;
        match event {
            Event::Speak(number) => {
                call.ends.write(now, number, 160);
                call.spoken += 1;
            }
            Event::Timer(side) => {
                self.due[side as usize] = Instant::NEVER;
                if call.ends.timeout(side).is_some_and(|at| at <= now) {
                    call.ends.time_out(now, side);
                }
            }
            Event::Link(event) => {
                let link = &mut self.links[event.link.0 as usize];
                link.handle(event, &mut Part::new(&mut self.queue, Event::Link));
                let packet = link.poll_output().expect("a datagram has arrived");
                let id = self.pool.remove(packet.key);
                let side = if event.link.0 == 0 { Side::Sink } else { Side::Source };
                if packet.lost {
                    call.lost += u64::from(side == Side::Sink);
                    call.ends.drop_datagram(id);
                } else {
                    call.ends.arrive(now, side, id, packet.marked);
                }
            }
        }
    }

    fn drain(&mut self, now: Instant, event: Event) {
        let call = &mut self.call;
        for (side, link) in [Side::Source, Side::Sink].into_iter().zip(&mut self.links) {
            while let Some((id, bytes)) = call.ends.poll_transmit(now, side) {
                let key = self.pool.insert(id);
                if !link.enqueue(key, bytes, &mut Part::new(&mut self.queue, Event::Link)) {
                    self.pool.remove(key);
                    call.dropped += u64::from(side == Side::Source);
                    call.ends.drop_datagram(id);
                }
            }
            let due = &mut self.due[side as usize];
            if let Some(at) = call.ends.timeout(side).filter(|at| at < due) {
                let again = matches!(event, Event::Timer(timer) if timer == side);
                assert!(at > now || !again, "{side:?} never rests");
                *due = at;
                self.queue.push(at, Event::Timer(side));
            }
        }
        while let Some(number) = call.ends.poll_delivered() {
            call.delivered.push((number, now.since(spoken_at(number))));
        }
    }
}

fn settings() -> TfrcEndsSettings {
    TfrcEndsSettings::rfc5348(160)
}

#[test]
fn a_wide_link_carries_all_packets_at_once() {
    let call = call(1_000, 1_000_000, &Errors::None, settings());
    assert_eq!(call.delivered.len(), 1_000);
    assert!(call.delivered.is_sorted());
    // 200 bytes at 1 Mbit/s are 1.6 ms. The first packet goes at once, the others wait for its feedback: after 20 ms,
    // 50 ms later. Then the rate is four packets in a round trip of some 62 ms: 65 in a second, with 50 spoken.
    assert_eq!(call.delivered[0], (0, Nanos(31_600_000)));
    assert!(
        call.delivered[1].1 > Nanos::from_millis(60) && call.delivered[1].1 < Nanos::from_millis(100),
        "{:?}",
        call.delivered[1]
    );
    assert!(call.delivered[100..].iter().all(|(_, delay)| *delay == Nanos(31_600_000)));
    // Once a round trip, which the packets of 20 ms stretch a little.
    let feedback = call.ends.stats().feedback;
    assert!((200..=340).contains(&feedback), "{feedback} in 20 s");
}

#[test]
fn a_narrow_link_is_shared_and_what_cannot_be_sent_in_time_is_thrown_away() {
    // 80 kbit/s of packets for 40 kbit/s: UDP would lose half of them at the link, after 0.8 s in its queue.
    let call = call(3_000, 40_000, &Errors::None, settings());
    let stats = call.ends.stats();
    let in_time = call.delivered.iter().filter(|(_, delay)| *delay <= Nanos::from_millis(1_200)).count();
    assert_eq!(in_time, call.delivered.len(), "300 ms at the source, 0.8 s in the queue, 70 ms on the way");
    // Half may pass; TFRC fills most of that, and loses little.
    assert!((1_000..=1_520).contains(&call.delivered.len()), "{}", call.delivered.len());
    assert!(call.dropped * 20 < stats.sent, "{} of {}", call.dropped, stats.sent);
    assert!(stats.expired + stats.displaced > 1_300, "{stats:?}");
}

#[test]
fn losses_slow_the_sender_as_the_equation_says() {
    let errors = Errors::Bernoulli { per_million: 100_000 };
    let call = call(3_000, 1_000_000, &errors, settings());
    // One of ten is lost: R = 62 ms, s = 160: X = 160 / (0.062 * (sqrt(0.2 / 3) + 12 * sqrt(0.3 / 8) * 0.1 * 1.32)).
    let p = 0.1_f64;
    let packets =
        1.0 / (0.0632 * ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)));
    let got = call.ends.stats().sent as f64 / 60.0;
    assert!((packets - 27.9).abs() < 0.5, "{packets}");
    // `p` counts loss events, which are a little fewer than losses, and is noisy: the mean of rates is not the rate of the
    // mean.
    assert!(got > 0.7 * packets && got < 1.5 * packets, "{got} for {packets}");
}

#[test]
fn what_waits_is_bounded_by_age_and_by_number() {
    // Nothing arrives: the rate falls from one packet a second, and nothing that is old is sent.
    let all = Errors::Bernoulli { per_million: 1_000_000 };
    let call_of = |settings| call(500, 1_000_000, &all, settings).ends.stats();
    let stats = call_of(TfrcEndsSettings { age_max: Nanos::from_millis(100), ..settings() });
    assert!(stats.sent >= 3 && stats.sent <= 12, "{stats:?}");
    assert_eq!((stats.displaced, stats.delivered, stats.feedback), (0, 0, 0));
    let stats = call_of(TfrcEndsSettings { waiting_max: 3, ..settings() });
    assert!(stats.displaced > 400 && stats.expired <= 3, "{stats:?}");
}

#[test]
fn calls_over_tfrc_share_the_network_of_the_paper() {
    // 20 calls of 80 kbit/s for 2 Mbit/s: at a loss of 1 % the equation allows 180 packets a second, 50 are spoken.
    let streams = Streams::new(Seed::from_number(5));
    let mut path = Path::<Reno>::new(PathConfig::paper_c(), &streams).expect("the settings can be");
    for flow in 0..20 {
        let start = Instant::START + Nanos::from_millis(100) * u64::from(flow);
        let ends = TfrcEnds::new(Flow(flow), settings(), start).expect("the settings can be");
        let arrivals = (0..1_000).map(|number| start + SPAN * number).collect();
        let call =
            PathCall { arrivals, packet_bytes: 160, carrier: Carrier::Foreign(Box::new(ends)), errors: None };
        path.add_call(call).expect("the call can be");
    }
    path.run(Instant::START + Nanos::from_seconds(25));
    let report = path.report();
    for call in &report.calls {
        assert_eq!(call.made, 1_000);
        assert!(call.sent <= call.made && call.sent >= 950, "{call:?}");
        assert_eq!(call.sent, call.delivered + call.lost(), "{call:?}");
        assert!(call.errors <= 30, "{call:?}");
    }
}

#[test]
fn refuses_settings_that_cannot_be() {
    let of = |settings| TfrcEnds::new(Flow(7), settings, Instant::START).err();
    let waiting = |got| Some(SettingsError::Waiting { flow: 7, got, max: 1 << 20 });
    assert_eq!(of(TfrcEndsSettings { waiting_max: 0, ..settings() }), waiting(0));
    assert_eq!(of(TfrcEndsSettings { waiting_max: u32::MAX, ..settings() }), waiting(u32::MAX));
    let sender = TfrcSenderSettings { segment: 0, ..TfrcSenderSettings::rfc5348(160) };
    let got = of(TfrcEndsSettings { sender, ..settings() });
    assert!(matches!(got, Some(SettingsError::Congestion { flow: 7, .. })), "{got:?}");
}

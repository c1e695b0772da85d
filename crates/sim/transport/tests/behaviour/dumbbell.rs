//! Flows over a shared bottleneck: what they get, whether it is fair, and what the equations say.

use crate::harness::dumbbell::{Dumbbell, Plan};
use guestright_congestion::{Controller, Fixed, Reno, RenoSettings};
use guestright_engine::{Instant, Nanos};
use guestright_transport::{
    LinkSettings, LinkStatus, QueueLimit, ReceiverSettings, SenderSettings, SenderState,
};

const SEGMENT: u32 = 1_460;

/// 10 Mbit/s, 80 ms there and back, a queue of 70 packets (66.7 are rate times delay); packets of 1500 bytes.
fn plan(flows: u32) -> Plan {
    let access = LinkSettings { delay: Nanos::from_millis(5), ..LinkSettings::bare(100_000_000) };
    Plan {
        flows,
        access,
        bottleneck: LinkSettings {
            rate: 10_000_000,
            delay: Nanos::from_millis(30),
            queue_max: QueueLimit::Packets(70),
            ..access
        },
        sender: SenderSettings { window: 1 << 20, ..SenderSettings::rfc(SEGMENT) },
        receiver: ReceiverSettings { window: 1 << 20, ..ReceiverSettings::rfc5681() },
        bytes: None,
        stagger: Nanos::from_millis(311),
    }
}

fn reno() -> Reno {
    Reno::new(RenoSettings::rfc5681(SEGMENT)).expect("the settings can be")
}

fn second(seconds: u64) -> Instant {
    Instant::START + Nanos::from_seconds(seconds)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a test")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Bytes that each flow delivers between two points in time.
fn delivered_between(dumbbell: &mut Dumbbell<Reno>, from: Instant, to: Instant) -> Vec<f64> {
    dumbbell.run(from);
    let before = dumbbell.delivered();
    dumbbell.run(to);
    dumbbell.delivered().iter().zip(before).map(|(after, before)| float(after - before)).collect()
}

#[test]
fn one_flow_fills_the_link() {
    let mut dumbbell = Dumbbell::new(plan(1), 1, reno).expect("the plan can be");
    dumbbell.run(second(20));
    // Slow start has lost a window, and a recovery without selective acknowledgements is too slow for so many.
    assert_eq!(dumbbell.senders[0].stats().timeouts, 1);
    let (dropped, losses) = (dumbbell.bottleneck().stats().dropped, dumbbell.senders[0].stats().losses);
    let bytes = delivered_between(&mut dumbbell, second(20), second(120))[0];
    // 1460 of 1500 bytes are payload.
    let share = bytes * 8.0 / (100.0 * 10_000_000.0 * 1_460.0 / 1_500.0);
    assert!((0.995..=1.0001).contains(&share), "{share} of what the link carries");
    let stats = dumbbell.senders[0].stats();
    assert_eq!(stats.timeouts, 1, "none since");
    assert!(stats.losses - losses >= 4, "it finds the limit again and again");
    // Each time that costs one segment, and halves a window of 137: 70 packets of queue and 67 on the wire.
    assert_eq!(dumbbell.bottleneck().stats().dropped - dropped, stats.losses - losses);
    let threshold = dumbbell.senders[0].controller().slow_start_threshold() / u64::from(SEGMENT);
    assert!((66..=70).contains(&threshold), "{threshold}");
}

#[test]
fn a_fixed_window_gives_a_window_for_each_round_trip() {
    let fixed = || Fixed::new(10 * u64::from(SEGMENT), SEGMENT).expect("the window can be");
    let receiver = ReceiverSettings { acknowledge_every: 1, ..plan(1).receiver };
    let mut dumbbell = Dumbbell::new(Plan { receiver, ..plan(1) }, 1, fixed).expect("the plan can be");
    dumbbell.run(second(100));
    // There and back: four times 5 ms, twice 30 ms; sending 1500 bytes at 100, 10, 100 Mbit/s and 40 bytes the same way:
    // 120 + 1200 + 120 + 3.2 + 32 + 3.2 us. Ten segments for each of these.
    let round_trip: f64 = 0.080 + 1_478.4e-6;
    let want = 100.0 / round_trip * 10.0 * 1_460.0;
    let got = float(dumbbell.delivered()[0]);
    assert!((got / want - 1.0).abs() < 0.002, "{got} bytes, expected {want}");
}

#[test]
fn flows_share_fairly() {
    for flows in [2, 5] {
        let mut dumbbell = Dumbbell::new(plan(flows), 1, reno).expect("the plan can be");
        let bytes = delivered_between(&mut dumbbell, second(50), second(650));
        let sum: f64 = bytes.iter().sum();
        let squares: f64 = bytes.iter().map(|bytes| bytes * bytes).sum();
        // Jain's index: 1 if all get the same, 1/n if one gets all.
        let jain = sum * sum / (f64::from(flows) * squares);
        let share = sum * 8.0 / (600.0 * 10_000_000.0 * 1_460.0 / 1_500.0);
        assert!(jain > 0.95, "{jain} for {flows} flows: {bytes:?}");
        assert!((0.99..=1.0001).contains(&share), "{flows} flows have {share} of the link");
    }
}

/// Ott, Kemperman and Mathis, "The stationary behavior of ideal TCP congestion avoidance", 1996: with losses each for
/// itself with probability `p`, the window is `1.3098 / sqrt(p)` segments on average. (With losses in equal distances it
/// is `sqrt(3 / 2) = 1.2247`: Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997.)
#[test]
fn throughput_goes_with_one_over_the_root_of_loss() {
    let mut constants = Vec::new();
    for loss_per_million in [500_u32, 1_000, 2_000, 5_000, 10_000] {
        let base = plan(1);
        let plan = Plan {
            // Never the limit: 1 Gbit/s, 100 ms there and back.
            bottleneck: LinkSettings {
                rate: 1_000_000_000,
                delay: Nanos::from_millis(40),
                queue_max: QueueLimit::Packets(10_000),
                loss_per_million,
                ..base.access
            },
            access: LinkSettings { rate: 1_000_000_000, ..base.access },
            receiver: ReceiverSettings { acknowledge_every: 1, ..base.receiver },
            ..base
        };
        let mut segments = 0.0;
        for seed in 0..4 {
            let mut dumbbell = Dumbbell::new(plan.clone(), seed, reno).expect("the plan can be");
            segments +=
                delivered_between(&mut dumbbell, second(100), second(2_100))[0] / f64::from(SEGMENT) / 4.0;
        }
        let window = segments / 2_000.0 * 0.100;
        constants.push(window * (f64::from(loss_per_million) / 1e6).sqrt());
    }
    // Below the sum by the recoveries, in which the window does not grow, and with more loss by timeouts.
    for (constant, least) in constants.iter().zip([0.95, 0.95, 0.94, 0.91, 0.86]) {
        assert!((least..1.0).contains(&(constant / 1.3098)), "{constants:?}");
    }
}

#[test]
fn transfers_end_and_leave_nothing_behind() {
    let plan = Plan { bytes: Some(2_000_000), ..plan(4) };
    let mut dumbbell = Dumbbell::new(plan, 1, reno).expect("the plan can be");
    dumbbell.run(second(100));
    assert!(dumbbell.senders.iter().all(|sender| sender.state() == SenderState::Finished));
    assert_eq!(dumbbell.delivered(), [2_000_000; 4]);
    assert_eq!(dumbbell.packets(), 0, "no packet is forgotten");
    // 8 MB of payload take 6.58 s; slow start and recoveries a bit more.
    let last = dumbbell.senders.iter().filter_map(|sender| sender.finished_at()).max();
    assert!(last.is_some_and(|at| at > second(6) && at < second(12)), "{last:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let digest = |seed| {
        let base = plan(3);
        let bottleneck = LinkSettings { loss_per_million: 1_000, ..base.bottleneck };
        let mut dumbbell = Dumbbell::new(Plan { bottleneck, ..base }, seed, reno).expect("the plan can be");
        dumbbell.run(second(30));
        (dumbbell.digest, dumbbell.hops(), dumbbell.events(), dumbbell.delivered())
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn no_packet_costs_an_allocation() {
    let base = plan(8);
    let bottleneck = LinkSettings { loss_per_million: 2_000, ..base.bottleneck };
    let mut dumbbell = Dumbbell::new(Plan { bottleneck, ..base }, 1, reno).expect("the plan can be");
    dumbbell.run(second(60));
    let hops = dumbbell.hops();
    let info = allocation_counter::measure(|| dumbbell.run(second(120)));
    assert!(dumbbell.hops() - hops > 200_000, "{} hops", dumbbell.hops() - hops);
    assert_eq!(info.count_total, 0);
}

#[test]
fn a_hop_is_an_event() {
    let mut dumbbell = Dumbbell::new(plan(8), 1, reno).expect("the plan can be");
    dumbbell.run(second(60));
    // Timers of TCP are the rest.
    let (events, hops) = (float(dumbbell.events()), float(dumbbell.hops()));
    assert!(events / hops < 1.03, "{events} events for {hops} hops");
    assert!(dumbbell.bottleneck().stats().dropped > 0);
}

//! A run of the testbed, and its numbers.

use guestright_engine::Streams;
use guestright_experiment::{MetricInfo, Outcome};
use guestright_playout::{
    Algorithm, Call, Family, Figures, Handshakes, Judge, Played, Rules, Trace, at_loss, play,
};
use guestright_units::Seed;
use std::collections::BTreeMap;

/// What says when packets are played.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    Policy(Algorithm),
    Bound,
}

#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) over: Over,
    pub(super) knob: f64,
    pub(super) families: Vec<Family>,
    /// Of any family.
    pub(super) call: Call,
    pub(super) rules: Rules,
    pub(super) late_percent: f64,
    pub(super) compares: bool,
    pub(super) handshake_bytes: u32,
}

pub(super) const METRICS: [MetricInfo; 22] = [
    MetricInfo::new("late_pct", "%", "Packets that came too late, of all."),
    MetricInfo::new("lost_pct", "%", "Packets that the network lost, of all."),
    MetricInfo::new("delay_mean_ms", "ms", "From making to playing, the mean of what was played."),
    MetricInfo::new("delay_p95_ms", "ms", "The same; 95 % have no more."),
    MetricInfo::new("network_ms", "ms", "The mean time on the way of what came."),
    MetricInfo::new("added_ms", "ms", "The mean delay less the mean time on the way."),
    MetricInfo::new("delay_rtt", "RTT", "The mean delay over the mean round trip of a handshake."),
    MetricInfo::new("concealed_ms_per_s", "ms/s", "Lost and late sound in a second of speech."),
    MetricInfo::new("changes_per_min", "1/min", "How often the delay changed by 1 ms or more."),
    MetricInfo::new("shifted_ms_per_min", "ms/min", "By how much pauses were made longer and shorter."),
    MetricInfo::new("burst_ratio", "", "How the concealed packets cluster (G.107, 7.5); 1 is at random."),
    MetricInfo::new("r", "", "The rating: G.711 with concealment, packet time included (G.107)."),
    MetricInfo::new("mos", "", "Its mean opinion score."),
    MetricInfo::new(
        "best_fixed_mos",
        "",
        "The same with the one delay for the call that is best in hindsight, losses at random.",
    ),
    MetricInfo::new("best_fixed_ms", "ms", "That delay."),
    MetricInfo::new("bound_ms", "ms", "The least mean delay with as many late packets, in hindsight."),
    MetricInfo::new("above_bound_ms", "ms", "The mean delay less that."),
    MetricInfo::new(
        "delay_at_ms",
        "ms",
        "The mean delay at `late_percent`, with the knob chosen in hindsight.",
    ),
    MetricInfo::new("mos_at", "", "The mean opinion score there."),
    MetricInfo::new("knob_at", "", "The knob there."),
    MetricInfo::new("bound_at_ms", "ms", "The least mean delay at `late_percent`, in hindsight."),
    MetricInfo::new("handshake_bytes_per_s", "B/s", "Handshakes, both ways, headers included."),
];

type Numbers = BTreeMap<&'static str, Option<f64>>;

pub(super) fn run(config: &Config, seed: Seed) -> Outcome {
    let mut outcome = Outcome::default();
    let judge = Judge::new(config.call.interval).expect("the setting is a length of time");
    let call = |family: &Family| {
        let trace = Call { family: *family, ..config.call }.trace(seed.clone());
        let handshakes = Handshakes::over(&trace, &mut Streams::new(seed.clone()).stream("handshake", 0));
        (trace, handshakes)
    };
    let calls: Vec<(Trace, Handshakes)> = config.families.iter().map(call).collect();
    outcome.packets = calls.iter().map(|(trace, _)| trace.packets.len() as u64).sum();
    let each: Vec<Numbers> =
        calls.iter().map(|(trace, handshakes)| one(config, &judge, trace, handshakes)).collect();
    for metric in &METRICS {
        outcome.set(metric.name, mean_of(&each, metric.name));
    }
    if let Over::Policy(algorithm) = config.over
        && config.late_percent > 0.0
    {
        let at = at_loss(&calls, algorithm, &config.rules, &judge, config.late_percent);
        let at = at.expect("a mean of delays is a delay");
        outcome.set("delay_at_ms", at.map(|at| at.delay_ms));
        outcome.set("mos_at", at.map(|at| at.mos));
        outcome.set("knob_at", at.map(|at| at.knob));
    }
    outcome
}

/// The mean over the families; nothing where one of them has nothing.
#[expect(clippy::cast_precision_loss, reason = "there are ten families")]
fn mean_of(each: &[Numbers], name: &str) -> Option<f64> {
    let values: Option<Vec<f64>> = each.iter().map(|numbers| numbers.get(name).copied().flatten()).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

fn one(config: &Config, judge: &Judge, trace: &Trace, handshakes: &Handshakes) -> Numbers {
    let mut numbers = Numbers::new();
    about_the_way(&mut numbers, trace, handshakes);
    if let Some(best) = judge.best_fixed(trace) {
        numbers.insert("best_fixed_mos", Some(best.mos));
        numbers.insert("best_fixed_ms", Some(best.wait_ms));
    }
    let allowed = share(trace.packets.len(), config.late_percent);
    if config.late_percent > 0.0 && config.compares {
        numbers.insert("bound_at_ms", trace.bound(allowed).at_most(allowed).map(|us| us / 1e3));
    }
    match config.over {
        Over::Bound => about_the_bound(&mut numbers, trace, config.knob),
        Over::Policy(algorithm) => {
            let played =
                play(trace, algorithm.policy(config.knob).as_mut(), &handshakes.exchanges, &config.rules);
            let figures = judge.figures(trace, &played).expect("a mean of delays is a delay");
            about_the_call(&mut numbers, trace, &figures);
            if config.compares {
                compare(&mut numbers, trace, &played, &figures);
            }
            let messages = if algorithm.shakes_hands() { handshakes.messages } else { 0 };
            let bytes = as_f64(messages) * f64::from(config.handshake_bytes);
            numbers.insert("handshake_bytes_per_s", Some(bytes / trace.length().as_seconds()));
        }
    }
    added(&mut numbers);
    numbers
}

fn about_the_way(numbers: &mut Numbers, trace: &Trace, handshakes: &Handshakes) {
    let taken: Vec<u64> = trace
        .packets
        .iter()
        .filter_map(|packet| packet.arrived.map(|arrived| arrived.since(packet.sent).0))
        .collect();
    numbers.insert("network_ms", mean_ms(&taken));
    let lost = (trace.packets.len() - taken.len()) as u64;
    numbers.insert("lost_pct", Some(100.0 * as_f64(lost) / as_f64(trace.packets.len().max(1) as u64)));
    let round_trips: Vec<u64> =
        handshakes.exchanges.iter().map(|exchange| exchange.handshake.round_trip.0).collect();
    // Until the mean delay is known.
    numbers.insert("delay_rtt", mean_ms(&round_trips));
}

fn about_the_call(numbers: &mut Numbers, trace: &Trace, figures: &Figures) {
    let speech_s = (as_f64(figures.packets) * trace.interval.as_seconds()).max(1e-9);
    let minutes = trace.length().as_seconds() / 60.0;
    numbers.extend([
        ("late_pct", Some(figures.late_percent())),
        ("delay_mean_ms", figures.delay_mean_ms),
        ("delay_p95_ms", figures.delay_p95_ms),
        ("concealed_ms_per_s", Some(figures.concealed.as_seconds() * 1e3 / speech_s)),
        ("changes_per_min", Some(as_f64(figures.changes) / minutes)),
        ("shifted_ms_per_min", Some(figures.shifted.as_seconds() * 1e3 / minutes)),
        ("burst_ratio", Some(figures.burst_ratio)),
        ("r", Some(figures.r)),
        ("mos", Some(figures.mos)),
    ]);
}

fn about_the_bound(numbers: &mut Numbers, trace: &Trace, late_percent: f64) {
    let allowed = share(trace.packets.len(), late_percent);
    let bound = trace.bound(allowed);
    let least = (0..=allowed)
        .filter_map(|late| bound.mean_us(late).map(|us| (late, us)))
        .min_by(|one, other| one.1.total_cmp(&other.1));
    let Some((late, us)) = least else { return };
    numbers.extend([
        ("late_pct", Some(100.0 * as_f64(late as u64) / as_f64(trace.packets.len() as u64))),
        ("delay_mean_ms", Some(us / 1e3)),
        ("bound_ms", Some(us / 1e3)),
        ("above_bound_ms", Some(0.0)),
        ("handshake_bytes_per_s", Some(0.0)),
    ]);
}

fn compare(numbers: &mut Numbers, trace: &Trace, played: &Played, figures: &Figures) {
    // Where most is late there is nothing left to compare, and it would take the longest.
    if figures.late * 2 > figures.packets {
        return;
    }
    let late = usize::try_from(figures.late).unwrap_or(usize::MAX);
    let bound = trace.bound(late).mean_us(late).map(|us| us / 1e3);
    let above = played.added_mean_ms(trace).zip(bound).map(|(added, bound)| added - bound);
    // Both by the receiver's clock and the sender's: a skew between them is in both.
    numbers.insert("above_bound_ms", above);
    numbers.insert("bound_ms", figures.delay_mean_ms.zip(above).map(|(delay, above)| delay - above));
}

/// Numbers made of others.
fn added(numbers: &mut Numbers) {
    let get = |name| numbers.get(name).copied().flatten();
    let delay = get("delay_mean_ms");
    let added = delay.zip(get("network_ms")).map(|(delay, network)| delay - network);
    let in_round_trips = delay.zip(get("delay_rtt")).map(|(delay, round_trip)| delay / round_trip);
    numbers.insert("added_ms", added);
    numbers.insert("delay_rtt", in_round_trips);
}

/// So many per cent of that many, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "packets of one call"
)]
fn share(count: usize, percent: f64) -> usize {
    (count as f64 * percent / 100.0) as usize
}

fn mean_ms(micros: &[u64]) -> Option<f64> {
    let sum: u64 = micros.iter().sum();
    (!micros.is_empty()).then(|| as_f64(sum) / as_f64(micros.len() as u64) / 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "sums of one call in µs are far below 2^52")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

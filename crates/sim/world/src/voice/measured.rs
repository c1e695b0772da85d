use super::network::Run;
use crate::cpu::Work;
use crate::meter::Loss;
use crate::sums::mean;
use guestright_engine::Nanos;
use guestright_experiment::{MetricInfo, Outcome};
use guestright_quality::{Interval, Summary};

/// A call of this score is acceptable (section 4.2).
const ACCEPTABLE: f64 = 3.6;

/// What is measured of the calls.
pub(super) const METRICS: [MetricInfo; 45] = [
    MetricInfo::new("mos_mean", "", "Mean over all streams of the score by paper A's formula (Figure 4)."),
    MetricInfo::new("mos_worst", "", "The worst stream's score by paper A's formula."),
    MetricInfo::new("mos_out", "", "Mean score of the streams from the first laptop."),
    MetricInfo::new("mos_back", "", "Mean score of the streams to the first laptop."),
    MetricInfo::new("r_mean", "", "Mean over all streams of R by paper A's formula."),
    MetricInfo::new("g107_mos_mean", "", "Mean over all streams of the score by ITU-T G.107 (06/2015)."),
    MetricInfo::new("g107_mos_worst", "", "The worst stream's score by ITU-T G.107."),
    MetricInfo::new("g107_mos_worse_way", "", "Mean score by ITU-T G.107 of the direction that is worse."),
    MetricInfo::new(
        "paper_a_acceptable",
        "",
        "1 if the mean score by paper A's formula is at least 3.60, 0 otherwise.",
    ),
    MetricInfo::new(
        "g107_acceptable_calls",
        "",
        "Calls whose worse stream has a score of at least 3.60 by G.107.",
    ),
    MetricInfo::new("network_loss", "", "Packets that never arrived, over packets sent."),
    MetricInfo::new("dejitter_loss", "", "Packets that the buffer discards, over packets that arrived."),
    MetricInfo::new("late", "", "Packets that came too late for the buffer."),
    MetricInfo::new("overflow", "", "Packets that came when the buffer was full."),
    MetricInfo::new("delay_ms", "ms", "Mean one-way delay of what arrived, from laptop to laptop."),
    MetricInfo::new(
        "delay_p50_ms",
        "ms",
        "Half of the packets took no longer; like the other shares within 1 %, from a sketch.",
    ),
    MetricInfo::new("delay_p95_ms", "ms", "95 of 100 packets took no longer."),
    MetricInfo::new("delay_p99_ms", "ms", "99 of 100 packets took no longer."),
    MetricInfo::new("delay_max_ms", "ms", "The longest delay."),
    MetricInfo::new("jitter_ms", "ms", "Mean over streams of mean |D| (RFC 3550, section 6.4.1)."),
    MetricInfo::new("jitter_rfc3550_ms", "ms", "Mean over streams of RFC 3550's estimate J at the end."),
    MetricInfo::new("sent", "", "Packets that were sent."),
    MetricInfo::new("delivered", "", "Packets that arrived."),
    MetricInfo::new("delivered_pps", "1/s", "Packets that arrived, over the length of the calls."),
    MetricInfo::new("lost_station_queue", "", "Packets that found a laptop's queue full."),
    MetricInfo::new("lost_ap_queue", "", "Packets that found an access point's radio queue full."),
    MetricInfo::new("lost_retries", "", "Packets that were given up on the radio after the last attempt."),
    MetricInfo::new(
        "lost_backlog",
        "",
        "Packets that found too many waiting for an access point's processor.",
    ),
    MetricInfo::new("lost_wire", "", "Packets that found the wire's queue full."),
    MetricInfo::new("lost_closed", "", "Packets of calls whose session was not open."),
    MetricInfo::new(
        "unfinished",
        "",
        "Packets that were still on their way five seconds after the last was sent.",
    ),
    MetricInfo::new(
        "cpu_load",
        "",
        "Share of the time of the calls in which the busier access point's processor worked.",
    ),
    MetricInfo::new(
        "cpu_verifying",
        "",
        "The part of it that was spent on receipts, with signing the terms.",
    ),
    MetricInfo::new(
        "cpu_elsewhere",
        "",
        "Share of that time in which the busier other core verified (policy `other-core`); not in `cpu_load`.",
    ),
    MetricInfo::new(
        "verify_ms",
        "ms",
        "What a finished verification took on the processor, on average, without signing.",
    ),
    MetricInfo::new(
        "radio_load",
        "",
        "Share of the time of the calls in which the busier channel was occupied.",
    ),
    MetricInfo::new("radio_collisions", "", "Attempts that collided, over all attempts."),
    MetricInfo::new("receipts_verified", "", "Verifications at both access points."),
    MetricInfo::new("receipts_signed", "", "Receipts that visitors signed (mode `protocol`)."),
    MetricInfo::new("receipts_kept", "", "Receipts that access points accepted and kept (mode `protocol`)."),
    MetricInfo::new("sessions_opened", "", "Sessions that were opened (mode `protocol`)."),
    MetricInfo::new("sessions_closed", "", "Sessions that were closed (mode `protocol`)."),
    MetricInfo::new("sessions_unpaid", "", "Those closed because no receipt came in time."),
    MetricInfo::new(
        "sessions_broken",
        "",
        "Calls at an access point whose first session was never opened or did not last: they are not whole.",
    ),
    MetricInfo::new(
        "messages_lost",
        "",
        "Messages of the protocol that were lost on the radio or in queues.",
    ),
];

/// One stream at its end.
struct RatedStream {
    summary: Summary,
    paper_a: Option<(f64, f64)>, // R and score.
    g107: Option<f64>,
}

/// The row of a run.
pub(super) fn outcome(mut run: Run) -> Outcome {
    let rated: Vec<RatedStream> = run.streams.iter_mut().map(|stream| rate(stream.finish())).collect();
    let mut outcome = Outcome { packets: sent(&run), events: run.events, ..Outcome::default() };
    scores(&mut outcome, &rated);
    losses(&mut outcome, &run, &rated);
    delays(&mut outcome, &run, &rated);
    loads(&mut outcome, &run);
    sessions(&mut outcome, &run);
    outcome
}

fn rate(summary: Summary) -> RatedStream {
    let middle = |interval: Interval| f64::midpoint(interval.low, interval.high);
    let paper_a =
        summary.judgement.paper_a.as_ref().ok().map(|opinion| (middle(opinion.r), middle(opinion.mos)));
    let g107 = summary.judgement.conversation.as_ref().ok().map(|opinion| middle(opinion.mos));
    // Where nothing arrives there is no delay, hence no rating; nobody would call it a good call.
    let silent = summary.network.lost == summary.network.expected;
    RatedStream {
        paper_a: paper_a.or(silent.then_some((0.0, 1.0))),
        g107: g107.or(silent.then_some(1.0)),
        summary,
    }
}

fn scores(outcome: &mut Outcome, rated: &[RatedStream]) {
    let paper_a: Option<Vec<(f64, f64)>> = rated.iter().map(|stream| stream.paper_a).collect();
    let mos = paper_a.as_ref().map(|all| all.iter().map(|(_, mos)| *mos).collect::<Vec<_>>());
    let way = |values: &Option<Vec<f64>>, from: usize| {
        values.as_ref().and_then(|all| mean(all.iter().skip(from).step_by(2).copied()))
    };
    let mean_mos = mos.as_ref().and_then(|all| mean(all.iter().copied()));
    outcome.set("mos_mean", mean_mos);
    outcome.set("mos_worst", mos.as_ref().and_then(|all| least(all)));
    outcome.set("mos_out", way(&mos, 0));
    outcome.set("mos_back", way(&mos, 1));
    outcome.set("r_mean", paper_a.and_then(|all| mean(all.iter().map(|(r, _)| *r))));
    outcome.set("paper_a_acceptable", mean_mos.map(|mos| if mos >= ACCEPTABLE { 1.0 } else { 0.0 }));
    let g107: Option<Vec<f64>> = rated.iter().map(|stream| stream.g107).collect();
    outcome.set("g107_mos_mean", g107.as_ref().and_then(|all| mean(all.iter().copied())));
    outcome.set("g107_mos_worst", g107.as_ref().and_then(|all| least(all)));
    let worse = way(&g107, 0).zip(way(&g107, 1)).map(|(out, back)| out.min(back));
    outcome.set("g107_mos_worse_way", worse);
    let calls =
        g107.map(|all| all.chunks(2).filter(|call| call.iter().all(|mos| *mos >= ACCEPTABLE)).count());
    outcome.set("g107_acceptable_calls", calls.map(|calls| float(calls as u64)));
}

fn losses(outcome: &mut Outcome, run: &Run, rated: &[RatedStream]) {
    let (sent, delivered) = (sent(run), run.streams.iter().map(crate::meter::StreamMeter::delivered).sum());
    let (late, overflow) = rated.iter().fold((0, 0), |(late, overflow), stream| {
        (late + stream.summary.counts.late, overflow + stream.summary.counts.overflow)
    });
    outcome.set("sent", float(sent));
    outcome.set("delivered", float(delivered));
    outcome.set("delivered_pps", share(delivered, 1).map(|count| count / run.config.duration.as_seconds()));
    outcome.set("network_loss", share(sent - delivered, sent));
    outcome.set("dejitter_loss", share(late + overflow, delivered));
    outcome.set("late", float(late));
    outcome.set("overflow", float(overflow));
    for (name, loss) in [
        ("lost_station_queue", Loss::StationQueue),
        ("lost_ap_queue", Loss::AccessPointQueue),
        ("lost_retries", Loss::Retries),
        ("lost_backlog", Loss::Backlog),
        ("lost_wire", Loss::Wire),
        ("lost_closed", Loss::Closed),
        ("unfinished", Loss::Unfinished),
    ] {
        outcome.set(name, float(run.losses[loss as usize]));
    }
}

fn delays(outcome: &mut Outcome, run: &Run, rated: &[RatedStream]) {
    let delays = run.delays.summary();
    outcome.set("delay_ms", delays.map(|delays| delays.mean_ms.low));
    outcome.set("delay_p50_ms", delays.map(|delays| delays.median_ms.low));
    outcome.set("delay_p95_ms", delays.map(|delays| delays.p95_ms.low));
    outcome.set("delay_p99_ms", delays.map(|delays| delays.p99_ms.low));
    outcome.set("delay_max_ms", delays.map(|delays| delays.largest_ms.low));
    let jitter =
        |of: fn(&Summary) -> Option<f64>| mean(rated.iter().filter_map(|stream| of(&stream.summary)));
    outcome.set("jitter_ms", jitter(|summary| summary.jitter.mean_abs_d_ms));
    outcome.set("jitter_rfc3550_ms", jitter(|summary| summary.jitter.rfc3550_ms));
}

fn loads(outcome: &mut Outcome, run: &Run) {
    let [before, after] = &run.done;
    let spent = |of: fn(&Work) -> Nanos| {
        let spans = before.cpus.iter().zip(&after.cpus);
        spans.map(|(before, after)| of(after) - of(before)).collect::<Vec<_>>()
    };
    let over = |busy: Nanos| share(busy.0, run.config.duration.0);
    let verifying = spent(|work| work.verifying);
    let both = spent(|work| work.forwarding + work.verifying);
    let busier = both.into_iter().zip(verifying).max();
    outcome.set("cpu_load", busier.and_then(|(both, _)| over(both)));
    outcome.set("cpu_verifying", busier.and_then(|(_, verifying)| over(verifying)));
    outcome.set("cpu_elsewhere", spent(|work| work.elsewhere).into_iter().max().and_then(over));
    let verified = run.cpus.iter().map(|cpu| cpu.verified).sum();
    outcome.set("receipts_verified", float(verified));
    outcome.set("verify_ms", (verified > 0).then(|| run.verifying.as_millis() / float(verified)));
    outcome.set("radio_load", over(after.radio_busy - before.radio_busy));
    outcome.set("radio_collisions", share(run.radio.collided, run.radio.attempts));
}

fn sessions(outcome: &mut Outcome, run: &Run) {
    let protocol = !run.protocol.is_empty();
    let sum = |of: fn(&crate::receipts::ProtocolStats) -> u64| {
        protocol.then(|| float(run.protocol.iter().map(of).sum()))
    };
    outcome.set("receipts_signed", sum(|stats| stats.signed));
    outcome.set("receipts_kept", sum(|stats| stats.received));
    outcome.set("sessions_opened", sum(|stats| stats.opened));
    outcome.set("sessions_closed", sum(|stats| stats.closed));
    outcome.set("sessions_unpaid", sum(|stats| stats.unpaid));
    let wanted = u64::from(run.config.calls) * run.protocol.len() as u64;
    let lasted: u64 = run.protocol.iter().map(|stats| stats.lasting).sum();
    outcome.set("sessions_broken", protocol.then(|| float(wanted.saturating_sub(lasted))));
    outcome.set("messages_lost", protocol.then(|| float(run.messages_lost)));
}

fn sent(run: &Run) -> u64 {
    run.streams.iter().map(|stream| u64::from(stream.sent())).sum()
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(clippy::cast_precision_loss, reason = "counts and spans are far below 2^52")]
const fn float(count: u64) -> f64 {
    count as f64
}

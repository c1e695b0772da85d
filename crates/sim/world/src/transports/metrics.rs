//! What the testbed measures.

use super::settings::Index;
use crate::sums::{jain, mean};
use guestright_congestion::model::{AimdModel, PathModel, epoch, throughput, window_at_loss};
use guestright_engine::{Instant, Nanos};
use guestright_experiment::{MetricInfo, Outcome};
use guestright_quality::{
    BestPlayout, FlowAccount, FlowCounts, Indices, Playout, PlayoutCounts, SpanQuantiles,
};
use guestright_transport::path::{FlowReport, PathReport, Watch};
use guestright_units::Micros;

/// Every metric of the testbed, whatever it runs on.
pub const METRICS: [MetricInfo; 32] = [
    MetricInfo::new(
        "goodput_kbps",
        "kb/s",
        "Speech that was heard, of all calls, over the length of the run; each packet once.",
    ),
    MetricInfo::new("goodput_share", "", "Speech that was heard, over speech that was made."),
    MetricInfo::new(
        "offered_kbps",
        "kb/s",
        "Speech that was made, of all calls, over the length of the run.",
    ),
    MetricInfo::new("jain", "", "Jain's index of fairness over the calls' goodput."),
    MetricInfo::new(
        "jain_share",
        "",
        "Jain's index over what was heard of what each call had made: calls differ in how much they speak.",
    ),
    MetricInfo::new("index", "", "The index of real-time performance that the setting `index` names."),
    MetricInfo::new(
        "index_raw",
        "",
        "Packets received within the threshold of the one before, over packets made.",
    ),
    MetricInfo::new("index_sent", "", "The same over packets that the transport put on the wire."),
    MetricInfo::new(
        "index_gap",
        "",
        "Packets for which the time between arrivals is at most the threshold longer than that between their making, over packets made.",
    ),
    MetricInfo::new(
        "index_deadline",
        "",
        "Packets heard within the threshold of being made, over packets made.",
    ),
    MetricInfo::new(
        "index_network",
        "",
        "Packets that crossed the network within the threshold, each transmission by itself, over packets made.",
    ),
    MetricInfo::new(
        "delayed_rate",
        "",
        "The paper's delayed packets: received, but later than the threshold after the one before, over packets received.",
    ),
    MetricInfo::new(
        "late_rate",
        "",
        "Packets that were heard later than the threshold after they were made, over packets heard.",
    ),
    MetricInfo::new("loss_rate", "", "Transmissions that did not arrive, over transmissions."),
    MetricInfo::new(
        "undelivered_rate",
        "",
        "Packets that were made and not heard by the end, over packets made.",
    ),
    MetricInfo::new(
        "mos_mean",
        "",
        "Mean score of a call by ITU-T G.107: G.711 with concealment, best fixed playout.",
    ),
    MetricInfo::new("mos_low", "", "The score that a tenth of the calls do not surpass."),
    MetricInfo::new("r_mean", "", "Mean R of a call by ITU-T G.107."),
    MetricInfo::new("delay_p50_ms", "ms", "Half of what was heard took no longer from speaking to hearing."),
    MetricInfo::new("delay_p95_ms", "ms", "95 of 100 packets took no longer from speaking to hearing."),
    MetricInfo::new(
        "network_delay_p50_ms",
        "ms",
        "Half of the transmissions took no longer across the network.",
    ),
    MetricInfo::new(
        "network_delay_p95_ms",
        "ms",
        "95 of 100 transmissions took no longer across the network.",
    ),
    MetricInfo::new(
        "bulk_goodput_kbps",
        "kb/s",
        "What file transfers delivered in order, over the length of the run.",
    ),
    MetricInfo::new("bulk_jain", "", "Jain's index over the file transfers' goodput."),
    MetricInfo::new("first_drops", "", "Packets that R1 dropped on their way to R2."),
    MetricInfo::new("second_drops", "", "Packets that R2 dropped on their way to R3."),
    MetricInfo::new("first_utilisation", "", "Share of the run in which R1 was sending to R2."),
    MetricInfo::new(
        "retransmitted_rate",
        "",
        "Transmissions of what had been sent before, over transmissions.",
    ),
    MetricInfo::new("timeouts_per_flow", "", "Retransmission timeouts with something on its way, per call."),
    MetricInfo::new(
        "model_kbps",
        "kb/s",
        "Equation (1) of the paper, of all TCP calls: with recoveries and timeouts over transmissions as its loss, and the means of round trip and timeout at the end.",
    ),
    MetricInfo::new("model_ratio", "", "What was measured over what equation (1) says."),
    MetricInfo::new(
        "epoch_rtts",
        "",
        "Equation (2): round trips between two losses, at the window that equation (1) has with that loss.",
    ),
];

/// What is told of each packet while a run goes on.
#[derive(Debug)]
pub(super) struct Meter {
    flows: Vec<FlowMeter>,
    /// What was made or sent before is not measured.
    begin: Instant,
    /// From speaking to hearing.
    delays: SpanQuantiles,
    /// Across the network.
    crossings: SpanQuantiles,
}

#[derive(Clone, Debug)]
struct FlowMeter {
    account: FlowAccount,
    playout: PlayoutCounts,
}

impl Meter {
    pub(super) fn new(flows: u32, threshold: Micros, begin: Instant) -> Self {
        let flow = FlowMeter { account: FlowAccount::new(threshold), playout: PlayoutCounts::default() };
        let flows = vec![flow; flows as usize];
        Self { flows, begin, delays: SpanQuantiles::default(), crossings: SpanQuantiles::default() }
    }
}

impl Watch for Meter {
    #[inline]
    fn crossed(&mut self, flow: u32, sent: Instant, now: Instant, fresh: bool) {
        if sent < self.begin {
            return;
        }
        if let Some(meter) = self.flows.get_mut(flow as usize) {
            let crossing = Micros(now.since(sent).0 / 1_000);
            meter.account.arrived(crossing, fresh);
            self.crossings.add(crossing);
        }
    }

    #[inline]
    fn delivered(&mut self, flow: u32, _number: u32, made: Instant, now: Instant) {
        if made < self.begin {
            return;
        }
        let meter = &mut self.flows[flow as usize];
        let delay = meter.account.record_delivery(made.time(), now.time());
        meter.playout.add(delay);
        self.delays.add(delay);
    }
}

/// What is needed to make a row of a run.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) report: &'a PathReport,
    pub(super) meter: Meter,
    pub(super) index: Index,
    pub(super) packet_bytes: u32,
    /// How long a packet is spoken, in ms.
    pub(super) packet_ms: f64,
    pub(super) duration: Nanos,
    /// Of a transport that equation (1) is about.
    pub(super) model: Option<AimdModel>,
    /// Segments for each acknowledgement.
    pub(super) ack_every: f64,
}

/// The row of a run.
pub(super) fn outcome(measured: &Measured<'_>) -> Outcome {
    let report = measured.report;
    let counts: Vec<FlowCounts> = report.calls.iter().zip(&measured.meter.flows).map(counts_of).collect();
    let packets = |flow: &FlowReport| flow.sent + flow.empty_sent + flow.back_sent;
    let packets = report.calls.iter().chain(&report.transfers).map(packets).sum();
    let mut outcome = Outcome { packets, events: report.events, ..Outcome::default() };
    let total = counts.iter().copied().reduce(FlowCounts::and).unwrap_or_default();
    throughputs(&mut outcome, measured, &counts, total);
    indices(&mut outcome, measured, &counts, total);
    scores(&mut outcome, measured, &counts);
    delays(&mut outcome, &measured.meter);
    network(&mut outcome, measured);
    model(&mut outcome, measured);
    outcome
}

/// What the meter has counted, with what only the network knows.
fn counts_of((report, meter): (&FlowReport, &FlowMeter)) -> FlowCounts {
    let mut account = meter.account;
    account.made(report.made);
    account.transmitted(report.sent, report.again);
    account.lost(report.lost());
    account.counts()
}

fn throughputs(outcome: &mut Outcome, measured: &Measured<'_>, counts: &[FlowCounts], total: FlowCounts) {
    let seconds = measured.duration.as_seconds();
    let kbps = |packets: u64| float(packets) * f64::from(measured.packet_bytes) * 8.0 / 1e3 / seconds;
    outcome.set("goodput_kbps", kbps(total.delivered));
    outcome.set("offered_kbps", kbps(total.made));
    outcome.set("goodput_share", share(total.delivered, total.made));
    let delivered: Vec<f64> = counts.iter().map(|flow| float(flow.delivered)).collect();
    outcome.set("jain", jain(&delivered));
    let shares: Vec<f64> = counts.iter().filter_map(|flow| share(flow.delivered, flow.made)).collect();
    outcome.set("jain_share", jain(&shares));
    let bulk: Vec<f64> = measured.report.transfers.iter().map(|flow| float(flow.delivered_bytes)).collect();
    let bulk_kbps = bulk.iter().sum::<f64>() * 8.0 / 1e3 / seconds;
    outcome.set("bulk_goodput_kbps", (!bulk.is_empty()).then_some(bulk_kbps));
    outcome.set("bulk_jain", (!bulk.is_empty()).then(|| jain(&bulk)));
}

fn indices(outcome: &mut Outcome, measured: &Measured<'_>, counts: &[FlowCounts], total: FlowCounts) {
    type Shown = (Index, &'static str, fn(&Indices) -> f64);
    let all: [Shown; 5] = [
        (Index::Raw, "index_raw", |indices| indices.raw),
        (Index::Sent, "index_sent", |indices| indices.sent),
        (Index::Gap, "index_gap", |indices| indices.gap),
        (Index::Deadline, "index_deadline", |indices| indices.deadline),
        (Index::Network, "index_network", |indices| indices.network),
    ];
    for (index, metric, of) in all {
        let mean = mean(counts.iter().filter_map(FlowCounts::indices).map(|indices| of(&indices)));
        outcome.set(metric, mean);
        if index == measured.index {
            outcome.set("index", mean);
        }
    }
    outcome.set("delayed_rate", total.delayed_rate());
    outcome.set("late_rate", total.late_rate());
    outcome.set("loss_rate", total.loss_rate());
    outcome.set("undelivered_rate", total.undelivered_rate());
    outcome.set("retransmitted_rate", share(total.again, total.transmissions));
}

fn scores(outcome: &mut Outcome, measured: &Measured<'_>, counts: &[FlowCounts]) {
    let ms = measured.packet_ms;
    let playout = Playout::g711(ms).ok();
    let best =
        |(counts, meter): (&FlowCounts, &FlowMeter)| playout.as_ref()?.best(&meter.playout, counts.made, ms);
    let calls: Vec<BestPlayout> = counts.iter().zip(&measured.meter.flows).filter_map(best).collect();
    outcome.set("r_mean", mean(calls.iter().map(|call| call.r)));
    outcome.set("mos_mean", mean(calls.iter().map(|call| call.mos)));
    let mut scores: Vec<f64> = calls.iter().map(|call| call.mos).collect();
    scores.sort_by(f64::total_cmp);
    // Of ten calls the worst, of eleven the second worst.
    outcome.set("mos_low", scores.get(scores.len().div_ceil(10).saturating_sub(1)).copied());
}

fn delays(outcome: &mut Outcome, meter: &Meter) {
    outcome.set("delay_p50_ms", meter.delays.quantile_ms(0.5));
    outcome.set("delay_p95_ms", meter.delays.quantile_ms(0.95));
    outcome.set("network_delay_p50_ms", meter.crossings.quantile_ms(0.5));
    outcome.set("network_delay_p95_ms", meter.crossings.quantile_ms(0.95));
}

fn network(outcome: &mut Outcome, measured: &Measured<'_>) {
    let report = measured.report;
    let [first, _, second, _] = report.routers;
    outcome.set("first_drops", float(first.dropped));
    outcome.set("second_drops", float(second.dropped));
    outcome.set("first_utilisation", first.busy.as_seconds() / measured.duration.as_seconds());
    let senders = report.calls.iter().filter_map(|flow| flow.sender);
    let timeouts: u64 = senders.map(|sender| sender.timeouts).sum();
    outcome.set("timeouts_per_flow", share(timeouts, report.calls.len() as u64));
}

/// Equations (1) and (2), with what was measured of all calls together.
fn model(outcome: &mut Outcome, measured: &Measured<'_>) {
    for metric in ["model_kbps", "model_ratio", "epoch_rtts"] {
        outcome.set(metric, None);
    }
    let Some(aimd) = measured.model else { return };
    let calls = &measured.report.calls;
    let sent: u64 = calls.iter().map(|flow| flow.sent).sum();
    let losses: u64 =
        calls.iter().filter_map(|flow| flow.sender).map(|sender| sender.losses + sender.timeouts).sum();
    let seconds =
        |of: fn(&FlowReport) -> Option<Nanos>| mean(calls.iter().filter_map(of).map(Nanos::as_seconds));
    let (Some(loss_rate), Some(round_trip_s), Some(timeout_s)) =
        (share(losses, sent), seconds(|flow| flow.round_trip), seconds(|flow| flow.timeout))
    else {
        return;
    };
    let path = PathModel { loss_rate, round_trip_s, timeout_s, ack_every: measured.ack_every };
    let kbps =
        |packets: f64| packets * f64::from(measured.packet_bytes) * 8.0 / 1e3 * float(calls.len() as u64);
    let model = throughput(aimd, path).map(kbps);
    outcome.set("model_kbps", model);
    let goodput = outcome.metrics.get("goodput_kbps").copied().flatten();
    outcome.set("model_ratio", goodput.zip(model).map(|(measured, model)| measured / model));
    outcome.set("epoch_rtts", window_at_loss(aimd, path).and_then(|window| epoch(aimd, window)));
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
const fn float(count: u64) -> f64 {
    count as f64
}

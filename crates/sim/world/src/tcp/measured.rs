use super::network::{FlowReport, Report};
use crate::sums::jain;
use guestright_engine::{Instant, Nanos};
use guestright_experiment::{MetricInfo, Outcome};

/// What is measured of the transfers. A kB is 1000 bytes of payload.
pub(super) const METRICS: [MetricInfo; 15] = [
    MetricInfo::new("reference_kBps", "kB/s", "Throughput of the reference host, the first (Figure 3)."),
    MetricInfo::new("mean_kBps", "kB/s", "Mean throughput of a transfer."),
    MetricInfo::new("min_kBps", "kB/s", "Throughput of the slowest transfer."),
    MetricInfo::new("max_kBps", "kB/s", "Throughput of the fastest transfer."),
    MetricInfo::new(
        "total_kBps",
        "kB/s",
        "All that was carried, over the time from the first start to the last end.",
    ),
    MetricInfo::new(
        "jain",
        "",
        "Jain's index of fairness: 1 if all transfers are equally fast, 1/n if one has all.",
    ),
    MetricInfo::new("cpu_share", "", "Share of the time in which the router's processor was at work."),
    MetricInfo::new("verifying_share", "", "Share of the time in which it verified receipts."),
    MetricInfo::new(
        "unverified",
        "",
        "Receipts that were due and not verified at the end, over those that were due.",
    ),
    MetricInfo::new("backlog_drops", "", "Packets that found the processor's backlog full."),
    MetricInfo::new("link_drops", "", "Packets that found the queue before a cable full."),
    MetricInfo::new("timeouts", "", "Retransmission timeouts of all senders."),
    MetricInfo::new("retransmitted", "", "Segments that were sent again."),
    MetricInfo::new("duration_s", "s", "From the first start to the last end."),
    MetricInfo::new("unfinished", "", "Transfers that were not at their end when the run was."),
];

/// The figures of a run.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn outcome(report: &Report) -> Outcome {
    let rates: Vec<f64> = report.flows.iter().filter_map(|flow| rate(flow, report.ended)).collect();
    let sum: f64 = rates.iter().sum();
    let count = rates.len() as f64;
    let first = report.flows.iter().map(|flow| flow.started).min().unwrap_or(Instant::START);
    let took = report.ended.since(first);
    let carried: u64 = report.flows.iter().map(|flow| flow.bytes).sum();
    let cpu = report.wires.cpu.unwrap_or_default();
    let has_cpu = |number: f64| report.wires.cpu.map(|_| number);
    let total = |count: fn(&FlowReport) -> u64| report.flows.iter().map(count).sum::<u64>() as f64;
    Outcome { packets: report.packets, events: report.events, ..Outcome::default() }
        .with("reference_kBps", rates.first().copied())
        .with("mean_kBps", sum / count)
        .with("min_kBps", rates.iter().copied().min_by(f64::total_cmp))
        .with("max_kBps", rates.iter().copied().max_by(f64::total_cmp))
        .with("total_kBps", carried as f64 / 1e3 / took.as_seconds())
        .with("jain", jain(&rates))
        .with("cpu_share", has_cpu((cpu.forwarding + cpu.verifying).as_seconds() / took.as_seconds()))
        .with("verifying_share", has_cpu(cpu.verifying.as_seconds() / took.as_seconds()))
        .with("unverified", (report.receipts > 0).then(|| 1.0 - cpu.verified as f64 / report.receipts as f64))
        .with("backlog_drops", has_cpu(cpu.backlog_drops as f64))
        .with("link_drops", report.wires.link_drops as f64)
        .with("timeouts", total(|flow| flow.timeouts))
        .with("retransmitted", total(|flow| flow.retransmitted))
        .with("duration_s", took.as_seconds())
        .with("unfinished", total(|flow| u64::from(flow.finished.is_none())))
}

/// Throughput of a flow, to its end or to the run's.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn rate(flow: &FlowReport, ended: Instant) -> Option<f64> {
    let took = flow.finished.unwrap_or(ended).since(flow.started);
    (took > Nanos(0)).then(|| flow.bytes as f64 / 1e3 / took.as_seconds())
}

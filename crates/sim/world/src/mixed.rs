//! Calls beside downloads at an access point of 802.11n, ac or ax: the `mixed` testbed.

mod network;
mod settings;

use crate::sums::mean;
use guestright_engine::Nanos;
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed};
use guestright_quality::{Interval, Summary};
use guestright_units::Seed;
use guestright_wlan::edca::CategoryStats;
use network::{Network, Run};
use settings::{Config, MixedSettings};

/// One access point, guests who call and guests who download or upload.
#[derive(Clone, Copy, Debug)]
pub struct Mixed;

/// A call of this score is acceptable.
const ACCEPTABLE: f64 = 3.6;

const METRICS: [MetricInfo; 21] = [
    MetricInfo::new("g107_mos_mean", "", "Mean over all streams of the score by ITU-T G.107 (06/2015)."),
    MetricInfo::new("g107_mos_worst", "", "The worst stream's score by ITU-T G.107."),
    MetricInfo::new("g107_mos_worse_way", "", "Mean score by ITU-T G.107 of the direction that is worse."),
    MetricInfo::new(
        "g107_acceptable_calls",
        "",
        "Calls whose worse stream has a score of at least 3.60 by G.107.",
    ),
    MetricInfo::new("call_loss", "", "Packets of calls that never arrived, over packets sent."),
    MetricInfo::new("call_delay_ms", "ms", "Mean one-way delay of the calls' packets that arrived."),
    MetricInfo::new("call_delay_p95_ms", "ms", "95 of 100 of them took no longer, within 1 %."),
    MetricInfo::new("call_delay_p99_ms", "ms", "99 of 100 of them took no longer, within 1 %."),
    MetricInfo::new("download_mbps", "Mb/s", "Bits of IP packets that all downloads together received."),
    MetricInfo::new("upload_mbps", "Mb/s", "The same of uploads, as the access point received them."),
    MetricInfo::new("download_share_least", "", "What the slowest download had, over the mean of all."),
    MetricInfo::new("radio_load", "", "Share of the time in which something was on the air."),
    MetricInfo::new("accesses_per_s", "1/s", "Times that a station won the medium, or shared it."),
    MetricInfo::new("unanswered", "", "Frames with data and RTS that nothing answered, over all accesses."),
    MetricInfo::new("internal_collisions", "1/s", "Turns that a category lost to another of its station."),
    MetricInfo::new("mpdus_per_frame", "", "MPDUs in a frame of the bulk's category, at the access point."),
    MetricInfo::new("mpdu_loss", "", "MPDUs that did not arrive, over all that were sent."),
    MetricInfo::new("retry_drops", "", "Packets that were given up after the last attempt."),
    MetricInfo::new("queue_drops", "", "Packets that found a queue full."),
    MetricInfo::new(
        "mcs_mean",
        "",
        "Mean over stations of the MCS that the access point takes to them at the end.",
    ),
    MetricInfo::new(
        "unfinished",
        "",
        "Packets of calls that were still on their way five seconds after the last.",
    ),
];

impl Testbed for Mixed {
    fn name(&self) -> &'static str {
        "mixed"
    }

    fn describe(&self) -> &'static str {
        "Calls beside downloads and uploads at one access point of 802.11n, ac or ax, with aggregation, categories of traffic (EDCA), \
         distances and choice of rates."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        MixedSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let config = Config::from_settings(&MixedSettings::read(settings)?)?;
        Network::new(config, Seed::from_number(0)).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let config = Config::from_settings(&MixedSettings::read(settings)?)?;
        Ok(outcome(Network::new(config, seed)?.run()))
    }
}

fn outcome(mut run: Run) -> Outcome {
    let mut outcome = Outcome { packets: run.packets, events: run.events, ..Outcome::default() };
    calls(&mut outcome, &mut run);
    bulk(&mut outcome, &run);
    radio(&mut outcome, &run);
    outcome
}

fn calls(outcome: &mut Outcome, run: &mut Run) {
    let summaries: Vec<Summary> = run.streams.iter_mut().map(crate::meter::StreamMeter::finish).collect();
    let scores: Option<Vec<f64>> = summaries.iter().map(score).collect();
    let scores = scores.filter(|scores| !scores.is_empty());
    let way = |from: usize| scores.as_ref().and_then(|all| mean(all.iter().skip(from).step_by(2).copied()));
    outcome.set("g107_mos_mean", scores.as_ref().and_then(|all| mean(all.iter().copied())));
    outcome.set("g107_mos_worst", scores.as_ref().and_then(|all| all.iter().copied().reduce(f64::min)));
    outcome.set("g107_mos_worse_way", way(0).zip(way(1)).map(|(up, down)| up.min(down)));
    let acceptable =
        |all: &Vec<f64>| all.chunks(2).filter(|call| call.iter().all(|mos| *mos >= ACCEPTABLE)).count();
    outcome.set("g107_acceptable_calls", scores.as_ref().map(|all| float(acceptable(all) as u64)));
    let sent: u64 = run.streams.iter().map(|stream| u64::from(stream.sent())).sum();
    let delivered: u64 = run.streams.iter().map(crate::meter::StreamMeter::delivered).sum();
    outcome.set("call_loss", share(sent - delivered, sent));
    outcome.set("unfinished", float(run.unfinished));
    let delays = run.delays.summary();
    outcome.set("call_delay_ms", delays.map(|delays| delays.mean_ms.low));
    outcome.set("call_delay_p95_ms", delays.map(|delays| delays.p95_ms.low));
    outcome.set("call_delay_p99_ms", delays.map(|delays| delays.p99_ms.low));
}

fn score(summary: &Summary) -> Option<f64> {
    let middle = |interval: Interval| f64::midpoint(interval.low, interval.high);
    // Where nothing arrives there is no delay, hence no rating; nobody would call it a good call.
    let silent = summary.network.lost == summary.network.expected;
    let rated = summary.judgement.conversation.as_ref().ok().map(|opinion| middle(opinion.mos));
    rated.or(silent.then_some(1.0))
}

fn bulk(outcome: &mut Outcome, run: &Run) {
    let mbps = |bytes: &[u64]| float(bytes.iter().sum()) * 8e-6 / run.length.as_seconds();
    outcome.set("download_mbps", mbps(&run.downloaded));
    outcome.set("upload_mbps", mbps(&run.uploaded));
    let average = mean(run.downloaded.iter().map(|bytes| float(*bytes))).filter(|mean| *mean > 0.0);
    let least = run.downloaded.iter().min();
    outcome.set("download_share_least", least.zip(average).map(|(least, mean)| float(*least) / mean));
}

fn radio(outcome: &mut Outcome, run: &Run) {
    let over = |time: Nanos| share(time.0, run.length.0);
    let total = |of: fn(&CategoryStats) -> u64| run.stats.iter().map(of).sum::<u64>();
    let per_second = |count: u64| float(count) / run.length.as_seconds();
    outcome.set("radio_load", over(run.busy));
    outcome.set("accesses_per_s", per_second(total(|stats| stats.accesses)));
    outcome.set("unanswered", share(total(|stats| stats.unanswered), total(|stats| stats.accesses)));
    outcome.set("internal_collisions", per_second(total(|stats| stats.internal_collisions)));
    outcome.set("mpdus_per_frame", share(run.bulk.mpdus, run.bulk.ppdus));
    outcome.set("mpdu_loss", share(total(|stats| stats.mpdus_lost), total(|stats| stats.mpdus)));
    outcome.set("retry_drops", float(total(|stats| stats.retry_limit)));
    outcome.set("queue_drops", float(total(|stats| stats.queue_full)));
    outcome.set("mcs_mean", mean(run.mcs.iter().map(|mcs| f64::from(*mcs))));
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(clippy::cast_precision_loss, reason = "counts and spans are far below 2^52")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;

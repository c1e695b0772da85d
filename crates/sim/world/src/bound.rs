//! How many voice streams fit by counting the time of each packet: the `bound` testbed (paper B, Table 2).

use crate::overhead::{Wrapping, WrappingSettings};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_units::Seed;
use guestright_wlan::bound::{Exchange, PAPER_B, cut};

/// The formula of the literature: a sum and a division. Nothing is left to chance: every seed gives the same.
#[derive(Clone, Copy, Debug)]
pub struct Bound;

settings! {
    /// The settings of the testbed.
    struct BoundSettings {
        /// Length of an IP packet: 60 is G.729 with two frames of 10 ms, 200 is G.711 with 20 ms.
        packet_bytes: usize = integer("packet_bytes", "bytes", 60, (20, 9_000)),
        /// Time between two packets of a stream.
        interval_ms: f64 = float("interval_ms", "ms", 20.0, (1.0, 1_000.0)),
        /// DIFS.
        difs_us: f64 = float("difs_us", "µs", PAPER_B.difs_us, (0.0, 10_000.0)),
        /// The mean backoff, in slots.
        backoff_slots: f64 = float("backoff_slots", "", PAPER_B.backoff_slots, (0.0, 1_023.0)),
        /// A slot.
        slot_us: f64 = float("slot_us", "µs", PAPER_B.slot_us, (0.0, 1_000.0)),
        /// Preamble and header of a data frame.
        preamble_us: f64 = float("preamble_us", "µs", PAPER_B.preamble_us, (0.0, 1_000.0)),
        /// What a data frame has beside the IP packet: header 24, check sequence 4, and LLC and SNAP 8 if they
        /// count.
        overhead_bytes: u32 = integer("overhead_bytes", "bytes", PAPER_B.overhead_bytes as i64, (0, 256)),
        /// Rate of data.
        rate_mbps: f64 = float("rate_mbps", "Mb/s", PAPER_B.rate_mbps, (0.1, 1_000.0)),
        /// SIFS.
        sifs_us: f64 = float("sifs_us", "µs", PAPER_B.sifs_us, (0.0, 1_000.0)),
        /// Preamble and header of an acknowledgement.
        ack_preamble_us: f64 = float("ack_preamble_us", "µs", PAPER_B.ack_preamble_us, (0.0, 1_000.0)),
        /// Rate of an acknowledgement.
        ack_rate_mbps: f64 = float("ack_rate_mbps", "Mb/s", PAPER_B.ack_rate_mbps, (0.1, 1_000.0)),
        /// What a sender needs after each frame; 0 in the literature.
        gap_us: f64 = float("gap_us", "µs", 0.0, (0.0, 10_000.0)),
        wrapping: WrappingSettings,
    }
}

const METRICS: [MetricInfo; 8] = [
    MetricInfo::new("streams", "", "One-way streams that fit."),
    MetricInfo::new("streams_cut", "", "The same, cut off behind the first decimal, as paper B prints it."),
    MetricInfo::new("whole_streams", "", "Whole streams that fit."),
    MetricInfo::new("calls", "", "Calls that fit, each with a stream both ways."),
    MetricInfo::new("whole_calls", "", "Whole calls that fit."),
    MetricInfo::new("frame_us", "µs", "The time of one packet with everything that belongs to it."),
    MetricInfo::new("frames_per_s", "1/s", "Packets that fit into a second."),
    MetricInfo::new(
        "loss_one_above",
        "",
        "Share of packets that do not fit with one more than the whole streams that do.",
    ),
];

impl Testbed for Bound {
    fn name(&self) -> &'static str {
        "bound"
    }

    fn describe(&self) -> &'static str {
        "The capacity of an 802.11 cell by the formula of the literature: DIFS, mean backoff, frame, SIFS and \
         acknowledgement of one packet, and how often they fit into a second."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        BoundSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        Wrapping::from_settings(&BoundSettings::read(settings)?.wrapping).map(drop)
    }

    fn run(&self, settings: &Settings, _seed: Seed) -> Result<Outcome, SettingError> {
        let settings = BoundSettings::read(settings)?;
        let wire_len = Wrapping::from_settings(&settings.wrapping)?.wire_len(settings.packet_bytes);
        let bytes = u32::try_from(wire_len).expect("the setting has limits, and a tunnel adds little");
        let frame_us = exchange(&settings).time_us(bytes) + settings.gap_us;
        let packets_per_second = 1e3 / settings.interval_ms;
        let streams = 1e6 / (packets_per_second * frame_us);
        let (whole, calls) = (streams.floor(), streams / 2.0);
        Ok(Outcome { packets: 1, ..Outcome::default() }
            .with("streams", streams)
            .with("streams_cut", cut(streams))
            .with("whole_streams", whole)
            .with("calls", calls)
            .with("whole_calls", calls.floor())
            .with("frame_us", frame_us)
            .with("frames_per_s", 1e6 / frame_us)
            .with("loss_one_above", 1.0 - streams / (whole + 1.0)))
    }
}

fn exchange(settings: &BoundSettings) -> Exchange {
    Exchange {
        difs_us: settings.difs_us,
        backoff_slots: settings.backoff_slots,
        slot_us: settings.slot_us,
        preamble_us: settings.preamble_us,
        overhead_bytes: settings.overhead_bytes,
        rate_mbps: settings.rate_mbps,
        sifs_us: settings.sifs_us,
        ack_preamble_us: settings.ack_preamble_us,
        ack_rate_mbps: settings.ack_rate_mbps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(settings: Settings, name: &str) -> f64 {
        let settings = settings.complete(BoundSettings::SETTINGS).unwrap();
        Bound.check(&settings).unwrap();
        Bound.run(&settings, Seed::from_number(0)).unwrap().metrics[name].unwrap()
    }

    #[test]
    fn table_2_of_paper_b_as_printed_and_by_the_rfcs() {
        let printed = Settings::new().with("tunnel", "esp").with("esp.sizes", "as-computed");
        let rfc = Settings::new().with("tunnel", "esp");
        #[rustfmt::skip]
        let cases = [
            (Settings::new(),  60, 24.149, 24.1),
            (printed.clone(),  60, 23.251, 23.2),
            (rfc.clone(),      60, 23.095, 23.0),
            (Settings::new(), 200, 21.505, 21.5),
            (printed,         200, 20.727, 20.7),
            (rfc,             200, 20.603, 20.6),
        ];
        for (settings, packet, streams, cut) in cases {
            let settings = settings.with("packet_bytes", packet);
            assert!((metric(settings.clone(), "streams") - streams).abs() < 5e-4, "{settings:?}");
            assert_eq!(metric(settings.clone(), "streams_cut"), cut, "{settings:?}");
        }
    }

    #[test]
    fn garg_and_kappes_have_14_calls_of_g729_and_12_of_g711() {
        let settings = Settings::new().with("backoff_slots", 8.5).with("overhead_bytes", 34);
        assert_eq!(metric(settings.clone(), "whole_calls"), 14.0);
        assert_eq!(metric(settings.with("packet_bytes", 200), "whole_calls"), 12.0);
    }

    #[test]
    fn what_does_not_fit_is_what_is_lost() {
        // 24.149 of 25 streams.
        assert!((metric(Settings::new(), "loss_one_above") - (1.0 - 24.149 / 25.0)).abs() < 1e-4);
        // 828.18 µs and a gap of 171.82 µs: 20 streams and nothing left.
        let whole = metric(Settings::new().with("gap_us", 171.8), "whole_streams");
        assert_eq!(whole, 20.0);
    }
}

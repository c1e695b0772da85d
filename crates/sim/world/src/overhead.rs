//! How long packets leave a tunnel: the `overhead` testbed, and the lengths that the others use.

mod wrapping;

pub(crate) use wrapping::{Wrapping, WrappingSettings};

use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_tunnel::overhead::{Layer, total};
use guestright_units::Seed;

/// IPv4's and UDP's headers, in bytes.
const UDP_IP_LEN: usize = 28;

/// One packet in one tunnel, part by part. Nothing is left to chance: every seed gives the same.
#[derive(Clone, Copy, Debug)]
pub struct Overhead;

settings! {
    /// The settings of the testbed.
    struct OverheadSettings {
        /// Length of the IPv4 packet that goes into the tunnel; 60 is G.729 with two frames, 200 is G.711.
        packet_bytes: usize = integer("packet_bytes", "bytes", 60, (20, 9_000)),
        /// The rate at which the added bytes are sent, for what they cost in time.
        rate_mbps: f64 = float("rate_mbps", "Mb/s", 11.0, (0.1, 100_000.0)),
        wrapping: WrappingSettings,
    }
}

const METRICS: [MetricInfo; 12] = [
    MetricInfo::new("wire_bytes", "bytes", "Length of the IPv4 packet that leaves."),
    MetricInfo::new("added_bytes", "bytes", "What the tunnel adds."),
    MetricInfo::new("added_share", "", "What the tunnel adds, over the packet's own length."),
    MetricInfo::new("added_over_speech", "", "What the tunnel adds, over what is in the UDP packet."),
    MetricInfo::new("added_us", "µs", "How long the added bytes take at `rate_mbps`."),
    MetricInfo::new("outer_ip_bytes", "bytes", "The outer IPv4 header."),
    MetricInfo::new("udp_bytes", "bytes", "UDP headers, of L2TP and of UDP encapsulation."),
    MetricInfo::new("l2tp_ppp_bytes", "bytes", "L2TP and PPP headers."),
    MetricInfo::new(
        "header_bytes",
        "bytes",
        "The tunnel's own header: SPI and sequence number, or WireGuard's.",
    ),
    MetricInfo::new("vector_bytes", "bytes", "The initialization vector."),
    MetricInfo::new("padding_bytes", "bytes", "Padding, and ESP's trailer of two bytes."),
    MetricInfo::new("check_bytes", "bytes", "The integrity check value, or tag."),
];

impl Testbed for Overhead {
    fn name(&self) -> &'static str {
        "overhead"
    }

    fn describe(&self) -> &'static str {
        "One packet goes into a tunnel; what leaves is counted part by part, with the lengths that the real encoders \
         write."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        OverheadSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        Wrapping::from_settings(&OverheadSettings::read(settings)?.wrapping).map(drop)
    }

    #[expect(clippy::cast_precision_loss, reason = "packets have far fewer than 2^52 bytes")]
    fn run(&self, settings: &Settings, _seed: Seed) -> Result<Outcome, SettingError> {
        let settings = OverheadSettings::read(settings)?;
        let packet_len = settings.packet_bytes;
        let layers = Wrapping::from_settings(&settings.wrapping)?.layers(packet_len);
        let wire = total(&layers);
        let added = (wire - packet_len) as f64;
        let mut outcome = Outcome { packets: 1, ..Outcome::default() }
            .with("wire_bytes", wire as f64)
            .with("added_bytes", added)
            .with("added_share", added / packet_len as f64)
            .with("added_over_speech", added / packet_len.saturating_sub(UDP_IP_LEN) as f64)
            .with("added_us", added * 8.0 / settings.rate_mbps);
        for metric in &METRICS[5..] {
            let len: usize =
                layers.iter().filter(|layer| part(layer) == metric.name).map(|layer| layer.len).sum();
            outcome.set(metric.name, len as f64);
        }
        Ok(outcome)
    }
}

/// Which metric counts this part of a packet; the packet itself has none.
fn part(layer: &Layer) -> &'static str {
    match layer.name {
        "IP" => "outer_ip_bytes",
        "UDP" | "UDP encapsulation" => "udp_bytes",
        "L2TP" | "PPP" => "l2tp_ppp_bytes",
        "ESP header"
        | "ESP index"
        | "ESP sequence number"
        | "WireGuard type"
        | "WireGuard receiver"
        | "WireGuard counter" => "header_bytes",
        "ESP vector" => "vector_bytes",
        "ESP padding" | "ESP trailer" | "WireGuard padding" => "padding_bytes",
        "ESP check value" | "WireGuard tag" => "check_bytes",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: Settings) -> Outcome {
        let settings = settings.complete(OverheadSettings::SETTINGS).unwrap();
        Overhead.check(&settings).unwrap();
        Overhead.run(&settings, Seed::from_number(0)).unwrap()
    }

    fn metric(outcome: &Outcome, name: &str) -> f64 {
        outcome.metrics[name].unwrap()
    }

    #[test]
    fn paper_a_and_paper_b_in_bytes() {
        let esp = Settings::new().with("tunnel", "esp");
        let paper_a = esp.clone().with("esp.suite", "aes-128-cbc+hmac-md5-96").with("esp.mode", "l2tp");
        #[rustfmt::skip]
        let cases = [
            // Paper A, section 6; with UDP encapsulation; without L2TP's length field.
            (paper_a.clone(), 60, 152.0),
            (paper_a.clone().with("esp.encapsulation", "udp"), 60, 160.0),
            (paper_a.with("l2tp.length", false), 60, 136.0),
            // Paper B by RFC 4303, and as its Table 2 needs them.
            (esp.clone(), 60, 112.0),
            (esp.clone(), 200, 256.0),
            (esp.clone().with("esp.sizes", "as-computed"), 60, 104.0),
            (esp.with("esp.sizes", "as-computed"), 200, 248.0),
            (Settings::new().with("tunnel", "wireguard"), 60, 124.0),
            (Settings::new(), 60, 60.0),
        ];
        for (settings, packet, want) in cases {
            let outcome = run(settings.clone().with("packet_bytes", packet));
            assert_eq!(metric(&outcome, "wire_bytes"), want, "{settings:?}");
        }
    }

    /// Table 1: 9 %, 57 % and 39 % are 30 of 336 bytes, 40 of 70, 22 of 56.
    #[test]
    fn paper_d_in_bytes() {
        let settings = Settings::new().with("tunnel", "esp").with("esp.suite", "aes-128-cbc+hmac-md5-96");
        let settings = settings.with("esp.mode", "transport").with("esp.sizes", "paper-d");
        for (speech, added) in [(336, 30.0), (70, 40.0), (56, 22.0)] {
            let outcome = run(settings.clone().with("packet_bytes", speech + 28));
            assert_eq!(metric(&outcome, "added_bytes"), added);
            assert_eq!(metric(&outcome, "added_over_speech"), added / speech as f64);
        }
        let tunnel = settings.with("esp.mode", "tunnel").complete(OverheadSettings::SETTINGS).unwrap();
        assert_eq!(Overhead.check(&tunnel).unwrap_err().setting(), "esp.sizes");
    }

    #[test]
    fn the_parts_and_the_packet_are_the_whole() {
        for suite in guestright_tunnel::esp::Suite::ALL {
            for mode in ["tunnel", "l2tp"] {
                for packet in [60, 61, 200, 1_500] {
                    let settings = Settings::new().with("tunnel", "esp").with("esp.suite", suite.name());
                    let outcome = run(settings.with("esp.mode", mode).with("packet_bytes", packet));
                    let parts: f64 = METRICS[5..].iter().map(|info| metric(&outcome, info.name)).sum();
                    assert_eq!(parts, metric(&outcome, "added_bytes"), "{suite} {mode} {packet}");
                }
            }
        }
        assert!(
            (metric(&run(Settings::new().with("tunnel", "esp")), "added_us") - 52.0 * 8.0 / 11.0).abs()
                < 1e-12
        );
    }

    #[test]
    fn lengths_as_computed_are_paper_b_s_alone() {
        let settings = Settings::new().with("tunnel", "esp").with("esp.sizes", "as-computed");
        let settings =
            settings.with("esp.suite", "aes-128-gcm").complete(OverheadSettings::SETTINGS).unwrap();
        let error = Overhead.check(&settings).unwrap_err();
        assert_eq!(error.setting(), "esp.sizes");
    }
}

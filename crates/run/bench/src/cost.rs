//! The `cost` testbed: what a second of conversation costs this computer, coding and protection, in time of a processor.
//!
//! The papers' other testbeds are simulated. This one measures, so it is for the platform `real` alone: one run after the
//! other, by the clock of the thread that works, which other programs' work does not advance.

mod codecs;
mod protection;

use crate::error::BenchError;
use guestright_experiment::{
    MetricInfo, Outcome, Plan, Platform, SettingError, SettingInfo, Settings, Testbed,
};
use guestright_units::Seed;

/// Its name in plans.
const NAME: &str = "cost";

/// One run: speech is coded and decoded, protected and opened, and the time is taken.
#[derive(Clone, Copy, Debug)]
pub struct Cost;

const SETTINGS: [SettingInfo; 7] = [
    SettingInfo::text(
        "codec",
        "none",
        "A codec by its name, as in `guestright call --codec`; none measures none.",
    ),
    SettingInfo::integer(
        "bytes_per_s",
        "B/s",
        0,
        (0, 64_000),
        "What a codec of a variable rate makes of a second; 0 leaves it to the codec.",
    ),
    SettingInfo::integer("frames", "", 0, (0, 100), "Frames of the codec in a packet; 0 is a usual packet."),
    SettingInfo::integer(
        "sample_rate_hz",
        "Hz",
        0,
        (0, 48_000),
        "Samples in a second, for codecs that do not care, as PGPfone has it; 0 is the codec's own rate.",
    ),
    SettingInfo::float("speech_s", "s", 30.0, (1.0, 600.0), "How much speech is coded; the paper took 30 s."),
    SettingInfo::text(
        "protection",
        "none",
        "What protects a second: tool/form/cipher, such as speak-freely/gsm/des; none measures none.",
    ),
    SettingInfo::text(
        "bulk",
        "none",
        "Ciphers whose rate over a long text says what the same bytes would cost, joined by +, such as rc4+md5.",
    ),
];

const METRICS: [MetricInfo; 15] = [
    MetricInfo::new("encode_ms", "ms/s", "Coding a second of speech."),
    MetricInfo::new("decode_ms", "ms/s", "Decoding a second of speech."),
    MetricInfo::new("codec_bytes", "B/s", "What the codec made of a second of speech."),
    MetricInfo::new("codec_packets", "1/s", "Packets of the codec in a second."),
    MetricInfo::new("codec_packet_bytes", "bytes", "Mean length of such a packet."),
    MetricInfo::new("protect_us", "µs/s", "Protecting what is sent in a second, packet by packet."),
    MetricInfo::new("open_us", "µs/s", "Opening it."),
    MetricInfo::new("both_us", "µs/s", "Protecting and opening."),
    MetricInfo::new("twice_us", "µs/s", "Twice protecting: how paper D's Table 14 comes out of its others."),
    MetricInfo::new("content_bytes", "B/s", "What is protected in a second: the codec's bytes."),
    MetricInfo::new("wire_bytes", "B/s", "What is sent in a second, in UDP packets, without their headers."),
    MetricInfo::new("rate_mib_s", "MiB/s", "The codec's bytes over the time that protecting them took."),
    MetricInfo::new(
        "bulk_mib_s",
        "MiB/s",
        "The rate of the ciphers in `bulk` one after the other over a long text.",
    ),
    MetricInfo::new("bulk_us", "µs/s", "What the codec's bytes of a second would cost at that rate."),
    MetricInfo::new("protection_share", "", "Protecting and opening, over coding and decoding."),
];

/// Whether the platform fits: what is measured is no simulation, and what is simulated needs no measuring.
///
/// # Errors
/// [`BenchError::Platform`] with the one that fits.
pub fn check_platform(plan: &Plan, platform: Platform) -> Result<(), BenchError> {
    let testbed = plan.testbed().name();
    let (fits, want) = match platform {
        Platform::Real => (testbed == NAME, "sim"),
        Platform::Sim | Platform::Netns => (testbed != NAME, "real"),
    };
    if fits {
        return Ok(());
    }
    Err(BenchError::Platform { plan: plan.name().to_owned(), testbed, platform: platform.name(), want })
}

impl Testbed for Cost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> &'static str {
        "Codes and protects speech on this computer, and takes the time of the processor. For --on real; other computers \
         give other rows, and the same one others at another time."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        &SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        codecs::Coding::read(settings)?;
        protection::Protection::read(settings)?;
        Ok(())
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let mut outcome = Outcome::default();
        let coding = codecs::Coding::read(settings)?;
        let coding_us = coding.map(|coding| coding.measure(&mut outcome)).transpose()?;
        let protection = protection::Protection::read(settings)?;
        let protection_us = protection.map(|protection| protection.measure(&seed, &mut outcome));
        if let (Some(coding), Some(protection)) = (coding_us, protection_us) {
            outcome.set("protection_share", protection / coding);
        }
        Ok(outcome)
    }
}

use crate::cpu::profile::{Cost, WRT54GS};
use crate::cpu::{CpuConfig, Policy, Profile};
use crate::whole::nanos;
use guestright_engine::Nanos;
use guestright_experiment::{SettingError, SettingInfo, Settings};

const VERIFICATIONS_MAX: usize = 1_000;

/// The settings of an access point's processor. Their defaults are the profile `wrt54gs`.
pub(crate) const SETTINGS: [SettingInfo; 9] = [
    SettingInfo::choice(
        "cpu.profile",
        "wrt54gs",
        &["wrt54gs", "none"],
        "The access point's processor: paper A's router, with the other settings of `cpu`, or none that takes time.",
    ),
    SettingInfo::choice(
        "cpu.policy",
        "quantum",
        &["run-to-completion", "preemptible", "quantum", "other-core"],
        "Who has the processor when packets and receipts both wait.",
    ),
    SettingInfo::float(
        "cpu.quantum_ms",
        "ms",
        WRT54GS.quantum.as_millis(),
        (0.001, 10_000.0),
        "How long a verification runs before the waiting packets have their turn; for the policy `quantum`. Fitted.",
    ),
    SettingInfo::float(
        "cpu.nat_us",
        "µs",
        WRT54GS.nat.packet.0 as f64 / 1e3,
        (0.0, 100_000.0),
        "Forwarding a packet with address translation.",
    ),
    SettingInfo::float(
        "cpu.nat_byte_us",
        "µs",
        WRT54GS.nat.byte.0 as f64 / 1e3,
        (0.0, 100.0),
        "The same for each byte of the packet as its sender wrote it. Estimated.",
    ),
    SettingInfo::float(
        "cpu.esp_us",
        "µs",
        WRT54GS.esp.packet.0 as f64 / 1e3,
        (0.0, 100_000.0),
        "What a tunnel's end adds for a packet. Fitted.",
    ),
    SettingInfo::float(
        "cpu.esp_byte_us",
        "µs",
        WRT54GS.esp.byte.0 as f64 / 1e3,
        (0.0, 100.0),
        "The same for each byte of the packet in the tunnel. Estimated.",
    ),
    SettingInfo::integer(
        "cpu.backlog_max",
        "packets",
        WRT54GS.backlog_max as i64,
        (1, 100_000),
        "How many packets wait for the processor; more are dropped.",
    ),
    SettingInfo::float(
        "cpu.speed",
        "",
        1.0,
        (0.01, 100_000.0),
        "How many times faster than these settings and the times of verification say.",
    ),
];

/// What jobs cost on a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Costs {
    nat: Cost,
    esp: Cost,
    speed: f64,
}

impl Costs {
    /// Forwarding a packet of `bytes` as its sender wrote it.
    pub(crate) fn nat(&self, bytes: u32) -> Nanos {
        self.scaled(self.nat.of(bytes))
    }

    /// What a tunnel's end adds for a packet of `bytes` in the tunnel.
    pub(crate) fn esp(&self, bytes: u32) -> Nanos {
        self.scaled(self.esp.of(bytes))
    }

    /// A verification that takes so many ms on the paper's router.
    pub(crate) fn verification(&self, ms: f64) -> Nanos {
        nanos(ms * 1e6 / self.speed)
    }

    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns")]
    fn scaled(&self, cost: Nanos) -> Nanos {
        nanos(cost.0 as f64 / self.speed)
    }
}

/// The processor and its costs; `None` if there is none that takes time.
pub(crate) fn config_from_settings(settings: &Settings) -> Result<Option<(CpuConfig, Costs)>, SettingError> {
    if settings.text("cpu.profile")? == "none" {
        return Ok(None);
    }
    let micros = |name: &str| settings.float(name).map(|us| nanos(us * 1e3));
    let profile = Profile {
        nat: Cost { packet: micros("cpu.nat_us")?, byte: micros("cpu.nat_byte_us")? },
        esp: Cost { packet: micros("cpu.esp_us")?, byte: micros("cpu.esp_byte_us")? },
        quantum: nanos(settings.float("cpu.quantum_ms")? * 1e6),
        backlog_max: 0,
    };
    let policy = match settings.text("cpu.policy")? {
        "run-to-completion" => Policy::RunToCompletion,
        "preemptible" => Policy::Preemptible,
        "other-core" => Policy::OtherCore,
        _ => Policy::Quantum(profile.quantum),
    };
    let backlog_max = settings.whole("cpu.backlog_max")?;
    let config = CpuConfig { policy, backlog_max, verifications_max: VERIFICATIONS_MAX };
    Ok(Some((config, Costs { nat: profile.nat, esp: profile.esp, speed: settings.float("cpu.speed")? })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_paper_s_router() {
        let settings = Settings::new().complete(&SETTINGS).unwrap();
        let (config, costs) = config_from_settings(&settings).unwrap().unwrap();
        assert_eq!(config.policy, Policy::Quantum(WRT54GS.quantum));
        assert_eq!(config.backlog_max, usize::from(WRT54GS.backlog_max));
        assert_eq!(costs.nat(1_500), WRT54GS.nat.of(1_500));
        assert_eq!(costs.esp(152), WRT54GS.esp.of(152));
        assert_eq!(costs.verification(114.7), Nanos(114_700_000));
    }

    #[test]
    fn a_faster_processor_is_faster_in_everything() {
        let settings = Settings::new().with("cpu.speed", 10.0).complete(&SETTINGS).unwrap();
        let (_, costs) = config_from_settings(&settings).unwrap().unwrap();
        assert_eq!(costs.nat(60) + costs.esp(152), Nanos(180_000));
        assert_eq!(costs.verification(12.3), Nanos(1_230_000));
        let none = Settings::new().with("cpu.profile", "none").complete(&SETTINGS).unwrap();
        assert_eq!(config_from_settings(&none).unwrap(), None);
    }
}

use crate::cpu::profile::{Cost, WRT54GS};
use crate::cpu::{CpuConfig, Policy};
use crate::whole::nanos;
use guestright_engine::Nanos;
use guestright_experiment::settings;

const VERIFICATIONS_MAX: usize = 1_000;

/// Which processor an access point has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    Wrt54gs,
    /// One that takes no time.
    None,
}

const PROFILES: [(&str, Processor); 2] = [("wrt54gs", Processor::Wrt54gs), ("none", Processor::None)];

/// A [`Policy`] without the length of its quantum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyKind {
    RunToCompletion,
    Preemptible,
    Quantum,
    OtherCore,
}

const POLICIES: [(&str, PolicyKind); 4] = [
    ("run-to-completion", PolicyKind::RunToCompletion),
    ("preemptible", PolicyKind::Preemptible),
    ("quantum", PolicyKind::Quantum),
    ("other-core", PolicyKind::OtherCore),
];

settings! {
    /// The settings of an access point's processor. Their defaults are the profile `wrt54gs`.
    pub(crate) struct CpuSettings {
        /// The access point's processor: paper A's router, with the other settings of `cpu`, or none that takes
        /// time.
        profile: Processor = choice("cpu.profile", "wrt54gs", PROFILES),
        /// Who has the processor when packets and receipts both wait.
        policy: PolicyKind = choice("cpu.policy", "quantum", POLICIES),
        /// How long a verification runs before the waiting packets have their turn; for the policy `quantum`.
        /// Fitted.
        quantum_ms: f64 = float("cpu.quantum_ms", "ms", WRT54GS.quantum.as_millis(), (0.001, 10_000.0)),
        /// Forwarding a packet with address translation.
        nat_us: f64 = float("cpu.nat_us", "µs", WRT54GS.nat.packet.0 as f64 / 1e3, (0.0, 100_000.0)),
        /// The same for each byte of the packet as its sender wrote it. Estimated.
        nat_byte_us: f64 = float("cpu.nat_byte_us", "µs", WRT54GS.nat.byte.0 as f64 / 1e3, (0.0, 100.0)),
        /// What a tunnel's end adds for a packet. Fitted.
        esp_us: f64 = float("cpu.esp_us", "µs", WRT54GS.esp.packet.0 as f64 / 1e3, (0.0, 100_000.0)),
        /// The same for each byte of the packet in the tunnel. Estimated.
        esp_byte_us: f64 = float("cpu.esp_byte_us", "µs", WRT54GS.esp.byte.0 as f64 / 1e3, (0.0, 100.0)),
        /// How many packets wait for the processor; more are dropped.
        backlog_max: usize = integer("cpu.backlog_max", "packets", WRT54GS.backlog_max as i64, (1, 100_000)),
        /// How many times faster than these settings and the times of verification say.
        speed: f64 = float("cpu.speed", "", 1.0, (0.01, 100_000.0)),
    }
}

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
pub(crate) fn config_from_settings(settings: &CpuSettings) -> Option<(CpuConfig, Costs)> {
    if settings.profile == Processor::None {
        return None;
    }
    let cost =
        |packet_us: f64, byte_us: f64| Cost { packet: nanos(packet_us * 1e3), byte: nanos(byte_us * 1e3) };
    let policy = match settings.policy {
        PolicyKind::RunToCompletion => Policy::RunToCompletion,
        PolicyKind::Preemptible => Policy::Preemptible,
        PolicyKind::OtherCore => Policy::OtherCore,
        PolicyKind::Quantum => Policy::Quantum(nanos(settings.quantum_ms * 1e6)),
    };
    let config =
        CpuConfig { policy, backlog_max: settings.backlog_max, verifications_max: VERIFICATIONS_MAX };
    let costs = Costs {
        nat: cost(settings.nat_us, settings.nat_byte_us),
        esp: cost(settings.esp_us, settings.esp_byte_us),
        speed: settings.speed,
    };
    Some((config, costs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_experiment::Settings;

    fn config(settings: Settings) -> Option<(CpuConfig, Costs)> {
        let settings = settings.complete(CpuSettings::SETTINGS).unwrap();
        config_from_settings(&CpuSettings::read(&settings).unwrap())
    }

    #[test]
    fn the_defaults_are_the_paper_s_router() {
        let (config, costs) = config(Settings::new()).unwrap();
        assert_eq!(config.policy, Policy::Quantum(WRT54GS.quantum));
        assert_eq!(config.backlog_max, usize::from(WRT54GS.backlog_max));
        assert_eq!(costs.nat(1_500), WRT54GS.nat.of(1_500));
        assert_eq!(costs.esp(152), WRT54GS.esp.of(152));
        assert_eq!(costs.verification(114.7), Nanos(114_700_000));
    }

    #[test]
    fn a_faster_processor_is_faster_in_everything() {
        let (_, costs) = config(Settings::new().with("cpu.speed", 10.0)).unwrap();
        assert_eq!(costs.nat(60) + costs.esp(152), Nanos(180_000));
        assert_eq!(costs.verification(12.3), Nanos(1_230_000));
        assert_eq!(config(Settings::new().with("cpu.profile", "none")), None);
    }
}

//! What is sent.

use guestright_quality::Codec;
use guestright_units::Micros;
use serde::Serialize;
use thiserror::Error;

/// At most so many calls in one run, whatever a listener allows.
pub const CALLS_MAX: u16 = 2_000;
/// A run lasts no longer, whatever a listener allows: a day.
pub const DURATION_MAX: Micros = Micros::from_seconds(86_400);
/// Sound in one packet of either kind.
pub const PACKET: Micros = Micros::from_millis(20);
/// Ticks of the RTP timestamp in one packet.
pub(crate) const PACKET_TICKS: u32 = 160;

/// The traffic of one call, in each direction 50 packets a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// 20 octets of payload behind 12 of RTP, as G.729 sends; what paper A used.
    #[default]
    G729,
    /// 160 octets of payload behind 12 of RTP, as G.711 sends.
    G711,
}

impl Traffic {
    /// Octets of RTP payload.
    pub const fn payload_bytes(self) -> usize {
        match self {
            Self::G729 => 20,
            Self::G711 => 160,
        }
    }

    /// The codec that the figures are computed for.
    pub const fn codec(self) -> Codec {
        match self {
            Self::G729 => Codec::G729a,
            Self::G711 => Codec::G711u,
        }
    }

    /// The RTP payload type.
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::G729 => 18,
            Self::G711 => 0,
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::G729 => 0,
            Self::G711 => 1,
        }
    }
}

/// When within 20 ms the packets of each call leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phases {
    /// By chance, from the sender's seed, as calls of people would.
    #[default]
    Random,
    /// Evenly spaced, so that every run is the same.
    Even,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// How many calls at the same time.
    pub calls: u16,
    /// What each sends.
    pub traffic: Traffic,
    /// How they lie within 20 ms.
    pub phases: Phases,
    /// How many packets each call sends in each direction.
    pub packets: u32,
}

impl Plan {
    /// Paper A's: G.729 for 90 s, phases by chance.
    pub const fn paper_a(calls: u16) -> Self {
        Self { calls, traffic: Traffic::G729, phases: Phases::Random, packets: 4_500 }
    }

    /// How long it lasts.
    pub fn duration(&self) -> Micros {
        Micros(u64::from(self.packets) * PACKET.0)
    }

    /// A plan that lasts as long as whole packets allow.
    ///
    /// # Errors
    ///
    /// If there is no call, too many, no packet, or too many.
    pub fn lasting(
        calls: u16,
        traffic: Traffic,
        phases: Phases,
        duration: Micros,
    ) -> Result<Self, PlanError> {
        let packets =
            u32::try_from(duration.0 / PACKET.0).map_err(|_| PlanError::Duration { got: duration })?;
        Self { calls, traffic, phases, packets }.checked()
    }

    fn checked(self) -> Result<Self, PlanError> {
        if self.calls == 0 || self.calls > CALLS_MAX {
            return Err(PlanError::Calls { got: self.calls });
        }
        if self.packets == 0 || self.duration() > DURATION_MAX {
            return Err(PlanError::Duration { got: self.duration() });
        }
        Ok(self)
    }

    /// The octets of a plan in a message: calls, traffic, phases, packets.
    pub(crate) fn emit(&self) -> [u8; 8] {
        let [c0, c1] = self.calls.to_be_bytes();
        let [p0, p1, p2, p3] = self.packets.to_be_bytes();
        [c0, c1, self.traffic.number(), u8::from(self.phases == Phases::Even), p0, p1, p2, p3]
    }

    pub(crate) fn parse(bytes: [u8; 8]) -> Option<Self> {
        let [c0, c1, traffic, phases, p0, p1, p2, p3] = bytes;
        let traffic = [Traffic::G729, Traffic::G711].into_iter().find(|kind| kind.number() == traffic)?;
        let phases = match phases {
            0 => Phases::Random,
            1 => Phases::Even,
            _ => return None,
        };
        let (calls, packets) = (u16::from_be_bytes([c0, c1]), u32::from_be_bytes([p0, p1, p2, p3]));
        Self { calls, traffic, phases, packets }.checked().ok()
    }
}

/// A plan that cannot be carried out.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// No call, or too many.
    #[error("{got} calls, expected 1 to {CALLS_MAX}")]
    Calls {
        /// What was asked for.
        got: u16,
    },
    /// Too short or too long.
    #[error("{} s, expected 0.02 to {}", got.as_seconds(), DURATION_MAX.as_seconds())]
    Duration {
        /// What was asked for.
        got: Micros,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paper_a_s_lasts_90_s_and_fills_32_octets() {
        let plan = Plan::paper_a(7);
        assert_eq!(plan.duration(), Micros::from_seconds(90));
        assert_eq!(plan.traffic.payload_bytes() + 12, 32);
        assert_eq!(Plan::lasting(7, Traffic::G729, Phases::Random, Micros::from_seconds(90)), Ok(plan));
    }

    #[test]
    fn refuses_nothing_and_too_much() {
        let lasting = |calls, s| Plan::lasting(calls, Traffic::G711, Phases::Even, Micros::from_seconds(s));
        assert_eq!(lasting(0, 90), Err(PlanError::Calls { got: 0 }));
        assert_eq!(lasting(2_001, 90), Err(PlanError::Calls { got: 2_001 }));
        assert!(matches!(lasting(1, 0), Err(PlanError::Duration { .. })));
        assert!(matches!(lasting(1, 86_401), Err(PlanError::Duration { .. })));
        assert!(matches!(lasting(1, u64::MAX), Err(PlanError::Duration { .. })));
    }

    proptest! {
        #[test]
        fn parse_accepts_what_emit_writes_and_nothing_else(bytes: [u8; 8]) {
            if let Some(plan) = Plan::parse(bytes) {
                prop_assert_eq!(plan.emit(), bytes);
                prop_assert!(plan.checked().is_ok());
            }
        }
    }
}

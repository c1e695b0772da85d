use crate::rate;
use crate::{InstallRule, ListenerConfig, TalkerConfig, TickRate};
use guestright_units::Micros;
use guestright_voice::playout::{self, Policy};
use std::fmt;

/// How messages are hidden among packets of sound (paper D, section 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masking {
    /// Not at all: each goes at once.
    None,
    /// Each goes together with a packet of sound, or when there would be one if somebody spoke: in a pause it is seen.
    Slots,
    /// As [`Masking::Slots`], but a phase begins only together with sound, so that there is none in a pause of ours. The
    /// first one does not wait: without it there is no sound.
    Sound,
    /// As [`Masking::Slots`], and in a pause every packet is covered up by one that says nothing.
    Cover,
    /// As [`Masking::Cover`], and every fifth place has two packets, so that neither speech nor messages are seen in how
    /// many there are.
    Constant,
}

impl Masking {
    /// With [`Masking::Constant`] two packets go at each of so many places.
    pub(super) const SECOND_EVERY: u64 = 5;

    /// The longest that a message waits, in packets: an answer, a question and a report may wait for the same place.
    pub(super) fn wait_packets(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Slots | Self::Sound | Self::Cover => 3,
            Self::Constant => 3 * Self::SECOND_EVERY,
        }
    }
}

/// What can be chosen about BoAT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The profile's name: `boat`.
    pub name: &'static str,
    /// The phases in which we speak.
    pub talker: TalkerConfig,
    /// The clock by which we hear. Both sides have the same ticks.
    pub listener: ListenerConfig,
    /// Sound in a packet.
    pub packet: Micros,
    /// So much missing sound in a row is concealed.
    pub conceal_max: Micros,
    /// With a policy: the longest that the buffer adds.
    pub delay_max: Micros,
    /// How messages are hidden.
    pub masking: Masking,
    /// Rate control, if the codec has a choice.
    pub rate: Option<rate::Config>,
    /// How often a listener reports.
    pub report_every: Micros,
    /// After so long without a datagram of the peer's the call is over.
    pub silence_max: Micros,
    /// After so long without a datagram of ours one goes out that says nothing, so that address translators keep their
    /// memory.
    pub keep_alive: Micros,
    /// After so many packets in a row that came too late, a clock that waits for a silence to go back waits no longer:
    /// nothing is heard anyway. Nothing: it waits, as printed.
    pub late_run_max: Option<u32>,
}

impl Config {
    /// BoAT today: 8,000 ticks a second, packets of `packet`.
    #[must_use]
    pub fn modern(packet: Micros) -> Self {
        Self {
            name: "boat",
            talker: TalkerConfig::MODERN,
            listener: ListenerConfig::MODERN,
            packet,
            conceal_max: Micros::from_millis(120),
            delay_max: Micros::from_millis(400),
            masking: Masking::None,
            rate: None,
            report_every: Micros::from_seconds(5),
            silence_max: Micros::from_seconds(15),
            keep_alive: Micros::from_seconds(5),
            late_run_max: Some(10),
        }
    }

    /// BoAT as printed, but for [`InstallRule::ReceiverExact`]: milliseconds, packets of 40 ms, messages in places of
    /// sound, rate control from 700 to 8,000 bytes a second.
    #[must_use]
    pub fn printed() -> Self {
        Self {
            name: "boat-legacy",
            talker: TalkerConfig::PRINTED,
            listener: ListenerConfig::PRINTED,
            masking: Masking::Slots,
            rate: Some(rate::Config::default()),
            late_run_max: None,
            ..Self::modern(Micros::from_millis(40))
        }
    }

    /// The same with another rule, on both sides of a direction.
    #[must_use]
    pub fn with_install(mut self, rule: InstallRule) -> Self {
        self.talker.install = rule;
        self.listener.install = rule;
        self
    }

    /// Ticks of both sides' clocks in a second. The listener's are those of the talker, whatever it says itself.
    pub(super) fn tick_rate(&self) -> TickRate {
        self.talker.tick_rate
    }

    pub(super) fn playout(&self) -> playout::Config {
        playout::Config {
            clock_rate: self.tick_rate().per_second(),
            packet: self.packet,
            frame_bytes: 0,
            frame: self.packet,
            delay_max: self.delay_max,
            conceal_max: self.conceal_max,
        }
    }
}

/// Who says when a packet is played.
pub enum Timing {
    /// The clock that the handshakes set, by the rules of Table 3. Sound flows once a phase was completed.
    Boat,
    /// A policy, which hears of the handshakes too ([`Policy::handshake`]). They go on for the keys, and sound flows as
    /// soon as there is a seal.
    Policy(Box<dyn Policy>),
}

impl fmt::Debug for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boat => f.write_str("Boat"),
            Self::Policy(policy) => write!(f, "Policy({})", policy.name()),
        }
    }
}

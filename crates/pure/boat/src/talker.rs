//! The side of a direction that speaks: it begins the phases of Table 2, measures the round trip and installs it.

use super::clock::{TickRate, difference, wrap};
use super::{Message, Seal, SealError, Step};
use guestright_units::{Micros, Time};
use rand::{Rng, RngExt as _};
use std::collections::VecDeque;

/// When a talker may send INSTALL. The clock of the listener jumps forward when the round trip has become shorter, and
/// must not jump over speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallRule {
    /// As paper D has it (section 3.1): after a silence of at least the improvement. Packets that wait at the listener are
    /// jumped over nevertheless when INSTALL travels faster than the new `Delta`; a test shows it.
    Printed,
    /// After a silence of two of the old round trips: by then nothing waits at the listener.
    SenderOnly,
    /// At any time. The listener holds it until its clock has passed the last packet of the talkspurt.
    ReceiverExact,
}

/// What can be chosen about phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TalkerConfig {
    /// Ticks of the talker's clock in a second.
    pub tick_rate: TickRate,
    /// The least time from one start to the next. The start is drawn by lot between this and the next, so that nobody
    /// knows which datagrams are a handshake (section 3.2.1); paper D's tables have 1 s for both.
    pub period_min: Micros,
    /// The longest. A key lives so long if nothing is lost.
    pub period_max: Micros,
    /// An answer is waited for so long at least; otherwise twice the last round trip, and twice as long as before after a
    /// phase without an answer.
    pub timeout_min: Micros,
    /// A round trip above this is no round trip, and no answer is waited for any longer.
    pub round_trip_max: Micros,
    /// A round trip more than so many times the median of the last ones is not installed, once it is above
    /// [`TalkerConfig::jump_above`]: whoever delays one PROBE or one RESPONSE would set the clock back.
    pub jump_max: Option<u32>,
    /// See [`TalkerConfig::jump_max`].
    pub jump_above: Micros,
    /// When INSTALL is sent.
    pub install: InstallRule,
    /// After so many phases in a row that were not completed the conversation is shut down (section 3.2.1).
    pub failures_max: u32,
    /// So much sound is protected with a key at most.
    pub key_age_max: Micros,
    /// So many bytes of datagrams are protected with a key at most.
    pub key_bytes_max: u64,
}

impl TalkerConfig {
    /// Paper D's numbers, and those of our notes where it has none: 1 ms, starts by lot, n = 5, 10 s, 2^20 bytes.
    pub const PRINTED: Self = Self {
        tick_rate: TickRate::MILLISECONDS,
        period_min: Micros::from_millis(500),
        period_max: Micros::from_millis(1_000),
        timeout_min: Micros::from_millis(300),
        round_trip_max: Micros::from_millis(2_000),
        jump_max: None,
        jump_above: Micros(0),
        install: InstallRule::ReceiverExact,
        failures_max: 5,
        key_age_max: Micros::from_seconds(10),
        key_bytes_max: 1 << 20,
    };

    /// For a seal whose key also changes without messages. At a loss of a tenth, five phases in a row fail every few
    /// minutes, so a call would not live; forty do not.
    pub const MODERN: Self = Self {
        tick_rate: TickRate::SAMPLES,
        jump_max: Some(4),
        jump_above: Micros::from_millis(100),
        failures_max: 40,
        key_age_max: Micros::from_seconds(60),
        key_bytes_max: 1 << 24,
        ..Self::PRINTED
    };
}

/// Why the conversation must be shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// So many phases in a row were not completed: somebody may be dropping them, so that an old key stays in use.
    Failures(u32),
    /// A key was used for longer than it may be.
    KeyAge,
    /// A key protected more than it may.
    KeyBytes,
}

/// What became of the phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TalkerCounts {
    /// PROBE was sent.
    pub started: u64,
    /// ACK came.
    pub completed: u64,
    /// No answer in time, or a round trip that is none.
    pub failed: u64,
    /// The round trip had jumped, so it was not installed.
    pub jumped: u64,
    /// Given up for the next one, because INSTALL had to wait for a silence that did not come.
    pub superseded: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Until the next start.
    Idle,
    /// PROBE waits for a place.
    ProbeDue,
    Probed {
        time: u32,
        deadline: Time,
    },
    /// INSTALL waits for the rule, or for a place.
    InstallDue {
        round_trip: u32,
        key: Vec<u8>,
        /// The rule has let it go, and it waits for a place.
        is_free: bool,
    },
    Installed {
        round_trip: u32,
        deadline: Time,
    },
}

/// Round trips that the median is taken of, those that were not installed among them: a real change is followed.
const ROUND_TRIPS: usize = 5;

/// S of one direction.
#[derive(Clone, Debug)]
pub struct Talker {
    config: TalkerConfig,
    /// CS is the computer's time plus this.
    start: u32,
    state: State,
    phase: u32,
    next_start: Time,
    round_trips: VecDeque<u32>,
    /// The round trip that the listener acknowledged last.
    installed: Option<u32>,
    failures: u32,
    /// Where the last sound ended; nothing while somebody speaks, or before anybody spoke.
    silent_since: Option<Time>,
    is_speaking: bool,
    key_age: Micros,
    key_bytes: u64,
    /// What waiting for places between packets adds to an answer, on both sides together.
    slot_wait: Micros,
    counts: TalkerCounts,
}

impl Talker {
    /// Begins with a phase at once.
    ///
    /// `place` is the longest that a message waits for a place between packets of sound.
    #[must_use]
    pub fn new(config: TalkerConfig, slot_wait: Micros, rng: &mut impl Rng, now: Time) -> Self {
        Self {
            config,
            start: rng.random(),
            state: State::Idle,
            phase: 0,
            next_start: now,
            round_trips: VecDeque::new(),
            installed: None,
            failures: 0,
            silent_since: None,
            is_speaking: false,
            key_age: Micros(0),
            key_bytes: 0,
            slot_wait: Micros(slot_wait.0.saturating_mul(2)),
            counts: TalkerCounts::default(),
        }
    }

    /// CS, in ticks.
    #[must_use]
    pub fn clock(&self, now: Time) -> u32 {
        wrap(self.config.tick_rate.at(now)).wrapping_add(self.start)
    }

    /// When it wants [`Talker::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Idle => Some(self.next_start),
            State::Probed { deadline, .. } | State::Installed { deadline, .. } => Some(*deadline),
            State::ProbeDue => None,
            State::InstallDue { is_free: true, .. } => None,
            State::InstallDue { is_free: false, .. } => self.install_at().map(|at| at.min(self.next_start)),
        }
    }

    /// Time has passed: a phase begins, or has failed.
    pub fn handle_timeout(&mut self, seal: &mut dyn Seal, now: Time) {
        match &self.state {
            State::Probed { deadline, .. } | State::Installed { deadline, .. } if now >= *deadline => {
                self.fail(seal);
            }
            State::InstallDue { .. } if now >= self.next_start && !self.has_message(now) => {
                seal.abandon(self.phase);
                self.counts.superseded += 1;
                self.state = State::Idle;
            }
            State::Idle
            | State::ProbeDue
            | State::Probed { .. }
            | State::InstallDue { .. }
            | State::Installed { .. } => {}
        }
        let is_free_now = self.has_message(now);
        if let State::InstallDue { is_free, .. } = &mut self.state {
            *is_free = is_free_now;
        }
        if self.state == State::Idle && now >= self.next_start && self.shutdown().is_none() {
            self.state = State::ProbeDue;
        }
    }

    /// Whether [`Talker::poll_message`] would give a message.
    #[must_use]
    pub fn has_message(&self, now: Time) -> bool {
        match &self.state {
            State::ProbeDue => true,
            State::InstallDue { .. } => self.install_at().is_none_or(|at| at <= now),
            State::Idle | State::Probed { .. } | State::Installed { .. } => false,
        }
    }

    /// Whether the message that waits begins a phase.
    #[must_use]
    pub fn would_begin(&self) -> bool {
        self.state == State::ProbeDue
    }

    /// The message that is to be sent right now: its time is the present one.
    pub fn poll_message(&mut self, seal: &mut dyn Seal, rng: &mut impl Rng, now: Time) -> Option<Message> {
        if !self.has_message(now) {
            return None;
        }
        let deadline = now + self.timeout();
        match std::mem::replace(&mut self.state, State::Idle) {
            State::ProbeDue => {
                self.phase = self.phase.wrapping_add(1);
                self.counts.started += 1;
                let (least, most) = (self.config.period_min.0, self.config.period_max.0);
                self.next_start = now + Micros(rng.random_range(least..=most.max(least)));
                let time = self.clock(now);
                self.state = State::Probed { time, deadline };
                let key = seal.probe(self.phase);
                Some(Message { phase: self.phase, step: Step::Probe { time }, key })
            }
            State::InstallDue { round_trip, key, .. } => {
                self.state = State::Installed { round_trip, deadline };
                Some(Message { phase: self.phase, step: Step::Install { round_trip }, key })
            }
            State::Idle | State::Probed { .. } | State::Installed { .. } => None,
        }
    }

    /// Takes RESPONSE or ACK. One of another phase, or with another time, is none of ours.
    ///
    /// # Errors
    /// [`SealError::KeyPart`]: the message fits, its key material does not. Of a RESPONSE, or an ACK, that is not the one
    /// that is waited for.
    pub fn handle_message(
        &mut self,
        message: &Message,
        seal: &mut dyn Seal,
        now: Time,
    ) -> Result<(), SealError> {
        const NOT_AWAITED: SealError = SealError::KeyPart("a message of another phase");
        if message.phase != self.phase {
            return Err(NOT_AWAITED);
        }
        match (message.step, &self.state) {
            (Step::Response { time: got, held }, State::Probed { time, .. }) if got == *time => {
                self.handle_response(got, held, &message.key, seal, now)
            }
            (Step::Ack { round_trip: got }, State::Installed { round_trip, .. }) if got == *round_trip => {
                seal.complete(message.phase, &message.key)?;
                self.installed = Some(got);
                self.counts.completed += 1;
                self.failures = 0;
                (self.key_age, self.key_bytes) = (Micros(0), 0);
                self.state = State::Idle;
                Ok(())
            }
            (Step::Probe { .. } | Step::Response { .. } | Step::Install { .. } | Step::Ack { .. }, _) => {
                Err(NOT_AWAITED)
            }
        }
    }

    /// Notes that a packet of sound, or what looks like one, was protected, with so much sound in it.
    pub fn note_packet(&mut self, duration: Micros) {
        self.key_age = Micros(self.key_age.0.saturating_add(duration.0));
    }

    /// Notes that so many bytes were protected.
    pub fn note_bytes(&mut self, bytes: usize) {
        self.key_bytes = self.key_bytes.saturating_add(bytes as u64);
    }

    /// Notes whether somebody speaks at present.
    pub fn note_speech(&mut self, is_speech: bool, now: Time) {
        if is_speech {
            self.silent_since = None;
            if let State::InstallDue { is_free, .. } = &mut self.state {
                *is_free = false;
            }
        } else if self.is_speaking {
            self.silent_since = Some(now);
        }
        self.is_speaking = is_speech;
    }

    /// Whether, and why, the conversation must be shut down.
    #[must_use]
    pub fn shutdown(&self) -> Option<Shutdown> {
        if self.failures >= self.config.failures_max.max(1) {
            return Some(Shutdown::Failures(self.failures));
        }
        if self.key_age > self.config.key_age_max {
            return Some(Shutdown::KeyAge);
        }
        (self.key_bytes > self.config.key_bytes_max).then_some(Shutdown::KeyBytes)
    }

    /// Whether a phase was completed: the listener has a clock.
    #[must_use]
    pub fn is_synchronised(&self) -> bool {
        self.installed.is_some()
    }

    /// The last round trip that was measured, installed or not.
    #[must_use]
    pub fn round_trip(&self) -> Option<Micros> {
        self.round_trips.back().map(|ticks| self.config.tick_rate.span(u64::from(*ticks)))
    }

    /// What became of the phases.
    #[must_use]
    pub fn counts(&self) -> TalkerCounts {
        self.counts
    }

    /// Phases in a row that failed, up to now.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    fn handle_response(
        &mut self,
        time: u32,
        held: u16,
        key: &[u8],
        seal: &mut dyn Seal,
        now: Time,
    ) -> Result<(), SealError> {
        let passed = difference(self.clock(now), time).max(0).unsigned_abs();
        let ticks = passed.saturating_sub(u64::from(held));
        let limit = self.config.tick_rate.ticks(self.config.round_trip_max);
        let Ok(round_trip) = u32::try_from(ticks) else {
            self.fail(seal);
            return Ok(());
        };
        if ticks > limit {
            self.fail(seal);
            return Ok(());
        }
        let material = seal.install(self.phase, key)?;
        let is_jump = self.is_jump(round_trip);
        if self.round_trips.len() >= ROUND_TRIPS {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back(round_trip);
        if is_jump {
            seal.abandon(self.phase);
            self.counts.jumped += 1;
            self.state = State::Idle;
        } else {
            self.state = State::InstallDue { round_trip, key: material, is_free: false };
        }
        Ok(())
    }

    fn is_jump(&self, round_trip: u32) -> bool {
        let Some(jump_max) = self.config.jump_max else { return false };
        let mut sorted: Vec<u32> = self.round_trips.iter().copied().collect();
        sorted.sort_unstable();
        let Some(median) = sorted.get(sorted.len() / 2) else { return false };
        let above = self.config.tick_rate.ticks(self.config.jump_above);
        u64::from(round_trip) > above.max(u64::from(*median) * u64::from(jump_max))
    }

    /// When INSTALL may go, if it must wait: for a silence that has begun, or for the next phase while somebody speaks.
    fn install_at(&self) -> Option<Time> {
        let State::InstallDue { round_trip, .. } = &self.state else { return None };
        // A first clock, and one that goes back, need no silence at the talker.
        let installed = self.installed?;
        let improvement = installed.checked_sub(*round_trip).filter(|improvement| *improvement > 0)?;
        let needed = match self.config.install {
            InstallRule::ReceiverExact => return None,
            InstallRule::Printed => improvement,
            InstallRule::SenderOnly => installed.saturating_mul(2),
        };
        if self.is_speaking {
            return Some(Time(u64::MAX));
        }
        // Before anybody spoke there is nothing to jump over.
        self.silent_since.map(|since| since + self.config.tick_rate.span(u64::from(needed)))
    }

    /// Nobody answered in time. Messages that were never sent do not count: this is called for those that were.
    fn fail(&mut self, seal: &mut dyn Seal) {
        seal.abandon(self.phase);
        self.counts.failed += 1;
        self.failures = self.failures.saturating_add(1);
        self.state = State::Idle;
        // Before the first clock nothing can be said, so there is no waiting.
        if self.installed.is_none() {
            self.next_start = Time(0);
        }
    }

    /// How long an answer is waited for. A path whose round trip has become longer than that would never have another
    /// phase completed if it did not grow.
    fn timeout(&self) -> Micros {
        let measured = self.round_trip().map_or(0, |round_trip| round_trip.0.saturating_mul(2));
        let usual = measured.max(self.config.timeout_min.0);
        let patient = usual.saturating_mul(1 << self.failures.min(8)).min(self.config.round_trip_max.0);
        Micros(patient.max(self.config.timeout_min.0).saturating_add(self.slot_wait.0))
    }
}

//! The side of a direction that hears: it answers the phases of Table 2, and sets its clock by them.

use super::clock::{TickRate, difference, wrap};
use super::talker::InstallRule;
use super::{Message, Seal, SealError, Step};
use guestright_units::{Micros, Time};
use guestright_voice::playout::Handshake;
use guestright_voice::rtp::WidenTimestamp;

/// What can be chosen about a listener's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Ticks of the talker's clock in a second.
    pub tick_rate: TickRate,
    /// `Delta` is the time of PROBE on its way and what is installed: a whole round trip, as printed, if this is nothing.
    /// Otherwise less, so that `Delta` stays below this, but a quarter of the round trip at least.
    pub delta_max: Option<Micros>,
    /// What is installed at least. Paper D has nothing of the kind; but computers that share a wire, with a round trip of
    /// less than a ms, are not as punctual as that.
    pub margin_min: Micros,
    /// With [`InstallRule::ReceiverExact`] a clock that goes forward is held back until it jumps over silence only. With
    /// the others it is set as soon as INSTALL comes.
    pub install: InstallRule,
}

impl ListenerConfig {
    /// As printed, but for the rule, and for round trips below 20 ms.
    pub const PRINTED: Self = Self {
        tick_rate: TickRate::MILLISECONDS,
        delta_max: None,
        margin_min: Micros::from_millis(20),
        install: InstallRule::ReceiverExact,
    };
    /// `Delta` is 400 ms at most, up to a round trip of 320 ms.
    pub const MODERN: Self = Self {
        tick_rate: TickRate::SAMPLES,
        delta_max: Some(Micros::from_millis(400)),
        margin_min: Micros::from_millis(20),
        install: InstallRule::ReceiverExact,
    };

    /// What is installed for a round trip, in ticks.
    fn margin(&self, round_trip: u32) -> u32 {
        let ticks = |span| u32::try_from(self.tick_rate.ticks(span)).unwrap_or(u32::MAX);
        let bounded = self.delta_max.map_or(round_trip, |delta_max| {
            round_trip.min(ticks(delta_max).saturating_sub(round_trip).max(round_trip / 4))
        });
        bounded.max(ticks(self.margin_min))
    }
}

/// A silence of the talker between what was played, and what is to be played next. Wide ticks of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where the sound before it ended.
    pub start: u64,
    /// Where the next sound begins.
    pub next: u64,
}

/// A PROBE that was answered.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    phase: u32,
    time: u32,
    offset: u32,
    arrived: Time,
    is_installed: bool,
}

/// A clock that waits for a silence.
#[derive(Clone, Copy, Debug)]
struct Pending {
    offset: u32,
    round_trip: u32,
}

#[derive(Debug)]
struct Answer {
    message: Message,
    asked: Time,
}

/// What became of the phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounts {
    /// PROBE was answered.
    pub answered: u64,
    /// INSTALL was acknowledged.
    pub acknowledged: u64,
    /// The clock went forward.
    pub forward: u64,
    /// The clock went back.
    pub back: u64,
    /// The clock went back although there was no silence, because everything came too late.
    pub forced: u64,
}

/// R of one direction.
#[derive(Debug)]
pub struct Listener {
    config: ListenerConfig,
    /// CR is the computer's time plus this.
    offset: Option<u32>,
    is_set: bool,
    wide: WidenTimestamp,
    last_phase: Option<u32>,
    candidate: Option<Candidate>,
    pending: Option<Pending>,
    /// The round trip of the clock that is set, or of the longer one that is partly set.
    round_trip: u32,
    answer: Option<Answer>,
    exchange: Option<Handshake>,
    counts: ListenerCounts,
}

impl Listener {
    /// Has no clock yet.
    #[must_use]
    pub fn new(config: ListenerConfig) -> Self {
        Self {
            config,
            offset: None,
            is_set: false,
            wide: WidenTimestamp::new(),
            last_phase: None,
            candidate: None,
            pending: None,
            round_trip: 0,
            answer: None,
            exchange: None,
            counts: ListenerCounts::default(),
        }
    }

    /// Takes PROBE or INSTALL.
    ///
    /// # Errors
    /// [`SealError::Replayed`]: of a phase that is over. [`SealError::KeyPart`]: the key material does not fit, or there
    /// was no such PROBE. Nothing has changed then.
    pub fn handle_message(
        &mut self,
        message: &Message,
        seal: &mut dyn Seal,
        now: Time,
    ) -> Result<(), SealError> {
        match message.step {
            Step::Probe { time } => self.handle_probe(message, time, seal, now),
            Step::Install { round_trip } => self.handle_install(message, round_trip, seal, now),
            Step::Response { .. } | Step::Ack { .. } => {
                Err(SealError::KeyPart("an answer to nothing that was asked"))
            }
        }
    }

    /// Whether an answer waits.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.answer.is_some()
    }

    /// The answer that is to be sent right now: how long it was held counts up to the present.
    pub fn poll_message(&mut self, now: Time) -> Option<Message> {
        let Answer { mut message, asked } = self.answer.take()?;
        if let Step::Response { held, .. } = &mut message.step {
            *held = u16::try_from(self.config.tick_rate.ticks(now.since(asked))).unwrap_or(u16::MAX);
        }
        Some(message)
    }

    /// What the last phase has shown, for a policy; once for each INSTALL.
    pub fn poll_exchange(&mut self) -> Option<Handshake> {
        self.exchange.take()
    }

    /// CR, unwrapped; nothing before the first PROBE.
    pub fn clock(&mut self, now: Time) -> Option<u64> {
        let ticks = wrap(self.config.tick_rate.at(now)).wrapping_add(self.offset?);
        Some(self.wide.widen(u64::from(ticks)))
    }

    /// CR as it is.
    pub(super) fn look(&self, now: Time) -> Option<u32> {
        self.offset.map(|offset| wrap(self.config.tick_rate.at(now)).wrapping_add(offset))
    }

    /// A timestamp of the talker's, unwrapped near the clock.
    #[must_use]
    pub fn widen(&self, timestamp: u32) -> u64 {
        self.wide.estimate(u64::from(timestamp))
    }

    /// Takes the clock from a packet of sound, if there is none. For a policy, which does without BoAT's clock.
    pub fn begin(&mut self, timestamp: u32, now: Time) {
        if self.offset.is_none() {
            self.offset = Some(timestamp.wrapping_sub(wrap(self.config.tick_rate.at(now))));
            self.clock(now);
        }
    }

    /// Sets the clock that waits, as far as the silence allows. Gives where sound must begin that may still be played, if
    /// the clock went back: what was made before that has had its turn.
    pub fn settle(&mut self, gap: Option<Gap>, now: Time) -> Option<u64> {
        let (gap, pending) = (gap?, self.pending?);
        let clock = self.clock(now)?;
        if clock < gap.start {
            return None;
        }
        let change = difference(pending.offset, self.offset?);
        if change <= 0 {
            self.set(pending);
            return Some(gap.start);
        }
        let room = gap.next.saturating_sub(clock);
        if change.unsigned_abs() <= room {
            self.set(pending);
        } else if room > 0 {
            self.offset = self.offset.map(|offset| offset.wrapping_add(wrap(room)));
            self.counts.forward += 1;
        }
        None
    }

    /// Sets a clock that waits to go back at once, because nothing comes in time any more. Says whether there was one.
    pub fn force_back(&mut self) -> bool {
        let Some((pending, offset)) = self.pending.zip(self.offset) else { return false };
        let is_back = difference(pending.offset, offset) < 0;
        if is_back {
            self.set(pending);
            self.counts.forced += 1;
        }
        is_back
    }

    /// How far ahead of the clock a timestamp may be, without the packet's own length: `Delta` at most, which the listener
    /// knows only by its bounds.
    #[must_use]
    pub fn reach(&self) -> u64 {
        let longest = self.pending.map_or(self.round_trip, |pending| pending.round_trip.max(self.round_trip));
        u64::from(longest) + u64::from(self.config.margin(longest))
    }

    /// The round trip by the talker's clock, of the clock that is set.
    #[must_use]
    pub fn round_trip(&self) -> Option<Micros> {
        self.is_set.then(|| self.config.tick_rate.span(u64::from(self.round_trip)))
    }

    /// The least and the greatest that `Delta` can be, in ticks.
    #[must_use]
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let margin = u64::from(self.config.margin(self.round_trip));
        self.is_set.then(|| (margin, u64::from(self.round_trip) + margin))
    }

    /// Whether a clock waits for a silence.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// What became of the phases.
    #[must_use]
    pub fn counts(&self) -> ListenerCounts {
        self.counts
    }

    fn handle_probe(
        &mut self,
        message: &Message,
        time: u32,
        seal: &mut dyn Seal,
        now: Time,
    ) -> Result<(), SealError> {
        if self.last_phase.is_some_and(|last| message.phase <= last) {
            return Err(SealError::Replayed);
        }
        let key = seal.response(message.phase, &message.key)?;
        let phase = message.phase;
        self.last_phase = Some(phase);
        let offset = time.wrapping_sub(wrap(self.config.tick_rate.at(now)));
        self.candidate = Some(Candidate { phase, time, offset, arrived: now, is_installed: false });
        if !self.is_set {
            self.offset = Some(offset);
            self.clock(now);
        }
        self.counts.answered += 1;
        let step = Step::Response { time, held: 0 };
        self.answer = Some(Answer { message: Message { phase, step, key }, asked: now });
        Ok(())
    }

    fn handle_install(
        &mut self,
        message: &Message,
        round_trip: u32,
        seal: &mut dyn Seal,
        now: Time,
    ) -> Result<(), SealError> {
        let candidate = self.candidate.as_mut().filter(|it| it.phase == message.phase && !it.is_installed);
        let Some(candidate) = candidate else {
            return Err(SealError::KeyPart("INSTALL of a phase that was not answered last"));
        };
        let key = seal.ack(message.phase, &message.key)?;
        candidate.is_installed = true;
        let candidate = *candidate;
        self.counts.acknowledged += 1;
        let step = Step::Ack { round_trip };
        self.answer = Some(Answer { message: Message { phase: candidate.phase, step, key }, asked: now });
        self.exchange = Some(Handshake {
            media: self.media(candidate.time),
            arrived: candidate.arrived,
            round_trip: self.config.tick_rate.span(u64::from(round_trip)),
        });
        let offset = candidate.offset.wrapping_sub(self.config.margin(round_trip));
        let pending = Pending { offset, round_trip };
        let change = self.offset.map_or(0, |live| difference(offset, live));
        let is_at_once = self.config.install != InstallRule::ReceiverExact && change > 0;
        if is_at_once || !self.is_set {
            self.set(pending);
        } else {
            self.pending = Some(pending);
        }
        Ok(())
    }

    /// A timestamp in µs, as the playout buffer has it.
    fn media(&self, timestamp: u32) -> u64 {
        let ticks = u128::from(self.widen(timestamp));
        let micros = ticks * 1_000_000 / u128::from(self.config.tick_rate.per_second());
        u64::try_from(micros).unwrap_or(u64::MAX)
    }

    fn set(&mut self, pending: Pending) {
        let before = self.offset.filter(|_| self.is_set);
        let change = before.map_or(0, |live| difference(pending.offset, live));
        self.counts.forward += u64::from(change > 0);
        self.counts.back += u64::from(change < 0);
        self.offset = Some(pending.offset);
        self.round_trip = pending.round_trip;
        self.is_set = true;
        self.pending = None;
    }
}

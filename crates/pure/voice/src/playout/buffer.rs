use super::policy::{Arrival, BASE_SPAN, Policy, WindowMinimum};
use super::{Config, Counts, Fate, Incoming, Output, Sound};
use crate::srtp::{IndexState, Window};
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

struct Held {
    arrival: Arrival,
    timestamp: u64,
    payload_type: u8,
    is_noise: bool,
    payload: Vec<u8>,
}

/// Takes out the jitter of one stream.
pub struct Playout {
    config: Config,
    policy: Box<dyn Policy>,
    held: BTreeMap<u64, Held>,
    /// Numbers of packets that are not sound.
    others: BTreeSet<u64>,
    seen: Window,
    base: WindowMinimum,
    /// The packet given out last: its sequence number and the media time at its end.
    last: Option<(u64, u64)>,
    /// The highest arrival, to see where a talkspurt begins.
    highest: Option<Arrival>,
    after_noise: bool,
    /// Within a talkspurt: the media time that is next.
    position: Option<u64>,
    /// The talkspurt that waits: its first packet, and when it is played.
    planned: Option<(u64, i64)>,
    concealed: Micros,
    noise: Option<Vec<u8>>,
    quiet_run: u32,
    /// How many packets in a row were late, and since when.
    late_run: Option<(u32, Time)>,
    /// The first sequence number of this source.
    base_sequence: Option<u64>,
    counts: Counts,
    added: Option<Micros>,
}

/// A key press takes some tens of packets.
const OTHERS_MAX: usize = 256;
/// Packets held at most, whatever their timestamps say.
const HELD_MAX: usize = 512;
/// So many packets in a row that are all too late, over such a time, mean that the sender's clock has jumped.
const LATE_RUN: u32 = 10;
/// See [`LATE_RUN`]. A burst of stale packets, as after a change of the way, is shorter.
const LATE_SPAN: Micros = Micros::from_millis(500);
/// So many quiet frames make a pause in which the delay may change.
const QUIET_RUN: u32 = 3;

impl Playout {
    /// An empty buffer.
    #[must_use]
    pub fn new(config: Config, policy: Box<dyn Policy>) -> Self {
        Self {
            config,
            policy,
            held: BTreeMap::new(),
            others: BTreeSet::new(),
            seen: Window::new(),
            base: WindowMinimum::new(BASE_SPAN),
            last: None,
            highest: None,
            after_noise: false,
            position: None,
            planned: None,
            concealed: Micros(0),
            noise: None,
            quiet_run: 0,
            late_run: None,
            base_sequence: None,
            counts: Counts::default(),
            added: None,
        }
    }

    /// Takes a packet.
    pub fn insert(&mut self, packet: &Incoming<'_>) -> Fate {
        self.counts.received += 1;
        if self.seen.state(packet.sequence) == IndexState::Used {
            self.counts.duplicates += 1;
            return Fate::Duplicate;
        }
        let media = self.config.media(packet.timestamp);
        let duration = self.config.duration(packet.payload.len());
        let mut arrival = Arrival {
            sequence: packet.sequence,
            media,
            arrived: packet.arrived,
            starts_talkspurt: false,
            duration,
        };
        arrival.starts_talkspurt = !packet.is_noise && self.starts_talkspurt(&arrival, packet.marker);
        let is_known = self.seen.highest().is_some_and(|highest| packet.sequence < highest);
        self.counts.reordered += u64::from(is_known);
        if self.seen.state(packet.sequence) == IndexState::Fresh {
            self.seen.accept(packet.sequence);
        }
        self.base.add(arrival.delay(), packet.arrived);
        self.policy.arrived(&arrival);
        if !is_known {
            self.highest = Some(arrival);
            self.after_noise = packet.is_noise;
        }
        self.drop_what_waits_too_long();
        if self.is_late(&arrival) {
            let (run, since) = self.late_run.unwrap_or((0, packet.arrived));
            self.late_run = Some((run + 1, since));
            if run + 1 < LATE_RUN || packet.arrived.since(since) < LATE_SPAN {
                self.count_late(&arrival);
                return Fate::Late;
            }
            self.restart_source();
        }
        self.late_run = None;
        let held = Held {
            arrival,
            timestamp: packet.timestamp,
            payload_type: packet.payload_type,
            is_noise: packet.is_noise,
            payload: packet.payload.to_vec(),
        };
        self.held.insert(packet.sequence, held);
        self.bound();
        Fate::Kept
    }

    /// Notes a packet of the same source that is not sound, so that its number does not count as lost.
    pub fn note_other(&mut self, sequence: u64) {
        if self.seen.state(sequence) == IndexState::Fresh {
            self.seen.accept(sequence);
            self.others.insert(sequence);
            if self.others.len() > OTHERS_MAX {
                self.others.pop_first();
            }
        }
    }

    /// The next sound. Call it whenever what it gave last is used up.
    pub fn poll(&mut self, now: Time) -> Output {
        self.adjust_in_quiet(now);
        let Some(position) = self.position else { return self.wait(now) };
        let Some((_, first)) = self.held.first_key_value() else { return self.missing(position, None) };
        if first.arrival.media < position + self.config.packet.0 / 2 {
            return self.play(now);
        }
        if first.arrival.starts_talkspurt || first.is_noise || self.gap_is_pause(&first.arrival) {
            self.position = None;
            return self.wait(now);
        }
        let next =
            (first.arrival.media < position + 3 * self.config.packet.0 / 2).then(|| first.payload.clone());
        self.missing(position, next)
    }

    /// Says whether what was played last is speech, for senders that also send their pauses: in quiet the delay may be
    /// changed by leaving out a packet, or waiting for one.
    pub fn hear(&mut self, is_speech: bool) {
        self.quiet_run = if is_speech { 0 } else { self.quiet_run.saturating_add(1) };
    }

    /// Another source, or a jump of the source's clock: what waits is dropped, and everything is learnt anew.
    pub fn restart(&mut self) {
        self.counts.overflow += self.held.len() as u64;
        self.counts.restarts += 1;
        self.held.clear();
        self.others.clear();
        self.base.clear();
        self.policy.restart();
        (self.last, self.highest, self.position, self.planned) = (None, None, None, None);
        (self.noise, self.after_noise, self.late_run, self.base_sequence) = (None, false, None, None);
    }

    /// Another source: sequence numbers begin anew as well.
    pub fn restart_source(&mut self) {
        self.restart();
        self.seen = Window::new();
    }

    /// Another codec, clock or packet length. What waits is played as what it is.
    pub fn set_config(&mut self, config: Config) {
        if config.clock_rate != self.config.clock_rate {
            self.restart();
        }
        self.config = config;
    }

    /// The sums so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the buffer added to the delay of the packet that was played last.
    #[must_use]
    pub fn added(&self) -> Option<Micros> {
        self.added
    }

    /// Packets that wait.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// What decides about the delay.
    pub fn policy(&mut self) -> &mut dyn Policy {
        self.policy.as_mut()
    }

    /// A talkspurt begins with a mark, after comfort noise, or where more time than packets has passed.
    fn starts_talkspurt(&self, arrival: &Arrival, marker: bool) -> bool {
        let Some(before) = self.highest else { return true };
        if arrival.sequence < before.sequence {
            return marker;
        }
        let packets = arrival.sequence - before.sequence;
        let spoken = packets.saturating_mul(before.duration.0.max(1));
        let passed = arrival.media.saturating_sub(before.media);
        marker
            || (self.after_noise && packets == 1)
            || passed > spoken.saturating_add(self.config.packet.0 / 2)
    }

    /// Whether there is silence between what was played last and this packet, although its mark was lost.
    fn gap_is_pause(&self, arrival: &Arrival) -> bool {
        let Some((sequence, end)) = self.last else { return true };
        let missing = arrival.sequence.saturating_sub(sequence + 1);
        let passed = arrival.media.saturating_sub(end);
        passed > missing.saturating_mul(self.config.packet.0) + self.config.packet.0 / 2
    }

    fn is_late(&self, arrival: &Arrival) -> bool {
        let is_behind =
            self.last.is_some_and(|(sequence, end)| arrival.sequence <= sequence || arrival.media < end);
        let is_over =
            self.position.is_some_and(|position| arrival.media + self.config.packet.0 / 2 < position);
        is_behind || is_over
    }

    fn count_late(&mut self, arrival: &Arrival) {
        self.counts.late += 1;
        match self.last {
            // Its turn is over, and it was not given up for lost yet.
            Some((sequence, end)) if arrival.sequence > sequence => self.pass(arrival.sequence, end),
            Some(_) if self.base_sequence.is_some_and(|base| arrival.sequence >= base) => {
                self.counts.lost = self.counts.lost.saturating_sub(1);
            }
            _ => {}
        }
    }

    /// Drops the oldest until what is held spans no more than it may.
    fn bound(&mut self) {
        let span_max = self.config.delay_max.0 + self.config.packet.0;
        while let (Some((_, oldest)), Some((_, newest))) =
            (self.held.first_key_value(), self.held.last_key_value())
        {
            let (oldest, newest) = (oldest.arrival.media, newest.arrival.media);
            let next = self.position.unwrap_or(oldest);
            if newest.saturating_sub(next) <= span_max && self.held.len() <= HELD_MAX {
                return;
            }
            // What is missing before the oldest is not waited for.
            if let Some(position) = self.position.as_mut().filter(|position| **position < oldest) {
                *position = oldest;
                continue;
            }
            self.drop_oldest();
        }
    }

    /// Throws away what waits, if it is more than the policy wants.
    fn drop_what_waits_too_long(&mut self) {
        let Some(most) = self.policy.waiting_max() else { return };
        if self.held.values().map(|held| held.arrival.duration.0).sum::<u64>() > most.0 {
            while !self.held.is_empty() {
                self.drop_oldest();
            }
        }
    }

    /// Leaves out what could only be played with more delay than there may be, if something newer is here.
    fn drop_overdue(&mut self, now: Time) {
        let Some(base) = self.base.get() else { return };
        let oldest_media = (now.0 - now.0.min(self.config.packet.0 / 2)).cast_signed()
            - base.saturating_add(self.config.delay_max.0.cast_signed());
        while self.held.len() > 1
            && let Some((_, first)) = self.held.first_key_value()
            && first.arrival.media.cast_signed() < oldest_media
        {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((sequence, dropped)) = self.held.pop_first() else { return };
        self.counts.overflow += 1;
        let end = dropped.arrival.media + dropped.arrival.duration.0;
        self.pass(sequence, end);
        // Within a talkspurt the sound goes on right after what was dropped.
        if let Some(position) = &mut self.position {
            *position = (*position).max(end);
        }
    }

    /// Notes that everything up to this packet had its turn.
    fn pass(&mut self, sequence: u64, end: u64) {
        if let Some((before, _)) = self.last
            && before + 1 < sequence
        {
            let others = self.others.range(before + 1..sequence).count() as u64;
            self.counts.lost += (sequence - before - 1).saturating_sub(others);
        }
        self.others = self.others.split_off(&sequence);
        self.base_sequence.get_or_insert(sequence);
        let end = self.last.map_or(end, |(_, before)| end.max(before));
        self.last = Some((sequence, end));
    }

    /// Nobody speaks: waits until the next talkspurt is due.
    fn wait(&mut self, now: Time) -> Output {
        self.drop_overdue(now);
        let Some((&sequence, first)) = self.held.first_key_value() else { return self.noise() };
        let arrival = first.arrival;
        let play_after = match self.planned {
            // A faster packet may have come since, and bounds it anew.
            Some((planned, play_after)) if planned == sequence => self.bounded(play_after, &arrival),
            _ => {
                let wish = self.policy.play_after(&arrival);
                let play_after = self.bounded(wish, &arrival);
                self.planned = Some((sequence, play_after));
                play_after
            }
        };
        let due = arrival.media.cast_signed().saturating_add(play_after);
        if due > (now.0 + self.config.packet.0 / 2).cast_signed() {
            return self.noise();
        }
        self.planned = None;
        self.counts.talkspurts += u64::from(!first.is_noise);
        self.play(now)
    }

    /// A policy's wish, brought between the fastest packet's delay and the longest that may be added to it.
    fn bounded(&self, play_after: i64, first: &Arrival) -> i64 {
        let base = self.base.get().unwrap_or_else(|| first.delay());
        play_after.clamp(base, base.saturating_add(self.config.delay_max.0.cast_signed()))
    }

    fn play(&mut self, now: Time) -> Output {
        let Some((sequence, held)) = self.held.pop_first() else { return self.noise() };
        let starts_talkspurt = self.position.is_none();
        let Held { arrival, timestamp, payload_type, is_noise, payload } = held;
        self.pass(sequence, arrival.media + arrival.duration.0);
        self.counts.played += 1;
        self.concealed = Micros(0);
        self.added = Some(now.since(arrival.arrived));
        if is_noise {
            self.position = None;
            self.noise = Some(payload);
            return self.noise();
        }
        self.position = Some(arrival.media + arrival.duration.0);
        let sound = Sound::Play { sequence, timestamp, payload_type, payload, starts_talkspurt };
        Output { sound, duration: arrival.duration }
    }

    fn missing(&mut self, position: u64, next: Option<Vec<u8>>) -> Output {
        let duration = self.config.packet;
        if self.held.is_empty() && self.concealed >= self.config.conceal_max {
            self.position = None;
            return self.noise();
        }
        self.counts.concealed += 1;
        self.concealed = Micros(self.concealed.0 + duration.0);
        self.position = Some(position + duration.0);
        Output { sound: Sound::Conceal { next }, duration }
    }

    fn noise(&self) -> Output {
        let sound = match &self.noise {
            Some(payload) => Sound::ComfortNoise { payload: payload.clone() },
            None => Sound::Silence,
        };
        Output { sound, duration: self.config.packet }
    }

    /// In a pause that the sender does not mark: leaves out a packet, or ends the talkspurt, if the delay is off by a
    /// packet or more.
    fn adjust_in_quiet(&mut self, now: Time) {
        let (Some(position), Some((_, first))) = (self.position, self.held.first_key_value()) else { return };
        if self.quiet_run < QUIET_RUN {
            return;
        }
        let arrival = first.arrival;
        let wish = self.policy.play_after(&arrival);
        let wanted = self.bounded(wish, &arrival);
        let got = now.0.cast_signed().wrapping_sub(position.cast_signed());
        if got - wanted >= arrival.duration.0.cast_signed() && self.held.len() > 1 {
            if let Some((sequence, held)) = self.held.pop_first() {
                self.counts.skipped += 1;
                let end = held.arrival.media + held.arrival.duration.0;
                self.pass(sequence, end);
                self.position = Some(end);
            }
            self.quiet_run = 0;
        } else if wanted - got >= arrival.duration.0.cast_signed() {
            // The packet waits, as the first of a talkspurt does.
            self.position = None;
            self.planned = Some((arrival.sequence, wanted));
            self.quiet_run = 0;
        }
    }
}

impl fmt::Debug for Playout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Playout({}, {} held, {:?})", self.policy.name(), self.held.len(), self.counts)
    }
}

//! What waits to be played, by the rules of Table 3.

use super::clock::TickRate;
use super::listener::Gap;
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Counts, Output, Sound};
use guestright_voice::srtp::{IndexState, Window};
use std::collections::BTreeMap;

/// Packets that are held at most, whatever the round trip.
pub const HELD_MAX: usize = 512;

/// What a buffer must know of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// Ticks of the talker's clock in a second.
    pub tick_rate: TickRate,
    /// Sound in a packet.
    pub packet: Micros,
    /// So much missing sound in a row is concealed.
    pub conceal_max: Micros,
}

/// A packet for the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number among packets of sound.
    pub number: u64,
    /// The unwrapped timestamp.
    pub timestamp: u64,
    /// See [`Audio::starts_talkspurt`](super::Audio::starts_talkspurt).
    pub starts_talkspurt: bool,
    /// See [`Audio::silence`](super::Audio::silence).
    pub silence: u16,
    /// The codec's bytes.
    pub payload: &'a [u8],
    /// When it came.
    pub arrived: Time,
}

/// What became of a packet (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `tr <= ts <= tr + Delta`: it waits for its turn.
    Stored,
    /// `ts < tr`: it came too late to be played, or something that was made later was played.
    Late,
    /// `ts > tr + Delta`: too far in advance.
    Early,
    /// It came before.
    Duplicate,
}

#[derive(Debug)]
struct Held {
    number: u64,
    starts_talkspurt: bool,
    silence: u16,
    payload: Vec<u8>,
    arrived: Time,
}

/// Holds packets until the listener's clock shows their timestamps.
#[derive(Debug)]
pub struct Buffer {
    config: BufferConfig,
    /// A packet, in ticks; at least 1.
    packet: u64,
    held: BTreeMap<u64, Held>,
    seen: Window,
    /// What was made before this is never played: its turn, or that of something later, is over.
    floor: u64,
    /// Within a talkspurt: the timestamp that is next.
    position: Option<u64>,
    concealed: Micros,
    /// The highest number whose turn is over, and the first one.
    passed: Option<u64>,
    base_number: Option<u64>,
    late_run: u32,
    early: u64,
    counts: Counts,
    added: Option<Micros>,
}

impl Buffer {
    /// An empty buffer.
    #[must_use]
    pub fn new(config: BufferConfig) -> Self {
        Self {
            packet: config.tick_rate.ticks(config.packet).max(1),
            config,
            held: BTreeMap::new(),
            seen: Window::new(),
            floor: 0,
            position: None,
            concealed: Micros(0),
            passed: None,
            base_number: None,
            late_run: 0,
            early: 0,
            counts: Counts::default(),
            added: None,
        }
    }

    /// A packet's place is asked for when the clock shows `clock`; it may be `reach` ahead of it, and its own length.
    pub fn insert(&mut self, packet: &Packet<'_>, clock: u64, reach: u64) -> Verdict {
        self.counts.received += 1;
        if self.seen.state(packet.number) == IndexState::Used || self.held.contains_key(&packet.timestamp) {
            self.counts.duplicates += 1;
            return Verdict::Duplicate;
        }
        self.counts.reordered += u64::from(self.seen.highest().is_some_and(|it| packet.number < it));
        if self.seen.state(packet.number) == IndexState::Fresh {
            self.seen.accept(packet.number);
        }
        if packet.timestamp < clock.max(self.floor) {
            self.late_run = self.late_run.saturating_add(1);
            self.count_late(packet.number);
            return Verdict::Late;
        }
        let reach = reach.saturating_add(self.packet);
        let capacity = usize::try_from(reach.div_ceil(self.packet) + 1).unwrap_or(HELD_MAX).min(HELD_MAX);
        if packet.timestamp > clock.saturating_add(reach) || self.held.len() >= capacity {
            self.early += 1;
            self.counts.overflow += 1;
            return Verdict::Early;
        }
        self.late_run = 0;
        let held = Held {
            number: packet.number,
            starts_talkspurt: packet.starts_talkspurt,
            silence: packet.silence,
            payload: packet.payload.to_vec(),
            arrived: packet.arrived,
        };
        self.held.insert(packet.timestamp, held);
        Verdict::Stored
    }

    /// The next sound, when the clock shows `clock`. Call it whenever what it gave last is used up.
    pub fn poll(&mut self, clock: u64, now: Time) -> Output {
        self.drop_overdue(clock);
        let Some(position) = self.position else { return self.wait(clock, now) };
        let half = self.packet / 2;
        let is_ahead = position > clock.saturating_add(half);
        let Some((&timestamp, first)) = self.held.first_key_value() else {
            return self.missing(position, is_ahead);
        };
        if timestamp < position.saturating_add(half) {
            if !is_ahead {
                return self.play(timestamp, now);
            }
            // Where the sound card is faster than the clock, it waits for the clock now and then.
            if !first.starts_talkspurt && self.concealed < self.config.conceal_max {
                return self.conceal(None);
            }
            // The clock went back, after silence was taken for something missing.
            self.position = None;
            return self.wait(clock, now);
        }
        if first.starts_talkspurt && self.silence_start(timestamp, first.silence) <= position + half {
            self.position = None;
            return self.wait(clock, now);
        }
        self.missing(position, is_ahead)
    }

    /// The silence before the packet that is next, if a talkspurt begins with it.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        let (&timestamp, first) = self.held.first_key_value()?;
        first.starts_talkspurt.then(|| self.gap_before(timestamp, first.silence))
    }

    /// The silence before a packet that has just come and begins a talkspurt, if nothing before it waits.
    #[must_use]
    pub fn gap_of(&self, packet: &Packet<'_>) -> Option<Gap> {
        let is_next = self.held.first_key_value().is_none_or(|(first, _)| packet.timestamp < *first);
        let is_next = is_next && packet.starts_talkspurt && packet.timestamp >= self.floor;
        is_next.then(|| self.gap_before(packet.timestamp, packet.silence))
    }

    /// What was made before this has had its turn.
    pub fn raise_floor(&mut self, timestamp: u64) {
        self.floor = self.floor.max(timestamp);
    }

    /// Packets in a row that came too late.
    #[must_use]
    pub fn late_run(&self) -> u32 {
        self.late_run
    }

    /// Packets that came too far in advance; [`Counts::overflow`] counts them too.
    #[must_use]
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Packets that wait.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The sums so far. [`Counts::skipped`]: in time, but the clock jumped over it, or the sound card is slower than the
    /// clock.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the buffer added to the delay of the packet that was played last.
    #[must_use]
    pub fn added(&self) -> Option<Micros> {
        self.added
    }

    fn gap_before(&self, timestamp: u64, silence: u16) -> Gap {
        Gap { start: self.silence_start(timestamp, silence), next: timestamp }
    }

    fn silence_start(&self, timestamp: u64, silence: u16) -> u64 {
        let silence = u64::from(silence).saturating_mul(self.packet);
        timestamp.saturating_sub(silence).max(self.floor.min(timestamp))
    }

    /// Leaves out what the clock has left behind, if something newer is here.
    fn drop_overdue(&mut self, clock: u64) {
        let slack = self.packet + self.packet / 2;
        while self.held.len() > 1
            && let Some(first) = self.held.first_entry()
            && first.key().saturating_add(slack) < clock
        {
            let (timestamp, dropped) = first.remove_entry();
            self.counts.skipped += 1;
            self.pass(dropped.number);
            self.raise_floor(timestamp + self.packet);
            if let Some(position) = &mut self.position {
                *position = (*position).max(timestamp + self.packet);
            }
        }
    }

    /// Nobody speaks: waits until the clock shows the next timestamp.
    fn wait(&mut self, clock: u64, now: Time) -> Output {
        let Some((&timestamp, first)) = self.held.first_key_value() else {
            return Output { sound: Sound::Silence, duration: self.config.packet };
        };
        if timestamp <= clock {
            self.counts.talkspurts += u64::from(first.starts_talkspurt);
            return self.play(timestamp, now);
        }
        let until = self.config.tick_rate.span(timestamp - clock);
        Output { sound: Sound::Silence, duration: until.min(self.config.packet) }
    }

    fn play(&mut self, timestamp: u64, now: Time) -> Output {
        let starts_talkspurt = self.position.is_none();
        let end = timestamp.saturating_add(self.packet);
        let Some(held) = self.held.remove(&timestamp) else {
            return Output { sound: Sound::Silence, duration: self.config.packet };
        };
        self.pass(held.number);
        self.raise_floor(end);
        // What overlaps with it can only come from a talker whose packets are shorter than it says.
        while let Some(first) = self.held.first_entry()
            && *first.key() < end
        {
            let number = first.remove().number;
            self.count_late(number);
        }
        self.counts.played += 1;
        self.concealed = Micros(0);
        self.added = Some(now.since(held.arrived));
        self.position = Some(end);
        let sound = Sound::Play {
            sequence: held.number,
            timestamp,
            payload_type: 0,
            payload: held.payload,
            starts_talkspurt,
        };
        Output { sound, duration: self.config.packet }
    }

    fn missing(&mut self, position: u64, is_ahead: bool) -> Output {
        if self.concealed >= self.config.conceal_max {
            self.position = None;
            return Output { sound: Sound::Silence, duration: self.config.packet };
        }
        if !is_ahead {
            self.position = Some(position + self.packet);
        }
        let next = self.held.first_key_value();
        let is_next = |timestamp: u64| timestamp < position + 3 * self.packet / 2;
        let next = next.filter(|(timestamp, _)| is_next(**timestamp)).map(|(_, held)| held.payload.clone());
        self.conceal(next)
    }

    fn conceal(&mut self, next: Option<Vec<u8>>) -> Output {
        self.counts.concealed += 1;
        self.concealed = Micros(self.concealed.0.saturating_add(self.config.packet.0));
        Output { sound: Sound::Conceal { next }, duration: self.config.packet }
    }

    fn count_late(&mut self, number: u64) {
        self.counts.late += 1;
        match self.passed {
            Some(passed) if number > passed => self.pass(number),
            None => self.pass(number),
            Some(_) if self.base_number.is_some_and(|base| number >= base) => {
                self.counts.lost = self.counts.lost.saturating_sub(1);
            }
            Some(_) => {}
        }
    }

    /// Notes that everything up to this packet had its turn.
    fn pass(&mut self, number: u64) {
        if let Some(passed) = self.passed {
            self.counts.lost += number.saturating_sub(passed + 1);
        }
        self.base_number.get_or_insert(number);
        self.passed = self.passed.max(Some(number));
    }
}

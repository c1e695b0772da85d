//! One direction of a call, a millisecond at a time: a talker, a path, a listener with its buffer.

use crate::testing::NullSeal;
use crate::{
    Audio, Buffer, BufferConfig, Content, InstallRule, Listener, ListenerConfig, Message, Packet, Seal as _,
    Talker, TalkerConfig, TickRate, Verdict,
};
use guestright_units::{Micros, Time};
use guestright_voice::playout::Sound;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

pub(super) const PACKET_MS: u64 = 40;

pub(super) const fn millis(value: u64) -> Time {
    Time(value * 1_000)
}

/// How the path and the talker behave at a time.
pub(super) struct Path {
    /// What a datagram takes from S to R, and back, in ms; nothing if it is lost.
    pub(super) takes: Box<dyn FnMut(bool, u64) -> Option<u64>>,
    /// How many copies come.
    pub(super) copies: Box<dyn FnMut() -> usize>,
    /// Whether somebody speaks.
    pub(super) speaks: Box<dyn FnMut(u64) -> bool>,
}

impl Path {
    pub(super) fn steady(there: u64, back: u64, speaks: impl FnMut(u64) -> bool + 'static) -> Self {
        Self {
            takes: Box::new(move |is_there, _| Some(if is_there { there } else { back })),
            copies: Box::new(|| 1),
            speaks: Box::new(speaks),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Numbers of packets that were sent.
    pub(super) sent: Vec<u64>,
    /// Numbers that were stored, in the order in which they came.
    pub(super) stored: Vec<u64>,
    /// Number and timestamp of what was played, and when, in ms.
    pub(super) played: Vec<(u64, u64, u64)>,
    /// Each time the clock was as installed: `Delta`, the least and the most, in ticks.
    pub(super) deltas: Vec<(i64, i64, i64)>,
    pub(super) concealed: u64,
}

pub(super) struct Direction {
    pub(super) talker: Talker,
    pub(super) listener: Listener,
    pub(super) buffer: Buffer,
    pub(super) trace: Trace,
    tick_rate: TickRate,
    seals: [NullSeal; 2],
    rng: ChaCha8Rng,
    flights: BTreeMap<(u64, u64), (bool, Vec<u8>)>,
    count: u64,
    number: u64,
    /// The last timestamp's end, while somebody speaks.
    end: Option<u32>,
    was_speaking: bool,
    sound_at: u64,
}

impl Direction {
    pub(super) fn new(talker: TalkerConfig, rule: InstallRule, start: u64) -> Self {
        let tick_rate = talker.tick_rate;
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let listener = ListenerConfig { tick_rate, delta_max: None, margin_min: Micros(0), install: rule };
        Self {
            talker: Talker::new(TalkerConfig { install: rule, ..talker }, Micros(0), &mut rng, millis(start)),
            listener: Listener::new(listener),
            buffer: Buffer::new(BufferConfig {
                tick_rate,
                packet: Micros::from_millis(PACKET_MS),
                conceal_max: Micros::from_millis(120),
            }),
            trace: Trace::default(),
            tick_rate,
            seals: [NullSeal::new(true), NullSeal::new(false)],
            rng,
            flights: BTreeMap::new(),
            count: 0,
            number: 0,
            end: None,
            was_speaking: false,
            sound_at: start,
        }
    }

    /// Runs from one ms to another.
    pub(super) fn run(&mut self, from: u64, to: u64, path: &mut Path) {
        for ms in from..to {
            let now = millis(ms);
            self.deliver(ms, path);
            self.talker.handle_timeout(&mut self.seals[0], now);
            if ms.is_multiple_of(PACKET_MS) {
                self.speak(ms, path);
            }
            if let Some(message) = self.talker.poll_message(&mut self.seals[0], &mut self.rng, now) {
                self.send(true, &Content::Message(message), ms, path);
            }
            if let Some(message) = self.listener.poll_message(now) {
                self.send(false, &Content::Message(message), ms, path);
            }
            if ms >= self.sound_at {
                self.listen(ms);
            }
            self.note_delta(now);
        }
    }

    fn speak(&mut self, ms: u64, path: &mut Path) {
        let speaks = (path.speaks)(ms) && self.talker.is_synchronised();
        self.talker.note_speech(speaks, millis(ms));
        let ticks = u32::try_from(self.tick_rate.ticks(Micros::from_millis(PACKET_MS))).unwrap();
        if speaks {
            let clock = self.talker.clock(millis(ms));
            let timestamp = if self.was_speaking { self.end.unwrap() } else { clock };
            let silence = self.end.map_or(u16::MAX, |end| {
                u16::try_from(timestamp.wrapping_sub(end) / ticks).unwrap_or(u16::MAX)
            });
            self.end = Some(timestamp.wrapping_add(ticks));
            self.number += 1;
            self.trace.sent.push(self.number);
            let payload = self.number.to_be_bytes().to_vec();
            let audio = Audio { timestamp, starts_talkspurt: !self.was_speaking, silence, payload };
            self.send(true, &Content::Audio(audio), ms, path);
        }
        self.was_speaking = speaks;
    }

    fn send(&mut self, is_there: bool, content: &Content, ms: u64, path: &mut Path) {
        let mut bytes = Vec::new();
        self.seals[usize::from(!is_there)].seal(content, 0, millis(ms), &mut bytes).unwrap();
        for _ in 0..(path.copies)() {
            let Some(takes) = (path.takes)(is_there, ms) else { continue };
            self.count += 1;
            self.flights.insert((ms + takes, self.count), (is_there, bytes.clone()));
        }
    }

    fn deliver(&mut self, ms: u64, path: &mut Path) {
        while let Some(entry) = self.flights.first_entry()
            && entry.key().0 <= ms
        {
            let (is_there, bytes) = entry.remove();
            let now = millis(ms);
            // A copy is refused here, as the window of a seal refuses it.
            let Ok(opened) = self.seals[usize::from(is_there)].open(&bytes, now) else { continue };
            match opened.content {
                Content::Audio(audio) => self.hear(&audio, ms),
                Content::Message(message) => self.handle_message(is_there, &message, now),
                Content::Report(_) | Content::Cover | Content::Bye => {}
            }
            if let Some(message) = self.listener.poll_message(now) {
                self.send(false, &Content::Message(message), ms, path);
            }
        }
    }

    /// A message that comes too late for its phase is refused, and that is all.
    fn handle_message(&mut self, is_there: bool, message: &Message, now: Time) {
        let [here, there] = &mut self.seals;
        let _ = match is_there {
            true => self.listener.handle_message(message, there, now),
            false => self.talker.handle_message(message, here, now),
        };
    }

    fn hear(&mut self, audio: &Audio, ms: u64) {
        let now = millis(ms);
        let number = u64::from_be_bytes(*audio.payload.first_chunk().unwrap());
        self.listener.clock(now);
        let packet = Packet {
            number,
            timestamp: self.listener.widen(audio.timestamp),
            starts_talkspurt: audio.starts_talkspurt,
            silence: audio.silence,
            payload: &audio.payload,
            arrived: now,
        };
        if let Some(floor) = self.listener.settle(self.buffer.gap_of(&packet), now) {
            self.buffer.raise_floor(floor);
        }
        let clock = self.listener.clock(now).unwrap();
        if self.buffer.insert(&packet, clock, self.listener.reach()) == Verdict::Stored {
            self.trace.stored.push(number);
        }
    }

    fn listen(&mut self, ms: u64) {
        let now = millis(ms);
        if let Some(floor) = self.listener.settle(self.buffer.gap(), now) {
            self.buffer.raise_floor(floor);
        }
        let clock = self.listener.clock(now).unwrap_or(0);
        let output = self.buffer.poll(clock, now);
        match output.sound {
            Sound::Play { sequence, timestamp, .. } => self.trace.played.push((sequence, timestamp, ms)),
            Sound::Conceal { .. } => self.trace.concealed += 1,
            Sound::Silence | Sound::ComfortNoise { .. } => {}
        }
        // Sound cards take whole milliseconds here.
        self.sound_at = ms + output.duration.0.div_ceil(1_000);
    }

    fn note_delta(&mut self, now: Time) {
        let (Some(clock), Some((least, most))) = (self.listener.look(now), self.listener.bounds()) else {
            return;
        };
        if !self.listener.is_pending() {
            let delta = i64::from(self.talker.clock(now).wrapping_sub(clock).cast_signed());
            self.trace.deltas.push((delta, least.cast_signed(), most.cast_signed()));
        }
    }

    /// What was in time, and was never played.
    pub(super) fn skipped(&self) -> Vec<u64> {
        let played = |number: &u64| self.trace.played.iter().any(|(it, _, _)| it == number);
        self.trace.stored.iter().copied().filter(|number| !played(number)).collect()
    }
}

/// A path drawn by lot: loss, delays that overtake, copies, and jumps of the delay every second or so.
pub(super) fn random_path(seed: u64) -> Path {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let loss = rng.random_range(0..400);
    let (copies, jitter) = (rng.random_range(0..300), rng.random_range(0..80));
    let base = [rng.random_range(1..150), rng.random_range(1..150)];
    let (jump, every) = (rng.random_range(0..300), rng.random_range(1..6_u64));
    let (talk, pause) = (rng.random_range(1..60_u64), rng.random_range(1..40_u64));
    let mut copier = ChaCha8Rng::seed_from_u64(seed + 1);
    let mut speaker = ChaCha8Rng::seed_from_u64(seed + 2);
    let (mut left, mut is_talking) = (0, false);
    Path {
        takes: Box::new(move |is_there, ms| {
            if rng.random_ratio(loss, 1_000) {
                return None;
            }
            let up = if (ms / 1_000).is_multiple_of(every) { jump } else { 0 };
            Some(base[usize::from(!is_there)] + rng.random_range(0..=jitter) + up)
        }),
        copies: Box::new(move || if copier.random_ratio(copies, 1_000) { 2 } else { 1 }),
        speaks: Box::new(move |_| {
            if left == 0 {
                is_talking = !is_talking;
                left = speaker.random_range(1..=if is_talking { talk } else { pause });
            }
            left -= 1;
            is_talking
        }),
    }
}

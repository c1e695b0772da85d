//! Two tools and what is between them, in virtual time.

use guestright_units::{Micros, Time};
use guestright_voice::playout::Sound;
use guestright_voice::session::Frame;
use guestright_voice::tool::{Event, Tool, ToolError};
use proptest::prelude::prop;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// What is between them. Chances are in 1/1000.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) delay: Micros,
    /// On top of the delay, evenly spread; above the time between two packets it reorders them.
    pub(crate) jitter: Micros,
    pub(crate) loss: u32,
    pub(crate) doubled: u32,
    pub(crate) seed: u64,
}

impl Link {
    pub(crate) const PERFECT: Self =
        Self { delay: Micros::from_millis(30), jitter: Micros(0), loss: 0, doubled: 0, seed: 1 };
}

/// What came out at one end.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// The number of each packet that was played, as the other end's frames carry it.
    pub(crate) played: Vec<u32>,
    /// What was played that is nobody's frame.
    pub(crate) noise: usize,
    pub(crate) events: Vec<Event>,
    pub(crate) errors: Vec<ToolError>,
    /// Every datagram that this end sent.
    pub(crate) sent: Vec<Vec<u8>>,
}

/// How tools are fed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feed {
    /// Bytes of each frame.
    pub(crate) bytes: usize,
    /// Sound in it.
    pub(crate) duration: Micros,
    /// How many frames each end has.
    pub(crate) frames: u32,
}

pub(crate) fn address(end: usize) -> SocketAddr {
    ([192, 0, 2, u8::try_from(end).unwrap() + 1], 2074).into()
}

/// What somebody does to each datagram on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damage {
    /// The byte that is changed, and behind which the datagram then ends too.
    pub(crate) index: prop::sample::Index,
    pub(crate) with: u8,
}

impl Damage {
    /// The caller sends a frame, and the callee gets it changed, and then cut off as well.
    pub(crate) fn pass(self, [caller, callee]: [&mut dyn Tool; 2], frame: &Frame<'_>, now: Time) {
        caller.handle_frame(frame, now);
        while let Some(sent) = caller.poll_transmit() {
            let mut changed = sent.bytes.clone();
            let index = self.index.index(changed.len());
            changed[index] ^= self.with;
            let _ = callee.handle_datagram(&changed, address(0), now);
            let _ = callee.handle_datagram(&changed[..index], address(0), now);
        }
    }
}

/// A frame with its number in it, no two of which are equal or alike.
pub(crate) fn frame(number: u32, bytes: usize) -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from(number));
    let mut frame: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
    frame[..4].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Runs a call from time 0, the caller first, until some seconds after the last frame.
pub(crate) fn call(tools: &mut [Box<dyn Tool>; 2], link: Link, feed: Feed) -> [End; 2] {
    let mut run = Run {
        link,
        feed,
        rng: ChaCha20Rng::seed_from_u64(link.seed),
        ends: Default::default(),
        way: BTreeMap::new(),
        fed: [0; 2],
        poll_at: [Time(0); 2],
    };
    let end = Time((u64::from(feed.frames) + 1) * feed.duration.0 + 5_000_000);
    let mut now = Time(0);
    while now <= end {
        run.step(tools, now);
        let timeouts = tools.iter().filter_map(|tool| tool.poll_timeout()).filter(|at| *at > now);
        let feeding = run.fed.iter().map(|fed| Time(u64::from(*fed + 1) * feed.duration.0));
        let arriving = run.way.keys().next().map(|(at, _)| *at);
        let next = timeouts.chain(feeding).chain(arriving).chain(run.poll_at).filter(|at| *at > now).min();
        now = next.unwrap_or(Time(now.0 + 1_000)).max(Time(now.0 + 1));
    }
    run.ends
}

struct Run {
    link: Link,
    feed: Feed,
    rng: ChaCha20Rng,
    ends: [End; 2],
    /// By when it comes, and in the order in which it was sent: to which end, and what.
    way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    fed: [u32; 2],
    poll_at: [Time; 2],
}

impl Run {
    fn step(&mut self, tools: &mut [Box<dyn Tool>; 2], now: Time) {
        while let Some(entry) = self.way.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to, bytes) = entry.remove();
            if let Err(error) = tools[to].handle_datagram(&bytes, address(1 - to), now) {
                self.ends[to].errors.push(error);
            }
        }
        for (index, tool) in tools.iter_mut().enumerate() {
            if tool.poll_timeout().is_some_and(|at| at <= now) {
                tool.handle_timeout(now);
            }
            let due = Time(u64::from(self.fed[index] + 1) * self.feed.duration.0);
            if self.fed[index] < self.feed.frames && due <= now {
                let payload = frame(self.fed[index], self.feed.bytes);
                let duration = self.feed.duration;
                tool.handle_frame(
                    &Frame { payload: &payload, duration, is_speech: true, noise_level: 60 },
                    now,
                );
                self.fed[index] += 1;
            } else if due <= now {
                self.fed[index] += 1;
            }
            if self.poll_at[index] <= now {
                let output = tool.poll_sound(now);
                assert!(output.duration.0 > 0, "time has to go on");
                self.poll_at[index] = now + output.duration;
                if let Sound::Play { payload, .. } = output.sound {
                    self.ends[index].hear(&payload, self.feed);
                }
            }
            self.ends[index].events.extend(std::iter::from_fn(|| tool.poll_event()));
            while tool.poll_received().is_some() {}
            let sent: VecDeque<_> = std::iter::from_fn(|| tool.poll_transmit()).collect();
            for transmit in sent {
                assert_eq!(transmit.to, address(1 - index));
                self.ends[index].sent.push(transmit.bytes.clone());
                self.carry(1 - index, &transmit.bytes, now);
            }
        }
    }

    fn carry(&mut self, to: usize, bytes: &[u8], now: Time) {
        let copies = if self.rng.random_range(0..1_000) < self.link.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let jitter = self.rng.random_range(0..=self.link.jitter.0);
            if self.rng.random_range(0..1_000) >= self.link.loss {
                let at = now + Micros(self.link.delay.0 + jitter);
                let order = self.ends.iter().map(|end| end.sent.len() as u64).sum::<u64>() * 2;
                let order = order + u64::from(self.way.contains_key(&(at, order)));
                self.way.insert((at, order), (to, bytes.to_vec()));
            }
        }
    }
}

impl End {
    fn hear(&mut self, payload: &[u8], feed: Feed) {
        let number = payload.first_chunk().map(|number| u32::from_be_bytes(*number));
        match number.filter(|number| *number < feed.frames && frame(*number, feed.bytes) == payload) {
            Some(number) => self.played.push(number),
            None => self.noise += 1,
        }
    }

    /// Whether what was played rose, so that nothing was played twice.
    pub(crate) fn is_in_order(&self) -> bool {
        self.played.is_sorted_by(|one, next| one < next)
    }

    pub(crate) fn is_once_each(&self) -> bool {
        let mut played = self.played.clone();
        played.sort_unstable();
        played.windows(2).all(|pair| pair[0] != pair[1])
    }
}

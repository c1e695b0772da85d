//! The links of hosts.

use super::config::PathConfig;
use super::line::LineClock;
use crate::error::SettingsError;
use crate::errors::{ErrorModel, Errors};
use crate::link_number::LinkNumber;
use guestright_engine::{Instant, Nanos, Streams};
use rand::RngExt;
use std::collections::VecDeque;

/// The four directions of a flow's links of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the source to its router.
    Out,
    /// From R3 to the sink.
    In,
    /// From the sink to R3.
    Back,
    /// From the source's router to the source.
    Home,
}

/// What becomes of a packet on a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    Arrives(Instant),
    /// Lost on the wire.
    Lost,
    /// The queue was full.
    Dropped,
}

/// Which losses a flow's sink has.
pub(super) enum Loss<'a> {
    /// Those of the path.
    Path,
    Own(&'a [Errors; 2]),
    Never,
}

/// The links of hosts, by flow.
#[derive(Debug)]
pub(super) struct Lanes {
    clock: LineClock,
    delay: Nanos,
    spread: Nanos,
    errors: [Errors; 2],
    streams: Streams,
    lanes: Vec<Lane>,
    /// There and back; behind a flow's place if it loses nothing.
    models: Vec<Option<Box<ErrorModel>>>,
    /// With a limit: when the packets of each queue leave, four for each flow.
    queues: Option<(usize, Vec<VecDeque<u64>>)>,
}

/// All that is needed of a flow for each packet, in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Lane {
    /// When each transmitter is free.
    free_at: [u64; 4],
    /// Propagation, in nanoseconds.
    delay: u64,
    /// Packets until the next one that is lost, or until that has to be found out: there and back.
    until_loss: [u32; 2],
    /// Whether that packet is lost.
    loses: [bool; 2],
}

/// So far is looked ahead for the next loss at most.
const AHEAD_MAX: u32 = 1_000;

/// The links of the sinks of the paths' calls have numbers from here on, two for each.
const NUMBER_FIRST: u32 = 16;

impl Lanes {
    pub(super) fn new(config: &PathConfig, streams: &Streams) -> Result<Self, SettingsError> {
        let access = config.access;
        let number = NUMBER_FIRST;
        if access.rate == 0 {
            return Err(SettingsError::Rate { link: number });
        }
        if let Some(0) = access.buffer {
            return Err(SettingsError::Queue { link: number, got: 0, max: u32::MAX.into(), unit: "packets" });
        }
        let errors = [config.errors.clone(), config.reverse_errors.clone()];
        for errors in &errors {
            errors.model(LinkNumber(number), streams.stream("link errors", number.into()))?;
        }
        Ok(Self {
            clock: LineClock::new(access.rate),
            delay: access.delay,
            spread: access.spread,
            errors,
            streams: streams.clone(),
            lanes: Vec::new(),
            models: Vec::new(),
            queues: access.buffer.map(|max| (max as usize, Vec::new())),
        })
    }

    /// Whether packets are never dropped because too many wait.
    pub(super) const fn are_endless(&self) -> bool {
        self.queues.is_none()
    }

    pub(super) fn add(&mut self, loss: Loss<'_>) -> Result<(), SettingsError> {
        let flow = u32::try_from(self.lanes.len()).expect("flows are few");
        let errors = match loss {
            Loss::Path => &self.errors,
            Loss::Own(errors) => errors,
            Loss::Never => &[Errors::None, Errors::None],
        };
        let more = match self.spread.0 {
            0 => 0,
            spread => self.streams.stream("access delay", flow.into()).random_range(0..=spread),
        };
        let delay = self.delay.0 + more;
        let mut lane = Lane { free_at: [0; 4], delay, until_loss: [u32::MAX; 2], loses: [false; 2] };
        for (way, errors) in errors.iter().enumerate() {
            let number = NUMBER_FIRST + 2 * flow + u32::from(way == 1);
            let mut model = None;
            if !errors.is_none() {
                let stream = self.streams.stream("link errors", number.into());
                let made = model.insert(Box::new(errors.model(LinkNumber(number), stream)?));
                (lane.until_loss[way], lane.loses[way]) = look_ahead(made);
            }
            self.models.push(model);
        }
        self.lanes.push(lane);
        if let Some((max, queues)) = &mut self.queues {
            queues.extend((0..4).map(|_| VecDeque::with_capacity(*max)));
        }
        Ok(())
    }

    /// A packet comes at `now`.
    #[inline]
    pub(super) fn enqueue(&mut self, flow: u32, way: Way, now: Instant, bytes: u16) -> Passage {
        let index = way as usize;
        if let Some((max, queues)) = &mut self.queues {
            let queue = &mut queues[flow as usize * 4 + index];
            while queue.front().is_some_and(|leaves| *leaves <= now.0) {
                queue.pop_front();
            }
            if queue.len() >= *max {
                return Passage::Dropped;
            }
        }
        let lane = &mut self.lanes[flow as usize];
        let leaves = lane.free_at[index].max(now.0) + self.clock.of(u32::from(bytes));
        lane.free_at[index] = leaves;
        let arrives = Instant(leaves + lane.delay);
        if let Some((_, queues)) = &mut self.queues {
            queues[flow as usize * 4 + index].push_back(leaves);
        }
        match way {
            Way::Out | Way::Home => {}
            Way::In | Way::Back => {
                let back = usize::from(way == Way::Back);
                let until = &mut lane.until_loss[back];
                if *until > 0 {
                    *until -= 1;
                } else if self.loses(flow, back) {
                    return Passage::Lost;
                }
            }
        }
        Passage::Arrives(arrives)
    }

    /// The packet for which this was found out before; then it is found out for those that follow.
    #[cold]
    fn loses(&mut self, flow: u32, back: usize) -> bool {
        let lane = &mut self.lanes[flow as usize];
        let loses = lane.loses[back];
        (lane.until_loss[back], lane.loses[back]) = match &mut self.models[flow as usize * 2 + back] {
            Some(model) => look_ahead(model),
            None => (u32::MAX, false),
        };
        loses
    }
}

/// How many packets are not lost before the next of which it is known, and whether that one is. The chance is drawn for
/// each packet in its turn, so this gives what asking packet by packet would.
fn look_ahead(model: &mut ErrorModel) -> (u32, bool) {
    let kept = (0..AHEAD_MAX).find(|_| model.loses());
    kept.map_or((AHEAD_MAX - 1, false), |kept| (kept, true))
}

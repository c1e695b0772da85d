//! Flows that may turn out to be streams.

use super::numbers::Numbers;
use super::{Flow, StreamPacket};
use std::collections::BTreeMap;

/// Headers that must fit before a flow is believed to be RTP.
const FIT_MIN: usize = 5;
/// The same, where SDP announced RTP at that address.
const FIT_MIN_AGREED: usize = 2;
/// Headers after which a flow that does not fit is begun anew.
const PACKETS_MAX: usize = 16;
/// A larger step of the sequence does not fit: a stream with so many losses in a row is begun anew behind them.
const STEP_MAX: u16 = 50;
/// A larger step of the timestamp does not fit: 30 s at 90 kHz, more than any silence between neighbours.
const TICKS_MAX: u32 = 2_700_000;

/// The headers of one flow so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    packets: Vec<StreamPacket>,
    /// Those that fit the one before.
    fit: usize,
    /// Those of them that followed it directly, or as far behind it in time as in number.
    next: usize,
    /// Ticks from one number to the next.
    pace: Option<u32>,
}

pub(super) enum Verdict {
    /// Nothing is known yet.
    Open,
    /// It is RTP.
    Stream(Candidate),
}

/// Candidates in two generations: when the younger is full, the older is forgotten and the younger becomes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    younger: BTreeMap<Flow, Candidate>,
    older: BTreeMap<Flow, Candidate>,
}

impl Candidate {
    pub(super) fn packets(&self) -> &[StreamPacket] {
        &self.packets
    }

    fn push(&mut self, packet: StreamPacket) {
        if let Some(last) = self.packets.last() {
            let step = packet.sequence.wrapping_sub(last.sequence);
            let ticks = packet.timestamp.wrapping_sub(last.timestamp);
            match step {
                // Captured twice: says nothing either way.
                0 if ticks == 0 => {}
                1..=STEP_MAX if ticks <= TICKS_MAX => {
                    let pace = (ticks > 0 && ticks % u32::from(step) == 0).then(|| ticks / u32::from(step));
                    self.fit += 1;
                    self.next += usize::from(step == 1 || (pace.is_some() && pace == self.pace));
                    self.pace = pace;
                }
                // One that was overtaken.
                _ if step > u16::MAX - STEP_MAX => {}
                _ => *self = Self::default(),
            }
        }
        self.packets.push(packet);
    }

    fn is_stream(&self, agreed: bool) -> bool {
        let least = if agreed { FIT_MIN_AGREED } else { FIT_MIN };
        self.fit >= least && self.next * 2 >= self.fit && self.next + 1 >= least.min(4)
    }
}

impl Candidates {
    pub(super) fn judge(&mut self, flow: Flow, packet: StreamPacket, agreed: bool, max: usize) -> Verdict {
        let known = self.younger.remove(&flow).or_else(|| self.older.remove(&flow));
        let mut candidate = known.unwrap_or_default();
        if candidate.packets.len() >= PACKETS_MAX {
            candidate = Candidate::default();
        }
        candidate.push(packet);
        if candidate.is_stream(agreed) {
            return Verdict::Stream(candidate);
        }
        if self.younger.len() >= (max / 2).max(1) {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(flow, candidate);
        Verdict::Open
    }

    /// The flows of the same source between the same sockets that wait, on other interfaces.
    pub(super) fn with_sockets_of(&self, flow: Flow) -> Vec<Flow> {
        let ends = (Flow { interface: 0, ..flow }, Flow { interface: u32::MAX, ..flow });
        let within = |candidates: &BTreeMap<Flow, Candidate>| -> Vec<Flow> {
            candidates.range(ends.0..=ends.1).map(|(flow, _)| *flow).filter(|other| *other != flow).collect()
        };
        [within(&self.younger), within(&self.older)].concat()
    }

    /// Takes out a flow if it has at least `least` packets and all of them are lacking among `numbers`.
    pub(super) fn take_lacking(&mut self, flow: Flow, numbers: &Numbers, least: usize) -> Option<Candidate> {
        let lacking = |candidate: &Candidate| {
            let packets = candidate.packets();
            packets.len() >= least && packets.iter().all(|packet| numbers.lack(packet.sequence))
        };
        let candidates = if self.younger.contains_key(&flow) { &mut self.younger } else { &mut self.older };
        candidates.get(&flow).is_some_and(lacking).then(|| candidates.remove(&flow))?
    }
}

#[cfg(test)]
impl Candidates {
    pub(super) fn len(&self) -> usize {
        self.younger.len() + self.older.len()
    }
}

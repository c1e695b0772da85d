//! What became of every packet of every flow, as the emulated network saw it: the simulator's account of a flow, filled
//! from packets of kernels.

use super::packet::{Headers, What};
use super::request::{Carrier, Request};
use crate::voice::LABEL_BYTES;
use guestright_engine::Instant;
use guestright_transport::path::FlowReport;

/// The most packets of a flow whose arrival is remembered.
const NUMBERS_MAX: usize = 1 << 20;
/// All flows, calls first.
#[derive(Debug)]
pub(super) struct Ledger {
    flows: Vec<Account>,
    calls: usize,
    is_quic: bool,
    packet_bytes: usize,
    crossings: Vec<Crossing>,
}

#[derive(Debug, Default)]
struct Account {
    report: FlowReport,
    /// Where a stream's first byte is.
    first_sequence: Option<u32>,
    /// The end of what was sent of it, in bytes.
    sent_until: u64,
    /// Which numbers were sent, and which have arrived, if packets have numbers.
    arrived: Vec<bool>,
}

/// A packet with speech has crossed the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crossing {
    pub(super) flow: u32,
    pub(super) sent: Instant,
    pub(super) at: Instant,
    /// Whether it brought what had not come before; of what is encrypted, it is taken to.
    pub(super) fresh: bool,
}

/// What the ledger wants to know of a packet when its way ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    flow: u32,
    sent: Instant,
    is_back: bool,
    has_payload: bool,
    /// Numbers of speech in it, from the first up to behind the last.
    numbers: (u64, u64),
}

/// Where a packet's way ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// A host's link had no room.
    Access,
    /// R1, or on the way back R2.
    First,
    /// R2, or on the way back R3.
    Second,
    /// An error on the sink's link.
    Error,
}

impl Ledger {
    pub(super) fn new(request: &Request) -> Self {
        let (calls, bulk) = (request.setup.flows(), request.setup.bulk());
        let flows = (0..calls + bulk).map(|_| Account::default()).collect();
        Self {
            flows,
            calls: calls as usize,
            is_quic: matches!(request.carrier, Carrier::Quic(_)),
            packet_bytes: request.packet_bytes as usize,
            crossings: Vec::new(),
        }
    }

    /// Everything so far was before the run: only where streams are is kept.
    pub(super) fn clear(&mut self) {
        self.crossings.clear();
        for flow in &mut self.flows {
            flow.report = FlowReport::default();
        }
    }

    /// A packet comes in.
    pub(super) fn sent(
        &mut self,
        flow: u32,
        is_back: bool,
        headers: &Headers,
        packet: &[u8],
        at: Instant,
    ) -> Entry {
        let is_call = (flow as usize) < self.calls;
        let payload = packet.get(headers.payload()).unwrap_or_default();
        let account = &mut self.flows[flow as usize];
        let mut entry = Entry { flow, sent: at, is_back, has_payload: false, numbers: (0, 0) };
        if is_back {
            account.report.back_sent += 1;
            return entry;
        }
        let again = match headers.what {
            What::Tcp { sequence, opens: true } => {
                account.first_sequence = Some(sequence.wrapping_add(1));
                false
            }
            What::Tcp { sequence, opens: false } => {
                let (from, until) = account.span(sequence, payload.len());
                entry.has_payload = until > from;
                if is_call {
                    let record = self.packet_bytes.max(1) as u64;
                    entry.numbers = (from / record, until.div_ceil(record));
                }
                let again = from < account.sent_until;
                account.sent_until = account.sent_until.max(until);
                again
            }
            // A packet of QUIC with speech is at least as long as the speech.
            What::Udp if self.is_quic => {
                entry.has_payload = payload.len() >= self.packet_bytes;
                false
            }
            What::Udp => {
                let number = payload.first_chunk().map_or(0, |number| u64::from(u32::from_be_bytes(*number)));
                entry.has_payload = payload.len() >= LABEL_BYTES;
                entry.numbers = (number, number + 1);
                false
            }
        };
        if entry.has_payload {
            account.report.sent += 1;
            account.report.again += u64::from(again);
        } else {
            account.report.empty_sent += 1;
        }
        entry
    }

    /// A packet is at the other side.
    pub(super) fn arrived(&mut self, entry: Entry, at: Instant) {
        let account = &mut self.flows[entry.flow as usize];
        if entry.is_back {
            account.report.back_arrived += 1;
        } else if entry.has_payload {
            account.report.arrived += 1;
            let fresh = account.is_fresh(entry.numbers);
            if (entry.flow as usize) < self.calls {
                self.crossings.push(Crossing { flow: entry.flow, sent: entry.sent, at, fresh });
            }
        }
    }

    /// A packet is gone.
    pub(super) fn lost(&mut self, entry: Entry, loss: Loss) {
        let report = &mut self.flows[entry.flow as usize].report;
        if entry.is_back {
            report.back_lost += 1;
        } else if entry.has_payload {
            *match loss {
                Loss::Access => &mut report.dropped_access,
                Loss::First => &mut report.dropped_first,
                Loss::Second => &mut report.dropped_second,
                Loss::Error => &mut report.errors,
            } += 1;
        }
    }

    /// The accounts of the flows, and what crossed, in the order of time.
    pub(super) fn finish(self) -> (Vec<FlowReport>, Vec<Crossing>) {
        (self.flows.into_iter().map(|flow| flow.report).collect(), self.crossings)
    }
}

impl Account {
    /// Which bytes of the stream these are. Numbers wrap; no stream of a run is longer than 2 GB ahead of what was sent.
    fn span(&self, sequence: u32, length: usize) -> (u64, u64) {
        let Some(first) = self.first_sequence else { return (0, 0) };
        let expected = first.wrapping_add(u32::try_from(self.sent_until & 0xffff_ffff).unwrap_or_default());
        let ahead = i64::from(sequence.wrapping_sub(expected).cast_signed());
        let from = self.sent_until.saturating_add_signed(ahead);
        (from, from + length as u64)
    }

    /// Whether one of these numbers had not arrived before; now they have.
    fn is_fresh(&mut self, (from, until): (u64, u64)) -> bool {
        if from == until {
            return true;
        }
        let mut fresh = false;
        for number in from..until {
            let Some(index) = usize::try_from(number).ok().filter(|index| *index < NUMBERS_MAX) else {
                return true;
            };
            if self.arrived.len() <= index {
                self.arrived.resize(index + 1, false);
            }
            fresh |= !std::mem::replace(&mut self.arrived[index], true);
        }
        fresh
    }
}

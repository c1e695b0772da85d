//! What arrives, call by call.

use std::collections::VecDeque;

use guestright_quality::{Analyser, AnalyserConfig, Packet, Row};
use guestright_units::{Micros, Time};

use crate::offset::ClockMeter;
use crate::packet::VoicePacket;
use crate::plan::{PACKET, PACKET_TICKS, Plan};
use crate::report::CallFigures;

/// One second of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    /// The call, from 0.
    pub call: u16,
    pub row: Row,
}

/// Analyses the calls of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    plan: Plan,
    session: u32,
    calls: Vec<Call>,
    rows: VecDeque<CallRow>,
    foreign: u64,
}

#[derive(Clone, Debug)]
struct Call {
    analyser: Analyser,
    /// The highest number that came, and how many numbers there are up to it.
    reached: u32,
}

impl Receiver {
    pub(crate) fn new(plan: Plan, session: u32) -> Self {
        let config = AnalyserConfig {
            packet: Some(PACKET),
            first_sequence: Some(0),
            ..AnalyserConfig::new(plan.traffic.codec())
        };
        let calls = (0..plan.calls).map(|_| Call { analyser: Analyser::new(config), reached: 0 }).collect();
        Self { plan, session, calls, rows: VecDeque::new(), foreign: 0 }
    }

    /// Takes a datagram; says whether it was one of ours.
    pub(crate) fn handle_datagram(&mut self, bytes: &[u8], arrival: Time, clock: &mut ClockMeter) -> bool {
        let taken = self.accept(bytes, arrival, clock).is_some();
        self.foreign += u64::from(!taken);
        taken
    }

    fn accept(&mut self, bytes: &[u8], arrival: Time, clock: &mut ClockMeter) -> Option<()> {
        let voice = VoicePacket::parse(bytes, self.plan.traffic)?;
        if voice.session != self.session || voice.number >= self.plan.packets {
            return None;
        }
        let call = self.calls.get_mut(usize::from(voice.call))?;
        let [_, _, high, low] = voice.number.to_be_bytes();
        clock.handle_arrival(voice.sent, arrival);
        call.reached = call.reached.max(voice.number + 1);
        call.analyser.handle_packet(&Packet {
            sequence: u16::from_be_bytes([high, low]),
            timestamp: voice.number.wrapping_mul(PACKET_TICKS),
            marker: voice.number == 0,
            payload_bytes: self.plan.traffic.payload_bytes(),
            arrival,
            delay_ms: clock.delay_ms(voice.sent, arrival),
        });
        Self::fetch(&mut self.rows, voice.call, &mut call.analyser);
        Some(())
    }

    /// Time has passed: seconds may be over.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        for (number, call) in (0..).zip(&mut self.calls) {
            call.analyser.handle_timeout(now);
            Self::fetch(&mut self.rows, number, &mut call.analyser);
        }
    }

    /// Nothing more comes. `sent`: how many packets the other end says that each call sent; `start`: when it began.
    pub(crate) fn finish(&mut self, sent: Option<u32>, start: Time) -> Vec<CallFigures> {
        let mut figures = Vec::with_capacity(self.calls.len());
        for (number, call) in (0..).zip(&mut self.calls) {
            if let Some(sent) = sent {
                let missing = sent.min(self.plan.packets).saturating_sub(call.reached);
                call.analyser.handle_missing(u64::from(missing), start);
            }
            call.analyser.finish();
            Self::fetch(&mut self.rows, number, &mut call.analyser);
            figures.push(CallFigures::of(number, sent.is_some(), &call.analyser.summary()));
        }
        figures
    }

    pub(crate) fn poll_row(&mut self) -> Option<CallRow> {
        self.rows.pop_front()
    }

    /// Datagrams that were not ours.
    pub(crate) fn foreign(&self) -> u64 {
        self.foreign
    }

    /// The seconds that are over. Nobody may be fetching them, so that the oldest go when there are too many.
    fn fetch(rows: &mut VecDeque<CallRow>, call: u16, analyser: &mut Analyser) {
        while let Some(row) = analyser.poll_row() {
            if rows.len() == ROWS_MAX {
                rows.pop_front();
            }
            rows.push_back(CallRow { call, row });
        }
    }
}

/// Rows that wait: a minute of the most calls that there can be.
const ROWS_MAX: usize = 120_000;

/// How often rows are looked for while packets do not arrive.
pub(crate) const ROW_CHECK: Micros = Micros::from_millis(250);

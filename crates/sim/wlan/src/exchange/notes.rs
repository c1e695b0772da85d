//! What a tap hears of it: frames with their times, and how long the exchange goes on behind them.

use crate::config::StationId;
use crate::output::{OnAir, OnAirKind};
use crate::station::{Frame, To};
use crate::wlan::Wlan;
use guestright_airtime::RTS_BYTES;
use guestright_airtime::Rate;
use guestright_engine::{Instant, Nanos};

impl Wlan {
    /// How long an exchange goes on behind the CTS that a station sends to itself.
    pub(super) fn rest_behind_rts(&self, from: StationId, frame: &Frame) -> u64 {
        let sender = &self.senders[from.index()];
        let answer = if matches!(frame.to, To::One(_)) { self.times.sifs + sender.response_time } else { 0 };
        let rts =
            if frame.needs_rts { sender.rts_time + sender.response_time + 2 * self.times.sifs } else { 0 };
        rts + frame.duration + answer
    }

    pub(super) fn note_rts(
        &mut self,
        number: u16,
        from: StationId,
        frame: &Frame,
        at: u64,
        is_damaged: bool,
    ) {
        let To::One(to) = frame.to else { return };
        let (duration, rate, answer, sifs) = {
            let sender = &self.senders[from.index()];
            (sender.rts_time, sender.response_rate, sender.response_time, self.times.sifs)
        };
        let rest = sifs + answer + sifs + frame.duration + sifs + answer;
        self.note(number, at, duration, from, to, OnAirKind::Rts, RTS_BYTES, rate, rest, is_damaged);
    }

    #[inline]
    pub(super) fn note_data(
        &mut self,
        number: u16,
        from: StationId,
        frame: &Frame,
        at: u64,
        retry: bool,
        is_damaged: bool,
    ) {
        if self.air.is_none() {
            return;
        }
        let sender = &self.senders[from.index()];
        let sequence = sender.sequence;
        let (to, kind, rest) = match (frame.to, sender.msdu()) {
            (To::One(to), Some(msdu)) => {
                let kind = OnAirKind::Data {
                    msdu,
                    sequence,
                    fragment: frame.fragment,
                    more_fragments: frame.has_more,
                    retry,
                };
                (to, kind, self.times.sifs + sender.response_time)
            }
            (To::Everybody, Some(msdu)) => {
                let kind =
                    OnAirKind::Data { msdu, sequence, fragment: 0, more_fragments: false, retry: false };
                (StationId::EVERYBODY, kind, 0)
            }
            (To::Beacon, _) | (_, None) => (StationId::EVERYBODY, OnAirKind::Beacon { sequence }, 0),
        };
        self.note(number, at, frame.duration, from, to, kind, frame.bytes, frame.rate, rest, is_damaged);
    }

    #[expect(clippy::too_many_arguments, reason = "a frame's properties, one by one")]
    #[inline]
    pub(super) fn note(
        &mut self,
        number: u16,
        at: u64,
        duration: u64,
        from: StationId,
        to: StationId,
        kind: OnAirKind,
        bytes: u32,
        rate: Rate,
        rest: u64,
        is_damaged: bool,
    ) {
        let Some(air) = &mut self.air else { return };
        let channel = self.channels[usize::from(number)].number;
        let (at, duration, rest) = (Instant(at), Nanos(duration), Nanos(rest));
        air.push_back(OnAir { at, duration, channel, from, to, kind, bytes, rate, rest, is_damaged });
    }
}

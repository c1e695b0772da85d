//! Frames on the air: who receives what of them, and what follows.

use super::air::Air;
use super::config::{RateChoice, SNAP_BYTES};
use super::flow::Msdus;
use super::queue::Mpdu;
use super::{Edca, Event, Kind};
use crate::config::StationId;
use crate::output::{DropReason, Output};
use guestright_airtime::{
    ACK_BYTES, Format, Minstrel, Mode, PPDU_TIME_MAX, RTS_BYTES, Rate, block_ack_bytes, preamble_time,
    subframe_bytes,
};
use guestright_engine::{Agenda, Instant, Nanos};
use rand::Rng;

/// What a station sends SIFS behind a frame for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// With what is reserved behind it, in ns.
    Cts {
        to: u16,
        rate: Rate,
        rest: u64,
    },
    Ack {
        to: u16,
        rate: Rate,
        is_block: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Rts,
    Cts,
    Ack { is_block: bool },
    Data,
}

/// A frame on the air.
#[derive(Debug)]
pub(super) struct OnAir {
    id: u32,
    from: u16,
    to: u16,
    begin: u64,
    end: u64,
    frame: Frame,
    /// Of a control frame.
    rate: Rate,
    /// For how long the medium is reserved behind it; ns.
    rest: u64,
    /// Frames of others while it was on the air.
    others: Vec<Other>,
}

#[derive(Clone, Copy, Debug)]
struct Other {
    from: u16,
    begin: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Nothing,
    Cts,
    Ack,
}

/// An MPDU in a PSDU.
#[derive(Clone, Copy, Debug)]
struct Piece {
    number: u32,
    bytes: u32,
    /// Bytes of the PSDU in front of it.
    offset: u32,
    is_received: bool,
}

/// What a station does with the medium that it has won.
#[derive(Debug)]
pub(super) struct Exchange {
    epoch: u32,
    category: usize,
    to: u16,
    mode: Mode,
    rate: Rate,
    pieces: Vec<Piece>,
    psdu_bytes: u32,
    /// Of the data frame, and of its answer; ns.
    duration: u64,
    answer: u64,
    awaited: Awaited,
    /// Whether the TXOP is limited, and until when; ns.
    until: Option<u64>,
}

impl Exchange {
    const fn is_block(&self) -> bool {
        self.pieces.len() > 1
    }
}

impl Edca {
    /// A category has won the medium.
    pub(super) fn begin_exchange(&mut self, node: u16, category: usize, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now();
        let limit = self.nodes[usize::from(node)].categories[category].access.txop_limit.0;
        let until = (limit > 0).then_some(now.0 + limit);
        let Some(exchange) = self.compose(node, category, until, now) else { return };
        self.nodes[usize::from(node)].exchange = Some(exchange);
        self.send_exchange(node, agenda);
    }

    /// Sends the data of an exchange, or the RTS in front of it.
    fn send_exchange(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let sifs = self.times.sifs;
        let threshold = self.config.rts_threshold;
        let Some(exchange) = &mut self.nodes[usize::from(node)].exchange else { return };
        if threshold.is_none_or(|threshold| exchange.psdu_bytes <= threshold) {
            return self.send_data(node, agenda);
        }
        exchange.awaited = Awaited::Cts;
        let (to, rate, data) = (exchange.to, exchange.rate, exchange.duration + sifs + exchange.answer);
        let duration = self.config.phy.rts_time(rate).0;
        let rest = sifs + self.config.phy.ack_time(rate).0 + sifs + data;
        self.send(OnAir::new(node, to, Frame::Rts, rate, duration, rest), agenda);
    }

    fn send_data(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let sifs = self.times.sifs;
        let it = &mut self.nodes[usize::from(node)];
        let Some(exchange) = &mut it.exchange else { return };
        exchange.awaited = Awaited::Ack;
        let stats = &mut it.categories[exchange.category].stats;
        stats.ppdus += 1;
        stats.mpdus += exchange.pieces.len() as u64;
        let (to, rate, rest) = (exchange.to, exchange.rate, sifs + exchange.answer);
        let duration = exchange.duration;
        self.send(OnAir::new(node, to, Frame::Data, rate, duration, rest), agenda);
    }

    /// SIFS is over behind a CTS, or behind the last exchange of a TXOP.
    pub(super) fn go_on(&mut self, node: u16, epoch: u32, agenda: &mut impl Agenda<Event>) {
        let exchange = self.nodes[usize::from(node)].exchange.as_ref();
        let Some(awaited) = exchange.filter(|exchange| exchange.epoch == epoch).map(|it| it.awaited) else {
            return;
        };
        match awaited {
            Awaited::Cts => self.send_data(node, agenda),
            Awaited::Nothing => self.send_exchange(node, agenda),
            Awaited::Ack => {}
        }
    }

    pub(super) fn respond(&mut self, node: u16, response: Response, agenda: &mut impl Agenda<Event>) {
        let phy = &self.config.phy;
        let frame = match response {
            Response::Cts { to, rate, rest } => {
                OnAir::new(node, to, Frame::Cts, rate, phy.ack_time(rate).0, rest)
            }
            Response::Ack { to, rate, is_block } => {
                let window = self.config.aggregation.window;
                let time = if is_block { phy.block_ack_time(window, rate) } else { phy.ack_time(rate) };
                OnAir::new(node, to, Frame::Ack { is_block }, rate, time.0, 0)
            }
        };
        self.send(frame, agenda);
    }

    /// Puts a frame on the air.
    fn send(&mut self, mut frame: OnAir, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now().0;
        (frame.id, frame.begin, frame.end) = (self.next_frame, now, now + frame.end);
        self.next_frame = self.next_frame.wrapping_add(1);
        for other in &mut self.on_air {
            other.others.push(Other { from: frame.from, begin: frame.begin, end: frame.end });
            frame.others.push(Other { from: other.from, begin: other.begin, end: other.end });
        }
        if self.on_air.is_empty() {
            self.busy_since = now;
        }
        let (id, from, end) = (frame.id, frame.from, frame.end);
        self.on_air.push(frame);
        agenda.schedule(Instant(end), Event(Kind::Ended { frame: id }));
        let sender = &mut self.nodes[usize::from(from)];
        sender.is_sending = true;
        sender.locked = None;
        self.update(from, agenda);
        for number in self.listeners(from) {
            let louder = self.is_louder(id, number, now);
            let it = &mut self.nodes[usize::from(number)];
            it.sensed += 1;
            it.sensed_at = now;
            if !it.is_sending && (it.locked.is_none() || louder) {
                it.locked = Some(id);
            }
            self.update(number, agenda);
        }
    }

    fn listeners(&self, from: u16) -> impl Iterator<Item = u16> + use<> {
        let count = u16::try_from(self.nodes.len()).expect("the configuration was checked");
        let all: Vec<u16> =
            (0..count).filter(|to| *to != from && self.signals.is_sensed(from, *to)).collect();
        all.into_iter()
    }

    /// Of frames that begin in the same nanosecond a station receives the loudest.
    fn is_louder(&self, frame: u32, to: u16, now: u64) -> bool {
        let find = |id: u32| self.on_air.iter().find(|other| other.id == id);
        let locked = self.nodes[usize::from(to)].locked.and_then(find);
        let (Some(locked), Some(frame)) = (locked, find(frame)) else { return false };
        locked.begin == now && self.signals.at(frame.from, to) > self.signals.at(locked.from, to)
    }

    /// A frame ends: each who received it acts on it.
    pub(super) fn ended(&mut self, id: u32, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now().0;
        let Some(at) = self.on_air.iter().position(|frame| frame.id == id) else { return };
        let frame = self.on_air.swap_remove(at);
        if self.on_air.is_empty() {
            self.busy += Nanos(now - self.busy_since);
        }
        self.nodes[usize::from(frame.from)].is_sending = false;
        let listeners: Vec<u16> = self.listeners(frame.from).collect();
        for &number in &listeners {
            let it = &mut self.nodes[usize::from(number)];
            it.sensed -= 1;
            let is_locked = it.locked == Some(id);
            // Who sent at the same time, or received another frame, knows nothing of this one.
            if !is_locked {
                continue;
            }
            it.locked = None;
            // Unless it reads the frame. Whoever finds that an answer was none goes on at once, with this.
            it.eifs = self.times.eifs;
            let is_read = if number == frame.to {
                self.receive(&frame, agenda)
            } else {
                self.overhear(number, &frame, agenda)
            };
            if is_read {
                self.nodes[usize::from(number)].eifs = 0;
            }
        }
        if matches!(frame.frame, Frame::Rts | Frame::Data) {
            self.await_answer(frame.from, agenda);
        }
        self.update(frame.from, agenda);
        for number in listeners {
            self.update(number, agenda);
        }
    }

    fn await_answer(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let at = agenda.now() + Nanos(self.times.timeout);
        if let Some(exchange) = &self.nodes[usize::from(node)].exchange {
            agenda.schedule(at, Event(Kind::Timeout { node, epoch: exchange.epoch }));
        }
    }

    /// The one that a frame is for has received its preamble; says whether it could read the frame.
    fn receive(&mut self, frame: &OnAir, agenda: &mut impl Agenda<Event>) -> bool {
        let (node, from) = (frame.to, frame.from);
        match frame.frame {
            Frame::Data => return self.receive_data(frame, agenda),
            Frame::Rts => {
                if !self.reads_control(frame, node, RTS_BYTES) {
                    return false;
                }
                let it = &self.nodes[usize::from(node)];
                if it.reserved_until <= agenda.now().0 && it.exchange.is_none() && !it.is_sending {
                    let (rate, sifs) = (frame.rate, self.times.sifs);
                    let rest = frame.rest - sifs - self.config.phy.ack_time(rate).0;
                    self.answer(node, Response::Cts { to: from, rate, rest }, agenda);
                }
            }
            Frame::Cts => return self.receive_cts(frame, agenda),
            Frame::Ack { is_block } => {
                let bytes =
                    if is_block { block_ack_bytes(self.config.aggregation.window) } else { ACK_BYTES };
                let is_read = self.reads_control(frame, node, bytes);
                self.settle(node, is_read, agenda);
                return is_read;
            }
        }
        true
    }

    fn receive_cts(&mut self, frame: &OnAir, agenda: &mut impl Agenda<Event>) -> bool {
        let node = frame.to;
        let is_read = self.reads_control(frame, node, ACK_BYTES);
        let Some(exchange) = &mut self.nodes[usize::from(node)].exchange else { return is_read };
        if exchange.awaited != Awaited::Cts {
            return is_read;
        }
        if !is_read {
            self.fail(node, agenda);
            return false;
        }
        exchange.epoch = self.next_exchange;
        self.next_exchange = self.next_exchange.wrapping_add(1);
        let epoch = exchange.epoch;
        let at = agenda.now() + Nanos(self.times.sifs);
        agenda.schedule(at, Event(Kind::GoOn { node, epoch }));
        true
    }

    fn answer(&self, node: u16, response: Response, agenda: &mut impl Agenda<Event>) {
        let at = agenda.now() + Nanos(self.times.sifs);
        agenda.schedule(at, Event(Kind::Respond { node, response }));
    }

    /// Each MPDU arrives or not; says whether any did.
    fn receive_data(&mut self, frame: &OnAir, agenda: &mut impl Agenda<Event>) -> bool {
        let (node, from) = (frame.to, frame.from);
        let Some(mut exchange) = self.nodes[usize::from(from)].exchange.take() else { return false };
        let mode = exchange.mode;
        let data = frame.begin + preamble_time(mode).0;
        let (length, psdu) = (frame.end - data, u64::from(exchange.psdu_bytes));
        let kept = 1.0 - self.config.stations[usize::from(from)].mpdu_loss;
        let has_preamble = self.happens(self.preamble_chance(frame, node, data));
        let mut any = false;
        for piece in exchange.pieces.iter_mut().filter(|_| has_preamble) {
            let begin = data + length * u64::from(piece.offset) / psdu;
            let end = data + length * u64::from(piece.offset + piece.bytes) / psdu;
            let chance =
                self.ratio_db(frame, node, begin, end).map(|db| Air::mpdu_chance(mode, piece.bytes, db));
            piece.is_received = self.happens(chance.unwrap_or(0.0) * kept);
            any |= piece.is_received;
        }
        let (category, rate, is_block) = (exchange.category, exchange.rate, exchange.is_block());
        for piece in exchange.pieces.iter().filter(|piece| piece.is_received) {
            self.deliver(from, category, node, piece.number);
        }
        self.nodes[usize::from(from)].exchange = Some(exchange);
        if any {
            self.answer(node, Response::Ack { to: from, rate, is_block }, agenda);
        }
        any
    }

    /// The receiver has MPDU `number`: passes on what is in order now.
    fn deliver(&mut self, from: u16, category: usize, to: u16, number: u32) {
        let Some(mpdu) = self.nodes[usize::from(from)].categories[category].find(to, number) else { return };
        mpdu.is_received = true;
        let (msdus, attempts) = (mpdu.msdus.clone(), mpdu.attempts + 1);
        if self.flows.entry((from, category, to)).or_default().receive(number, msdus, attempts) {
            self.release(from, category, to);
        }
    }

    fn release(&mut self, from: u16, category: usize, to: u16) {
        let Some(flow) = self.flows.get_mut(&(from, category, to)) else { return };
        let stats = &mut self.nodes[usize::from(from)].categories[category].stats;
        while let Some((msdus, attempts)) = flow.release() {
            for (msdu, queued_at) in msdus {
                stats.delivered += 1;
                stats.delivered_bytes += u64::from(msdu.bytes);
                let (station, from) = (StationId(to), StationId(from));
                self.outputs.push_back(Output::Delivered { station, from, msdu, queued_at, attempts });
            }
        }
    }

    /// The answer to data has come, or what came instead could not be read.
    fn settle(&mut self, node: u16, is_read: bool, agenda: &mut impl Agenda<Event>) {
        let it = &mut self.nodes[usize::from(node)];
        if it.exchange.as_ref().is_none_or(|exchange| exchange.awaited != Awaited::Ack) {
            return;
        }
        if !is_read {
            return self.fail(node, agenda);
        }
        let Some(exchange) = it.exchange.take() else { return };
        self.count(node, &exchange, agenda.now());
        let Exchange { category, to, until, .. } = exchange;
        for piece in &exchange.pieces {
            if piece.is_received {
                self.nodes[usize::from(node)].categories[category].remove(to, piece.number);
            } else {
                self.count_attempt(node, category, to, piece.number);
            }
        }
        let now = agenda.now();
        let next = until.and_then(|until| self.compose_next(node, category, until, now));
        if next.is_none() {
            self.nodes[usize::from(node)].categories[category].succeed();
        } else {
            let epoch = next.as_ref().map_or(0, |next| next.epoch);
            agenda.schedule(now + Nanos(self.times.sifs), Event(Kind::GoOn { node, epoch }));
        }
        self.nodes[usize::from(node)].exchange = next;
    }

    /// The next exchange of a TXOP, if one fits.
    fn compose_next(&mut self, node: u16, category: usize, until: u64, now: Instant) -> Option<Exchange> {
        let begin = now + Nanos(self.times.sifs);
        let next = self.compose(node, category, Some(until), begin)?;
        let is_announced = self.config.rts_threshold.is_some_and(|threshold| next.psdu_bytes > threshold);
        let announced = if is_announced { self.rts_and_cts(next.rate) } else { 0 };
        let end = begin.0 + announced + next.duration + self.times.sifs + next.answer;
        (end <= until).then_some(next)
    }

    /// RTS and CTS, with the SIFS behind each; ns.
    fn rts_and_cts(&self, rate: Rate) -> u64 {
        self.config.phy.rts_time(rate).0 + self.config.phy.ack_time(rate).0 + 2 * self.times.sifs
    }

    /// No answer has begun in time.
    pub(super) fn timeout(&mut self, node: u16, epoch: u32, agenda: &mut impl Agenda<Event>) {
        let it = &self.nodes[usize::from(node)];
        if it.exchange.as_ref().is_none_or(|exchange| exchange.epoch != epoch) {
            return;
        }
        let is_for_it = |frame: &OnAir| {
            Some(frame.id) == it.locked
                && frame.to == node
                && !matches!(frame.frame, Frame::Rts | Frame::Data)
        };
        // What is being received may be the answer; its end decides.
        if !self.on_air.iter().any(is_for_it) {
            self.fail(node, agenda);
        }
    }

    /// Nothing answered an RTS or data.
    fn fail(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let Some(exchange) = self.nodes[usize::from(node)].exchange.take() else { return };
        let Exchange { category, to, .. } = exchange;
        let it = &mut self.nodes[usize::from(node)].categories[category];
        it.stats.unanswered += 1;
        it.fail();
        if exchange.awaited == Awaited::Cts {
            self.count_attempt_of_first(node, category);
        } else {
            self.count(node, &Exchange { pieces: lost(&exchange.pieces), ..exchange }, agenda.now());
            for piece in &exchange.pieces {
                self.count_attempt(node, category, to, piece.number);
            }
        }
        self.update(node, agenda);
    }

    /// What became of a PSDU, as its sender knows it.
    fn count(&mut self, node: u16, exchange: &Exchange, now: Instant) {
        let sent = exchange.pieces.len();
        let received = exchange.pieces.iter().filter(|piece| piece.is_received).count();
        self.nodes[usize::from(node)].categories[exchange.category].stats.mpdus_lost +=
            (sent - received) as u64;
        if let Some(minstrel) = self.rates.get_mut(&(node, exchange.to)) {
            let few = |count: usize| u32::try_from(count).expect("at most a window");
            minstrel.handle_sent(exchange.mode, few(sent), few(received), now.time());
        }
    }

    /// The first MPDU was not sent, or its RTS not answered.
    pub(super) fn count_attempt_of_first(&mut self, node: u16, category: usize) {
        let Some(first) = self.nodes[usize::from(node)].categories[category].mpdus.front_mut() else {
            return;
        };
        let to = first.to;
        let number =
            *first.number.get_or_insert_with(|| self.flows.entry((node, category, to)).or_default().number());
        self.count_attempt(node, category, to, number);
    }

    /// An MPDU was sent in vain: once too often, and it is given up.
    fn count_attempt(&mut self, node: u16, category: usize, to: u16, number: u32) {
        let attempts_max = u32::from(self.config.attempts_max);
        let it = &mut self.nodes[usize::from(node)].categories[category];
        let Some(mpdu) = it.find(to, number) else { return };
        mpdu.attempts += 1;
        if mpdu.attempts < attempts_max {
            return;
        }
        let Some(Mpdu { msdus, is_received, .. }) = it.remove(to, number) else { return };
        it.forget();
        if !is_received {
            it.stats.retry_limit += msdus.len() as u64;
            self.drop_msdus(node, msdus);
        }
        self.flows.entry((node, category, to)).or_default().give_up(number);
        self.release(node, category, to);
    }

    fn drop_msdus(&mut self, node: u16, msdus: Msdus) {
        for (msdu, queued_at) in msdus {
            let (station, reason) = (StationId(node), DropReason::RetryLimit);
            self.outputs.push_back(Output::Dropped { station, msdu, queued_at, reason });
        }
    }
}

impl OnAir {
    const fn new(from: u16, to: u16, frame: Frame, rate: Rate, duration: u64, rest: u64) -> Self {
        Self { id: 0, from, to, begin: 0, end: duration, frame, rate, rest, others: Vec::new() }
    }
}

fn lost(pieces: &[Piece]) -> Vec<Piece> {
    pieces.iter().map(|piece| Piece { is_received: false, ..*piece }).collect()
}

/// What is received of frames.
impl Edca {
    /// Somebody else reads what a frame reserves.
    fn overhear(&mut self, node: u16, frame: &OnAir, agenda: &mut impl Agenda<Event>) -> bool {
        let now = agenda.now().0;
        let is_read = match frame.frame {
            Frame::Rts => self.reads_control(frame, node, RTS_BYTES),
            Frame::Cts | Frame::Ack { .. } => self.reads_control(frame, node, ACK_BYTES),
            Frame::Data => self.reads_data(frame, node),
        };
        if !is_read || frame.rest == 0 {
            return is_read;
        }
        let it = &mut self.nodes[usize::from(node)];
        it.reserved_until = it.reserved_until.max(now + frame.rest);
        let until = it.reserved_until;
        agenda.schedule(Instant(until), Event(Kind::ReservationEnded { node }));
        if frame.frame == Frame::Rts {
            let at = Instant(now + self.times.void);
            agenda.schedule(at, Event(Kind::ReservationVoid { node, since: now }));
        }
        true
    }

    fn reads_control(&mut self, frame: &OnAir, node: u16, bytes: u32) -> bool {
        let ratio = self.ratio_db(frame, node, frame.begin, frame.end);
        self.happens(ratio.map_or(0.0, |db| Air::control_chance(frame.rate, bytes, db)))
    }

    /// Whether somebody else reads the first MPDU of a data frame.
    fn reads_data(&mut self, frame: &OnAir, node: u16) -> bool {
        let Some(exchange) = &self.nodes[usize::from(frame.from)].exchange else { return false };
        let (mode, first) = (exchange.mode, exchange.pieces.first().map_or(0, |piece| piece.bytes));
        let data = frame.begin + preamble_time(mode).0;
        let psdu = u64::from(exchange.psdu_bytes.max(1));
        let end = data + (frame.end - data) * u64::from(first) / psdu;
        let ratio = self.ratio_db(frame, node, frame.begin, end);
        self.happens(ratio.map_or(0.0, |db| Air::mpdu_chance(mode, first, db)))
    }

    fn preamble_chance(&self, frame: &OnAir, node: u16, end: u64) -> f64 {
        let ratio = self.ratio_db(frame, node, frame.begin, end);
        ratio.map_or(0.0, |db| Air::control_chance(Rate::Ofdm6, ACK_BYTES, db))
    }

    /// Signal to noise and all others who were on the air within this time, in dB; `None` if the receiver itself was.
    fn ratio_db(&self, frame: &OnAir, node: u16, begin: u64, end: u64) -> Option<f64> {
        let others = frame.others.iter().filter(|other| other.begin < end && other.end > begin);
        let mut interference = 0.0;
        for other in others {
            if other.from == node {
                return None;
            }
            interference += self.signals.at(other.from, node);
        }
        Some(self.signals.ratio_db(frame.from, node, interference))
    }

    /// Chance is drawn only where there is a choice.
    fn happens(&mut self, chance: f64) -> bool {
        if !(1e-12..1.0 - 1e-12).contains(&chance) {
            return chance > 0.5;
        }
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
        let drawn = (self.errors.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < chance
    }
}

/// What is put into a frame.
impl Edca {
    /// Gathers MPDUs for the receiver of the first one. What does not fit until `until` waits, but not the very first MPDU.
    fn compose(&mut self, node: u16, category: usize, until: Option<u64>, now: Instant) -> Option<Exchange> {
        let to = self.nodes[usize::from(node)].categories[category].mpdus.front()?.to;
        let mode = self.choose(node, to, now);
        let (phy, aggregation, sifs) = (self.config.phy, self.config.aggregation, self.times.sifs);
        let rate = phy.response_rate(mode);
        let block_ack = phy.block_ack_time(aggregation.window, rate).0;
        let announced = if self.config.rts_threshold.is_some() { self.rts_and_cts(rate) } else { 0 };
        let left = until.map(|until| until.saturating_sub(now.0 + announced + sifs + block_ack));
        let time = left.map_or(PPDU_TIME_MAX, |left| PPDU_TIME_MAX.min(Nanos(left)));
        let bytes_max = phy.psdu_bytes_within(time, mode).min(aggregation.ampdu_bytes_max);
        let pieces = self.gather(node, category, to, bytes_max);
        let last = pieces.last()?;
        let is_block = pieces.len() > 1;
        // A single MPDU of 802.11n has no delimiter.
        let bare = !is_block && mode.format() == Format::Ht || aggregation.ampdu_bytes_max == 0;
        let psdu_bytes = last.offset + last.bytes - if bare { 4 } else { 0 };
        let answer = if is_block { block_ack } else { phy.ack_time(rate).0 };
        let duration = phy.psdu_time(psdu_bytes, mode).0;
        let epoch = self.next_exchange;
        self.next_exchange = self.next_exchange.wrapping_add(1);
        let awaited = Awaited::Nothing;
        Some(Exchange {
            epoch,
            category,
            to,
            mode,
            rate,
            pieces,
            psdu_bytes,
            duration,
            answer,
            awaited,
            until,
        })
    }

    fn gather(&mut self, node: u16, category: usize, to: u16, bytes_max: u32) -> Vec<Piece> {
        let aggregation = self.config.aggregation;
        let header = self.config.overhead_bytes - SNAP_BYTES;
        let is_ht_ampdu = self.config.phy.mode.format() == Format::Ht && aggregation.ampdu_bytes_max > 0;
        let mpdu_max = if is_ht_ampdu { 4_095 } else { u32::MAX };
        let window = if aggregation.ampdu_bytes_max == 0 { 1 } else { u32::from(aggregation.window) };
        let it = &mut self.nodes[usize::from(node)].categories[category];
        let flow = self.flows.entry((node, category, to)).or_default();
        let (mut pieces, mut offset, mut at, mut first) = (Vec::new(), 0, 0, None);
        while at < it.mpdus.len() {
            if it.mpdus[at].to != to {
                at += 1;
                continue;
            }
            if it.mpdus[at].number.is_none() {
                it.merge(at, header, aggregation.amsdu_bytes_max, mpdu_max);
            }
            let mpdu = &mut it.mpdus[at];
            let number = mpdu.number.unwrap_or(flow.next());
            let first = *first.get_or_insert(number);
            let begin = offset + 4;
            if !pieces.is_empty() && (begin + mpdu.bytes > bytes_max || number >= first + window) {
                break;
            }
            let number = *mpdu.number.get_or_insert_with(|| flow.number());
            pieces.push(Piece { number, bytes: mpdu.bytes, offset: begin, is_received: false });
            offset += subframe_bytes(mpdu.bytes);
            at += 1;
        }
        pieces
    }

    /// The mode of the next PPDU from one station to another.
    fn choose(&mut self, node: u16, to: u16, now: Instant) -> Mode {
        match self.config.stations[usize::from(node)].rate {
            RateChoice::Standard => self.config.phy.mode,
            RateChoice::Fixed(mode) => mode,
            RateChoice::Adaptive(config) => {
                let phy = &self.config.phy;
                let minstrel =
                    self.rates.entry((node, to)).or_insert_with(|| Minstrel::new(config, phy, now.time()));
                minstrel.next_mode(self.samples.next_u32())
            }
        }
    }
}

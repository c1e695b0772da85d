//! What happens on the air: from the moment in which somebody's backoff is over until the medium is idle again.

mod notes;

use crate::channel::{Exchange, LastFrame, Loser, NEVER, Outcome};
use crate::config::{Eifs, StationId};
use crate::output::{DropReason, OnAirKind};
use crate::station::{Frame, Retry, To};
use crate::wlan::{Event, Kind, Wlan, plan};
use guestright_airtime::{ACK_BYTES, CTS_BYTES, Protection, RTS_BYTES, Rate};
use guestright_engine::{Agenda, Instant, Nanos};

impl Wlan {
    /// Somebody's backoff is over: whose, begins to send.
    pub(crate) fn access(&mut self, number: u16, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now().0;
        if self.mac.lifetime.is_some() {
            self.expire_ready(number, now);
        }
        self.collect(number, now);
        let channel = &mut self.channels[usize::from(number)];
        let count = channel.losers.len();
        if count == 0 {
            // What was to be sent had waited for too long.
            let at = channel.next_access(self.times.slot);
            return plan(channel, number, at, agenda);
        }
        channel.is_busy = true;
        channel.since = now;
        channel.planned = NEVER;
        channel.stats.accesses += 1;
        channel.stats.collisions += u64::from(count > 1);
        let winner = if count == 1 { channel.losers.pop() } else { self.captured(number) };
        let others_until = self.start_losers(number);
        match winner {
            Some(winner) => self.begin(number, &winner, others_until, agenda),
            None => agenda.schedule(Instant(others_until), Event(Kind::Over { channel: number })),
        }
    }

    fn expire_ready(&mut self, number: u16, now: u64) {
        for index in 0..self.channels[usize::from(number)].contenders.len() {
            let contender = self.channels[usize::from(number)].contenders[index];
            if contender.access_at(self.times.slot) <= now {
                self.expire(contender.station, Instant(now));
                if !self.senders[contender.station.index()].has_frame() {
                    let contender = self.contender(contender.station);
                    (contender.wants, contender.slots) = (false, 0);
                }
            }
        }
    }

    /// Puts all who begin now into the channel's list of losers, and freezes the backoff of the others.
    #[inline]
    fn collect(&mut self, number: u16, now: u64) {
        let slot = self.times.slot;
        // Who begins before this has not noticed the first yet.
        let unnoticed = now + self.mac.sense_time.0.max(1);
        let Self { channels, senders, mac, phy, .. } = self;
        let channel = &mut channels[usize::from(number)];
        channel.losers.clear();
        // Most began to count at the same time.
        let (mut start, mut passed) = (NEVER, 0);
        for contender in &mut channel.contenders {
            let begin = contender.access_at(slot);
            if begin < unnoticed {
                let sender = &mut senders[contender.station.index()];
                let frame = sender.frame(phy, mac);
                sender.is_sending = true;
                sender.stats.accesses += 1;
                (contender.wants, contender.is_immediate, contender.slots) = (false, false, 0);
                channel.losers.push(Loser { station: contender.station, frame, begin, end: 0 });
                continue;
            }
            if contender.slots > 0 {
                if contender.start != start {
                    start = contender.start;
                    passed = u32::try_from(now.saturating_sub(start) / slot).unwrap_or(u32::MAX);
                }
                contender.slots -= passed.min(contender.slots);
            } else if contender.wants && contender.is_immediate && mac.backoff_when_deferred {
                contender.slots = senders[contender.station.index()].draw();
            }
            contender.is_immediate = false;
        }
    }

    /// Takes the one out of those who began at the same time whom its receiver hears all the same.
    fn captured(&mut self, number: u16) -> Option<Loser> {
        let threshold = f64::from(self.mac.capture_db?);
        let losers = &mut self.channels[usize::from(number)].losers;
        let signal = |loser: &Loser| self.senders[loser.station.index()].signal_dbm;
        let strongest = (0..losers.len()).max_by_key(|index| signal(&losers[*index]))?;
        let milliwatts = |dbm: i16| libm::exp(f64::from(dbm) * (core::f64::consts::LN_10 / 10.0));
        let others = losers.iter().enumerate().filter(|(other, _)| *other != strongest);
        let noise: f64 = others.map(|(_, loser)| milliwatts(signal(loser))).sum();
        // A little more, so that rounding does not decide where exactly the threshold is met.
        let wanted = milliwatts(signal(&losers[strongest])) * (1.0 + 1e-9);
        if wanted < noise * libm::exp(threshold * (core::f64::consts::LN_10 / 10.0)) {
            return None;
        }
        // Who sends does not hear.
        let to = losers[strongest].frame.to;
        if losers.iter().any(|loser| to == To::One(loser.station)) {
            return None;
        }
        Some(losers.remove(strongest))
    }

    /// The frames of those who are not heard; until when the last of them is on the air.
    fn start_losers(&mut self, number: u16) -> u64 {
        let mut until = 0;
        for index in 0..self.channels[usize::from(number)].losers.len() {
            let Loser { station, frame, begin, .. } = self.channels[usize::from(number)].losers[index];
            let begin = self.protect(number, station, &frame, begin, true);
            let end = if frame.needs_rts {
                self.note_rts(number, station, &frame, begin, true);
                begin + self.senders[station.index()].rts_time
            } else {
                let is_retry = self.attempt(station, &frame);
                self.note_data(number, station, &frame, begin, is_retry, true);
                begin + frame.duration
            };
            self.senders[station.index()].stats.collisions += 1;
            self.channels[usize::from(number)].losers[index].end = end;
            until = until.max(end);
        }
        until
    }

    fn attempt(&mut self, station: StationId, frame: &Frame) -> bool {
        frame.to != To::Beacon && self.senders[station.index()].attempt()
    }

    /// The one who is heard begins.
    fn begin(&mut self, number: u16, winner: &Loser, others_until: u64, agenda: &mut impl Agenda<Event>) {
        let Loser { station: sender, frame, begin, .. } = *winner;
        if others_until > 0 {
            self.senders[sender.index()].stats.collisions += 1;
        }
        let mut exchange = Exchange {
            sender,
            frame,
            outcome: Outcome::GoesOn,
            others_until,
            is_bad: false,
            last: LastFrame { from: sender, to: frame.to, bytes: frame.bytes, reserved: 0, is_hit: false },
            is_retry: false,
        };
        let mut at = self.protect(number, sender, &frame, begin, false);
        if frame.needs_rts {
            match self.request_to_send(number, &mut exchange, at) {
                Ok(clear_at) => at = clear_at,
                Err(over_at) => {
                    self.channels[usize::from(number)].exchange = Some(exchange);
                    agenda.schedule(Instant(over_at), Event(Kind::Over { channel: number }));
                    return;
                }
            }
        }
        exchange.is_retry = self.attempt(sender, &frame);
        let end = at + frame.duration;
        self.channels[usize::from(number)].exchange = Some(exchange);
        agenda.schedule(Instant(end), Event(Kind::FrameEnded { channel: number }));
    }

    /// CTS to itself, if needed: when the frame behind it begins.
    fn protect(&mut self, number: u16, from: StationId, frame: &Frame, at: u64, is_damaged: bool) -> u64 {
        let Protection::CtsToSelf(rate) = self.phy.protection else { return at };
        if !frame.rate.is_ofdm() {
            return at;
        }
        let duration = self.phy.frame_time(CTS_BYTES, rate).0;
        let rest = self.times.sifs + self.rest_behind_rts(from, frame);
        self.note(number, at, duration, from, from, OnAirKind::Cts, CTS_BYTES, rate, rest, is_damaged);
        at + duration + self.times.sifs
    }

    /// RTS and CTS: when the data frame begins, or when the medium is idle if one of them failed.
    fn request_to_send(&mut self, number: u16, exchange: &mut Exchange, at: u64) -> Result<u64, u64> {
        let (sender, sifs) = (exchange.sender, self.times.sifs);
        let To::One(receiver) = exchange.frame.to else { return Ok(at) };
        let (rts, cts, rate) = {
            let sender = &self.senders[sender.index()];
            (sender.rts_time, sender.response_time, sender.response_rate)
        };
        let rts_end = at + rts;
        let is_hit = self.is_hit(sender, receiver, RTS_BYTES);
        let frame = exchange.frame;
        self.note_rts(number, sender, &frame, at, is_hit);
        exchange.outcome = Outcome::Failed { is_long: false, end: rts_end };
        let reserved = self.reserved_behind_rts(rate, cts);
        exchange.last = LastFrame { bytes: RTS_BYTES, reserved, is_hit, ..exchange.last };
        if is_hit {
            self.senders[sender.index()].stats.errors += 1;
            return Err(rts_end.max(exchange.others_until));
        }
        let (cts_at, cts_end) = (rts_end + sifs, rts_end + sifs + cts);
        let is_hit = self.is_hit(sender, receiver, CTS_BYTES);
        let is_lost = is_hit || exchange.others_until > cts_at;
        let rest = sifs + frame.duration + sifs + cts;
        self.note(number, cts_at, cts, receiver, sender, OnAirKind::Cts, CTS_BYTES, rate, rest, is_lost);
        if is_lost {
            self.senders[sender.index()].stats.errors += u64::from(is_hit);
            exchange.is_bad =
                self.mac.eifs == Eifs::AfterErrorsAndCollisions && exchange.others_until > cts_at;
            let to = To::One(sender);
            exchange.last = LastFrame { from: receiver, to, bytes: CTS_BYTES, reserved: rest, is_hit };
            return Err(cts_end.max(exchange.others_until));
        }
        exchange.outcome = Outcome::GoesOn;
        Ok(cts_end + sifs)
    }

    /// Who has set its NAV by an RTS and hears no CTS, may take it back after so long (10.3.2.4).
    fn reserved_behind_rts(&self, rate: Rate, cts: u64) -> u64 {
        2 * self.times.sifs + cts + self.phy.preamble_time(rate).0 + 2 * self.times.slot
    }

    fn is_hit(&mut self, sender: StationId, receiver: StationId, bytes: u32) -> bool {
        let log_good = self.senders[sender.index()].log_good + self.senders[receiver.index()].log_good;
        self.senders[sender.index()].is_hit(bytes, log_good)
    }

    /// A data frame or a beacon ends.
    pub(crate) fn frame_ended(&mut self, number: u16, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now().0;
        let index = usize::from(number);
        let mut exchange = self.channels[index].exchange.take().expect("a frame that ends was begun");
        let (sender, frame) = (exchange.sender, exchange.frame);
        let receiver = match frame.to {
            To::One(receiver) => receiver,
            To::Everybody | To::Beacon => sender,
        };
        let is_hit = match frame.to {
            To::One(_) => {
                let log_good =
                    self.senders[sender.index()].log_good + self.senders[receiver.index()].log_good;
                self.senders[sender.index()].is_data_hit(frame.bytes, log_good)
            }
            To::Everybody | To::Beacon => {
                let log_good = self.senders[sender.index()].log_good;
                self.senders[sender.index()].is_hit(frame.bytes, log_good)
            }
        };
        self.note_data(number, sender, &frame, now - frame.duration, exchange.is_retry, is_hit);
        let answer = self.times.sifs + self.senders[sender.index()].response_time;
        let reserved = if matches!(frame.to, To::One(_)) { answer } else { 0 };
        exchange.last = LastFrame { from: sender, to: frame.to, bytes: frame.bytes, reserved, is_hit };
        let over_at = if frame.to != To::One(receiver) {
            exchange.outcome = if is_hit { Outcome::BroadcastLost } else { Outcome::Done };
            if frame.to == To::Everybody && !is_hit {
                self.outputs.extend(self.senders[sender.index()].deliver());
            }
            now
        } else if is_hit {
            self.senders[sender.index()].stats.errors += 1;
            exchange.outcome = Outcome::Failed { is_long: frame.needs_rts, end: now };
            now
        } else {
            match self.acknowledge(number, &mut exchange, receiver, now) {
                Ok(over_at) => over_at,
                Err(next_end) => {
                    self.channels[index].exchange = Some(exchange);
                    return agenda.schedule(Instant(next_end), Event(Kind::FrameEnded { channel: number }));
                }
            }
        };
        let over_at = over_at.max(exchange.others_until);
        self.channels[index].exchange = Some(exchange);
        if over_at == now {
            self.over(number, agenda);
        } else {
            agenda.schedule(Instant(over_at), Event(Kind::Over { channel: number }));
        }
    }

    /// The receiver has a frame and acknowledges it: when the medium is idle, or (`Err`) when the next fragment ends.
    #[inline]
    fn acknowledge(
        &mut self,
        number: u16,
        exchange: &mut Exchange,
        receiver: StationId,
        now: u64,
    ) -> Result<u64, u64> {
        let (sender, frame, sifs) = (exchange.sender, exchange.frame, self.times.sifs);
        if !frame.has_more {
            match self.senders[sender.index()].deliver() {
                Some(output) => self.outputs.push_back(output),
                None => self.senders[receiver.index()].stats.duplicates += 1,
            }
        }
        let (ack, rate) =
            (self.senders[sender.index()].response_time, self.senders[sender.index()].response_rate);
        let (ack_at, ack_end) = (now + sifs, now + sifs + ack);
        let is_hit = self.is_hit(sender, receiver, ACK_BYTES);
        let is_lost = is_hit || exchange.others_until > ack_at;
        let mut rest = 0;
        let mut next_end = None;
        if !is_lost && frame.has_more {
            let state = &mut self.senders[sender.index()];
            state.next_fragment(&self.phy);
            state.attempt();
            exchange.frame = state.frame(&self.phy, &self.mac);
            // What was reserved, was for the first fragment: those behind it go without RTS.
            exchange.frame.needs_rts = frame.needs_rts;
            exchange.is_retry = false;
            let end = ack_end + sifs + exchange.frame.duration;
            rest = end - ack_end + sifs + ack;
            next_end = Some(end);
        }
        self.note(number, ack_at, ack, receiver, sender, OnAirKind::Ack, ACK_BYTES, rate, rest, is_lost);
        if let Some(end) = next_end {
            return Err(end);
        }
        let to = To::One(sender);
        exchange.last = LastFrame { from: receiver, to, bytes: ACK_BYTES, reserved: 0, is_hit };
        if is_lost {
            self.senders[sender.index()].stats.errors += u64::from(is_hit);
            exchange.outcome = Outcome::Failed { is_long: frame.needs_rts, end: now };
            exchange.is_bad =
                self.mac.eifs == Eifs::AfterErrorsAndCollisions && exchange.others_until > ack_at;
        } else {
            exchange.outcome = Outcome::Done;
        }
        Ok(ack_end)
    }

    /// The medium becomes idle.
    pub(crate) fn over(&mut self, number: u16, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now().0;
        let index = usize::from(number);
        // Where all who began collided there was no exchange: then only the losers have to try again.
        let exchange = self.channels[index].exchange.take();
        let outcome = exchange.as_ref().map_or(Outcome::Nobody, |exchange| exchange.outcome);
        let all_collided = self.mac.eifs == Eifs::AfterErrorsAndCollisions;
        let is_bad = exchange.as_ref().map_or(all_collided, |exchange| exchange.is_bad);
        // Who could not read the last frame does not know whether an acknowledgement follows, and waits for as long as one
        // would take: EIFS for DIFS (IEEE 802.11-2020, section 10.3.2.3.7).
        let space = if is_bad { self.times.eifs } else { self.times.difs };
        if let Some(Exchange { sender, frame, others_until, .. }) = exchange {
            match outcome {
                Outcome::Done => {
                    // Heard although others were on the air: a capture.
                    self.senders[sender.index()].stats.captures += u64::from(others_until > 0);
                    self.complete(sender, frame.to, now);
                }
                Outcome::BroadcastLost => self.lose_broadcast(sender, frame.to, now),
                Outcome::Failed { is_long, end } => self.fail(sender, is_long, end, agenda),
                Outcome::GoesOn | Outcome::Nobody => unreachable!("an exchange that is over has an outcome"),
            }
        }
        for loser in 0..self.channels[index].losers.len() {
            let Loser { station, frame, end, .. } = self.channels[index].losers[loser];
            // A loser's frame ended before the medium became idle, and its timeout counts from there.
            match frame.to {
                To::One(_) => self.fail(station, false, end, agenda),
                To::Everybody | To::Beacon => self.lose_broadcast(station, frame.to, end),
            }
        }
        let channel = &mut self.channels[index];
        channel.is_busy = false;
        channel.stats.busy += Nanos(now - channel.since);
        channel.since = now;
        channel.start_counting(now, space);
        // Behind the general rule, because they are the exceptions to it.
        if is_bad {
            self.start_counting_of_senders(number, exchange.as_ref(), now);
        } else if self.has_errors
            && self.mac.eifs != Eifs::Off
            && let Some(Exchange { last, .. }) = &exchange
        {
            self.start_counting_of_bystanders(number, last, now);
        }
        // Only now: the losers were still needed, for those who did not hear what they sent themselves.
        let channel = &mut self.channels[index];
        channel.losers.clear();
        let at = channel.next_access(self.times.slot);
        plan(channel, number, at, agenda);
    }

    /// Those who sent a bad frame did not hear it.
    fn start_counting_of_senders(&mut self, number: u16, exchange: Option<&Exchange>, now: u64) {
        let difs = self.times.difs;
        for index in 0..self.channels[usize::from(number)].losers.len() {
            let station = self.channels[usize::from(number)].losers[index].station;
            let contender = self.contender(station);
            contender.start = (now + difs).max(contender.earliest);
        }
        if let Some(exchange) = exchange {
            let contender = self.contender(exchange.last.from);
            contender.start = (now + difs).max(contender.earliest);
        }
    }

    /// Each station has read the last frame well or not, whatever the others have: who has not waits for EIFS, and who has
    /// for what it reserved, although nothing has followed.
    fn start_counting_of_bystanders(&mut self, number: u16, last: &LastFrame, now: u64) {
        let Self { senders, channels, times, .. } = self;
        let from_log_good = senders[last.from.index()].log_good;
        for contender in &mut channels[usize::from(number)].contenders {
            if contender.station == last.from {
                continue;
            }
            let is_hit = if last.to == To::One(contender.station) {
                last.is_hit
            } else {
                let sender = &mut senders[contender.station.index()];
                let log_good = from_log_good + sender.log_good;
                sender.is_hit_by_the_way(last.bytes, log_good)
            };
            let reserved = if last.to == To::One(contender.station) { 0 } else { last.reserved };
            let space = if is_hit { times.eifs } else { reserved + times.difs };
            contender.start = (now + space).max(contender.earliest);
        }
    }

    /// A station's frame is done with at `end`: it draws the backoff behind it, whether it has another frame or not.
    #[inline]
    fn complete(&mut self, station: StationId, to: To, end: u64) {
        let Self { senders, channels, phy, mac, times, .. } = self;
        let sender = &mut senders[station.index()];
        sender.complete(to, phy);
        let contender =
            &mut channels[usize::from(sender.channel)].contenders[usize::from(sender.contender_index)];
        contender.slots = sender.draw();
        contender.wants = sender.has_frame();
        contender.earliest = if mac.driver_gap.0 > 0 { end + mac.driver_gap.0 + times.difs } else { 0 };
    }

    fn lose_broadcast(&mut self, station: StationId, to: To, end: u64) {
        if to == To::Everybody {
            let output = self.senders[station.index()].give_up(DropReason::Broadcast, &self.phy);
            self.outputs.extend(output);
            self.back_off(station, end, 0);
        } else {
            self.complete(station, to, end);
        }
    }

    /// A station's frame, which ended at `end`, was not answered.
    fn fail(&mut self, station: StationId, is_long: bool, end: u64, agenda: &mut impl Agenda<Event>) {
        let sender = &mut self.senders[station.index()];
        let timeout_at = end + sender.timeout;
        match sender.fail(is_long, &self.phy, &self.mac) {
            Retry::Again => {
                let wait = if self.mac.difs_after_timeout { self.times.difs } else { 0 };
                self.back_off(station, timeout_at, wait);
            }
            Retry::GiveUp => agenda.schedule(Instant(timeout_at), Event(Kind::GaveUp { station })),
        }
    }

    /// A station draws a backoff at `at`, and counts from `wait` later on, if the medium is idle.
    fn back_off(&mut self, station: StationId, at: u64, wait: u64) {
        let sender = &mut self.senders[station.index()];
        let (slots, wants) = (sender.draw(), sender.has_frame());
        let contender = self.contender(station);
        (contender.slots, contender.wants, contender.earliest) = (slots, wants, at + wait);
    }

    /// A station has waited in vain for the last time, and drops its MSDU.
    pub(crate) fn gave_up(&mut self, station: StationId, agenda: &mut impl Agenda<Event>) {
        let now = agenda.now().0;
        let output = self.senders[station.index()].give_up(DropReason::RetryLimit, &self.phy);
        self.outputs.extend(output);
        let wait = if self.mac.difs_after_timeout { self.times.difs } else { 0 };
        self.back_off(station, now, wait);
        let (number, index) =
            (self.senders[station.index()].channel, self.senders[station.index()].contender_index);
        let channel = &mut self.channels[usize::from(number)];
        if channel.is_busy {
            return;
        }
        let contender = &mut channel.contenders[usize::from(index)];
        contender.start = (channel.since + self.times.difs).max(contender.earliest);
        let at = contender.access_at(self.times.slot);
        if at < channel.planned {
            plan(channel, number, at, agenda);
        }
    }
}

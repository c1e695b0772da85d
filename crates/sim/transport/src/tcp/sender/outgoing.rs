//! What is sent next.

use super::Sender;
use crate::tcp::receiver::stamp;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::timer::TcpEvent;
use guestright_congestion::{Controller, RecoveryKind, Sent};
use guestright_engine::{Agenda, Instant, Nanos};
use guestright_units::Micros;
use std::num::NonZeroU32;

/// A segment that may be sent.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    seq: u64,
    len: u16,
    fin: bool,
    /// Whatever the window says.
    forced: bool,
}

impl<C: Controller> Sender<C> {
    pub(super) fn poll_data(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Option<Segment> {
        let choice = self.choose(agenda.now());
        let Some(choice) = choice.filter(|choice| choice.forced || self.burst > 0) else {
            self.extra = 0;
            return None;
        };
        if !self.paced(u32::from(choice.len), agenda) {
            return None;
        }
        if !choice.forced && self.burst < u32::MAX {
            self.burst -= 1;
        }
        Some(self.emit(choice, agenda))
    }

    /// What may be sent now.
    fn choose(&mut self, now: Instant) -> Option<Choice> {
        let segment = u64::from(self.settings.recovery.segment);
        if self.retransmit {
            // What was sent before, no more; or all of a segment that never was, if that counts as expired.
            let seq = self.acknowledged;
            let sent = self.fresh.min(self.written.max(seq)) - seq;
            let len = if sent == 0 && !self.closed { segment } else { segment.min(sent) };
            let fin = self.closed && self.fresh > self.written && seq + len == self.written;
            return Some(Choice { seq, len: short(len), fin, forced: true });
        }
        let end = self.written + u64::from(self.closed);
        if self.settings.recovery.kind == RecoveryKind::Sack && self.history.holes > 0 {
            if self.next >= end && self.recovery.is_active() && self.history.next_lost(0).is_none() {
                self.history.lose_next();
            }
            if let Some((seq, end)) = self.history.next_lost(self.acknowledged) {
                return self.choose_lost(seq, end);
            }
        }
        if self.next >= end {
            self.limited();
            return None;
        }
        if self.fresh == self.acknowledged && !self.settings.idle_timer {
            self.wake(now);
        }
        let mut len = segment.min(self.written - self.next);
        let on_its_way = self.on_its_way();
        let mut room = self.usable_window().saturating_sub(on_its_way);
        if self.history.holes > 0 {
            // Segments that have left the network still take the receiver's room.
            room = room.min(self.window.saturating_sub(self.next - self.acknowledged));
        }
        if len > room {
            // No small segments because of a window that is not a multiple of a segment, unless all would stand still.
            if on_its_way > 0 || room == 0 {
                return None;
            }
            len = room;
        }
        let last = self.next + len == self.written;
        if self.settings.nagle && len < segment && on_its_way > 0 && !(self.closed && last) {
            return None;
        }
        Some(Choice { seq: self.next, len: short(len), fin: self.closed && last, forced: false })
    }

    /// A segment that selective acknowledgements or a timeout have found lost.
    fn choose_lost(&self, seq: u64, end: u64) -> Option<Choice> {
        let on_its_way = self.on_its_way();
        if on_its_way > 0 && on_its_way + (end - seq) > self.usable_window() {
            return None;
        }
        let fin = end > self.written;
        let len = end - u64::from(fin) - seq;
        Some(Choice { seq, len: short(len), fin, forced: false })
    }

    /// The application, not the window, keeps the sender from sending more.
    fn limited(&mut self) {
        let on_its_way = self.next.saturating_sub(self.acknowledged);
        if on_its_way < self.controller.window()
            && let Some(meter) = &mut self.meter
        {
            meter.limit(on_its_way);
        }
    }

    /// Whether pacing lets a segment go now; if not, the timer is set.
    fn paced(&mut self, len: u32, agenda: &mut impl Agenda<TcpEvent>) -> bool {
        let Some(rate) = self.controller.pacing() else { return true };
        let now = agenda.now();
        if now < self.release_at {
            self.pacing.set(self.release_at, agenda);
            return false;
        }
        let bits = u64::from(self.settings.header_bytes + self.settings.options() + len) * 8;
        self.release_at = now + Nanos::of_bits(bits, rate.0.get());
        true
    }

    fn emit(&mut self, choice: Choice, agenda: &mut impl Agenda<TcpEvent>) -> Segment {
        let now = agenda.now();
        let Choice { seq, len, fin, forced } = choice;
        let again = seq < self.fresh;
        let mut segment = Segment {
            seq,
            flow: self.flow,
            stamp: stamp(now),
            len,
            flags: Flags { fin, again, capable: self.settings.ecn, ..Flags::default() },
            ..Segment::default()
        };
        let end = segment.end();
        self.retransmit = false;
        if !again && self.tell_reduced {
            segment.flags.reduced = true;
            self.tell_reduced = false;
        }
        let idle = self.fresh <= self.acknowledged;
        if seq == 0 && !forced {
            self.started_at = now;
        }
        self.history.send(seq, end, self.fresh, now);
        if let Some(meter) = &mut self.meter {
            meter.send(seq, end, idle, now);
        }
        // A segment that is sent before its time does not move what is sent next (ns-2).
        if !forced || !self.settings.idle_timer {
            self.next = self.next.max(end);
        }
        self.fresh = self.fresh.max(end);
        if again {
            self.stats.again += 1;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        let sent = Sent {
            now: now.time(),
            offset: seq,
            bytes: len.into(),
            in_flight: self.next.saturating_sub(self.acknowledged),
            again,
            last: self.next >= self.written,
        };
        self.controller.on_sent(&sent);
        segment.wave = self.controller.wave().map(|wave| NonZeroU32::MIN.saturating_add(wave));
        self.sent(idle, agenda);
        segment
    }

    pub(super) fn syn(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Segment {
        let now = agenda.now();
        let again = self.retransmit;
        self.retransmit = false;
        self.timed = (!again).then_some((0, now));
        self.stats.again += u64::from(again);
        self.sent(true, agenda);
        Segment {
            flow: self.flow,
            stamp: stamp(now),
            flags: Flags { syn: true, again, ..Flags::default() },
            ..Segment::default()
        }
    }

    /// A segment has left; `idle`: nothing had been on its way.
    fn sent(&mut self, idle: bool, agenda: &mut impl Agenda<TcpEvent>) {
        self.sent_at = agenda.now();
        self.stats.segments += 1;
        // A timer that runs on starts anew with the first segment after a pause; not that of ns-2's Vegas.
        let anew = idle && self.settings.idle_timer && self.settings.recovery.kind != RecoveryKind::Vegas;
        if anew || !self.retransmission.is_set() {
            self.restart_timer(agenda);
        }
    }

    /// Something is to be sent, and nothing is on its way.
    fn wake(&mut self, now: Instant) {
        let idle = Micros(now.since(self.sent_at).0 / 1_000);
        if self.stats.segments > 0 && idle > self.timeout.timeout() {
            self.controller.on_idle(idle);
            // Once for each pause.
            self.sent_at = now;
        }
    }

    pub(super) fn restart_timer(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
        let deadline = agenda.now() + Nanos::from_micros(self.timeout.timeout().0);
        self.retransmission.set(deadline, agenda);
    }

    /// Bytes on their way, as they count for the window.
    pub(super) fn on_its_way(&self) -> u64 {
        if self.history.holes > 0 {
            self.history.pipe(self.acknowledged, self.next)
        } else {
            self.next - self.acknowledged
        }
    }

    /// Bytes that may be on their way: the congestion window with what recovery adds to it, and the receiver's window.
    fn usable_window(&self) -> u64 {
        let inflation =
            if self.settings.recovery.kind == RecoveryKind::Sack { 0 } else { self.recovery.inflation() };
        let congestion = self.controller.window().saturating_add_signed(inflation) + self.extra;
        // No window at all is for a timer that opens it again.
        let none = self.settings.recovery.kind == RecoveryKind::Vegas && self.settings.idle_timer;
        let least = if none { 0 } else { self.settings.recovery.segment.into() };
        congestion.max(least).min(self.window)
    }
}

fn short(len: u64) -> u16 {
    u16::try_from(len).expect("a segment is no longer than the settings let it")
}

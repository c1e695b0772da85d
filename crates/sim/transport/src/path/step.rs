//! What happens at each event.

use super::flow::End;
use super::lane::{Passage, Way};
use super::line::{Line, Output};
use super::watch::Watch;
use super::{Marks, Net, Parcel, Path, Step};
use crate::foreign::Side;
use crate::tcp::Timer;
use guestright_congestion::Controller;

/// The lines between routers, by their number.
const FIRST: usize = 0;
const FIRST_BACK: usize = 1;
const SECOND: usize = 2;
const SECOND_BACK: usize = 3;

impl<C: Controller, W: Watch> Path<C, W> {
    pub(super) fn step(&mut self, parcel: Parcel) {
        match parcel.step {
            Step::R1 => {
                self.net.hops += 1;
                if self.net.lanes.are_endless() && matches!(self.ends[parcel.flow as usize], End::Udp) {
                    self.step_ahead(parcel.flow);
                }
                self.forward(FIRST, Parcel { step: Step::R2, ..parcel });
            }
            Step::R2 => {
                self.net.hops += 1;
                if parcel.flow < self.net.calls {
                    self.net.leave_line(FIRST, parcel.bytes);
                }
                self.forward(SECOND, Parcel { step: Step::R3, ..parcel });
            }
            Step::R3 => {
                self.net.hops += 1;
                self.net.leave_line(SECOND, parcel.bytes);
                self.cross(Way::In, Parcel { step: Step::Sink, ..parcel });
            }
            Step::BackR3 => {
                self.net.hops += 1;
                self.forward(SECOND_BACK, Parcel { step: Step::BackR2, ..parcel });
            }
            Step::BackR2 => {
                self.net.hops += 1;
                self.net.leave_line(SECOND_BACK, parcel.bytes);
                if parcel.flow < self.net.calls {
                    self.forward(FIRST_BACK, Parcel { step: Step::BackR1, ..parcel });
                } else {
                    self.cross(Way::Home, Parcel { step: Step::Source, ..parcel });
                }
            }
            Step::BackR1 => {
                self.net.hops += 1;
                self.net.leave_line(FIRST_BACK, parcel.bytes);
                self.cross(Way::Home, Parcel { step: Step::Source, ..parcel });
            }
            Step::Sink => {
                self.net.hops += 1;
                self.reach_sink(parcel);
            }
            Step::Source => {
                self.net.hops += 1;
                self.reach_source(parcel);
            }
            Step::Speak => self.speak(parcel.flow),
            Step::Start => self.start(parcel.flow),
            Step::Retransmission => self.tcp_timer(parcel.flow, Timer::Retransmission),
            Step::Pacing => self.tcp_timer(parcel.flow, Timer::Pacing),
            Step::Acknowledgement => self.tcp_timer(parcel.flow, Timer::Acknowledgement),
            Step::SourceTimer => self.foreign_timer(parcel.flow, Side::Source),
            Step::SinkTimer => self.foreign_timer(parcel.flow, Side::Sink),
            Step::Line => self.managed_line(parcel.flow as usize),
        }
    }

    /// Whether a packet is still to be spoken, although its way to the first router is known.
    pub(super) fn is_ahead(&self, parcel: &Parcel) -> bool {
        let ahead = parcel.step == Step::R1
            && self.net.lanes.are_endless()
            && matches!(self.ends[parcel.flow as usize], End::Udp);
        ahead && self.calls[parcel.flow as usize].arrivals[parcel.key as usize] > self.until
    }

    /// UDP over a link that takes everything: when the next packet will be at R1 is known before it is spoken, so that
    /// speaking needs no event of its own.
    pub(super) fn step_ahead(&mut self, flow: u32) {
        let speech = &mut self.calls[flow as usize];
        let Some(at) = speech.next() else { return };
        let parcel =
            Parcel { flow, key: speech.spoken, bytes: speech.wire_bytes, step: Step::R1, marks: Marks::FULL };
        speech.advance();
        if let Passage::Arrives(at) = self.net.lanes.enqueue(flow, Way::Out, at, parcel.bytes) {
            self.net.wheel.push(at, parcel);
        }
    }

    /// Puts a packet on a line between routers.
    #[inline]
    fn forward(&mut self, line: usize, parcel: Parcel) {
        let net = &mut self.net;
        match &mut net.lines[line] {
            Line::DropTail(plain) => match plain.enqueue(net.wheel.now(), parcel.bytes) {
                Some(at) => net.wheel.push(net.jitter.after(at), parcel),
                None => self.drop_on_line(line, parcel),
            },
            Line::Managed(managed) => {
                if !managed.enqueue(parcel, &mut net.wheel) {
                    self.drop_on_line(line, parcel);
                }
                self.drain_line(line);
            }
        }
    }

    fn managed_line(&mut self, line: usize) {
        let net = &mut self.net;
        if let Line::Managed(managed) = &mut net.lines[line] {
            managed.handle(&mut net.wheel);
        }
        self.drain_line(line);
    }

    fn drain_line(&mut self, line: usize) {
        while let Line::Managed(managed) = &mut self.net.lines[line]
            && let Some(output) = managed.poll_output()
        {
            match output {
                Output::Arrived(parcel) => self.step(parcel),
                Output::Dropped(parcel) => self.drop_on_line(line, parcel),
            }
        }
    }

    #[cold]
    fn drop_on_line(&mut self, line: usize, parcel: Parcel) {
        let counts = &mut self.net.counts[parcel.flow as usize];
        match line {
            FIRST => counts.dropped_first += u64::from(parcel.is_full()),
            SECOND => counts.dropped_second += u64::from(parcel.is_full()),
            _ => counts.back_lost += 1,
        }
        self.forget(parcel);
    }

    /// Puts a packet on the link of a host.
    #[inline]
    pub(super) fn cross(&mut self, way: Way, parcel: Parcel) {
        let now = self.net.wheel.now();
        match self.net.lanes.enqueue(parcel.flow, way, now, parcel.bytes) {
            Passage::Arrives(at) => self.net.wheel.push(self.net.jitter.after(at), parcel),
            Passage::Lost => self.lose(way, parcel, true),
            Passage::Dropped => self.lose(way, parcel, false),
        }
    }

    #[cold]
    fn lose(&mut self, way: Way, parcel: Parcel, is_error: bool) {
        self.net.count_lost(parcel.flow, way, parcel.is_full(), is_error);
        self.forget(parcel);
    }

    /// A packet will arrive nowhere.
    fn forget(&mut self, parcel: Parcel) {
        match &mut self.ends[parcel.flow as usize] {
            End::Udp => {}
            End::Tcp(_) => {
                self.net.segments.remove(parcel.key, parcel.flow);
            }
            End::Foreign(foreign) => {
                let datagram = self.net.datagrams.remove(parcel.key);
                foreign.ends.drop_datagram(datagram.id);
            }
        }
    }
}

impl Net {
    /// A packet has come to the end of a line.
    #[inline]
    fn leave_line(&mut self, line: usize, bytes: u16) {
        if let Line::DropTail(plain) = &mut self.lines[line] {
            plain.arrived(bytes);
        }
    }

    /// A packet was lost on the link of a host, or dropped before it.
    pub(super) fn count_lost(&mut self, flow: u32, way: Way, full: bool, is_error: bool) {
        let counts = &mut self.counts[flow as usize];
        match way {
            Way::Out | Way::In if is_error => counts.errors += u64::from(full),
            Way::Out | Way::In => counts.dropped_access += u64::from(full),
            Way::Back | Way::Home => counts.back_lost += 1,
        }
    }
}

//! Calls over sockets: who speaks when the plan says so, who listens, and when what was heard.
//!
//! One thread serves both ends of all calls. A packet begins with its number and the time at which it was made; on UDP
//! they stand in front of the speech, as RTP does, and on a stream in its first octets. On TCP a packet is a record of its
//! own (`MSG_EOR`), so that a segment is a packet as in the simulator, and the kernel is given one when it has sent all
//! before: what waits, waits here, and the oldest is thrown away when there are too many.

use crate::virtual_time::instant;
use guestright_emulator::{Lateness, Ready, Urgency, Wait, make_urgent, tcp};
use guestright_engine::Instant as Moment;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Octets in front of speech on UDP: a number and a time, as long as a header of RTP (RFC 3550, section 5.1).
pub(crate) const LABEL_BYTES: usize = 12;

/// Below the emulator's.
const PRIORITY: u8 = 20;
/// How often a kernel that paces what it sends (BBR) is asked for room: it tells of room only when it hears from the other
/// side.
const ASKED_EVERY: Duration = Duration::from_millis(2);
/// As much as is read at once.
const READ_MAX: usize = 16 << 10;
/// The token of a near socket is so much above that of its far one.
const NEAR: u64 = 1 << 32;

/// Both ends of a flow.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) near: OwnedFd,
    pub(crate) far: OwnedFd,
}

/// Which ends of the calls are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Both,
    /// The near one, which speaks.
    Speaking,
    /// The far one, which listens. When the other end of a stream has gone, nothing more comes.
    Listening,
}

/// What speaks over what.
#[derive(Debug)]
pub(crate) struct Voice {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) ends: Ends,
    /// Whether they are streams.
    pub(crate) is_stream: bool,
    pub(crate) packet_bytes: usize,
    pub(crate) send_buffer: usize,
    /// When each call speaks, from the beginning of the run.
    pub(crate) arrivals: Vec<Vec<Moment>>,
}

/// When a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

/// A packet was heard; times are from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) flow: u32,
    pub(crate) number: u32,
    pub(crate) at: Moment,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Spoken {
    /// In the order in which they were heard.
    pub(crate) deliveries: Vec<Delivery>,
    /// Of each call: packets that were thrown away unsent.
    pub(crate) thrown: Vec<u64>,
    /// Of each call: packets that waited to be sent at the end.
    pub(crate) waiting: Vec<u64>,
    /// Of each call, what its TCP tells of itself at the end.
    pub(crate) tcp: Vec<Option<tcp::Info>>,
    /// Packets that were not what had been sent.
    pub(crate) garbled: u64,
    /// How late packets were made.
    pub(crate) lateness: Lateness,
    pub(crate) urgency: Urgency,
    /// The congestion control of the first call, as the kernel names it.
    pub(crate) congestion: Option<String>,
}

#[derive(Debug)]
struct Line {
    pair: Pair,
    /// Numbers of packets that wait.
    queue: VecDeque<u32>,
    /// The rest of a record that the kernel took in part.
    rest: Vec<u8>,
    /// What was read of a record.
    inbox: Vec<u8>,
    is_asking: bool,
    thrown: u64,
}

struct Desk<'a> {
    voice: &'a Voice,
    lines: Vec<Line>,
    wait: Wait,
    span: Span,
    deliveries: Vec<Delivery>,
    garbled: u64,
    buffer: Vec<u8>,
}

impl Voice {
    /// Speaks and listens until the end.
    ///
    /// # Errors
    /// If the kernel refuses to wait, or a socket fails for good.
    pub(crate) fn run(mut self, span: Span) -> io::Result<Spoken> {
        let urgency = make_urgent(PRIORITY);
        let wait = Wait::new()?;
        if self.ends != Ends::Speaking {
            for (pair, token) in self.pairs.iter().zip(0..) {
                wait.add(&pair.far, token, false)?;
            }
        }
        let lines = std::mem::take(&mut self.pairs).into_iter().map(Line::new).collect();
        let mut desk = Desk {
            voice: &self,
            lines,
            wait,
            span,
            deliveries: vec![],
            garbled: 0,
            buffer: vec![0; READ_MAX],
        };
        let lateness = desk.serve()?;
        let (thrown, waiting) = desk.lines.iter().map(|line| (line.thrown, line.queue.len() as u64)).unzip();
        let info = |line: &Line| if self.is_stream { tcp::info(&line.pair.near).ok() } else { None };
        let tcp = desk.lines.iter().map(info).collect();
        let congestion = desk.lines.first().and_then(|line| tcp::congestion(&line.pair.near).ok());
        let Desk { deliveries, garbled, .. } = desk;
        Ok(Spoken { deliveries, thrown, waiting, tcp, garbled, lateness, urgency, congestion })
    }
}

impl Line {
    fn new(pair: Pair) -> Self {
        Self { pair, queue: VecDeque::new(), rest: vec![], inbox: vec![], is_asking: false, thrown: 0 }
    }
}

impl Desk<'_> {
    fn serve(&mut self) -> io::Result<Lateness> {
        let mut lateness = Lateness::default();
        let mut plan: Vec<(Moment, u32, u32)> = Vec::new();
        let speaks = self.voice.ends != Ends::Listening;
        for (flow, times) in (0..).zip(&self.voice.arrivals).filter(|_| speaks) {
            plan.extend((0..).zip(times).map(|(number, at)| (*at, flow, number)));
        }
        plan.sort_unstable();
        let mut plan = plan.into_iter().peekable();
        let mut ready = Vec::new();
        loop {
            let now = Instant::now();
            if now >= self.span.end {
                return Ok(lateness);
            }
            while let Some((at, flow, number)) = plan.next_if(|(at, ..)| self.time(*at) <= now) {
                lateness.note(now.saturating_duration_since(self.time(at)));
                self.speak(flow as usize, number)?;
            }
            self.ask_again()?;
            let is_waiting = self.lines.iter().any(|line| line.is_asking);
            let next = plan.peek().map_or(self.span.end, |(at, ..)| self.time(*at));
            let next = if is_waiting { next.min(now + ASKED_EVERY) } else { next };
            self.wait.wait(Some(next.min(self.span.end)), &mut ready)?;
            for Ready { token, readable, writable } in ready.drain(..) {
                match (token.checked_sub(NEAR), readable, writable) {
                    (Some(flow), _, true) => self.send(line_index(flow))?,
                    (None, true, _) => self.listen(line_index(token))?,
                    _ => {}
                }
            }
        }
    }

    fn time(&self, at: Moment) -> Instant {
        self.span.begin + Duration::from_nanos(at.0)
    }

    /// A packet is made.
    fn speak(&mut self, flow: usize, number: u32) -> io::Result<()> {
        if !self.voice.is_stream {
            let packet = self.packet(flow, number, LABEL_BYTES + self.voice.packet_bytes);
            match rustix::net::send(&self.lines[flow].pair.near, &packet, rustix::net::SendFlags::DONTWAIT) {
                Ok(_) => {}
                // No room, or nobody there: it is gone, as UDP has it.
                Err(_) => self.lines[flow].thrown += 1,
            }
            return Ok(());
        }
        let line = &mut self.lines[flow];
        line.queue.push_back(number);
        self.send(flow)?;
        // The kernel has one more that it has not sent; that cannot be taken back.
        let line = &mut self.lines[flow];
        let room = self.voice.send_buffer.saturating_sub(1);
        while line.queue.len() > room {
            line.queue.pop_front();
            line.thrown += 1;
        }
        Ok(())
    }

    /// Gives the kernel what it has room for.
    fn send(&mut self, flow: usize) -> io::Result<()> {
        loop {
            if self.lines[flow].rest.is_empty() {
                let Some(number) = self.lines[flow].queue.front().copied() else { break };
                let packet = self.packet(flow, number, self.voice.packet_bytes);
                let line = &mut self.lines[flow];
                match tcp::write_record(&line.pair.near, &packet) {
                    Ok(taken) => {
                        line.queue.pop_front();
                        line.rest = packet[taken..].to_vec();
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            } else {
                let line = &mut self.lines[flow];
                match tcp::write_record(&line.pair.near, &line.rest) {
                    Ok(taken) => drop(line.rest.drain(..taken)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        let line = &mut self.lines[flow];
        let asks = !line.queue.is_empty() || !line.rest.is_empty();
        if asks != line.is_asking {
            line.is_asking = asks;
            let token = NEAR + flow as u64;
            if asks {
                self.wait.add(&line.pair.near, token, true)?;
            } else {
                self.wait.remove(&line.pair.near)?;
            }
        }
        Ok(())
    }

    /// Asks those again that wait for room.
    fn ask_again(&mut self) -> io::Result<()> {
        for flow in 0..self.lines.len() {
            if self.lines[flow].is_asking {
                self.send(flow)?;
            }
        }
        Ok(())
    }

    /// Takes what has come in.
    fn listen(&mut self, flow: usize) -> io::Result<()> {
        loop {
            let length = match rustix::io::read(&self.lines[flow].pair.far, self.buffer.as_mut_slice()) {
                Ok(0) if self.voice.is_stream && self.voice.ends == Ends::Listening => {
                    return self.wait.remove(&self.lines[flow].pair.far);
                }
                Ok(0) if self.voice.is_stream => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => length,
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
                Err(rustix::io::Errno::INTR) => continue,
                // An ICMP about something that was sent; here, nothing is.
                Err(_) if !self.voice.is_stream => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let now = Instant::now();
            if now > self.span.end {
                return Ok(());
            }
            if self.voice.is_stream {
                let mut inbox = std::mem::take(&mut self.lines[flow].inbox);
                inbox.extend_from_slice(&self.buffer[..length]);
                let mut records = inbox.chunks_exact(self.voice.packet_bytes);
                for record in records.by_ref() {
                    self.hear(flow, record.first_chunk(), now);
                }
                self.lines[flow].inbox = records.remainder().to_vec();
            } else if length == LABEL_BYTES + self.voice.packet_bytes {
                self.hear(flow, self.buffer.first_chunk().copied().as_ref(), now);
            } else {
                self.garbled += 1;
            }
        }
    }

    fn hear(&mut self, flow: usize, label: Option<&[u8; LABEL_BYTES]>, now: Instant) {
        let known = label.and_then(|label| {
            let (number, time) = label.split_first_chunk::<4>()?;
            let number = u32::from_be_bytes(*number);
            let made = self.voice.arrivals[flow].get(number as usize)?;
            (time == made.0.to_be_bytes()).then_some(number)
        });
        let Some(number) = known else {
            self.garbled += 1;
            return;
        };
        let at = instant(now.saturating_duration_since(self.span.begin));
        self.deliveries.push(Delivery { flow: u32::try_from(flow).unwrap_or(u32::MAX), number, at });
    }

    /// A packet of a call, with its label.
    fn packet(&self, flow: usize, number: u32, length: usize) -> Vec<u8> {
        let made = self.voice.arrivals[flow].get(number as usize).map_or(0, |at| at.0);
        let mut packet = number.to_be_bytes().to_vec();
        packet.extend(made.to_be_bytes());
        packet.resize(length, 0);
        packet
    }
}

fn line_index(token: u64) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}

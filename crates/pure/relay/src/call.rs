use crate::end::End;
use crate::forward::Forward;
use crate::packet::Carried;
use crate::settings::{Limits, Protection, RelayError, SideSettings};
use crate::side::{Channel, Side};
use crate::statistics::{Refusal, Statistics};
use guestright_units::{Micros, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Events that wait to be fetched; more are not kept.
const EVENTS_MAX: usize = 16;

/// One call's media at a home.
///
/// It opens no socket and reads no clock. Whoever drives it does four things:
///
/// 1. makes it with what is known of the two sides, and gives it what is agreed on later ([`update`](Self::update),
///    [`update_both`](Self::update_both));
/// 2. gives it every datagram with the side and the port that it came in on ([`handle_datagram`](Self::handle_datagram)),
///    and sends what the [`Forward`] says: the datagram itself if it is `unchanged`, else what was written to `out`;
/// 3. calls [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is reached;
/// 4. drains [`poll_event`](Self::poll_event) after that. Events that nobody fetches are dropped in the end.
///
/// ```
/// use guestright_relay::{Call, Channel, Limits, Protection, Side, SideSettings, Sources};
/// use guestright_units::Time;
///
/// let plain = |address: &str| SideSettings {
///     media: Some(address.parse().expect("an address")),
///     sources: Sources::Signalled,
///     protection: Protection::Plain,
///     ..SideSettings::closed()
/// };
/// let (alice, bob) = ("192.0.2.1:4000", "198.51.100.2:5000");
/// let mut call = Call::new(Limits::default(), plain(alice), plain(bob), Time(0))?;
/// let (rtp, mut out) = ([0x80, 0, 0, 1, 0, 0, 0, 160, 0, 0, 0, 7, 0xff], Vec::new());
/// let from = alice.parse()?;
/// let forward = call.handle_datagram(Side::A, Channel::Media, from, &rtp, &mut out, Time(20_000));
/// let forward = forward.expect("it is passed on");
/// assert_eq!((forward.side, forward.to, forward.unchanged), (Side::B, bob.parse()?, true));
/// assert!(call.poll_event().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Call {
    limits: Limits,
    a: End,
    b: End,
    events: VecDeque<Event>,
    /// A packet between two protections; empty between two datagrams, but for its memory.
    opened: Vec<u8>,
    /// When silence is looked at next.
    look_at: Time,
}

/// What happened to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something acceptable came from a side: for the first time, or after [`Event::Silent`].
    Active { side: Side },
    /// A side's datagrams come from another address than before, and go there now.
    Moved {
        side: Side,
        /// Its media or its reports.
        channel: Channel,
        to: SocketAddr,
    },
    /// Nothing acceptable has come from a side for [`Limits::silent_after`].
    Silent { side: Side },
}

/// A datagram that has come in, and how.
struct Arrival<'a> {
    side: Side,
    channel: Channel,
    from: SocketAddr,
    datagram: &'a [u8],
    now: Time,
}

impl Call {
    /// A call's media begin.
    ///
    /// # Errors
    /// If the two sides do not make sense.
    pub fn new(limits: Limits, a: SideSettings, b: SideSettings, now: Time) -> Result<Self, RelayError> {
        compatible(&a, &b)?;
        let (a, b) = (End::new(Side::A, a, &limits, now)?, End::new(Side::B, b, &limits, now)?);
        Ok(Self {
            limits,
            a,
            b,
            events: VecDeque::new(),
            opened: Vec::new(),
            look_at: now + limits.silent_after,
        })
    }

    /// A side has agreed on something else: a new offer or answer. Addresses that are signalled again stay followed,
    /// and keys that are the same keep their counters; keys that are gone still open for [`Limits::rekey_grace`].
    ///
    /// # Errors
    /// If it makes no sense. Then nothing has changed.
    pub fn update(&mut self, side: Side, settings: SideSettings, now: Time) -> Result<(), RelayError> {
        match side {
            Side::A => compatible(&settings, &self.b.settings)?,
            Side::B => compatible(&self.a.settings, &settings)?,
        }
        let limits = self.limits;
        self.end_mut(side).update(side, settings, &limits, now)
    }

    /// Both sides have agreed on something else.
    ///
    /// # Errors
    /// If it makes no sense. Then nothing has changed.
    pub fn update_both(&mut self, a: SideSettings, b: SideSettings, now: Time) -> Result<(), RelayError> {
        compatible(&a, &b)?;
        b.validate(Side::B)?;
        let limits = self.limits;
        self.a.update(Side::A, a, &limits, now)?;
        self.b.update(Side::B, b, &limits, now)
    }

    /// What a side agreed on last.
    #[must_use]
    pub fn settings(&self, side: Side) -> &SideSettings {
        &self.end(side).settings
    }

    /// A datagram has come in. If it is to be passed on and not [`Forward::unchanged`], `out` holds what is to be
    /// sent; its memory is kept and used again.
    ///
    /// # Errors
    /// Why it is not passed on. It has been counted.
    pub fn handle_datagram(
        &mut self,
        side: Side,
        channel: Channel,
        from: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<u8>,
        now: Time,
    ) -> Result<Forward, Refusal> {
        let passed = self.pass(&Arrival { side, channel, from, datagram, now }, out);
        let counters = &mut self.end_mut(side).statistics;
        match passed {
            Ok(_) => {
                counters.passed += 1;
                counters.passed_bytes += u64::try_from(datagram.len()).unwrap_or(u64::MAX);
            }
            Err(refusal) => counters.refused[refusal as usize] += 1,
        }
        passed
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        for side in [Side::A, Side::B] {
            let silent_after = self.limits.silent_after;
            let end = self.end_mut(side);
            end.expire(now);
            if !end.reported_silent && now.since(end.last_received) >= silent_after {
                (end.silent, end.reported_silent) = (true, true);
                self.report(Event::Silent { side });
            }
        }
        self.look_at = now + Micros(self.limits.silent_after.0.min(1_000_000));
    }

    /// When [`Call::handle_timeout`] is wanted next.
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        self.look_at
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What has been carried so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics { a: self.a.statistics(), b: self.b.statistics() }
    }

    fn pass(&mut self, arrival: &Arrival<'_>, out: &mut Vec<u8>) -> Result<Forward, Refusal> {
        let Arrival { side, channel, from, datagram, now } = *arrival;
        let (near, far) = match side {
            Side::A => (&mut self.a, &mut self.b),
            Side::B => (&mut self.b, &mut self.a),
        };
        if near.settings.protection == Protection::Closed {
            return Err(Refusal::Closed);
        }
        if datagram.len() > self.limits.datagram_bytes_max {
            return Err(Refusal::Oversized);
        }
        let sender = near.admit(channel, from, now)?;
        let (carried, opened) = near.open(datagram, out, now)?;
        let moved = near.accept(channel, from, sender, carried, now)?;
        let fresh = std::mem::replace(&mut near.silent, false);
        near.reported_silent = false;
        near.last_received = now;
        let towards = match carried {
            Carried::Rtcp(_) => Channel::Control,
            // What is neither goes the way it came.
            Carried::Other => channel,
            Carried::Rtp(_) | Carried::Stun | Carried::KeepAlive => Channel::Media,
        };
        let forward = if opened {
            // What was opened is read from one buffer while it is protected into the other one.
            std::mem::swap(out, &mut self.opened);
            let forward = far.hand_over(side.other(), towards, carried, &self.opened, out);
            if forward.is_ok_and(|forward| forward.unchanged) {
                std::mem::swap(out, &mut self.opened);
            }
            forward.map(|forward| Forward { unchanged: false, ..forward })
        } else {
            far.hand_over(side.other(), towards, carried, datagram, out)
        };
        if moved {
            self.report(Event::Moved { side, channel, to: from });
        }
        if fresh {
            self.report(Event::Active { side });
        }
        forward
    }

    fn report(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }

    fn end(&self, side: Side) -> &End {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }
}

/// Whether two sides can be one call's.
fn compatible(a: &SideSettings, b: &SideSettings) -> Result<(), RelayError> {
    let opaque = |settings: &SideSettings| settings.protection == Protection::Opaque;
    let open = |settings: &SideSettings| settings.protection == Protection::Closed;
    match (opaque(a), opaque(b)) {
        (true, false) if !open(b) => Err(RelayError::HalfOpaque { side: Side::A }),
        (false, true) if !open(a) => Err(RelayError::HalfOpaque { side: Side::B }),
        _ => Ok(()),
    }
}

//! What a call keeps of one side: its addresses, its keys, its rates and its streams.

use crate::bucket::Bucket;
use crate::forward::Forward;
use crate::guard::Guard;
use crate::packet::{Carried, classify};
use crate::settings::{Limits, Protection, RelayError, SideSettings, Sources};
use crate::side::{Channel, Side};
use crate::statistics::{Refusal, SideStatistics};
use crate::stream::Stream;
use guestright_units::{Micros, Time};
use guestright_voice::rtp::Header;
use std::net::SocketAddr;

/// Whose datagram it is, as far as its address tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The one that we send to.
    Known,
    /// Another address that the rules allow.
    Stranger,
}

/// The other end of one channel.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    signalled: Option<SocketAddr>,
    /// Where datagrams come from, if that is known.
    latched: Option<SocketAddr>,
    last_received: Time,
    /// How many datagrams went there since it was signalled and before anything came from there.
    unanswered: u32,
}

/// What a call keeps of one side.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) settings: SideSettings,
    guard: Option<Guard>,
    media: Peer,
    control: Peer,
    rate: Bucket,
    strangers: Bucket,
    streams: Vec<Stream>,
    reporters: Vec<u32>,
    streams_max: usize,
    latch_after: Micros,
    unanswered_max: u32,
    /// When something acceptable came last; at first, when the call began.
    pub(crate) last_received: Time,
    /// Nothing acceptable has come yet, or not for long.
    pub(crate) silent: bool,
    pub(crate) reported_silent: bool,
    pub(crate) statistics: SideStatistics,
}

impl End {
    pub(crate) fn new(
        side: Side,
        settings: SideSettings,
        limits: &Limits,
        now: Time,
    ) -> Result<Self, RelayError> {
        let mut end = Self {
            settings: SideSettings::closed(),
            guard: None,
            media: Peer::default(),
            control: Peer::default(),
            rate: Bucket::new(limits.rate_max, limits.burst_max),
            strangers: Bucket::new(limits.strangers_rate_max, limits.strangers_rate_max / 10),
            streams: Vec::new(),
            reporters: Vec::new(),
            streams_max: limits.streams_max,
            latch_after: limits.latch_after,
            unanswered_max: limits.unanswered_max,
            last_received: now,
            silent: true,
            reported_silent: false,
            statistics: SideStatistics::default(),
        };
        end.update(side, settings, limits, now)?;
        Ok(end)
    }

    /// Takes over what was signalled; nothing is changed if it makes no sense.
    pub(crate) fn update(
        &mut self,
        side: Side,
        settings: SideSettings,
        limits: &Limits,
        now: Time,
    ) -> Result<(), RelayError> {
        settings.validate(side)?;
        // Without SRTP the contexts stay: the same keys may come back, and must find their counters.
        if let Protection::Srtp(keys) = &settings.protection {
            match &mut self.guard {
                Some(guard) => guard.renew(keys, now + limits.rekey_grace),
                None => self.guard = Some(Guard::new(keys)),
            }
        }
        self.media.signal(settings.media, settings.sources);
        self.control.signal(settings.control_address(), settings.sources);
        self.settings = settings;
        Ok(())
    }

    /// Whether a datagram from there may be looked at.
    pub(crate) fn admit(&mut self, channel: Channel, from: SocketAddr, now: Time) -> Result<Sender, Refusal> {
        let sources = self.settings.sources;
        let peer = self.peer(channel);
        if !sources.allow(from, peer.signalled) {
            return Err(Refusal::WrongSource);
        }
        let known = peer.latched == Some(from) || peer.signalled == Some(from);
        let (sender, bucket) = match known {
            true => (Sender::Known, &mut self.rate),
            false => (Sender::Stranger, &mut self.strangers),
        };
        if bucket.admit(now) { Ok(sender) } else { Err(Refusal::RateExceeded) }
    }

    /// Counts what was opened, and follows its sender. Whether the sender is another one than before.
    pub(crate) fn accept(
        &mut self,
        channel: Channel,
        from: SocketAddr,
        sender: Sender,
        carried: Carried,
        now: Time,
    ) -> Result<bool, Refusal> {
        if matches!(self.settings.protection, Protection::Srtp(_)) {
            let newest = self.count(carried, now);
            return Ok(self.follow(channel, from, newest, now));
        }
        let moved = self.follow(channel, from, false, now);
        if sender == Sender::Stranger && self.peer(channel).latched != Some(from) {
            return Err(Refusal::WrongSource);
        }
        self.count(carried, now);
        Ok(moved)
    }

    /// Time has passed.
    pub(crate) fn expire(&mut self, now: Time) {
        if let Some(guard) = &mut self.guard {
            guard.expire(now);
        }
    }

    /// Follows the sender of a datagram that was acceptable and came from an allowed address. `newest` is whether it
    /// was proven to be newer than everything before it. Whether the sender is another one than before.
    fn follow(&mut self, channel: Channel, from: SocketAddr, newest: bool, now: Time) -> bool {
        let latch_after = self.latch_after;
        let peer = self.peer(channel);
        if peer.latched == Some(from) {
            peer.last_received = now;
            return false;
        }
        let free = peer.latched.is_none() || now.since(peer.last_received) >= latch_after;
        if !(free || newest || peer.signalled == Some(from)) {
            return false;
        }
        let moved = peer.latched.or(peer.signalled) != Some(from);
        (peer.latched, peer.last_received) = (Some(from), now);
        moved
    }

    /// Where this side's next datagram of a channel goes.
    fn destination(&mut self, channel: Channel) -> Result<SocketAddr, Refusal> {
        let (sources, unanswered_max) = (self.settings.sources, self.unanswered_max);
        let peer = self.peer(channel);
        // Without a signalled address the side wants nothing, whatever it sends itself.
        let signalled = peer.signalled.ok_or(Refusal::NoDestination)?;
        if let Some(latched) = peer.latched {
            return Ok(latched);
        }
        // A side that says where it is, and is known to be elsewhere, is believed when something has come from there.
        if !sources.allow(signalled, peer.signalled) {
            return Err(Refusal::NoDestination);
        }
        if peer.unanswered >= unanswered_max {
            return Err(Refusal::Unanswered);
        }
        peer.unanswered += 1;
        Ok(signalled)
    }

    /// The port that a channel's datagrams take on this side.
    fn wire(&self, channel: Channel) -> Channel {
        if self.settings.mux { Channel::Media } else { channel }
    }

    /// Looks at a datagram of this side, and takes its protection off. If there was one, `out` holds the packet then.
    pub(crate) fn open(
        &mut self,
        datagram: &[u8],
        out: &mut Vec<u8>,
        now: Time,
    ) -> Result<(Carried, bool), Refusal> {
        let carried = classify(datagram);
        let room = match carried {
            Carried::KeepAlive => return Err(Refusal::KeepAlive),
            Carried::Stun => return Err(Refusal::Stun),
            Carried::Rtp(header) => self.has_room(header.ssrc),
            Carried::Rtcp(ssrc) => self.reporters.contains(&ssrc) || self.reporters.len() < self.streams_max,
            Carried::Other => true,
        };
        match (&self.settings.protection, &mut self.guard) {
            (Protection::Opaque, _) => Ok((carried, false)),
            _ if carried == Carried::Other => Err(Refusal::Malformed),
            _ if !room => Err(Refusal::TooManyStreams),
            (Protection::Plain, _) => Ok((carried, false)),
            (Protection::Srtp(_), Some(guard)) => {
                guard.open(carried, datagram, out, now).map(|()| (carried, true))
            }
            (Protection::Srtp(_), None) | (Protection::Closed, _) => Err(Refusal::Closed),
        }
    }

    /// Protects a packet for this side, and says where it goes. If there is protection, `out` holds the packet then.
    pub(crate) fn hand_over(
        &mut self,
        side: Side,
        channel: Channel,
        carried: Carried,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Forward, Refusal> {
        let to = self.destination(channel)?;
        let unchanged = match (&self.settings.protection, &mut self.guard) {
            (Protection::Plain | Protection::Opaque, _) => true,
            (Protection::Srtp(_), Some(guard)) => {
                guard.seal(carried, packet, out)?;
                false
            }
            (Protection::Srtp(_), None) | (Protection::Closed, _) => return Err(Refusal::Closed),
        };
        Ok(Forward { side, channel: self.wire(channel), to, unchanged })
    }

    /// Counts what was acceptable; whether it is the newest of its stream.
    fn count(&mut self, carried: Carried, now: Time) -> bool {
        match carried {
            Carried::Rtp(header) => self.count_rtp(header, now),
            Carried::Rtcp(ssrc) => {
                self.statistics.rtcp += 1;
                if !self.reporters.contains(&ssrc) && self.reporters.len() < self.streams_max {
                    self.reporters.push(ssrc);
                }
                false
            }
            Carried::Stun | Carried::KeepAlive | Carried::Other => false,
        }
    }

    fn has_room(&self, ssrc: u32) -> bool {
        self.streams.iter().any(|stream| stream.ssrc == ssrc) || self.streams.len() < self.streams_max
    }

    fn count_rtp(&mut self, header: Header, now: Time) -> bool {
        let clock_hz = self.settings.clock_hz;
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.ssrc == header.ssrc) {
            let newest = stream.count(header, clock_hz, now);
            self.statistics.jitter = Micros(stream.jitter_us(clock_hz));
            return newest;
        }
        if self.streams.len() < self.streams_max {
            self.streams.push(Stream::begin(header, clock_hz, now));
        }
        true
    }

    pub(crate) fn statistics(&self) -> SideStatistics {
        let (mut received, mut expected) = (0, 0);
        for stream in &self.streams {
            received += stream.received();
            expected += stream.expected();
        }
        SideStatistics { rtp: received, rtp_expected: expected, ..self.statistics }
    }

    fn peer(&mut self, channel: Channel) -> &mut Peer {
        match self.wire(channel) {
            Channel::Media => &mut self.media,
            Channel::Control => &mut self.control,
        }
    }
}

impl Peer {
    fn signal(&mut self, signalled: Option<SocketAddr>, sources: Sources) {
        let foreign = self.latched.is_some_and(|latched| !sources.allow(latched, signalled));
        if self.signalled != signalled || foreign {
            *self = Self { signalled, ..Self::default() };
        }
    }
}

impl Sources {
    fn allow(self, from: SocketAddr, signalled: Option<SocketAddr>) -> bool {
        match self {
            Self::Signalled => signalled == Some(from),
            Self::Address(ip) => ip == from.ip(),
            Self::Proven => true,
        }
    }
}

use crate::reports::Reception;
use guestright_wire::rtp::{Header, WidenSequence, WidenTimestamp};

/// The peer's source at present, and what we know of it.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    source: Option<Source>,
    /// A source that wants to be the peer's: it takes two packets in a row.
    candidate: Option<u32>,
    collisions: u32,
}

/// One numbering of packets and one media clock.
#[derive(Debug)]
pub(super) struct Source {
    ssrc: u32,
    pub(super) sequence: WidenSequence,
    pub(super) timestamp: WidenTimestamp,
    pub(super) reception: Reception,
    payload_type: Option<u8>,
    clock_rate: u32,
}

/// Whose packet this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The peer's.
    Peer,
    /// The peer's, which begins with it.
    First,
    /// The peer's, which has taken another source.
    Changed,
    /// Somebody's who is not the peer, so far.
    Stranger,
}

/// After so many collisions somebody is playing with us.
const COLLISIONS_MAX: u32 = 3;

impl Receiver {
    /// The first source is the peer's. Another takes its place when it sends twice without the old one in between.
    /// `clock_rate` is that of a source that begins.
    pub(super) fn choose_source(&mut self, header: &Header, clock_rate: u32) -> Origin {
        let origin = match &self.source {
            Some(source) if source.ssrc == header.ssrc => Origin::Peer,
            Some(_) if self.candidate != Some(header.ssrc) => Origin::Stranger,
            Some(_) => Origin::Changed,
            None => Origin::First,
        };
        self.candidate = (origin == Origin::Stranger).then_some(header.ssrc);
        if matches!(origin, Origin::First | Origin::Changed) {
            self.source = Some(Source::new(header, clock_rate));
        }
        origin
    }

    /// Counts a collision; whether there were few enough that it is worth a new number.
    pub(super) fn count_collision(&mut self) -> bool {
        let is_honest = self.collisions < COLLISIONS_MAX;
        self.collisions += u32::from(is_honest);
        is_honest
    }

    pub(super) fn source(&mut self) -> Option<&mut Source> {
        self.source.as_mut()
    }

    pub(super) fn ssrc(&self) -> Option<u32> {
        self.source.as_ref().map(|source| source.ssrc)
    }

    pub(super) fn payload_type(&self) -> Option<u8> {
        self.source.as_ref().and_then(|source| source.payload_type)
    }

    pub(super) fn reception(&mut self) -> Option<(u32, &mut Reception)> {
        self.source.as_mut().map(|source| (source.ssrc, &mut source.reception))
    }

    pub(super) fn look(&self) -> Option<&Reception> {
        self.source.as_ref().map(|source| &source.reception)
    }

    /// A narrow timestamp of the source, in µs of its media clock.
    pub(super) fn media(&self, timestamp: u32) -> Option<u64> {
        let source = self.source.as_ref()?;
        let wide = source.timestamp.estimate(u64::from(timestamp));
        u64::try_from(u128::from(wide) * 1_000_000 / u128::from(source.clock_rate.max(1))).ok()
    }

    pub(super) fn resume(&mut self) {
        if let Some(source) = &mut self.source {
            source.reception.restart_jitter();
        }
    }
}

impl Source {
    fn new(header: &Header, clock_rate: u32) -> Self {
        let mut sequence = WidenSequence::new();
        let first = sequence.widen(u64::from(header.sequence));
        Self {
            ssrc: header.ssrc,
            sequence,
            timestamp: WidenTimestamp::new(),
            reception: Reception::new(clock_rate, first),
            payload_type: None,
            clock_rate,
        }
    }

    pub(super) fn payload_type(&self) -> Option<u8> {
        self.payload_type
    }

    /// Another codec from now on; the one before, if there was one. A clock of another rate begins anew.
    pub(super) fn change_payload_type(&mut self, payload_type: u8, clock_rate: u32) -> Option<u8> {
        if self.clock_rate != clock_rate {
            self.clock_rate = clock_rate;
            self.timestamp = WidenTimestamp::new();
            self.reception.set_clock_rate(clock_rate);
        }
        self.payload_type.replace(payload_type)
    }
}

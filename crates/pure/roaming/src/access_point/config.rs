use crate::access_point::Address;
use crate::access_point::session::Session;
use guestright_receipt::Rules;
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, Time};

/// The limits by which an access point behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// At the latest after so long the next receipt is asked for (paper A, section 5.3: 5 s); up to a quarter sooner where that
    /// keeps the requests of several sessions apart ([`crate::spread`]).
    pub interval: Micros,
    /// At the latest after so many unsigned bytes the next receipt is asked for.
    pub volume: Bytes,
    /// How many bytes a visitor of another team may leave unsigned; at half of them the next receipt is asked for.
    pub window: Window,
    /// How long a visitor has to answer with a receipt; less than `interval`.
    pub receipt_deadline: Micros,
    /// After so long a request for a receipt is sent again.
    pub retry_after: Micros,
    /// How long the team server has to decide.
    pub decision_timeout: Micros,
    /// How soon the same visitor may have its case decided again.
    pub question_gap: Micros,
    /// After so long receipts go to the team server, at the latest; at the end of a session at once.
    pub flush_after: Micros,
    /// What a session is assumed to consume, for the decision.
    pub request: Bytes,
    /// How visitors are served while the team server cannot be asked; nothing: not at all. Never better than by the last
    /// answer that it gave about them.
    pub when_home_is_away: Option<ServiceClass>,
    /// What may be carried in a day for whom the team server could not be asked about.
    pub away_per_day: Bytes,
    /// How many visitors are served at a time.
    pub sessions_max: usize,
    /// How many stations may have joined the Wi-Fi by 802.1X, and how many of one team.
    pub stations_max: usize,
    pub team_stations_max: usize,
    /// How many questions to the team server may be open; the oldest gives way.
    pub pending_max: usize,
    /// How many messages may wait to be sent; what is due to strangers gives way first. Four for each session are enough.
    pub transmits_max: usize,
    /// How many events may wait to be fetched. News of refusals gives way; when there are so many others, visitors'
    /// messages are dropped unread.
    pub events_max: usize,
    /// Homes of visitors that have nothing but a tunnel: when and how often they are contacted.
    pub contacts: ContactLimits,
    /// Which receipts count.
    pub rules: Rules,
}

/// How many bytes a visitor of another team may leave unsigned: a share of what it has signed in the session, within
/// bounds. The firewall lets no more through until the next receipt comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// As long as it has signed for little.
    pub first: Bytes,
    /// The same, for one that has left unpaid within the last ten minutes.
    pub after_unpaid: Bytes,
    /// What it has signed for is divided by this.
    pub share: u64,
    /// However much it has signed for.
    pub most: Bytes,
}

impl Window {
    /// The same for everybody, whatever is signed.
    pub const fn fixed(bytes: Bytes) -> Self {
        Self { first: bytes, after_unpaid: bytes, share: 1, most: bytes }
    }

    /// How many bytes may be unsigned where so many are signed; `owed`: it has left unpaid lately.
    pub(super) fn of(self, signed: Bytes, owed: bool) -> Bytes {
        let first = if owed { self.after_unpaid } else { self.first };
        Bytes(signed.0 / self.share.max(1)).max(first).min(self.most.max(first))
    }
}

impl Default for Window {
    /// An eighth of what is signed, from 256 KiB (64 KiB after leaving unpaid) to 4 MB.
    fn default() -> Self {
        Self { first: Bytes(256 * 1_024), after_unpaid: Bytes(64 * 1_024), share: 8, most: Bytes(4_000_000) }
    }
}

/// Limits on connections to the homes of visitors, which bound what strangers can make an access point do to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactLimits {
    /// How many connections may be open that have not led to service (yet).
    pub unserved_max: usize,
    /// A connection that has not led to service after so long is given up.
    pub timeout: Micros,
    /// After a connection in vain the same visitor's same home is contacted again after so long; that doubles each time…
    pub again_after: Micros,
    /// …up to this.
    pub again_after_max: Micros,
    /// Connections a minute for one visitor.
    pub visitor_per_minute_max: u32,
    /// Connections a minute to one home.
    pub home_per_minute_max: u32,
    /// Connections a minute in all.
    pub per_minute_max: u32,
    /// A connection that was lost in a session is made again after so long.
    pub redial_after: Micros,
    /// A home that lost its connection in a session may leave it unpaid once in so long, and may begin another at once.
    pub pardon_gap: Micros,
    /// A tunnel that carries nothing for so long is closed: nobody says goodbye.
    pub idle: Micros,
}

impl Default for ContactLimits {
    /// 16 unserved, 15 s; again after 5 s, 10 s … 320 s; 6, 12 and 60 a minute; redialled after 0.5 s; one pardon
    /// an hour; idle after 180 s
    /// (WireGuard gives a session up then: its paper, section 6.1, `Reject-After-Time`).
    fn default() -> Self {
        Self {
            unserved_max: 16,
            timeout: Micros::from_seconds(15),
            again_after: Micros::from_seconds(5),
            again_after_max: Micros::from_seconds(320),
            visitor_per_minute_max: 6,
            home_per_minute_max: 12,
            per_minute_max: 60,
            redial_after: Micros::from_millis(500),
            pardon_gap: Micros::from_seconds(3_600),
            idle: Micros::from_seconds(180),
        }
    }
}

impl Config {
    /// Whether a session is over because its tunnel is silent.
    pub(super) fn is_idle(&self, address: Address, session: &Session, now: Time) -> bool {
        address.home.is_some() && now - session.counted_at >= self.contacts.idle
    }
}

impl Default for Config {
    /// 5 s or 25 MB, closed after 2.5 s without a receipt; 25 MB a day without the team server; 256 visitors; queues of
    /// 1,024.
    fn default() -> Self {
        Self {
            interval: Micros::from_seconds(5),
            volume: Bytes(25_000_000),
            window: Window::default(),
            receipt_deadline: Micros::from_millis(2_500),
            retry_after: Micros::from_millis(500),
            decision_timeout: Micros::from_seconds(3),
            question_gap: Micros::from_millis(200),
            flush_after: Micros::from_seconds(60),
            request: Bytes(1_000_000),
            when_home_is_away: Some(ServiceClass::Lowest),
            away_per_day: Bytes(25_000_000),
            sessions_max: 256,
            stations_max: 1_024,
            team_stations_max: 64,
            pending_max: 256,
            transmits_max: 1_024,
            events_max: 1_024,
            contacts: ContactLimits::default(),
            rules: Rules::default(),
        }
    }
}

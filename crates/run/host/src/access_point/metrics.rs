//! What an access point counts, and what it says when somebody asks for its metrics (design note 0015).
//!
//! Nothing is gathered while nobody asks; what the loop counts meanwhile costs it an addition.

use super::guard::Order;
use super::{HomeState, Loop, Settings};
use guestright_error::RunError;
use guestright_firewall::{MENDED, Traffic};
use guestright_metrics::{
    AccessPointFigures, Buckets, Carried, Directions, LayersInForce, OwnCertificate, PerClass, SessionEnds,
    Waits,
};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point::{Address, SessionStatus};
use guestright_roaming::message::Code;
use guestright_units::{Micros, Time, UnixSeconds};
use std::net::Ipv4Addr;
use tokio::sync::{mpsc, oneshot};

/// Somebody who waits for figures.
pub(super) type Asked = oneshot::Sender<AccessPointFigures>;
/// How many may wait.
const ASKED_MAX: usize = 4;
/// Whoever is not online by then has given up, and begins anew.
const ONLINE_WITHIN: Micros = Micros::from_seconds(30);
/// How many of those who wait are measured.
const WAITS_MAX: usize = 1_024;

/// What is counted while the access point runs.
#[derive(Debug)]
pub(super) struct Counts {
    opened: PerClass,
    ended: SessionEnds,
    carried: Carried<(Address, UnixSeconds)>,
    directions: Directions<Address>,
    waits: Waits<Address>,
    setups: Buckets,
    receipts: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            opened: PerClass::default(),
            ended: SessionEnds::default(),
            carried: Carried::default(),
            directions: Directions::default(),
            waits: Waits::new(WAITS_MAX, ONLINE_WITHIN),
            setups: Buckets::setups(),
            receipts: 0,
        }
    }
}

impl Counts {
    /// Somebody without a session has sent something.
    pub(super) fn note_message(&mut self, address: Address, message: &[u8], now: Time) {
        if message.starts_with(b"CONN ") {
            self.waits.begin(address, now);
        }
    }

    /// Somebody got nothing: the next message is another try.
    pub(super) fn note_refused(&mut self, address: Address, now: Time) {
        self.waits.end(&address, now);
    }

    /// The machine has given a session.
    pub(super) fn note_session(&mut self, class: ServiceClass) {
        self.opened.add(class, 1);
    }

    /// Packets pass.
    pub(super) fn note_online(&mut self, address: Address, now: Time) {
        if let Some(took) = self.waits.end(&address, now) {
            self.setups.observe(took);
        }
    }

    /// The firewall is asked for something.
    pub(super) fn note_order(&mut self, order: &Order) {
        if let Order::Open(address, class, _) | Order::Reclassify(address, class) = order {
            self.directions.begin(*address, *class);
        }
    }

    /// A guest who passes has carried so much in all.
    pub(super) fn note_traffic(&mut self, address: &Address, Traffic { up, down }: Traffic) {
        self.directions.look(address, up, down);
    }

    /// A guest passes no more, and has carried so much in all.
    pub(super) fn note_closed(&mut self, address: &Address, Traffic { up, down }: Traffic) {
        self.directions.end(address, up, down);
    }

    pub(super) fn note_receipt(&mut self) {
        self.receipts += 1;
    }

    /// A session is over.
    pub(super) fn note_end(&mut self, session: &SessionStatus, code: Code) {
        let SessionStatus { address, started, class, counted, signed, .. } = session;
        self.carried.end(&(*address, *started), *class, *counted, *signed);
        let ended = &mut self.ended;
        let count = match code {
            Code::Closed => &mut ended.left,
            Code::Unpaid => &mut ended.unpaid,
            Code::Refused => &mut ended.refused,
            Code::Certificate => &mut ended.certificate,
            Code::Malformed | Code::Receipt | Code::Busy | Code::NoSession => &mut ended.other,
        };
        *count += 1;
    }
}

/// Where monitoring programs come in.
#[derive(Debug)]
pub(super) struct Doors {
    #[cfg(feature = "metrics")]
    doors: guestright_scrape::Doors,
}

impl Doors {
    /// When it returns, the port is free again: the access point may begin anew at once.
    #[cfg_attr(not(feature = "metrics"), expect(clippy::unused_async, reason = "there are none"))]
    pub(super) async fn close(self) {
        #[cfg(feature = "metrics")]
        self.doors.close().await;
    }
}

/// Opens the doors, where the program has any; and what comes of them.
pub(super) fn open(
    settings: &Settings,
    visitors: (Ipv4Addr, u8),
) -> Result<(Doors, mpsc::Receiver<Asked>), RunError> {
    let (asks, asked) = mpsc::channel(ASKED_MAX);
    #[cfg(feature = "metrics")]
    let doors = crate::scrape::open_for_household(&settings.state, settings.metrics, asks, visitors)?;
    #[cfg(not(feature = "metrics"))]
    drop((settings, visitors, asks));
    let doors = Doors {
        #[cfg(feature = "metrics")]
        doors,
    };
    Ok((doors, asked))
}

/// The next one who asks; for ever if nobody can.
pub(super) async fn next(asked: &mut mpsc::Receiver<Asked>) -> Asked {
    match asked.recv().await {
        Some(reply) => reply,
        None => std::future::pending().await,
    }
}

/// Says what the loop knows.
pub(super) fn answer(this: &mut Loop, reply: Asked) {
    if cfg!(not(feature = "metrics")) {
        return; // Nobody can ask.
    }
    // The asker may have gone.
    let _ = reply.send(figures(this));
}

fn figures(this: &mut Loop) -> AccessPointFigures {
    let now = this.clock.now();
    let mut guests = PerClass::default();
    let mut for_everybody = 0;
    for session in this.machine.status() {
        guests.add(session.class, 1);
        for_everybody += u64::from(session.for_everybody && session.chain.is_none());
        let name = (session.address, session.started);
        this.counts.carried.look(name, session.class, session.counted, session.signed);
    }
    let certificate = this.own.certificate();
    let (condition, counts) = (&this.condition, &this.counts);
    let mended = MENDED.map(|part| (part, condition.mended.get(part).copied().unwrap_or_default()));
    let layers = condition.layers;
    AccessPointFigures {
        version: env!("CARGO_PKG_VERSION"),
        certificate: OwnCertificate {
            not_before: certificate.not_before(),
            not_after: certificate.not_after(),
            now: now.unix_seconds(),
        },
        home_up: this.home_state == HomeState::Up,
        guests,
        for_everybody,
        trials: count(this.guests.trials.gates().count()),
        sessions_max: count(this.settings.machine.sessions_max),
        opened: counts.opened.clone(),
        ended: counts.ended,
        carried: counts.carried.carried().clone(),
        uploaded: counts.directions.up().clone(),
        downloaded: counts.directions.down().clone(),
        signed: counts.carried.signed().clone(),
        refused: this.shown.refusals_counted().clone(),
        messages_refused: this.machine.refusals().clone(),
        setups: Some(counts.setups.clone()),
        receipts: counts.receipts,
        undelivered: count(this.machine.undelivered()),
        layers: LayersInForce {
            routing: layers.routing,
            static_filter: layers.static_filter,
            owned_table: layers.owned_table,
        },
        mended: mended.into(),
        has_trouble: condition.trouble.is_some() || this.refused.is_some(),
        dropped: this.dropped().into_iter().map(|(name, packets)| (name.to_owned(), packets)).collect(),
        away_left: this.machine.left_while_away().0,
        away_max: this.settings.machine.away_per_day.0,
        tunnels_used: this.allowance.map(|used| used.0),
        calls: this.calls.room().map(|room| (room.calls.into(), room.more.into())),
        ..AccessPointFigures::default()
    }
}

fn count(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time(1_000_000 + millis * 1_000)
    }

    #[test]
    fn a_guest_is_online_when_its_packets_pass() {
        let mut counts = Counts::default();
        let address = Address::new([2, 0, 0, 0, 0, 1], Ipv4Addr::new(10, 11, 0, 2));
        counts.note_message(address, b"CONN P2PWNC/3.0\r\n", at(0));
        counts.note_message(address, b"CONN P2PWNC/3.0\r\n", at(500));
        counts.note_message(address, b"RCPT P2PWNC/3.0\r\n", at(600));
        counts.note_online(address, at(800));
        assert_eq!(counts.setups.count(), 1);
        assert!((counts.setups.sum() - 0.8).abs() < 1e-9, "{}", counts.setups.sum());
        counts.note_message(address, b"CONN P2PWNC/3.0\r\n", at(1_000));
        counts.note_refused(address, at(1_100));
        counts.note_online(address, at(1_200));
        assert_eq!(counts.setups.count(), 1, "a session of its own accord is not waited for");
    }
}

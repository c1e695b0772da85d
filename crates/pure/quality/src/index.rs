//! How timely the packets of a flow are: the indices of real-time performance.
//!
//! Paper C (section 4.3) calls "timely received packets" over "packets sent by the application" the real-time performance
//! index, and a packet delayed that comes more than a threshold T after the one before it. The words admit several
//! readings, and the paper's findings depend on which:
//!
//! | [`Indices`] | timely is | over |
//! | --- | --- | --- |
//! | `raw` | received within T of the packet before it | packets that the application made |
//! | `sent` | the same | transmissions of packets, again or not |
//! | `gap` | (time between arrivals) − (time between their making) is at most T | packets made |
//! | `deadline` | heard within T of being made | packets made |
//! | `network` | across the network within T, each transmission by itself; what had come before does not count | packets made |
//!
//! The first packet of a flow has none before it: it is timely for `raw`, `sent` and `gap`.

use guestright_units::{Micros, Time};
use serde::Serialize;

/// What a flow has done, counted one packet at a time. Allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowAccount {
    threshold: Micros,
    /// When the packet that was heard last had been made, and when it was heard.
    last: Option<(Time, Time)>,
    counts: FlowCounts,
}

/// Packets of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Packets that the application made.
    pub made: u64,
    /// Packets with speech that the transport put on the wire, again or for the first time.
    pub transmissions: u64,
    /// Of these, those that had been sent before.
    pub again: u64,
    /// Transmissions that arrived.
    pub arrived: u64,
    /// Transmissions that were lost. The others are on their way.
    pub lost: u64,
    /// Packets that the application heard.
    pub delivered: u64,
    /// Of these, those within the threshold of the one before.
    pub timely_raw: u64,
    /// Of these, those that came at most the threshold later after the one before than they were made.
    pub timely_gap: u64,
    /// Of these, those within the threshold of being made.
    pub timely_deadline: u64,
    /// Transmissions that brought something new and crossed the network within the threshold.
    pub timely_network: u64,
}

/// The real-time performance of a flow in each definition; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Indices {
    /// By times between arrivals, over packets made.
    pub raw: f64,
    /// By times between arrivals, over transmissions.
    pub sent: f64,
    /// By what was added to the time between two packets, over packets made.
    pub gap: f64,
    /// By the time from speaking to hearing, over packets made.
    pub deadline: f64,
    /// By the time across the network, over packets made.
    pub network: f64,
}

impl FlowAccount {
    /// A flow of which nothing is known, with threshold T.
    #[must_use]
    pub const fn new(threshold: Micros) -> Self {
        let counts = FlowCounts {
            made: 0,
            transmissions: 0,
            again: 0,
            arrived: 0,
            lost: 0,
            delivered: 0,
            timely_raw: 0,
            timely_gap: 0,
            timely_deadline: 0,
            timely_network: 0,
        };
        Self { threshold, last: None, counts }
    }

    /// The application has made `packets`.
    pub const fn made(&mut self, packets: u64) {
        self.counts.made += packets;
    }

    /// `packets` were put on the wire; `again` of them had been before.
    pub const fn transmitted(&mut self, packets: u64, again: u64) {
        self.counts.transmissions += packets;
        self.counts.again += again;
    }

    /// A transmission has arrived, `crossing` after it was sent; `fresh`: what it carries had not come before.
    pub const fn arrived(&mut self, crossing: Micros, fresh: bool) {
        self.counts.arrived += 1;
        self.counts.timely_network += (fresh && crossing.0 <= self.threshold.0) as u64;
    }

    /// `transmissions` were lost.
    pub const fn lost(&mut self, transmissions: u64) {
        self.counts.lost += transmissions;
    }

    /// The application hears a packet at `now` that was made at `made`. Gives the time between the two.
    pub const fn record_delivery(&mut self, made: Time, now: Time) -> Micros {
        let threshold = self.threshold.0;
        let delay = now.0.saturating_sub(made.0);
        let (raw, gap) = match self.last {
            None => (true, true),
            Some((made_before, delivered_before)) => {
                let between = now.0.saturating_sub(delivered_before.0);
                // A packet that was made earlier than the one heard before it (UDP may turn them round) adds all of the time.
                let made_between = made.0.saturating_sub(made_before.0);
                (between <= threshold, between <= made_between.saturating_add(threshold))
            }
        };
        self.last = Some((made, now));
        self.counts.delivered += 1;
        self.counts.timely_raw += raw as u64;
        self.counts.timely_gap += gap as u64;
        self.counts.timely_deadline += (delay <= threshold) as u64;
        Micros(delay)
    }

    /// How many packets were timely so far, and how many there were.
    #[must_use]
    pub const fn counts(&self) -> FlowCounts {
        self.counts
    }
}

impl FlowCounts {
    /// The indices; `None` if the application made nothing.
    #[must_use]
    pub fn indices(&self) -> Option<Indices> {
        Some(Indices {
            raw: share(self.timely_raw, self.made)?,
            // With nothing sent, nothing is timely.
            sent: share(self.timely_raw, self.transmissions).unwrap_or(0.0),
            gap: share(self.timely_gap, self.made)?,
            deadline: share(self.timely_deadline, self.made)?,
            network: share(self.timely_network, self.made)?,
        })
    }

    /// The paper's delayed packets over packets heard: those that came later than the threshold after the one before.
    /// `None` if nothing was heard.
    #[must_use]
    pub fn delayed_rate(&self) -> Option<f64> {
        share(self.delivered - self.timely_raw, self.delivered)
    }

    /// Packets heard later than the threshold after they were made, over packets heard. `None` if nothing was heard.
    #[must_use]
    pub fn late_rate(&self) -> Option<f64> {
        share(self.delivered - self.timely_deadline, self.delivered)
    }

    /// Transmissions that were lost, over transmissions. `None` if there were none.
    #[must_use]
    pub fn loss_rate(&self) -> Option<f64> {
        share(self.lost, self.transmissions)
    }

    /// Packets that were never heard, over packets made. `None` if none was made.
    #[must_use]
    pub fn undelivered_rate(&self) -> Option<f64> {
        share(self.made.saturating_sub(self.delivered), self.made)
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            made: self.made + other.made,
            transmissions: self.transmissions + other.transmissions,
            again: self.again + other.again,
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
            delivered: self.delivered + other.delivered,
            timely_raw: self.timely_raw + other.timely_raw,
            timely_gap: self.timely_gap + other.timely_gap,
            timely_deadline: self.timely_deadline + other.timely_deadline,
            timely_network: self.timely_network + other.timely_network,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(time: u64) -> Time {
        Time(time * 1_000)
    }

    fn account(threshold_ms: u64, packets: &[(u64, u64)]) -> FlowAccount {
        let mut account = FlowAccount::new(Micros(threshold_ms * 1_000));
        for (made, delivered) in packets {
            account.made(1);
            account.record_delivery(ms(*made), ms(*delivered));
        }
        account
    }

    /// (made, heard) in ms, and what is timely for raw, gap, deadline with a threshold of 100 ms.
    #[test]
    fn readings_differ_by_hand() {
        type Case = (&'static str, &'static [(u64, u64)], [u64; 3]);
        let cases: [Case; 6] = [
            ("nothing", &[], [0, 0, 0]),
            ("as it should be", &[(0, 50), (20, 70), (40, 90)], [3, 3, 3]),
            // The second is spoken after 500 ms of silence: that is no fault of the network, but late by the paper's words.
            ("a silence", &[(0, 50), (500, 550), (520, 570)], [2, 3, 3]),
            // A backlog: all come in time after one another, all long after they were spoken.
            ("a backlog", &[(0, 5_000), (20, 5_020), (40, 5_040)], [3, 3, 0]),
            // The second waits 150 ms more than the first did: 170 ms between the two.
            ("one is held up", &[(0, 50), (20, 220), (40, 230)], [2, 2, 1]),
            // Just at the threshold is in time.
            ("at the threshold", &[(0, 100), (20, 200), (100, 300)], [3, 3, 1]),
        ];
        for (name, packets, want) in cases {
            let counts = account(100, packets).counts();
            let got = [counts.timely_raw, counts.timely_gap, counts.timely_deadline];
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn each_index_has_its_own_denominator() {
        let mut account = FlowAccount::new(Micros(100_000));
        account.made(10);
        account.transmitted(4, 1);
        account.lost(1);
        account.arrived(Micros(30_000), true);
        account.arrived(Micros(100_001), true);
        account.arrived(Micros(30_000), false);
        account.record_delivery(ms(0), ms(30));
        account.record_delivery(ms(20), ms(131));
        let counts = account.counts();
        let want = Indices { raw: 0.1, sent: 0.25, gap: 0.2, deadline: 0.1, network: 0.1 };
        assert_eq!(counts.indices(), Some(Indices { deadline: 0.1, ..want }));
        // 131 − 30 = 101 ms after the one before; it was made 20 ms after it; 111 ms after it was made.
        assert_eq!((counts.timely_raw, counts.timely_gap, counts.timely_deadline), (1, 2, 1));
        assert_eq!((counts.delayed_rate(), counts.late_rate()), (Some(0.5), Some(0.5)));
        assert_eq!(counts.loss_rate(), Some(0.25));
        assert_eq!(counts.undelivered_rate(), Some(0.8));
        assert_eq!((counts.again, counts.arrived, counts.timely_network), (1, 3, 1));
    }

    #[test]
    fn of_nothing_there_is_no_index() {
        let mut account = FlowAccount::new(Micros(1));
        let none = account.counts();
        assert_eq!((none.indices(), none.delayed_rate(), none.loss_rate()), (None, None, None));
        account.made(5);
        let indices = account.counts().indices().unwrap();
        assert_eq!((indices.raw, indices.sent, account.counts().undelivered_rate()), (0.0, 0.0, Some(1.0)));
    }

    proptest! {
        #[test]
        fn a_longer_threshold_is_never_worse(
            spans in prop::collection::vec((0_u64..400, 0_u64..400), 1..100),
            threshold in 1_u64..400,
        ) {
            let (mut made, mut delivered) = (0, 0);
            let packets: Vec<(u64, u64)> = spans.iter().map(|(span, delay)| {
                made += span;
                delivered = (made + delay).max(delivered);
                (made, delivered)
            }).collect();
            let strict = account(threshold, &packets).counts();
            let mild = account(threshold + 50, &packets).counts();
            prop_assert!(strict.timely_raw <= mild.timely_raw);
            prop_assert!(strict.timely_gap <= mild.timely_gap);
            prop_assert!(strict.timely_deadline <= mild.timely_deadline);
            // What adds little to the time between two packets cannot be more than what adds nothing.
            prop_assert!(strict.timely_raw <= strict.timely_gap);
            prop_assert!(strict.timely_gap <= strict.delivered);
        }
    }
}

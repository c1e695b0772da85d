//! Calls of guests: how many there are by the counters, and how many more fit (design note 0018).

use super::Loop;
use guestright_airtime::{CallMeter, CallShape, Counted, Phy, Rate, Room};
use guestright_error::RunError;
use guestright_identity::KeyId;
use guestright_overview::{CALLERS_MAX, CallRoom, Count, Key};
use guestright_roaming::access_point::Address;
use guestright_units::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// `[radio]` in `ap.toml`: what the access point's radio is, as far as calls are concerned. Without this table nothing is
/// reckoned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// `a`, `b`, `g`, or `g-beside-b` where stations of 802.11b are near.
    standard: String,
    /// The rate of the stations that are far away, in Mb/s. A newer radio's goes for the next slower one of the standard.
    rate_mbps: f64,
    /// Whether calls go through a WireGuard tunnel, which makes their packets longer.
    #[serde(default = "through_tunnel")]
    tunnel: bool,
}

fn through_tunnel() -> bool {
    true
}

impl Radio {
    /// What the meter reckons with.
    ///
    /// # Errors
    /// There is no such standard or rate.
    pub fn check(&self) -> Result<(guestright_airtime::Radio, CallShape), RunError> {
        let phy = match self.standard.as_str() {
            "a" => Phy::a(),
            "b" => Phy::b(),
            "g" => Phy::g(),
            "g-beside-b" => Phy::g_beside_b(),
            got => {
                let error = format!("[radio] standard is {got:?}");
                return Err(RunError::config(error).with_hint("write a, b, g or g-beside-b"));
            }
        };
        if !(1.0..=10_000.0).contains(&self.rate_mbps) {
            let error = format!("[radio] rate_mbps is {}; it must be 1 to 10000", self.rate_mbps);
            return Err(RunError::config(error));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        let kbps = (self.rate_mbps * 1e3 + 0.5) as u32;
        let radio = guestright_airtime::Radio::new(phy);
        let data_rate = radio.nearest_rate(kbps);
        let shape = if self.tunnel { CallShape::G711.in_wireguard() } else { CallShape::G711 };
        Ok((guestright_airtime::Radio::new(Phy { data_rate, ..phy }), shape))
    }
}

/// The meter, where the household has said what its radio is.
#[derive(Debug, Default)]
pub(super) struct Calls {
    meter: Option<(CallMeter<Address>, Rate)>,
    now: Time,
}

impl Calls {
    /// The radio was checked with the other settings; of one that cannot be nothing is reckoned.
    pub(super) fn new(radio: Option<&Radio>) -> Self {
        let made = radio.and_then(|radio| radio.check().ok());
        let meter = made.map(|(radio, shape)| (CallMeter::new(radio, shape), radio.phy.data_rate));
        Self { meter, now: Time::default() }
    }

    /// Whether the firewall's counters of packets are wanted.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.meter.as_ref().is_some_and(|(meter, _)| meter.is_due(now))
    }

    /// The firewall has counted.
    pub(super) fn handle_counted(&mut self, counted: Vec<(Address, Counted)>, now: Time) {
        if let Some((meter, rate)) = &mut self.meter {
            meter.handle_counters(
                counted.into_iter().map(|(address, counted)| (address, counted, *rate)),
                now,
            );
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.now = now;
    }

    /// Nothing where the counters have not been read for a while: a meter that is broken stops no call.
    pub(super) fn room(&self) -> Option<Room> {
        self.meter.as_ref().and_then(|(meter, _)| meter.fresh_room(self.now))
    }

    /// For `status`.
    pub(super) fn status(&self) -> Value {
        let show = |room: Room| {
            let says = format!(
                "{} by the rhythm of packets, {} more fit; {:.0} % of the radio's time is used",
                room.calls,
                room.more,
                room.load * 100.0
            );
            json!({ "now": room.calls, "more": room.more, "load": room.load, "says": says })
        };
        self.room().map_or(Value::Null, show)
    }
}

/// For the home: how many calls fit, and which members it concerns.
pub(super) fn room(this: &Loop) -> Option<CallRoom> {
    let room = this.calls.room()?;
    let own = this.machine.team_id();
    let here = this.machine.status().into_iter().filter(|session| session.team == own && session.open);
    let mut members: Vec<Key> = here.map(|session| key(session.member)).collect();
    members.sort_unstable();
    members.dedup();
    members.truncate(CALLERS_MAX);
    let (now, more) = (Count::at_most_max(room.calls.into()), Count::at_most_max(room.more.into()));
    Some(CallRoom { now, more, members })
}

fn key(member: KeyId) -> Key {
    Key(member.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radio(standard: &str, rate_mbps: f64) -> Radio {
        Radio { standard: standard.to_owned(), rate_mbps, tunnel: true }
    }

    #[test]
    fn a_radio_that_cannot_be_is_refused_with_what_it_is() {
        for (wrong, sentence) in [
            (radio("n", 54.0), "[radio] standard is \"n\""),
            (radio("g", 0.0), "[radio] rate_mbps is 0; it must be 1 to 10000"),
            (radio("g", f64::NAN), "[radio] rate_mbps is NaN; it must be 1 to 10000"),
        ] {
            assert_eq!(wrong.check().unwrap_err().to_string(), sentence);
        }
    }

    #[test]
    fn the_rate_is_the_next_slower_one_of_the_standard() {
        let rate = |standard, mbps| radio(standard, mbps).check().unwrap().0.phy.data_rate;
        let rates = [rate("g", 144.4), rate("b", 54.0), rate("a", 13.5)];
        assert_eq!(rates, [Rate::Ofdm54, Rate::Cck11, Rate::Ofdm12]);
    }

    #[test]
    fn without_a_radio_nothing_is_reckoned() {
        let mut calls = Calls::new(None);
        assert!(!calls.is_due(Time(0)));
        calls.handle_counted(Vec::new(), Time(0));
        assert_eq!((calls.room(), calls.status()), (None, Value::Null));
    }
}

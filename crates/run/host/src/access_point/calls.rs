//! Calls of guests: how many there are by the counters, and how many more fit (design note 0018).

use super::Loop;
use super::stations::Stations;
use guestright_airtime::{
    Band, CallMeter, CallShape, Format, Guard, Ht, Mode, Phy, Rate, Room, Standard, Width,
};
use guestright_error::RunError;
use guestright_firewall::{MacAddress, Reading, Station};
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
    /// `a`, `b`, `g`, or `g-beside-b` where stations of 802.11b are near; `n`, `ac` or `ax`.
    standard: String,
    /// The rate of the stations that are far away, in Mb/s. One that the standard does not have goes for the next slower one.
    rate_mbps: f64,
    /// Of `n`, `ac` and `ax`: the channel's width, in MHz.
    #[serde(default = "narrow")]
    width_mhz: u32,
    /// Of `n`, `ac` and `ax`: the spatial streams of those stations.
    #[serde(default = "single")]
    streams: u8,
    /// Whether calls go through a WireGuard tunnel, which makes their packets longer.
    #[serde(default = "yes")]
    tunnel: bool,
    /// Of `a`, `b` and `g`: whether the kernel is asked for the rate of each guest's station. What it does not know counts with
    /// the rate above.
    #[serde(default = "yes")]
    measure: bool,
}

fn yes() -> bool {
    true
}

fn narrow() -> u32 {
    20
}

fn single() -> u8 {
    1
}

impl Radio {
    /// What the meter reckons with.
    ///
    /// # Errors
    /// There is no such standard, rate, width or number of streams.
    pub fn check(&self) -> Result<(guestright_airtime::Radio, CallShape), RunError> {
        if !(1.0..=10_000.0).contains(&self.rate_mbps) {
            let error = format!("[radio] rate_mbps is {}; it must be 1 to 10000", self.rate_mbps);
            return Err(RunError::config(error));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        let kbps = (self.rate_mbps * 1e3 + 0.5) as u32;
        let shape = if self.tunnel { CallShape::G711.in_wireguard() } else { CallShape::G711 };
        let format = match self.standard.as_str() {
            "n" => Format::Ht,
            "ac" => Format::Vht,
            "ax" => Format::He,
            _ => return Ok((self.legacy(kbps)?, shape)),
        };
        Ok((self.modern(format, kbps)?, shape))
    }

    fn modern(&self, format: Format, kbps: u32) -> Result<guestright_airtime::Radio, RunError> {
        let widths = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];
        let width = widths.into_iter().find(|width| width.mhz() == self.width_mhz);
        let slowest = width.and_then(|width| Mode::new(format, width, Guard::Ns800, self.streams, 0));
        let slowest = slowest.ok_or_else(|| {
            let Self { standard, width_mhz, streams, .. } = self;
            let error = format!("[radio] 802.11{standard} has no {width_mhz} MHz with {streams} streams");
            let hint = "write a width_mhz of 20 or 40, with ac and ax also 80 or 160, and streams from 1 to 4, with ac and ax to 8";
            RunError::config(error).with_hint(hint)
        })?;
        let mode = guestright_airtime::Radio::nearest_mode(slowest, kbps);
        Ok(guestright_airtime::Radio::of_ht(Ht::new(mode, Band::Ghz5)))
    }

    fn legacy(&self, kbps: u32) -> Result<guestright_airtime::Radio, RunError> {
        let phy = match self.standard.as_str() {
            "a" => Phy::a(),
            "b" => Phy::b(),
            "g" => Phy::g(),
            "g-beside-b" => Phy::g_beside_b(),
            got => {
                let error = format!("[radio] standard is {got:?}");
                return Err(RunError::config(error).with_hint("write a, b, g, g-beside-b, n, ac or ax"));
            }
        };
        let radio = guestright_airtime::Radio::new(phy);
        let data_rate = radio.nearest_rate(kbps);
        Ok(guestright_airtime::Radio::new(Phy { data_rate, ..phy }))
    }
}

/// The meter, where the household has said what its radio is.
#[derive(Debug, Default)]
pub(super) struct Calls {
    meter: Option<Meter>,
    now: Time,
}

#[derive(Debug)]
struct Meter {
    calls: CallMeter<Address>,
    radio: guestright_airtime::Radio,
    /// Whether the kernel is asked for rates.
    measures: bool,
    /// What it has said last.
    stations: Result<Stations, String>,
    /// Guests at the last count, and those of them whose rate the kernel says.
    guests: usize,
    measured: Vec<Rate>,
    /// Whether one of them is at a radio in a band that the stated standard does not have.
    is_elsewhere: bool,
}

impl Meter {
    fn station_of(&self, address: &Address) -> Option<&Station> {
        self.stations.as_ref().ok()?.get(&MacAddress::new(address.mac).ok()?)
    }

    /// The rate that the kernel says, as the next slower one of the standard.
    fn rate_of(&self, address: &Address) -> Option<Rate> {
        self.station_of(address)?.rate_kbps.map(|kbps| self.radio.nearest_rate(kbps))
    }

    /// 802.11a is above 4.9 GHz, b and g are at 2.4 GHz (IEEE 802.11-2020, annex E).
    fn is_elsewhere(&self, address: &Address) -> bool {
        let is_a = self.radio.phy.standard == Standard::A;
        let frequency = self.station_of(address).and_then(|station| station.frequency_mhz);
        frequency.is_some_and(|mhz| (mhz > 4_900) != is_a)
    }

    fn handle_counted(&mut self, passing: &[(Address, Reading)], now: Time) {
        let rates: Vec<_> = passing.iter().map(|(address, _)| self.rate_of(address)).collect();
        (self.guests, self.measured) = (rates.len(), rates.iter().flatten().copied().collect());
        self.is_elsewhere = passing.iter().any(|(address, _)| self.is_elsewhere(address));
        let stated = self.radio.phy.data_rate;
        let each = passing.iter().zip(rates);
        let each = each.map(|((address, it), rate)| (*address, it.counted, rate.unwrap_or(stated)));
        self.calls.handle_counters(each, now);
    }

    /// Where the rates come from, in a sentence.
    fn rates(&self) -> String {
        let stated = match &self.radio.ht {
            Some(ht) => format!("{} Mb/s, as stated", f64::from(ht.mode.kbps()) / 1e3),
            None => format!("{}, as stated", self.radio.phy.data_rate),
        };
        match &self.stations {
            _ if !self.measures => format!("everybody counts with {stated}"),
            Err(reason) => format!("everybody counts with {stated}: {reason}"),
            Ok(stations) if stations.is_empty() => {
                format!("everybody counts with {stated}: no station is at a radio of this computer")
            }
            Ok(_) => {
                let slowest = self.measured.iter().min_by_key(|rate| rate.kbps());
                let slowest = slowest.map(|rate| format!(", the slowest {rate}")).unwrap_or_default();
                let other =
                    if self.is_elsewhere { "; the radio is in another band than [radio] says" } else { "" };
                let (guests, measured) = (self.guests, self.measured.len());
                format!(
                    "of {guests} guests the radio says the rates of {measured}{slowest}; others count with {stated}{other}"
                )
            }
        }
    }
}

impl Calls {
    /// The radio was checked with the other settings; of one that cannot be nothing is reckoned.
    pub(super) fn new(radio: Option<&Radio>) -> Self {
        let measures = |made: &guestright_airtime::Radio| made.ht.is_none();
        let made = radio
            .and_then(|stated| stated.check().ok().map(|made| (made, stated.measure && measures(&made.0))));
        let meter = made.map(|((radio, shape), measures)| Meter {
            calls: CallMeter::new(radio, shape),
            radio,
            measures,
            stations: Ok(Stations::new()),
            guests: 0,
            measured: Vec::new(),
            is_elsewhere: false,
        });
        Self { meter, now: Time::default() }
    }

    /// Whether what the kernel's radios say of stations is wanted with the next reading.
    pub(super) fn wants_rates(&self, now: Time) -> bool {
        self.meter.as_ref().is_some_and(|meter| meter.measures && meter.calls.is_due(now))
    }

    /// The firewall has counted, more often than the meter looks; `stations` is what the kernel's radios have said with it. Where both
    /// are wanted, counts without stations wait for the next reading.
    pub(super) fn handle_reading(
        &mut self,
        passing: &[(Address, Reading)],
        stations: Option<Result<Stations, String>>,
        now: Time,
    ) {
        let Some(meter) = self.meter.as_mut().filter(|meter| meter.calls.is_due(now)) else { return };
        if meter.measures {
            let Some(stations) = stations else { return };
            meter.stations = stations;
        }
        meter.handle_counted(passing, now);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.now = now;
    }

    /// Nothing where the counters have not been read for a while: a meter that is broken stops no call.
    pub(super) fn room(&self) -> Option<Room> {
        self.meter.as_ref().and_then(|meter| meter.calls.fresh_room(self.now))
    }

    /// For `status`.
    pub(super) fn status(&self) -> Value {
        let (Some(meter), Some(room)) = (&self.meter, self.room()) else { return Value::Null };
        let says = format!(
            "{} by the rhythm of packets, {} more fit; {:.0} % of the radio's time is used",
            room.calls,
            room.more,
            room.load * 100.0
        );
        let measured: Vec<_> = meter.measured.iter().map(|rate| f64::from(rate.kbps()) / 1e3).collect();
        json!({
            "now": room.calls, "more": room.more, "load": room.load, "says": says,
            "measured_mbps": measured, "rates": meter.rates(),
        })
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
        Radio {
            standard: standard.to_owned(),
            rate_mbps,
            width_mhz: 20,
            streams: 1,
            tunnel: true,
            measure: true,
        }
    }

    #[test]
    fn a_radio_that_cannot_be_is_refused_with_what_it_is() {
        for (wrong, sentence) in [
            (radio("be", 54.0), "[radio] standard is \"be\""),
            (Radio { width_mhz: 80, ..radio("n", 54.0) }, "[radio] 802.11n has no 80 MHz with 1 streams"),
            (Radio { streams: 0, ..radio("ax", 54.0) }, "[radio] 802.11ax has no 20 MHz with 0 streams"),
            (Radio { width_mhz: 30, ..radio("ac", 54.0) }, "[radio] 802.11ac has no 30 MHz with 1 streams"),
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
    fn a_newer_radio_has_the_mode_next_below_the_rate() {
        let mcs = |radio: Radio| radio.check().unwrap().0.ht.unwrap().mode.mcs();
        let wide = Radio { width_mhz: 80, streams: 2, ..radio("ac", 400.0) };
        let all = [mcs(radio("n", 65.0)), mcs(radio("n", 64.0)), mcs(wide), mcs(radio("ax", 1.0))];
        // 80 MHz, two streams: MCS 4 has 351 Mb/s, MCS 5 468.
        assert_eq!(all, [7, 6, 4, 0]);
    }

    #[test]
    fn without_a_radio_nothing_is_reckoned() {
        let mut calls = Calls::new(None);
        calls.handle_reading(&[], None, Time(0));
        assert_eq!((calls.room(), calls.status()), (None, Value::Null));
    }

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

    /// Two guests, of whom the first one calls, after three seconds beside a radio that says this.
    fn counted(stations: Result<Stations, String>, mhz: &Radio) -> Calls {
        let mut calls = Calls::new(Some(mhz));
        let guest = |last| Address { mac: [2, 0, 0, 0, 0, last], ip: [10, 11, 0, last].into(), home: None };
        for second in 0..4 {
            let now = Time(0) + guestright_units::Micros::from_seconds(second);
            let count = guestright_airtime::Count { packets: 50 * second, bytes: 10_000 * second };
            let counted = guestright_airtime::Counted { up: count, down: count };
            let call = Reading { counted, ..Reading::default() };
            let passing = [(guest(1), call), (guest(2), Reading::default())];
            calls.handle_reading(&passing, Some(stations.clone()), now);
            calls.handle_timeout(now);
        }
        calls
    }

    fn station(rate_kbps: Option<u32>, mhz: u32) -> Stations {
        let station = guestright_firewall::Station { rate_kbps, frequency_mhz: Some(mhz) };
        [(MacAddress::new(MAC).unwrap(), station)].into()
    }

    #[test]
    fn a_rate_that_the_kernel_says_counts_and_the_stated_one_where_it_says_none() {
        let stated = radio("b", 11.0);
        let rates = |stations| counted(stations, &stated).status()["rates"].as_str().unwrap().to_owned();
        let is_load_at = |stations, rate| {
            let want = guestright_airtime::Radio::new(Phy::b()).call_load(CallShape::G711, rate);
            (counted(stations, &stated).room().unwrap().load - want).abs() < 1e-9
        };
        let slow = Ok(station(Some(2_000), 2_437));
        assert!(is_load_at(slow.clone(), Rate::Dsss2) && is_load_at(Ok(Stations::new()), Rate::Cck11));
        let sentence = "of 2 guests the radio says the rates of 1, the slowest 2 Mb/s; others count with 11 Mb/s, as stated";
        assert_eq!(rates(slow), sentence);
        let other = "; the radio is in another band than [radio] says";
        assert_eq!(rates(Ok(station(Some(2_000), 5_180))), format!("{sentence}{other}"));
        let unknown = "of 2 guests the radio says the rates of 0; others count with 11 Mb/s, as stated";
        assert_eq!(rates(Ok(station(None, 2_437))), unknown);
        let none = "everybody counts with 11 Mb/s, as stated";
        assert_eq!(rates(Err("no nl80211".to_owned())), format!("{none}: no nl80211"));
        let nobody = format!("{none}: no station is at a radio of this computer");
        assert_eq!(rates(Ok(Stations::new())), nobody);
    }

    #[test]
    fn a_household_that_wants_its_own_word_to_count_has_it() {
        let stated = Radio { measure: false, ..radio("b", 11.0) };
        let asks = |stated: &Radio| Calls::new(Some(stated)).wants_rates(Time(0));
        assert!(asks(&radio("b", 11.0)) && !asks(&stated));
        assert!(!asks(&radio("n", 65.0)), "nobody's mode is known by the rate alone");
        assert_eq!(
            counted(Ok(Stations::new()), &stated).status()["rates"],
            "everybody counts with 11 Mb/s, as stated"
        );
    }

    #[test]
    fn the_next_call_is_as_slow_as_stated_or_slower() {
        let stated = radio("b", 2.0);
        let room = |kbps| counted(Ok(station(Some(kbps), 2_437)), &stated).room().unwrap().more;
        assert!(
            room(11_000) < room(2_000) + 3,
            "the fast one leaves a little more room, and no room for fast ones"
        );
        assert!(room(1_000) < room(2_000));
    }
}

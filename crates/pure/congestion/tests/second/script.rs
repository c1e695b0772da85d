//! Events that go to our controllers, and states to compare with.

use std::collections::BTreeMap;
use std::str::FromStr;

use guestright_congestion::{
    Ack, Controller, Flight, InitialWindow, Real, RealReadings, RealSettings, RenoSettings, Sent, Trend,
    WaveMeter, WaveReport, Westwood, WestwoodFilter, WestwoodSettings, WindowUnit,
};
use guestright_units::{Micros, Time};

/// `key=value` pairs.
struct Pairs<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Pairs<'a> {
    fn read(text: &'a str) -> Self {
        Self(text.split_whitespace().map(|pair| pair.split_once('=').expect("key=value")).collect())
    }

    fn text(&self, key: &str) -> &'a str {
        self.0.get(key).copied().unwrap_or_else(|| panic!("no {key}"))
    }

    /// `None` for `-`, and where there is no such key.
    fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        let text = self.0.get(key).copied().filter(|text| *text != "-")?;
        Some(text.parse().unwrap_or_else(|_| panic!("{key}={text}")))
    }

    fn want<T: FromStr>(&self, key: &str) -> T {
        self.number(key).unwrap_or_else(|| panic!("no {key}"))
    }

    fn flag(&self, key: &str) -> bool {
        self.number::<u8>(key).is_some_and(|flag| flag != 0)
    }

    fn report(&self, key: &str) -> Option<WaveReport> {
        let text = self.0.get(key).copied().filter(|text| *text != "-")?;
        let parts: Vec<u64> = text.split(',').map(|part| part.parse().expect("three numbers")).collect();
        let [number, bytes, interval] = parts[..] else { panic!("{key}={text}") };
        let number = u32::try_from(number).expect("a wave's number");
        Some(WaveReport { number, bytes, interval: Micros(interval) })
    }
}

/// What a script is played with.
pub(crate) struct Case {
    name: String,
    segment: u32,
    is_westwood: bool,
    pub(crate) westwood: WestwoodSettings,
    pub(crate) real: RealSettings,
}

impl Case {
    pub(crate) fn read(text: &str) -> Self {
        let pairs = Pairs::read(text);
        let segment = pairs.want("segment");
        let base = match pairs.text("unit") {
            "segments" => RenoSettings::ns2(segment, pairs.want("window")),
            _ => RenoSettings::rfc5681(segment),
        };
        let initial_window = InitialWindow::Segments(pairs.want("initial"));
        let reno = RenoSettings { initial_window, ..base };
        let tau = Micros(pairs.want("tau"));
        let filter = if tau.0 > 0 { WestwoodFilter::TimeConstant { tau } } else { WestwoodFilter::FixedPole };
        let westwood = WestwoodSettings {
            filter,
            tick: Some(Micros(pairs.want("tick"))).filter(|tick| tick.0 > 0),
            divide_on_timeout: pairs.text("divisor") == "on",
            ..WestwoodSettings::algorithm_1(reno)
        };
        let named = RealReadings::NAMED.into_iter().find(|(name, _)| *name == pairs.text("reading"));
        let (_, readings) = named.expect("a reading that has a name");
        Self {
            name: pairs.text("name").to_owned(),
            segment,
            is_westwood: pairs.text("transport") == "westwood",
            westwood,
            real: RealSettings { readings, ..RealSettings::new(reno) },
        }
    }
}

/// One line of a script.
pub(crate) struct Event<'a> {
    name: &'a str,
    pairs: Pairs<'a>,
}

impl<'a> Event<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let (name, pairs) = text.split_once(' ').unwrap_or((text, ""));
        Self { name, pairs: Pairs::read(pairs) }
    }

    fn now(&self) -> Time {
        Time(self.pairs.want("now"))
    }

    fn ack(&self) -> Ack {
        Ack {
            now: self.now(),
            bytes: self.pairs.want("bytes"),
            segments: self.pairs.want("segments"),
            in_flight: self.pairs.want("flight"),
            round_trip: self.pairs.number("rtt").map(Micros),
            window_limited: self.pairs.flag("limited"),
            wave: self.pairs.report("wave"),
            ..Ack::default()
        }
    }

    fn flight(&self) -> Flight {
        Flight {
            now: self.now(),
            in_flight: self.pairs.want("flight"),
            repeated: self.pairs.flag("repeated"),
            ..Flight::default()
        }
    }

    fn sent(&self) -> Sent {
        Sent {
            now: self.now(),
            bytes: self.pairs.want("bytes"),
            in_flight: self.pairs.want("flight"),
            again: self.pairs.flag("again"),
            last: self.pairs.flag("last"),
            ..Sent::default()
        }
    }

    fn give(&self, controller: &mut dyn Controller) {
        match self.name {
            "sent" => controller.on_sent(&self.sent()),
            "ack" => controller.on_ack(&self.ack()),
            "partial" => controller.on_recovery_ack(&self.ack()),
            "recovered" => controller.on_recovered(&self.ack()),
            "duplicate" => controller.on_duplicate_ack(&self.flight()),
            "loss" => controller.on_loss(&self.flight()),
            "timeout" => controller.on_timeout(&self.flight()),
            "idle_timeout" => controller.on_idle_timeout(),
            "idle" => controller.on_idle(Micros(self.pairs.want("pause"))),
            name => panic!("no event {name}"),
        }
    }
}

/// The second implementation's state after an event.
pub(crate) struct Outcome<'a>(Pairs<'a>);

impl<'a> Outcome<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        Self(Pairs::read(text))
    }
}

/// What a script is played to.
enum Ours {
    Westwood(Westwood),
    Real(Real),
}

/// Plays a script and compares.
pub(crate) struct Player {
    case: Case,
    ours: Ours,
    meter: WaveMeter,
}

impl Player {
    pub(crate) fn new(case: Case) -> Self {
        let ours = if case.is_westwood {
            Ours::Westwood(Westwood::new(case.westwood).expect("settings that can be"))
        } else {
            Ours::Real(Real::new(case.real).expect("settings that can be"))
        };
        Self { case, ours, meter: WaveMeter::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.case.name
    }

    /// # Errors
    ///
    /// What differs.
    pub(crate) fn play(&mut self, event: &Event<'_>, want: &Outcome<'_>) -> Result<(), String> {
        if event.name == "arrived" {
            self.meter.on_segment(event.pairs.want("wave"), event.pairs.want("bytes"), event.now());
            return same("report", self.meter.report(), want.0.report("report"));
        }
        match &mut self.ours {
            Ours::Westwood(westwood) => {
                event.give(westwood);
                self.case.compare_windows(westwood, want)?;
                near("bwe", decimal(westwood.bandwidth()), want.0.want("bwe"), 2.0, 1e-6)?;
                let least = westwood.least_round_trip().map_or(0.0, |least| decimal(least.0) / 1e6);
                near("rtt_min", least, want.0.number("rtt_min").unwrap_or(0.0), 1e-9, 0.0)
            }
            Ours::Real(real) => {
                event.give(real);
                self.case.compare_windows(real, want)?;
                let act = real.trend().map(|trend| match trend {
                    Trend::Steady => 1,
                    Trend::Falling => 0,
                    Trend::Fallen => -1,
                });
                same("act", act, want.0.number("act"))?;
                same("wave", real.wave(), want.0.number("wave"))?;
                same("goes_back", real.goes_back(), want.0.flag("goes_back"))?;
                same("backs_off", real.backs_off(), want.0.flag("goes_back"))
            }
        }
    }
}

impl Case {
    /// Window and threshold, which the second implementation has in segments.
    fn compare_windows(&self, ours: &dyn Controller, want: &Outcome<'_>) -> Result<(), String> {
        let segment = f64::from(self.segment);
        let threshold: f64 = want.0.want("ssthresh");
        if threshold.is_finite() || ours.slow_start_threshold() != u64::MAX {
            near("ssthresh", decimal(ours.slow_start_threshold()), threshold * segment, 1.5, 0.0)?;
        }
        let window: f64 = want.0.want("cwnd");
        let got = decimal(ours.window());
        if self.real.reno.unit == WindowUnit::Bytes {
            return near("cwnd", got, window * segment, 1.5, 0.0);
        }
        // Whole segments; which they are is a matter of rounding where the window is nearly a whole number.
        let (least, most) = ((window - 1e-6).floor().max(1.0), (window + 1e-6).floor().max(1.0));
        if got < least * segment || got > most * segment {
            return Err(format!("cwnd: ours {}, the second one's {window} segments", got / segment));
        }
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(name: &str, ours: T, second: T) -> Result<(), String> {
    if ours == second { Ok(()) } else { Err(format!("{name}: ours {ours:?}, the second one's {second:?}")) }
}

/// Whether they differ by no more than `absolute`, or by that part.
fn near(name: &str, ours: f64, second: f64, absolute: f64, part: f64) -> Result<(), String> {
    let differ = (ours - second).abs();
    if differ <= absolute.max(part * second.abs()) {
        return Ok(());
    }
    Err(format!("{name}: ours {ours}, the second one's {second}"))
}

#[expect(clippy::cast_precision_loss, reason = "windows, rates and times are far below 2^52")]
fn decimal(number: u64) -> f64 {
    number as f64
}

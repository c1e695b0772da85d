//! What the demo found.

use super::error::DemoError;
use guestright_units::Bytes;
use serde_json::{Value, json};

/// One claim of the project, and whether it held.
#[derive(Clone, Debug)]
pub struct Check {
    pub claim: &'static str,
    pub holds: bool,
    pub seen: String,
}

/// One session, counted three times.
#[derive(Clone, Debug)]
pub struct Account {
    pub who: &'static str,
    pub class: String,
    /// By the access point's packet filter.
    pub carried: u64,
    /// In the receipt that the access point has.
    pub signed: u64,
    /// By the visitor itself.
    pub counted: u64,
}

/// What one end of a call heard, and how good that was: by its telephone, and by its capture.
#[derive(Clone, Debug)]
pub struct Voice {
    pub who: &'static str,
    /// What the other end has sent, and what of it came.
    pub sent: u64,
    pub packets: u64,
    /// Share of packets that were not played: lost on the way, or here.
    pub loss: f64,
    pub jitter_ms: f64,
    /// One way, in the network.
    pub delay_ms: f64,
    pub r: f64,
    pub mos: f64,
    pub mos_by_capture: f64,
    /// How far the figures of telephone and capture are apart.
    pub difference: f64,
}

/// So much may be on its way when somebody hangs up.
const ON_ITS_WAY_MAX: u64 = 50;
/// What a telephone may lose of what was said to it.
const LOSS_MAX: f64 = 0.01;

impl Voice {
    /// Reads what both telephones and `mos` have printed.
    pub(crate) fn new(
        who: &'static str,
        here: &Value,
        there: &Value,
        by_capture: &Value,
    ) -> Result<Self, DemoError> {
        let number = |value: &Value, what: &str| {
            value.as_f64().ok_or_else(|| DemoError::unexpected(format!("{who}: no {what} in {value}")))
        };
        let count = |value: &Value, what: &str| {
            value
                .as_u64()
                .ok_or_else(|| DemoError::unexpected(format!("{who}: no count of {what} in {value}")))
        };
        let by_telephone = &here["heard"];
        let opinion = &by_telephone["judgement"]["conversation"];
        let listening = number(&by_telephone["judgement"]["listening"]["mos"]["low"], "listening MOS")?;
        let listening_by_capture =
            number(&by_capture["listening"]["mos"]["low"], "listening MOS by the capture")?;
        let interval = |value: &Value| -> Result<_, DemoError> {
            Ok((number(&value["mos"]["low"], "MOS")?, number(&value["mos"]["high"], "MOS")?))
        };
        let (reported, judged) = (interval(opinion)?, interval(&by_capture["conversation"])?);
        // Both reckon with the same arrivals. Of the delay, the telephone knows bounds only.
        let difference = (listening - listening_by_capture).abs();
        let difference = difference.max(reported.0 - judged.1).max(judged.0 - reported.1);
        Ok(Self {
            who,
            sent: count(&there["sent"], "packets sent")?,
            packets: count(&by_telephone["counts"]["received"], "packets")?,
            loss: not_played(&here["played"])
                .ok_or_else(|| DemoError::unexpected(format!("{who}: nothing was played")))?,
            jitter_ms: number(&by_telephone["jitter"]["rfc3550_ms"], "jitter")?,
            delay_ms: number(&by_telephone["delay"]["mean_ms"]["high"], "delay")?,
            r: number(&opinion["r"]["low"], "R")?,
            mos: number(&opinion["mos"]["low"], "MOS")?,
            mos_by_capture: judged.0,
            difference,
        })
    }

    /// Whether what was said was played: all of it that the computer brought here in time, and that is nearly all.
    pub(crate) fn is_whole(&self) -> bool {
        self.packets + ON_ITS_WAY_MAX >= self.sent && self.loss <= LOSS_MAX
    }

    pub(crate) fn in_short(&self) -> String {
        format!("{}, MOS {:.2}, {:.1} ms, {:.1} % lost", self.who, self.mos, self.delay_ms, self.loss * 100.0)
    }
}

/// The share of the packets that had their turn and were not played, by a telephone's counts.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with two digits")]
fn not_played(counts: &Value) -> Option<f64> {
    let lost = ["lost", "late", "overflow", "skipped"].into_iter().map(|name| counts[name].as_u64());
    let lost = lost.sum::<Option<u64>>()?;
    let all = counts["packets"].as_u64()? + lost;
    (all > 0).then(|| lost as f64 / all as f64)
}

/// How far the three counts may differ…
const AGREEMENT: f64 = 0.001;
/// …or by so many bytes: what the guest sends while its window is used up is dropped, which it does not know.
const PACKETS: u64 = 16_384;

impl Account {
    /// The largest difference of any two counts, as a share of the access point's.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with three digits")]
    pub fn difference(&self) -> f64 {
        if self.carried == 0 { 1.0 } else { self.apart() as f64 / self.carried as f64 }
    }

    fn apart(&self) -> u64 {
        let counts = [self.carried, self.signed, self.counted];
        counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0)
    }

    pub(crate) fn agrees(&self) -> bool {
        self.carried > 0 && (self.apart() <= PACKETS || self.difference() <= AGREEMENT)
    }
}

/// The result of the demo.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub checks: Vec<Check>,
    pub accounts: Vec<Account>,
    pub voices: Vec<Voice>,
    pub seconds: f64,
}

impl Report {
    pub fn holds(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.holds)
    }

    pub fn to_json(&self) -> Value {
        let check = |check: &Check| json!({ "claim": check.claim, "holds": check.holds, "seen": check.seen });
        let account = |account: &Account| {
            json!({ "who": account.who, "class": account.class, "carried": account.carried,
                "signed": account.signed, "counted": account.counted, "difference": account.difference() })
        };
        let voice = |voice: &Voice| {
            json!({ "who": voice.who, "sent": voice.sent, "packets": voice.packets, "loss": voice.loss,
                "jitter_ms": voice.jitter_ms, "delay_ms": voice.delay_ms, "r": voice.r, "mos": voice.mos,
                "mos_by_capture": voice.mos_by_capture, "difference": voice.difference })
        };
        json!({
            "holds": self.holds(),
            "seconds": self.seconds,
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
            "sessions": self.accounts.iter().map(account).collect::<Vec<_>>(),
            "voices": self.voices.iter().map(voice).collect::<Vec<_>>(),
        })
    }
}

/// Megabits per second, for people.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown with three digits")]
pub(crate) fn rate(bytes: u64, seconds: f64) -> String {
    format!("{} in {seconds:.1} s, {:.0} Mbit/s", Bytes(bytes), bytes as f64 * 8.0 / seconds / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a telephone says that was sent 500 packets: so many came, and became of them what is told.
    fn telephone(received: u64, played: &Value, listening: f64) -> Value {
        let opinion = |mos: f64| json!({ "r": { "low": 90.0 }, "mos": { "low": mos, "high": mos + 0.02 } });
        json!({ "sent": 500, "played": played, "heard": {
            "counts": { "received": received }, "jitter": { "rfc3550_ms": 1.0 },
            "delay": { "mean_ms": { "high": 2.0 } },
            "judgement": { "listening": opinion(listening), "conversation": opinion(listening - 0.05) },
        }})
    }

    fn voice(received: u64, lost: [u64; 4], listening: f64) -> Voice {
        let [lost, late, overflow, skipped] = lost;
        let packets = received - late - overflow - skipped;
        let played = json!({ "packets": packets, "lost": lost, "late": late, "overflow": overflow, "skipped": skipped });
        let here = telephone(received, &played, listening);
        let capture = json!({ "listening": { "mos": { "low": 4.4, "high": 4.4 } },
            "conversation": { "mos": { "low": 4.36, "high": 4.36 } } });
        Voice::new("W1 hears W2", &here, &here, &capture).unwrap()
    }

    #[test]
    fn two_in_a_hundred_that_a_telephone_drops_are_noticed_wherever_it_drops_them() {
        assert!(voice(500, [0, 0, 0, 0], 4.4).is_whole());
        assert!(voice(480, [0, 1, 0, 2], 4.4).is_whole(), "some are on their way in the end");
        for lost in [[10, 0, 0, 0], [0, 10, 0, 0], [0, 0, 10, 0], [0, 0, 0, 10], [3, 3, 2, 2]] {
            assert!(!voice(490, lost, 4.4).is_whole(), "{lost:?}");
        }
        assert!(!voice(400, [0, 0, 0, 0], 4.4).is_whole(), "a telephone that does not receive");
    }

    #[test]
    fn a_figure_is_compared_with_that_of_the_same_packets() {
        assert!(voice(500, [0; 4], 4.4).difference < 0.001, "between both bounds of the delay");
        // 2 % at random, by G.107: R falls by 7.
        assert!(voice(490, [10, 0, 0, 0], 4.2).difference > 0.1);
    }
}

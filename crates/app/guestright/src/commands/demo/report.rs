//! What the demo found, as a table and as JSON.

use anyhow::Context;
use guestright_units::Bytes;
use serde_json::{Value, json};
use std::io::Write;

/// One claim of the project, and whether it held.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) claim: &'static str,
    pub(super) holds: bool,
    pub(super) seen: String,
}

/// One session, counted three times.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) who: &'static str,
    pub(super) class: String,
    /// By the access point's packet filter.
    pub(super) carried: u64,
    /// In the receipt that the access point has.
    pub(super) signed: u64,
    /// By the visitor itself.
    pub(super) counted: u64,
}

/// What one end of a call heard, and how good that was: by its telephone, and by its capture.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    pub(super) who: &'static str,
    pub(super) packets: u64,
    /// Share of packets that were not heard: lost on the way, or too late.
    pub(super) loss: f64,
    pub(super) jitter_ms: f64,
    /// One way, in the network.
    pub(super) delay_ms: f64,
    pub(super) r: f64,
    pub(super) mos: f64,
    pub(super) mos_by_capture: f64,
}

impl Voice {
    /// Reads what the telephone and `mos` have printed. Both have the same form.
    pub(super) fn new(who: &'static str, by_telephone: &Value, by_capture: &Value) -> anyhow::Result<Self> {
        let number = |value: &Value, what: &str| {
            value.as_f64().with_context(|| format!("{who}: no {what} in {value}"))
        };
        let opinion = &by_telephone["judgement"]["conversation"];
        Ok(Self {
            who,
            packets: by_telephone["counts"]["received"]
                .as_u64()
                .with_context(|| format!("{who}: no packets"))?,
            loss: number(&by_telephone["heard"]["rate"], "loss")?,
            jitter_ms: number(&by_telephone["jitter"]["rfc3550_ms"], "jitter")?,
            delay_ms: number(&by_telephone["delay"]["mean_ms"]["high"], "delay")?,
            r: number(&opinion["r"]["low"], "R")?,
            mos: number(&opinion["mos"]["low"], "MOS")?,
            mos_by_capture: number(&by_capture["conversation"]["mos"]["low"], "MOS by the capture")?,
        })
    }

    pub(super) fn difference(&self) -> f64 {
        (self.mos - self.mos_by_capture).abs()
    }

    pub(super) fn in_short(&self) -> String {
        format!("{}, MOS {:.2}, {:.1} ms, {:.1} % lost", self.who, self.mos, self.delay_ms, self.loss * 100.0)
    }
}

/// How far the three counts may differ.
const AGREEMENT: f64 = 0.001;

impl Account {
    /// The largest difference of any two counts, as a share of the access point's.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with three digits")]
    pub(super) fn difference(&self) -> f64 {
        let counts = [self.carried, self.signed, self.counted];
        let spread = counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0);
        if self.carried == 0 { 1.0 } else { spread as f64 / self.carried as f64 }
    }

    pub(super) fn agrees(&self) -> bool {
        self.difference() <= AGREEMENT
    }
}

/// The result of the demo.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) checks: Vec<Check>,
    pub(super) accounts: Vec<Account>,
    pub(super) voices: Vec<Voice>,
    pub(super) seconds: f64,
}

impl Report {
    pub(super) fn holds(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.holds)
    }

    pub(super) fn to_json(&self) -> Value {
        let check = |check: &Check| json!({ "claim": check.claim, "holds": check.holds, "seen": check.seen });
        let account = |account: &Account| {
            json!({ "who": account.who, "class": account.class, "carried": account.carried,
                "signed": account.signed, "counted": account.counted, "difference": account.difference() })
        };
        let voice = |voice: &Voice| {
            json!({ "who": voice.who, "packets": voice.packets, "loss": voice.loss, "jitter_ms": voice.jitter_ms,
                "delay_ms": voice.delay_ms, "r": voice.r, "mos": voice.mos,
                "mos_by_capture": voice.mos_by_capture })
        };
        json!({
            "holds": self.holds(),
            "seconds": self.seconds,
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
            "sessions": self.accounts.iter().map(account).collect::<Vec<_>>(),
            "voices": self.voices.iter().map(voice).collect::<Vec<_>>(),
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "\nWhat was carried, signed for and counted, in bytes:\n")?;
        let heads = ["access point", "receipt", "visitor"];
        writeln!(
            out,
            "  {:<22} {:<8} {:>13} {:>13} {:>13}  differ",
            "session", "class", heads[0], heads[1], heads[2]
        )?;
        for account in &self.accounts {
            let Account { who, class, carried, signed, counted } = account;
            let percent = account.difference() * 100.0;
            writeln!(out, "  {who:<22} {class:<8} {carried:>13} {signed:>13} {counted:>13}  {percent:.3} %")?;
        }
        if !self.voices.is_empty() {
            self.print_voices(out)?;
        }
        writeln!(out, "\nWhat this shows:\n")?;
        for Check { claim, holds, seen } in &self.checks {
            writeln!(out, "  {}  {claim}\n        {seen}", if *holds { "yes" } else { "NO " })?;
        }
        let failed = self.checks.iter().filter(|check| !check.holds).count();
        let verdict = match failed {
            0 => "everything holds".to_owned(),
            some => format!("{some} of {} DO NOT HOLD", self.checks.len()),
        };
        writeln!(out, "\nVerdict: {verdict}, in {:.0} s", self.seconds)
    }
}

impl Report {
    fn print_voices(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "\nHow the call was, by ITU-T G.107:\n")?;
        let heads = ["packets", "not heard", "jitter ms", "delay ms", "R", "MOS", "by capture"];
        write!(out, "  {:<12}", "who")?;
        heads.iter().try_for_each(|head| write!(out, " {head:>10}"))?;
        writeln!(out)?;
        for voice in &self.voices {
            let Voice { who, packets, loss, jitter_ms, delay_ms, r, mos, mos_by_capture } = voice;
            let loss = format!("{:.2} %", loss * 100.0);
            writeln!(
                out,
                "  {who:<12} {packets:>10} {loss:>10} {jitter_ms:>10.2} {delay_ms:>10.2} {r:>10.1} {mos:>10.2} \
                 {mos_by_capture:>10.2}"
            )?;
        }
        Ok(())
    }
}

/// Megabits per second, for people.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown with three digits")]
pub(super) fn rate(bytes: u64, seconds: f64) -> String {
    format!("{} in {seconds:.1} s, {:.0} Mbit/s", Bytes(bytes), bytes as f64 * 8.0 / seconds / 1e6)
}

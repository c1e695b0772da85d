//! What protecting and opening cost.

mod modern;

use guestright_experiment::{Outcome, SettingError, Settings};
use guestright_legacy::cost::{End, Work};
use guestright_receipt_cost::time_us;
use guestright_units::Seed;
use modern::Boat;

/// Both ends of a second of conversation, and what they are compared with.
#[derive(Debug)]
pub(super) struct Protection {
    tool: Tool,
    bulk: Vec<Work>,
}

#[derive(Debug)]
enum Tool {
    /// One of the tools of 2003: the sender's end, and mostly the receiver's.
    Works(Vec<Work>),
    Boat(Boat),
}

impl Protection {
    /// What the settings want; nothing, if they want none.
    pub(super) fn read(settings: &Settings) -> Result<Option<Self>, SettingError> {
        let (name, bulk) = (settings.text("protection")?, settings.text("bulk")?);
        if name == "none" {
            return match bulk {
                "none" => Ok(None),
                _ => {
                    Err(SettingError::unfit("bulk", "it is compared with a `protection`, and there is none"))
                }
            };
        }
        let bulk = match bulk {
            "none" => Vec::new(),
            names => names.split('+').map(long_text).collect::<Result<_, _>>()?,
        };
        let tool = match name.strip_prefix("boat/") {
            Some(boat) => Tool::Boat(boat.parse()?),
            None => Tool::Works(find(name)?),
        };
        Ok(Some(Self { tool, bulk }))
    }

    /// Measures; gives both ends together, in µs for each second of conversation.
    pub(super) fn measure(self, seed: &Seed, outcome: &mut Outcome) -> f64 {
        let (both_us, content_bytes) = match self.tool {
            Tool::Works(works) => measure_works(works, outcome),
            Tool::Boat(boat) => {
                let measured = boat.measure(seed);
                note_sender(outcome, measured.protect_us, measured.content_bytes, measured.wire_bytes);
                outcome.set("open_us", measured.both_us - measured.protect_us);
                outcome.set("both_us", measured.both_us);
                (measured.both_us, measured.content_bytes)
            }
        };
        if let Some(bytes) = self.bulk.first().map(|work| count(work.codec_bytes)) {
            let us: f64 = self.bulk.into_iter().map(time_of).sum();
            outcome.set("bulk_mib_s", bytes / MIB / (us / 1e6));
            outcome.set("bulk_us", us * count(content_bytes) / bytes);
        }
        both_us
    }
}

fn measure_works(works: Vec<Work>, outcome: &mut Outcome) -> (f64, usize) {
    let (ends, mut both_us, mut content_bytes) = (works.len(), 0.0, 0);
    for work in works {
        let Work { end, codec_bytes, wire_bytes, .. } = work;
        let us = time_of(work);
        both_us += us;
        content_bytes = codec_bytes;
        match end {
            End::Sender => note_sender(outcome, us, codec_bytes, wire_bytes),
            End::Receiver => outcome.set("open_us", us),
        }
    }
    if ends > 1 {
        outcome.set("both_us", both_us);
    }
    (both_us, content_bytes)
}

fn time_of(mut work: Work) -> f64 {
    time_us(|| {
        std::hint::black_box((work.run)());
    })
}

fn note_sender(outcome: &mut Outcome, us: f64, content_bytes: usize, wire_bytes: usize) {
    outcome.set("protect_us", us);
    outcome.set("twice_us", 2.0 * us);
    outcome.set("rate_mib_s", count(content_bytes) / MIB / (us / 1e6));
    outcome.set("content_bytes", count(content_bytes));
    if wire_bytes > 0 {
        outcome.set("wire_bytes", count(wire_bytes));
    }
}

const MIB: f64 = 1_048_576.0;

/// The works of this name: both ends, or the sender's alone.
fn find(name: &str) -> Result<Vec<Work>, SettingError> {
    let unfit = |reason| SettingError::unfit("protection", reason);
    let (tool, what) = name.split_once('/').unwrap_or((name, ""));
    let all = match tool {
        "boat-legacy" => guestright_legacy::boat::work(),
        "speak-freely" => guestright_legacy::speak_freely::work(),
        "pgpfone" => guestright_legacy::pgpfone::work(),
        "nautilus" => guestright_legacy::nautilus::work(),
        _ => {
            let tools = "boat/…, boat-legacy/…, speak-freely/…, pgpfone/…, nautilus/…";
            return Err(unfit(format!("there is no {name}; there are {tools}")));
        }
    };
    let mut names: Vec<&str> = all.iter().map(|work| work.name).collect();
    names.dedup();
    let known = names.iter().map(|name| format!("{tool}/{name}")).collect::<Vec<_>>().join("; ");
    let found: Vec<Work> = all.into_iter().filter(|work| work.name == what).collect();
    if found.is_empty() {
        return Err(unfit(format!("there is no {name}; there are {known}")));
    }
    Ok(found)
}

/// A cipher over a long text.
fn long_text(name: &str) -> Result<Work, SettingError> {
    let all = guestright_legacy::cost::long_texts();
    let known = all.iter().map(|work| work.name).collect::<Vec<_>>().join(", ");
    let found = all.into_iter().find(|work| work.name == name);
    found.ok_or_else(|| SettingError::unfit("bulk", format!("there is no {name}; there are {known}")))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn count(bytes: usize) -> f64 {
    bytes as f64
}

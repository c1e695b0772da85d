//! What many streams amount to: counts, and how they are spread. It stays small, however many there are.

use crate::line::Line;
use guestright_capture::Direction;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Upper bounds of the classes of MOS: those of ITU-T G.107, Annex B, and halves below.
const MOS_BOUNDS: [f64; 8] = [1.5, 2.0, 2.58, 3.1, 3.6, 4.03, 4.34, 4.5];
/// Of the share lost.
const LOSS_BOUNDS: [f64; 8] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
/// Of jitter in seconds.
const JITTER_BOUNDS: [f64; 8] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

/// How many values are at most as large as each bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    bounds: [f64; 8],
    at_most: [u64; 8],
    count: u64,
    sum: f64,
}

impl Spread {
    const fn new(bounds: [f64; 8]) -> Self {
        Self { bounds, at_most: [0; 8], count: 0, sum: 0.0 }
    }

    fn add(&mut self, value: f64) {
        for (bound, count) in self.bounds.iter().zip(&mut self.at_most) {
            *count += u64::from(value <= *bound);
        }
        self.count += 1;
        self.sum += value;
    }

    fn to_json(self) -> Value {
        let classes: Vec<Value> = self
            .bounds
            .iter()
            .zip(self.at_most)
            .map(|(bound, count)| json!({ "at_most": bound, "count": count }))
            .collect();
        json!({ "count": self.count, "sum": self.sum, "classes": classes })
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    pub streams: u64,
    pub unrated: u64,
    pub one_way: u64,
    pub silent: u64,
    pub packets: u64,
    pub lost: u64,
    pub unseen: u64,
    pub mos: Spread,
    pub loss: Spread,
    pub jitter_s: Spread,
    pub worst: Option<Line>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            streams: 0,
            unrated: 0,
            one_way: 0,
            silent: 0,
            packets: 0,
            lost: 0,
            unseen: 0,
            mos: Spread::new(MOS_BOUNDS),
            loss: Spread::new(LOSS_BOUNDS),
            jitter_s: Spread::new(JITTER_BOUNDS),
            worst: None,
        }
    }
}

impl Tally {
    pub fn add(&mut self, line: &Line) {
        self.streams += 1;
        self.one_way += u64::from(line.direction == Direction::OneWay);
        self.silent += u64::from(line.is_silence);
        self.packets += line.packets;
        self.lost += line.lost;
        self.unseen += line.unseen;
        if let Some(loss) = line.loss() {
            self.loss.add(loss);
        }
        if let Some(ms) = line.jitter_ms {
            self.jitter_s.add(ms / 1e3);
        }
        let Some(score) = line.score() else {
            self.unrated += 1;
            return;
        };
        self.mos.add(score);
        if self.worst.as_ref().and_then(Line::score).is_none_or(|worst| score < worst) {
            self.worst = Some(line.clone());
        }
    }

    pub fn to_json(&self) -> Value {
        json!({
            "streams": self.streams,
            "unrated": self.unrated,
            "one_way": self.one_way,
            "silent": self.silent,
            "packets": self.packets,
            "lost": self.lost,
            "unseen": self.unseen,
            "mos": self.mos.to_json(),
            "loss": self.loss.to_json(),
            "jitter_s": self.jitter_s.to_json(),
            "worst": self.worst.as_ref().map(Line::to_json),
        })
    }

    /// One sentence.
    pub fn to_text(&self) -> String {
        let mut out = format!("{} {}", self.streams, if self.streams == 1 { "stream" } else { "streams" });
        for (count, what) in [
            (self.unrated, "not rated"),
            (self.one_way, "one-way"),
            (self.silent, "with nothing but silence"),
        ] {
            if count > 0 {
                let _ = write!(out, ", {count} {what}");
            }
        }
        if let Some(worst) = &self.worst {
            let Line { source, label, .. } = worst;
            let _ = write!(out, "; the worst is {label} in {source}, MOS {}", worst.mos_text());
        }
        out
    }
}

/// What there is beside finished streams, for [`prometheus`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Now {
    /// Streams that go on.
    pub active: u64,
    /// The lowest score among them.
    pub active_worst: Option<f64>,
    /// Packets that whoever captured had no room for.
    pub own_drops: u64,
    /// Files that could not be read, or had no stream.
    pub files_failed: u64,
}

/// The text format of Prometheus, version 0.0.4, for the textfile collector of its node exporter. No call has labels of
/// its own: each would be a time series for ever.
pub fn prometheus(tally: &Tally, now: &Now) -> String {
    let mut out = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, value: String| {
        let _ = writeln!(out, "# HELP guestright_mos_{name} {help}");
        let _ = writeln!(out, "# TYPE guestright_mos_{name} {kind}");
        let _ = writeln!(out, "guestright_mos_{name} {value}");
    };
    for (name, help, count) in [
        ("streams_total", "Streams of RTP that have ended.", tally.streams),
        ("unrated_streams_total", "Streams without a rating.", tally.unrated),
        ("one_way_streams_total", "Streams with none in the opposite direction.", tally.one_way),
        ("silent_streams_total", "Streams with nothing but silence.", tally.silent),
        ("packets_total", "Packets of those streams.", tally.packets),
        ("lost_packets_total", "Packets that the network lost.", tally.lost),
        (
            "unseen_packets_total",
            "Packets missing where this computer had no room; no loss of the network.",
            tally.unseen,
        ),
        ("own_drops_total", "Packets that this computer had no room for.", now.own_drops),
        ("failed_files_total", "Files that could not be read or had no stream.", now.files_failed),
    ] {
        metric(name, "counter", help, count.to_string());
    }
    metric("active_streams", "gauge", "Streams that go on.", now.active.to_string());
    if let Some(score) = now.active_worst {
        metric("active_worst_score", "gauge", "The lowest MOS among streams that go on.", score.to_string());
    }
    for (name, help, spread) in [
        ("score", "MOS of streams, ITU-T G.107; of an interval the lower bound.", &tally.mos),
        ("loss_ratio", "Share that the network lost, 0 to 1.", &tally.loss),
        ("jitter_seconds", "Jitter by RFC 3550 at the end of streams.", &tally.jitter_s),
    ] {
        histogram(name, help, spread, &mut out);
    }
    out
}

fn histogram(name: &str, help: &str, spread: &Spread, out: &mut String) {
    let _ = writeln!(out, "# HELP guestright_mos_{name} {help}");
    let _ = writeln!(out, "# TYPE guestright_mos_{name} histogram");
    for (bound, count) in spread.bounds.iter().zip(spread.at_most) {
        let _ = writeln!(out, "guestright_mos_{name}_bucket{{le=\"{bound}\"}} {count}");
    }
    let _ = writeln!(out, "guestright_mos_{name}_bucket{{le=\"+Inf\"}} {}", spread.count);
    let _ = writeln!(out, "guestright_mos_{name}_sum {}", spread.sum);
    let _ = writeln!(out, "guestright_mos_{name}_count {}", spread.count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Why;
    use guestright_quality::Interval;

    fn line(mos: Option<f64>, lost: u64) -> Line {
        let why = Why { word: "no-codec", sentence: "the codec is not known".to_owned() };
        Line {
            source: "a.pcap".to_owned(),
            label: "1".to_owned(),
            ssrc: 7,
            from: "192.0.2.1:4000".parse().unwrap(),
            to: "198.51.100.2:5000".parse().unwrap(),
            codec: "PCMU".to_owned(),
            first: String::new(),
            duration_s: 10.0,
            packets: 500 - lost,
            expected: 500,
            lost,
            unseen: 0,
            jitter_ms: Some(1.5),
            mos: mos.map(Interval::exact).ok_or(why),
            at_most: false,
            direction: Direction::OneWay,
            is_silence: false,
        }
    }

    #[test]
    fn counts_and_spreads_add_up() {
        let mut tally = Tally::default();
        for one in [line(Some(4.4), 0), line(Some(2.2), 25), line(None, 500)] {
            tally.add(&one);
        }
        assert_eq!((tally.streams, tally.unrated, tally.one_way, tally.lost), (3, 1, 3, 525));
        assert_eq!(tally.worst.as_ref().and_then(Line::score), Some(2.2));
        assert_eq!(tally.mos.at_most, [0, 0, 1, 1, 1, 1, 1, 2]);
        assert_eq!(tally.loss.at_most, [1, 1, 1, 1, 1, 2, 2, 2]);
        let text = prometheus(&tally, &Now { own_drops: 3, ..Now::default() });
        for wanted in [
            "guestright_mos_score_bucket{le=\"2.58\"} 1\n",
            "guestright_mos_score_bucket{le=\"+Inf\"} 2\n",
            "guestright_mos_own_drops_total 3\n",
            "# TYPE guestright_mos_loss_ratio histogram\n",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing: {text}");
        }
        assert!(!text.contains("192.0.2.1"), "no call has a label");
    }
}

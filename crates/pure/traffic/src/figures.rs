//! Figures as text.

use crate::{CallResult, CallRow, ClockSummary, Direction, Ended, Outcome};
use guestright_quality::{Interval, Row};
use std::fmt::{self, Display, Write};

/// Calls that are printed one by one; of more only the mean and the worst. JSON has them all.
const LISTED_MAX: usize = 32;

/// One second of all calls.
#[derive(Debug, Default)]
pub struct SecondSums {
    calls: u16,
    expected: u64,
    lost: u64,
    unplayed: u64,
    delays: u16,
    delay_ms: (f64, f64),
    jitter_ms: f64,
    scores: u16,
    mos: (f64, f64),
}

impl SecondSums {
    pub fn add(&mut self, row: &Row) {
        self.calls += 1;
        self.expected += row.network.expected;
        self.lost += row.network.lost;
        self.unplayed += row.playout.lost;
        self.jitter_ms = self.jitter_ms.max(row.jitter.rfc3550_ms.unwrap_or(0.0));
        if let Some(delay) = row.delay_ms {
            self.delays += 1;
            self.delay_ms = (self.delay_ms.0 + delay.low, self.delay_ms.1 + delay.high);
        }
        if let Ok(opinion) = &row.judgement.conversation {
            self.scores += 1;
            self.mos = (self.mos.0 + opinion.mos.low, self.mos.1 + opinion.mos.high);
        }
    }

    pub fn calls(&self) -> u16 {
        self.calls
    }
}

impl Display for SecondSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = |sum: (f64, f64), count: u16| {
            (count > 0).then(|| Interval::new(sum.0 / f64::from(count), sum.1 / f64::from(count)))
        };
        let discarded = share(self.unplayed - self.lost, self.expected - self.lost);
        write!(f, "loss {} %  discarded {} %", percent(share(self.lost, self.expected)), percent(discarded))?;
        write!(
            f,
            "  delay {} ms  jitter {:.2} ms",
            interval(mean(self.delay_ms, self.delays), 2),
            self.jitter_ms
        )?;
        write!(f, "  MOS {}", interval(mean(self.mos, self.scores), 2))
    }
}

pub fn csv_header() -> &'static str {
    "run,call,second,expected,lost,late,overflow,delay_low_ms,delay_high_ms,jitter_rfc3550_ms,mean_abs_d_ms,\
     interarrival_deviation_ms,r_g107_low,r_g107_high,mos_g107_low,mos_g107_high,mos_listening,mos_paper_a_low,\
     mos_paper_a_high,why_no_mos"
}

/// A line of CSV. What is not known is empty, and the last column says why.
pub fn csv_row(run: u32, CallRow { call, row }: &CallRow) -> String {
    let number = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    let pair = |value: Option<Interval>| {
        format!("{},{}", number(value.map(|v| v.low)), number(value.map(|v| v.high)))
    };
    let judged = &row.judgement;
    let g107 = judged.conversation.as_ref().ok();
    let why = judged.conversation.as_ref().err().map(|unknown| unknown.word()).unwrap_or_default();
    [
        format!("{run},{call},{}", row.index),
        format!("{},{},{},{}", row.network.expected, row.network.lost, row.late, row.overflow),
        pair(row.delay_ms),
        number(row.jitter.rfc3550_ms),
        number(row.jitter.mean_abs_d_ms),
        number(row.jitter.interarrival_deviation_ms),
        pair(g107.map(|opinion| opinion.r)),
        pair(g107.map(|opinion| opinion.mos)),
        number(judged.listening.as_ref().ok().map(|opinion| opinion.mos.low)),
        pair(judged.paper_a.as_ref().ok().map(|opinion| opinion.mos)),
        why.to_owned(),
    ]
    .join(",")
}

/// The end of a run, for people.
pub fn table(outcome: &Outcome, dropped: u64) -> String {
    let mut text = String::new();
    if outcome.ended != Ended::AsPlanned {
        line(&mut text, format_args!("{}", outcome.ended));
    }
    direction(&mut text, "what arrived here", &outcome.received);
    if let Some(sent) = &outcome.sent {
        direction(&mut text, "what arrived at the other end", sent);
    }
    if let Some(clock) = &outcome.received.clock {
        clocks(&mut text, clock);
    }
    let pacing = outcome.pacing;
    line(
        &mut text,
        format_args!(
            "our packets: {} left, {} of them more than 2 ms late, the worst by {} ms",
            pacing.sent,
            pacing.late,
            number(Micros(pacing.worst_us))
        ),
    );
    if dropped > 0 {
        line(&mut text, format_args!("{dropped} datagrams were lost in this computer, not in the network"));
    }
    text
}

struct Micros(u64);

/// µs in ms, for people.
fn number(Micros(us): Micros) -> String {
    format!("{}.{:03}", us / 1_000, us % 1_000)
}

fn direction(text: &mut String, title: &str, direction: &Direction) {
    line(text, format_args!("\n{title}:"));
    line(
        text,
        format_args!(
            "{:>5}  {:>7} {:>11}  {:>16}  {:>23}  {:>16} {:>16} {:>16}",
            "call",
            "loss %",
            "discarded %",
            "delay ms",
            "jitter ms (3 kinds)",
            "R G.107",
            "MOS G.107",
            "MOS paper A"
        ),
    );
    let worst = direction.worst_call;
    for call in &direction.calls {
        if direction.calls.len() <= LISTED_MAX || Some(call.figures.call) == worst {
            call_line(text, call, if Some(call.figures.call) == worst { " worst" } else { "" });
        }
    }
    let average = &direction.average;
    line(
        text,
        format_args!(
            "{:>5}  {:>7} {:>11}  {:>16}  {:>23}  {:>16} {:>16} {:>16}",
            "mean",
            percent(average.network_loss),
            percent(average.dejitter_loss),
            interval(average.delay_ms, 2),
            "",
            "",
            interval(average.mos_g107, 2),
            interval(average.mos_paper_a, 2)
        ),
    );
    let first = direction.calls.iter().find_map(|call| call.judgement.conversation.as_ref().err());
    if let Some(unknown) = first {
        line(text, format_args!("no MOS: {unknown}"));
    } else if let Some(unknown) =
        direction.calls.iter().find_map(|call| call.judgement.paper_a.as_ref().err())
    {
        line(text, format_args!("no MOS by paper A: {unknown}"));
    }
    if direction.calls.iter().any(|call| !call.figures.end_known) {
        line(text, format_args!("the sender did not say where it ended: losses at the end are not counted"));
    }
}

fn call_line(text: &mut String, call: &CallResult, mark: &str) {
    let ms = |us: Option<u32>| us.map_or_else(|| "-".to_owned(), |us| format!("{:.2}", f64::from(us) / 1e3));
    let figures = &call.figures;
    let jitter =
        [figures.rfc3550_us, figures.mean_abs_d_us, figures.interarrival_deviation_us].map(ms).join(" ");
    let g107 = call.judgement.conversation.as_ref().ok();
    let paper = call.judgement.paper_a.as_ref().ok();
    line(
        text,
        format_args!(
            "{:>5}  {:>7} {:>11}  {:>16}  {:>23}  {:>16} {:>16} {:>16}{mark}",
            figures.call,
            percent(call.network_loss),
            percent(Some(call.dejitter_loss)),
            interval(call.delay_ms, 2),
            jitter,
            interval(g107.map(|opinion| opinion.r), 1),
            interval(g107.map(|opinion| opinion.mos), 2),
            interval(paper.map(|opinion| opinion.mos), 2)
        ),
    );
}

fn clocks(text: &mut String, clock: &ClockSummary) {
    let offset = clock.offset_us;
    let offset_ms = Interval::new(offset.low / 1e3, offset.high / 1e3);
    line(text, format_args!("\nclocks: theirs is ahead by {offset_ms:.3} ms"));
    if let Some(round_trip) = clock.round_trip_us {
        let (exchanges, ms) = (clock.exchanges, round_trip / 1e3);
        line(text, format_args!("        by {exchanges} exchanges, the fastest in {ms:.3} ms"));
    }
    if let Some(drift) = clock.drift_ppm {
        line(text, format_args!("        theirs is faster by {drift:.1} ppm"));
    }
    if clock.steps > 0 {
        line(text, format_args!("        a clock was set {} times: delays around it are wrong", clock.steps));
    }
}

fn line(text: &mut String, what: fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "{what}");
}

#[expect(clippy::cast_precision_loss, reason = "counts of one second")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.2}", share * 100.0))
}

fn interval(value: Option<Interval>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

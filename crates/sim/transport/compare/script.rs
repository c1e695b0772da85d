//! Scenarios with losses that are told, and what a sender did in them.

use std::fmt::{self, Write};

/// The list that `run.sh` gives to `scripted.tcl`.
const LIST: &str = include_str!("scripted.txt");
/// The arrivals of a call.
pub(crate) const VOICE: &str = include_str!("voice.txt");

/// One of the scenarios of `scripted.txt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// What it is called.
    pub(crate) name: String,
    /// Whether the application has always something to send; if not, it is `voice.txt`.
    pub(crate) greedy: bool,
    /// Packets that are lost on the last link, and at which of their crossings, from 0; -1 is the SYN.
    pub(crate) lost: Vec<(i64, u32)>,
    /// Numbers of the acknowledgements that are lost on their first link, from 0.
    pub(crate) acks_lost: Vec<u64>,
    /// Until when.
    pub(crate) seconds: u64,
}

/// All of them.
///
/// # Errors
///
/// Says which line is wrong.
pub(crate) fn scripts() -> Result<Vec<Script>, String> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| script(line).ok_or_else(|| format!("no scenario: {line:?}"))).collect()
}

fn script(line: &str) -> Option<Script> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, source, lost, acks_lost, seconds] = fields[..] else { return None };
    let lost = parts(lost).map(|part| {
        let (packet, time) = part.split_once(':')?;
        Some((packet.parse().ok()?, time.parse().ok()?))
    });
    Some(Script {
        name: name.to_owned(),
        greedy: source == "greedy",
        lost: lost.collect::<Option<_>>()?,
        acks_lost: parts(acks_lost).map(|part| part.parse().ok()).collect::<Option<_>>()?,
        seconds: seconds.parse().ok()?,
    })
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split('+').filter(|part| *part != "-")
}

/// What a sender did, to the microsecond. Packets are those of the application; -1 is the SYN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// When it sent which packet, in microseconds.
    pub(crate) sends: Vec<(u64, i64)>,
    /// How many packets came to the far end, the SYN and those sent again among them.
    pub(crate) arrived: u64,
    /// When the first packet that was sent again was acknowledged.
    pub(crate) again_acknowledged: Option<u64>,
}

/// Nanoseconds to the nearest microsecond.
pub(crate) const fn micros(nanos: u64) -> u64 {
    (nanos + 500) / 1_000
}

impl Trace {
    /// A packet leaves.
    pub(crate) fn send(&mut self, nanos: u64, packet: i64) {
        self.sends.push((micros(nanos), packet));
    }

    /// Everything up to `packet` is acknowledged.
    pub(crate) fn acknowledge(&mut self, nanos: u64, packet: i64) {
        if self.again_acknowledged.is_none() && self.first_again().is_some_and(|(_, again)| again <= packet) {
            self.again_acknowledged = Some(micros(nanos));
        }
    }

    /// The first packet that was sent again, and when.
    pub(crate) fn first_again(&self) -> Option<(u64, i64)> {
        self.again().next()
    }

    /// How many packets were sent that had been sent before.
    pub(crate) fn again(&self) -> impl Iterator<Item = (u64, i64)> {
        let mut latest = i64::MIN;
        self.sends.iter().copied().filter(move |(_, packet)| {
            let again = *packet <= latest;
            latest = latest.max(*packet);
            again
        })
    }

    /// Where two traces part: the number of the first packet sent that is another one, or more than `within`
    /// microseconds earlier or later.
    pub(crate) fn parts_from(&self, other: &Self, within: u64) -> Option<usize> {
        let same =
            |(one, other): (&(u64, i64), &(u64, i64))| one.1 == other.1 && one.0.abs_diff(other.0) <= within;
        let first = self.sends.iter().zip(&other.sends).position(|pair| !same(pair));
        let shorter = self.sends.len().min(other.sends.len());
        first.or_else(|| (self.sends.len() != other.sends.len()).then_some(shorter))
    }

    /// What `scripted.tcl` printed. The rest of a row, the sender's state, is for readers.
    ///
    /// # Errors
    ///
    /// Says which line is no row.
    pub(crate) fn of_ns2(text: &str) -> Result<Self, String> {
        let mut trace = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let wrong = || format!("no row of scripted.tcl: {line:?}");
            let mut fields = line.split(',');
            let (Some(nanos), Some(event), Some(packet)) = (fields.next(), fields.next(), fields.next())
            else {
                return Err(wrong());
            };
            let nanos: u64 = nanos.parse().map_err(|_| wrong())?;
            let packet: i64 = packet.parse().map_err(|_| wrong())?;
            match event {
                "send" => trace.send(nanos, packet),
                "ack" => trace.acknowledge(nanos, packet),
                "heard" => trace.arrived += 1,
                "lost" | "acklost" | "drop" => {}
                _ => return Err(wrong()),
            }
        }
        Ok(trace)
    }

    /// A line of `scripted.csv` without its name: `heard,acknowledged,` and for each packet sent the microseconds since
    /// the one before, and its number after a colon unless it is the next one that was never sent.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let (arrived, acknowledged, sends) = (fields.next()?, fields.next()?, fields.next()?);
        let mut trace = Self { arrived: arrived.parse().ok()?, ..Self::default() };
        if !acknowledged.is_empty() {
            trace.again_acknowledged = Some(acknowledged.parse().ok()?);
        }
        let (mut at, mut fresh) = (0_u64, 0_i64);
        for send in sends.split_whitespace() {
            let (after, packet) = send.split_once(':').unwrap_or((send, ""));
            at += after.parse::<u64>().ok()?;
            let packet = if packet.is_empty() { fresh } else { packet.parse().ok()? };
            fresh = fresh.max(packet + 1);
            trace.sends.push((at, packet));
        }
        fields.next().is_none().then_some(trace)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let acknowledged = self.again_acknowledged.map_or_else(String::new, |at| at.to_string());
        let mut sends = String::new();
        let (mut at, mut fresh) = (0, 0);
        for (now, packet) in &self.sends {
            let number = if *packet == fresh { String::new() } else { format!(":{packet}") };
            write!(sends, "{}{}{number}", if sends.is_empty() { "" } else { " " }, now - at)?;
            fresh = fresh.max(packet + 1);
            at = *now;
        }
        write!(f, "{},{acknowledged},{sends}", self.arrived)
    }
}

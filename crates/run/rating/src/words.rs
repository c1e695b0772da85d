//! Numbers and reasons, for people.

use guestright_capture::{DelaySource, Direction, Part, Report, Sound, StreamReport};
use guestright_quality::{Interval, Judgement, Opinion, Unknown};

/// A shorter silence is a pause between two sentences.
const SILENCE_MIN_S: f64 = 5.0;

/// A number with two digits behind the point, without needless zeros.
pub(crate) fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// `82.1..85.3`, or one number if both ends are the same.
pub(crate) fn range(interval: Interval) -> String {
    range_with(interval, round)
}

/// With two digits, as MOS is written.
pub(crate) fn range_with_two(interval: Interval) -> String {
    range_with(interval, |value| format!("{value:.2}"))
}

fn range_with(interval: Interval, write: impl Fn(f64) -> String) -> String {
    let (low, high) = (write(interval.low), write(interval.high));
    if low == high { low } else { format!("{low}..{high}") }
}

/// What is said of a part in a table: its R and MOS, exact, between two bounds, or at most.
pub(crate) struct Rated<'a> {
    pub(crate) opinion: &'a Opinion,
    /// Whether it is an upper bound only.
    pub(crate) at_most: bool,
}

/// The rating of two who talk; or, where only the delay is not known, that of one who listens as an upper bound. It is
/// an upper bound too where the receiver has lost more than is missing here.
pub(crate) fn rated<'a>(stream: &StreamReport, judgement: &'a Judgement) -> Result<Rated<'a>, &'a Unknown> {
    match (&judgement.conversation, &judgement.listening) {
        (Ok(opinion), _) => Ok(Rated { opinion, at_most: lost_beyond(stream).is_some() }),
        (Err(Unknown::NoDelay), Ok(opinion)) => Ok(Rated { opinion, at_most: true }),
        (Err(unknown), _) => Err(unknown),
    }
}

/// How many packets the receiver has lost that passed here, if it reports any.
pub(crate) fn lost_beyond(stream: &StreamReport) -> Option<u64> {
    let reported = u64::try_from(stream.info.other?.lost).ok()?;
    let here: u64 = stream.parts.iter().map(|part| part.summary.network.lost + part.missing_before).sum();
    reported.checked_sub(here).filter(|more| *more > 0)
}

impl Rated<'_> {
    pub(crate) fn r(&self) -> String {
        self.format(self.opinion.r, |value| format!("{value:.1}"))
    }

    pub(crate) fn mos(&self) -> String {
        self.format(self.opinion.mos, |value| format!("{value:.2}"))
    }

    fn format(&self, interval: Interval, write: impl Fn(f64) -> String) -> String {
        if self.at_most { format!("≤ {}", write(interval.high)) } else { range_with(interval, write) }
    }
}

/// The name of a part's codec.
pub(crate) fn codec_name(part: &Part) -> String {
    match &part.sound {
        Sound::Speech { name, codec: Some(codec), .. } if name.starts_with("type ") => {
            codec.facts().name.to_owned()
        }
        Sound::Speech { name, .. } | Sound::NoVoice { name } => name.clone(),
        Sound::ComfortNoise => "comfort noise".to_owned(),
        Sound::Tones => "keypad tones".to_owned(),
    }
}

/// What to know of a stream and one of its parts.
pub(crate) fn part_notes(stream: &StreamReport, part: &Part, judgement: &Judgement) -> Vec<String> {
    let mut notes = interface_notes(stream);
    notes.extend(call_notes(stream, part));
    match &part.sound {
        Sound::Speech { .. } => notes.insert(0, delay_note(stream, part)),
        Sound::NoVoice { name } => {
            notes.insert(0, format!("{name} is no voice: not rated"));
            return notes;
        }
        Sound::ComfortNoise | Sound::Tones => {
            notes.insert(0, format!("{} alone are no speech: not rated", codec_name(part)));
            return notes;
        }
    }
    match rated(stream, judgement) {
        Ok(rated) => {
            if judgement.conversation.is_err() {
                notes.push(
                    "so R and MOS are at most these: what a listener hears, as if there were no delay"
                        .to_owned(),
                );
            } else if let Some(terminal) = part.judge.terminal_delay_ms() {
                notes.push(format!(
                    "from mouth to ear there are {} ms more: packet, codec and buffer",
                    round(terminal)
                ));
            }
            if let Some(more) = lost_beyond(stream) {
                notes.push(format!(
                    "its receiver reports {more} more packets lost than are missing here, so R and MOS are at most these"
                ));
            }
            notes.extend(rated.opinion.caveats.iter().map(ToString::to_string));
        }
        Err(Unknown::NoCodec) => notes.push(format!(
            "not rated: nothing in the capture says what payload type {} is; give --codec NAME",
            part.payload_type
        )),
        Err(unknown) => notes.push(format!("not rated: {unknown}")),
    }
    if part.clock_rate.is_none() {
        notes.push(
            "the clock rate is not known, so neither jitter nor loss in the buffer can be told".to_owned(),
        );
    } else if let (true, Some(rate)) = (part.clock_rate_guessed, part.clock_rate) {
        notes.push(format!("the clock rate, {rate} Hz, was told by the packets' arrivals"));
    }
    if part.missing_before > 0 {
        notes.push(format!(
            "{} packets are missing between the codec before and this one",
            part.missing_before
        ));
    }
    if part.buffer_restarts > 0 {
        notes.push(format!(
            "the least delay moved, and the buffer with it, {} times: clocks that drift, or another path",
            part.buffer_restarts
        ));
    }
    notes.extend(count_notes(part));
    if let Some(voice) = stream.info.voice.filter(|voice| voice.r != 127) {
        notes.push(format!("its receiver rates it R {} itself (RTCP XR)", voice.r));
    }
    notes
}

/// How many packets came otherwise than in order and once.
fn count_notes(part: &Part) -> impl Iterator<Item = String> {
    let counts = part.summary.counts;
    let all = [
        (counts.duplicates, "packets came twice"),
        (counts.reordered, "packets were overtaken on their way"),
        (counts.stale, "packets came after their loss had been counted"),
        (counts.strays, "packets had a number that belongs to no sequence"),
        (counts.restarts, "times the sender began a new sequence"),
    ];
    all.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"))
}

/// What losses and delay do not show: one end alone, silence, and what was not seen here.
fn call_notes(stream: &StreamReport, part: &Part) -> Vec<String> {
    let mut notes = Vec::new();
    match stream.direction {
        Direction::OneWay => notes.push(
            "one-way: nothing came back while it lasted; or the capture shows one direction only".to_owned(),
        ),
        Direction::SilentReturn => notes.push("one-way: what came back was nothing but silence".to_owned()),
        Direction::Both | Direction::TooShort => {}
    }
    let sounding = &stream.sounding;
    if sounding.is_silence() {
        notes.push("silence: nobody is heard in it (G.711 not above -60 dBov, or comfort noise)".to_owned());
    } else if sounding.longest_silence_s >= SILENCE_MIN_S {
        notes.push(format!("the longest silence in it was {} s", round(sounding.longest_silence_s)));
    }
    if part.summary.counts.unseen > 0 {
        notes.push(format!(
            "{} packets are missing where this computer had no room for packets: they count neither as received nor as lost",
            part.summary.counts.unseen
        ));
    }
    notes
}

/// What is made of a stream that more than one interface saw.
fn interface_notes(stream: &StreamReport) -> Vec<String> {
    let mut notes = Vec::new();
    if !stream.merged.is_empty() {
        notes.push(format!(
            "its packets came over several interfaces of the capture ({}), and are counted together",
            stream.merged.join(", ")
        ));
    }
    let copies: Vec<String> = stream.copies.iter().map(|copy| (copy + 1).to_string()).collect();
    match copies.as_slice() {
        [] => {}
        [copy] => notes.push(format!(
            "stream {copy} is this one as another interface of the capture saw it; each is rated by itself"
        )),
        copies => notes.push(format!(
            "streams {} are this one as other interfaces of the capture saw it; each is rated by itself",
            copies.join(", ")
        )),
    }
    notes
}

fn delay_note(stream: &StreamReport, part: &Part) -> String {
    match stream.delay {
        DelaySource::Unknown => {
            let half = stream.info.beyond.map(|beyond| {
                let ms = round(beyond.mean.as_seconds() * 1e3);
                format!("; from here to the receiver and back it takes {ms} ms, by RTCP")
            });
            format!(
                "one capture tells no one-way delay: give --delay-ms, or --other-end with a capture taken at the sender{}",
                half.unwrap_or_default()
            )
        }
        DelaySource::Stated(delay) => format!("the one-way delay, {} ms, was stated", range(delay)),
        DelaySource::RoundTrip(delay) => {
            format!("the one-way delay lies between 0 and the round trip, {} ms, by RTCP", round(delay.high))
        }
        DelaySource::Captures { matched, unmatched } => {
            let mean = part.summary.delay.as_ref().map_or_else(String::new, |delay| {
                format!(": mean {} ms, 95 % within {} ms", range(delay.mean_ms), range(delay.p95_ms))
            });
            let rest = if unmatched > 0 { format!("; {unmatched} are not in the other") } else { String::new() };
            format!("the one-way delay was measured between two captures, {matched} packets{rest}{mean}")
        }
        DelaySource::SentHere => {
            "this capture is at its sender, so it tells no delay; exchange the two files to rate it".to_owned()
        }
        DelaySource::NoClocks => {
            "only one direction is in both captures, so nothing bounds the clocks' error: give --clock-error-ms".to_owned()
        }
    }
}

/// What to know of the whole file.
pub fn file_notes(report: &Report, two: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(clocks) = report.clocks {
        let how = match (clocks.measured, clocks.contradicted) {
            (_, true) => "but packets contradict it: a clock was set, or runs at another speed",
            (true, false) => "by packets in both directions",
            (false, false) => "as stated",
        };
        notes.push(format!(
            "this capture's clock is {} ms ahead of the other's, {how}",
            range(clocks.offset_ms)
        ));
    } else if two && !report.streams.is_empty() {
        notes.push("no stream is in both captures".to_owned());
    }
    let (counts, search) = (report.counts, report.search);
    for (count, what) in [
        (
            counts.first_fragments,
            "datagrams came in IP fragments: each is counted by its first one, and whether the others came is not looked at",
        ),
        (counts.fragments, "IP fragments besides the first are left out"),
        (counts.ciphered, "frames of the air are ciphered"),
        (
            counts.own_drops,
            "packets were dropped by this computer before they were looked at: our fault, not the network's",
        ),
        (counts.damaged, "packets are cut or damaged before their ports"),
        (search.untimed, "packets of RTP carry no time (pcapng's simple packets)"),
        (search.too_many, "packets belong to more streams than are followed"),
        (search.rtcp_ciphered, "reports of RTCP are ciphered"),
        (report.rows_dropped, "seconds were too many to be kept; totals count them"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    if let Some(link) = counts.unknown_link_type {
        notes.push(format!("{} packets have link type {link}, which is not read", counts.unknown_link));
    }
    notes
}

/// What there was instead of streams, and what to do.
pub fn nothing_found(report: &Report) -> (String, String) {
    let (counts, search) = (report.counts, report.search);
    let what = format!(
        "{} packets, {} datagrams of UDP, {} of which look like RTP but keep no sequence",
        counts.packets, search.datagrams, search.unlike
    );
    let hint = if counts.packets == 0 {
        "nothing was captured: check the interface, and the filter"
    } else if search.untimed > 0 {
        "its packets carry no time; capture again with tcpdump or tshark"
    } else if counts.unknown_link > counts.packets / 2 {
        "capture on another interface, or with \"-i any\""
    } else if counts.ciphered > counts.packets / 2 {
        "capture at the access point's wire, or decrypt with tshark first"
    } else if search.datagrams == 0 {
        "there is no UDP in it: was the capture filter right? Calls through a tunnel are seen inside of it only"
    } else {
        "if the call went through a tunnel, capture inside of it: on its interface, at one of its ends"
    };
    (what, hint.to_owned())
}

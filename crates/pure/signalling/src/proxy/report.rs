//! What a member's telephone says at the end of a call of how well it heard: a session report of RFC 6035, in PUBLISH.
//!
//! Of the report one number is read, the mean opinion score of listening (`MOSLQ` in `QualityEst` of `LocalMetrics`, section
//! 4.6.2.11). The home keeps neither who it was nor with whom: [`Event::Reported`](super::Event::Reported) has the number alone.

use guestright_units::{Micros, Time};
use std::collections::BTreeMap;

/// The event package, and the type of its body (RFC 6035, sections 3.1 and 4).
pub(super) const PACKAGE: &str = "vq-rtcpxr";
pub(super) const REPORT: &str = "application/vq-rtcpxr";
/// A report is longer only with fields that nobody here reads.
pub(super) const REPORT_MAX: usize = 4_096;
/// A telephone that has hung up says how it was at once.
const WITHIN: Micros = Micros::from_seconds(60);
/// So many legs of calls that are over are waited for; then the oldest are not any more.
const AWAITED_MAX: usize = 512;
/// What the E-model of ITU-T G.107 can say (annex B), in hundredths.
const HUNDREDTHS: std::ops::RangeInclusive<u16> = 100..=450;

/// Legs of members in calls that are up or were a moment ago, by member and Call-ID, until they have reported.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// Since when the call is over.
    awaited: BTreeMap<(String, String), Time>,
}

/// What a telephone has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) call_id: String,
    /// Hundredths, 100 to 450.
    pub(super) mos: u16,
}

impl Reports {
    /// A call is over in which this leg was.
    pub(super) fn note_ended(&mut self, member: &str, call_id: &str, now: Time) {
        self.tidy(now);
        while self.awaited.len() >= AWAITED_MAX {
            let oldest = self.awaited.iter().min_by_key(|(_, at)| **at).map(|(leg, _)| leg.clone());
            oldest.map(|oldest| self.awaited.remove(&oldest));
        }
        self.awaited.insert((member.to_owned(), call_id.to_owned()), now);
    }

    /// Whether this leg has a report to give; from now on it has none.
    pub(super) fn settle(&mut self, member: &str, call_id: &str, now: Time) -> bool {
        self.tidy(now);
        self.awaited.remove(&(member.to_owned(), call_id.to_owned())).is_some()
    }

    fn tidy(&mut self, now: Time) {
        self.awaited.retain(|_, at| now < *at + WITHIN);
    }
}

impl Report {
    /// Reads a session report of a call that is over; nothing where it is none, or does not say how well was heard.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body.get(..body.len().min(REPORT_MAX))?).ok()?;
        let mut lines = text.lines();
        let kind = field(lines.next()?, "VQSessionReport")?;
        if !kind.split_whitespace().next()?.eq_ignore_ascii_case("CallTerm") {
            return None;
        }
        let (mut call_id, mut mos, mut is_local) = (None, None, false);
        for line in lines {
            if let Some(value) = field(line, "CallID") {
                call_id = call_id.or(Some(value));
            } else if field(line, "LocalMetrics").is_some() {
                is_local = true;
            } else if field(line, "RemoteMetrics").is_some() {
                // What the other end says of itself comes from the other end.
                is_local = false;
            } else if is_local && let Some(value) = field(line, "QualityEst") {
                mos = mos.or_else(|| listening(value));
            }
        }
        Some(Self { call_id: call_id?.to_owned(), mos: mos? })
    }
}

/// The value of a line `name: value`.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (found, value) = line.split_once(':')?;
    found.trim().eq_ignore_ascii_case(name).then_some(value.trim())
}

/// `MOSLQ=4.1` among words, as hundredths in the range that a rating can have. Telephones that count beyond it, as section
/// 4.6.2.11 lets them up to 4.9, count as the best.
fn listening(words: &str) -> Option<u16> {
    let value = words.split_whitespace().find_map(|word| {
        let (name, value) = word.split_once('=')?;
        name.eq_ignore_ascii_case("MOSLQ").then_some(value)
    })?;
    let mos: f64 = value.parse().ok().filter(|mos: &f64| (0.0..=5.0).contains(mos))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 500")]
    let hundredths = (mos * 100.0).round() as u16;
    Some(hundredths.clamp(*HUNDREDTHS.start(), *HUNDREDTHS.end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As RFC 6035, section 4.7.1, has it, shortened.
    const EXAMPLE: &str = "VQSessionReport: CallTerm\r\nCallID: 12345678\r\nLocalID: Alice <sip:alice@example.org>\r\n\
        RemoteID: Bill <sip:bill@example.net>\r\nOrigID: Alice <sip:alice@example.org>\r\nLocalGroup: example-phone\r\n\
        RemoteGroup: example-gateway\r\nLocalAddr: IP=10.10.1.100 PORT=5000 SSRC=1a3b5c7d\r\n\
        RemoteAddr: IP=11.1.1.150 PORT=5002 SSRC=2468abcd\r\nLocalMetrics:\r\n\
        Timestamps:START=2004-10-10T18:23:43Z STOP=2004-10-01T18:26:02Z\r\nSessionDesc:PT=18 PD=G729 SR=8000\r\n\
        QualityEst:RLQ=90 RCQ=85 EXTRI=90 MOSLQ=4.2 MOSCQ=4.3 QoEEstAlg=P.564\r\nRemoteMetrics:\r\n\
        QualityEst:MOSLQ=1.3\r\n";

    #[test]
    fn the_listener_s_own_score_is_read_and_no_other() {
        let report = |text: &str| Report::parse(text.as_bytes()).map(|report| (report.call_id, report.mos));
        assert_eq!(report(EXAMPLE), Some(("12345678".to_owned(), 420)));
        #[rustfmt::skip]
        let cases = [
            ("of the other end alone", EXAMPLE.replace("MOSLQ=4.2 ", ""),                   None),
            ("of an interval",         EXAMPLE.replace("CallTerm", "Interval"),            None),
            ("of no call",             EXAMPLE.replace("CallID: 12345678\r\n", ""),        None),
            ("beyond what can be",     EXAMPLE.replace("MOSLQ=4.2", "MOSLQ=4.9"),          Some(450)),
            ("below what can be",      EXAMPLE.replace("MOSLQ=4.2", "MOSLQ=0.2"),          Some(100)),
            ("no number",              EXAMPLE.replace("MOSLQ=4.2", "MOSLQ=NaN"),          None),
            ("without end",            EXAMPLE.replace("MOSLQ=4.2", "MOSLQ=inf"),          None),
            ("a score of nothing",     EXAMPLE.replace("MOSLQ=4.2", "MOSLQ=127"),          None),
        ];
        for (name, text, want) in cases {
            assert_eq!(report(&text).map(|(_, mos)| mos), want, "{name}");
        }
    }

    #[test]
    fn a_leg_reports_once_soon_after_its_call_and_only_by_its_own_member() {
        let (mut reports, at) = (Reports::default(), |seconds| Time(0) + Micros::from_seconds(seconds));
        reports.note_ended("alice", "c1", at(0));
        assert!(!reports.settle("bob", "c1", at(1)) && !reports.settle("alice", "c2", at(1)));
        assert!(reports.settle("alice", "c1", at(1)) && !reports.settle("alice", "c1", at(2)));
        reports.note_ended("alice", "c3", at(0));
        assert!(!reports.settle("alice", "c3", at(60)), "too late");
        for number in 0..=AWAITED_MAX {
            reports.note_ended(
                "alice",
                &number.to_string(),
                at(100) + Micros(u64::try_from(number).unwrap()),
            );
        }
        assert!(!reports.settle("alice", "0", at(101)) && reports.settle("alice", "1", at(101)));
    }

    proptest! {
        #[test]
        fn whatever_is_sent_the_score_is_one_that_can_be(body: Vec<u8>, words in "[A-Z:= .0-9\r\n]{0,200}") {
            let bodies = [body, format!("{EXAMPLE}{words}").into_bytes(), EXAMPLE.replace("4.2", &words).into_bytes()];
            for report in bodies.iter().filter_map(|body| Report::parse(body)) {
                prop_assert!(HUNDREDTHS.contains(&report.mos));
            }
        }
    }
}

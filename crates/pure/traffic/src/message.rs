//! What the two ends say besides voice. All numbers are in network order.
//!
//! ```text
//! 0  'G' 'T'      no RTP packet begins like this (RFC 7983)
//! 2  version  u8  1
//! 3  kind     u8
//! 4  session  u32
//! 8  what the kind says, below
//! ```
//!
//! Whoever asks sends at least as many octets as the answer has, so a listener amplifies nothing. It sends voice only
//! to an address that has shown a cookie, so nobody can have it sent to somebody else.

use guestright_units::Time;

use crate::plan::Plan;
use crate::report::{CALL_LEN, CallFigures, PER_MESSAGE};

const MAGIC: [u8; 2] = *b"GT";
const VERSION: u8 = 1;
/// `Hello` is filled up to this, `Welcome` and `Refused` are shorter.
const HELLO_LEN: usize = 64;
/// `Probe` is filled up to the length of an `Answer`.
const ANSWER_LEN: usize = 36;
/// `Ask` is filled up to the length of the longest `Report`.
const REPORT_LEN: usize = 16 + PER_MESSAGE * CALL_LEN;

/// Eight octets by which an address shows that it receives what is sent to it.
pub(crate) type Cookie = [u8; 8];

/// Why a listener will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is busy with another run.
    Busy,
    /// More calls than it allows.
    TooManyCalls,
    /// Longer than it allows.
    TooLong,
    /// This address is not allowed.
    Address,
    /// It speaks another version.
    Version,
}

impl Refusal {
    const ALL: [Self; 5] = [Self::Busy, Self::TooManyCalls, Self::TooLong, Self::Address, Self::Version];

    /// What to tell the user.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Busy => "the other end is busy with another run",
            Self::TooManyCalls => "the other end does not allow so many calls",
            Self::TooLong => "the other end does not allow so long a run",
            Self::Address => "the other end does not allow runs from this address",
            Self::Version => "the other end speaks another version",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// 1: may I? 8: plan.
    Hello { session: u32, plan: Plan },
    /// 2: show me this. 8: cookie.
    Welcome { session: u32, cookie: Cookie },
    /// 3: let us begin. 8: plan, 16: cookie.
    Start { session: u32, plan: Plan, cookie: Cookie },
    /// 4: we begin.
    Started { session: u32 },
    /// 5: no. 8: reason.
    Refused { session: u32, reason: Refusal },
    /// 6: what time is it? 8: number, 12: T1.
    Probe { session: u32, number: u32, asked: Time },
    /// 7: 8: number, 12: T1, 20: T2, 28: T3.
    Answer { session: u32, number: u32, asked: Time, arrived: Time, answered: Time },
    /// 8: each of my calls has sent so many packets, and sends no more. 8: packets.
    Sent { session: u32, packets: u32 },
    /// 9: what did you receive? 8: first call.
    Ask { session: u32, first: u16 },
    /// 10: 8: first call, 10: calls in all, 12: calls in this message, 14: zero, 16: figures.
    Report { session: u32, first: u16, calls: u16, figures: Vec<CallFigures> },
    /// 11: I have what I need.
    Bye { session: u32 },
}

impl Message {
    pub(crate) fn session(&self) -> u32 {
        match self {
            Self::Hello { session, .. }
            | Self::Welcome { session, .. }
            | Self::Start { session, .. }
            | Self::Started { session }
            | Self::Refused { session, .. }
            | Self::Probe { session, .. }
            | Self::Answer { session, .. }
            | Self::Sent { session, .. }
            | Self::Ask { session, .. }
            | Self::Report { session, .. }
            | Self::Bye { session } => *session,
        }
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Welcome { .. } => 2,
            Self::Start { .. } => 3,
            Self::Started { .. } => 4,
            Self::Refused { .. } => 5,
            Self::Probe { .. } => 6,
            Self::Answer { .. } => 7,
            Self::Sent { .. } => 8,
            Self::Ask { .. } => 9,
            Self::Report { .. } => 10,
            Self::Bye { .. } => 11,
        }
    }

    pub(crate) fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HELLO_LEN);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, self.kind()]);
        out.extend_from_slice(&self.session().to_be_bytes());
        let mut least = 0;
        match self {
            Self::Hello { plan, .. } => {
                out.extend_from_slice(&plan.emit());
                least = HELLO_LEN;
            }
            Self::Welcome { cookie, .. } => out.extend_from_slice(cookie),
            Self::Start { plan, cookie, .. } => {
                out.extend_from_slice(&plan.emit());
                out.extend_from_slice(cookie);
            }
            Self::Started { .. } | Self::Bye { .. } => {}
            Self::Refused { reason, .. } => {
                let number = Refusal::ALL.iter().position(|other| other == reason).unwrap_or(0);
                out.push(u8::try_from(number).unwrap_or(0));
            }
            Self::Probe { number, asked, .. } => {
                out.extend_from_slice(&number.to_be_bytes());
                out.extend_from_slice(&asked.0.to_be_bytes());
                least = ANSWER_LEN;
            }
            Self::Answer { number, asked, arrived, answered, .. } => {
                out.extend_from_slice(&number.to_be_bytes());
                [asked, arrived, answered]
                    .iter()
                    .for_each(|time| out.extend_from_slice(&time.0.to_be_bytes()));
            }
            Self::Sent { packets, .. } => out.extend_from_slice(&packets.to_be_bytes()),
            Self::Ask { first, .. } => {
                out.extend_from_slice(&first.to_be_bytes());
                least = REPORT_LEN;
            }
            Self::Report { first, calls, figures, .. } => {
                let count = u16::try_from(figures.len()).unwrap_or(u16::MAX);
                [*first, *calls, count, 0].iter().for_each(|n| out.extend_from_slice(&n.to_be_bytes()));
                figures.iter().for_each(|call| call.emit(&mut out));
            }
        }
        out.resize(out.len().max(least), 0);
        out
    }

    /// Reads a datagram; `None` if it is no message of this version.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_first_chunk::<8>()?;
        let [g, t, version, kind, s0, s1, s2, s3] = *head;
        if [g, t] != MAGIC || version != VERSION {
            return None;
        }
        let session = u32::from_be_bytes([s0, s1, s2, s3]);
        let rest = &mut rest;
        let (message, want) = match kind {
            1 => (Self::Hello { session, plan: plan(rest)? }, HELLO_LEN),
            2 => (Self::Welcome { session, cookie: read_array(rest)? }, 16),
            3 => (Self::Start { session, plan: plan(rest)?, cookie: read_array(rest)? }, 24),
            4 => (Self::Started { session }, 8),
            5 => (
                Self::Refused { session, reason: *Refusal::ALL.get(usize::from(read_array::<1>(rest)?[0]))? },
                9,
            ),
            6 => (Self::Probe { session, number: number(rest)?, asked: time(rest)? }, ANSWER_LEN),
            7 => {
                let (number, asked, arrived, answered) =
                    (number(rest)?, time(rest)?, time(rest)?, time(rest)?);
                (Self::Answer { session, number, asked, arrived, answered }, ANSWER_LEN)
            }
            8 => (Self::Sent { session, packets: number(rest)? }, 12),
            9 => (Self::Ask { session, first: short(rest)? }, REPORT_LEN),
            10 => {
                let (first, calls, count, zero) = (short(rest)?, short(rest)?, short(rest)?, short(rest)?);
                if usize::from(count) > PER_MESSAGE || zero != 0 {
                    return None;
                }
                let figures =
                    (0..count).map(|_| CallFigures::parse(read_array(rest)?)).collect::<Option<Vec<_>>>()?;
                (Self::Report { session, first, calls, figures }, 16 + usize::from(count) * CALL_LEN)
            }
            11 => (Self::Bye { session }, 8),
            _ => return None,
        };
        (bytes.len() == want).then_some(message)
    }
}

/// Whether this is a `Hello` of another version, to which the answer is a refusal.
pub(crate) fn is_other_version(bytes: &[u8]) -> Option<u32> {
    let [g, t, version, 1, s0, s1, s2, s3] = *bytes.first_chunk::<8>()? else { return None };
    let other = [g, t] == MAGIC && version != VERSION && bytes.len() >= HELLO_LEN;
    other.then(|| u32::from_be_bytes([s0, s1, s2, s3]))
}

fn read_array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

fn plan(rest: &mut &[u8]) -> Option<Plan> {
    Plan::parse(read_array(rest)?)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(read_array(rest)?))
}

fn short(rest: &mut &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(read_array(rest)?))
}

fn time(rest: &mut &[u8]) -> Option<Time> {
    Some(Time(u64::from_be_bytes(read_array(rest)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::figures;
    use proptest::prelude::*;

    fn messages() -> impl Strategy<Value = Message> {
        let plan = (1..=2_000_u16, 1..=4_000_000_u32)
            .prop_map(|(calls, packets)| Plan { packets, ..Plan::paper_a(calls) });
        let numbers = (any::<u32>(), any::<u32>(), any::<[u64; 3]>(), any::<[u8; 8]>());
        let lists = (any::<u16>(), any::<u16>(), prop::collection::vec(figures(), 0..=PER_MESSAGE));
        (1..=11_u8, plan, numbers, lists).prop_map(|(kind, plan, numbers, lists)| {
            let (session, number, [asked, arrived, answered], cookie) = numbers;
            let (first, calls, figures) = lists;
            match kind {
                1 => Message::Hello { session, plan },
                2 => Message::Welcome { session, cookie },
                3 => Message::Start { session, plan, cookie },
                4 => Message::Started { session },
                5 => Message::Refused { session, reason: Refusal::ALL[usize::from(first) % 5] },
                6 => Message::Probe { session, number, asked: Time(asked) },
                7 => Message::Answer {
                    session,
                    number,
                    asked: Time(asked),
                    arrived: Time(arrived),
                    answered: Time(answered),
                },
                8 => Message::Sent { session, packets: number },
                9 => Message::Ask { session, first },
                10 => Message::Report { session, first, calls, figures },
                _ => Message::Bye { session },
            }
        })
    }

    proptest! {
        #[test]
        fn parse_inverts_emit(message in messages()) {
            prop_assert_eq!(Message::parse(&message.emit()), Some(message));
        }

        #[test]
        fn a_cut_or_longer_message_is_none(message in messages(), cut in 1..40_usize) {
            let mut bytes = message.emit();
            bytes.push(0);
            prop_assert_eq!(Message::parse(&bytes), None);
            bytes.truncate(bytes.len().saturating_sub(1 + cut));
            prop_assert_eq!(Message::parse(&bytes), None);
        }

        #[test]
        fn anything_may_arrive(mut bytes in prop::collection::vec(any::<u8>(), 0..1200), head: bool, kind in 0..13_u8) {
            if head && bytes.len() > 4 {
                bytes[..4].copy_from_slice(&[b'G', b'T', 1, kind]);
            }
            if let Some(message) = Message::parse(&bytes) {
                prop_assert_eq!(Message::parse(&message.emit()), Some(message));
            }
            let _ = is_other_version(&bytes);
        }
    }

    #[test]
    fn no_answer_is_longer_than_its_question() {
        let plan = Plan::paper_a(1);
        let len = |message: Message| message.emit().len();
        let (session, zero) = (1, Time(0));
        let hello = len(Message::Hello { session, plan });
        assert!(len(Message::Welcome { session, cookie: [0; 8] }) <= hello);
        assert!(len(Message::Refused { session, reason: Refusal::Busy }) <= hello);
        let answer = len(Message::Answer { session, number: 0, asked: zero, arrived: zero, answered: zero });
        assert!(answer <= len(Message::Probe { session, number: 0, asked: zero }));
        let longest = vec![crate::report::CallFigures::default(); PER_MESSAGE];
        let report = len(Message::Report { session, first: 0, calls: 1, figures: longest });
        assert!(report <= len(Message::Ask { session, first: 0 }));
        assert!(report <= 1_200, "{report} octets would not fit through every tunnel");
    }
}

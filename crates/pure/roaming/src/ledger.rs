//! The visitor's meter over a day: what it counted and what it signed for, by provider.
//!
//! Names of teams are free, and so are sessions. A tolerance for each of either would be signed for again and again without
//! a byte being carried, so what is signed ahead of the count has one bound for a day, whoever it is signed to.
//!
//! In: bytes that were counted, bytes that are to be signed for, the time. Out: how many may be signed for, and a text from
//! which the ledger comes back.
//!
//! Invariants: at every moment the sum over all providers of what is signed for today beyond 1.05 times what was
//! counted ([`Ledger::TOLERANCE`]) is at most [`Ledger::ADVANCE`]; a byte that was counted is the ground for signing once; a clock that goes
//! back gives nothing back; there is a limit to its size, and what is dropped for that reason stays signed for.

use guestright_ordered::OrderedMap;
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What one visitor counted and signed for, on the day that it is.
///
/// A visitor's machines share it: those of one session after the other, and those that a home runs for one member. It is
/// durable before a receipt leaves whose bytes are in it.
///
/// ```
/// use guestright_roaming::Ledger;
/// use guestright_units::{Bytes, TeamId, UnixSeconds};
/// # let (now, provider, other) = (UnixSeconds(1_800_000_000).time(), TeamId([1; 24]), TeamId([2; 24]));
/// let mut ledger = Ledger::default();
/// ledger.count(provider, Bytes(1_000_000), now);
/// assert_eq!(ledger.room(provider, now), Bytes(1_050_000 + 65_536));
/// assert!(ledger.sign(provider, Bytes(1_060_000), now));
/// assert_eq!(ledger.room(other, now), Bytes(65_536 - 10_000)); // What is ahead of the count is ahead for all.
/// ledger.count(provider, Bytes(10_000), now);
/// assert_eq!(ledger.room(other, now), Bytes(65_536)); // It was only on its way.
/// assert_eq!(ledger.to_string().parse(), Ok(ledger));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Days since 1970, UTC; the latest that was seen.
    day: u64,
    /// What was signed for today beyond the count with providers that were dropped since.
    forgotten: Bytes,
    today: OrderedMap<TeamId, Entry>,
    /// What was counted before today and not signed for: it is asked for after midnight.
    before: OrderedMap<TeamId, Bytes>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    counted: Bytes,
    signed: Bytes,
}

/// Why a text is no ledger.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LedgerError {
    #[error("a ledger has at most {want} bytes, not {got}")]
    TooLong { got: usize, want: usize },
    /// The number of the line; 0 if one is missing.
    #[error("line {0} is not a ledger's")]
    Line(usize),
    #[error("more is signed for beyond the count than a ledger lets happen: {got} bytes, at most {want}")]
    TooMuch { got: u64, want: u64 },
}

impl Entry {
    /// How much may be signed for without using the advance.
    fn covered(self) -> Bytes {
        self.counted.saturating_add(Bytes(self.counted.0 / Ledger::TOLERANCE))
    }

    fn ahead(self) -> Bytes {
        self.signed.saturating_sub(self.covered())
    }
}

impl Ledger {
    /// What is counted may be exceeded by a part in so many: 5 %. That is for an access point on a radio, which counts up to
    /// 3.5 % more headers (see the visitor's meter), and for what is lost between the two counts.
    pub const TOLERANCE: u64 = 20;
    /// So much more may be signed for in a day, for all providers together: packets on their way.
    pub const ADVANCE: Bytes = Bytes(64 * 1_024);
    /// How many providers a day are told apart.
    pub const PROVIDERS_MAX: usize = 64;
    /// No ledger's text is longer: a line for each provider of today and of before.
    pub const LEN_MAX: usize = 16 * 1_024;

    const TITLE: &str = "guestright ledger 1";

    /// A ledger whose advance of today is used up, for a program that cannot read what it kept.
    pub fn used_up(now: Time) -> Self {
        Self { day: day(now.unix_seconds()), forgotten: Self::ADVANCE, ..Self::default() }
    }

    /// Takes in that so much more was counted of what this provider carried.
    pub fn count(&mut self, provider: TeamId, more: Bytes, now: Time) {
        self.turn_page(now);
        if more > Bytes(0) {
            let entry = self.entry(provider);
            entry.counted = entry.counted.saturating_add(more);
        }
    }

    /// How much more may be signed for, for this provider.
    pub fn room(&mut self, provider: TeamId, now: Time) -> Bytes {
        self.turn_page(now);
        let own = self.today.get(&provider).copied().unwrap_or_default();
        let before = self.before.get(&provider).copied().unwrap_or_default();
        let covered = Entry { counted: own.counted.saturating_add(before), ..own }.covered();
        let others = self.ahead().saturating_sub(own.ahead());
        covered.saturating_add(Self::ADVANCE.saturating_sub(others)).saturating_sub(own.signed)
    }

    /// Takes in that so much more is signed for. False, and nothing has changed, if that is more than the
    /// [`room`](Self::room).
    #[must_use]
    pub fn sign(&mut self, provider: TeamId, more: Bytes, now: Time) -> bool {
        if more > self.room(provider, now) {
            return false;
        }
        if more > Bytes(0) {
            let entry = self.entry(provider);
            entry.signed = entry.signed.saturating_add(more);
        }
        true
    }

    /// What is signed for today beyond what the counts cover, for all providers together.
    pub fn ahead(&self) -> Bytes {
        self.today.values().fold(self.forgotten, |sum, entry| sum.saturating_add(entry.ahead()))
    }

    /// A new day begins when it is later than the latest that was seen.
    fn turn_page(&mut self, now: Time) {
        let day = day(now.unix_seconds());
        if day <= self.day {
            return;
        }
        let unsigned = |(provider, entry): (TeamId, Entry)| {
            let unsigned = entry.counted.saturating_sub(entry.signed);
            (unsigned > Bytes(0)).then_some((provider, unsigned))
        };
        self.before = std::mem::take(&mut self.today).into_iter().filter_map(unsigned).collect();
        (self.day, self.forgotten) = (day, Bytes(0));
    }

    /// The provider's line of today. A new one makes room for itself.
    fn entry(&mut self, provider: TeamId) -> &mut Entry {
        if !self.today.contains_key(&provider) && self.today.len() >= Self::PROVIDERS_MAX {
            // Whoever carried the least, so that names which carry nothing displace each other.
            let least = self.today.iter().min_by_key(|(_, entry)| entry.counted).map(|(&least, _)| least);
            if let Some(dropped) = least.and_then(|least| self.today.remove(&least)) {
                self.forgotten = self.forgotten.saturating_add(dropped.ahead());
            }
        }
        let before = self.before.remove(&provider).unwrap_or_default();
        let entry = self.today.entry(provider).or_default();
        entry.counted = entry.counted.saturating_add(before);
        entry
    }
}

/// Days since 1970.
fn day(now: UnixSeconds) -> u64 {
    now.0 / 86_400
}

impl fmt::Display for Ledger {
    /// A line for the day and one for each provider, in the order of their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Self::TITLE)?;
        writeln!(f, "day {} {}", self.day, self.forgotten.0)?;
        for (provider, entry) in &self.today {
            writeln!(f, "today {provider} {} {}", entry.counted.0, entry.signed.0)?;
        }
        self.before
            .iter()
            .try_for_each(|(provider, unsigned)| writeln!(f, "before {provider} {}", unsigned.0))
    }
}

impl FromStr for Ledger {
    type Err = LedgerError;

    /// Reads what [`Display`](fmt::Display) writes, and nothing else.
    fn from_str(text: &str) -> Result<Self, LedgerError> {
        if text.len() > Self::LEN_MAX {
            return Err(LedgerError::TooLong { got: text.len(), want: Self::LEN_MAX });
        }
        let mut ledger = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            ledger.read_line(number, line).ok_or(LedgerError::Line(number))?;
        }
        let (got, want) = (ledger.ahead().0, Self::ADVANCE.0);
        if got > want {
            return Err(LedgerError::TooMuch { got, want });
        }
        // The one text for what it says: no line twice, in another order or spelled otherwise, and none missing.
        let again = ledger.to_string();
        let differs = (1..).zip(again.lines().zip(text.lines())).find(|(_, (a, b))| a != b);
        if again == text {
            Ok(ledger)
        } else {
            Err(LedgerError::Line(differs.map_or(0, |(number, _)| number)))
        }
    }
}

impl Ledger {
    fn read_line(&mut self, number: usize, line: &str) -> Option<()> {
        let words: Vec<_> = line.split(' ').take(5).collect();
        let bytes = |word: &str| word.parse().ok().map(Bytes);
        match (number, words.as_slice()) {
            (1, _) => (line == Self::TITLE).then_some(()),
            (2, ["day", day, forgotten]) => {
                (self.day, self.forgotten) = (day.parse().ok()?, bytes(forgotten)?);
                Some(())
            }
            (3.., ["today", provider, counted, signed]) if self.today.len() < Self::PROVIDERS_MAX => {
                let entry = Entry { counted: bytes(counted)?, signed: bytes(signed)? };
                self.today.insert(provider.parse().ok()?, entry);
                Some(())
            }
            (3.., ["before", provider, unsigned]) if self.before.len() < Self::PROVIDERS_MAX => {
                self.before.insert(provider.parse().ok()?, bytes(unsigned)?);
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOON: Time = UnixSeconds(20_800 * 86_400 + 43_200).time();
    const DAY: u64 = 86_400;

    fn team(number: u8) -> TeamId {
        TeamId([number; 24])
    }

    fn later(seconds: u64) -> Time {
        NOON.unix_seconds().plus(seconds).time()
    }

    #[test]
    fn the_advance_is_one_for_all_providers_and_comes_back_with_what_is_counted() {
        let mut ledger = Ledger::default();
        assert!(ledger.sign(team(1), Bytes(65_000), NOON));
        assert_eq!(ledger.room(team(2), NOON), Bytes(536));
        assert!(!ledger.sign(team(2), Bytes(537), NOON));
        ledger.count(team(2), Bytes(20), NOON);
        assert_eq!(ledger.room(team(2), NOON), Bytes(536 + 21));
        ledger.count(team(1), Bytes(60_000), NOON);
        assert_eq!(ledger.ahead(), Bytes(2_000));
        ledger.count(team(1), Bytes(10_000), NOON);
        assert_eq!((ledger.ahead(), ledger.room(team(2), NOON)), (Bytes(0), Bytes(65_536 + 21)));
        assert_eq!(ledger.room(team(1), NOON), Bytes(73_500 + 65_536 - 65_000));
    }

    #[test]
    fn a_new_day_has_a_new_advance_and_a_clock_that_goes_back_has_none() {
        let mut ledger = Ledger::default();
        assert!(ledger.sign(team(1), Ledger::ADVANCE, NOON));
        for seconds in [0, DAY / 2 - 1] {
            assert_eq!(ledger.room(team(2), later(seconds)), Bytes(0));
        }
        assert!(ledger.sign(team(2), Ledger::ADVANCE, later(DAY / 2)));
        assert_eq!((ledger.room(team(3), NOON), ledger.room(team(3), later(DAY))), (Bytes(0), Bytes(0)));
    }

    #[test]
    fn what_was_counted_before_midnight_is_signed_for_after_it_once() {
        let mut ledger = Ledger::default();
        ledger.count(team(1), Bytes(5_000_000), NOON);
        assert!(ledger.sign(team(1), Bytes(1_000_000), NOON));
        let tomorrow = later(DAY);
        assert_eq!(ledger.room(team(1), tomorrow), Bytes(4_200_000 + 65_536));
        assert_eq!(ledger.room(team(2), tomorrow), Bytes(65_536), "it is that provider's");
        assert!(ledger.sign(team(1), Bytes(4_000_000), tomorrow));
        assert_eq!(ledger.room(team(1), later(2 * DAY)), Bytes(65_536), "and it was signed for");
    }

    #[test]
    fn names_that_carry_nothing_displace_each_other_and_what_they_used_stays_used() {
        let mut ledger = Ledger::default();
        ledger.count(team(0), Bytes(1_000_000), NOON);
        for name in 1..=255 {
            let signed = ledger.sign(team(name), Bytes(1_000), NOON);
            assert_eq!(signed, name <= 65, "{name}");
            assert!(ledger.today.len() <= Ledger::PROVIDERS_MAX);
        }
        assert_eq!(ledger.ahead(), Bytes(65_000));
        assert_eq!(ledger.room(team(0), NOON), Bytes(1_050_000 + 536), "who carried is remembered");
    }

    #[test]
    fn a_text_that_no_ledger_writes_is_refused() {
        let mut ledger = Ledger::default();
        ledger.count(team(1), Bytes(1_000), NOON);
        ledger.count(team(2), Bytes(1_000), NOON);
        ledger.count(team(3), Bytes(1), later(DAY));
        assert!(ledger.sign(team(1), Bytes(7_000), later(DAY)));
        let text = ledger.to_string();
        let [one, two, three] = [1, 2, 3].map(|number| team(number).to_string());
        let want = format!(
            "guestright ledger 1\nday 20801 0\ntoday {one} 1000 7000\ntoday {three} 1 0\nbefore {two} 1000\n"
        );
        assert_eq!(text, want);
        assert_eq!(text.parse(), Ok(ledger));
        let line = |number| Err(LedgerError::Line(number));
        let (got, want) = (65_537, 65_536);
        #[rustfmt::skip]
        let cases = [
            (String::new(),                                             line(0)),
            (text.replace("ledger 1", "ledger 2"),                      line(1)),
            (text.replace("day 20801 0", "day 020801 0"),               line(2)),
            (text.replace("day 20801 0", "day 20801"),                  line(2)),
            (text.replace("day 20801 0", "day 20801 -1"),               line(2)),
            (text.replace(&one, &one[1..]),                             line(3)),
            (text.replace(" 7000", " 7000 1"),                          line(3)),
            (text.replace(&one, &two),                                  Ok(())), // Another ledger, and a good one.
            (text.replace(&three, &one),                                line(3)),
            (text.replace("before", "today"),                           line(5)),
            (text.trim_end().to_owned(),                                line(0)),
            (format!("{text}\n"),                                       line(6)),
            (text.replace("day 20801 0", "day 20801 59587"),            Err(LedgerError::TooMuch { got, want })),
            (text.replace("1000 7000", "1000 18446744073709551615"),    Err(LedgerError::TooMuch { got: u64::MAX - 1_050, want })),
            ("x".repeat(16_385),                                        Err(LedgerError::TooLong { got: 16_385, want: 16_384 })),
        ];
        for (text, want) in cases {
            assert_eq!(text.parse::<Ledger>().map(|_| ()), want, "{text}");
        }
    }

    /// What happens to a ledger, or to the program around it.
    #[derive(Clone, Debug)]
    enum Step {
        Count(u8, u64),
        Sign(u8, u64),
        SignAll(u8),
        /// The clock goes on, or back.
        Wait(i64),
        Restart,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let bytes = || prop_oneof![0..2_000_u64, 0..200_000_u64, 0..u64::MAX];
        // Some providers who come again and again, and fresh names.
        let name = || prop_oneof![0..4_u8, 0..=255_u8];
        let step = prop_oneof![
            4 => (name(), bytes()).prop_map(|(name, bytes)| Step::Count(name, bytes)),
            4 => (name(), bytes()).prop_map(|(name, bytes)| Step::Sign(name, bytes)),
            4 => name().prop_map(Step::SignAll),
            1 => (-100_000..100_000_i64).prop_map(Step::Wait),
            1 => Just(Step::Restart),
        ];
        proptest::collection::vec(step, 0..400)
    }

    /// Knows all names and all days, where the ledger knows a few names and what it kept.
    #[derive(Debug, Default)]
    struct Model {
        counted: OrderedMap<u8, u128>,
        signed: OrderedMap<u8, u128>,
        /// The same since midnight; what was counted before and is signed for today is counted today.
        counted_today: OrderedMap<u8, u128>,
        signed_today: OrderedMap<u8, u128>,
        days: u128,
        latest: u64,
    }

    impl Model {
        fn touch(&mut self, now: Time) {
            let today = day(now.unix_seconds());
            if today > self.latest {
                for (name, signed) in std::mem::take(&mut self.signed_today) {
                    let counted = self.counted_today.entry(name).or_default();
                    *counted = counted.saturating_sub(signed);
                }
                (self.latest, self.days) = (today, self.days + 1);
            }
        }

        fn count(&mut self, name: u8, more: u64, now: Time) {
            self.touch(now);
            *self.counted.entry(name).or_default() += u128::from(more);
            *self.counted_today.entry(name).or_default() += u128::from(more);
        }

        fn sign(&mut self, name: u8, more: u64, now: Time) {
            self.touch(now);
            *self.signed.entry(name).or_default() += u128::from(more);
            *self.signed_today.entry(name).or_default() += u128::from(more);
        }

        /// Design note 0010, "The visitor's meter".
        fn check(&self) {
            let ahead = |counted: &OrderedMap<u8, u128>, signed: &OrderedMap<u8, u128>| {
                let of = |(name, signed): (&u8, &u128)| {
                    let counted = counted.get(name).copied().unwrap_or_default();
                    signed.saturating_sub(counted + counted / 20)
                };
                signed.iter().map(of).sum::<u128>()
            };
            let advance = u128::from(Ledger::ADVANCE.0);
            let today = ahead(&self.counted_today, &self.signed_today);
            assert!(today <= advance, "{today} ahead today");
            let ever = ahead(&self.counted, &self.signed);
            assert!(ever <= advance * self.days, "{ever} ahead in {} days", self.days);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_more_is_signed_for_in_a_day_than_was_counted_and_one_advance(steps in steps()) {
            let (mut ledger, mut model, mut now) = (Ledger::default(), Model::default(), NOON);
            for step in steps {
                match step {
                    Step::Count(name, more) => {
                        ledger.count(team(name), Bytes(more), now);
                        model.count(name, more, now);
                    }
                    Step::Sign(name, more) => {
                        let signed = ledger.sign(team(name), Bytes(more), now);
                        model.sign(name, if signed { more } else { 0 }, now);
                    }
                    Step::SignAll(name) => {
                        let room = ledger.room(team(name), now);
                        assert!(ledger.sign(team(name), room, now));
                        assert!(room == Bytes(u64::MAX) || !ledger.sign(team(name), Bytes(room.0 + 1), now));
                        model.sign(name, room.0, now);
                    }
                    Step::Wait(seconds) => {
                        now = UnixSeconds(now.unix_seconds().0.saturating_add_signed(seconds)).time();
                    }
                    Step::Restart => ledger = ledger.to_string().parse().expect("what it wrote"),
                }
                model.check();
                assert!(ledger.ahead() <= Ledger::ADVANCE);
                assert!(ledger.to_string().len() <= Ledger::LEN_MAX);
                assert!(ledger.today.len().max(ledger.before.len()) <= Ledger::PROVIDERS_MAX);
            }
        }

        #[test]
        fn any_text_is_refused_or_comes_back_as_it_is(text in "(guestright ledger 1\n)?(day [0-9]{1,3} [0-9]{1,6}\n)?(today [01]{48} [0-9]{1,8} [0-9]{1,8}\n){0,3}\\PC{0,40}") {
            if let Ok(ledger) = text.parse::<Ledger>() {
                prop_assert_eq!(ledger.to_string(), text);
            }
        }
    }
}

use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_units::UnixSeconds;

/// How many members may begin a session within one second.
const STARTS_MAX: usize = 4_096;

/// The beginnings of the current second: a member's sessions never begin at the same second, or their receipts would
/// count as one. Other members' sessions may, so that nobody can push the beginnings away from the clock.
#[derive(Debug, Default)]
pub(super) struct Starts {
    second: UnixSeconds,
    latest: OrderedMap<KeyId, UnixSeconds>,
}

impl Starts {
    /// When the next session of `member` begins; nothing if too many began in this second.
    pub(super) fn next(&mut self, member: KeyId, now: UnixSeconds) -> Option<UnixSeconds> {
        if now != self.second {
            self.second = now;
            self.latest.retain(|_, started| *started >= now);
        }
        let latest = self.latest.get(&member).copied();
        if latest.is_none() && self.latest.len() >= STARTS_MAX {
            return None;
        }
        let started = latest.map_or(now, |latest| latest.plus(1).max(now));
        self.latest.insert(member, started);
        Some(started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: usize) -> KeyId {
        let mut id = [0; 24];
        id[..8].copy_from_slice(&number.to_be_bytes());
        KeyId(id)
    }

    #[test]
    fn no_two_sessions_of_a_member_begin_in_the_same_second() {
        let mut starts = Starts::default();
        #[rustfmt::skip]
        let cases = [
            (1, 50, 50), (1, 50, 51), (1, 50, 52), (2, 50, 50), (2, 51, 51),
            (1, 51, 53), // It is ahead of the clock, and is not forgotten.
            (1, 90, 90), (1, 90, 91),
        ];
        for (number, now, want) in cases {
            assert_eq!(
                starts.next(member(number), UnixSeconds(now)),
                Some(UnixSeconds(want)),
                "{number} at {now}"
            );
        }
    }

    #[test]
    fn so_many_members_begin_within_a_second_and_the_others_in_the_next_one() {
        let mut starts = Starts::default();
        let now = UnixSeconds(50);
        for number in 0..STARTS_MAX {
            assert_eq!(starts.next(member(number), now), Some(now));
        }
        assert_eq!(starts.next(member(STARTS_MAX), now), None);
        assert_eq!(starts.next(member(0), now), Some(now.plus(1)), "who has begun may begin again");
        assert_eq!(starts.next(member(STARTS_MAX), now.plus(1)), Some(now.plus(1)));
    }
}

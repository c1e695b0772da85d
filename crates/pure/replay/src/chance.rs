//! The number that is drawn where a policy leaves a decision to chance.

use guestright_receipt::SessionKey;
use guestright_reciprocity::PerMille;
use std::convert::Infallible;

/// A number that is drawn again and again; the lower, the more is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw(u32);

impl Draw {
    /// Grants whatever is possible at all.
    pub(crate) const fn lucky() -> Self {
        Self(0)
    }

    /// What may have been drawn for a session that was served with this probability. That it was served says that the number
    /// was below it; where below, the session's key says, so that it is the same in each dry run.
    pub(crate) fn of_served(session: &SessionKey, probability: PerMille) -> Self {
        let most =
            if probability == PerMille(0) { PerMille::WHOLE } else { probability.min(PerMille::WHOLE) };
        // 2^32 numbers stand for the whole.
        let below = (u64::from(most.0) << 32) / 1_000;
        let drawn = (u128::from(scatter(session)) * u128::from(below)) >> 64;
        Self(u32::try_from(drawn).unwrap_or(u32::MAX))
    }
}

/// FNV-1a over the key, and the last step of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), since FNV's high bits are poor.
fn scatter(session: &SessionKey) -> u64 {
    let started = session.started.0.to_be_bytes();
    let bytes = session.member.0.iter().chain(&started).chain(&session.provider.0);
    let mut state = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

impl rand::TryRng for Draw {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(self.0) << 32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::MemberId;
    use guestright_units::{TeamId, UnixSeconds};

    fn share_below(served_with: u16, now_with: u16) -> f64 {
        let all = 20_000;
        let granted = (0..all).filter(|number| {
            let mut member = [0; 24];
            member[..8].copy_from_slice(&u64::to_be_bytes(*number));
            let session =
                SessionKey { provider: TeamId([1; 24]), member: MemberId(member), started: UnixSeconds(7) };
            let Draw(drawn) = Draw::of_served(&session, PerMille(served_with));
            // As `PerMille::happens` has it.
            (u64::from(drawn) * 1_000) >> 32 < u64::from(now_with)
        });
        f64::from(u32::try_from(granted.count()).unwrap()) / 20_000.0
    }

    #[test]
    fn who_was_served_is_served_again_with_the_same_probability_or_a_higher_one() {
        for (before, after) in [(1, 1), (125, 125), (125, 500), (999, 1_000), (1_000, 1_000)] {
            assert_eq!(share_below(before, after).to_string(), "1", "{before} {after}");
        }
    }

    #[test]
    fn with_a_lower_probability_as_many_are_served_as_the_two_have_in_common() {
        for (before, after, want) in [(500, 250, 0.5), (1_000, 125, 0.125), (0, 125, 0.125), (800, 0, 0.0)] {
            let share = share_below(before, after);
            assert!((share - want).abs() < 0.01, "{before} {after}: {share}");
        }
    }
}

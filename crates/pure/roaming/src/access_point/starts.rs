use guestright_identity::KeyId;
use guestright_units::UnixSeconds;
use std::collections::BTreeMap;

/// How many members may begin a session within one second.
const STARTS_MAX: usize = 4_096;

/// The beginnings of the current second: a member's sessions never begin at the same second, or their receipts would
/// count as one. Other members' sessions may, so that nobody can push the beginnings away from the clock.
#[derive(Debug, Default)]
pub(super) struct Starts {
    second: UnixSeconds,
    latest: BTreeMap<KeyId, UnixSeconds>,
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

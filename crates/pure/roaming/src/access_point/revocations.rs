use guestright_identity::{Certificate, IdentityError, RevocationList};
use guestright_ordered::OrderedMap;
use guestright_units::{TeamId, UnixSeconds};

/// Of so many other teams the lists are kept; each has up to 48 KiB. Beyond that their homes still refuse.
const OTHERS_MAX: usize = 64;

/// Whom teams have revoked, as far as the team server has handed it on.
#[derive(Debug, Default)]
pub(super) struct Revocations {
    by_team: OrderedMap<TeamId, RevocationList>,
}

impl Revocations {
    /// Takes a list in; whether it says something new. There is always room for that of the `own` team.
    pub(super) fn insert(&mut self, list: RevocationList, own: TeamId) -> bool {
        let team = list.team_id();
        let is_new = match self.by_team.get(&team) {
            Some(known) => known.is_superseded_by(&list),
            None => team == own || self.by_team.keys().filter(|other| **other != own).count() < OTHERS_MAX,
        };
        if is_new {
            self.by_team.insert(team, list);
        }
        is_new
    }

    /// # Errors
    /// The certificate's team has revoked it.
    pub(super) fn check(&self, certificate: &Certificate, now: UnixSeconds) -> Result<(), IdentityError> {
        let list = self.by_team.get(&certificate.team_id());
        list.map_or(Ok(()), |list| list.check_certificate(certificate, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::{SecretKey, Suite};
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use std::collections::BTreeMap;

    #[test]
    fn the_own_teams_list_has_room_when_others_have_taken_theirs() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut list = |sequence| {
            let team = SecretKey::generate(Suite::Ed25519, &mut rng);
            RevocationList::issue(&team, sequence, UnixSeconds(1), BTreeMap::new()).unwrap()
        };
        let own = list(1);
        let mut known = Revocations::default();
        let taken = (0..OTHERS_MAX + 3).filter(|_| known.insert(list(1), own.team_id())).count();
        assert_eq!(taken, OTHERS_MAX);
        assert!(known.insert(own.clone(), own.team_id()));
        assert!(!known.insert(own.clone(), own.team_id()), "it is known");
    }
}

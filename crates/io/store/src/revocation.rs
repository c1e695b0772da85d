//! Revocation lists: the latest of each team.

use crate::{Store, StoreError};
use guestright_identity::RevocationList;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

impl Store {
    /// How many teams' lists are kept. Anybody can make a team and revoke its keys, so there is a limit.
    pub const REVOCATIONS_MAX: u64 = 4_096;

    /// Keeps a list, unless one with the same or a higher sequence is known; says whether it was kept.
    ///
    /// When there are too many, the one goes that came first of a team of which we hold no receipt; if there is
    /// none of these, the new list is not kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_revocation(&mut self, list: &RevocationList) -> Result<bool, StoreError> {
        self.put_revocation_within(list, Self::REVOCATIONS_MAX)
    }

    fn put_revocation_within(&mut self, list: &RevocationList, max: u64) -> Result<bool, StoreError> {
        let path = &self.path;
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "keep a revocation list", &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        let kept = keep(&transaction, list, max).map_err(fail)?;
        transaction.commit().map_err(fail)?;
        Ok(kept)
    }

    /// The latest list of each team, by team.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn revocations(&self) -> Result<Vec<RevocationList>, StoreError> {
        let find = || {
            let mut statement = self.connection.prepare_cached("SELECT raw FROM revocation ORDER BY team")?;
            let rows = statement.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let lists = find().map_err(self.fail("list revocations"))?;
        let list = |raw: &Vec<u8>| RevocationList::parse(raw).map_err(|error| self.damaged(error));
        lists.iter().map(list).collect()
    }
}

fn keep(transaction: &Transaction<'_>, list: &RevocationList, max: u64) -> rusqlite::Result<bool> {
    let (team, sequence) = (list.team_id().0, list.sequence());
    let known = transaction
        .query_row("SELECT sequence, raw FROM revocation WHERE team = ?", [team], |row| {
            Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    match known {
        Some(known) if known >= (sequence, list.as_bytes().to_vec()) => return Ok(false),
        Some(_) => {}
        None if !make_room(transaction, max)? => return Ok(false),
        None => {}
    }
    transaction.execute(
        "INSERT INTO revocation (team, sequence, raw) VALUES (?, ?, ?)
         ON CONFLICT (team) DO UPDATE SET sequence = excluded.sequence, raw = excluded.raw",
        params![team, sequence.cast_signed(), list.as_bytes()],
    )?;
    Ok(true)
}

fn make_room(transaction: &Transaction<'_>, max: u64) -> rusqlite::Result<bool> {
    let count: i64 = transaction.query_row("SELECT count(*) FROM revocation", [], |row| row.get(0))?;
    if count.cast_unsigned() < max {
        return Ok(true);
    }
    let removed = transaction.execute(
        "DELETE FROM revocation WHERE id = (
             SELECT id FROM revocation r WHERE NOT EXISTS (SELECT 1 FROM certificate c WHERE c.team = r.team)
             ORDER BY id LIMIT 1)",
        [],
    )?;
    Ok(removed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Member, NOW, store};
    use guestright_identity::KeyId;
    use std::collections::BTreeMap;

    fn list(member: &Member, sequence: u64) -> RevocationList {
        let revoked = BTreeMap::from([(KeyId([7; 24]), NOW)]);
        RevocationList::issue(&member.team, sequence, NOW, revoked).unwrap()
    }

    #[test]
    fn only_a_higher_sequence_replaces_a_list() {
        let (_directory, mut store) = store(10);
        let member = Member::new(1);
        for (sequence, kept) in [(5, true), (5, false), (4, false), (6, true), (u64::MAX, true), (7, false)] {
            assert_eq!(store.put_revocation(&list(&member, sequence)), Ok(kept), "{sequence}");
        }
        assert_eq!(store.revocations(), Ok(vec![list(&member, u64::MAX)]));
    }

    #[test]
    fn lists_of_strangers_do_not_push_out_those_of_teams_with_receipts() {
        let (_directory, mut store) = store(10);
        let members: Vec<_> = (1..=4).map(Member::new).collect();
        store.put(&[members[0].item(9, NOW, 5)], NOW).unwrap();
        let mut put = |number: usize| store.put_revocation_within(&list(&members[number], 1), 2);
        assert_eq!([put(0), put(1), put(2), put(3)], [Ok(true), Ok(true), Ok(true), Ok(true)]);
        let teams: Vec<_> = store.revocations().unwrap().iter().map(RevocationList::team_id).collect();
        assert_eq!(teams.len(), 2);
        assert!(teams.contains(&members[0].team.public().team_id()));
        assert!(teams.contains(&members[3].team.public().team_id()));
        assert_eq!(store.put_revocation_within(&list(&members[0], 2), 2), Ok(true));
    }
}

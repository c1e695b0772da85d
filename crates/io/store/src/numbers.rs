//! Numbers that stand for certificates, members and providers in the rows of receipts (design note 0020).

use guestright_identity::{Certificate, CertificateRef, MemberId};
use guestright_units::TeamId;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// A certificate that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CertificateRow {
    pub(crate) id: i64,
    /// The number of its member.
    pub(crate) member: i64,
}

/// Of one transaction: what is found or kept here is not looked for again. [`Numbers::finish`] has to be the last thing that is
/// written.
pub(crate) struct Numbers<'a> {
    connection: &'a Connection,
    certificates: BTreeMap<CertificateRef, CertificateRow>,
    consumers: Teams,
    providers: BTreeMap<TeamId, i64>,
    teams: Teams,
    /// By how much the count of rows of receipts has changed for each certificate.
    rows: BTreeMap<i64, i64>,
    /// Certificates that perhaps no receipt needs.
    leftover: BTreeSet<i64>,
    leftover_providers: BTreeSet<i64>,
}

/// Teams by the numbers of what is theirs.
struct Teams {
    /// Finds the team of a number.
    find: &'static str,
    known: BTreeMap<i64, TeamId>,
}

impl Teams {
    fn new(find: &'static str) -> Self {
        Self { find, known: BTreeMap::new() }
    }

    fn team(&mut self, connection: &Connection, number: i64) -> rusqlite::Result<Option<TeamId>> {
        if let Some(team) = self.known.get(&number) {
            return Ok(Some(*team));
        }
        let mut find = connection.prepare_cached(self.find)?;
        let found = find.query_row([number], |row| Ok(TeamId(row.get(0)?))).optional()?;
        self.known.extend(found.map(|team| (number, team)));
        Ok(found)
    }
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self {
            connection,
            certificates: BTreeMap::new(),
            consumers: Teams::new("SELECT team FROM certificate WHERE id = ?"),
            providers: BTreeMap::new(),
            teams: Teams::new("SELECT team FROM provider WHERE id = ?"),
            rows: BTreeMap::new(),
            leftover: BTreeSet::new(),
            leftover_providers: BTreeSet::new(),
        }
    }

    /// The row of a certificate, which is kept if it was not known.
    pub(crate) fn certificate(&mut self, certificate: &Certificate) -> rusqlite::Result<CertificateRow> {
        let reference = certificate.reference();
        if let Some(row) = self.certificates.get(&reference) {
            return Ok(*row);
        }
        let mut find = self.connection.prepare_cached("SELECT id, member FROM certificate WHERE ref = ?")?;
        let found = find
            .query_row([reference.0], |row| Ok(CertificateRow { id: row.get(0)?, member: row.get(1)? }))
            .optional()?;
        let row = match found {
            Some(row) => row,
            None => self.keep(certificate)?,
        };
        self.certificates.insert(reference, row);
        self.consumers.known.insert(row.id, certificate.team_id());
        Ok(row)
    }

    fn keep(&self, certificate: &Certificate) -> rusqlite::Result<CertificateRow> {
        let member = self.member(certificate.member_id())?;
        let mut keep = self.connection.prepare_cached(
            "INSERT INTO certificate (ref, team, member, receipts, raw) VALUES (?, ?, ?, 0, ?)",
        )?;
        let (reference, team) = (certificate.reference().0, certificate.team_id().0);
        Ok(CertificateRow {
            id: keep.insert(params![reference, team, member, certificate.as_bytes()])?,
            member,
        })
    }

    fn member(&self, name: MemberId) -> rusqlite::Result<i64> {
        let mut find = self.connection.prepare_cached("SELECT id FROM member WHERE name = ?")?;
        if let Some(id) = find.query_row([name.0], |row| row.get(0)).optional()? {
            return Ok(id);
        }
        self.connection.prepare_cached("INSERT INTO member (name) VALUES (?)")?.insert([name.0])
    }

    /// The team of a certificate; nothing if it is missing, which a damaged file may have.
    pub(crate) fn consumer(&mut self, certificate: i64) -> rusqlite::Result<Option<TeamId>> {
        self.consumers.team(self.connection, certificate)
    }

    /// The number of a team that served; nothing if no row of receipts names it.
    pub(crate) fn find_provider(&mut self, team: TeamId) -> rusqlite::Result<Option<i64>> {
        if let Some(id) = self.providers.get(&team) {
            return Ok(Some(*id));
        }
        let mut find = self.connection.prepare_cached("SELECT id FROM provider WHERE team = ?")?;
        let found = find.query_row([team.0], |row| row.get(0)).optional()?;
        if let Some(id) = found {
            self.providers.insert(team, id);
        }
        Ok(found)
    }

    /// The number of a team that served, for a row of receipts that comes next.
    pub(crate) fn provider(&mut self, team: TeamId) -> rusqlite::Result<i64> {
        if let Some(id) = self.find_provider(team)? {
            return Ok(id);
        }
        let id =
            self.connection.prepare_cached("INSERT INTO provider (team) VALUES (?)")?.insert([team.0])?;
        self.providers.insert(team, id);
        Ok(id)
    }

    /// The team that a row of receipts names; nothing if it is missing, likewise.
    pub(crate) fn provider_team(&mut self, id: i64) -> rusqlite::Result<Option<TeamId>> {
        self.teams.team(self.connection, id)
    }

    /// Rows of receipts have come that need this certificate.
    pub(crate) fn add_rows(&mut self, certificate: i64, count: u32) {
        *self.rows.entry(certificate).or_default() += i64::from(count);
    }

    /// A row of receipts needs this certificate no more.
    pub(crate) fn release(&mut self, certificate: i64) {
        *self.rows.entry(certificate).or_default() -= 1;
        self.leftover.insert(certificate);
    }

    /// A row of receipts is gone that named this provider.
    pub(crate) fn release_provider(&mut self, id: i64) {
        self.leftover_providers.insert(id);
    }

    /// Perhaps no receipt needs this certificate.
    pub(crate) fn review(&mut self, certificate: i64) {
        self.leftover.insert(certificate);
    }

    /// Counts the rows of each certificate, and removes what no receipt needs: neither a row nor one that `waits`.
    ///
    /// A count that is wrong in a damaged file stops nothing: one that is too high keeps its certificate, with one that is too low it may
    /// go too early. To look for its rows would be to look through all receipts, which have no index by certificate.
    pub(crate) fn finish(self, waits: impl Fn(i64) -> bool) -> rusqlite::Result<()> {
        let mut count = self
            .connection
            .prepare_cached("UPDATE certificate SET receipts = max(receipts + ?, 0) WHERE id = ?")?;
        for (certificate, change) in self.rows.iter().filter(|(_, change)| **change != 0) {
            count.execute([change, certificate])?;
        }
        self.drop_providers()?;
        let mut remove = self
            .connection
            .prepare_cached("DELETE FROM certificate WHERE id = ? AND receipts = 0 RETURNING member")?;
        let mut remove_member = self.connection.prepare_cached(
            "DELETE FROM member WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM certificate WHERE member = ?1)",
        )?;
        for id in self.leftover.iter().filter(|id| !waits(**id)) {
            let member: Option<i64> = remove.query_row([id], |row| row.get(0)).optional()?;
            if let Some(member) = member {
                remove_member.execute([member])?;
            }
        }
        Ok(())
    }

    fn drop_providers(&self) -> rusqlite::Result<()> {
        let mut remove = self.connection.prepare_cached(
            "DELETE FROM provider WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM receipt WHERE provider = ?1)",
        )?;
        self.leftover_providers.iter().try_for_each(|id| remove.execute([id]).map(drop))
    }
}

//! Each kind of row, as it is written and read.

use guestright_credit::{Account, Accounted, AllowanceState, Hold, HoldId, HoldState, Proof, Terms};
use guestright_identity::MemberId;
use guestright_receipt::SessionKey;
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql, Transaction, params_from_iter};
use sha2::{Digest, Sha256};

pub(super) const SINCE: &str = "sessions-since";
pub(super) const ALLOWANCE: &str = "allowance";

/// How rows are read: all columns, with the digest last.
pub(super) struct Select {
    kind: &'static str,
    pub(super) sql: &'static str,
}

pub(super) const ACCOUNTS: Select = Select {
    kind: "account",
    sql: "SELECT team, owed, allowance_debt, given, held, digest FROM account ORDER BY team",
};
pub(super) const HOLDS: Select = Select {
    kind: "hold",
    sql: "SELECT name, terms, consumer, debtor, provider, started, member, state, used, receipt, certificate, digest
          FROM hold ORDER BY name",
};
pub(super) const SETTLED_HOLDS: Select = Select {
    kind: "hold",
    sql: "SELECT name, terms, consumer, debtor, provider, started, member, state, used, receipt, certificate, digest
          FROM hold WHERE used IS NOT NULL AND name > ? ORDER BY name LIMIT ?",
};
pub(super) const SESSIONS: Select = Select {
    kind: "session",
    sql: "SELECT provider, started, member, weight, hold, on_holds, digest
          FROM accounted ORDER BY provider, started, member",
};
pub(super) const SPONSORED: Select =
    Select { kind: "sponsored", sql: "SELECT team, unused, digest FROM sponsored ORDER BY team" };
pub(super) const MARKS: Select =
    Select { kind: "mark", sql: "SELECT name, value, at, digest FROM credit ORDER BY name" };

/// Reads a row that is as it was written; says why if it cannot be.
pub(super) type Read<T> = fn(&Row<'_>) -> rusqlite::Result<Result<T, String>>;

const ASKED: i64 = 0;
const GOOD: i64 = 1;
const ENDED: i64 = 2;
/// The next home knows of the commit, or there is none.
const SETTLED: i64 = 3;
/// The commit has still to be acknowledged.
const OWED: i64 = 4;

pub(super) fn account(row: &Row<'_>) -> rusqlite::Result<Result<(TeamId, Account), String>> {
    let account = Account {
        owed: row.get(1)?,
        allowance_debt: bytes(row, 2)?,
        given: bytes(row, 3)?,
        held: bytes(row, 4)?,
    };
    let team = TeamId(row.get(0)?);
    Ok(Ok((team, account)))
}

pub(super) fn keep_account(
    transaction: &Transaction<'_>,
    team: TeamId,
    account: &Account,
) -> rusqlite::Result<()> {
    let Account { owed, allowance_debt, given, held } = account;
    let (debt, given, held) = (signed(*allowance_debt), signed(*given), signed(*held));
    keep(
        transaction,
        &ACCOUNTS,
        "REPLACE INTO account (team, owed, allowance_debt, given, held, digest) VALUES (?, ?, ?, ?, ?, ?)",
        &[&team.0, owed, &debt, &given, &held],
    )
}

pub(super) fn drop_account(transaction: &Transaction<'_>, team: TeamId) -> rusqlite::Result<()> {
    remove(transaction, "DELETE FROM account WHERE team = ?", &[&team.0])
}

pub(super) fn hold(row: &Row<'_>) -> rusqlite::Result<Result<Hold, String>> {
    let proof = |row: &Row<'_>| -> rusqlite::Result<_> {
        let (receipt, certificate) = (row.get::<_, Option<_>>(9)?, row.get::<_, Option<_>>(10)?);
        Ok(receipt.zip(certificate).map(|(receipt, certificate)| Proof { receipt, certificate }))
    };
    let state = match row.get(7)? {
        ASKED => HoldState::Asked,
        GOOD => HoldState::Good,
        ENDED => HoldState::Ended,
        SETTLED => HoldState::Settled { used: bytes(row, 8)?, owed: None },
        OWED => HoldState::Settled { used: bytes(row, 8)?, owed: Some(proof(row)?) },
        other => return Ok(Err(format!("a hold has the unknown state {other}"))),
    };
    let session = session_key(row, 4)?;
    let terms = Terms::parse(row.get_ref(1)?.as_blob()?);
    Ok(terms.map(|terms| Hold { terms, session, state }).map_err(|error| error.to_string()))
}

pub(super) fn keep_hold(transaction: &Transaction<'_>, id: HoldId, hold: &Hold) -> rusqlite::Result<()> {
    let (state, used, proof) = match &hold.state {
        HoldState::Asked => (ASKED, None, None),
        HoldState::Good => (GOOD, None, None),
        HoldState::Ended => (ENDED, None, None),
        HoldState::Settled { used, owed: None } => (SETTLED, Some(*used), None),
        HoldState::Settled { used, owed: Some(proof) } => (OWED, Some(*used), proof.as_ref()),
    };
    let (terms, session) = (&hold.terms, &hold.session);
    let debtor = terms.between.last().copied().unwrap_or(terms.provider);
    keep(
        transaction,
        &HOLDS,
        "REPLACE INTO hold (name, terms, consumer, debtor, provider, started, member, state, used, receipt,
             certificate, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &[
            &id.0,
            &terms.emit(),
            &terms.consumer.0,
            &debtor.0,
            &session.provider.0,
            &session.started.0.cast_signed(),
            &session.member.0,
            &state,
            &used.map(signed),
            &proof.map(|proof| proof.receipt.as_slice()),
            &proof.map(|proof| proof.certificate.as_slice()),
        ],
    )
}

pub(super) fn drop_hold(transaction: &Transaction<'_>, id: HoldId) -> rusqlite::Result<()> {
    remove(transaction, "DELETE FROM hold WHERE name = ?", &[&id.0])
}

pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<Result<(SessionKey, Accounted), String>> {
    let hold: Option<[u8; 24]> = row.get(4)?;
    let accounted = Accounted { weight: bytes(row, 3)?, hold: hold.map(HoldId), on_holds: bytes(row, 5)? };
    let session = session_key(row, 0)?;
    Ok(Ok((session, accounted)))
}

pub(super) fn keep_session(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    accounted: &Accounted,
) -> rusqlite::Result<()> {
    keep(
        transaction,
        &SESSIONS,
        "REPLACE INTO accounted (provider, started, member, weight, hold, on_holds, digest)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        &[
            &session.provider.0,
            &session.started.0.cast_signed(),
            &session.member.0,
            &signed(accounted.weight),
            &accounted.hold.map(|hold| hold.0),
            &signed(accounted.on_holds),
        ],
    )
}

pub(super) fn drop_session(transaction: &Transaction<'_>, session: &SessionKey) -> rusqlite::Result<()> {
    remove(
        transaction,
        "DELETE FROM accounted WHERE provider = ? AND started = ? AND member = ?",
        &[&session.provider.0, &session.started.0.cast_signed(), &session.member.0],
    )
}

pub(super) fn sponsored(row: &Row<'_>) -> rusqlite::Result<Result<(TeamId, Bytes), String>> {
    Ok(Ok((TeamId(row.get(0)?), bytes(row, 1)?)))
}

pub(super) fn keep_sponsored(
    transaction: &Transaction<'_>,
    team: TeamId,
    left: Bytes,
) -> rusqlite::Result<()> {
    let sql = "REPLACE INTO sponsored (team, unused, digest) VALUES (?, ?, ?)";
    keep(transaction, &SPONSORED, sql, &[&team.0, &signed(left)])
}

pub(super) fn drop_sponsored(transaction: &Transaction<'_>, team: TeamId) -> rusqlite::Result<()> {
    remove(transaction, "DELETE FROM sponsored WHERE team = ?", &[&team.0])
}

pub(super) fn mark(row: &Row<'_>) -> rusqlite::Result<Result<(String, u64, u64), String>> {
    let (value, at) = (row.get::<_, i64>(1)?.cast_unsigned(), row.get::<_, i64>(2)?.cast_unsigned());
    Ok(Ok((row.get(0)?, value, at)))
}

pub(super) fn keep_mark(
    transaction: &Transaction<'_>,
    name: &str,
    value: u64,
    at: u64,
) -> rusqlite::Result<()> {
    keep(
        transaction,
        &MARKS,
        "REPLACE INTO credit (name, value, at, digest) VALUES (?, ?, ?, ?)",
        &[&name, &value.cast_signed(), &at.cast_signed()],
    )
}

pub(super) fn allowance((left, at): (u64, u64)) -> AllowanceState {
    AllowanceState { left: Bytes(left), at: Time(at) }
}

pub(super) fn keep_allowance(transaction: &Transaction<'_>, state: AllowanceState) -> rusqlite::Result<()> {
    keep_mark(transaction, ALLOWANCE, state.left.0, state.at.0)
}

/// Writes a row, with the digest of its columns as the last.
fn keep(
    transaction: &Transaction<'_>,
    select: &Select,
    sql: &str,
    columns: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    let mut digest = RowDigest::new(select.kind);
    for column in columns {
        match column.to_sql()? {
            ToSqlOutput::Borrowed(value) => digest.column(value),
            ToSqlOutput::Owned(value) => digest.column(ValueRef::from(&value)),
            _ => unreachable!("a column is a number, bytes, text or nothing"),
        }
    }
    let digest = digest.finish();
    let last: &dyn ToSql = &digest;
    transaction.prepare_cached(sql)?.execute(params_from_iter(columns.iter().chain([&last])))?;
    Ok(())
}

fn remove(transaction: &Transaction<'_>, sql: &str, key: &[&dyn ToSql]) -> rusqlite::Result<()> {
    transaction.prepare_cached(sql)?.execute(key)?;
    Ok(())
}

impl Select {
    /// Says if a row is not as it was written.
    pub(super) fn check(&self, row: &Row<'_>) -> rusqlite::Result<Result<(), String>> {
        let columns = row.as_ref().column_count() - 1;
        let mut digest = RowDigest::new(self.kind);
        for index in 0..columns {
            digest.column(row.get_ref(index)?);
        }
        let is_intact = row.get_ref(columns)? == ValueRef::Blob(&digest.finish());
        Ok(is_intact
            .then_some(())
            .ok_or_else(|| format!("the row of a {} is not as it was written", self.kind)))
    }
}

/// A digest over columns, in which none can pass for another.
pub(crate) struct RowDigest(Sha256);

impl RowDigest {
    pub(crate) fn new(kind: &str) -> Self {
        Self(Sha256::new().chain_update(kind))
    }

    pub(crate) fn column(&mut self, value: ValueRef<'_>) {
        let (tag, length, bytes) = match value {
            ValueRef::Null => (0_u8, 0, &[][..]),
            ValueRef::Integer(number) => return self.add(1, &number.to_be_bytes()),
            ValueRef::Real(number) => return self.add(2, &number.to_be_bytes()),
            ValueRef::Text(bytes) => (3, bytes.len(), bytes),
            ValueRef::Blob(bytes) => (4, bytes.len(), bytes),
        };
        self.add(tag, &(length as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn add(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update([tag]);
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> [u8; 8] {
        let digest = self.0.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        first
    }
}

fn session_key(row: &Row<'_>, first: usize) -> rusqlite::Result<SessionKey> {
    Ok(SessionKey {
        provider: TeamId(row.get(first)?),
        started: UnixSeconds(row.get::<_, i64>(first + 1)?.cast_unsigned()),
        member: MemberId(row.get(first + 2)?),
    })
}

fn bytes(row: &Row<'_>, index: usize) -> rusqlite::Result<Bytes> {
    Ok(Bytes(row.get::<_, i64>(index)?.cast_unsigned()))
}

fn signed(bytes: Bytes) -> i64 {
    bytes.0.cast_signed()
}

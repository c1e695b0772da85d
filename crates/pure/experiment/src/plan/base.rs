//! Where claims are judged that do not say otherwise.

use super::read::{Reader, Table};
use super::scope::{Coordinates, Scope};

/// A case, and values of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Base {
    pub(super) case: Option<usize>,
    pub(super) at: Coordinates,
    /// Whether it was wrong: who relies on it is not to blame.
    pub(super) spoiled: bool,
}

pub(super) fn read(head: &mut Table<'_>, scope: &Scope<'_>, reader: &mut Reader<'_>) -> Base {
    let before = reader.count();
    let Some(mut table) = head.table(reader, "base") else {
        return Base { case: None, at: scope.nowhere(), spoiled: before < reader.count() };
    };
    let case = table.text(reader, "case", 100).and_then(|name| scope.case(&name, reader));
    let at = scope.read_at(&mut table, reader).unwrap_or_else(|| scope.nowhere());
    table.close(reader);
    Base { case, at, spoiled: before < reader.count() }
}

use crate::ResultsError;
pub use guestright_experiment::{Cells, Column};

/// A table: columns that are as long as each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What is said about it: names and texts.
    pub about: Vec<(String, String)>,
    pub columns: Vec<Column>,
}

impl Table {
    /// The most columns.
    pub const COLUMNS_MAX: usize = 1_000;
    /// The most rows.
    pub const ROWS_MAX: usize = 20_000_000;

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// The cells of a column.
    pub fn cells(&self, name: &str) -> Option<&Cells> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.cells)
    }

    /// The text under a name of `about`.
    pub fn about(&self, name: &str) -> Option<&str> {
        self.about.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str())
    }

    /// Whether all columns are equally long.
    pub(crate) fn check(&self) -> Result<(), ResultsError> {
        let want = self.rows();
        let ragged = self.columns.iter().find(|column| column.cells.len() != want);
        ragged.map_or(Ok(()), |column| {
            Err(ResultsError::Ragged { column: column.name.clone(), got: column.cells.len(), want })
        })
    }
}

//! Which paper a plan is of.

use super::read::Table;

/// A paper as a report's heading names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paper {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) authors: String,
    pub(crate) published: String,
}

pub(super) fn read(head: &mut Table<'_>) -> Option<Paper> {
    let mut table = head.table("paper")?;
    let name = table.want_text("name", 60);
    let title = table.want_text("title", 300);
    let authors = table.text("authors", 300).map(|authors| authors.value).unwrap_or_default();
    let published = table.text("published", 300).map(|published| published.value).unwrap_or_default();
    table.close();
    Some(Paper { name: name?.value, title: title?.value, authors, published })
}

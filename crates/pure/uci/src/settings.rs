//! Sections as settings of any type: one section per table, its type the names of the tables on the way joined by `_`.
//!
//! The type that is filled says what each option is, so nothing is guessed: `1` is a number where a number is wanted, and
//! yes where a switch is.

mod value;

use crate::document::{Document, Section};
use crate::error::{Problem, UciError};
use serde::de::value::{Error as PlainError, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, IntoDeserializer as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::collections::BTreeSet;
use value::Text;

/// Says whether the program runs at all.
const ENABLED: &str = "enabled";

/// The types of sections that begin a tree of tables; sections of other types are mistakes.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a>(pub &'a [&'a str]);

/// A section and those below it.
#[derive(Clone, Debug)]
pub struct Root<'a> {
    /// What `option enabled` says; nothing is enabled that does not say so.
    pub enabled: bool,
    table: Table<'a>,
}

impl Document {
    /// The section of type `kind` and those below it.
    ///
    /// # Errors
    /// A section of a type that no root begins with, two of the same type, or `enabled` that is neither yes nor no.
    pub fn root(&self, kind: &str, roots: Roots<'_>) -> Result<Root<'_>, UciError> {
        let below = |section: &Section, root: &str| {
            section.kind.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        for section in &self.sections {
            if !roots.0.iter().any(|root| below(section, root)) {
                let (kind, want) = (section.kind.clone(), roots.0.join(", "));
                return Err(Problem::UnknownKind { kind, want }.at(section.line));
            }
            let same = self.sections.iter().find(|other| other.kind == section.kind);
            if let Some(first) = same.filter(|first| first.line != section.line) {
                let (kind, first) = (section.kind.clone(), first.line);
                return Err(Problem::KindTwice { kind, first }.at(section.line));
            }
        }
        let sections = self.sections.iter().filter(|section| below(section, kind)).collect();
        let table = Table { path: kind.to_owned(), sections, is_root: true };
        let enabled = table.own().and_then(|own| own.entry(ENABLED)).map(|entry| Text::of(entry)?.boolean());
        Ok(Root { enabled: enabled.transpose()?.unwrap_or_default(), table })
    }
}

impl Root<'_> {
    /// The settings, each with its type's meaning.
    ///
    /// # Errors
    /// What is missing, unknown or wrong, with its line.
    pub fn settings<T: DeserializeOwned>(self) -> Result<T, UciError> {
        let (kind, line) = (self.table.path.clone(), self.table.line());
        T::deserialize(self.table).map_err(|error| error.in_section(&kind, line))
    }
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// With its line.
    Located(UciError),
    /// What serde reports of a type, which knows nothing of lines.
    Reported(String),
}

impl ReadError {
    /// With the line of this option, unless it has one.
    fn at(self, name: &str, line: usize) -> Self {
        Self::Located(match self {
            Self::Located(error) => error,
            Self::Reported(reason) => Problem::Setting { name: name.to_owned(), reason }.at(line),
        })
    }

    /// With the line of a section, which it concerns as a whole, unless it has one.
    fn in_section(self, kind: &str, line: usize) -> UciError {
        match self {
            Self::Located(error) => error,
            Self::Reported(reason) => Problem::InSection { kind: kind.to_owned(), reason }.at(line),
        }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Located(error) => error.fmt(f),
            Self::Reported(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<M: std::fmt::Display>(message: M) -> Self {
        Self::Reported(message.to_string())
    }
}

impl From<UciError> for ReadError {
    fn from(error: UciError) -> Self {
        Self::Located(error)
    }
}

/// A table: the section whose type is `path`, if there is one, and the tables in it.
#[derive(Clone, Debug)]
struct Table<'a> {
    path: String,
    /// Those of this type, and of what begins with it and `_`.
    sections: Vec<&'a Section>,
    is_root: bool,
}

impl<'a> Table<'a> {
    fn own(&self) -> Option<&'a Section> {
        self.sections.iter().find(|section| section.kind == self.path).copied()
    }

    fn line(&self) -> usize {
        self.own().or_else(|| self.sections.first().copied()).map_or(1, |section| section.line)
    }

    /// Options first, then the tables below. Which of `fields` begins a section's type is the table's name; where nothing
    /// is said about fields, what is before the next `_`.
    fn rows(&self, fields: &[&'static str]) -> Vec<(String, usize, Row<'a>)> {
        let entries = self.own().into_iter().flat_map(|own| &own.entries);
        let entries = entries.filter(|entry| !(self.is_root && entry.name == ENABLED));
        let mut rows: Vec<_> =
            entries.map(|entry| (entry.name.clone(), entry.line, Row::Entry(entry))).collect();
        let mut done = BTreeSet::new();
        for section in &self.sections {
            let Some(rest) = section.kind[self.path.len()..].strip_prefix('_') else { continue };
            let begins = |field: &&&str| {
                rest.strip_prefix(**field).is_some_and(|more| more.is_empty() || more.starts_with('_'))
            };
            let known = fields.iter().filter(begins).max_by_key(|field| field.len()).copied();
            let name = known.unwrap_or_else(|| rest.split('_').next().unwrap_or(rest));
            let path = format!("{}_{name}", self.path);
            if !done.insert(path.clone()) {
                continue;
            }
            let within = |kind: &str| {
                kind.strip_prefix(path.as_str()).is_some_and(|more| more.is_empty() || more.starts_with('_'))
            };
            let sections = self.sections.iter().copied().filter(|section| within(&section.kind)).collect();
            let table = Table { path, sections, is_root: false };
            rows.push((name.to_owned(), table.line(), Row::Table(table)));
        }
        rows
    }

    fn visit<'de, V: Visitor<'de>>(self, fields: &[&'static str], visitor: V) -> Result<V::Value, ReadError> {
        let rows = self.rows(fields).into_iter();
        let line = self.line();
        let read = visitor.visit_map(Rows { rows, current: None });
        read.map_err(|error: ReadError| error.in_section(&self.path, line).into())
    }
}

enum Row<'a> {
    Entry(&'a crate::Entry),
    Table(Table<'a>),
}

impl<'de> serde::Deserializer<'de> for Table<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit(&[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.visit(fields, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

struct Rows<'a> {
    rows: std::vec::IntoIter<(String, usize, Row<'a>)>,
    current: Option<(String, usize, Row<'a>)>,
}

impl<'de> MapAccess<'de> for Rows<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.current = self.rows.next();
        let Some((name, line, _)) = &self.current else { return Ok(None) };
        let key = seed.deserialize::<StrDeserializer<'_, PlainError>>(name.as_str().into_deserializer());
        let error = |error: PlainError| <ReadError as serde::de::Error>::custom(error).at(name, *line);
        key.map(Some).map_err(error)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let (name, line, row) = self.current.take().expect("serde asks for a value after its key");
        let value = match row {
            Row::Entry(entry) => seed.deserialize(value::EntryValue(entry)),
            Row::Table(table) => seed.deserialize(table),
        };
        value.map_err(|error| error.at(&name, line))
    }
}

#[cfg(test)]
mod tests;

//! What is in a file.

use std::fmt::{self, Display, Formatter};

/// A file: its sections in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// What a line `package NAME` says; files in `/etc/config` have none.
    pub package: Option<String>,
    pub sections: Vec<Section>,
}

/// `config KIND 'NAME'`, and what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// From 1 on.
    pub line: usize,
    pub kind: String,
    /// Not every section has one.
    pub name: Option<String>,
    /// In their order; no two have the same name.
    pub entries: Vec<Entry>,
}

/// An option or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of a list, its first.
    pub line: usize,
    pub name: String,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `option NAME 'TEXT'`
    One(String),
    /// Lines `list NAME 'TEXT'`, at least one.
    List(Vec<Item>),
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub line: usize,
    pub text: String,
}

impl Section {
    /// The option or list of this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

/// The file's text in the form that `uci commit` writes.
impl Display for Document {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(package) = &self.package {
            writeln!(f, "package {package}")?;
        }
        for section in &self.sections {
            write!(f, "\nconfig {}", Quoted(&section.kind))?;
            if let Some(name) = &section.name {
                write!(f, " {}", Quoted(name))?;
            }
            f.write_str("\n")?;
            for Entry { name, value, .. } in &section.entries {
                match value {
                    Value::One(text) => writeln!(f, "\toption {name} {}", Quoted(text))?,
                    Value::List(items) => {
                        for item in items {
                            writeln!(f, "\tlist {name} {}", Quoted(&item.text))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Between single quotes, where only a single quote is special.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\'', r"'\''"))
    }
}

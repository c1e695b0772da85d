//! Tables of a TOML text, with the place of everything in it.

use super::error::{Mistake, PlanError, Problem};
use crate::near::nearest;
use crate::settings::Settings;
use crate::value::Value;
use std::cell::RefCell;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most mistakes that are told at once.
const MISTAKES_MAX: usize = 40;
/// The most characters of a key or a value that an error repeats.
const SHOWN_MAX: usize = 60;

type Node<'a> = Spanned<DeValue<'a>>;

/// A value and the byte where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) at: usize,
}

/// Collects mistakes and knows their lines. Tables and the scope share it, so that what reads a part of a plan gets
/// nothing but that part and returns nothing but what it made of it.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    mistakes: RefCell<Vec<Mistake>>,
    /// Names of things that are there, but wrong: who uses them is not to blame.
    spoiled: RefCell<Vec<String>>,
}

/// A table that is being read; what nobody asked for is a mistake in the end.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) reader: &'a Reader<'a>,
    table: &'a DeTable<'a>,
    pub(super) at: usize,
    name: String,
    asked: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, mistakes: RefCell::default(), spoiled: RefCell::default() }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub(super) fn line_column(&self, at: usize) -> (usize, usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        (line, column)
    }

    pub(super) fn mistake(&self, at: usize, problem: Problem) {
        let (line, column) = self.line_column(at);
        self.mistakes.borrow_mut().push(Mistake { line, column, problem });
    }

    /// Whether no other has this name; it is kept among the others. If one has, that is a mistake.
    pub(super) fn is_new(&self, what: &'static str, others: &mut Vec<At<String>>, name: At<String>) -> bool {
        let first = others.iter().find(|other| other.value == name.value).map(|first| first.at);
        if let Some(first) = first {
            let line = self.line_column(first).0;
            self.mistake(name.at, Problem::Twice { what, name: name.value.clone(), line });
        }
        others.push(name);
        first.is_none()
    }

    pub(super) fn unfit(&self, at: usize, reason: impl Into<String>) {
        self.mistake(at, Problem::Unfit(reason.into()));
    }

    /// Finds a name in a list; a mistake if it is not there.
    pub(super) fn find<'n>(
        &self,
        what: &'static str,
        name: &At<String>,
        names: impl IntoIterator<Item = &'n str> + Clone,
    ) -> Option<usize> {
        let found = names.clone().into_iter().position(|other| other == name.value);
        if found.is_none() && !self.is_spoiled(&name.value) {
            let meant = nearest(&name.value, names).map(str::to_owned);
            self.mistake(name.at, Problem::UnknownName { what, name: shown(&name.value), meant });
        }
        found
    }

    /// Notes that something of this name is there, but wrong.
    pub(super) fn spoil(&self, name: &str) {
        self.spoiled.borrow_mut().push(name.to_owned());
    }

    pub(super) fn is_spoiled(&self, name: &str) -> bool {
        self.spoiled.borrow().iter().any(|other| other == name)
    }

    /// Takes back that a table has no such key, or none of several that would do: it is there, misspelt, which is told
    /// instead.
    fn not_missing(&self, table: usize, meant: Option<&str>) {
        let Some(meant) = meant else { return };
        let (line, column) = self.line_column(table);
        let quoted = format!("`{meant}`");
        self.mistakes.borrow_mut().retain(|mistake| {
            let here = (mistake.line, mistake.column) == (line, column);
            let Problem::MissingKey { key, want, .. } = &mistake.problem else { return true };
            !(here && (*key == meant || want.contains(&quoted)))
        });
    }

    /// How many mistakes there are so far.
    pub(super) fn count(&self) -> usize {
        self.mistakes.borrow().len()
    }

    /// Where a text is said, from a place on; that place if it is not found, because it is written with escapes.
    pub(super) fn offset_of(&self, text: &str, from: usize) -> usize {
        self.text.get(from..).and_then(|rest| rest.find(text)).map_or(from, |at| from + at)
    }

    pub(super) fn is_well(&self) -> bool {
        self.mistakes.borrow().is_empty()
    }

    pub(super) fn finish(self) -> Result<(), PlanError> {
        let mut mistakes = self.mistakes.into_inner();
        if mistakes.is_empty() {
            return Ok(());
        }
        mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        mistakes.dedup();
        mistakes.truncate(MISTAKES_MAX);
        Err(PlanError { mistakes })
    }

    fn wrong(&self, key: &str, node: &Node<'_>, want: impl Into<String>) {
        let problem = Problem::Wrong { key: shown(key), got: got(node.get_ref()), want: want.into() };
        self.mistake(node.span().start, problem);
    }

    /// A plain value: neither a date, nor a list, nor a table.
    pub(super) fn value(&self, key: &str, node: &Node<'_>) -> Option<At<Value>> {
        let value = match node.get_ref() {
            DeValue::Boolean(value) => Some(Value::Bool(*value)),
            DeValue::String(text) if text.len() <= Settings::TEXT_MAX => Some(Value::Text(text.to_string())),
            DeValue::Integer(_) => whole(node.get_ref()).map(Value::Integer),
            DeValue::Float(_) => float(node.get_ref()).map(Value::Float),
            DeValue::String(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        };
        if value.is_none() {
            // Who writes `nan` or `inf` wants a number.
            let number = matches!(node.get_ref(), DeValue::Float(_));
            let any = "true or false, a finite number or a short text";
            self.wrong(key, node, if number { "a finite number" } else { any });
        }
        Some(At { value: value?, at: node.span().start })
    }

    /// A list of something.
    pub(super) fn list<T>(
        &self,
        key: &str,
        node: &Node<'_>,
        (want, max): (&'static str, usize),
        each: impl FnMut(&Node<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let DeValue::Array(nodes) = node.get_ref() else {
            self.wrong(key, node, format!("a list of {want}"));
            return None;
        };
        if nodes.len() > max {
            self.mistake(node.span().start, Problem::TooMany { what: want, got: nodes.len(), max });
            return None;
        }
        // Every item is read, so that the first mistake does not hide the others.
        let items: Vec<Option<T>> = nodes.iter().map(each).collect();
        items.into_iter().collect()
    }

    /// A finite number.
    pub(super) fn number(&self, key: &str, node: &Node<'_>) -> Option<At<f64>> {
        let number = float(node.get_ref());
        if number.is_none() {
            let number = matches!(node.get_ref(), DeValue::Float(_));
            self.wrong(key, node, if number { "a finite number" } else { "a number" });
        }
        Some(At { value: number?, at: node.span().start })
    }

    /// A text of at most so many bytes.
    pub(super) fn text(&self, key: &str, node: &Node<'_>, max: usize) -> Option<At<String>> {
        if let DeValue::String(text) = node.get_ref()
            && text.len() <= max
        {
            return Some(At { value: text.to_string(), at: node.span().start });
        }
        self.wrong(key, node, format!("text of at most {max} bytes"));
        None
    }
}

impl<'a> Table<'a> {
    pub(super) fn new(
        reader: &'a Reader<'a>,
        table: &'a DeTable<'a>,
        at: usize,
        name: impl Into<String>,
    ) -> Self {
        Self { reader, table, at, name: name.into(), asked: Vec::new() }
    }

    /// Its keys with their places and values, in the order of the text.
    pub(super) fn entries(&self) -> Vec<(At<String>, &'a Node<'a>)> {
        let entry = |(key, node): (&'a Spanned<_>, &'a Node<'a>)| {
            let text: &std::borrow::Cow<'_, str> = key.get_ref();
            (At { value: text.to_string(), at: key.span().start }, node)
        };
        let mut entries: Vec<_> = self.table.iter().map(entry).collect();
        entries.sort_by_key(|(key, _)| key.at);
        entries
    }

    /// What a key has, if it is there.
    pub(super) fn node(&mut self, key: &'static str) -> Option<&'a Node<'a>> {
        self.asked.push(key);
        self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, node)| node)
    }

    pub(super) fn text(&mut self, key: &'static str, max: usize) -> Option<At<String>> {
        let node = self.node(key)?;
        self.reader.text(key, node, max)
    }

    /// A text that has to be there and is not empty.
    pub(super) fn want_text(&mut self, key: &'static str, max: usize) -> Option<At<String>> {
        let Some(node) = self.node(key) else {
            self.missing(key, "text");
            return None;
        };
        let text = self.reader.text(key, node, max)?;
        if text.value.trim().is_empty() {
            self.reader.wrong(key, node, "text that is not empty");
            return None;
        }
        Some(text)
    }

    /// A name: letters, digits, `-`, `_` and `.`, at most 60 of them.
    pub(super) fn want_name(&mut self, key: &'static str) -> Option<At<String>> {
        let name = self.want_text(key, 4_000)?;
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.value.len() > 60 || !name.value.chars().all(fine) || name.value.starts_with('.') {
            let want = "at most 60 letters, digits, `-`, `_` and `.`, without a `.` in front".to_owned();
            let got = format!("\"{}\"", shown(&name.value));
            self.reader.mistake(name.at, Problem::Wrong { key: key.to_owned(), got, want });
            return None;
        }
        Some(name)
    }

    pub(super) fn number(&mut self, key: &'static str) -> Option<At<f64>> {
        let node = self.node(key)?;
        self.reader.number(key, node)
    }

    pub(super) fn whole(&mut self, key: &'static str, (min, max): (i64, i64)) -> Option<At<i64>> {
        let node = self.node(key)?;
        match whole(node.get_ref()).filter(|number| (min..=max).contains(number)) {
            Some(value) => Some(At { value, at: node.span().start }),
            None => {
                self.reader.wrong(key, node, format!("a whole number from {min} to {max}"));
                None
            }
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<At<bool>> {
        let node = self.node(key)?;
        if let DeValue::Boolean(value) = node.get_ref() {
            return Some(At { value: *value, at: node.span().start });
        }
        self.reader.wrong(key, node, "true or false");
        None
    }

    /// One of some words, as its place among them.
    pub(super) fn choice(&mut self, key: &'static str, words: &[&str]) -> Option<At<usize>> {
        let node = self.node(key)?;
        let word = if let DeValue::String(text) = node.get_ref() { text.as_ref() } else { "" };
        let Some(value) = words.iter().position(|other| *other == word) else {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let meant = nearest(word, words.iter().copied());
            let hint = meant.map_or_else(String::new, |word| format!(" (did you mean \"{word}\"?)"));
            self.reader.wrong(key, node, format!("one of {}{hint}", quoted.join(", ")));
            return None;
        };
        Some(At { value, at: node.span().start })
    }

    /// A list of texts; one text alone is a list of one.
    pub(super) fn names(&mut self, key: &'static str, max: usize) -> Option<Vec<At<String>>> {
        let node = self.node(key)?;
        if matches!(node.get_ref(), DeValue::String(_)) {
            return self.reader.text(key, node, 200).map(|name| vec![name]);
        }
        self.reader.list(key, node, ("names", max), |node| self.reader.text(key, node, 200))
    }

    /// A table below this one.
    pub(super) fn table(&mut self, key: &'static str) -> Option<Self> {
        let node = self.node(key)?;
        let name = self.below(key);
        as_table(self.reader, key, node, name)
    }

    /// A list of tables below this one: `[[key]]`, or `key = [{ … }]`.
    pub(super) fn tables(&mut self, key: &'static str, (want, max): (&'static str, usize)) -> Vec<Self> {
        let Some(node) = self.node(key) else { return Vec::new() };
        let DeValue::Array(nodes) = node.get_ref() else {
            self.reader.wrong(key, node, format!("a list of tables, `[[{key}]]`"));
            return Vec::new();
        };
        if nodes.len() > max {
            self.reader.mistake(node.span().start, Problem::TooMany { what: want, got: nodes.len(), max });
            return Vec::new();
        }
        let name = format!("[{}]", self.below(key));
        nodes.iter().filter_map(|node| as_table(self.reader, key, node, name.clone())).collect()
    }

    pub(super) fn missing(&self, key: &'static str, want: impl Into<String>) {
        let (table, want) = (self.name.clone(), want.into());
        self.reader.mistake(self.at, Problem::MissingKey { table, key, want });
    }

    /// Complains of every key that nobody asked for.
    pub(super) fn close(self) {
        for (key, _) in self.entries() {
            if !self.asked.contains(&key.value.as_str()) {
                let meant = nearest(&key.value, self.asked.iter().copied()).map(str::to_owned);
                self.reader.not_missing(self.at, meant.as_deref());
                let problem = Problem::UnknownKey { table: self.name.clone(), key: shown(&key.value), meant };
                self.reader.mistake(key.at, problem);
            }
        }
    }

    fn below(&self, key: &str) -> String {
        let own = self.name.trim_start_matches('[').trim_end_matches(']');
        if own.is_empty() || own == "the plan" { format!("[{key}]") } else { format!("[{own}.{key}]") }
    }
}

fn as_table<'a>(reader: &'a Reader<'a>, key: &str, node: &'a Node<'a>, name: String) -> Option<Table<'a>> {
    if let DeValue::Table(table) = node.get_ref() {
        return Some(Table::new(reader, table, node.span().start, name));
    }
    reader.wrong(key, node, "a table");
    None
}

fn whole(value: &DeValue<'_>) -> Option<i64> {
    let DeValue::Integer(number) = value else { return None };
    let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
    // What a double holds exactly: a plan's numbers are compared with measured ones.
    (-(1 << 53)..=(1 << 53)).contains(&number).then_some(number)
}

fn float(value: &DeValue<'_>) -> Option<f64> {
    if let DeValue::Float(number) = value {
        return number.as_str().parse().ok().filter(|number: &f64| number.is_finite());
    }
    Value::Integer(whole(value)?).number()
}

fn got(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", shown(text)),
        DeValue::Integer(number) => shown(&number.to_string()),
        DeValue::Float(number) => shown(&number.to_string()),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// The start of a text, without characters that move the cursor.
pub(super) fn shown(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '·' } else { c };
    let start: String = text.chars().take(SHOWN_MAX).map(clean).collect();
    if start.len() < text.len() && text.chars().count() > SHOWN_MAX { format!("{start}…") } else { start }
}

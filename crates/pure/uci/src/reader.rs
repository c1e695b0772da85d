//! Text in, sections out. How words are quoted is libuci's (`file.c`, `parse_str`): in single quotes nothing is special; in
//! double quotes and outside a backslash takes the next character as it is, and within double quotes a line break after it
//! away; quotations may go over several lines; `#` outside of them begins a comment. An option whose value is empty is one
//! that is not there. `;` for several commands on a line, and one command on several, are refused: nobody writes them.

use crate::document::{Document, Entry, Item, Section, Value};
use crate::error::{Problem, UciError};
use std::iter::Peekable;
use std::str::Chars;

/// A file may have so many bytes.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;
/// A file may have so many sections.
pub const SECTIONS_MAX: usize = 256;
/// A file may have so many options and list entries.
pub const ENTRIES_MAX: usize = 4_096;
/// A name, or the type of a section, may have so many bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// A value may have so many bytes.
pub const VALUE_BYTES_MAX: usize = 4_096;

impl Document {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn parse(text: &str) -> Result<Self, UciError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Problem::TooLong { got: text.len(), want: TEXT_BYTES_MAX }.at(1));
        }
        let mut words = Words { rest: text.chars().peekable(), line: 1 };
        let mut builder = Builder::default();
        while let Some(command) = words.command()? {
            builder.add(command)?;
        }
        Ok(builder.document)
    }
}

/// The words of one command, and the line that it begins in.
struct Command {
    line: usize,
    words: Vec<String>,
}

struct Words<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
}

impl Words<'_> {
    /// The next command; nothing at the end.
    fn command(&mut self) -> Result<Option<Command>, UciError> {
        let mut words = Vec::new();
        let mut began = self.line;
        loop {
            match self.rest.peek().copied() {
                None if words.is_empty() => return Ok(None),
                None => break,
                Some('\n') => {
                    self.next();
                    if !words.is_empty() {
                        break;
                    }
                    began = self.line;
                }
                Some('#') => while self.rest.next_if(|letter| *letter != '\n').is_some() {},
                Some(letter) if is_blank(letter) => drop(self.next()),
                Some(_) => words.push(self.word()?),
            }
        }
        Ok(Some(Command { line: began, words }))
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.rest.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn word(&mut self) -> Result<String, UciError> {
        let mut word = String::new();
        loop {
            match self.rest.peek().copied() {
                None | Some('\n' | '#') => return Ok(word),
                Some(';') => return Err(Problem::Semicolon.at(self.line)),
                Some(letter) if is_blank(letter) => return Ok(word),
                Some(quote @ ('\'' | '"')) => self.quotation(quote, &mut word)?,
                Some('\\') => {
                    self.next();
                    if matches!(self.rest.peek(), None | Some('\n' | '\r')) {
                        return Err(Problem::Continued.at(self.line));
                    }
                    self.escaped(&mut word)?;
                }
                Some(letter) => {
                    self.next();
                    self.push(letter, &mut word)?;
                }
            }
        }
    }

    fn quotation(&mut self, quote: char, word: &mut String) -> Result<(), UciError> {
        let began = self.line;
        self.next();
        loop {
            match self.next() {
                None => return Err(Problem::OpenQuote(quote).at(began)),
                Some(letter) if letter == quote => return Ok(()),
                Some('\\') if quote == '"' => self.escaped(word)?,
                Some(letter) => self.push(letter, word)?,
            }
        }
    }

    /// What follows a backslash.
    fn escaped(&mut self, word: &mut String) -> Result<(), UciError> {
        match self.next() {
            None | Some('\n') => Ok(()),
            Some('\r') if self.rest.peek() == Some(&'\n') => {
                self.next();
                Ok(())
            }
            Some(letter) => self.push(letter, word),
        }
    }

    fn push(&self, letter: char, word: &mut String) -> Result<(), UciError> {
        if letter.is_control() && letter != '\n' && letter != '\t' {
            return Err(Problem::Control(letter).at(self.line));
        }
        if word.len() + letter.len_utf8() > VALUE_BYTES_MAX {
            return Err(Problem::ValueTooLong(VALUE_BYTES_MAX).at(self.line));
        }
        word.push(letter);
        Ok(())
    }
}

/// What `isspace` of C knows, but for the line break.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}

#[derive(Default)]
struct Builder {
    document: Document,
    entries: usize,
}

impl Builder {
    fn add(&mut self, Command { line, words }: Command) -> Result<(), UciError> {
        let mut words = words.into_iter();
        let command = words.next().unwrap_or_default();
        let problem = match command.as_str() {
            "package" | "p" => self.package(words),
            "config" | "c" => self.section(line, words),
            "option" | "o" => self.option(line, words),
            "list" | "l" => self.item(line, words),
            _ => Err(Problem::UnknownCommand(command)),
        };
        problem.map_err(|problem| problem.at(line))
    }

    fn package(&mut self, mut words: impl Iterator<Item = String>) -> Result<(), Problem> {
        if self.document.package.is_some() || !self.document.sections.is_empty() {
            return Err(Problem::LatePackage);
        }
        let name = words.next().filter(|name| !name.is_empty());
        let name = name.ok_or(Problem::Lacks { command: "package", what: "name", form: "package NAME" })?;
        if name.len() > NAME_BYTES_MAX || !name.bytes().all(|byte| is_of_name(byte) || byte == b'-') {
            return Err(Problem::BadName(name));
        }
        self.document.package = Some(name);
        no_more(words)
    }

    fn section(&mut self, line: usize, mut words: impl Iterator<Item = String>) -> Result<(), Problem> {
        const FORM: &str = "config TYPE 'NAME'";
        let kind = words.next().filter(|kind| !kind.is_empty());
        let kind = kind.ok_or(Problem::Lacks { command: "config", what: "type", form: FORM })?;
        if kind.len() > NAME_BYTES_MAX || !kind.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Problem::BadType(kind));
        }
        let name = words.next().filter(|name| !name.is_empty());
        if let Some(name) = &name {
            check_name(name)?;
            let same = |section: &&Section| section.name.as_ref() == Some(name);
            if let Some(first) = self.document.sections.iter().find(same) {
                return Err(Problem::SectionTwice { name: name.clone(), first: first.line });
            }
        }
        no_more(words)?;
        if self.document.sections.len() == SECTIONS_MAX {
            return Err(Problem::TooManySections(SECTIONS_MAX));
        }
        self.document.sections.push(Section { line, kind, name, entries: Vec::new() });
        Ok(())
    }

    fn option(&mut self, line: usize, words: impl Iterator<Item = String>) -> Result<(), Problem> {
        let (name, text) = named("option", "option NAME 'VALUE'", words)?;
        let section = self.current()?;
        if let Some(first) = section.entry(&name) {
            return Err(Problem::OptionTwice { first: first.line, name });
        }
        if !text.is_empty() {
            section.entries.push(Entry { line, name, value: Value::One(text) });
        }
        Ok(())
    }

    fn item(&mut self, line: usize, words: impl Iterator<Item = String>) -> Result<(), Problem> {
        let (name, text) = named("list", "list NAME 'VALUE'", words)?;
        let section = self.current()?;
        let item = Item { line, text };
        match section.entries.iter_mut().find(|entry| entry.name == name) {
            None => section.entries.push(Entry { line, name, value: Value::List(vec![item]) }),
            Some(Entry { value: Value::List(items), .. }) => items.push(item),
            Some(Entry { line: first, value: Value::One(_), .. }) => {
                return Err(Problem::OptionTwice { name, first: *first });
            }
        }
        Ok(())
    }

    /// The section that an option belongs to.
    fn current(&mut self) -> Result<&mut Section, Problem> {
        if self.entries == ENTRIES_MAX {
            return Err(Problem::TooManyEntries(ENTRIES_MAX));
        }
        self.entries += 1;
        self.document.sections.last_mut().ok_or(Problem::OutsideSection)
    }
}

/// Name and value of an option or a list.
fn named(
    command: &'static str,
    form: &'static str,
    mut words: impl Iterator<Item = String>,
) -> Result<(String, String), Problem> {
    let name = words.next().filter(|name| !name.is_empty());
    let name = name.ok_or(Problem::Lacks { command, what: "name", form })?;
    check_name(&name)?;
    let text = words.next().ok_or(Problem::Lacks { command, what: "value", form })?;
    no_more(words)?;
    Ok((name, text))
}

fn no_more(mut words: impl Iterator<Item = String>) -> Result<(), Problem> {
    words.next().map_or(Ok(()), |word| Err(Problem::TooMuch(word)))
}

fn check_name(name: &str) -> Result<(), Problem> {
    let fits = name.len() <= NAME_BYTES_MAX && name.bytes().all(is_of_name);
    if fits { Ok(()) } else { Err(Problem::BadName(name.to_owned())) }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests;

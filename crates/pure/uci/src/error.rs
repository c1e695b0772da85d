//! What is wrong with a file, and where.

/// What is wrong, and the line that it begins in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct UciError {
    /// From 1 on.
    pub line: usize,
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("the file has {got} bytes; it may have {want}")]
    TooLong { got: usize, want: usize },
    #[error("more than {0} sections; remove some")]
    TooManySections(usize),
    #[error("more than {0} options and list entries; remove some")]
    TooManyEntries(usize),
    #[error("a value of more than {0} bytes; shorten it")]
    ValueTooLong(usize),
    #[error(
        "`;` outside of quotes; write one command on a line, and put a value with `;` between single quotes"
    )]
    Semicolon,
    #[error("a backslash at the end of a line, outside of quotes; write the command on one line")]
    Continued,
    #[error("{0} begins a quotation that nothing ends; add another {0}")]
    OpenQuote(char),
    #[error("the control character {0:?} has no place in a value; remove it")]
    Control(char),
    #[error(
        "{0:?} is no command; a line begins with config, option, list or package, or is a comment after #"
    )]
    UnknownCommand(String),
    #[error("{command} lacks its {what}; write `{form}`")]
    Lacks { command: &'static str, what: &'static str, form: &'static str },
    #[error("{0:?} is too much on this line; put a value with blanks between single quotes")]
    TooMuch(String),
    #[error("{0:?} is no name; use letters, digits and _, at most 64")]
    BadName(String),
    #[error("{0:?} is no type of a section; use visible ASCII characters, at most 64")]
    BadType(String),
    #[error("`package` comes once, before all sections")]
    LatePackage,
    #[error("this belongs to no section; put a line `config TYPE 'NAME'` before it")]
    OutsideSection,
    #[error("a section is named {name:?} in line {first} already; give each another name")]
    SectionTwice { name: String, first: usize },
    #[error("{name} is in line {first} of this section already; remove one, or write `list` in both lines")]
    OptionTwice { name: String, first: usize },
    #[error("a section of type {kind} is in line {first} already; make one of the two")]
    KindTwice { kind: String, first: usize },
    #[error(
        "nobody reads sections of type {kind:?}; expected are {want} and what begins with one of these and _"
    )]
    UnknownKind { kind: String, want: String },
    #[error("{0} is a list here and has one value; write `option`")]
    NotAList(String),
    #[error("{name} is {got:?}; {want}")]
    BadValue { name: String, got: String, want: String },
    #[error("{name}: {reason}")]
    Setting { name: String, reason: String },
    #[error("section {kind}: {reason}")]
    InSection { kind: String, reason: String },
}

impl Problem {
    pub(crate) fn at(self, line: usize) -> UciError {
        UciError { line, problem: self }
    }
}

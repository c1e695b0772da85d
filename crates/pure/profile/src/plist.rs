//! Apple's property lists, as XML (`PropertyList-1.0.dtd`).

use crate::text::wrapped;
use crate::xml::escape_into;
use base64::Engine as _;
use guestright_units::UnixSeconds;
use zeroize::Zeroizing;

/// A value. What it holds may be secret, so it is not shown, and what it writes is wiped.
pub(crate) enum Value {
    Text(Zeroizing<String>),
    Integer(u64),
    Boolean(bool),
    Date(UnixSeconds),
    Bytes(Zeroizing<Vec<u8>>),
    List(Vec<Value>),
    Dictionary(Dictionary),
}

/// Keys and values, in the order in which they were given.
#[derive(Default)]
pub(crate) struct Dictionary(Vec<(&'static str, Value)>);

impl Dictionary {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((key, value.into()));
        self
    }

    pub(crate) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// The whole document.
    pub(crate) fn document(&self) -> Zeroizing<String> {
        // Of the final length at once: a string that grows leaves pieces behind that nobody wipes.
        let mut out = Zeroizing::new(String::with_capacity(1_024 + 2 * self.weight()));
        let capacity = out.capacity();
        out.push_str(HEAD);
        self.write(&mut out, 0);
        out.push_str("</plist>\n");
        debug_assert_eq!(capacity, out.capacity(), "it has not grown");
        out
    }

    /// An upper bound of its length as text, in part: see [`Self::document`].
    fn weight(&self) -> usize {
        self.0.iter().map(|(key, value)| 64 + key.len() + value.weight()).sum()
    }

    fn write(&self, out: &mut String, depth: usize) {
        indent(out, depth);
        out.push_str("<dict>\n");
        for (key, value) in &self.0 {
            indent(out, depth + 1);
            out.push_str("<key>");
            out.push_str(key);
            out.push_str("</key>\n");
            value.write(out, depth + 1);
        }
        indent(out, depth);
        out.push_str("</dict>\n");
    }
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
    <plist version=\"1.0\">\n";

impl Value {
    fn weight(&self) -> usize {
        match self {
            Self::Text(text) => 64 + 5 * text.len(),
            Self::Integer(_) | Self::Boolean(_) | Self::Date(_) => 64,
            Self::Bytes(bytes) => 64 + 2 * bytes.len(),
            Self::List(values) => 64 + values.iter().map(Self::weight).sum::<usize>(),
            Self::Dictionary(dictionary) => 64 + dictionary.weight(),
        }
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Text(text) => {
                indent(out, depth);
                out.push_str("<string>");
                escape_into(out, text);
                out.push_str("</string>\n");
            }
            Self::Integer(number) => line(out, depth, &["<integer>", &number.to_string(), "</integer>"]),
            Self::Boolean(true) => line(out, depth, &["<true/>"]),
            Self::Boolean(false) => line(out, depth, &["<false/>"]),
            Self::Date(date) => line(out, depth, &["<date>", &date.to_string(), "</date>"]),
            Self::Bytes(bytes) => {
                let text = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(&**bytes));
                line(out, depth, &["<data>"]);
                out.push_str(&Zeroizing::new(wrapped(&text, 76)));
                line(out, depth, &["</data>"]);
            }
            Self::List(values) => {
                line(out, depth, &["<array>"]);
                values.iter().for_each(|value| value.write(out, depth + 1));
                line(out, depth, &["</array>"]);
            }
            Self::Dictionary(dictionary) => dictionary.write(out, depth),
        }
    }
}

fn line(out: &mut String, depth: usize, parts: &[&str]) {
    indent(out, depth);
    parts.iter().for_each(|part| out.push_str(part));
    out.push('\n');
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n('\t', depth));
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Zeroizing::new(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Zeroizing::new(text))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Self::Boolean(is)
    }
}

impl From<UnixSeconds> for Value {
    fn from(date: UnixSeconds) -> Self {
        Self::Date(date)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Zeroizing::new(bytes.to_vec()))
    }
}

impl From<Dictionary> for Value {
    fn from(dictionary: Dictionary) -> Self {
        Self::Dictionary(dictionary)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

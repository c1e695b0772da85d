//! vici's messages: a tree of sections, lists and values.
//!
//! Source: strongSwan, `src/libcharon/plugins/vici/README.md`, "Message format". Every element begins with a byte that
//! says what it is; names have a length of one byte, values one of two bytes in network order.

use thiserror::Error;

const SECTION_START: u8 = 1;
const SECTION_END: u8 = 2;
const KEY_VALUE: u8 = 3;
const LIST_START: u8 = 4;
const LIST_ITEM: u8 = 5;
const LIST_END: u8 = 6;

/// How deep sections may nest. What charon sends nests four deep.
const DEPTH_MAX: usize = 16;

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MessageError {
    /// They end in the middle of an element.
    #[error("it ends in the middle of an element at byte {at}")]
    Truncated {
        /// Where, in bytes from the start.
        at: usize,
    },
    /// An element that there is not, or not here.
    #[error("element {got} is not expected at byte {at}")]
    Element {
        got: u8,
        /// Where, in bytes from the start.
        at: usize,
    },
    /// A name that is not text.
    #[error("the name at byte {at} is not text")]
    Name {
        /// Where, in bytes from the start.
        at: usize,
    },
    /// Sections within sections within sections.
    #[error("its sections nest more than {DEPTH_MAX} deep")]
    Deep,
    /// Longer than any message may be.
    #[error("it has {got} bytes; {max} are the most")]
    Long {
        /// Its length in bytes.
        got: usize,
        max: usize,
    },
}

/// What a name stands for.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    /// Some bytes, mostly text.
    Value(Vec<u8>),
    /// Several of them.
    List(Vec<Vec<u8>>),
    /// More names.
    Section(Section),
}

/// Names and what they stand for, in order. A whole message is one too.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Section {
    entries: Vec<(String, Node)>,
}

/// Values may be secrets, so only names are shown.
impl std::fmt::Debug for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|(name, _)| name)).finish()
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{} bytes", value.len()),
            Self::List(items) => write!(f, "{} items", items.len()),
            Self::Section(section) => section.fmt(f),
        }
    }
}

impl Section {
    /// No names at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn value(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.with(name, Node::Value(value.as_ref().to_vec()))
    }

    #[must_use]
    pub fn list(self, name: &str, items: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        self.with(name, Node::List(items.into_iter().map(|item| item.as_ref().to_vec()).collect()))
    }

    #[must_use]
    pub fn section(self, name: &str, section: Self) -> Self {
        self.with(name, Node::Section(section))
    }

    fn with(mut self, name: &str, node: Node) -> Self {
        self.entries.push((name.to_owned(), node));
        self
    }

    /// Names and what they stand for.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|(name, node)| (name.as_str(), node))
    }

    /// The text of a value; nothing if there is none of this name, or it is not text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.entries().find_map(|(found, node)| match node {
            Node::Value(value) if found == name => std::str::from_utf8(value).ok(),
            Node::Value(_) | Node::List(_) | Node::Section(_) => None,
        })
    }

    /// A value read as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The items of a list that are text; none if there is no list of this name.
    pub fn items<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lists = self.entries().filter_map(move |(found, node)| match node {
            Node::List(items) if found == name => Some(items),
            Node::Value(_) | Node::List(_) | Node::Section(_) => None,
        });
        lists.flatten().filter_map(|item| std::str::from_utf8(item).ok())
    }

    /// The sections in this one.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.entries().filter_map(|(name, node)| match node {
            Node::Section(section) => Some((name, section)),
            Node::Value(_) | Node::List(_) => None,
        })
    }

    /// The bytes of the message. `Err` holds a name or value that is too long for the format.
    ///
    /// # Errors
    /// A name has more than 255 bytes, or a value more than 65,535.
    pub fn emit(&self) -> Result<Vec<u8>, MessageError> {
        let mut bytes = Vec::new();
        self.emit_into(&mut bytes)?;
        Ok(bytes)
    }

    fn emit_into(&self, bytes: &mut Vec<u8>) -> Result<(), MessageError> {
        for (name, node) in &self.entries {
            match node {
                Node::Value(value) => {
                    named(bytes, KEY_VALUE, name)?;
                    emit_value(bytes, value)?;
                }
                Node::List(items) => {
                    named(bytes, LIST_START, name)?;
                    for item in items {
                        bytes.push(LIST_ITEM);
                        emit_value(bytes, item)?;
                    }
                    bytes.push(LIST_END);
                }
                Node::Section(section) => {
                    named(bytes, SECTION_START, name)?;
                    section.emit_into(bytes)?;
                    bytes.push(SECTION_END);
                }
            }
        }
        Ok(())
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader { bytes, at: 0 };
        // The sections that are open, each with the name under which the next outer one will have it.
        let mut outer: Vec<(Self, String)> = Vec::new();
        let mut section = Self::new();
        while let Some(element) = reader.element() {
            let at = reader.at - 1;
            match element {
                KEY_VALUE => {
                    let name = reader.name()?;
                    let value = reader.value()?;
                    section.entries.push((name, Node::Value(value)));
                }
                LIST_START => {
                    let name = reader.name()?;
                    let items = reader.list()?;
                    section.entries.push((name, Node::List(items)));
                }
                SECTION_START if outer.len() == DEPTH_MAX => return Err(MessageError::Deep),
                SECTION_START => outer.push((std::mem::take(&mut section), reader.name()?)),
                SECTION_END => {
                    let (parent, name) = outer.pop().ok_or(MessageError::Element { got: SECTION_END, at })?;
                    let whole = std::mem::replace(&mut section, parent);
                    section.entries.push((name, Node::Section(whole)));
                }
                got => return Err(MessageError::Element { got, at }),
            }
        }
        if outer.is_empty() { Ok(section) } else { Err(MessageError::Truncated { at: reader.at }) }
    }
}

fn named(bytes: &mut Vec<u8>, element: u8, name: &str) -> Result<(), MessageError> {
    let too_long = MessageError::Long { got: name.len(), max: u8::MAX.into() };
    bytes.extend([element, u8::try_from(name.len()).map_err(|_| too_long)?]);
    bytes.extend_from_slice(name.as_bytes());
    Ok(())
}

fn emit_value(bytes: &mut Vec<u8>, value: &[u8]) -> Result<(), MessageError> {
    let too_long = MessageError::Long { got: value.len(), max: u16::MAX.into() };
    bytes.extend(u16::try_from(value.len()).map_err(|_| too_long)?.to_be_bytes());
    bytes.extend_from_slice(value);
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn element(&mut self) -> Option<u8> {
        let element = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(element)
    }

    fn read(&mut self, length: usize) -> Result<&'a [u8], MessageError> {
        let end = self.at.saturating_add(length);
        let taken = self.bytes.get(self.at..end).ok_or(MessageError::Truncated { at: self.bytes.len() })?;
        self.at = end;
        Ok(taken)
    }

    fn name(&mut self) -> Result<String, MessageError> {
        let length = usize::from(self.read(1)?[0]);
        let at = self.at;
        let name = std::str::from_utf8(self.read(length)?).map_err(|_| MessageError::Name { at })?;
        Ok(name.to_owned())
    }

    fn value(&mut self) -> Result<Vec<u8>, MessageError> {
        let length = self.read(2)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        Ok(self.read(length)?.to_vec())
    }

    fn list(&mut self) -> Result<Vec<Vec<u8>>, MessageError> {
        let mut items = Vec::new();
        loop {
            let at = self.at;
            match self.element() {
                Some(LIST_ITEM) => items.push(self.value()?),
                Some(LIST_END) => return Ok(items),
                Some(got) => return Err(MessageError::Element { got, at }),
                None => return Err(MessageError::Truncated { at }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the format's description.
    fn example() -> Section {
        let sub = Section::new().value("key2", "value2");
        let inner = Section::new().section("sub-section", sub).list("list1", ["item1", "item2"]);
        Section::new().value("key1", "value1").section("section1", inner)
    }

    #[test]
    fn writes_the_bytes_of_the_formats_description() {
        #[rustfmt::skip]
        let want: &[u8] = &[
            3, 4, b'k', b'e', b'y', b'1', 0, 6, b'v', b'a', b'l', b'u', b'e', b'1',
            1, 8, b's', b'e', b'c', b't', b'i', b'o', b'n', b'1',
            1, 11, b's', b'u', b'b', b'-', b's', b'e', b'c', b't', b'i', b'o', b'n',
            3, 4, b'k', b'e', b'y', b'2', 0, 6, b'v', b'a', b'l', b'u', b'e', b'2',
            2,
            4, 5, b'l', b'i', b's', b't', b'1',
            5, 0, 5, b'i', b't', b'e', b'm', b'1',
            5, 0, 5, b'i', b't', b'e', b'm', b'2',
            6,
            2,
        ];
        assert_eq!(example().emit().unwrap(), want);
        assert_eq!(Section::parse(want), Ok(example()));
    }

    #[test]
    fn finds_what_it_is_asked_for() {
        let message = example().value("count", "17");
        assert_eq!(message.text("key1"), Some("value1"));
        assert_eq!(message.number("count"), Some(17));
        assert_eq!((message.text("section1"), message.number("key1")), (None, None));
        let (name, section) = message.sections().next().unwrap();
        assert_eq!(name, "section1");
        assert_eq!(section.items("list1").collect::<Vec<_>>(), ["item1", "item2"]);
    }

    #[test]
    fn refuses_what_is_no_message() {
        let deep = [SECTION_START, 0].repeat(DEPTH_MAX + 1);
        #[rustfmt::skip]
        let cases: [(&str, &[u8], MessageError); 8] = [
            ("unknown element",  &[0],             MessageError::Element { got: 0, at: 0 }),
            ("end of nothing",   &[SECTION_END],   MessageError::Element { got: SECTION_END, at: 0 }),
            ("item of nothing",  &[LIST_ITEM],     MessageError::Element { got: LIST_ITEM, at: 0 }),
            ("section in list",  &[LIST_START, 0, SECTION_START], MessageError::Element { got: SECTION_START, at: 2 }),
            ("open section",     &[SECTION_START, 0], MessageError::Truncated { at: 2 }),
            ("open list",        &[LIST_START, 0], MessageError::Truncated { at: 2 }),
            ("short value",      &[KEY_VALUE, 1, b'a', 0, 9, 1], MessageError::Truncated { at: 6 }),
            ("deep",             &deep,            MessageError::Deep),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(Section::parse(bytes), Err(want), "{name}");
        }
        let name = [KEY_VALUE, 1, 0xff, 0, 0];
        assert_eq!(Section::parse(&name), Err(MessageError::Name { at: 2 }));
    }

    #[test]
    fn refuses_to_write_what_does_not_fit() {
        let name = Section::new().value(&"n".repeat(256), "");
        assert_eq!(name.emit(), Err(MessageError::Long { got: 256, max: 255 }));
        let value = Section::new().value("n", vec![0; 65_536]);
        assert_eq!(value.emit(), Err(MessageError::Long { got: 65_536, max: 65_535 }));
    }

    #[test]
    fn shows_no_values() {
        let shown = format!("{:?}", Section::new().value("data", "hunter2"));
        assert!(shown.contains("data") && !shown.contains("hunter2"), "{shown}");
    }

    fn section() -> impl Strategy<Value = Section> {
        let value = || proptest::collection::vec(any::<u8>(), 0..20);
        let leaf = prop_oneof![
            value().prop_map(Node::Value),
            proptest::collection::vec(value(), 0..4).prop_map(Node::List)
        ];
        let node = leaf.prop_recursive(4, 24, 4, |inner| {
            let entries = proptest::collection::vec(("[a-z]{0,8}", inner), 0..4);
            entries.prop_map(|entries| Node::Section(Section { entries }))
        });
        proptest::collection::vec(("[a-z]{0,8}", node), 0..4).prop_map(|entries| Section { entries })
    }

    proptest! {
        #[test]
        fn parse_inverts_emit(section in section()) {
            prop_assert_eq!(Section::parse(&section.emit().unwrap()), Ok(section));
        }

        #[test]
        fn parse_accepts_one_form_only(bytes in proptest::collection::vec(0u8..8, 0..60)) {
            if let Ok(section) = Section::parse(&bytes) {
                prop_assert_eq!(section.emit().unwrap(), bytes);
            }
        }
    }
}

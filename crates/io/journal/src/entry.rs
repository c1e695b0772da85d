//! One entry, as the journal reads it.

/// A field has no more bytes of a value.
const VALUE_MAX: usize = 8 << 10;
/// An entry has no more bytes: a datagram takes 200 KiB (net.core.wmem_default).
const ENTRY_MAX: usize = 100 << 10;

#[derive(Debug, Default)]
pub(crate) struct Entry(Vec<u8>);

impl Entry {
    /// A fact of ours. Names of the journal's own have no such prefix.
    pub(crate) fn put_fact(&mut self, name: &str, value: &str) {
        let name: String = name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
            .collect();
        self.put(&format!("GUESTRIGHT_{name}"), value);
    }

    /// A field, with its length before it, so that a value may have any bytes.
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        let mut end = value.len().min(VALUE_MAX);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let value = &value.as_bytes()[..end];
        if self.0.len() + name.len() + value.len() + 16 > ENTRY_MAX {
            return;
        }
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'\n');
        self.0.extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_have_any_bytes_and_is_cut_between_letters() {
        let mut entry = Entry::default();
        entry.put_fact("left.over", "one\nMESSAGE=two");
        assert_eq!(entry.bytes(), b"GUESTRIGHT_LEFT_OVER\n\x0f\0\0\0\0\0\0\0one\nMESSAGE=two\n");
        let mut long = Entry::default();
        long.put("MESSAGE", &"é".repeat(VALUE_MAX));
        assert_eq!(long.bytes().len(), "MESSAGE\n".len() + 8 + VALUE_MAX + 1);
        let mut odd = Entry::default();
        odd.put("MESSAGE", &format!("x{}", "é".repeat(VALUE_MAX)));
        assert_eq!(odd.bytes().len(), "MESSAGE\n".len() + 8 + VALUE_MAX - 1 + 1);
        for _ in 0..100 {
            long.put("MESSAGE", &"x".repeat(VALUE_MAX));
        }
        assert!(long.bytes().len() <= ENTRY_MAX);
    }
}

//! The binary form of what is in an apk (apk-v3(5), "Wire format" and "Blocks"): values that follow each other, and
//! name each other by their distance from the beginning.

use anyhow::{Context as _, Result, ensure};

/// A value: four bits of type, and 28 bits of what it is or where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(u32);

/// Nothing.
pub(super) const NULL: Value = Value(0);

const INTEGER: u32 = 0x1000_0000;
const BLOB_8: u32 = 0x8000_0000;
const BLOB_16: u32 = 0x9000_0000;
const BLOB_32: u32 = 0xa000_0000;
/// What does not fit is in another form, which is not needed here.
const DIRECT_MAX: usize = 0x0fff_ffff;

const MAGIC: &[u8] = b"ADB.";
const PACKAGE: &[u8] = b"pckg";
const BLOCK_ADB: u32 = 0;
const BLOCK_FILE: u32 = 2 << 30;
const BLOCK_BYTES_MAX: usize = 0x3fff_ffff;
const ALIGNMENT: usize = 8;
/// Versions of the format, and the root object.
const HEADER_BYTES: usize = 8;

impl Value {
    pub(super) const ARRAY: u32 = 0xd000_0000;
    pub(super) const OBJECT: u32 = 0xe000_0000;

    pub(super) fn integer(number: usize) -> Self {
        Self::direct(INTEGER, number)
    }

    fn direct(kind: u32, number: usize) -> Self {
        assert!(number <= DIRECT_MAX, "packages are small");
        Self(kind | u32::try_from(number).expect("28 bits fit"))
    }
}

/// Values, one after the other.
#[derive(Debug)]
pub(super) struct Database(Vec<u8>);

impl Database {
    pub(super) fn new() -> Self {
        Self(vec![0; HEADER_BYTES])
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn blob(&mut self, bytes: &[u8]) -> Value {
        let length = u32::try_from(bytes.len()).expect("packages are small");
        let (kind, width) = match length {
            0 => return NULL,
            1..=0xff => (BLOB_8, 1),
            0x100..=0xffff => (BLOB_16, 2),
            0x1_0000.. => (BLOB_32, 4),
        };
        self.align(width);
        let value = Value::direct(kind, self.0.len());
        self.0.extend(&length.to_le_bytes()[..width]);
        self.0.extend(bytes);
        value
    }

    /// So many zeros, and where they begin.
    pub(super) fn blob_to_overwrite(&mut self, count: usize) -> (Value, usize) {
        let value = self.blob(&vec![0; count]);
        (value, self.0.len() - count)
    }

    pub(super) fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// An array or an object: the number of its slots, this one too, and what is in them. Nothing if there is nothing.
    pub(super) fn sequence(&mut self, kind: u32, values: &[Value]) -> Value {
        let count = values.iter().rposition(|value| *value != NULL).map_or(0, |last| last + 1);
        if count == 0 {
            return NULL;
        }
        self.align(4);
        let value = Value::direct(kind, self.0.len());
        let slots = u32::try_from(count + 1).expect("packages are small");
        self.0.extend(slots.to_le_bytes());
        values[..count].iter().for_each(|Value(value)| self.0.extend(value.to_le_bytes()));
        value
    }

    fn align(&mut self, width: usize) {
        self.0.resize(self.0.len().next_multiple_of(width), 0);
    }

    /// Says which object is the root.
    pub(super) fn finish(&mut self, Value(root): Value) {
        self.overwrite(HEADER_BYTES - 4, &root.to_le_bytes());
    }

    /// The file: this tree, then the bytes of files by the numbers of directory and file, from 1 on.
    pub(super) fn package(&self, files: &[(u32, u32, &[u8])]) -> Result<Vec<u8>> {
        let mut package = [MAGIC, PACKAGE].concat();
        block(BLOCK_ADB, &[&self.0], &mut package)?;
        for (directory, file, bytes) in files {
            block(BLOCK_FILE, &[&directory.to_le_bytes(), &file.to_le_bytes(), bytes], &mut package)?;
        }
        Ok(package)
    }
}

/// Type and size, what is in it, and zeros up to the next block.
fn block(kind: u32, parts: &[&[u8]], package: &mut Vec<u8>) -> Result<()> {
    let size = 4 + parts.iter().map(|part| part.len()).sum::<usize>();
    ensure!(size <= BLOCK_BYTES_MAX, "{size} bytes are too many for a block");
    package.extend((kind | u32::try_from(size).context("the size of a block")?).to_le_bytes());
    parts.iter().for_each(|part| package.extend(*part));
    package.resize(package.len() + size.next_multiple_of(ALIGNMENT) - size, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_the_format_says() {
        let mut database = Database::new();
        let word = database.blob(b"ab");
        let long = database.blob(&[7; 0x100]);
        let array = database.sequence(Value::ARRAY, &[word, NULL, Value::integer(5), NULL]);
        assert_eq!((word, long.0, NULL), (Value(BLOB_8 | 8), BLOB_16 | 12, database.blob(b"")));
        // Two bytes of length on an even address, 256 bytes, and the array on a multiple of four.
        assert_eq!(database.bytes()[8..14], [2, b'a', b'b', 0, 0, 1]);
        assert_eq!(array.0, Value::ARRAY | 272);
        let slots: Vec<_> =
            database.bytes()[272..].chunks(4).map(|it| u32::from_le_bytes(it.try_into().unwrap())).collect();
        assert_eq!(slots, [4, word.0, 0, INTEGER | 5]);
        assert_eq!(database.sequence(Value::OBJECT, &[NULL]), NULL);
        database.finish(array);
        assert_eq!(database.bytes()[4..8], array.0.to_le_bytes());
    }

    #[test]
    fn blocks_have_their_size_and_end_on_multiples_of_eight() {
        let mut database = Database::new();
        database.blob(b"x");
        let package = database.package(&[(1, 2, b"abc")]).unwrap();
        assert_eq!(package[..12], *b"ADB.pckg\x0e\0\0\0");
        assert_eq!(package[24..28], (BLOCK_FILE | 15).to_le_bytes());
        assert_eq!(package[28..], [1, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', b'c', 0]);
    }
}

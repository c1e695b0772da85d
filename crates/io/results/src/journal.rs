use crate::{ResultsError, file};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Lines that are added one by one, so that what was done is known after a program has ended in the middle of its work.
///
/// The first line says what the journal is about. A last line that is not whole does not count. While a program has a
/// journal open, no other gets it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Where each whole line ends, the first one included.
    ends: Vec<u64>,
}

/// What a journal had in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its first line; nothing in a new journal.
    pub head: Option<String>,
    pub lines: Vec<String>,
}

impl Journal {
    /// The most bytes of a journal.
    pub const BYTES_MAX: u64 = 1 << 30;

    /// Opens a journal, or makes an empty one, and says what is in it. Folders that are missing are made.
    ///
    /// # Errors
    ///
    /// When the system refuses, when another program has it open, and when it is too large.
    pub fn open(path: &Path) -> Result<(Self, Kept), ResultsError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            file::make_folder(folder)?;
        }
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = opened.map_err(|error| ResultsError::system("open", path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ResultsError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(ResultsError::system("lock", path, &error)),
        }
        let mut journal = Self { path: path.to_owned(), file, ends: vec![] };
        let kept = journal.read()?;
        Ok((journal, kept))
    }

    /// Says what is in a journal that another program may be writing to; nothing if there is none.
    ///
    /// # Errors
    ///
    /// When the system refuses, and when it is too large.
    pub fn look(path: &Path) -> Result<Kept, ResultsError> {
        if !path.exists() {
            return Ok(Kept::default());
        }
        Ok(split(&file::read(path, Self::BYTES_MAX)?).0)
    }

    fn read(&mut self) -> Result<Kept, ResultsError> {
        let mut bytes = Vec::new();
        let read = (&self.file).take(Self::BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| ResultsError::system("read", &self.path, &error))?;
        let got = bytes.len() as u64;
        if got > Self::BYTES_MAX {
            return Err(ResultsError::TooLarge { path: self.path.clone(), got, max: Self::BYTES_MAX });
        }
        let (kept, ends) = split(&bytes);
        self.ends = ends;
        Ok(kept)
    }

    /// Throws away what is in it and begins with this first line.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn begin(&mut self, head: &str) -> Result<(), ResultsError> {
        self.cut(0)?;
        self.ends.clear();
        self.add(head)
    }

    /// Keeps its first line and so many of those that were found behind it; what is added comes next.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn go_on(&mut self, lines: usize) -> Result<(), ResultsError> {
        let length = self.ends.get(lines).or(self.ends.last()).copied();
        self.cut(length.unwrap_or(0))
    }

    fn cut(&mut self, length: u64) -> Result<(), ResultsError> {
        let cut = self.file.set_len(length).and_then(|()| self.file.seek(SeekFrom::Start(length)));
        cut.map(drop).map_err(|error| ResultsError::system("write", &self.path, &error))
    }

    /// Adds a line: with one call of the system, so that a program that is killed leaves whole lines.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn add(&mut self, line: &str) -> Result<(), ResultsError> {
        let line = format!("{}\n", one_line(line));
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| ResultsError::system("write", &self.path, &error))
    }

    /// Takes the journal away: what it was about is done.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn remove(self) -> Result<(), ResultsError> {
        std::fs::remove_file(&self.path).map_err(|error| ResultsError::system("remove", &self.path, &error))
    }
}

/// The whole lines of a journal, and where each of them ends.
fn split(bytes: &[u8]) -> (Kept, Vec<u64>) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    // A disk that lost its power may have left anything: what is no text ends the journal.
    let text = match std::str::from_utf8(&bytes[..whole]) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut end = 0;
    let lines = text.split_inclusive('\n').filter_map(|line| {
        end += line.len() as u64;
        line.strip_suffix('\n').map(|line| (line.to_owned(), end))
    });
    let (mut lines, ends): (Vec<String>, Vec<u64>) = lines.unzip();
    let head = (!lines.is_empty()).then(|| lines.remove(0));
    (Kept { head, lines }, ends)
}

fn one_line(line: &str) -> String {
    line.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temp_path() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan/partial.jsonl");
        (folder, path)
    }

    fn kept(head: &str, lines: &[&str]) -> Kept {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        Kept { head: Some(head.to_owned()), lines }
    }

    #[test]
    fn what_was_added_is_there_when_it_is_opened_again() {
        let (_folder, path) = temp_path();
        let (mut journal, empty) = Journal::open(&path).unwrap();
        assert_eq!((empty, Journal::look(&path).unwrap()), (Kept::default(), Kept::default()));
        journal.begin("head").unwrap();
        journal.add("one").unwrap();
        journal.add("two\nlines").unwrap();
        drop(journal);
        let (mut journal, found) = Journal::open(&path).unwrap();
        assert_eq!(found, kept("head", &["one", "two lines"]));
        journal.go_on(1).unwrap();
        journal.add("three").unwrap();
        drop(journal);
        let (mut journal, found) = Journal::open(&path).unwrap();
        assert_eq!(found, kept("head", &["one", "three"]));
        journal.go_on(2).unwrap();
        journal.add("four").unwrap();
        drop(journal);
        let (mut journal, found) = Journal::open(&path).unwrap();
        assert_eq!(found, kept("head", &["one", "three", "four"]));
        journal.begin("other").unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path).unwrap().1, kept("other", &[]));
    }

    #[test]
    fn wherever_it_is_cut_off_whole_lines_remain() {
        let (_folder, path) = temp_path();
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.begin("head").unwrap();
        ["één", "two"].iter().for_each(|line| journal.add(line).unwrap());
        drop(journal);
        let bytes = std::fs::read(&path).unwrap();
        for length in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let (mut journal, found) = Journal::open(&path).unwrap();
            let lines = found.lines.len();
            if found.head.is_some() {
                journal.go_on(lines).unwrap();
                let whole = format!("head\n{}", ["één\n", "two\n"][..lines].concat());
                assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "what is torn is gone");
            }
            let want = match length {
                0..5 => Kept::default(),
                5..11 => kept("head", &[]),
                11..15 => kept("head", &["één"]),
                _ => kept("head", &["één", "two"]),
            };
            assert_eq!(found, want, "{length} bytes");
        }
    }

    #[test]
    fn what_is_no_text_ends_it() {
        let (_folder, path) = temp_path();
        file::write(&path, b"head\none\ntw\xff\xff\nthree\n").unwrap();
        assert_eq!(Journal::open(&path).unwrap().1, kept("head", &["one"]));
    }

    #[test]
    fn two_programs_do_not_write_to_one_journal() {
        let (_folder, path) = temp_path();
        let first = Journal::open(&path).unwrap();
        assert_eq!(Journal::open(&path).unwrap_err(), ResultsError::Busy { path: path.clone() });
        first.0.remove().unwrap();
        assert!(!path.exists());
        Journal::open(&path).unwrap();
    }
}

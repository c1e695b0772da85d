//! The household's terms, in a file.

use guestright_error::{OrFail as _, RunError};
use guestright_splash::TERMS_TEXT_BYTES_MAX;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Reads a file of terms, as a text for the page: with the ends of lines and tabs of any system.
///
/// # Errors
/// It cannot be read, is too long, or is not UTF-8.
pub fn read_terms(path: &Path) -> Result<String, RunError> {
    let wrong = |what: String| {
        RunError::config(format!("[splash] terms_file: {} {what}", path.display()))
            .with_hint("it is plain text in UTF-8, a paragraph in each line")
    };
    let context = || format!("[splash] terms_file: read {}", path.display());
    let mut bytes = Vec::new();
    let most = TERMS_TEXT_BYTES_MAX as u64;
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).or_config(context)?;
    if bytes.len() > TERMS_TEXT_BYTES_MAX {
        return Err(wrong(format!("has more than {TERMS_TEXT_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        wrong(format!("is no UTF-8 from byte {} on", error.utf8_error().valid_up_to() + 1))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.replace("\r\n", "\n").replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_any_editor_writes_it_and_a_wrong_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("terms.txt");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_terms(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read("\u{feff}Be\tkind.\r\nÜben.\n".as_bytes()).as_deref(), Ok("Be kind.\nÜben.\n"));
        assert_eq!(read(&vec![b'a'; TERMS_TEXT_BYTES_MAX]).map(|text| text.len()), Ok(TERMS_TEXT_BYTES_MAX));
        let long = read(&vec![b'a'; TERMS_TEXT_BYTES_MAX + 1]).unwrap_err();
        assert!(long.contains("terms.txt has more than 32768 bytes"), "{long}");
        let latin = read(b"Gr\xfc\xdfe").unwrap_err();
        assert!(latin.contains("is no UTF-8 from byte 3 on"), "{latin}");
        std::fs::remove_file(&path).unwrap();
        assert!(read_terms(&path).unwrap_err().to_string().contains("terms_file: read "));
    }
}

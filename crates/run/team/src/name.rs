//! Names of members: safe as names of files, as users in SIP, and to be read out by people, in any script.
//!
//! A name is letters, with their marks, and digits of one script, and dashes, in Unicode's normal form C, so that what looks
//! the same is the same. Which characters may be in names is Unicode's own rule for identifiers (UAX 31), less what
//! cannot be seen or is not in use (UTS 39, section 3.1); of one script is UTS 39's section 5.1, so a Cyrillic `а`
//! does not hide among Latin letters.

use guestright_error::RunError;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _};

/// In characters.
const LEN_MAX: usize = 40;
/// In bytes: with its ending a file's name has at most 255.
const BYTES_MAX: usize = 160;
/// Files of these names are the team's own.
const TAKEN: [&str; 3] = ["team", "gateway", "renewal"];

/// The same name as it is written here, whatever keyboard it came from.
pub fn normal(name: &str) -> Result<String, std::convert::Infallible> {
    Ok(name.nfc().collect())
}

/// A name for a new member.
///
/// # Errors
/// Why it will not do.
pub fn check(name: &str) -> Result<String, RunError> {
    let name: String = name.nfc().collect();
    match problem(&name) {
        None => Ok(name),
        Some(problem) => Err(RunError::user(format!("the name {name:?} will not do: {problem}"))),
    }
}

fn problem(name: &str) -> Option<String> {
    let fits = |c: char| {
        c == '-' || (c.is_ascii_alphanumeric() || (c != '_' && is_continued(c) && c.identifier_allowed()))
    };
    let begins = |c: char| c != '-' && !is_combining_mark(c);
    if TAKEN.contains(&name) {
        Some("that is the name of a file of the team's own".to_owned())
    } else if name.is_empty() || name.chars().count() > LEN_MAX || name.len() > BYTES_MAX {
        Some(format!("a name has 1 to {LEN_MAX} characters"))
    } else if let Some(wrong) = name.chars().find(|c| !fits(*c)) {
        Some(format!("{wrong:?} is neither letter, digit nor dash"))
    } else if !name.starts_with(begins) {
        Some("a name begins with a letter or a digit".to_owned())
    } else if !name.is_single_script() {
        Some("its letters are of several scripts, and some of them may look alike".to_owned())
    } else {
        None
    }
}

/// `XID_Continue` of UAX 31.
fn is_continued(c: char) -> bool {
    unicode_ident::is_xid_continue(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_of_one_script_and_can_be_seen() {
        for name in [
            "alice",
            "Jo-2",
            "42",
            "Ελένη",
            "Ольга",
            "محمد",
            "देवी",
            "さくら太郎",
            "김민준",
            "李明",
            "Zoë",
            "café",
        ] {
            assert_eq!(problem(&check(name).unwrap()), None, "{name}");
        }
        #[rustfmt::skip]
        let refused = [
            ("", "1 to 40"), ("../x", "'.'"), ("a/b", "'/'"), ("a b", "' '"), ("a_b", "'_'"), ("-x", "begins"),
            ("team", "own"), ("gateway", "own"), ("renewal", "own"), ("a\u{200b}b", "neither"), ("a\u{202e}b", "neither"),
            ("p\u{0430}ul", "several scripts"), ("\u{0301}a", "begins"), ("x\0", "neither"), ("😀", "neither"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1 to 40"),
        ];
        for (name, why) in refused {
            let got = problem(name).unwrap_or_default();
            assert!(got.contains(why), "{name:?}: {got}");
        }
    }

    #[test]
    fn what_looks_the_same_is_the_same() {
        assert_eq!(check("Zoe\u{308}").unwrap(), "Zo\u{eb}");
        assert_eq!(normal("Zoe\u{308}"), Ok("Zo\u{eb}".to_owned()));
    }

    proptest! {
        #[test]
        fn a_name_that_does_is_safe_in_a_path(name: String) {
            if let Ok(name) = check(&name) {
                let file = format!("{name}.delegation");
                prop_assert!(file.len() <= 255 && !name.starts_with(['-', '.']));
                prop_assert_eq!(std::path::Path::new(&file).components().count(), 1);
                prop_assert!(!name.chars().any(|c| c.is_control() || c.is_whitespace() || "/\\:\"'%".contains(c)));
                prop_assert_eq!(check(&name).unwrap(), name, "it stays as it is");
            }
        }
    }
}

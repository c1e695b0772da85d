//! Words that the glossary forbids, because another word already stands for the idea.
//!
//! The glossary's section "Words that are not used" is a table; the first column has the words. A word in `code font` is
//! forbidden as a part of a name in Rust code; every word is forbidden in comments and documents.

use crate::rust_text::RustText;

/// Where the words are listed.
pub(super) const GLOSSARY: &str = "docs/glossary.md";

const SECTION: &str = "## Words that are not used";

/// A name of so many words is a sentence.
const SENTENCE: usize = 4;

/// What the glossary forbids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Forbidden {
    /// As a part of a name: `tape` forbids `TapeReader` and `tape_file`.
    in_names: Vec<String>,
    /// In comments and documents.
    in_text: Vec<String>,
}

impl Forbidden {
    /// Reads the table out of the glossary's text. Without the section nothing is forbidden.
    pub(super) fn parse(glossary: &str) -> Self {
        let mut forbidden = Self::default();
        let Some((_, section)) = glossary.split_once(SECTION) else { return forbidden };
        let section = section.split("\n## ").next().unwrap_or_default();
        for row in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")).skip(1)
        {
            let Some(words) = row.split('|').nth(1) else { continue };
            for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                match word.strip_prefix('`').and_then(|word| word.strip_suffix('`')) {
                    Some(word) => forbidden.in_names.push(word.to_owned()),
                    None => forbidden.in_text.push(word.to_owned()),
                }
            }
        }
        forbidden
    }

    /// What is wrong in a Rust file.
    pub(super) fn check_rust(&self, file: &str, rust: &RustText) -> Vec<String> {
        let mut problems = self.check_text(file, &rust.comments);
        for (index, line) in rust.code.lines().enumerate() {
            for word in names(line).filter_map(|name| self.word_in(name)) {
                problems.push(format!("{file}:{}: `{word}` in a name; see {GLOSSARY}", index + 1));
            }
        }
        problems
    }

    /// The forbidden word in a name. A test's name is a sentence, and may say what it likes; `in_place` is a term.
    fn word_in(&self, name: &str) -> Option<&String> {
        let parts = parts(name);
        if parts.len() >= SENTENCE {
            return None;
        }
        let is_term = |index: usize| index > 0 && parts[index - 1] == "in" && parts[index] == "place";
        let found = |word: &&String| (0..parts.len()).any(|index| parts[index] == **word && !is_term(index));
        self.in_names.iter().find(found)
    }

    /// What is wrong in a document, or in comments.
    pub(super) fn check_text(&self, file: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        if file == GLOSSARY {
            return problems;
        }
        for (index, line) in text.lines().enumerate() {
            for word in line.split(|letter: char| !letter.is_alphabetic()).map(str::to_lowercase) {
                if self.in_text.contains(&word) {
                    problems.push(format!("{file}:{}: \"{word}\"; see {GLOSSARY}", index + 1));
                }
            }
        }
        problems
    }
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|name| !name.is_empty())
}

/// The words of a name, in lower case: `HTTPServer_name` has `httpserver` and `name`, `TapeReader` has `tape` and `reader`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut previous = '_';
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && previous.is_lowercase()) {
            parts.push(String::new());
        }
        if letter != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Glossary\n\n## Words that are not used\n\n| word | instead |\n| --- | --- |\n\
        | `tape`, `ear`, `place` | recording, listener, index |\n| whither | to where |\n\n## Next\n\n| `units` | fine |\n";

    #[test]
    fn reads_the_table_and_nothing_behind_it() {
        let want = Forbidden {
            in_names: vec!["tape".into(), "ear".into(), "place".into()],
            in_text: vec!["whither".into()],
        };
        assert_eq!(Forbidden::parse(TABLE), want);
        assert_eq!(Forbidden::parse("# Glossary\n"), Forbidden::default());
    }

    #[test]
    fn finds_a_word_as_a_part_of_a_name_and_not_inside_another_word() {
        let forbidden = Forbidden::parse(TABLE);
        let wrong = |source: &str| forbidden.check_rust("f.rs", &RustText::parse(source)).len();
        for (source, want) in [
            ("fn open_tape() {}", 1),
            ("struct TapeReader;", 1),
            ("let tape = ear;", 2),
            ("cipher.encrypt_in_place(place);", 1),
            ("fn tapestry(years: u8, search: u8) {}", 0),
            ("let text = \"tape\"; // a tape is what we record on", 0),
            ("// Whither it goes", 1),
            ("fn a_tape_that_ends_is_played_again() {}", 0),
            ("fn a_tape_ends() {}", 1),
        ] {
            assert_eq!(wrong(source), want, "{source}");
        }
    }

    #[test]
    fn the_glossary_may_name_what_it_forbids() {
        assert_eq!(Forbidden::parse(TABLE).check_text(GLOSSARY, TABLE), Vec::<String>::new());
        assert_eq!(Forbidden::parse(TABLE).check_text("README.md", "Whither?").len(), 1);
    }
}

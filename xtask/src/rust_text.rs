//! Rust source taken apart into code and comments, without a parser.

/// The same text twice, line for line: once with all but code blanked out, once with all but comments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RustText {
    /// Without comments, and without what is in string and character literals.
    pub(crate) code: String,
    pub(crate) comments: String,
}

#[derive(Clone, Copy)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl RustText {
    pub(crate) fn parse(source: &str) -> Self {
        let mut text = Self { code: String::with_capacity(source.len()), comments: String::new() };
        let mut rest = source;
        let mut previous = ' ';
        while let Some(first) = rest.chars().next() {
            let (length, part) = next_part(rest, previous);
            let (taken, after) = rest.split_at(length.max(first.len_utf8()).min(rest.len()));
            text.push(taken, part);
            previous = taken.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        text
    }

    fn push(&mut self, taken: &str, part: Part) {
        for letter in taken.chars() {
            let blank = if letter == '\n' { '\n' } else { ' ' };
            let (code, comment) = match part {
                Part::Code => (letter, blank),
                Part::Comment => (blank, letter),
                Part::Literal => (blank, blank),
            };
            self.code.push(code);
            self.comments.push(comment);
        }
    }
}

/// Whether `text` has `word` with nothing of a name on either side.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_in_name) && !after.is_some_and(is_in_name)
    })
}

fn is_in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length in bytes and the kind of what `rest` begins with.
fn next_part(rest: &str, previous: char) -> (usize, Part) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Part::Comment);
    }
    if rest.starts_with("/*") {
        return (block_comment_length(rest), Part::Comment);
    }
    if rest.starts_with('"') {
        return (quoted_length(rest, '"'), Part::Literal);
    }
    if rest.starts_with('\'') {
        return quote(rest);
    }
    if !is_in_name(previous)
        && let Some(length) = raw_string_length(rest)
    {
        return (length, Part::Literal);
    }
    (0, Part::Code)
}

fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0_u32, 0);
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// A character literal, or the mark of a lifetime.
fn quote(rest: &str) -> (usize, Part) {
    let mut letters = rest.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => (quoted_length(rest, '\''), Part::Literal),
        _ => (1, Part::Code),
    }
}

/// `r"…"`, `r#"…"#` and their kin of bytes and C strings.
fn raw_string_length(rest: &str) -> Option<usize> {
    let after_prefix = ["br", "cr", "r"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let hashes = after_prefix.len() - after_prefix.trim_start_matches('#').len();
    let body = after_prefix[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let body_at = rest.len() - body.len();
    Some(body.find(&end).map_or(rest.len(), |at| body_at + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_code_and_comments_apart() {
        #[rustfmt::skip]
        let cases = [
            ("a // b\nc",               "a     \nc",          "  // b\n "),
            ("a /* b /* c */ */ d",     "a                 d", "  /* b /* c */ */  "),
            (r#"f("// no \" //") // y"#, "f(             ) ",   "                 // y"),
            (r##"r#"un"safe"# x"##,     "             x",      ""),
            ("'\"' '\\'' x",            "         x",          ""),
            ("&'a str // y",            "&'a str ",            "        // y"),
            ("br\"// no\" x",           "          x",        ""),
            ("r#fn(1)",                 "r#fn(1)",             ""),
            ("\"unterminated",          "",                    ""),
        ];
        for (source, code, comments) in cases {
            let text = RustText::parse(source);
            assert_eq!(text.code.trim_end(), code.trim_end(), "{source}");
            assert_eq!(text.comments.trim_end(), comments.trim_end(), "{source}");
        }
    }

    #[test]
    fn keeps_every_line_where_it_was() {
        let source = include_str!("rust_text.rs");
        let text = RustText::parse(source);
        assert_eq!(text.code.lines().count(), source.lines().count());
        assert_eq!(text.comments.lines().count(), source.lines().count());
    }

    #[test]
    fn finds_whole_words_only() {
        assert!(has_word("x = unsafe {", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(!has_word("an_unsafe", "unsafe"));
    }
}

//! What a file says, line by line.

use crate::rust_text::{RustText, has_word};

use super::is_empty_name;

/// Marks of unfinished work; written in halves, or this file would be the first to be refused.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Folders of whoever wrote the file, which no other computer has.
const PRIVATE: [&str; 2] = [concat!("/ro", "ot/"), concat!("/wo", "rk/")];

pub(super) fn check_line_ends(file: &str, content: &str) -> Vec<String> {
    let trailing = |line: &str| line.ends_with([' ', '\t', '\r']);
    let mut problems = lines_where(file, content, trailing, "white space at the end of the line");
    if !content.is_empty() && (!content.ends_with('\n') || content.ends_with("\n\n")) {
        problems.push(format!("{file}: ends in something other than one line break"));
    }
    problems
}

pub(super) fn check_private_paths(file: &str, content: &str) -> Vec<String> {
    let names = |line: &str| PRIVATE.iter().any(|path| starts_a_path(line, path));
    lines_where(file, content, names, "names a folder of the computer where it was written")
}

/// A mark of unfinished work names its issue, by number or address, on the same line.
pub(super) fn check_loose_ends(file: &str, comments: &str) -> Vec<String> {
    let names_issue = |line: &str| {
        let numbers = line.split('#').skip(1);
        numbers.into_iter().any(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
            || line.contains("https://")
    };
    let loose = |line: &str| MARKS.iter().any(|mark| has_word(line, mark)) && !names_issue(line);
    lines_where(file, comments, loose, "unfinished work without an issue")
}

pub(super) fn check_rust(file: &str, rust: &RustText) -> Vec<String> {
    let mut problems = lines_where(file, &rust.code, declares_empty_name, "the module's name says nothing");
    let unfinished = |line: &str| ["todo!", "unimplemented!"].iter().any(|call| line.contains(call));
    problems.extend(lines_where(file, &rust.code, unfinished, "unfinished"));
    problems.extend(check_unsafe(file, rust));
    problems
}

fn check_unsafe(file: &str, rust: &RustText) -> Vec<String> {
    let code: Vec<_> = rust.code.lines().collect();
    let comments: Vec<_> = rust.comments.lines().collect();
    let mut problems = Vec::new();
    for at in (0..code.len()).filter(|at| has_word(code[*at], "unsafe")) {
        if !file.starts_with("crates/io/") {
            problems.push(format!("{file}:{}: unsafe code lives in crates/io", at + 1));
        } else if !is_justified(&code, &comments, at) {
            problems.push(format!("{file}:{}: unsafe without a `SAFETY:` comment just above", at + 1));
        }
    }
    problems
}

/// The comment is on the line itself, or above it with only comments, attributes and the statement's start between.
fn is_justified(code: &[&str], comments: &[&str], at: usize) -> bool {
    let says_why = |line: &str| line.contains("SAFETY:") || line.contains("# Safety");
    let ends_before = |line: &str| line.trim_end().ends_with([';', '{', '}', ',']);
    says_why(comments[at])
        || (0..at).rev().take_while(|above| !ends_before(code[*above])).any(|above| says_why(comments[above]))
}

fn declares_empty_name(line: &str) -> bool {
    let words: Vec<_> = line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).collect();
    words.windows(2).any(|pair| pair[0] == "mod" && is_empty_name(pair[1]))
}

/// Whether the path stands alone: `a/path/` and `.../path/` do not begin with `/path/`.
fn starts_a_path(line: &str, path: &str) -> bool {
    let before = |at| line[..at].chars().next_back();
    let in_path = |letter: char| letter.is_alphanumeric() || ".-_~}>*$".contains(letter);
    line.match_indices(path).any(|(at, _)| !before(at).is_some_and(in_path))
}

fn lines_where(file: &str, content: &str, is_wrong: impl Fn(&str) -> bool, what: &str) -> Vec<String> {
    let lines = content.split('\n').enumerate().filter(|(_, line)| is_wrong(line));
    lines.map(|(index, _)| format!("{file}:{}: {what}", index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_their_text_does() {
        for (content, want) in [("a\n", 0), ("", 0), ("a \n", 1), ("a\t\nb\r\n", 2), ("a", 1), ("a\n\n", 1)] {
            assert_eq!(check_line_ends("f", content).len(), want, "{content:?}");
        }
    }

    #[test]
    fn unfinished_work_has_an_issue() {
        let mark = MARKS[0];
        for bad in [format!("// {mark}: later"), format!("// {mark} #soon")] {
            assert_eq!(check_loose_ends("f", &bad).len(), 1, "{bad}");
        }
        for good in [format!("// {mark} (#12): later"), format!("# {mark}S"), String::new()] {
            assert_eq!(check_loose_ends("f", &good).len(), 0, "{good}");
        }
    }

    #[test]
    fn folders_of_one_computer_are_refused() {
        let [home, work] = PRIVATE;
        for bad in [format!("see {home}x"), format!("`{work}x`"), format!("\"{home}\"")] {
            assert_eq!(check_private_paths("f", &bad).len(), 1, "{bad}");
        }
        for good in [format!("target{work}x"), format!("..{home}x"), format!("$HOME{work}x")] {
            assert_eq!(check_private_paths("f", &good).len(), 0, "{good}");
        }
    }

    #[test]
    fn unsafe_code_is_in_io_and_says_why() {
        #[rustfmt::skip]
        let cases = [
            ("crates/io/udp/src/lib.rs",   "// SAFETY: it holds.\nunsafe { x() }",                1, 0),
            ("crates/io/udp/src/lib.rs",   "unsafe { x() } // SAFETY: it holds.",                 2, 0),
            ("crates/io/udp/src/lib.rs",   "// SAFETY: it\n// holds.\n#[a]\nlet x =\n  unsafe {}", 3, 0),
            ("crates/io/udp/src/lib.rs",   "// SAFETY: it holds.\nx();\nunsafe { y() }",          4, 1),
            ("crates/io/udp/src/lib.rs",   "unsafe { x() }",                                      5, 1),
            ("crates/pure/a/src/lib.rs",   "// SAFETY: it holds.\nunsafe { x() }",                6, 1),
            ("crates/pure/a/src/lib.rs",   "// unsafe\nlet a = \"unsafe\"; // unsafe_code",       7, 0),
        ];
        for (file, source, row, want) in cases {
            assert_eq!(check_unsafe(file, &RustText::parse(source)).len(), want, "row {row}");
        }
    }

    #[test]
    fn modules_have_names_that_say_something() {
        assert!(declares_empty_name("pub(crate) mod utils {"));
        assert!(!declares_empty_name("mod receipts;"));
        assert!(!declares_empty_name("let data = 1;"));
    }
}

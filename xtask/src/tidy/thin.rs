//! How much code the programs' own crates have: arguments, settings, wiring and output. What decides something is a library
//! in another room, where others can use it and tests reach it.

use super::length::lines_without_tests;

/// What the crates of the room `app` may have together.
const MAX: usize = 12_000;

/// A room of programs.
const ROOM: &str = "crates/app/";

/// What is not installed: somebody else's playout on our traces, and what tests have in common.
const NOT_INSTALLED: [&str; 2] = ["neteq-peer", "testbed"];

/// The lines of a file up to its tests. Nothing for files that are not in the room.
pub(super) fn measure(file: &str, content: &str) -> Option<usize> {
    let mut parts = file.strip_prefix(ROOM)?.split('/');
    let is_program = !NOT_INSTALLED.contains(&parts.next()?) && parts.next() == Some("src");
    let only_tests = parts.any(|part| matches!(part, "tests" | "tests.rs"));
    (is_program && !only_tests && file.ends_with(".rs")).then(|| lines_without_tests(content))
}

/// What is wrong with so many lines in the whole room.
pub(super) fn check(lines: usize) -> Option<String> {
    let problem = || {
        format!(
            "{ROOM}: {lines} lines without tests, at most {MAX}: move what is no argument, setting, wiring or output to \
             crates/run"
        )
    };
    (lines > MAX).then(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_programs_up_to_their_tests() {
        let content = "a\nb\n#[cfg(test)]\nmod tests {\n}\n";
        for file in ["crates/app/guestright/src/main.rs", "crates/app/cli/src/a/b.rs"] {
            assert_eq!(measure(file, content), Some(2), "{file}");
        }
        for other in [
            "crates/run/host/src/lib.rs",
            "crates/app/guestright/build.rs",
            "crates/app/guestright/tests/system/main.rs",
            "crates/app/guestright/src/a/tests/b.rs",
            "crates/app/guestright/src/page.html",
            "crates/app/guestright/src/a/tests.rs",
            "crates/app/neteq-peer/src/main.rs",
            "crates/app/testbed/src/lib.rs",
        ] {
            assert_eq!(measure(other, content), None, "{other}");
        }
        let import = "#[cfg(test)]\nuse a::b;\nc\n";
        assert_eq!(measure("crates/app/cli/src/a.rs", import), Some(3), "only a module of tests ends it");
    }

    #[test]
    fn one_line_too_many_is_one_too_many() {
        assert_eq!(check(MAX), None);
        assert!(check(MAX + 1).is_some_and(|problem| problem.contains("12001 lines")));
    }
}

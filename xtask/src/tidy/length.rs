//! How long files are without their tests, and the list of those that may be longer, which only shrinks.

use anyhow::{Context as _, Result, ensure};

/// Past this, a reviewer asks why.
const WARN: usize = 500;

/// Past this, the file is split, unless it is on the list.
const MAX: usize = 800;

/// One `path lines` per line: files that are too long, with the length that they may not exceed.
const LIST: &str = include_str!("large_files.txt");

/// Files that are one state machine, which is easier to read whole: `path why`.
const MACHINES: &str = include_str!("machines.txt");

/// Past this, a state machine has a part that is a machine of its own.
const MACHINE_MAX: usize = 1_500;

/// What the list may hold. Lower it whenever the list has become shorter; it is never raised.
const LIST_MAX: usize = 0;

const PROGRAMS: [&str; 8] = [".bash", ".css", ".js", ".py", ".rs", ".sh", ".ts", ".tsx"];

/// A program's file, and its lines up to its tests. Nothing for other files, and for those that only test.
pub(super) fn measure(file: &str, content: &str) -> Option<(String, usize)> {
    let tests = file.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"));
    let program = PROGRAMS.iter().any(|end| file.ends_with(end));
    (program && !tests).then(|| (file.to_owned(), lines_without_tests(content)))
}

/// Warns about long files and returns what is wrong with too long ones, and with the lists.
pub(super) fn check(lengths: &[(String, usize)]) -> Result<Vec<String>> {
    let list = read_list(LIST)?;
    let machines = read_machines(MACHINES)?;
    let is_machine = |file: &str| machines.contains(&file);
    let (whole, others): (Vec<_>, Vec<_>) = lengths.iter().cloned().partition(|(file, _)| is_machine(file));
    for (file, lines) in others.iter().filter(|(_, lines)| (WARN + 1..=MAX).contains(lines)) {
        eprintln!("warning: {file}: {lines} lines without tests; past {WARN}, say why in review");
    }
    let mut problems = compare(&others, &list);
    problems.extend(check_machines(&whole, &machines));
    if list.len() != LIST_MAX {
        problems.push(format!("large_files.txt: {} entries, but LIST_MAX is {LIST_MAX}", list.len()));
    }
    Ok(problems)
}

/// The lines before a module of tests. An attribute on anything else, an import say, ends nothing.
pub(super) fn lines_without_tests(content: &str) -> usize {
    let lines: Vec<&str> = content.lines().collect();
    let starts_tests = |at: &usize| {
        let mut after =
            lines[at + 1..].iter().map(|line| line.trim()).skip_while(|line| line.starts_with("#["));
        lines[*at].trim() == "#[cfg(test)]"
            && after.next().is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    (0..lines.len()).find(starts_tests).unwrap_or(lines.len())
}

fn read_list(text: &str) -> Result<Vec<(&str, usize)>> {
    let entries = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let read = |line| {
        let (file, lines): (&str, &str) =
            Option::context(str::split_once(line, ' '), "an entry is `path lines`")?;
        Ok((file, lines.parse().context("lines are a number")?))
    };
    let list: Vec<_> = entries.map(read).collect::<Result<_>>().context("read large_files.txt")?;
    ensure!(list.is_sorted(), "large_files.txt is not sorted");
    Ok(list)
}

fn read_machines(text: &str) -> Result<Vec<&str>> {
    let entries = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let read = |line| {
        let (file, why): (&str, &str) =
            Option::context(str::split_once(line, ' '), "an entry is `path why`")?;
        ensure!(!why.trim().is_empty(), "{file}: why?");
        Ok(file)
    };
    let machines: Vec<_> = entries.map(read).collect::<Result<_>>().context("read machines.txt")?;
    ensure!(machines.is_sorted(), "machines.txt is not sorted");
    Ok(machines)
}

fn check_machines(whole: &[(String, usize)], machines: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, lines) in whole.iter().filter(|(_, lines)| *lines > MACHINE_MAX) {
        problems
            .push(format!("{file}: {lines} lines without tests, a state machine has at most {MACHINE_MAX}"));
    }
    for listed in machines {
        if !whole.iter().any(|(file, lines)| file == listed && *lines > WARN) {
            problems.push(format!("machines.txt: {listed} is gone or short enough now, remove it"));
        }
    }
    problems
}

fn compare(lengths: &[(String, usize)], list: &[(&str, usize)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, lines) in lengths.iter().filter(|(_, lines)| *lines > MAX) {
        match list.iter().find(|(listed, _)| listed == file) {
            None => problems.push(format!("{file}: {lines} lines without tests, at most {MAX}")),
            Some((_, limit)) if lines > limit => {
                problems.push(format!("{file}: grew from {limit} to {lines} lines; it may only shrink"));
            }
            Some((_, limit)) if lines < limit => {
                problems.push(format!("large_files.txt: {file} shrank, write {lines} for {limit}"));
            }
            Some(_) => {}
        }
    }
    for (listed, _) in list {
        if !lengths.iter().any(|(file, lines)| file == listed && *lines > MAX) {
            problems.push(format!("large_files.txt: {listed} is gone or short enough now, remove it"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_up_to_the_tests() {
        #[rustfmt::skip]
        let cases = [
            ("",                                                        0),
            ("a\nb\n",                                                  2),
            ("a\nb",                                                    2),
            ("a\n#[cfg(test)]\nmod tests {\nb\n}\n",                    1),
            ("a\n#[cfg(test)]\n#[allow(x)]\nmod tests {\nb\n}\n",       1),
            ("#[cfg(test)]\nuse b;\na\n#[cfg(test)]\nmod tests {\n}\n", 3),
            ("#[cfg(test)]\nmod tests;\na\n",                           3),
        ];
        for (content, want) in cases {
            assert_eq!(lines_without_tests(content), want, "{content:?}");
        }
    }

    #[test]
    fn measures_programs_only() {
        assert!(measure("crates/io/store/src/lib.rs", "").is_some());
        for other in ["README.md", "crates/io/store/tests/merge.rs", "crates/io/store/src/merge/tests.rs"] {
            assert_eq!(measure(other, ""), None, "{other}");
        }
    }

    #[test]
    fn the_list_only_shrinks() {
        let file = |lines| vec![("a.rs".to_owned(), lines)];
        assert_eq!(compare(&file(MAX), &[]).len(), 0);
        assert_eq!(compare(&file(MAX + 1), &[]).len(), 1);
        assert_eq!(compare(&file(900), &[("a.rs", 900)]).len(), 0);
        for wrong in [901, 899, MAX] {
            assert_eq!(compare(&file(wrong), &[("a.rs", 900)]).len(), 1, "{wrong}");
        }
        assert_eq!(compare(&[], &[("a.rs", 900)]).len(), 1);
    }

    #[test]
    fn a_state_machine_may_be_longer_in_one_file() {
        let file = |lines| vec![("a.rs".to_owned(), lines)];
        for fine in [WARN + 1, MACHINE_MAX] {
            assert_eq!(check_machines(&file(fine), &["a.rs"]), [""; 0], "{fine}");
        }
        for wrong in [MACHINE_MAX + 1, WARN] {
            assert_eq!(check_machines(&file(wrong), &["a.rs"]).len(), 1, "{wrong}");
        }
        assert_eq!(check_machines(&[], &["a.rs"]).len(), 1, "it is gone");
    }

    #[test]
    fn the_list_of_machines_says_why() {
        assert_eq!(read_machines("# x\na.rs one machine\n").expect("a good list"), ["a.rs"]);
        for bad in ["a.rs", "a.rs ", "b.rs x\na.rs x"] {
            assert!(read_machines(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_list_reads_as_it_is_written() {
        assert_eq!(read_list("# why\n\na.rs 900\nb.rs 801\n").expect("a good list").len(), 2);
        for bad in ["a.rs", "a.rs many", "b.rs 900\na.rs 900"] {
            assert!(read_list(bad).is_err(), "{bad}");
        }
    }
}

//! Whether every command of a program explains itself.

use crate::Desk;

/// Panics where the arguments contradict each other, or where a command that is not hidden shows no example in its help:
/// a line with the words of `example`.
pub fn check(program: clap::Command, example: &str) {
    fn check(command: &clap::Command, path: &str, example: &str) {
        let path = format!("{path} {}", command.get_name());
        if !command.is_hide_set() && command.get_name() != "help" {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(example), "{path} has no example in its help");
        }
        command.get_subcommands().for_each(|sub| check(sub, &path, example));
    }
    check(&program, "", example);
    program.debug_assert();
}

/// The commands that the help of a program leads to, each of which prints help with an example. Those in `elsewhere`
/// are another program's, and are left out.
pub fn walk(desk: &Desk, program: &str, elsewhere: &[&str]) -> Vec<String> {
    let mut waiting = vec![String::new()];
    let mut seen = Vec::new();
    while let Some(path) = waiting.pop() {
        if elsewhere.contains(&path.trim()) {
            continue;
        }
        let long = desk.run(&format!("{path} --help"));
        assert!(long.contains(&format!("Usage: {program} ")), "{path}: {long}");
        assert!(long.contains("Example"), "{path} has no example: {long}");
        assert!(!desk.run(&format!("{path} -h")).is_empty());
        waiting.extend(subcommands(&long).into_iter().map(|name| format!("{path} {name}")));
        seen.push(path.trim().to_owned());
    }
    seen
}

/// The names of the subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let list =
        help.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let first = |line: &str| line.strip_prefix("  ")?.split_whitespace().next().map(str::to_owned);
    let names = list.lines().filter(|line| !line.starts_with("   ")).filter_map(first);
    names.filter(|name| name != "help").collect()
}

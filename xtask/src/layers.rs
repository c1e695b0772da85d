//! The arrows between the rooms, and what the sealed rooms may not do.
//!
//! `base` <- `pure` <- `sim`, and `base` <- `pure` <- `io`; `run` on all of these; `app` on all but `bindings`; `bindings`
//! on all but `io`, `run` and `app`. `sim` and `io` meet only in `run`. Tests may point anywhere but at `app`.
//! What a program may not link stands in [`linked`].

mod linked;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};

use crate::rust_text::{RustText, has_word};
use crate::workspace::{Package, Room};
use crate::{steps, workspace};

/// Arrows from one `io` crate to another: each is a reason why two things outside are one. Design note first.
const IO_TO_IO: [(&str, &str); 6] = [
    ("guestright-firewall", "guestright-command"),
    ("guestright-netns", "guestright-command"),
    ("guestright-strongswan", "guestright-command"),
    ("guestright-system", "guestright-command"),
    ("guestright-tun", "guestright-command"),
    ("guestright-wireguard", "guestright-command"),
];

/// Crates that wait, or touch a clock, a file, a socket or entropy.
const OUTSIDE: [&str; 22] = [
    "async-io",
    "async-std",
    "chrono",
    "futures",
    "getrandom",
    "hyper",
    "libc",
    "mio",
    "nix",
    "notify",
    "polling",
    "quinn",
    "reqwest",
    "rusqlite",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "ureq",
    "wasm-bindgen",
];

pub(crate) fn run() -> Result<()> {
    let packages = workspace::packages()?;
    let files = workspace::files()?;
    let mut problems: Vec<String> = packages.iter().flat_map(check_arrows).collect();
    problems.extend(packages.iter().filter_map(check_name));
    problems.extend(check_members(&packages, &files));
    problems.extend(linked::check()?);
    for file in files.iter().filter(|file| Room::of(file).is_sealed()) {
        if file.ends_with("clippy.toml") {
            problems.push(format!("{file}: takes the place of the root's, which holds this room's ban"));
        }
        if file.ends_with(".rs") && file.contains("/src/") {
            let source =
                fs::read_to_string(workspace::root().join(file)).with_context(|| format!("read {file}"))?;
            problems.extend(check_waiting(file, &source));
        }
    }
    steps::report("layers", &format!("{} packages", packages.len()), &problems)
}

fn may_depend_on(from: Room, to: Room) -> bool {
    use Room::{App, Base, Bindings, Io, Pure, Run, Sim, Tools};
    match from {
        Base => to == Base,
        Pure => matches!(to, Base | Pure),
        Sim => matches!(to, Base | Pure | Sim),
        Io => matches!(to, Base | Pure),
        Run => matches!(to, Base | Pure | Sim | Io | Run),
        App => matches!(to, Base | Pure | Sim | Io | Run | App),
        Bindings => matches!(to, Base | Pure | Sim | Bindings),
        Tools => true,
    }
}

fn check_arrows(package: &Package) -> Vec<String> {
    let from = Room::of(&package.folder);
    let mut problems = Vec::new();
    for dependency in &package.dependencies {
        let Some(folder) = &dependency.folder else {
            if from.is_sealed() && !dependency.dev && OUTSIDE.contains(&dependency.name.as_str()) {
                problems.push(format!("{}: `{}` has no place in {from:?}", package.name, dependency.name));
            }
            continue;
        };
        let to = Room::of(folder);
        let is_allowed = if dependency.dev {
            to != Room::App || matches!(from, Room::App | Room::Tools)
        } else {
            may_depend_on(from, to) || IO_TO_IO.contains(&(package.name.as_str(), dependency.name.as_str()))
        };
        if !is_allowed {
            let how = if dependency.dev { "tests of " } else { "" };
            problems.push(format!(
                "{how}{} ({from:?}) may not depend on {} ({to:?})",
                package.name, dependency.name
            ));
        }
    }
    problems
}

/// `crates/pure/receipt` is `guestright-receipt`, so that a move to another room is a `git mv`.
fn check_name(package: &Package) -> Option<String> {
    let ["crates", room, folder] = package.folder.split('/').collect::<Vec<_>>()[..] else {
        return None;
    };
    let want = format!("guestright-{folder}");
    (room != "app" && package.name != want)
        .then(|| format!("{}: the package is named {}, not {want}", package.folder, package.name))
}

/// A package below `crates` that the workspace does not know is never checked.
fn check_members(packages: &[Package], files: &BTreeSet<String>) -> Vec<String> {
    let folders = files.iter().filter(|file| file.starts_with("crates/"));
    let folders = folders.filter_map(|file| file.strip_suffix("/Cargo.toml"));
    let unknown = folders.filter(|folder| packages.iter().all(|package| package.folder != *folder));
    unknown.map(|folder| format!("{folder}: not a member of the workspace")).collect()
}

fn check_waiting(file: &str, source: &str) -> Vec<String> {
    let code = RustText::parse(source).code;
    let mut problems = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for word in ["async", "await"] {
            if has_word(line, word) {
                problems.push(format!("{file}:{}: `{word}`, but this room never waits", index + 1));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    #[test]
    fn each_room_sees_only_the_rooms_below_it() {
        use Room::{App, Base, Bindings, Io, Pure, Run, Sim, Tools};
        #[rustfmt::skip]
        let allowed = [
            (Base,     vec![Base]),
            (Pure,     vec![Base, Pure]),
            (Sim,      vec![Base, Pure, Sim]),
            (Io,       vec![Base, Pure]),
            (Run,      vec![Base, Pure, Sim, Io, Run]),
            (App,      vec![Base, Pure, Sim, Io, Run, App]),
            (Bindings, vec![Base, Pure, Sim, Bindings]),
            (Tools,    vec![Base, Pure, Sim, Io, Run, App, Bindings, Tools]),
        ];
        for (from, want) in allowed {
            let all = [Base, Pure, Sim, Io, Run, App, Bindings, Tools];
            let got: Vec<_> = all.into_iter().filter(|to| may_depend_on(from, *to)).collect();
            assert_eq!(got, want, "{from:?}");
        }
    }

    #[test]
    fn tests_may_point_anywhere_but_at_the_program() {
        let cases = [
            ("crates/pure/receipt", "crates/io/store", true, 0),
            ("crates/pure/receipt", "crates/io/store", false, 1),
            ("crates/pure/receipt", "crates/app/guestright", true, 1),
            ("crates/sim/world", "crates/io/udp", false, 1),
            ("crates/io/store", "crates/io/udp", false, 1),
            ("tests/system", "crates/app/guestright", true, 0),
        ];
        for (from, to, dev, want) in cases {
            let package = package(from, "x", Some(to), dev);
            assert_eq!(check_arrows(&package).len(), want, "{from} -> {to}, dev: {dev}");
        }
    }

    #[test]
    fn sealed_rooms_link_nothing_that_waits() {
        assert_eq!(check_arrows(&package("crates/sim/world", "tokio", None, false)).len(), 1);
        assert_eq!(check_arrows(&package("crates/sim/world", "tokio", None, true)).len(), 0);
        assert_eq!(check_arrows(&package("crates/io/udp", "tokio", None, false)).len(), 0);
    }

    #[test]
    fn only_code_can_wait() {
        assert_eq!(check_waiting("f", "// never await\nlet asynchronous = \"async\";"), Vec::<String>::new());
        assert_eq!(check_waiting("f", "fn a() {}\nasync fn b() { c().await }").len(), 2);
    }

    #[test]
    fn a_package_outside_the_workspace_is_seen() {
        let known = [package("crates/io/udp", "x", None, false)];
        let files = ["crates/io/udp/Cargo.toml", "crates/io/tun/Cargo.toml"].map(str::to_owned).into();
        assert_eq!(check_members(&known, &files), ["crates/io/tun: not a member of the workspace"]);
    }

    fn package(folder: &str, name: &str, to: Option<&str>, dev: bool) -> Package {
        let dependency = Dependency { name: name.to_owned(), folder: to.map(str::to_owned), dev };
        let dependencies = vec![dependency];
        Package { name: "p".to_owned(), folder: folder.to_owned(), dependencies, has_benches: false }
    }
}

//! What each program may not link, proven from the graph that Cargo resolves for it alone.
//!
//! Cargo's metadata joins the features that all packages of a workspace want; `cargo tree` for one package does not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::steps::{cargo, output};
use crate::workspace::{self, Room};

/// A program, and how it is built.
struct Program {
    package: &'static str,
    builds: &'static [Build],
    forbidden: &'static [Forbidden],
}

/// What `cargo` is told about features, and what is allowed because of it.
struct Build {
    arguments: &'static [&'static str],
    has_defaults: bool,
}

/// What may not be linked, and in words what that is.
#[derive(Clone, Copy)]
struct Forbidden {
    what: &'static str,
    which: Which,
}

#[derive(Clone, Copy)]
enum Which {
    /// Every crate of a room.
    Room(Room),
    Crates(&'static [&'static str]),
    /// These crates, in builds without default features.
    WithoutDefaults(&'static [&'static str]),
    /// A crate may be linked, but not with this feature.
    Feature(&'static str, &'static str),
}

/// `call` is about to become a feature of its own, with the sound card in it.
const SOUND: Forbidden =
    Forbidden { what: "a sound library", which: Which::WithoutDefaults(&["alsa", "alsa-sys", "cpal"]) };

const PROGRAMS: [Program; 2] = [
    Program {
        package: "guestright",
        builds: &[
            Build { arguments: &[], has_defaults: true },
            Build { arguments: &["--no-default-features"], has_defaults: false },
        ],
        forbidden: &[
            Forbidden { what: "a simulator", which: Which::Room(Room::Sim) },
            Forbidden { what: "Parquet", which: Which::Crates(&["arrow", "guestright-results", "parquet"]) },
            Forbidden {
                what: "a study",
                which: Which::Crates(&[
                    "guestright-bench",
                    "guestright-boat",
                    "guestright-emulator",
                    "guestright-experiment",
                    "guestright-legacy",
                    "guestright-study",
                    "guestright-wavelet",
                ]),
            },
            Forbidden {
                what: "a cipher of the papers",
                which: Which::Crates(&["blowfish", "cast5", "idea", "rc4"]),
            },
            // Phones read a certificate with its key in triple DES and in nothing newer (`pure/profile`).
            Forbidden { what: "a cipher of the papers", which: Which::WithoutDefaults(&["des"]) },
            Forbidden {
                what: "metrics",
                which: Which::WithoutDefaults(&["guestright-scrape", "prometheus-client"]),
            },
            // A router has no room for it, and knows neither store nor members (design note 0015).
            Forbidden {
                what: "the household's page",
                which: Which::WithoutDefaults(&["guestright-page", "guestright-web", "hyper"]),
            },
            SOUND,
            TESTS,
            BOAT_TESTING,
            VOICE_TESTING,
        ],
    },
    Program {
        package: "guestright-lab",
        builds: &[
            Build { arguments: &[], has_defaults: true },
            Build { arguments: &["--no-default-features"], has_defaults: false },
        ],
        forbidden: &[SOUND, TESTS, BOAT_TESTING, VOICE_TESTING],
    },
];

const TESTS: Forbidden =
    Forbidden { what: "scaffolding of tests", which: Which::Crates(&["guestright-testbed"]) };
const BOAT_TESTING: Forbidden =
    Forbidden { what: "scaffolding of tests", which: Which::Feature("guestright-boat", "testing") };
const VOICE_TESTING: Forbidden =
    Forbidden { what: "scaffolding of tests", which: Which::Feature("guestright-voice", "testing") };

/// Everything that a program links and may not.
pub(super) fn check() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for program in &PROGRAMS {
        for build in program.builds {
            let graph = Graph::of(program.package, build.arguments)?;
            let name = [&[program.package], build.arguments].concat().join(" ");
            problems.extend(graph.check(&name, program.forbidden, build.has_defaults));
        }
    }
    Ok(problems)
}

/// The crates that are linked, by name.
#[derive(Debug, Default)]
struct Graph {
    root: String,
    crates: BTreeMap<String, Linked>,
}

#[derive(Debug, Default)]
struct Linked {
    room: Option<Room>,
    features: BTreeSet<String>,
    dependencies: BTreeSet<String>,
}

impl Graph {
    fn of(package: &str, features: &[&str]) -> Result<Self> {
        let tree = ["tree", "--package", package, "--edges", "normal,no-proc-macro"];
        let form = ["--prefix", "depth", "--format", "{p}|{f}"];
        let text = output(&mut cargo(&[&tree[..], &form, features].concat()))?;
        Self::parse(&text, &workspace::root()).with_context(|| format!("`cargo tree` of {package}"))
    }

    /// Lines such as `2des v0.9.0|zeroize`, where the number says how deep it is; ours have their folder in parentheses.
    fn parse(text: &str, root: &Path) -> Result<Self> {
        let mut graph = Self::default();
        let mut path: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let digits = line.find(|c: char| !c.is_ascii_digit()).context("a line of digits alone")?;
            let (depth, rest) = line.split_at(digits);
            let depth: usize = depth.parse().with_context(|| format!("no depth in `{line}`"))?;
            let (package, features) = rest.rsplit_once('|').with_context(|| format!("no | in `{line}`"))?;
            let name = package.split(' ').next().unwrap_or_default().to_owned();
            path.truncate(depth);
            match path.last() {
                Some(parent) => {
                    graph.crates.entry(parent.clone()).or_default().dependencies.insert(name.clone());
                }
                None => graph.root.clone_from(&name),
            }
            let linked = graph.crates.entry(name.clone()).or_default();
            // Whatever was shown before is followed by ` (*)`.
            let features = features.trim_end_matches(" (*)").split(',').filter(|feature| !feature.is_empty());
            linked.features.extend(features.map(str::to_owned));
            let folder = package.split_once('(').and_then(|(_, rest)| rest.split(')').next());
            let folder = folder.and_then(|folder| Path::new(folder).strip_prefix(root).ok()?.to_str());
            linked.room = folder.map(Room::of).or(linked.room);
            path.push(name);
        }
        Ok(graph)
    }

    fn check(&self, build: &str, forbidden: &[Forbidden], has_defaults: bool) -> Vec<String> {
        let mut problems = Vec::new();
        for Forbidden { what, which } in forbidden {
            let is_hit = |name: &str, linked: &Linked| match which {
                Which::Room(room) => linked.room == Some(*room),
                Which::Crates(names) => names.contains(&name),
                Which::WithoutDefaults(names) => !has_defaults && names.contains(&name),
                Which::Feature(package, feature) => name == *package && linked.features.contains(*feature),
            };
            for (name, _) in self.crates.iter().filter(|(name, linked)| is_hit(name, linked)) {
                problems.push(format!("{build} links {name}, {what}: {}", self.way_to(name).join(" -> ")));
            }
        }
        problems
    }

    /// The shortest way from the program to a crate.
    fn way_to(&self, name: &str) -> Vec<String> {
        let mut waiting = VecDeque::from([vec![self.root.clone()]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = waiting.pop_front() {
            let Some(last) = way.last().filter(|last| seen.insert((*last).clone())) else { continue };
            if last == name {
                return way;
            }
            let next = self.crates.get(last).into_iter().flat_map(|linked| &linked.dependencies);
            waiting.extend(next.map(|next| [way.as_slice(), std::slice::from_ref(next)].concat()));
        }
        vec![name.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str) -> Graph {
        Graph::parse(text, Path::new("/here")).unwrap()
    }

    fn check(program: &str, text: &str, has_defaults: bool) -> Vec<String> {
        let program = PROGRAMS.iter().find(|one| one.package == program).unwrap();
        graph(text).check(program.package, program.forbidden, has_defaults)
    }

    const CLEAN: &str = "\
0guestright v0.1.0 (/here/crates/app/guestright)|default
1guestright-tunnel v0.1.0 (/here/crates/pure/tunnel)|
2zeroize v1.9.1|derive
1guestright-tun v0.1.0 (/here/crates/io/tun)|
2guestright-tunnel v0.1.0 (/here/crates/pure/tunnel)| (*)
";

    #[test]
    fn a_program_of_the_household_is_clean() {
        assert_eq!(check("guestright", CLEAN, false), Vec::<String>::new());
        let tun = &graph(CLEAN).crates["guestright-tun"];
        assert_eq!((tun.room, tun.dependencies.len()), (Some(Room::Io), 1));
    }

    #[test]
    fn a_cipher_is_found_with_the_way_to_it() {
        let text = CLEAN.replace("2zeroize", "2cast5 v0.12.0|zeroize\n2zeroize");
        let want = "guestright links cast5, a cipher of the papers: guestright -> guestright-tunnel -> cast5";
        assert_eq!(check("guestright", &text, true), [want]);
        assert_eq!(check("guestright-lab", &text, true), Vec::<String>::new());
    }

    #[test]
    fn a_router_has_no_phones_and_so_no_triple_des() {
        let text = format!("{CLEAN}1guestright-profile v0.1.0 (/here/crates/pure/profile)|\n2des v0.9.0|\n");
        assert_eq!(check("guestright", &text, true), Vec::<String>::new());
        assert_eq!(check("guestright", &text, false).len(), 1);
    }

    #[test]
    fn a_simulator_is_known_by_its_room() {
        let text = format!("{CLEAN}1anything v0.1.0 (/here/crates/sim/anything)|\n");
        assert_eq!(
            check("guestright", &text, true),
            ["guestright links anything, a simulator: guestright -> anything"]
        );
    }

    #[test]
    fn each_crate_of_a_study_fails() {
        for name in
            ["guestright-boat", "guestright-legacy", "guestright-study", "guestright-wavelet", "parquet"]
        {
            let text = format!("{CLEAN}1{name} v0.1.0|\n");
            assert_eq!(check("guestright", &text, true).len(), 1, "{name}");
        }
    }

    #[test]
    fn sound_is_for_builds_with_a_sound_card() {
        let text = format!("{CLEAN}1cpal v0.18.2|\n2alsa v0.11.0|std\n");
        assert_eq!(check("guestright", &text, true), Vec::<String>::new());
        assert_eq!(check("guestright", &text, false).len(), 2);
        assert_eq!(check("guestright-lab", &text, false).len(), 2);
    }

    #[test]
    fn scaffolding_of_tests_is_in_neither() {
        for (line, want) in [
            ("1guestright-voice v0.1.0 (/here/crates/pure/voice)|default,testing", 1),
            ("1guestright-voice v0.1.0 (/here/crates/pure/voice)|default", 0),
            ("1guestright-boat v0.1.0 (/here/crates/pure/boat)|testing (*)", 1),
            ("1guestright-testbed v0.1.0 (/here/crates/app/testbed)|", 1),
        ] {
            let lab = format!("0guestright-lab v0.1.0 (/here/crates/app/guestright-lab)|\n{line}\n");
            assert_eq!(check("guestright-lab", &lab, true).len(), want, "{line}");
        }
    }

    #[test]
    fn another_form_of_the_tree_is_an_error() {
        assert!(Graph::parse("guestright v0.1.0\n", Path::new("/here")).is_err());
        assert!(Graph::parse("0guestright v0.1.0\n", Path::new("/here")).is_err());
    }
}

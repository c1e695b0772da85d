//! The hot paths, each done a given number of times, for valgrind to count their instructions.
//!
//! `cargo xtask guard` runs this and compares with `guard/baseline.toml`. Nothing here reads a clock or draws chance that is not
//! seeded, so a build has the same count each time, whatever else the computer does.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when it is wrong"
)]

mod calls;
mod decisions;
mod receipts;
mod simulator;
mod tunnels;

/// So many rounds at most. All paths prepare as many, however many are done, so that two counts differ by what is looked at.
const ROUNDS_MAX: usize = 64;

/// One round of a path.
type Round = Box<dyn FnMut()>;
/// Its name, and what prepares it.
type Path = (&'static str, fn() -> Round);

fn main() {
    let paths: Vec<Path> =
        [receipts::PATHS, decisions::PATHS, tunnels::PATHS, calls::PATHS, simulator::PATHS].concat();
    // Cargo adds words of its own.
    let words: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match &words[..] {
        [] => paths.iter().for_each(|(name, _)| println!("{name}")),
        [name, rounds] => {
            let (_, prepare) = paths.iter().find(|(path, _)| path == name).unwrap();
            let rounds: usize = rounds.parse().unwrap();
            assert!(rounds <= ROUNDS_MAX, "{ROUNDS_MAX} rounds at most");
            let mut round = prepare();
            (0..rounds).for_each(|_| round());
        }
        _ => panic!("usage: guard [PATH ROUNDS]"),
    }
}

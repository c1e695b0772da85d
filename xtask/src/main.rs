//! Every developer and CI command: `cargo xtask help` lists them.
//!
//! One file per command, with its table of facts on top: what it runs, allows or refuses. Each check reads the tree
//! and writes nothing to it, collects everything that is wrong, and only then fails.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks on the terminal")]

mod acceptance;
mod archive;
mod bench;
mod deny;
mod guard;
mod layers;
mod libraries;
mod lint;
mod miri;
mod mutants;
mod openwrt;
mod package;
mod page;
mod profile;
mod python;
mod release;
mod router;
mod rust_text;
mod steps;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
usage: cargo xtask COMMAND [ARGUMENTS]

  ci               lint, then test
  lint             rustfmt, clippy, rustdoc, layers, tidy, libraries, deny, wasm32, shellcheck
  layers           who may depend on whom, what programs link, and no waiting below io
  tidy             sizes, names, links, unsafe code, loose ends
  deny             licences, versions and origins of dependencies (cargo-deny, deny.toml)
  test [ARGS]      every test; ARGS go to `cargo test`
  test nightly     the tests that take minutes, in a release build, and `router`
  acceptance [uml] [qemu] [--program PATH]
                   the programs beside other people's, in virtual machines with kernels of Debian's
  page [build|recorded|programs]
                   the household's page: built (Node, npm); from recordings, and over real programs, in Debian's
                   Chromium; without a word all three
  python           the package for Python: its wheel, types, tests, examples, notebooks, and a sweep on Ray
  package deb|rpm [--program PATH | --profile NAME] [--version VERSION]
                   packages of both programs, in target/package
  package openwrt [FOLDER]
                   the service and the LuCI page as ipk and apk, in target/openwrt unless FOLDER says otherwise
  package test [--program PATH | --profile NAME]
                   their contents, and their life in roots of Debian 12 and 13 (as root; takes minutes)
  mutants [ARGS]   which faults in the code the tests do not notice (cargo-mutants; takes an hour); ARGS: packages to
                   try alone, then what goes to cargo-mutants, e.g. `--re Registers`
  miri             tests of what computes little and needs no system, in Miri (a nightly compiler; takes minutes)
  router [--table|--twice] [PROCESSORS]
                   the program of a router, static: within its budget, and run by QEMU (takes an hour for all
                   processors); --table: whose its bytes are; --twice: the same bytes from two folders
  release [--draft] [--routers NAMES|none] [--into FOLDER] [--programs FOLDER] [--portable FOLDER]
                   everything that somebody downloads, with sums, bill of materials and provenance; --draft: of a
                   tree that is not a version yet, if need be from programs that were built before
  libraries [manifests|package|semver [REVISION]]
                   the libraries for others: their manifests, their packages (`cargo publish --dry-run`), and what breaks
                   since the newest release or REVISION (cargo-semver-checks); without a word all three
  bench [ARGS]     every benchmark; ARGS: packages to run alone, then what goes to the benchmarks, e.g. a filter
  guard [--bless|--try]
                   whether a hot path takes more instructions than guard/baseline.toml says (valgrind); --bless writes
                   it anew, --try makes each path slower and looks whether that is seen
  profile PATH     where the instructions of a hot path go: a flame graph in target/profile (valgrind)
  help             this text
";

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let (command, rest) = match arguments {
        [] => ("help", &[][..]),
        [command, rest @ ..] => (command.as_str(), rest),
    };
    if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let takes_arguments = [
        "test",
        "bench",
        "mutants",
        "acceptance",
        "package",
        "page",
        "release",
        "router",
        "libraries",
        "guard",
        "profile",
    ];
    if !rest.is_empty() && !takes_arguments.contains(&command) {
        bail!("`{command}` takes no arguments, got `{}`; see `cargo xtask help`", rest.join(" "));
    }
    match command {
        "ci" => ci(),
        "lint" => lint::run(),
        "layers" => layers::run(),
        "tidy" => tidy::run(),
        "deny" => deny::run().map(drop),
        "test" => test::run(rest),
        "acceptance" => acceptance::run(rest),
        "package" if rest.first().is_some_and(|what| what == "openwrt") => openwrt::run(&rest[1..]),
        "package" => package::run(rest),
        "page" => page::run(rest),
        "python" => python::run(),
        "libraries" => libraries::run(rest),
        "bench" => bench::run(rest),
        "profile" => profile::run(rest),
        "release" => release::run(rest),
        "router" => router::run(rest),
        "guard" => guard::run(rest),
        "miri" => miri::run(),
        "mutants" => mutants::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("there is no command `{other}`; see `cargo xtask help`"),
    }
}

/// The tests come last, so that what they say ends the output.
fn ci() -> Result<()> {
    let lint = lint::run();
    let test = test::run(&[]);
    match (lint, test) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(error), Ok(())) | (Ok(()), Err(error)) => Err(error),
        (Err(lint), Err(test)) => bail!("{lint:#}; {test:#}"),
    }
}

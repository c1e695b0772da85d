//! The program of a household's router: built static for the processors that routers have, weighed, and run.
//!
//! It is `guestright` without its default features (`crates/app/guestright/Cargo.toml`). Zig links it and compiles its C,
//! so that no cross compiler has to be installed. A nightly compiler builds Rust's standard library too: for MIPS there is
//! none ready-made, and those that there are have been built to be fast and to unwind, which is a megabyte. What is
//! built runs here by QEMU's user mode.

mod run;
mod weigh;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps::{Done, Steps, execute};
use crate::workspace;

/// A kind of processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    /// QEMU's name of the processor.
    pub(crate) processor: &'static str,
    /// The most bytes that the program may have, without its symbols.
    budget: u64,
    /// What rustc is told besides.
    flags: &'static str,
}

/// The program is at one address. On MIPS each function and each call of a program that may be anywhere takes several
/// instructions more: 15 % of all code.
const FIXED_ADDRESS: &str = " -C relocation-model=static";

/// What routers are made of, and the budgets that `docs/measurements.md` argues for.
const TARGETS: [Target; 6] = [
    Target { triple: "x86_64-unknown-linux-musl", processor: "x86_64", budget: 4_000_000, flags: "" },
    Target { triple: "aarch64-unknown-linux-musl", processor: "aarch64", budget: 4_000_000, flags: "" },
    Target { triple: "armv7-unknown-linux-musleabihf", processor: "arm", budget: 4_000_000, flags: "" },
    Target { triple: "riscv64gc-unknown-linux-musl", processor: "riscv64", budget: 4_000_000, flags: "" },
    Target {
        triple: "mipsel-unknown-linux-musl",
        processor: "mipsel",
        budget: 4_500_000,
        flags: FIXED_ADDRESS,
    },
    Target { triple: "mips-unknown-linux-musl", processor: "mips", budget: 4_500_000, flags: FIXED_ADDRESS },
];

const ZIG: &str = "install cargo-zigbuild and ziglang: `sh scripts/setup.sh router`";

/// What makes it smaller besides its profile: a program that aborts in a panic unwinds no stack, and of SQLite there is what
/// the store uses: no full-text search, no R-trees, no JSON, no extensions. `packaging/openwrt/guestright/Makefile` has
/// the same.
const ENVIRONMENT: [(&str, &str); 2] = [
    ("CFLAGS", "-fno-unwind-tables -fno-asynchronous-unwind-tables"),
    (
        "LIBSQLITE3_FLAGS",
        "-USQLITE_ENABLE_FTS3 -USQLITE_ENABLE_FTS3_PARENTHESIS -USQLITE_ENABLE_FTS5 -USQLITE_ENABLE_RTREE \
         -USQLITE_ENABLE_STAT4 -USQLITE_ENABLE_DBSTAT_VTAB -USQLITE_ENABLE_COLUMN_METADATA -USQLITE_SOUNDEX \
         -USQLITE_ENABLE_LOAD_EXTENSION -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_JSON",
    ),
];

/// Of the same kind, for rustc. (Zig has the C library.)
const FLAGS: &str = "-C force-unwind-tables=no -C link-self-contained=no";

/// For a program whose functions have names.
const SYMBOLS: [&str; 2] = ["--config", "profile.router.strip=false"];

/// Builds, weighs and runs the program for the targets that are named, or for all. With `--table` it says whose the bytes are
/// instead.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wants_table = arguments.iter().any(|argument| argument == "--table");
    let named: Vec<_> = arguments.iter().filter(|argument| *argument != "--table").collect();
    for name in &named {
        Target::named(name)?;
    }
    let zig = with_zig(&mut Command::new("cargo-zigbuild")).arg("--version").output();
    ensure!(zig.is_ok_and(|output| output.status.success()), "cargo-zigbuild is missing: {ZIG}");
    let folder = workspace::target_directory()?;
    let mut steps = Steps::default();
    for target in TARGETS {
        if !named.is_empty() && !named.iter().any(|name| target.is_named(name)) {
            continue;
        }
        let program = target.program(&folder);
        if wants_table {
            steps.run(&format!("{}: build with symbols", target.processor), || target.build(&SYMBOLS));
            steps.run(&format!("{}: whose the bytes are", target.processor), || weigh::print_table(&program));
            continue;
        }
        steps.run(&format!("{}: build", target.processor), || target.build(&[]));
        steps.run(&format!("{}: weigh", target.processor), || weigh::check(&program, target.budget));
        steps.run(&format!("{}: run", target.processor), || run::check(target, &program));
    }
    steps.finish()
}

impl Target {
    pub(crate) fn all() -> &'static [Self] {
        &TARGETS
    }

    /// # Errors
    /// With the names that there are, when it is none of them.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let found = TARGETS.into_iter().find(|target| target.is_named(name));
        found.with_context(|| {
            format!("`{name}` is none of {}", TARGETS.map(|target| target.processor).join(", "))
        })
    }

    fn is_named(&self, name: &str) -> bool {
        name == self.processor || name == self.triple
    }

    pub(crate) fn program(&self, folder: &Path) -> PathBuf {
        folder.join(self.triple).join("router/guestright")
    }

    pub(crate) fn build(&self, more: &[&str]) -> Result<Done> {
        let standard = ["-Z", "build-std=std,panic_abort", "-Z", "build-std-features=optimize_for_size"];
        let what = ["--profile", "router", "--package", "guestright", "--no-default-features"];
        let mut command = self.cargo("zigbuild");
        command.args(standard).args(what).args(more).envs(ENVIRONMENT);
        execute(command.env("RUSTFLAGS", format!("{FLAGS}{} {}", self.flags, workspace::without_paths())))
    }

    /// What Cargo does, by a nightly compiler, and with Zig as linker and as compiler of C.
    fn cargo(&self, verb: &str) -> Command {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo-zigbuild", verb, "--target", self.triple]);
        command.current_dir(workspace::root());
        for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(inherited);
        }
        with_zig(&mut command);
        command
    }
}

/// A build by the usual compiler, with Zig as linker.
pub(crate) fn zigbuild() -> Command {
    let mut command = Command::new("cargo-zigbuild");
    command.arg("zigbuild").current_dir(workspace::root());
    with_zig(&mut command);
    command
}

/// Zig comes before whatever else has its name, where `scripts/setup.sh router` has put it.
fn with_zig(command: &mut Command) -> &mut Command {
    let own = workspace::root().join("target/zig/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&path));
    match std::env::join_paths(all) {
        Ok(path) => command.env("PATH", path),
        Err(_) => command,
    }
}

/// What a program printed that has to succeed.
fn printed(command: &mut Command) -> Result<String> {
    let line = crate::steps::line(command);
    println!("$ {line}");
    let output = command.output().with_context(|| format!("start `{line}`"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("`{line}` failed: {}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

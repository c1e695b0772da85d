//! The program of a household's router: built static for the processors that routers have, weighed, and run.
//!
//! It is `guestright` without its default features (`crates/app/guestright/Cargo.toml`). Zig links it and compiles its C,
//! so that no cross compiler has to be installed. A nightly compiler builds Rust's standard library too: for MIPS there is
//! none ready-made, and those that there are have been built to be fast and to unwind, which is a megabyte. What is
//! built runs here by QEMU's user mode.

mod receipts;
mod run;
mod twice;
mod weigh;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps::{Done, Steps, execute, is_ci};
use crate::workspace::{self, Renamed};

/// A kind of processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    /// QEMU's name of the processor.
    pub(crate) processor: &'static str,
    /// The most bytes that the program may have, without its symbols: what was reached, and little more. Wanted are 4,000,000,
    /// and 4,500,000 for MIPS.
    budget: u64,
    /// What rustc is given besides.
    flags: &'static str,
    /// What the compiler of C is given besides.
    c_flags: &'static str,
    /// What is linked besides, from the checkout's root.
    linked_too: Option<&'static str>,
}

/// The program is at one address. On MIPS each function and each call of a program that may be anywhere takes several
/// instructions more: 15 % of all code. What follows fills more of the places behind jumps, which are empty instructions
/// otherwise, and lets a function end by a jump into the next one.
///
/// The first flag is about seconds. rustix takes it for granted that the C library counts them with 64 bits, which musl does
/// since 1.2, while libc's calls are those of before, with 32 bits: a clock that rustix reads is wrong by millennia.
///
/// The last one: where the program finds itself wrong, it ends at once, and does not say where. What it would say, and the
/// instructions to say it, do not fit into the flash of these routers; the other processors' programs do say it.
const MIPS: &str = " --cfg libc_unstable_musl_v1_2 -C relocation-model=static -C llvm-args=-disable-mips-df-succbb-search=false \
                    -C llvm-args=-disable-mips-df-forward-search=false -C llvm-args=-mips-tail-calls=true \
                    -Z unstable-options -C panic=immediate-abort -Z location-detail=none";

/// What routers are made of, and the budgets that `docs/measurements.md` argues for.
const TARGETS: [Target; 6] = [
    Target::plain("x86_64-unknown-linux-musl", "x86_64", 4_500_000),
    Target::plain("aarch64-unknown-linux-musl", "aarch64", 4_000_000),
    Target::plain("armv7-unknown-linux-musleabihf", "arm", 4_600_000),
    Target::plain("riscv64gc-unknown-linux-musl", "riscv64", 4_000_000),
    Target::mips("mipsel-unknown-linux-musl", "mipsel"),
    Target::mips("mips-unknown-linux-musl", "mips"),
];

const ZIG: &str = "install cargo-zigbuild and ziglang: `sh scripts/setup.sh router`";

/// What makes it smaller besides its profile: a program that aborts in a panic unwinds no stack, and of SQLite there is what
/// the store uses: no full-text search, no R-trees, no JSON, no extensions. `packaging/openwrt/guestright/Makefile` has
/// the same.
const C_FLAGS: &str = "-fno-unwind-tables -fno-asynchronous-unwind-tables";
const SQLITE_FLAGS: &str = "-USQLITE_ENABLE_FTS3 -USQLITE_ENABLE_FTS3_PARENTHESIS -USQLITE_ENABLE_FTS5 \
     -USQLITE_ENABLE_RTREE -USQLITE_ENABLE_STAT4 -USQLITE_ENABLE_DBSTAT_VTAB -USQLITE_ENABLE_COLUMN_METADATA \
     -USQLITE_SOUNDEX -USQLITE_ENABLE_LOAD_EXTENSION -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_JSON \
     -USQLITE_ENABLE_API_ARMOR -DSQLITE_OMIT_AUTHORIZATION -DSQLITE_OMIT_DATETIME_FUNCS -DSQLITE_OMIT_DEPRECATED \
     -DSQLITE_OMIT_PROGRESS_CALLBACK -DSQLITE_OMIT_SHARED_CACHE -DSQLITE_OMIT_TRACE -DSQLITE_OMIT_UTF16 \
     -DSQLITE_UNTESTABLE -DSQLITE_OMIT_COMPILEOPTION_DIAGS -DSQLITE_OMIT_COMPLETE -DSQLITE_OMIT_DESERIALIZE \
     -DSQLITE_OMIT_GET_TABLE -DSQLITE_OMIT_INCRBLOB -DSQLITE_OMIT_INTROSPECTION_PRAGMAS -DSQLITE_OMIT_TCL_VARIABLE";

/// Of the same kind, for rustc. (Zig has the C library.) SHA-2's rounds are a loop: written out they are 50 kB on MIPS, and
/// next to the curve's arithmetic nobody waits for them.
const FLAGS: &str = "-C force-unwind-tables=no -C link-self-contained=no --cfg sha2_backend_soft=\"compact\"";

/// The same for C on MIPS. Whatever lies at one address needs no table of addresses either.
const MIPS_C: &str = " -fno-PIC -fno-PIE -mllvm -disable-mips-df-succbb-search=false \
                      -mllvm -disable-mips-df-forward-search=false -mllvm -mips-tail-calls=true";

/// What links the program, because Zig does not let all of the options through that follow. It is found by its name, which is the
/// same in every folder of a checkout.
const LINKER: &str = "relink.sh";

/// Functions and constants with the same bytes are one, also where their addresses are compared: Rust promises nothing of them,
/// and of SQLite's functions that are compared only `noopStepFunc` and callbacks that do nothing are found to be equal, where the
/// answer is the same. What has to be corrected when the program starts, because it may be anywhere in memory, is a map of bits in
/// place of 24 bytes for each address. Tables for unwinding are left out by `relink.ld`.
const LINK_FLAGS: &str = "--icf=all -O2 --pack-dyn-relocs=relr --no-eh-frame-hdr";

/// A function of the C library that does not work at one address.
const DLSYM: &str = "xtask/src/router/dlsym.c";

/// A table for debuggers, of MIPS, that strip leaves in and nobody loads: 430 kB.
const UNUSED: &str = ".pdr";

/// What is done with the processors that are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Build, weigh, run.
    Check,
    /// Say whose the bytes are.
    Table,
    /// Build in two folders, and compare.
    Twice,
    /// Measure what receipts cost it, beside this computer's own processor.
    Receipts,
}

const TASKS: [(&str, Task); 3] =
    [("--table", Task::Table), ("--twice", Task::Twice), ("--receipts", Task::Receipts)];

/// `router [--table|--twice|--receipts] [PROCESSORS]`; without names all processors.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (task, targets) = read(arguments)?;
    ensure!(has_zig(), "cargo-zigbuild is missing: {ZIG}");
    let folder = workspace::target_directory()?;
    let mut steps = Steps::default();
    for target in targets {
        let program = target.program(&folder);
        let name = |step: &str| format!("{}: {step}", target.processor);
        match task {
            Task::Check => {
                steps.run(&name("build"), || target.build(&folder));
                steps.run(&name("weigh"), || weigh::check(&program, target.budget));
                steps.run(&name("run"), || run::check(target, &program, &folder));
            }
            Task::Table => {
                steps.run(&name("build"), || target.build(&folder));
                steps.run(&name("whose the bytes are"), || weigh::print_table(&target.linked(&folder)));
            }
            Task::Twice => {
                steps.run(&name("the same bytes from two folders"), || twice::check(target, &folder))
            }
            Task::Receipts => steps.run(&name("what receipts cost"), || receipts::measure(target, &folder)),
        }
    }
    steps.finish()
}

/// All processors, where there is what compiles for them.
pub(crate) fn nightly() -> Result<Done> {
    if !has_zig() && !is_ci() {
        return Ok(Done::Skipped(ZIG.to_owned()));
    }
    run(&[]).map(|()| Done::Passed)
}

fn has_zig() -> bool {
    let output = with_zig(&mut Command::new("cargo-zigbuild")).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

fn read(arguments: &[String]) -> Result<(Task, Vec<Target>)> {
    let (mut task, mut targets) = (Task::Check, Vec::new());
    for argument in arguments {
        match TASKS.iter().find(|(word, _)| word == argument) {
            Some((_, other)) => {
                ensure!(task == Task::Check, "{argument} is one task too many");
                task = *other;
            }
            None => targets.push(Target::named(argument)?),
        }
    }
    if targets.is_empty() {
        targets = TARGETS.to_vec();
    }
    Ok((task, targets))
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

    const fn plain(triple: &'static str, processor: &'static str, budget: u64) -> Self {
        Self { triple, processor, budget, flags: "", c_flags: "", linked_too: None }
    }

    const fn mips(triple: &'static str, processor: &'static str) -> Self {
        let plain = Self::plain(triple, processor, 4_500_000);
        Self { flags: MIPS, c_flags: MIPS_C, linked_too: Some(DLSYM), ..plain }
    }

    /// The program as it is shipped.
    pub(crate) fn program(&self, folder: &Path) -> PathBuf {
        self.linked(folder).with_file_name("shipped").join("guestright")
    }

    /// The program as it is linked, whose functions have names.
    fn linked(&self, folder: &Path) -> PathBuf {
        folder.join(self.triple).join("router/guestright")
    }

    /// Builds this checkout in a folder.
    pub(crate) fn build(&self, folder: &Path) -> Result<Done> {
        self.build_in(&workspace::root(), folder)
    }

    /// Builds any checkout in a folder.
    fn build_in(&self, root: &Path, folder: &Path) -> Result<Done> {
        let mut command = self.cargo("zigbuild", "guestright", root, folder);
        execute(command.arg("--no-default-features"))?;
        strip(&self.linked(folder), &self.program(folder))
    }

    /// What Cargo does with a package of a checkout and the program's flags.
    fn cargo(&self, verb: &str, package: &str, root: &Path, folder: &Path) -> Command {
        let mut command = nightly_cargo(verb, self.triple, root, folder);
        command.args(["--package", package]);
        // Zig compiles what it links. A flag for everything would have everything built anew.
        if let Some(file) = self.linked_too {
            let flags = format!("profile.router.package.{package}.rustflags=[\"-Clink-arg={file}\"]");
            command.args(["-Z", "profile-rustflags", "--config", &flags]);
        }
        command.env("GUESTRIGHT_LINK", LINK_FLAGS).env("GUESTRIGHT_TARGET", self.triple.replace('-', "_"));
        let renamed = Renamed::new(root, folder);
        command.env("CFLAGS", format!("{C_FLAGS}{} {}", self.c_flags, renamed.c_flags()));
        command.env("LIBSQLITE3_FLAGS", SQLITE_FLAGS);
        command
            .env("RUSTFLAGS", format!("{FLAGS} -C linker={LINKER}{} {}", self.flags, renamed.rustc_flags()));
        command
    }
}

/// What Cargo does, by a nightly compiler, with Zig as linker and as compiler of C, and with a standard library that is built
/// for size and for programs that do not unwind.
fn nightly_cargo(verb: &str, triple: &str, root: &Path, folder: &Path) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo-zigbuild", verb, "--target", triple, "--locked"]);
    command.args(["--profile", "router", "-Z", "build-std=std,panic_abort"]);
    command.args(["-Z", "build-std-features=optimize_for_size"]);
    command.current_dir(root).env("CARGO_TARGET_DIR", folder);
    for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(inherited);
    }
    with_zig(&mut command);
    command
}

/// A build by the usual compiler, with Zig as linker.
pub(crate) fn zigbuild() -> Command {
    let mut command = Command::new("cargo-zigbuild");
    command.arg("zigbuild").current_dir(workspace::root());
    with_zig(&mut command);
    command
}

/// Zig comes before whatever else has its name, where `scripts/setup.sh router` has put it. With it comes [`LINKER`].
pub(crate) fn with_zig(command: &mut Command) -> &mut Command {
    let own = ["target/zig/bin", "xtask/src/router"].map(|folder| workspace::root().join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().chain(std::env::split_paths(&path));
    match std::env::join_paths(all) {
        Ok(path) => command.env("PATH", path),
        Err(_) => command,
    }
}

/// Takes out symbols, and what else nobody loads. Rust's own tool knows all processors.
fn strip(linked: &Path, shipped: &Path) -> Result<Done> {
    let folder = shipped.with_file_name("");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let sysroot =
        printed(Command::new("rustup").args(["run", "nightly", "rustc", "--print", "target-libdir"]))?;
    let tool = Path::new(sysroot.trim()).with_file_name("bin").join("rust-objcopy");
    let mut command = Command::new(tool);
    command.args(["--strip-all", &format!("--remove-section={UNUSED}")]);
    execute(command.arg(linked).arg(shipped))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_what_is_done_and_for_whom() {
        let read = |words: &[&str]| read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let (task, targets) = read(&["--twice", "mips-unknown-linux-musl", "arm"]).unwrap();
        assert_eq!(task, Task::Twice);
        assert_eq!(targets.iter().map(|target| target.processor).collect::<Vec<_>>(), ["mips", "arm"]);
        assert_eq!((read(&[]).unwrap().0, read(&[]).unwrap().1.len()), (Task::Check, TARGETS.len()));
        assert!(read(&["z80"]).unwrap_err().to_string().contains("is none of x86_64, aarch64"));
        assert!(read(&["--table", "--twice"]).unwrap_err().to_string().contains("one task too many"));
    }
}

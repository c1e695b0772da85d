//! A folder that both machines can read, whoever runs them, and the folders into which they write.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::kernel;
use super::machine::{self, Machine};
use crate::steps::execute;
use crate::workspace;

/// Removed with everything in it when dropped.
pub(super) struct Stage {
    path: PathBuf,
}

impl Stage {
    /// Collects the scripts, the program with guestright-lab from beside it, and what else the machines need besides Debian's files.
    pub(super) fn new(cache: &Path, program: &Path) -> Result<Self> {
        // The checkout may be where only its owner looks; the folder for temporary files is everybody's.
        let path = std::env::temp_dir().join(format!("guestright-acceptance-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
        let stage = Self { path };
        stage.allow(&stage.path)?;
        let scripts = workspace::root().join("scripts/acceptance");
        for script in files_that_end_in(&scripts, ".sh")? {
            stage.put(&script)?;
        }
        stage.put_as(program, "guestright")?;
        stage.put(&program.with_file_name("guestright-lab"))?;
        stage.put(&pppd(cache)?)?;
        let library = stage.path.join("xstate.so");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]);
        execute(compile.arg(&library).arg(scripts.join("xstate.c")))?;
        stage.allow(&library)?;
        for machine in [Machine::UserMode, Machine::Emulated] {
            let out = stage.out(machine);
            fs::create_dir(&out)?;
            stage.allow(&out)?;
        }
        machine::give_away(&stage.out(Machine::UserMode))?;
        Ok(stage)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the machine writes.
    pub(super) fn out(&self, machine: Machine) -> PathBuf {
        self.path.join(machine.name())
    }

    /// Copies what the machine has written to where it can be looked at later.
    pub(super) fn keep_logs(&self, machine: Machine, logs: &Path) -> Result<()> {
        for file in files_that_end_in(&self.out(machine), "")? {
            let name = file.file_name().context("a file has a name")?;
            fs::copy(&file, logs.join(name)).with_context(|| format!("keep {}", file.display()))?;
        }
        Ok(())
    }

    fn put(&self, file: &Path) -> Result<()> {
        let name = file.file_name().context("a file has a name")?;
        self.put_as(file, &name.to_string_lossy())
    }

    fn put_as(&self, file: &Path, name: &str) -> Result<()> {
        let copy = self.path.join(name);
        fs::copy(file, &copy).with_context(|| format!("copy {}", file.display()))?;
        self.allow(&copy)
    }

    /// Readable and executable for everybody.
    fn allow(&self, path: &Path) -> Result<()> {
        let everybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, everybody).with_context(|| format!("open {}", path.display()))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("could not remove {}: {error}", self.path.display());
        }
    }
}

/// The files in a folder whose name ends so, by name.
pub(super) fn files_that_end_in(folder: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name().to_string_lossy().ends_with(end) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The PPP daemon. Debian lets only root and a group read it, so others get a copy of their own.
fn pppd(cache: &Path) -> Result<PathBuf> {
    let installed = Path::new("/usr/sbin/pppd");
    if fs::File::open(installed).is_ok() {
        return Ok(installed.to_owned());
    }
    let unpacked = kernel::unpack("ppp", &cache.join("ppp"))?;
    Ok(unpacked.join("usr/sbin/pppd"))
}

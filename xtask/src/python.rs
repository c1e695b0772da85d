//! The package for Python: built as a wheel, installed into an environment in `target/python`, and tried there.
//!
//! Packages of others are downloaded while the wheel is being built. Nothing is written to the checkout.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps::{Done, Steps, execute, line};
use crate::workspace;

/// What builds the wheel, and what downloads and installs other packages in a sixth of pip's time.
const TOOLS: [&str; 2] = ["maturin==1.16.0", "uv==0.13.9"];
/// What the package is tried with, in versions that are known to work together.
const TRIED_WITH: [&str; 9] = [
    "fsspec==2026.9.0",
    "gymnasium==1.4.0",
    "ipykernel",
    "mypy==2.4.1",
    "nbclient==0.11.0",
    "numpy",
    "pyarrow==26.0.1",
    "pytest",
    "ray==2.60.0",
];
/// From an installed package to its first figure.
const FIRST_FIGURE_MAX: Duration = Duration::from_secs(60);
/// The first figure, without any other package.
const FIRST_FIGURE: &str = "import guestright\n\
    evaluation = guestright.plan('checks/bianchi', quick=True).sweep().evaluate()\n\
    assert evaluation.is_complete and '<svg' in evaluation.svg('throughput')\n";

pub(crate) fn run() -> Result<()> {
    let environment = Environment::new()?;
    let mut steps = Steps::default();
    let mut downloads = None;
    steps.run("python: environment", || {
        environment.make()?;
        downloads = Some(environment.download()?);
        Ok(Done::Passed)
    });
    steps.run("python: wheel", || environment.build());
    steps.run("python: packages", || environment.finish(downloads.take()));
    steps.run("python: first figure", || environment.draw());
    steps.run("python: types", || environment.check_types());
    steps.run("python: tests, examples, Ray", || environment.test());
    steps.run("python: notebooks", || environment.execute_notebooks());
    steps.finish()
}

/// The folder that everything is in, and what is written there.
struct Environment {
    folder: PathBuf,
    package: PathBuf,
}

impl Environment {
    fn new() -> Result<Self> {
        let folder = workspace::target_directory()?.join("python");
        Ok(Self { folder, package: workspace::root().join("bindings/python") })
    }

    fn make(&self) -> Result<()> {
        make_venv(&self.folder)?;
        let mut install = self.python(&["-m", "pip", "install", "--quiet"]);
        install.args(TOOLS);
        execute(&mut install).or_else(|_| execute(&mut install)).map(drop)
    }

    /// Begins to download and install packages, while something else is done.
    fn download(&self) -> Result<Child> {
        let mut command = self.uv();
        command.args(TRIED_WITH).spawn().with_context(|| format!("start `{}`", line(&command)))
    }

    /// As `cargo build` does it, so that the libraries of the workspace's other builds are taken where they are the same.
    fn build(&self) -> Result<Done> {
        let wheels = self.folder.join("wheels");
        let mut command =
            self.python(&["-m", "maturin", "build", "--profile", "dev", "--locked", "--interpreter"]);
        command.arg(self.folder.join("bin/python")).arg("--out").arg(&wheels);
        // What `cargo run` says about this program would have build scripts run again.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        execute(&mut command)
    }

    /// Waits for the packages, and installs the wheel beside them. A download is tried twice.
    fn finish(&self, downloads: Option<Child>) -> Result<Done> {
        let mut downloads = downloads.context("nothing was begun to be downloaded")?;
        if !downloads.wait()?.success() {
            execute(self.uv().args(TRIED_WITH))?;
        }
        execute(self.uv().args(["--no-deps", "--reinstall"]).arg(self.wheel()?))
    }

    fn wheel(&self) -> Result<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("wheels")).context("look for the wheel")? {
            found.push(entry?.path());
        }
        let newest =
            found.into_iter().max_by_key(|path| path.metadata().and_then(|file| file.modified()).ok());
        Ok(newest.context("maturin left no wheel")?.display().to_string())
    }

    /// A fresh environment, the package alone, and a figure: as somebody has it who looks at it for the first time.
    fn draw(&self) -> Result<Done> {
        let fresh = self.folder.join("fresh");
        if fresh.exists() {
            std::fs::remove_dir_all(&fresh).context("remove the environment of last time")?;
        }
        make_venv(&fresh)?;
        let install = ["-m", "pip", "install", "--quiet", "--no-index", &self.wheel()?];
        execute(Command::new(fresh.join("bin/python")).args(install))?;
        let began = Instant::now();
        execute(Command::new(fresh.join("bin/python")).args(["-c", FIRST_FIGURE]).current_dir(&fresh))?;
        let took = began.elapsed();
        ensure!(
            took <= FIRST_FIGURE_MAX,
            "the first figure took {took:?}, at most {FIRST_FIGURE_MAX:?} is wanted"
        );
        Ok(Done::Passed)
    }

    fn check_types(&self) -> Result<Done> {
        execute(self.python(&["-m", "mypy", "--cache-dir"]).arg(self.folder.join("mypy")))
    }

    fn test(&self) -> Result<Done> {
        let words = [
            "-B",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--durations",
            "5",
            "--pyargs",
            "guestright",
            "tests",
        ];
        execute(&mut self.python(&words))
    }

    fn execute_notebooks(&self) -> Result<Done> {
        let mut notebooks = Vec::new();
        for entry in std::fs::read_dir(self.package.join("notebooks")).context("look for notebooks")? {
            notebooks.push(entry?.path());
        }
        notebooks.retain(|path| path.extension().is_some_and(|end| end == "ipynb"));
        notebooks.sort();
        if notebooks.is_empty() {
            bail!("there are no notebooks");
        }
        let mut jupyter = Command::new(self.folder.join("bin/jupyter-execute"));
        jupyter.args(["--timeout=120", "--kernel_name=python3"]).args(notebooks);
        execute(jupyter.current_dir(&self.package))
    }

    fn uv(&self) -> Command {
        let mut command = self.python(&["-m", "uv", "pip", "install", "--quiet", "--no-cache", "--python"]);
        command.arg(self.folder.join("bin/python"));
        command
    }

    /// The environment's Python, started in the package's folder.
    fn python(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join("bin/python"));
        command.args(words).current_dir(&self.package);
        command
    }
}

fn make_venv(folder: &Path) -> Result<()> {
    if folder.join("bin/python").exists() {
        return Ok(());
    }
    execute(Command::new("python3").args(["-m", "venv"]).arg(folder)).map(drop)
}

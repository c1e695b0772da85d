//! The tests of packages: what is in them, and their life in roots of Debian.
//!
//! Roots are made once by debootstrap and kept below `target/package`; each test has a copy in memory over one, without a
//! network. systemd-nspawn does both: a container that only runs a script, and one that boots.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::stage::Stage;
use super::verdicts::Tally;
use super::{Kind, PRODUCTS, contents};
use crate::steps::{execute, output};
use crate::workspace;

/// Debian 12 and 13. The first one is booted too.
const SUITES: [&str; 2] = ["bookworm", "trixie"];

/// What a root has besides the least that apt needs: an init, and a tool of the tests. No compiler is among it.
const INCLUDED: &str = "ca-certificates,dbus,iputils-ping,procps,systemd,systemd-sysv";

/// What the scripts call the packages of this version.
const NOW: &str = "now.deb";
const LAB: &str = "lab.deb";

/// A version before any, and one after.
const BEFORE: &str = "0.0.9";
const NEXT: &str = "9.0.0";

/// How long a root may take to boot.
const BOOT_MAX: Duration = Duration::from_secs(60);

pub(super) fn test(folder: &Path, program: &Path, began: Instant) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "packages are tested as root: debootstrap and containers need it"
    );
    let mut tally = Tally::default();
    let debs = Debs::make(folder, program, &mut tally)?;
    tally.count("lintian", lint(&debs));
    test_roots(folder, &debs, &mut tally);
    for failure in &tally.failures {
        println!("failed: {failure}");
    }
    let (passed, failed) = (tally.passed, tally.failures.len());
    println!("\npackage: {passed} passed; {failed} failed; {:.0} s", began.elapsed().as_secs_f64());
    ensure!(tally.failures.is_empty(), "packages are not as they should be: see above");
    Ok(())
}

fn test_roots(folder: &Path, debs: &Debs, tally: &mut Tally) {
    // Both at a time: debootstrap and dpkg wait for disk and network half of the time.
    let lives = std::thread::scope(|threads| {
        let threads = SUITES.map(|suite| {
            threads.spawn(move || {
                let mut tally = Tally::default();
                let root = Root::prepare(folder, suite, debs);
                match &root {
                    Ok(root) => root.live(debs, &mut tally),
                    Err(error) => tally.failures.push(format!("{suite}: {error:#}")),
                }
                (root.ok(), tally)
            })
        });
        threads.map(|thread| thread.join().expect("a root is tried without panic"))
    });
    for (number, (root, lived)) in lives.into_iter().enumerate() {
        tally.add(lived);
        if let (0, Some(first)) = (number, root) {
            first.show(debs, tally);
            first.boot(debs, tally);
        }
    }
}

/// The packages that the tests install, in one folder.
struct Debs {
    folder: PathBuf,
}

impl Debs {
    fn make(folder: &Path, program: &Path, tally: &mut Tally) -> Result<Self> {
        let stage = Stage::new(&folder.join("stage"), program)?;
        let debs = folder.join("test");
        if debs.exists() {
            fs::remove_dir_all(&debs).with_context(|| format!("empty {}", debs.display()))?;
        }
        let again = Stage::new(&folder.join("stage-again"), program)?;
        for kind in [Kind::Deb, Kind::Rpm] {
            for product in PRODUCTS {
                let package = stage.make(kind, product, None, true, &debs)?;
                let listed = contents::check(kind, product, &package);
                tally.count(&format!("{kind:?} {product}: contents"), listed);
                let repeated = again.make(kind, product, None, true, &debs.join("again"))?;
                let same = same_bytes(&package, &repeated);
                tally.count(&format!("{kind:?} {product}: the same bytes twice"), same);
            }
        }
        let rename = |package: &Path, name: &str| {
            fs::rename(package, debs.join(name)).with_context(|| format!("rename {}", package.display()))
        };
        for (product, name) in PRODUCTS.into_iter().zip([NOW, LAB]) {
            rename(&debs.join(Stage::name(Kind::Deb, product, stage.version())), name)?;
        }
        for (version, name) in [(BEFORE, "before.deb"), (NEXT, "next.deb")] {
            rename(&stage.make(Kind::Deb, PRODUCTS[0], Some(version), true, &debs)?, name)?;
        }
        Ok(Self { folder: debs })
    }
}

fn same_bytes(one: &Path, other: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("read {}", path.display()));
    ensure!(read(one)? == read(other)?, "{} and {} differ", one.display(), other.display());
    Ok(())
}

/// Warnings are shown; only errors fail.
fn lint(debs: &Debs) -> Result<()> {
    let mut command = Command::new("lintian");
    command.args(["--fail-on", "error", "--allow-root"]);
    execute(command.args([NOW, LAB].map(|name| debs.folder.join(name)))).map(drop)
}

/// A root that debootstrap made.
struct Root {
    suite: &'static str,
    folder: PathBuf,
}

impl Root {
    /// Takes the kept root, or makes it; a mirror fails now and then, seldom twice.
    fn prepare(folder: &Path, suite: &'static str, debs: &Debs) -> Result<Self> {
        let root = Self { suite, folder: folder.join("roots").join(suite) };
        if !root.is_made() {
            root.make().or_else(|error| {
                println!("{suite}: {error:#}; once more");
                root.make()
            })?;
        }
        root.download(debs)?;
        Ok(root)
    }

    fn stamp(&self) -> PathBuf {
        self.folder.with_extension("included")
    }

    fn is_made(&self) -> bool {
        fs::read_to_string(self.stamp()).is_ok_and(|text| text == INCLUDED)
    }

    fn make(&self) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| format!("empty {}", self.folder.display()))?;
        }
        let cache = self.folder.with_extension("downloads");
        fs::create_dir_all(&cache).with_context(|| format!("make {}", cache.display()))?;
        let mut command = Command::new("debootstrap");
        command.args(["--variant=minbase", &format!("--include={INCLUDED}")]);
        command.arg(format!("--cache-dir={}", cache.display())).arg(self.suite).arg(&self.folder);
        command.stdout(Stdio::null());
        execute(&mut command)?;
        fs::write(self.stamp(), INCLUDED).with_context(|| format!("write {}", self.stamp().display()))
    }

    /// Lets apt download what the packages depend on, and install nothing: the tests have no network.
    fn download(&self, debs: &Debs) -> Result<()> {
        let script = "cp /etc/resolv.conf /tmp/resolv.conf 2>/dev/null; \
                      apt-get -qq update && apt-get -qq --yes install --download-only /packages/now.deb /packages/lab.deb";
        let mut command = Command::new("systemd-nspawn");
        command.args(["--quiet", "--pipe", "--register=no", "--keep-unit", "--resolv-conf=copy-host"]);
        command.arg("--directory").arg(&self.folder);
        command.arg(format!("--bind-ro={}:/packages", debs.folder.display()));
        command.args(["sh", "-c", script]).stdout(Stdio::null());
        execute(&mut command).or_else(|_| execute(&mut command)).map(drop)
    }

    /// A container over a copy of the root in memory.
    fn container(&self, debs: &Debs) -> Command {
        let mut command = Command::new("systemd-nspawn");
        command.args(["--quiet", "--register=no", "--keep-unit", "--private-network", "--volatile=overlay"]);
        command.arg("--directory").arg(&self.folder);
        command.arg(format!("--bind-ro={}:/packages", debs.folder.display()));
        command.arg(format!("--bind-ro={}:/scripts", workspace::root().join("scripts/package").display()));
        command
    }

    fn live(&self, debs: &Debs, tally: &mut Tally) {
        let mut command = self.container(debs);
        tally.run(self.suite, command.args(["--pipe", "sh", "/scripts/lifecycle.sh"]));
    }

    /// Alone: the clock runs.
    fn show(&self, debs: &Debs, tally: &mut Tally) {
        let mut command = self.container(debs);
        tally.run("first minute", command.args(["--pipe", "sh", "/scripts/first-minute.sh"]));
    }

    fn boot(&self, debs: &Debs, tally: &mut Tally) {
        match Booted::start(self, debs) {
            Ok(booted) => tally.run("booted", booted.command().args(["sh", "/scripts/booted.sh"])),
            Err(error) => tally.failures.push(format!("booted: {error:#}")),
        }
    }
}

/// A container with its own systemd.
struct Booted {
    container: Child,
    /// Its first process, as this computer numbers it.
    init: u32,
}

impl Booted {
    fn start(root: &Root, debs: &Debs) -> Result<Self> {
        let mut command = root.container(debs);
        command.args(["--boot", "--console=read-only"]).stdin(Stdio::null());
        let log =
            fs::File::create(root.folder.with_extension("console")).context("make the console's log")?;
        let errors = log.try_clone().context("make the console's log")?;
        let container = command.stdout(log).stderr(errors).spawn().context("start systemd-nspawn")?;
        let mut booted = Self { container, init: 0 };
        let began = Instant::now();
        while !booted.is_up()? {
            ensure!(began.elapsed() < BOOT_MAX, "{} has not booted in {BOOT_MAX:?}", root.suite);
            sleep(Duration::from_millis(100));
        }
        println!("booted in {:.1} s", began.elapsed().as_secs_f64());
        Ok(booted)
    }

    fn is_up(&mut self) -> Result<bool> {
        if let Some(status) = self.container.try_wait().context("look at systemd-nspawn")? {
            bail!("systemd-nspawn ended: {status}");
        }
        let container = self.container.id();
        let children =
            fs::read_to_string(format!("/proc/{container}/task/{container}/children")).unwrap_or_default();
        let Some(init) = children.split_whitespace().find_map(|process| process.parse().ok()) else {
            return Ok(false);
        };
        self.init = init;
        let state = output(self.command().args(["systemctl", "is-system-running"]).stderr(Stdio::null()));
        Ok(state.is_ok_and(|state| state.trim() == "running"))
    }

    /// A command inside.
    fn command(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.init));
        command.args([
            "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", "--", "env", "-i",
        ]);
        command.arg("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }
}

impl Drop for Booted {
    fn drop(&mut self) {
        // Its processes are in a namespace of their own and end with the first one.
        let _ = self.container.kill();
        let _ = self.container.wait();
    }
}

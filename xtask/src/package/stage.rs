//! What goes into packages, laid out as the manifests name it, and the calls that make them.
//!
//! Both tools take `target/release` in a manifest for the folder that they build in. They build nothing here; the folder is
//! one of our own, below `target/package`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{Kind, PRODUCTS};
use crate::archive::File;
use crate::steps::{cargo, execute, output};
use crate::workspace;

/// Where the units believe the program to be, and where packages put it.
const PROGRAM: (&str, &str) = ("/usr/local/bin/guestright", "/usr/bin/guestright");

/// Units of the system, which `guestright-home.service.d`'s and `setup`'s own are none of.
pub(super) const UNITS: [&str; 3] =
    ["guestright-ap.service", "guestright-home.service", "guestright-visit.service"];
const USER_UNITS: [&str; 1] = ["guestright-notify.service"];
const COPIED: [&str; 2] = ["guestright-home-gateway.conf", "guestright.sysusers"];

/// Files of the checkout that are in RPM packages: copies, whose times are cut to the commit's, where a checkout's are those
/// of its day.
const CHECKOUT: [&str; 17] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "docs/adding-an-experiment.md",
    "docs/by-hand.md",
    "docs/limitations.md",
    "docs/metrics.md",
    "docs/papers.md",
    "docs/retention.md",
    "docs/security.md",
    "packaging/etc/ap.toml.example",
    "packaging/etc/home.toml.example",
    "packaging/metrics/alerts.yml",
    "packaging/metrics/guestright.json",
    "packaging/metrics/prometheus.yml",
    "packaging/systemd/guestright.preset",
    "packaging/systemd/guestright.tmpfiles",
];

/// How a shell's completions are called where it looks for them.
const SHELLS: [(&str, &str, &str); 3] = [("bash", "", ".bash"), ("zsh", "_", ""), ("fish", "", ".fish")];

/// Where each shell looks for completions below `/usr/local`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions"),
    ("zsh", "share/zsh/site-functions"),
    ("fish", "share/fish/vendor_completions.d"),
];

/// Everything that is not in the checkout.
pub(crate) struct Stage {
    folder: PathBuf,
    /// The commit's second: no file in a package is newer.
    date: String,
    version: String,
}

impl Stage {
    /// Fills the folder anew. The second program lies beside `program`.
    pub(crate) fn new(folder: &Path, program: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        let stage = Self { folder: folder.to_owned(), date: commit_date()?, version: version()? };
        for product in PRODUCTS {
            stage.fill(product, &program.with_file_name(product))?;
        }
        stage.fill_units()?;
        Ok(stage)
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// A package's file, as its distribution names it.
    pub(super) fn name(kind: Kind, product: &str, version: &str) -> String {
        match kind {
            Kind::Deb => format!("{product}_{version}-1_{}.deb", architecture(kind)),
            Kind::Rpm => format!("{product}-{version}-1.{}.rpm", architecture(kind)),
        }
    }

    /// Makes one package and returns where it is. `fast` compresses less.
    pub(crate) fn make(
        &self,
        kind: Kind,
        product: &str,
        version: Option<&str>,
        fast: bool,
        into: &Path,
    ) -> Result<PathBuf> {
        let version = version.unwrap_or(&self.version);
        self.write_debian_changelog(product, version)?;
        let file = into.join(Self::name(kind, product, version));
        fs::create_dir_all(into).with_context(|| format!("make {}", into.display()))?;
        let mut command = match kind {
            Kind::Deb => {
                let mut command =
                    cargo(&["deb", "--quiet", "--no-build", "--no-strip", "--package", product]);
                command.arg(format!("--deb-version={version}-1")).args(fast.then_some("--fast"));
                command.env("CARGO_TARGET_DIR", &self.folder);
                command
            }
            Kind::Rpm => {
                let mut command = cargo(&["generate-rpm", "--auto-req", "builtin"]);
                command.arg("--package").arg(format!("crates/app/{product}"));
                command.arg("--target-dir").arg(&self.folder);
                command.args(fast.then_some("--payload-compress=none"));
                command.arg("--set-metadata").arg(format!("version = \"{version}\""));
                command
            }
        };
        execute(command.arg("--output").arg(&file).env("SOURCE_DATE_EPOCH", &self.date))?;
        ensure!(file.is_file(), "{} was not made", file.display());
        Ok(file)
    }

    /// Where everything is laid out.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The commit's second.
    pub(crate) fn date(&self) -> &str {
        &self.date
    }

    /// A program, without its symbols.
    pub(crate) fn program(&self, product: &str) -> PathBuf {
        self.folder.join("release").join(product)
    }

    /// A program, its manual and its completions, as they are below `/usr/local`.
    pub(crate) fn portable(&self, product: &str) -> Result<Vec<File>> {
        let package = self.package(product);
        let mut wanted = vec![(self.program(product), format!("bin/{product}"), 0o755)];
        for (page, path) in pages(&package.join("man"))? {
            wanted.push((path, format!("share/man/man1/{page}"), 0o644));
        }
        for (shell, folder) in COMPLETIONS {
            let (_, before, after) = SHELLS.iter().find(|(name, ..)| *name == shell).context("a shell")?;
            let name = format!("{before}{product}{after}");
            let installed = if shell == "bash" { product } else { &name };
            wanted.push((package.join(&name), format!("{folder}/{installed}"), 0o644));
        }
        let read = |(from, path, mode): (PathBuf, String, u32)| {
            let bytes = fs::read(&from).with_context(|| format!("read {}", from.display()))?;
            Ok(File { path, mode, bytes })
        };
        wanted.into_iter().map(read).collect()
    }

    fn package(&self, product: &str) -> PathBuf {
        self.folder.join("release/package").join(product)
    }

    /// The program without its symbols, and what it prints.
    fn fill(&self, product: &str, program: &Path) -> Result<()> {
        let package = self.package(product);
        let manual = package.join("man");
        fs::create_dir_all(&manual).with_context(|| format!("make {}", manual.display()))?;
        let copy = self.program(product);
        fs::copy(program, &copy).with_context(|| format!("copy {}", program.display()))?;
        execute(Command::new("strip").arg(&copy))?;
        for (shell, before, after) in SHELLS {
            let text = output(Command::new(&copy).args(["completions", shell]))?;
            write(&package.join(format!("{before}{product}{after}")), &text)?;
        }
        execute(Command::new(&copy).arg("manual").arg(&manual))?;
        // The first program has a page for what it hands over to the second, which writes one of the same name.
        for (page, path) in pages(&manual)? {
            let is_other = PRODUCTS
                .iter()
                .any(|other| *other != product && is_of(&page, other) && other.len() > product.len());
            if is_other {
                fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
            } else {
                compress(&path)?;
            }
        }
        for path in CHECKOUT {
            let copy = package.join("checkout").join(path);
            fs::create_dir_all(copy.with_file_name(""))
                .with_context(|| format!("make {}", copy.display()))?;
            let bytes = fs::read(workspace::root().join(path)).with_context(|| format!("read {path}"))?;
            fs::write(&copy, bytes).with_context(|| format!("write {}", copy.display()))?;
        }
        let changelog = package.join("changelog");
        fs::copy(workspace::root().join("CHANGELOG.md"), &changelog).context("copy CHANGELOG.md")?;
        compress(&changelog)
    }

    fn fill_units(&self) -> Result<()> {
        let package = self.package(PRODUCTS[0]);
        let from = workspace::root().join("docs/systemd");
        let folders = [("units", &UNITS[..]), ("user", &USER_UNITS[..]), ("", &COPIED[..])];
        for (folder, names) in folders {
            fs::create_dir_all(package.join(folder)).with_context(|| format!("make {folder}"))?;
            for name in names {
                let text = fs::read_to_string(from.join(name)).with_context(|| format!("read {name}"))?;
                write(&package.join(folder).join(name), &text.replace(PROGRAM.0, PROGRAM.1))?;
            }
        }
        Ok(())
    }

    /// Debian's changelog names the version of the package; what has changed is in the other one.
    fn write_debian_changelog(&self, product: &str, version: &str) -> Result<()> {
        let date = output(
            Command::new("date").args(["--utc", "--rfc-email", "--date"]).arg(format!("@{}", self.date)),
        )?;
        let maintainer = maintainer(product)?;
        let text = format!(
            "{product} ({version}-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- {maintainer}  {date}"
        );
        let path = self.package(product).join("changelog.Debian");
        write(&path, &text)?;
        compress(&path)
    }
}

/// Whether a manual page is a program's.
fn is_of(page: &str, product: &str) -> bool {
    page.strip_prefix(product).is_some_and(|rest| rest.starts_with(['.', '-']))
}

fn pages(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut pages = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        pages.push((name, path));
    }
    pages.sort();
    Ok(pages)
}

/// Without name and time, so that the same text gives the same bytes.
fn compress(path: &Path) -> Result<()> {
    output(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(path)).map(drop)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

pub(crate) fn commit_date() -> Result<String> {
    if let Ok(date) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(date);
    }
    let date = output(&mut workspace::git(&["log", "-1", "--format=%ct"]));
    Ok(date.context("without a commit SOURCE_DATE_EPOCH has to say the date")?.trim().to_owned())
}

/// One version for all.
pub(crate) fn version() -> Result<String> {
    package_field(PRODUCTS[0], "/version")
}

fn maintainer(product: &str) -> Result<String> {
    package_field(product, "/metadata/deb/maintainer")
}

fn package_field(product: &str, pointer: &str) -> Result<String> {
    let metadata = workspace::metadata()?;
    let mut packages = workspace::array(&metadata["packages"]).iter();
    let package = packages.find(|package| package["name"] == product).context("no such package")?;
    let field = package.pointer(pointer).and_then(serde_json::Value::as_str);
    Ok(field.with_context(|| format!("{product} has no {pointer}"))?.to_owned())
}

/// What each kind of package calls this processor.
pub(super) fn architecture(kind: Kind) -> &'static str {
    match (kind, std::env::consts::ARCH) {
        (Kind::Deb, "x86_64") => "amd64",
        (Kind::Deb, "aarch64") => "arm64",
        (_, other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_belongs_to_the_program_whose_name_it_begins_with() {
        for (page, product, want) in [
            ("guestright-lab-run.1", "guestright-lab", true),
            ("guestright-lab.1", "guestright-lab", true),
            ("guestright-label.1", "guestright-lab", false),
            ("guestright-ap.1", "guestright-lab", false),
        ] {
            assert_eq!(is_of(page, product), want, "{page}");
        }
    }
}

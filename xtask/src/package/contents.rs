//! What has to be in a package: files with mode and owner, fields, settings files, and what its scripts do.
//!
//! The lists are in `packaging/contents`. Manual pages are one for each command and not listed. With `GUESTRIGHT_BLESS=1`
//! the lists are written anew.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{Kind, stage};
use crate::steps::output;
use crate::workspace;

const PAGES: &str = "/usr/share/man/man1/";
/// Pages that have to be there all the same.
const PAGES_WANTED: [(&str, &[&str]); 2] = [
    ("guestright", &["guestright.1.gz", "guestright-ap.1.gz", "guestright-team-member-add.1.gz"]),
    ("guestright-lab", &["guestright-lab.1.gz", "guestright-lab-run.1.gz"]),
];

pub(super) fn check(kind: Kind, product: &str, package: &Path) -> Result<()> {
    let files = match kind {
        Kind::Deb => debian_files(package)?,
        Kind::Rpm => rpm_files(package)?,
    };
    let (pages, files): (Vec<String>, Vec<String>) = files.into_iter().partition(|line| line.contains(PAGES));
    let (_, wanted) = PAGES_WANTED.iter().find(|(of, _)| *of == product).context("a list of pages")?;
    for page in *wanted {
        let line = format!("-rw-r--r-- root/root {PAGES}{page}");
        ensure!(
            pages.iter().any(|one| one.starts_with(&line)),
            "there is no {page} among {} pages",
            pages.len()
        );
    }
    let others: Vec<_> =
        pages.iter().filter(|line| !line.ends_with(".gz") && !line.contains(".gz ")).collect();
    ensure!(others.is_empty(), "not compressed: {others:?}");
    let about = match kind {
        Kind::Deb => debian_about(package)?,
        Kind::Rpm => rpm_about(package)?,
    };
    let found = format!("{}\n\n{about}", files.join("\n"));
    let name = format!("packaging/contents/{product}.{}.txt", if kind == Kind::Deb { "deb" } else { "rpm" });
    let path = workspace::root().join(&name);
    if std::env::var_os("GUESTRIGHT_BLESS").is_some() {
        return fs::write(&path, found).with_context(|| format!("write {name}"));
    }
    let listed = fs::read_to_string(&path).with_context(|| format!("read {name}"))?;
    ensure!(found == listed, "{}", difference(&listed, &found, &name));
    Ok(())
}

/// Lines that only one side has.
fn difference(listed: &str, found: &str, name: &str) -> String {
    let only = |one: &str, other: &str, mark: char| -> String {
        one.lines()
            .filter(|line| !other.lines().any(|it| it == *line))
            .map(|line| format!("\n{mark} {line}"))
            .collect()
    };
    format!("not as {name} lists it:{}{}", only(listed, found, '-'), only(found, listed, '+'))
}

fn debian_files(package: &Path) -> Result<Vec<String>> {
    let text = output(Command::new("dpkg-deb").arg("--contents").arg(package))?;
    let mut files = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (mode, owner) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        // By number, because the archive has no names.
        let owner = owner.replace("0/0", "root/root");
        // Size, day and time are between.
        let path = words.skip(3).collect::<Vec<_>>().join(" ");
        let path = path.trim_start_matches('.');
        if mode.starts_with('d') {
            ensure!(mode == "drwxr-xr-x" && owner == "root/root", "{path} is {mode} {owner}");
        } else {
            files.push(format!("{mode} {owner} {path}"));
        }
    }
    files.sort_by_key(|line| line.rsplit(' ').next().map(str::to_owned));
    Ok(files)
}

/// Fields but for versions, sizes and what the linker found; settings files; what the scripts do to units.
fn debian_about(package: &Path) -> Result<String> {
    let field = |name: &str| output(Command::new("dpkg-deb").arg("--field").arg(package).arg(name));
    let mut about = String::new();
    for name in ["Package", "Section", "Priority", "Maintainer", "Recommends", "Suggests", "Pre-Depends"] {
        about.push_str(&format!("{name}: {}\n", field(name)?.trim()));
    }
    let architecture = field("Architecture")?;
    ensure!(architecture.trim() == stage::architecture(Kind::Deb), "the architecture is {architecture}");
    let depends = field("Depends")?;
    let names = depends.split(',').map(|one| one.split('(').next().unwrap_or_default().trim());
    // Libraries are what the linker found: they differ from one set of features, or one Debian, to the next.
    let mut names: Vec<_> = names.filter(|name| !name.starts_with("lib")).collect();
    names.sort_unstable();
    about.push_str(&format!("Depends: {}\n", names.join(", ")));
    let folder = package.with_extension("control");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("empty the control files")?;
    }
    output(Command::new("dpkg-deb").arg("--control").arg(package).arg(&folder))?;
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    about.push_str(&format!("\nconffiles\n{}", read("conffiles")));
    for script in ["preinst", "postinst", "prerm", "postrm"] {
        let text = read(script);
        let acts =
            ["deb-systemd-invoke", "deb-systemd-helper", "systemd-", "systemctl", "guestright ", "rm "];
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        for line in lines.filter(|line| acts.iter().any(|act| line.contains(act))) {
            about.push_str(&format!("{script}: {line}\n"));
        }
    }
    fs::remove_dir_all(&folder).context("remove the control files")?;
    Ok(about)
}

fn rpm_files(package: &Path) -> Result<Vec<String>> {
    let format = "[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES} %{FILEFLAGS:fflags}\n]";
    let text = query(package, format)?;
    let mut files: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    files.sort_by_key(|line| line.split(' ').nth(2).map(str::to_owned));
    Ok(files)
}

fn rpm_about(package: &Path) -> Result<String> {
    let architecture = query(package, "%{ARCH}")?;
    ensure!(architecture == stage::architecture(Kind::Rpm), "the architecture is {architecture}");
    let mut about = query(package, "Name: %{NAME}\nLicense: %{LICENSE}\nSummary: %{SUMMARY}\n")?;
    about.push_str(
        &query(package, "[Requires: %{REQUIRENAME}\n]")?
            .lines()
            .filter(|line| !is_library(line))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    about.push_str(&query(package, "[Recommends: %{RECOMMENDNAME}\n][Suggests: %{SUGGESTNAME}\n]")?);
    for script in ["POSTIN", "PREUN", "POSTUN"] {
        about.push_str(&query(package, &format!("\n{script}\n%|{script}?{{%{{{script}}}}}|"))?);
    }
    Ok(about)
}

/// What the linker found differs from one version of the C library to the next.
fn is_library(line: &str) -> bool {
    line.contains(".so") || line.contains("rpmlib(") || line.contains("rtld(")
}

fn query(package: &Path, format: &str) -> Result<String> {
    output(
        Command::new("rpm")
            .args(["--query", "--nosignature", "--queryformat", format, "--package"])
            .arg(package),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_the_lines() {
        let text = difference("a\nb\n", "b\nc\n", "list");
        assert_eq!(text, "not as list lists it:\n- a\n+ c");
    }
}

//! The folder of a release, and the archives in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::archive::{File, gzip, tar};
use crate::workspace;

pub(super) const SUMS: &str = "SHA256SUMS";

/// What every archive has besides: whoever passes a program on passes its licences on.
const ALONG: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

pub(super) struct Contents {
    folder: PathBuf,
}

impl Contents {
    /// An empty folder; what an earlier release left in it is gone, and a folder of something else stays.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        if folder.exists() {
            let is_empty = fs::read_dir(folder).context("look into the folder")?.next().is_none();
            ensure!(
                is_empty || folder.join(SUMS).is_file() || folder.ends_with("release-files"),
                "{} has something else in it: name an empty folder",
                folder.display()
            );
            fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        let folder = folder.canonicalize().with_context(|| format!("find {}", folder.display()))?;
        Ok(Self { folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An archive whose files are in one folder of its name.
    pub(super) fn add_archive(&mut self, name: &str, mut files: Vec<File>) -> Result<()> {
        for along in ALONG {
            let bytes = fs::read(workspace::root().join(along)).with_context(|| format!("read {along}"))?;
            files.push(file(&format!("share/doc/guestright/{along}"), 0o644, bytes));
        }
        self.write(&format!("{name}.tar.gz"), &archive(name, files)?)
    }

    pub(super) fn copy(&mut self, from: &Path, name: &str) -> Result<()> {
        self.write(name, &fs::read(from).with_context(|| format!("read {}", from.display()))?)
    }

    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.folder.join(name), bytes).with_context(|| format!("write {name}"))
    }

    /// The sums of everything, last.
    pub(super) fn write_sums(self) -> Result<()> {
        let sums = sums(&self.folder)?;
        let mut text = String::new();
        for (name, sum) in &sums {
            let bytes =
                fs::metadata(self.folder.join(name)).with_context(|| format!("look at {name}"))?.len();
            println!("{bytes:>10} bytes  {name}");
            text.push_str(&format!("{sum}  {name}\n"));
        }
        fs::write(self.folder.join(SUMS), &text).with_context(|| format!("write {SUMS}"))?;
        println!("\n{} files in {}\n{}  {SUMS}", sums.len(), self.folder.display(), sum(text.as_bytes()));
        Ok(())
    }
}

/// A file of an archive.
pub(super) fn file(path: &str, mode: u32, bytes: Vec<u8>) -> File {
    File { path: path.to_owned(), mode, bytes }
}

fn archive(folder: &str, mut files: Vec<File>) -> Result<Vec<u8>> {
    files.sort_by(|one, other| one.path.cmp(&other.path));
    for file in &mut files {
        file.path = format!("/{folder}/{}", file.path);
    }
    gzip(&tar(&files)?)
}

/// Names and SHA-256 of all files but the sums themselves, by name.
pub(super) fn sums(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut sums = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name != SUMS {
            sums.push((name, sum(&fs::read(&path).with_context(|| format!("read {}", path.display()))?)));
        }
    }
    sums.sort();
    Ok(sums)
}

/// SHA-256 in hexadecimal.
pub(super) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_archive_is_read_by_tar_and_is_the_same_in_any_order() {
        let files = vec![
            file("share/man/man1/guestright.1.gz", 0o644, vec![1, 2]),
            file("bin/guestright", 0o755, b"#!/bin/sh\n".to_vec()),
        ];
        let turned = files.iter().rev().cloned().collect();
        let bytes = archive("guestright-1-x86_64-linux", files).unwrap();
        assert_eq!(bytes, archive("guestright-1-x86_64-linux", turned).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.tar.gz");
        fs::write(&path, bytes).unwrap();
        let listed = crate::steps::output(Command::new("tar").arg("-tvzf").arg(&path)).unwrap();
        assert!(listed.contains("-rwxr-xr-x root/root        10 1970-01-01"), "{listed}");
        assert!(listed.contains("./guestright-1-x86_64-linux/share/man/man1/guestright.1.gz"), "{listed}");
    }

    #[test]
    fn a_folder_of_something_else_is_not_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let letter = folder.path().join("letter");
        fs::write(&letter, "dear").unwrap();
        let refused = Contents::new(folder.path()).err().unwrap().to_string();
        assert!(refused.contains("name an empty folder") && letter.is_file(), "{refused}");
        fs::write(folder.path().join(SUMS), "").unwrap();
        let mut contents = Contents::new(folder.path()).unwrap();
        contents.write("a", b"abc").unwrap();
        contents.write_sums().unwrap();
        // FIPS 180-2, appendix B.1.
        let line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n";
        assert_eq!(fs::read_to_string(folder.path().join(SUMS)).unwrap(), line);
    }
}

//! The same program from another folder: whoever repeats a build needs to believe nobody.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::Target;
use crate::steps::Done;
use crate::workspace;

/// Below the folder of builds: of another depth and length than the checkout.
const ELSEWHERE: &str = "router-elsewhere/a-folder/that/nobody/builds/in";

/// Builds the checkout, and a copy of it in another folder, and compares the bytes. The copy is kept, so that its parts need
/// not be built again for the next processor.
pub(super) fn check(target: Target, folder: &Path) -> Result<Done> {
    target.build(folder)?;
    let one = target.program(folder);
    let root = folder.join(ELSEWHERE);
    copy_checkout(&root)?;
    let built = root.join("target");
    target.build_in(&root, &built)?;
    compare(&one, &target.program(&built))
}

/// The files of the checkout, and nothing else that lies there.
fn copy_checkout(root: &Path) -> Result<()> {
    for file in workspace::files()? {
        let (from, to) = (workspace::root().join(&file), root.join(&file));
        let bytes = fs::read(&from).with_context(|| format!("read {file}"))?;
        // What has not changed keeps its time, by which Cargo knows what it has built.
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        fs::create_dir_all(to.with_file_name("")).with_context(|| format!("make a folder for {file}"))?;
        fs::write(&to, bytes).with_context(|| format!("write {file}"))?;
    }
    Ok(())
}

fn compare(one: &Path, other: &Path) -> Result<Done> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("read {}", path.display()));
    let (ours, theirs) = (read(one)?, read(other)?);
    if ours == theirs {
        println!("{} and {}: the same {} bytes", one.display(), other.display(), ours.len());
        return Ok(Done::Passed);
    }
    let differ = ours.iter().zip(&theirs).filter(|(one, other)| one != other).count();
    let first = ours.iter().zip(&theirs).position(|(one, other)| one != other);
    bail!(
        "{} ({} bytes) and {} ({} bytes) differ in {differ} bytes, the first at {first:?}",
        one.display(),
        ours.len(),
        other.display(),
        theirs.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_differs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        fs::write(&one, [1, 2, 3]).unwrap();
        fs::write(&other, [1, 2, 3]).unwrap();
        assert!(compare(&one, &other).is_ok());
        fs::write(&other, [1, 9, 3, 4]).unwrap();
        let text = compare(&one, &other).err().unwrap().to_string();
        assert!(text.contains("differ in 1 bytes, the first at Some(1)"), "{text}");
    }
}

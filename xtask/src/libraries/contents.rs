//! What is in a package, and what is not.

/// What every package has.
const ALWAYS: [&str; 5] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];

/// What Cargo adds by itself.
const BY_CARGO: [&str; 3] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];

/// Folders whose files are published.
const FOLDERS: [&str; 3] = ["examples/", "src/", "tests/vectors/"];

/// What is wrong with the files that `cargo package --list` names.
pub(super) fn check(package: &str, listed: &str) -> Vec<String> {
    let files: Vec<&str> = listed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let missing = ALWAYS.iter().filter(|file| !files.contains(file));
    let missing = missing.map(|file| format!("{package}: {file} is not in the package"));
    let known = |file: &str| ALWAYS.contains(&file) || BY_CARGO.contains(&file);
    let published = |file: &str| FOLDERS.iter().any(|folder| file.starts_with(folder));
    let stray = files.iter().filter(|file| !known(file) && !published(file));
    let stray = stray.map(|file| format!("{package}: nobody needs {file} in the package"));
    missing.chain(stray).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = ".cargo_vcs_info.json\nCargo.lock\nCargo.toml\nCargo.toml.orig\nLICENSE-APACHE\nLICENSE-MIT\n\
        README.md\nexamples/a.rs\nsrc/lib.rs\nsrc/x/tests.rs\ntests/vectors/a.csv\n";

    #[test]
    fn a_package_has_what_a_reader_needs_and_no_leftovers() {
        assert_eq!(check("x", GOOD), Vec::<String>::new());
        for missing in ALWAYS {
            let without: Vec<_> = GOOD.lines().filter(|line| *line != missing).collect();
            assert_eq!(check("x", &without.join("\n")), [format!("x: {missing} is not in the package")]);
        }
        for stray in ["benches/a.rs", "tests/a.rs", "proptest-regressions/chain.txt"] {
            let with = format!("{GOOD}{stray}\n");
            assert_eq!(check("x", &with), [format!("x: nobody needs {stray} in the package")]);
        }
    }
}

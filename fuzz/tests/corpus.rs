//! Every committed input keeps every promise; and there is one for every target.

use guestright_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

/// The corpus is read by people too, and goes with every checkout.
const FILES_MAX: usize = 600;
const BYTES_MAX: usize = 1_000_000;

#[test]
fn replays_the_committed_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let (mut files, mut bytes) = (0, 0);
    for (name, target) in TARGETS {
        let mut inputs: Vec<_> = fs::read_dir(corpus.join(name))
            .unwrap_or_else(|error| panic!("target {name} has no corpus: {error}"))
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "target {name} has an empty corpus");
        for path in inputs {
            let input = fs::read(&path).unwrap();
            (files, bytes) = (files + 1, bytes + input.len());
            assert!(catch_unwind(|| target(&input)).is_ok(), "{} breaks a promise", path.display());
        }
    }
    assert!(files <= FILES_MAX && bytes <= BYTES_MAX, "{files} files, {bytes} bytes: minimise the corpus");
}

#[test]
fn every_folder_and_every_binary_is_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let want: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let stems = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let stem = |path: std::path::PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        entries.map(|entry| stem(entry.unwrap().path())).collect()
    };
    assert_eq!(stems("corpus"), want);
    assert_eq!(stems("libfuzzer/fuzz_targets"), want);
    let manifest = fs::read_to_string(root.join("libfuzzer/Cargo.toml")).unwrap();
    for name in want {
        assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name} is no binary");
    }
}

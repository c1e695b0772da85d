//! Kinds of events: complete, and each with a number of its own; and what the journal gets.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use guestright_journal::{Journal, KINDS, kind};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use tracing_subscriber::layer::SubscriberExt as _;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.components().any(|part| part.as_os_str() == "src")
        {
            found.push(path);
        }
    }
}

/// The arguments of a macro: up to the parenthesis that closes it.
fn arguments(after: &str) -> &str {
    let (mut depth, mut is_text, mut is_escaped) = (1, false, false);
    for (at, letter) in after.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '(' if !is_text => depth += 1,
            ')' if !is_text => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &after[..at];
        }
    }
    panic!("{after}");
}

/// The texts in quotation marks.
fn texts(arguments: &str) -> Vec<String> {
    let (mut texts, mut text, mut is_escaped) = (Vec::new(), None::<String>, false);
    for letter in arguments.chars() {
        match &mut text {
            Some(inside) if is_escaped => {
                inside.push(letter);
                is_escaped = false;
            }
            Some(_) if letter == '\\' => is_escaped = true,
            Some(_) if letter == '"' => texts.extend(text.take()),
            Some(inside) => inside.push(letter),
            None if letter == '"' => text = Some(String::new()),
            None => {}
        }
    }
    texts
}

/// What tells the events of the sources apart: their name where they have one, else their words.
fn logged_in_sources() -> BTreeMap<String, PathBuf> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut logged = BTreeMap::new();
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for level in ["tracing::info!(", "tracing::warn!(", "tracing::error!("] {
            for after in code.split(level).skip(1) {
                let arguments = arguments(after);
                let texts = texts(arguments);
                let is_named = arguments.trim_start().starts_with("name: ");
                let what = if is_named { texts.first() } else { texts.last() };
                let what = what.unwrap_or_else(|| panic!("{}: {arguments}", file.display())).clone();
                let is_fixed = is_named || !what.contains(['{', '\n']);
                assert!(is_fixed, "{}: {what:?} changes, so the event needs a `name:`", file.display());
                logged.insert(what, file.clone());
            }
        }
    }
    assert!(logged.len() > 100, "{} kinds", logged.len());
    logged
}

#[test]
fn every_event_has_a_kind_and_every_kind_an_event() {
    let logged = logged_in_sources();
    let listed: BTreeSet<String> = KINDS.iter().map(|kind| kind.what.to_owned()).collect();
    let missing: Vec<_> = logged.iter().filter(|(what, _)| !listed.contains(*what)).collect();
    assert!(missing.is_empty(), "these have no MESSAGE_ID in kinds.rs: {missing:#?}");
    let gone: Vec<_> = listed.iter().filter(|what| !logged.contains_key(*what)).collect();
    assert!(gone.is_empty(), "nobody says these any more: {gone:#?}");
}

#[test]
fn each_kind_has_a_number_of_its_own() {
    let ids: BTreeSet<_> = KINDS.iter().map(|kind| kind.id).collect();
    assert_eq!(ids.len(), KINDS.len());
    for id in ids {
        assert!(id.len() == 32 && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{id}");
    }
    assert!(KINDS.is_sorted_by_key(|kind| kind.what), "they are looked up by halves");
}

#[test]
fn the_documentation_lists_every_kind() {
    let page = std::fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let section = page.split_once("\n## The journal's events\n").unwrap().1;
    let listed: String = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .fold(String::new(), |all, line| all + line + "\n");
    let rows: String = KINDS.iter().map(|kind| format!("| `{}` | {} |\n", kind.id, kind.what)).collect();
    assert_eq!(listed, rows, "docs/metrics.md has to list this:\n{rows}");
}

#[test]
fn the_journal_gets_the_number_of_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    assert!(Journal::open(&path, "guestright").is_err(), "nobody listens");
    let socket = UnixDatagram::bind(&path).unwrap();
    let journal = Journal::open(&path, "guestright").unwrap();
    let entry = || {
        let mut buffer = vec![0; 65_536];
        let count = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    };
    assert_eq!(entry(), "");
    tracing::subscriber::with_default(tracing_subscriber::registry().with(journal), || {
        tracing::info!(bytes = 7, "session");
        tracing::warn!(name: "certificate_ends", "it ends on {}", "Monday");
        tracing::info!("nobody knows this one");
    });
    let session = entry();
    let id = kind("event", "session").unwrap().id;
    for field in [
        &format!("MESSAGE_ID\n \0\0\0\0\0\0\0{id}\n"),
        "GUESTRIGHT_BYTES\n\u{1}\0\0\0\0\0\0\0\x37\n",
        "PRIORITY\n\u{1}\0\0\0\0\0\0\0\x35\n",
    ] {
        assert!(session.contains(field), "{field:?} is not in {session:?}");
    }
    let named = entry();
    assert!(named.contains(kind("certificate_ends", "").unwrap().id), "{named:?}");
    assert!(named.contains("it ends on Monday"), "{named:?}");
    assert!(!entry().contains("MESSAGE_ID"));
}

#[test]
fn a_journal_that_stands_still_stops_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let socket = UnixDatagram::bind(&path).unwrap();
    let journal = Journal::open(&path, "guestright").unwrap();
    // As many datagrams as the kernel keeps for somebody who does not read, and some more.
    let kept: usize =
        std::fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").unwrap().trim().parse().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(journal), || {
        (0..kept + 10).for_each(|number| tracing::info!(number, "session"));
    });
    socket.set_nonblocking(true).unwrap();
    let arrived = std::iter::from_fn(|| socket.recv(&mut [0; 1_024]).ok()).count();
    assert!((1..kept + 10).contains(&arrived), "{arrived} of {kept}");
}

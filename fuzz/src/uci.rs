//! OpenWrt's settings files.

use crate::seeds::Seed;
use guestright_uci::{Document, Roots, Value};

/// A file: what is accepted is written and read as the same, mistakes are in one of its lines, and what is in it can be
/// asked for.
pub fn uci(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Document::parse(text) {
        Ok(document) => {
            let again = Document::parse(&document.to_string()).expect("what is written is read");
            assert_eq!(essence(&again), essence(&document));
            if let Ok(root) = document.root("ap", Roots(&["ap", "home", "service"])) {
                let read = root.settings::<serde_json::Value>();
                if let Err(error) = read {
                    assert!(is_line_of(text, error.line), "{error}");
                }
            }
        }
        Err(error) => assert!(is_line_of(text, error.line), "{error}"),
    }
}

fn is_line_of(text: &str, line: usize) -> bool {
    (1..=text.matches('\n').count() + 1).contains(&line)
}

/// A document without its lines.
fn essence(document: &Document) -> Vec<String> {
    let mut essence = vec![format!("{:?}", document.package)];
    for section in &document.sections {
        essence.push(format!("{} {:?}", section.kind, section.name));
        for entry in &section.entries {
            let texts: Vec<_> = match &entry.value {
                Value::One(text) => vec![text],
                Value::List(items) => items.iter().map(|item| &item.text).collect(),
            };
            essence.push(format!("{} {} {texts:?}", entry.name, matches!(entry.value, Value::One(_))));
        }
    }
    essence
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let quotes = "package p\nconfig 'ap' \"a\"\n\toption a 'it'\\''s'\n\tlist b \"two\\\n\\\" words\" # why\n\tlist b c\\ d\n";
    let tables = "config ap\n\toption enabled on\nconfig ap_shaping_deep 'x'\n\tlist n 1\nconfig ap__\n\toption a ''\n";
    let mistakes =
        [("near-quote", "config t\noption a 'b\n"), ("near-twice", "config t\noption a 1\nlist a 2\n")];
    let good = [
        ("file", include_str!("../../packaging/openwrt/guestright/files/guestright.config")),
        ("quotes", quotes),
        ("tables", tables),
    ];
    let all = good.into_iter().chain(mistakes);
    seeds.extend(all.map(|(name, text)| ("uci", name.to_owned(), text.as_bytes().to_vec())));
}

//! Files that settings name: they go with the plan as `[[file]]`, so that its text says everything that runs depend on.

use super::Plan;
use super::read::{Reader, Table};
use crate::settings::{Attached, Kind, SettingInfo};
use crate::testbed::Testbed;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The most bytes of a file's name.
pub(crate) const NAME_MAX: usize = 200;

/// The files of a plan, by their names.
pub(crate) type Files = BTreeMap<String, Arc<Attached>>;

pub(super) fn read(head: &mut Table<'_>) -> Files {
    let mut files = Files::new();
    let mut bytes = 0;
    for mut table in head.tables("file", ("files", Plan::FILES_MAX)) {
        let (name, text) = (table.want_text("name", NAME_MAX), table.text("text", Plan::FILES_BYTES_MAX));
        if text.is_none() && table.node("text").is_none() {
            table.missing("text", "what stands in the file");
        }
        let at = table.at;
        let reader = table.reader;
        table.close();
        let (Some(name), Some(text)) = (name, text) else { continue };
        bytes += text.value.len();
        if bytes > Plan::FILES_BYTES_MAX {
            let reason = format!("files have more than {} bytes together", Plan::FILES_BYTES_MAX);
            reader.unfit(at, reason);
            return files;
        }
        if files.contains_key(&name.value) {
            reader.unfit(
                name.at,
                format!("there is another file `{}`; give this one another name", name.value),
            );
        }
        files.insert(name.value.clone(), Arc::new(attached(&name.value, &text.value)));
    }
    files
}

/// How many bytes of a plan the texts of its files are, as they are written there.
pub(super) fn written_bytes(tree: &DeTable<'_>) -> usize {
    let Some(DeValue::Array(files)) = tree.get("file").map(|node| node.get_ref()) else { return 0 };
    let texts = files.iter().filter_map(|file| {
        let DeValue::Table(table) = file.get_ref() else { return None };
        table.get("text")
    });
    texts.map(|text| text.span().len()).sum()
}

fn attached(name: &str, text: &str) -> Attached {
    let sha256 = HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    Attached { name: name.to_owned(), sha256, text: text.into() }
}

/// The names of files that the settings of a plan name and that do not go with its text yet, in their order. Of a text
/// that is no plan: as far as it can be read.
#[must_use]
pub fn files_wanted(text: &str, testbeds: &[&'static dyn Testbed]) -> Vec<String> {
    let Ok(tree) = DeTable::parse(text) else { return Vec::new() };
    let settings: Vec<&SettingInfo> = testbeds
        .iter()
        .flat_map(|testbed| testbed.settings())
        .filter(|info| matches!(info.kind, Kind::File))
        .collect();
    let mut found = BTreeSet::new();
    collect(tree.get_ref(), "", &settings, &mut found);
    let reader = Reader::new(text);
    let files = read(&mut Table::new(&reader, tree.get_ref(), 0, "the plan"));
    found.into_iter().filter(|name| !name.is_empty() && !files.contains_key(name)).collect()
}

/// The text of a plan with these files, each a name and its text, behind it: no line of it moves.
#[must_use]
pub fn with_files(text: &str, files: &[(String, String)]) -> String {
    let mut whole = text.to_owned();
    for (name, text) in files {
        let [name, text] = [name, text].map(|part| toml::Value::String(part.clone()).to_string());
        whole.push_str(&format!("\n\n[[file]]\nname = {name}\ntext = {text}\n"));
    }
    whole
}

/// The values of these settings, wherever in a plan.
fn collect(table: &DeTable<'_>, path: &str, settings: &[&SettingInfo], found: &mut BTreeSet<String>) {
    for (key, node) in table {
        let path = format!("{path}.{}", key.get_ref());
        let is_setting = settings.iter().any(|info| path.ends_with(&format!(".{}", info.name)));
        let nodes =
            if let DeValue::Array(nodes) = node.get_ref() { nodes.iter().collect() } else { vec![node] };
        for node in nodes {
            if let DeValue::Table(inner) = node.get_ref() {
                collect(inner, &path, settings, found);
            } else if let DeValue::String(name) = node.get_ref()
                && is_setting
            {
                found.insert(name.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        for text in ["", "0 0.02\n1 1.3\n", "'''\"\"\"\\ \t\u{7}\r\n'", "\n\n", "ö\u{2028}"] {
            let whole = with_files("name = \"x\"", &[("a b.txt".to_owned(), text.to_owned())]);
            let tree = DeTable::parse(&whole).unwrap();
            let reader = Reader::new(&whole);
            let files = read(&mut Table::new(&reader, tree.get_ref(), 0, "the plan"));
            assert!(reader.is_well(), "{whole}");
            assert_eq!(&*files["a b.txt"].text, text, "{whole}");
        }
    }

    #[test]
    fn two_files_of_one_name_and_too_many_bytes_are_mistakes() {
        let file = |name: &str, length: usize| (name.to_owned(), "x".repeat(length));
        let large = Plan::FILES_BYTES_MAX / 2 + 1;
        for (files, is_well) in [
            (vec![file("a", 1), file("b", 1)], true),
            (vec![file("a", 1), file("a", 1)], false),
            (vec![file("a", large), file("b", large)], false),
            (vec![file("a", 2 * large)], false),
        ] {
            let whole = with_files("", &files);
            let tree = DeTable::parse(&whole).unwrap();
            let reader = Reader::new(&whole);
            read(&mut Table::new(&reader, tree.get_ref(), 0, "the plan"));
            assert_eq!(reader.is_well(), is_well);
        }
    }
}

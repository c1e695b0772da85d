//! What a package's Makefile says: as much of make as these files use.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::File;

#[derive(Debug, Default)]
pub(super) struct Makefile {
    values: BTreeMap<String, String>,
    /// Lines between `define NAME` and `endef`, without what they are indented by.
    blocks: BTreeMap<String, Vec<String>>,
}

impl Makefile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut makefile = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("define ") {
                let block =
                    lines.by_ref().take_while(|line| *line != "endef").map(|line| line.trim().to_owned());
                makefile.blocks.insert(name.to_owned(), block.collect());
            } else if let Some((name, value)) = line.split_once(":=") {
                makefile.values.insert(name.to_owned(), value.to_owned());
            }
        }
        makefile
    }

    pub(super) fn value(&self, name: &str) -> Result<String> {
        let value = self.values.get(name).with_context(|| format!("the Makefile has no {name}"))?;
        Ok(value.replace("$(PKG_NAME)", self.values.get("PKG_NAME").map_or("", String::as_str)))
    }

    /// As OpenWrt writes it since 24.10.
    pub(super) fn version(&self) -> Result<String> {
        let release = self.value("PKG_RELEASE").unwrap_or_else(|_| "1".to_owned());
        Ok(format!("{}-r{release}", self.value("PKG_VERSION")?))
    }

    pub(super) fn block(&self, name: &str) -> Result<&[String]> {
        let block = self.blocks.get(name).with_context(|| format!("the Makefile has no `define {name}`"))?;
        Ok(block)
    }
}

/// `NAME:=VALUE` in a block.
pub(super) fn field(block: &[String], name: &str) -> Result<String> {
    let value = block.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(":="));
    value.map(str::to_owned).with_context(|| format!("no {name}:= in the block"))
}

/// `+one +two` as names.
pub(super) fn depends(text: &str) -> Vec<String> {
    text.split_whitespace().map(|name| name.trim_start_matches('+').to_owned()).collect()
}

/// The file that a line of an `install` block brings; nothing for one that makes a directory.
pub(super) fn installed(line: &str, folder: &Path) -> Result<Option<File>> {
    let mode = match line.split(' ').next() {
        Some("$(INSTALL_DIR)") => return Ok(None),
        Some("$(INSTALL_BIN)") => 0o755,
        Some("$(INSTALL_DATA)") => 0o644,
        _ => bail!("`{line}` installs in a way that is not known here"),
    };
    let [_, from, to] = line.split(' ').collect::<Vec<_>>()[..] else {
        bail!("`{line}` is not `HOW FROM TO`")
    };
    let path = to.strip_prefix("$(1)").with_context(|| format!("`{line}` installs outside of $(1)"))?;
    let from = folder.join(from.trim_start_matches("./"));
    let bytes = fs::read(&from).with_context(|| format!("read {}", from.display()))?;
    Ok(Some(File { path: path.to_owned(), mode, bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_blocks_are_found() {
        let text = "PKG_NAME:=a\nPKG_VERSION:=1.2\nPKG_RELEASE:=3\nX:=$(PKG_NAME).tar\ndefine B\n  T:=t\n\tU:=+v +w\nendef\n";
        let makefile = Makefile::parse(text);
        assert_eq!(
            (makefile.version().unwrap(), makefile.value("X").unwrap()),
            ("1.2-r3".into(), "a.tar".into())
        );
        let block = makefile.block("B").unwrap();
        assert_eq!(
            (field(block, "T").unwrap(), depends(&field(block, "U").unwrap())),
            ("t".into(), vec!["v".into(), "w".into()])
        );
        assert!(makefile.value("Y").is_err() && makefile.block("C").is_err() && field(block, "V").is_err());
    }

    #[test]
    fn an_unknown_way_to_install_is_an_error() {
        for line in ["$(CP) ./files/* $(1)/", "$(INSTALL_DATA) one", "$(INSTALL_DATA) ./Cargo.toml /etc/x"] {
            assert!(installed(line, Path::new(".")).is_err(), "{line}");
        }
    }
}

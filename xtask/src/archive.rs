//! Archives of tar (POSIX.1-1988 ustar), compressed or not, with nothing in them but names, modes and bytes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use flate2::{Compression, GzBuilder};

/// A file of a package or an archive, with an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

const BLOCK: usize = 512;
/// Names of more bytes would need a prefix, which no file here does.
const NAME_BYTES_MAX: usize = 100;

/// Every file below a folder, as below `path`.
pub(crate) fn below(folder: &Path, path: &str, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let entry = entry?;
        let path = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            below(&entry.path(), &path, files)?;
        } else {
            files.push(File { path, mode: 0o644, bytes: fs::read(entry.path())? });
        }
    }
    Ok(())
}

/// Files, with the directories that they are in, below `./`.
pub(crate) fn tar(files: &[File]) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut made = BTreeSet::new();
    for File { path, mode, bytes } in files {
        for (end, _) in path.match_indices('/') {
            let directory = format!(".{}/", &path[..end]);
            if made.insert(directory.clone()) {
                archive.extend(header(&directory, 0o755, 0, b'5')?);
            }
        }
        archive.extend(header(&format!(".{path}"), *mode, bytes.len(), b'0')?);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Ok(archive)
}

/// Everything belongs to root, and was changed when time began.
fn header(name: &str, mode: u32, size: usize, kind: u8) -> Result<[u8; BLOCK]> {
    ensure!(name.len() <= NAME_BYTES_MAX, "{name} is too long a name");
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(257, "ustar\x0000");
    put(265, "root");
    put(297, "root");
    header[156] = kind;
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// Without name and time.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    // 255: no system (RFC 1952, section 2.3).
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

//! Embeds the page that `npm run build` made in `web/dist`, compressed. Without it, nothing: then the page is the one that
//! `src/plain.rs` writes, and no build needs Node.

use flate2::{Compression, GzBuilder};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web");
    let built = web.join("dist");
    let mut files = Vec::new();
    if built.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", built.display());
        collect(&built, &mut files)?;
        files.sort();
    } else if web.is_dir() {
        println!("cargo::rerun-if-changed={}", web.display());
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    let mut table = String::from("pub(crate) const FILES: &[Embedded] = &[\n");
    for (index, file) in files.iter().enumerate() {
        let name =
            file.strip_prefix(&built).expect("it was found there").to_str().expect("built names are ASCII");
        let content = fs::read(file)?;
        fs::write(out.join(format!("{index}.gz")), compress(&content)?)?;
        let mut digest = DefaultHasher::new();
        content.hash(&mut digest);
        let digest = digest.finish();
        writeln!(
            table,
            "    Embedded {{ path: \"/{name}\", digest: \"{digest:016x}\", gzip: include_bytes!(\"{index}.gz\") }},"
        )
        .expect("a string takes all");
    }
    table.push_str("];\n");
    fs::write(out.join("files.rs"), table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_none_or(|end| end != "gz") {
            files.push(path);
        }
    }
    Ok(())
}

/// The same bytes for the same content, whenever it is built.
fn compress(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gzip.write_all(content)?;
    gzip.finish()
}

//! Writes the seeds of every target into `fuzz/corpus`: `cargo run -p guestright-fuzz --example seed`.

use std::io::{Error, Result};
use std::path::Path;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let legacy = std::fs::read_to_string(root.join("../docs/vectors/legacy.json"))?;
    let legacy = serde_json::from_str(&legacy).map_err(Error::other)?;
    for (target, name, bytes) in guestright_fuzz::seeds::seeds(Some(&legacy)) {
        let folder = root.join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

//! The user that the programs run as.

use crate::SystemError;
use crate::path_state::PathState;
use crate::tool::run;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_setup::paths;
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "guestright";
/// passwd(5), group(5), shadow(5), gshadow(5): each has a line that begins with the name.
const FILES: [&str; 4] = ["etc/passwd", "etc/group", "etc/shadow", "etc/gshadow"];
/// What making a user changes besides: the files before the last change, and the lock (lckpwdf(3)).
const BESIDES: [&str; 5] = ["etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-", "etc/.pwd.lock"];

/// Its numbers: user, group. Nothing if it is not there.
pub(crate) fn find(root: &Path) -> Option<(u32, u32)> {
    let text = fs::read_to_string(root.join(FILES[0])).ok()?;
    let fields: Vec<_> =
        text.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|line| line[0] == NAME)?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// What its making will change, as it is now.
pub(crate) fn backups(root: &Path) -> Result<Vec<(PathBuf, PathState)>, SystemError> {
    BESIDES.iter().map(|file| Ok((Path::new("/").join(file), PathState::read(&root.join(file))?))).collect()
}

pub(crate) fn make(root: &Path) -> Result<(), SystemError> {
    let root = format!("--root={}", root.display());
    // By its name alone it is looked for below that root.
    let file = Path::new(paths::SYSUSERS).file_name().unwrap_or_default().to_string_lossy();
    run("systemd-sysusers", &[&root, &file]).map(drop)
}

/// Takes its lines out of the files, and nobody else's.
pub(crate) fn remove(root: &Path, backups: &[(PathBuf, PathState)]) -> Result<(), SystemError> {
    for file in FILES {
        let path = root.join(file);
        let PathState::File { access, bytes } = PathState::read(&path)? else { continue };
        let Ok(bytes) = STANDARD.decode(bytes) else { continue };
        let prefix = format!("{NAME}:");
        let is_other = |line: &&[u8]| !line.starts_with(prefix.as_bytes());
        let rest: Vec<u8> =
            bytes.split_inclusive(|byte| *byte == b'\n').filter(is_other).flatten().copied().collect();
        if rest != bytes {
            PathState::file(access, &rest).write(&path)?;
        }
    }
    for (path, before) in backups {
        before.write(&under(root, path))?;
    }
    Ok(())
}

/// A path of the plan, below the root that is changed.
pub(crate) fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

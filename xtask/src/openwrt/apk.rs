//! What apk-tools 3 installs: a tree of objects in the format ADB (apk-v3(5)), then the files' bytes in blocks. Neither
//! compressed nor signed: it is small, and apk asks for `--allow-untrusted` where nobody's key is known.
//!
//! Numbers of fields are those of apk-tools 3.0.6, `src/apk_adb.h`.

use anyhow::Result;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use super::adb::{Database, NULL, Value};
use super::{File, Package};

/// So many bytes of a digest name the package.
const IDENTITY_BYTES: usize = 20;

pub(super) fn write(package: &Package) -> Result<Vec<u8>> {
    let directories = directories(package);
    let mut database = Database::new();
    let info = info(package, &mut database);
    let mut paths = Vec::new();
    for (name, files) in &directories {
        let files: Vec<_> = files.iter().map(|file| file_object(file, &mut database)).collect();
        let files = database.sequence(Value::ARRAY, &files);
        let fields = [database.blob(name.as_bytes()), access(0o755, &mut database), files];
        paths.push(database.sequence(Value::OBJECT, &fields));
    }
    let paths = database.sequence(Value::ARRAY, &paths);
    let scripts = scripts(package, &mut database);
    let root = database.sequence(Value::OBJECT, &[info.object, paths, scripts]);
    database.finish(root);
    // apk tells one build from another by it: a digest of everything, with zeros in its own place.
    let identity = Sha256::digest(database.bytes());
    database.overwrite(info.identity, &identity[..IDENTITY_BYTES]);
    let mut blocks = Vec::new();
    for (path, (_, files)) in (1..).zip(&directories) {
        for (index, file) in (1..).zip(files).filter(|(_, file)| !file.bytes.is_empty()) {
            blocks.push((path, index, file.bytes.as_slice()));
        }
    }
    database.package(&blocks)
}

/// The package's files, with what OpenWrt wants to know about each package, by directory: names without the first `/`,
/// sorted as apk looks for them.
fn directories(package: &Package) -> Vec<(String, Vec<File>)> {
    let mut files = package.files.clone();
    let list: String = package.files.iter().map(|file| format!("{}\n", file.path)).collect();
    let mut about = |kind: &str, text: String| {
        let path = format!("/lib/apk/packages/{}.{kind}", package.name);
        files.push(File { path, mode: 0o644, bytes: text.into_bytes() });
    };
    about("list", list);
    if let Some(user) = &package.user {
        about("rusers", format!("{user}\n"));
    }
    if !package.conffiles.is_empty() {
        let names = package.conffiles.iter().map(|name| format!("{name}\n")).collect();
        about("conffiles", names);
        let is_conffile = |file: &&File| package.conffiles.contains(&file.path);
        let digest = |file: &File| format!("{} {:x}\n", file.path, Hexadecimal(&Sha256::digest(&file.bytes)));
        about("conffiles_static", package.files.iter().filter(is_conffile).map(digest).collect());
    }
    let mut directories: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let (directory, name) = (directory.trim_start_matches('/').to_owned(), name.to_owned());
        // Every directory on the way is one of the package's.
        for (end, _) in directory.match_indices('/') {
            directories.entry(directory[..end].to_owned()).or_default();
        }
        directories.entry(directory).or_default().push(File { path: name, ..file });
    }
    for files in directories.values_mut() {
        files.sort_by(|one, other| one.path.cmp(&other.path));
    }
    directories.into_iter().collect()
}

struct Hexadecimal<'a>(&'a [u8]);

impl std::fmt::LowerHex for Hexadecimal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

struct Info {
    object: Value,
    /// Where the package's identity has to be written.
    identity: usize,
}

/// `pkginfo`: name 1, version 2, hashes 3, description 4, arch 5, license 6, origin 7, maintainer 8, …, installed-size 12,
/// …, depends 15, …, tags 21.
fn info(package: &Package, database: &mut Database) -> Info {
    let depends: Vec<_> = {
        // apk looks for them in this order.
        let mut names = package.depends.clone();
        names.sort();
        names.iter().map(|name| named(name, database)).collect()
    };
    let tag = database.blob(format!("openwrt:section={}", package.section).as_bytes());
    let (hashes, identity) = database.blob_to_overwrite(IDENTITY_BYTES);
    let mut fields = [NULL; 21];
    fields[0] = database.blob(package.name.as_bytes());
    fields[1] = database.blob(package.version.as_bytes());
    fields[2] = hashes;
    fields[3] = database.blob(package.title.as_bytes());
    fields[4] = database.blob(b"noarch");
    fields[5] = database.blob(package.license.as_bytes());
    fields[6] = database.blob(b"guestright");
    fields[7] = database.blob(package.maintainer.as_bytes());
    fields[11] = Value::integer(package.installed_size());
    fields[14] = database.sequence(Value::ARRAY, &depends);
    fields[20] = database.sequence(Value::ARRAY, &[tag]);
    Info { object: database.sequence(Value::OBJECT, &fields), identity }
}

/// A dependency on any version.
fn named(name: &str, database: &mut Database) -> Value {
    let name = database.blob(name.as_bytes());
    database.sequence(Value::OBJECT, &[name])
}

/// `acl`: mode 1, user 2, group 3.
fn access(mode: u32, database: &mut Database) -> Value {
    let root = database.blob(b"root");
    database.sequence(Value::OBJECT, &[Value::integer(mode as usize), root, root])
}

/// `file`: name 1, acl 2, size 3, mtime 4, hashes 5.
fn file_object(file: &File, database: &mut Database) -> Value {
    let name = database.blob(file.path.as_bytes());
    let access = access(file.mode, database);
    let digest = database.blob(&Sha256::digest(&file.bytes));
    let size = Value::integer(file.bytes.len());
    database.sequence(Value::OBJECT, &[name, access, size, Value::integer(0), digest])
}

/// `scripts`: trigger 1, pre-install 2, post-install 3, pre-deinstall 4, post-deinstall 5, pre-upgrade 6, post-upgrade 7.
fn scripts(package: &Package, database: &mut Database) -> Value {
    let name = &package.name;
    let script = |first: &str, call: &str| {
        format!(
            "#!/bin/sh\n{first}[ \"${{IPKG_NO_SCRIPT}}\" = 1 ] && exit 0\n\
             [ -s \"${{IPKG_INSTROOT}}/lib/functions.sh\" ] || exit 0\n. \"${{IPKG_INSTROOT}}/lib/functions.sh\"\n\
             export root=\"${{IPKG_INSTROOT}}\"\nexport pkgname=\"{name}\"\n{call}"
        )
    };
    let installed = format!("add_group_and_user\ndefault_postinst\n{}", package.after_installation);
    let installed_first = database.blob(script("", &installed).as_bytes());
    let removed = database.blob(script("", "default_prerm\n").as_bytes());
    let upgraded = database.blob(script("export PKG_UPGRADE=1\n", &installed).as_bytes());
    database.sequence(Value::OBJECT, &[NULL, NULL, installed_first, removed, NULL, NULL, upgraded])
}

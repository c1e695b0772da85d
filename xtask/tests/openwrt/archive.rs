//! The packages: the same bytes each time, and in them what the Makefiles install, seen by tar and by another reader of ADB.

use crate::packaging;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes the packages in a folder of their own; by name.
fn made(umask: &str, variables: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "umask \"$1\"; exec \"$2\" package openwrt \"$3\"", "sh", umask]);
    command.arg(env!("CARGO_BIN_EXE_xtask")).arg(directory.path()).envs(variables.iter().copied());
    let output = command.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = fs::read_dir(directory.path()).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn the_same_checkout_gives_the_same_bytes() {
    let first = made("022", &[]);
    let second = made("077", &[("TZ", "Asia/Tokyo"), ("LANG", "de_DE.UTF-8"), ("USER", "somebody")]);
    let names: Vec<_> = first.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "guestright-service-0.1.0-r1.apk",
            "guestright-service_0.1.0-r1_all.ipk",
            "luci-app-guestright-0.1.0-r1.apk",
            "luci-app-guestright_0.1.0-r1_all.ipk",
        ]
    );
    assert!(first == second, "two builds differ");
}

/// Runs tar on an archive and returns what it prints.
fn tar(archive: &[u8], how: &str, more: &[&str]) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), archive).unwrap();
    let output = Command::new("tar").arg(how).arg(file.path()).args(more).output().unwrap();
    assert!(output.status.success(), "{how} {more:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn member(archive: &[u8], name: &str) -> Vec<u8> {
    tar(archive, "-xzOf", &[name])
}

/// Modes and names, without directories.
fn listed(archive: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8(tar(archive, "-tzvf", &["--numeric-owner", "--utc"])).unwrap();
    let files = text.lines().filter(|line| line.starts_with('-'));
    let parts = files.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let parts = parts.map(|parts| {
        assert_eq!((parts[1], parts[3]), ("0/0", "1970-01-01"), "owner and time of {parts:?}");
        (parts[0].to_owned(), parts[5].trim_start_matches('.').to_owned())
    });
    parts.collect()
}

#[rustfmt::skip]
const SERVICE: [(&str, &str, &str); 7] = [
    ("/etc/capabilities/guestright-home.json", "guestright-home.json", "-rw-r--r--"),
    ("/etc/capabilities/guestright-network.json", "guestright-network.json", "-rw-r--r--"),
    ("/etc/config/guestright", "guestright.config", "-rw-r--r--"),
    ("/etc/hotplug.d/ntp/90-guestright", "guestright.ntp", "-rw-r--r--"),
    ("/etc/init.d/guestright", "guestright.init", "-rwxr-xr-x"),
    ("/etc/uci-defaults/90-guestright", "guestright.defaults", "-rwxr-xr-x"),
    ("/lib/upgrade/keep.d/guestright", "guestright.upgrade", "-rw-r--r--"),
];

fn source(name: &str) -> Vec<u8> {
    fs::read(packaging().join("guestright/files").join(name)).unwrap()
}

#[test]
fn an_ipk_has_what_opkg_looks_for() {
    let packages = made("022", &[]);
    let ipk = &packages["guestright-service_0.1.0-r1_all.ipk"];
    let names: Vec<_> = listed(ipk).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["/debian-binary", "/data.tar.gz", "/control.tar.gz"]);
    assert_eq!(member(ipk, "./debian-binary"), b"2.0\n");
    let data = member(ipk, "./data.tar.gz");
    let want: Vec<_> = SERVICE.map(|(path, _, mode)| (mode.to_owned(), path.to_owned())).into();
    assert_eq!(listed(&data), want);
    for (path, from, _) in SERVICE {
        assert_eq!(member(&data, &format!(".{path}")), source(from), "{path}");
    }
    let control = member(ipk, "./control.tar.gz");
    let text = String::from_utf8(member(&control, "./control")).unwrap();
    for line in [
        "Package: guestright-service",
        "Version: 0.1.0-r1",
        "Architecture: all",
        "Depends: procd-ujail",
        "Require-User: guestright:guestright",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is missing: {text}");
    }
    assert_eq!(member(&control, "./conffiles"), b"/etc/config/guestright\n/etc/guestright/\n");
    for script in ["./postinst", "./prerm"] {
        is_shell(&member(&control, script));
    }
}

fn is_shell(script: &[u8]) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), script).unwrap();
    let status = Command::new("busybox").args(["ash", "-n"]).arg(file.path()).status().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(script));
}

/// Reads an apk as apk-v3(5) describes it; not with what has written it.
struct Apk<'a> {
    tree: &'a [u8],
    /// Bytes of files by the numbers of directory and file.
    files: BTreeMap<(u32, u32), &'a [u8]>,
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl<'a> Apk<'a> {
    fn read(bytes: &'a [u8]) -> Self {
        assert_eq!(&bytes[..8], b"ADB.pckg");
        let (mut at, mut tree, mut files) = (8, None, BTreeMap::new());
        while at < bytes.len() {
            let word = number(bytes, at);
            let (kind, size) = (word >> 30, (word & 0x3fff_ffff) as usize);
            let content = &bytes[at + 4..at + size];
            match kind {
                0 => assert!(
                    tree.replace(content).is_none() && files.is_empty(),
                    "the tree comes first, and once"
                ),
                2 => assert!(files.insert((number(content, 0), number(content, 4)), &content[8..]).is_none()),
                _ => panic!("block of type {kind}"),
            }
            at += size.next_multiple_of(8);
        }
        assert_eq!(at, bytes.len());
        Self { tree: tree.unwrap(), files }
    }

    /// The slots of an array or object, from 1 on; none of nothing.
    fn slots(&self, value: u32) -> Vec<u32> {
        if value == 0 {
            return vec![];
        }
        assert!([0xd, 0xe].contains(&(value >> 28)), "{value:x} is no array or object");
        let at = (value & 0x0fff_ffff) as usize;
        (1..number(self.tree, at) as usize).map(|slot| number(self.tree, at + 4 * slot)).collect()
    }

    fn blob(&self, value: u32) -> &'a [u8] {
        let at = (value & 0x0fff_ffff) as usize;
        let (width, length) = match value >> 28 {
            0x8 => (1, usize::from(self.tree[at])),
            0x9 => (2, usize::from(u16::from_le_bytes([self.tree[at], self.tree[at + 1]]))),
            kind => panic!("{kind:x} is no blob"),
        };
        &self.tree[at + width..][..length]
    }

    fn text(&self, value: u32) -> String {
        String::from_utf8(self.blob(value).to_vec()).unwrap()
    }

    fn integer(value: u32) -> u32 {
        assert_eq!(value >> 28, 1, "{value:x} is no number");
        value & 0x0fff_ffff
    }

    fn root(&self) -> Vec<u32> {
        self.slots(number(self.tree, 4))
    }

    /// Path, mode and bytes of each file.
    fn contents(&self) -> Vec<(String, u32, Vec<u8>)> {
        let mut contents = Vec::new();
        for (path, directory) in (1..).zip(self.slots(self.root()[1])) {
            let directory = self.slots(directory);
            for (index, file) in (1..).zip(self.slots(directory.get(2).copied().unwrap_or(0))) {
                let file = self.slots(file);
                let bytes = self.files.get(&(path, index)).copied().unwrap_or_default();
                assert_eq!(Self::integer(file[2]) as usize, bytes.len());
                let name = format!("/{}/{}", self.text(directory[0]), self.text(file[0]));
                contents.push((name, Self::integer(self.slots(file[1])[0]), bytes.to_vec()));
            }
        }
        contents
    }
}

#[test]
fn an_apk_has_what_apk_looks_for() {
    let packages = made("022", &[]);
    let apk = Apk::read(&packages["guestright-service-0.1.0-r1.apk"]);
    let info = apk.slots(apk.root()[0]);
    assert_eq!(
        [info[0], info[1], info[4]].map(|it| apk.text(it)),
        ["guestright-service", "0.1.0-r1", "noarch"].map(str::to_owned)
    );
    assert_eq!(apk.blob(info[2]).len(), 20);
    assert!(apk.blob(info[2]).iter().any(|byte| *byte != 0), "the package has an identity");
    let depends: Vec<_> = apk.slots(info[14]).into_iter().map(|it| apk.text(apk.slots(it)[0])).collect();
    assert_eq!(depends, ["procd-ujail"]);
    let contents = apk.contents();
    let ours: Vec<_> = contents.iter().filter(|(path, ..)| !path.starts_with("/lib/apk/")).collect();
    for ((path, from, mode), got) in SERVICE.iter().zip(&ours) {
        let mode = if mode.contains('x') { 0o755 } else { 0o644 };
        assert_eq!(**got, ((*path).to_owned(), mode, source(from)));
    }
    assert_eq!(ours.len(), SERVICE.len());
    let about = |kind: &str| {
        let path = format!("/lib/apk/packages/guestright-service.{kind}");
        let found = contents.iter().find(|(name, ..)| *name == path).unwrap_or_else(|| panic!("no {path}"));
        String::from_utf8(found.2.clone()).unwrap()
    };
    assert_eq!(about("rusers"), "guestright:guestright\n");
    assert_eq!(about("conffiles"), "/etc/config/guestright\n/etc/guestright/\n");
    assert!(about("conffiles_static").starts_with("/etc/config/guestright "));
    assert_eq!(about("list").lines().collect::<Vec<_>>(), SERVICE.map(|(path, ..)| path));
    for script in apk.slots(apk.root()[2]).into_iter().filter(|script| *script != 0) {
        is_shell(apk.blob(script));
    }
}

#[test]
fn the_page_is_where_luci_and_rpcd_look() {
    let packages = made("022", &[]);
    let paths: Vec<_> = Apk::read(&packages["luci-app-guestright-0.1.0-r1.apk"])
        .contents()
        .into_iter()
        .map(|(path, ..)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "/lib/apk/packages/luci-app-guestright.list",
            "/usr/share/luci/menu.d/luci-app-guestright.json",
            "/usr/share/rpcd/acl.d/luci-app-guestright.json",
            "/www/luci-static/resources/view/guestright/status.js",
        ]
    );
    let data = member(&packages["luci-app-guestright_0.1.0-r1_all.ipk"], "./data.tar.gz");
    let in_ipk: Vec<_> = listed(&data).into_iter().map(|(_, name)| name).collect();
    assert_eq!(in_ipk, paths[1..]);
    assert!(Path::new(&paths[3]).ends_with("status.js"));
}

//! Debian's stock kernel: fetched and unpacked below the target folder, never installed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::stage::files_that_end_in;
use crate::steps::{execute, line, output};
use crate::workspace;

/// The package that depends on the newest kernel of this release.
const NEWEST: &str = "linux-image-amd64";
/// What the initial memory file system needs to reach the host's files.
const EARLY: [&str; 4] = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];
/// Mirrors fail now and then.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(5);

/// What to start the machine with.
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    /// The folder that holds one folder per kernel version.
    pub(super) modules: PathBuf,
    pub(super) initrd: PathBuf,
}

/// Fetches what is not there yet.
pub(super) fn prepare(cache: &Path) -> Result<Kernel> {
    let folder = cache.join("kernel");
    if !folder.join("ready").exists() {
        unpack(&newest()?, &folder)?;
        let version = version_in(&folder.join("lib/modules"))?;
        execute(Command::new("depmod").arg("-b").arg(&folder).arg(&version))?;
        fs::write(folder.join("ready"), &version)?;
    }
    let modules = folder.join("lib/modules");
    let version = version_in(&modules)?;
    let initrd = folder.join("initrd");
    make_initrd(&modules.join(&version), &cache.join("early"), &initrd)?;
    Ok(Kernel { image: folder.join(format!("boot/vmlinuz-{version}")), modules, initrd })
}

/// Fetches a package and unpacks it into a folder of its own.
pub(super) fn unpack(package: &str, folder: &Path) -> Result<PathBuf> {
    let half = folder.with_extension("part");
    for leftover in [folder, &half] {
        if leftover.exists() {
            fs::remove_dir_all(leftover).with_context(|| format!("remove {}", leftover.display()))?;
        }
    }
    fs::create_dir_all(&half).with_context(|| format!("make {}", half.display()))?;
    retry(|| {
        let mut download = Command::new("apt-get");
        // As root, apt-get would download as a user who may not look into the checkout.
        download.args([
            "-q",
            "-o",
            "APT::Sandbox::User=root",
            "-o",
            "Acquire::Retries=3",
            "download",
            package,
        ]);
        execute(download.current_dir(&half)).map(drop)
    })?;
    let archives = files_that_end_in(&half, ".deb")?;
    let [archive] = archives.as_slice() else {
        bail!("apt-get left {} packages of {package}", archives.len())
    };
    execute(Command::new("dpkg-deb").arg("-x").arg(archive).arg(&half))?;
    fs::remove_file(archive)?;
    fs::rename(&half, folder)?;
    Ok(folder.to_owned())
}

fn newest() -> Result<String> {
    let ask =
        || output(Command::new("apt-cache").args(["depends", "--important", NEWEST]).env("LC_ALL", "C"));
    let answer = ask().or_else(|_| {
        retry(|| execute(Command::new("apt-get").args(["-q", "update"])).map(drop))?;
        ask()
    });
    let answer =
        answer.context("which kernel is Debian's newest? This needs Debian and its package lists")?;
    let name = answer.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    Ok(format!("linux-image-{}", name.with_context(|| format!("{NEWEST} names no kernel:\n{answer}"))?))
}

fn retry(mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    for left in (0..ATTEMPTS).rev() {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(error) if left == 0 => return Err(error),
            Err(error) => eprintln!("{error:#}; once more in {} s", PAUSE.as_secs()),
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The one version in a folder of modules.
fn version_in(modules: &Path) -> Result<String> {
    let entries = fs::read_dir(modules).with_context(|| format!("list {}", modules.display()))?;
    let versions: Vec<_> = entries.collect::<Result<_, _>>()?;
    let [version] = versions.as_slice() else { bail!("{} kernels in {}", versions.len(), modules.display()) };
    version.file_name().into_string().ok().context("a kernel's version is plain text")
}

/// Packs busybox, the script that begins, and the first modules.
fn make_initrd(modules: &Path, folder: &Path, initrd: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for name in ["bin", "lib"] {
        fs::create_dir_all(folder.join(name))?;
    }
    fs::copy("/bin/busybox", folder.join("bin/busybox")).context("copy /bin/busybox")?;
    for name in ["sh", "mount", "mkdir", "insmod", "switch_root"] {
        std::os::unix::fs::symlink("busybox", folder.join("bin").join(name))?;
    }
    let init = folder.join("init");
    fs::copy(workspace::root().join("scripts/acceptance/qemu-init.sh"), &init)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    let order = load_order(&fs::read_to_string(modules.join("modules.dep"))?, &EARLY)?;
    let mut list = String::new();
    for path in order {
        let name = Path::new(&path).file_name().context("a module has a name")?;
        fs::copy(modules.join(&path), folder.join("lib").join(name))?;
        list.push_str(&format!("{}\n", name.to_string_lossy()));
    }
    fs::write(folder.join("modules"), list)?;
    pack(folder, initrd)
}

/// The modules and all that they need, each after what it needs.
fn load_order(dependencies: &str, wanted: &[&str]) -> Result<Vec<String>> {
    let mut needs = BTreeMap::new();
    for (module, rest) in dependencies.lines().filter_map(|line| line.split_once(':')) {
        let stem = module.rsplit('/').next().and_then(|file| file.split('.').next());
        needs.insert(stem.unwrap_or(module), (module, rest));
    }
    let mut order: Vec<String> = Vec::new();
    for name in wanted {
        // A module that is part of the kernel is not in the list.
        let (module, rest) = needs.get(name).with_context(|| format!("the kernel has no module {name}"))?;
        // depmod(8) writes what is needed last of all first, so the list is read backwards.
        for path in rest.split_whitespace().rev().chain([*module]) {
            if !order.iter().any(|one| one == path) {
                order.push(path.to_owned());
            }
        }
    }
    Ok(order)
}

fn pack(folder: &Path, initrd: &Path) -> Result<()> {
    let mut names = vec![".".to_owned()];
    for part in ["bin", "lib"] {
        names.push(part.to_owned());
        for entry in fs::read_dir(folder.join(part))? {
            names.push(format!("{part}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    names.extend(["init".to_owned(), "modules".to_owned()]);
    let archive = fs::File::create(initrd).with_context(|| format!("make {}", initrd.display()))?;
    let mut command = Command::new("busybox");
    command.args(["cpio", "-o", "-H", "newc"]).current_dir(folder);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(archive)
        .stderr(Stdio::null())
        .spawn()
        .context("start busybox")?;
    let mut input = child.stdin.take().expect("standard input is piped");
    input.write_all(names.join("\n").as_bytes())?;
    drop(input);
    ensure!(child.wait()?.success(), "`{}` failed", line(&command));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_after_what_they_need() {
        let dependencies = "fs/9p.ko: net/9pnet.ko fs/fscache.ko fs/netfs.ko\nnet/9pnet_virtio.ko: net/9pnet.ko virtio/ring.ko\n\
            net/9pnet.ko:\nvirtio/ring.ko:\n";
        let order = load_order(dependencies, &["9pnet_virtio", "9p"]).unwrap();
        assert_eq!(
            order,
            [
                "virtio/ring.ko",
                "net/9pnet.ko",
                "net/9pnet_virtio.ko",
                "fs/netfs.ko",
                "fs/fscache.ko",
                "fs/9p.ko"
            ]
        );
        assert!(load_order(dependencies, &["ext4"]).is_err());
    }
}

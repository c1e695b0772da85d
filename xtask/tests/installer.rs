//! The installer of releases, in the shells that people have, with releases that are damaged, foreign, or do not start, on disks
//! that are full, and ended in its middle. The programs in them are scripts that say a version.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Debian's shell, and a router's.
const SHELLS: [&[&str]; 2] = [&["sh"], &["busybox", "ash"]];

/// A folder with releases, and one to install into.
struct Computer {
    folder: tempfile::TempDir,
    shell: &'static [&'static str],
}

impl Computer {
    fn new(shell: &'static [&'static str]) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), shell }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A release whose program prints `guestright` and its version, unless a script is given.
    fn release(&self, version: &str, script: Option<&str>, pages: &[&str]) -> PathBuf {
        let release = self.path(&format!("release-{version}"));
        let name = format!("guestright-{version}-{}-linux", std::env::consts::ARCH);
        let inner = release.join(&name);
        fs::create_dir_all(inner.join("bin")).unwrap();
        fs::create_dir_all(inner.join("share/man/man1")).unwrap();
        let usual = format!("#!/bin/sh\necho guestright {version}\n");
        for program in ["guestright", "guestright-lab"] {
            let path = inner.join("bin").join(program);
            fs::write(&path, script.unwrap_or(&usual)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for page in pages {
            fs::write(inner.join("share/man/man1").join(page), version).unwrap();
        }
        let archive = format!("{name}.tar.gz");
        succeeded(&in_folder(&release, &["tar", "-czf", &archive, &name]));
        fs::remove_dir_all(inner).unwrap();
        let sums = succeeded(&in_folder(&release, &["sha256sum", &archive]));
        fs::write(release.join("SHA256SUMS"), sums).unwrap();
        let installer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/release/install.sh");
        fs::copy(installer, release.join("install.sh")).unwrap();
        release
    }

    fn run(&self, release: &Path, words: &[&str]) -> Output {
        let mut command = Command::new(self.shell[0]);
        command.args(&self.shell[1..]).arg(release.join("install.sh")).args(words);
        command.arg("--into").arg(self.path("usr")).output().unwrap()
    }

    /// What the installed program says.
    fn version(&self) -> String {
        let output = Command::new(self.path("usr/bin/guestright")).arg("--version").output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    }

    fn installed(&self) -> String {
        succeeded(&in_folder(
            self.folder.path(),
            &["find", "usr", "-type", "f", "-exec", "sha256sum", "{}", "+"],
        ))
        .lines()
        .map(str::to_owned)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join("\n")
    }

    /// It ends with a sentence, and everything is as it was.
    fn refuses(&self, release: &Path, words: &[&str], sentence: &str) {
        let before = self.installed();
        let output = self.run(release, words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(sentence), "{errors}");
        assert_eq!(self.installed(), before, "{errors}");
    }
}

fn in_folder(folder: &Path, command: &[&str]) -> Output {
    Command::new(command[0]).args(&command[1..]).current_dir(folder).output().unwrap()
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn versions_come_go_back_and_leave_nothing() {
    for shell in SHELLS {
        let computer = Computer::new(shell);
        let one = computer.release("0.1.0", None, &["guestright.1", "guestright-old.1"]);
        let two = computer.release("0.2.0", None, &["guestright.1"]);
        succeeded(&computer.run(&one, &[]));
        assert_eq!(computer.version(), "guestright 0.1.0");
        let words = succeeded(&computer.run(&two, &[]));
        assert!(words.contains("guestright 0.2.0 is in") && words.contains("(before: 0.1.0)"), "{words}");
        assert_eq!(computer.version(), "guestright 0.2.0");
        assert!(
            !computer.path("usr/share/man/man1/guestright-old.1").exists(),
            "the page of a command that is gone"
        );
        // Twice the same keeps the way back.
        succeeded(&computer.run(&two, &[]));
        for version in ["0.1.0", "0.2.0"] {
            succeeded(&computer.run(&two, &["--back"]));
            assert_eq!(computer.version(), format!("guestright {version}"));
        }
        let sum = succeeded(&in_folder(&two, &["sha256sum", "SHA256SUMS"]));
        succeeded(&computer.run(&two, &["--sums", sum.split_whitespace().next().unwrap()]));
        fs::write(computer.path("usr/bin/other"), "not ours").unwrap();
        succeeded(&computer.run(&two, &["--remove"]));
        assert_eq!(computer.installed().lines().count(), 1, "{}", computer.installed());
        assert!(!computer.path("usr/.guestright-install").exists());
    }
}

#[test]
fn what_is_damaged_foreign_or_does_not_start_changes_nothing() {
    for shell in SHELLS {
        let computer = Computer::new(shell);
        let one = computer.release("0.1.0", None, &["guestright.1"]);
        succeeded(&computer.run(&one, &[]));
        let archive = format!("guestright-0.2.0-{}-linux.tar.gz", std::env::consts::ARCH);

        let damaged = computer.release("0.2.0", None, &[]);
        let mut bytes = fs::read(damaged.join(&archive)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(damaged.join(&archive), bytes).unwrap();
        computer.refuses(&damaged, &[], "is damaged, or is not what SHA256SUMS says");
        fs::remove_file(damaged.join(&archive)).unwrap();
        computer.refuses(&damaged, &[], "there is no guestright-0.2.0");
        fs::write(damaged.join("SHA256SUMS"), "").unwrap();
        computer.refuses(&damaged, &[], "has nothing for processors of the kind");
        fs::remove_file(damaged.join("SHA256SUMS")).unwrap();
        computer.refuses(&damaged, &[], "is that the folder of a release?");
        computer.refuses(&one, &["--sums", "00"], "has another sum than 00");
        computer.refuses(&one, &["--router"], "has nothing for routers for processors");
        computer.refuses(&one, &["--back"], "there is no version before this one");

        for (script, version) in [
            ("#!/bin/sh\nexit 127\n", "0.3.0"),
            ("#!/no/such/loader\n", "0.3.1"),
            ("#!/bin/sh\necho guestright 0.1.0\n", "0.3.2"),
            // Starts anywhere but in its place.
            (
                "#!/bin/sh\ncase $0 in */.guestright-install/*) echo guestright 0.3.3 ;; *) exit 1 ;; esac\n",
                "0.3.3",
            ),
        ] {
            let release = computer.release(version, Some(script), &[]);
            computer.refuses(&release, &[], &format!("{version} does not start"));
            assert_eq!(computer.version(), "guestright 0.1.0");
        }
    }
}

#[test]
fn a_full_disk_keeps_the_old_version() {
    for shell in SHELLS {
        let computer = Computer::new(shell);
        let padding = "#".repeat(200_000);
        let big = |version: &str| format!("#!/bin/sh\necho guestright {version}\nexit 0\n{padding}\n");
        let one = computer.release("0.1.0", Some(&big("0.1.0")), &[]);
        // It packs well: the archive has room where its programs have not.
        let two = computer.release("0.2.0", Some(&big("0.2.0")), &[]);
        fs::create_dir(computer.path("usr")).unwrap();
        let mut times = [0; 2];
        for kilobytes in (500..2_500).step_by(100) {
            let script = format!(
                "mount -t tmpfs -o size={kilobytes}k none \"$1\" || exit 9
                 {shell} \"$2/install.sh\" --into \"$1\" || exit 8
                 {shell} \"$3/install.sh\" --into \"$1\"; code=$?
                 echo \"$code $(\"$1/bin/guestright\" --version) $(\"$1/bin/guestright-lab\" --version)\"",
                shell = shell.join(" ")
            );
            let mut command = Command::new("unshare");
            command.args(["--mount", "--map-root-user", "sh", "-c", &script, "sh"]);
            let output = command.arg(computer.path("usr")).arg(&one).arg(&two).output().unwrap();
            if output.status.code() == Some(8) {
                continue;
            }
            let words = succeeded(&output);
            let last = words.lines().last().unwrap();
            match last.split_once(' ').unwrap() {
                ("0", versions) => {
                    assert_eq!(versions, "guestright 0.2.0 guestright 0.2.0", "{kilobytes} kB");
                    times[0] += 1;
                }
                ("1", versions) => {
                    assert_eq!(versions, "guestright 0.1.0 guestright 0.1.0", "{kilobytes} kB");
                    times[1] += 1;
                }
                other => panic!("{kilobytes} kB: {other:?}"),
            }
        }
        assert!(times[0] > 0 && times[1] > 0, "both were tried: {times:?}");
    }
}

#[test]
fn one_that_was_killed_is_repeated_and_two_at_once_are_one() {
    let computer = Computer::new(SHELLS[0]);
    let one = computer.release("0.1.0", None, &["guestright.1"]);
    // Killed by the program that it tries, in its middle.
    let killer = "#!/bin/sh\nkill -9 $(cat \"$(dirname \"$0\")/../../../holder\")\n";
    let two = computer.release("0.2.0", Some(killer), &[]);
    succeeded(&computer.run(&one, &[]));
    let output = computer.run(&two, &[]);
    assert_eq!(output.status.code(), None, "killed");
    assert_eq!(computer.version(), "guestright 0.1.0");
    assert!(computer.path("usr/.guestright-install").exists());
    succeeded(&computer.run(&one, &[]));
    assert!(!computer.path("usr/.guestright-install").exists());

    fs::create_dir(computer.path("usr/.guestright-install")).unwrap();
    fs::write(computer.path("usr/.guestright-install/holder"), std::process::id().to_string()).unwrap();
    computer.refuses(&one, &[], "another installation into");
}

#[test]
fn wrong_words_are_refused() {
    let computer = Computer::new(SHELLS[0]);
    let release = computer.release("0.1.0", None, &[]);
    for (words, sentence) in
        [(&["--form"][..], "`--form` is none of its options"), (&["--sums", ""], "--sums needs a value")]
    {
        let output = computer.run(&release, words);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(sentence));
    }
    assert!(
        succeeded(&computer.run(&release, &["--help"])).contains("example: sh install.sh --from https://")
    );
}

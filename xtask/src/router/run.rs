//! The program at work, on a processor in software.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{Target, printed};
use crate::steps::{Done, cargo, execute};
use crate::workspace;

/// Tests that are built for the target too, and what of them runs: every test vector, and a store that is killed.
const TESTS: [(&str, &str, &[&str]); 2] = [
    ("guestright-vectors", "vectors", &["--skip", "an_implementation_in_python"]),
    ("guestright-store", "kill", &[]),
];

/// Tests of a program that does not unwind have a process each, which a processor in software cannot start. None of these is
/// expected to panic.
const IN_PROCESS: [&str; 3] = ["-Z", "unstable-options", "--force-run-in-process"];

/// `folder` is where it was built.
pub(super) fn check(target: Target, program: &Path, folder: &Path) -> Result<Done> {
    let qemu = emulator(target);
    let version = printed(Command::new(&qemu).arg(program).arg("--version"))?;
    println!("{}", version.trim_end());
    let wanted = format!("guestright {}", env!("CARGO_PKG_VERSION"));
    ensure!(version.trim_end() == wanted, "it says {version:?} in place of {wanted:?}");
    dry_run(&qemu, program)?;
    refuse_absent(&qemu, program)?;
    serve_a_household(&qemu, program)?;
    if target.processor == std::env::consts::ARCH {
        serve_a_crowd(program)?;
    }
    for (package, test, arguments) in TESTS {
        let runner = format!("CARGO_TARGET_{}_RUNNER", target.triple.to_uppercase().replace('-', "_"));
        let mut command = target.cargo("test", package, &workspace::root(), folder);
        command.args(["-Z", "panic-abort-tests", "--test", test, "--"]);
        command.args(IN_PROCESS).args(arguments).env(runner, &qemu);
        execute(command.env("GUESTRIGHT_RUNNER", format!("{} {}", qemu.display(), IN_PROCESS.join(" "))))?;
    }
    Ok(Done::Passed)
}

fn system_test(test: &str) -> Command {
    let mut command = cargo(&["test", "--all-features", "--package", "guestright", "--test", "system"]);
    command.args(["--", "--exact", test]);
    command
}

/// A household whose home is the program on this processor, while its access point and its guests are this computer's own.
/// (QEMU's user mode has no netlink to nftables, so that an access point cannot start there.)
fn serve_a_household(qemu: &Path, program: &Path) -> Result<Done> {
    let mut command = system_test("accesspoint::no_receipt_is_lost_when_home_or_access_point_is_killed");
    // QEMU has a thread of its own, which gives up nothing when the program does: it has to have nothing.
    let bare = "setpriv --no-new-privs --inh-caps=-all --bounding-set=-all";
    let home = format!("{bare} {} {}", qemu.display(), program.display());
    execute(command.env("GUESTRIGHT_TEST_HOME", home))
}

/// What it needs in memory for as many visitors as a router is made for, on this computer's own processor.
fn serve_a_crowd(program: &Path) -> Result<Done> {
    let mut command = system_test("crowd::a_hundred_visitors_fit_into_the_memory_of_a_router");
    command.args(["--ignored", "--nocapture"]);
    execute(command.env("GUESTRIGHT_TEST_HOME", program).env("GUESTRIGHT_TEST_AP", program))
}

/// QEMU's user mode, static, as Debian names it.
pub(super) fn emulator(target: Target) -> PathBuf {
    format!("qemu-{}-static", target.processor).into()
}

/// What a network for guests looks like, in a namespace of its own; then the command.
const NETWORK: &str = "ip link add guests type veth peer name wan && ip address add 10.11.0.1/24 dev guests && \
                       ip address add 198.51.100.2/24 dev wan && ip link set guests up && ip link set wan up && exec \"$@\"";

/// The settings of an access point in that network.
const SETTINGS: &str = "key = \"router.key\"\ncertificate = \"router.cert\"\nhome = \"127.0.0.1:7274\"\n\
                        visitor_interface = \"guests\"\nuplink_interface = \"wan\"\n";

/// Shows the ruleset that it would give an access point.
fn dry_run(qemu: &Path, program: &Path) -> Result<()> {
    let settings = program.with_file_name("ap.toml");
    std::fs::write(&settings, SETTINGS).with_context(|| format!("write {}", settings.display()))?;
    let mut command = Command::new("unshare");
    command.args(["--net", "--map-root-user", "sh", "-c", NETWORK, "sh"]).arg(qemu).arg(program);
    let ruleset = printed(command.args(["ap", "--dry-run", "--config"]).arg(&settings))?;
    ensure!(ruleset.contains("table inet guestright"), "no ruleset:\n{ruleset}");
    println!("ap --dry-run: {} lines of rules", ruleset.lines().count());
    Ok(())
}

/// What this program has no part for: whose settings, what stands before, the settings that are refused, and what it says.
const ABSENT: [(&str, &str, &str, &str); 9] = [
    ("home", "", "[voice]", "built without calls"),
    ("home", "", "[web]", "built without the household's page"),
    ("home", GATEWAY, "port_mapping = true", "built without port mapping"),
    ("home", GATEWAY, "[gateway.ikev2]", "built without IKEv2"),
    ("ap", "", "[metrics]", "built without metrics"),
    ("ap", "", "[phones]", "built without phones that join by 802.1X"),
    ("ap", "", "[radio]\nstandard = \"g\"\nrate_mbps = 24", "built without the meter of calls"),
    ("ap", "", "[retention]\naddresses = \"7d\"", "built without records of addresses"),
    ("ap", "", "[splash]\nhousehold = \"The Rivers\"", "built without the page for guests"),
];

const GATEWAY: &str = "[gateway]\nuplink_interface = \"wan\"\n";

/// Says, with its line, what it has no part for, in place of passing over it.
fn refuse_absent(qemu: &Path, program: &Path) -> Result<()> {
    let file = program.with_file_name("absent.toml");
    for (whose, before, refused, sentence) in ABSENT {
        let needed =
            if whose == "ap" { SETTINGS } else { "key = \"home.key\"\ncertificate = \"home.cert\"\n" };
        let line = format!("line {}", needed.lines().chain(before.lines()).count() + 1);
        let text = format!("{needed}{before}{refused}\n");
        std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        let mut command = Command::new(qemu);
        command.arg(program).args([whose, "--show-config", "--config"]).arg(&file);
        let output = command.output().with_context(|| format!("start {}", qemu.display()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let is_refused = text.contains(&line) && text.contains(sentence);
        ensure!(!output.status.success() && is_refused, "it does not refuse {refused} at {line}: {text}");
    }
    Ok(())
}

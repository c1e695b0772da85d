//! What this computer can have of the layers: what is there is found, and what is not is not.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use guestright_firewall::{Trial, try_layers};
use guestright_netns::testing;

/// Runs the test of this name in a fresh network, where `program` is a script with these lines first. Nothing outside.
fn trial(test: &str, program: &str, lines: &str) -> Option<Trial> {
    let tools = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{path}:/usr/sbin:/sbin");
    if !program.is_empty() {
        let mut candidates = std::env::split_paths(&path).map(|directory| directory.join(program));
        let real = candidates.find(|directory| directory.exists()).unwrap();
        let script = tools.path().join(program);
        std::fs::write(&script, format!("#!/bin/sh\n{lines}\nexec {} \"$@\"\n", real.display())).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let arrange = |command: &mut std::process::Command| {
        command.env("PATH", format!("{}:{path}", tools.path().display()));
    };
    testing::inside_with(test, arrange).then(|| try_layers(Path::new("/run/trial.json")).unwrap())
}

#[test]
fn a_kernel_of_today_has_all_layers() {
    let Some(found) = trial("trial::a_kernel_of_today_has_all_layers", "", "") else { return };
    assert_eq!(found, Trial::default());
    let left = std::process::Command::new("nft").args(["list", "tables"]).output().unwrap();
    assert!(left.status.success() && left.stdout.is_empty(), "{left:?}");
}

#[test]
fn a_static_filter_that_the_kernel_refuses_is_not_there() {
    let test = "trial::a_static_filter_that_the_kernel_refuses_is_not_there";
    let refuse = "case \"$*\" in *bytecode*) echo 'Error: TC classifier not found.' >&2; exit 2;; esac";
    let Some(found) = trial(test, "tc", refuse) else { return };
    let reason = found.static_filter.clone().unwrap();
    assert!(reason.contains("TC classifier not found"), "{reason}");
    assert_eq!(Trial { static_filter: None, ..found }, Trial::default());
}

#[test]
fn rules_that_change_nothing_are_noticed() {
    let test = "trial::rules_that_change_nothing_are_noticed";
    let pretend = "case \"$*\" in *-batch*) exit 0;; esac";
    let Some(found) = trial(test, "ip", pretend) else { return };
    let reason = found.routing.clone().unwrap();
    assert!(reason.contains("routed on all the same"), "{reason}");
    assert_eq!(Trial { routing: None, ..found }, Trial::default());
}

//! The command line: help with examples, completions, and manual pages.

use guestright_testbed::{Desk, help};

#[test]
fn every_command_has_a_help_with_an_example() {
    let desk = Desk::new(crate::PROGRAM);
    let seen = help::walk(&desk, "guestright-lab", &[]);
    for wanted in
        ["run", "artifact", "advise", "traffic listen", "tunnel esp-keys", "tunnel wireguard", "manual"]
    {
        assert!(seen.iter().any(|path| path == wanted), "{wanted} is missing among {seen:?}");
    }
    assert!(desk.run("--version").starts_with("guestright-lab "));
    let (code, words) = desk.fail("no-such-command");
    assert!(code == 2 && words.contains("no-such-command"), "{code} {words}");
}

#[test]
fn a_failure_is_told_by_the_name_of_the_program() {
    let (code, words) = Desk::new(crate::PROGRAM).fail("run no-such-plan");
    assert!(code == 1 && words.starts_with("guestright-lab: there is no plan no-such-plan\n"), "{words}");
}

#[test]
fn completions_and_manual_are_those_of_this_program() {
    let desk = Desk::new(crate::PROGRAM);
    for shell in ["bash", "zsh", "fish"] {
        let script = desk.run(&format!("completions {shell}"));
        assert!(script.contains("guestright-lab") && script.contains("esp-keys"), "{shell}");
    }
    std::fs::create_dir(desk.path("man")).unwrap();
    desk.run("manual man");
    for wanted in ["guestright-lab.1", "guestright-lab-run.1", "guestright-lab-tunnel-esp.1"] {
        assert!(desk.read(&format!("man/{wanted}")).contains(".TH "), "{wanted}");
    }
}

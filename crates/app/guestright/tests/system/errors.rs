//! What every command says when it cannot: an exit code of README.md's table, a sentence, and what to do.

use crate::town::{desk, guestright};
use serde_json::Value;

/// A folder with a team, settings that are right and some that are not, and files that are no such files.
fn folder() -> guestright_testbed::Desk {
    let desk = desk();
    desk.run("team init --dir family");
    for (name, role) in [("router", "access-point"), ("home", "home"), ("alice", "member")] {
        desk.run(&format!("team member add {name} --role {role} --dir family"));
    }
    desk.write(
        "home.toml",
        "key = \"family/home.key\"\ncertificate = \"family/home.cert\"\nstate = \"home-state\"\n",
    );
    desk.write(
        "ap.toml",
        "key = \"family/router.key\"\ncertificate = \"family/router.cert\"\nhome = \"127.0.0.1:7274\"\n\
         visitor_interface = \"nowhere0\"\nuplink_interface = \"nowhere1\"\n",
    );
    let ap = desk.read("ap.toml");
    desk.write(
        "zero.toml",
        &format!("{ap}[shaping]\ndown_bits_per_second = 0\nup_bits_per_second = 1000000\n"),
    );
    desk.write("bad", "this is nothing\n");
    desk
}

/// Who is asked for what is not there: the command line, and the code.
#[rustfmt::skip]
const CASES: [(&str, i32, &str); 62] = [
    // A file that is missing.
    ("ap --config none.toml",                              78, "none.toml"),
    ("ap --dry-run --config none.toml",                    78, "none.toml"),
    ("ap --show-config --config none.toml",                78, "none.toml"),
    ("ap status --config none.toml",                       78, "none.toml"),
    ("ap reload --config none.toml",                       78, "none.toml"),
    ("ap off --config none.toml",                          78, "none.toml"),
    ("home --config none.toml",                            78, "none.toml"),
    ("home status --config none.toml",                     78, "none.toml"),
    ("home why 00 --config none.toml",                     78, "none.toml"),
    ("home accounts --config none.toml",                   78, "none.toml"),
    ("home reload --config none.toml",                     78, "none.toml"),
    ("home off --config none.toml",                        78, "none.toml"),
    ("visit --key none.key --certificate none.cert",       78, "none.key"),
    ("call bea --key none.key --certificate none.cert",    78, "none.key"),
    ("call listen --key none.key --certificate none.cert", 78, "none.key"),
    ("call card --certificate none.cert",                  78, "none.cert"),
    ("mos none.pcap",                                      78, "none.pcap"),
    ("receipt verify none.txt",                            78, "none.txt"),
    ("receipt import none.txt --store new.sqlite",         78, "none.txt"),
    ("receipt export none.sqlite",                         78, "none.sqlite"),
    ("team member add bob --dir none",                     78, "none"),
    ("team member list --dir none",                        78, "none"),
    ("team member revoke bob --dir family",                78, "bob"),
    ("team member show bob --dir family",                  78, "bob"),
    ("team member record --dir none",                      78, "none"),
    ("team backup new.key --dir none --passphrase-file bad", 78, "none"),
    ("team restore none.key --dir other",                  78, "none.key"),
    ("team gateway init --endpoint 192.0.2.1:51820 --dir none", 78, "none"),
    ("doctor --for ap --config none.toml",                  1, "missing"),
    ("manual nowhere",                                     78, "nowhere"),
    // A file that is wrong.
    ("ap --config bad",                                    78, "bad"),
    ("ap --config zero.toml",                              78, "shaping.down_bits_per_second"),
    ("ap --dry-run --config zero.toml",                    78, "shaping.down_bits_per_second"),
    ("home --config bad",                                  78, "bad"),
    ("visit --key bad --certificate bad",                  78, "bad"),
    ("call card --certificate bad",                        78, "bad"),
    ("call contact list --contacts bad",                   78, "bad"),
    ("mos bad",                                            78, "bad"),
    ("receipt verify bad",                                 78, "bad"),
    ("receipt import bad --store new.sqlite",              78, "bad"),
    ("receipt export bad",                                 78, "bad"),
    ("team restore bad --dir other",                       78, "bad"),
    ("home status --config bad",                           78, "bad"),
    // What cannot be done as it was asked.
    ("team member add ../x --dir family",                   1, "will not do"),
    ("call contact remove nobody --contacts list",          1, "nobody"),
    ("call contact add hello --contacts list",              1, "card"),
    ("mos --codec g711u",                                   1, "delay"),
    // Nobody there, and nothing to be had of the system.
    ("ap status --config ap.toml",                         69, "no access point runs"),
    ("ap reload --config ap.toml",                         69, "no access point runs"),
    ("ap --config ap.toml",                                69, "nowhere0"),
    ("ap --dry-run --config ap.toml",                      69, "nowhere0"),
    ("home status --config home.toml",                     69, "no home runs"),
    ("home reload --config home.toml",                     69, "no home runs"),
    ("home accounts --config home.toml",                   69, "no home runs"),
    ("visit status --state none",                          69, "no visit runs"),
    ("visit --key family/alice.key --certificate family/alice.cert --interface nowhere0 --access-point 192.0.2.1", 69, "nowhere0"),
    // Wrong usage.
    ("ap --no-such-option",                                 2, "--no-such-option"),
    ("home why",                                            2, "TEAM"),
    ("visit --update-seconds 0",                            2, "0"),
    ("mos --delay-ms -5 --codec g711u",                     2, "-5"),
    ("team member add",                                     2, "NAME"),
    ("receipt",                                             2, "receipt"),
];

#[test]
fn every_command_ends_with_a_code_of_the_table_and_says_why() {
    let desk = folder();
    let mut wrong = Vec::new();
    for (line, code, word) in CASES {
        let (got, words) = desk.fail(line);
        if got != code || !words.contains(word) {
            wrong.push(format!("{line}: {got} instead of {code}: {words}"));
        }
        // The same as an object; help stays help.
        let output =
            guestright().args(line.split(' ')).arg("--json").current_dir(desk.path("")).output().unwrap();
        let has_json = !["--show-config", "--dry-run", "manual"].iter().any(|word| line.contains(word));
        if !has_json || line == "receipt" || !line.contains(' ') {
            continue;
        }
        let answer = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = answer.lines().last().unwrap_or_default();
        let object: Value = serde_json::from_str(last).unwrap_or_default();
        let sentence = object["error"]["sentence"].as_str().unwrap_or_default();
        if output.status.code() != Some(code) || object["error"]["code"] != code || !sentence.contains(word) {
            wrong.push(format!("{line} --json: {:?}: {answer}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}\n{} of {}", wrong.join("\n"), wrong.len(), CASES.len());
    assert!(
        !desk.path("ap-state").exists() && !desk.path("new.sqlite").exists(),
        "nothing was made on the way"
    );
}

#[test]
fn an_interface_that_is_not_there_is_answered_with_those_that_are() {
    if !crate::town::inside("errors::an_interface_that_is_not_there_is_answered_with_those_that_are") {
        return;
    }
    let mut world = guestright_netns::World::new("err-").unwrap();
    world.add_host("router").unwrap();
    world.add_bridge("router", "br-guest").unwrap();
    let desk = folder();
    let ap = desk.read("ap.toml").replace("nowhere1", "br-guest");
    desk.write("ap.toml", &ap);
    let mut command = world.command("router", env!("CARGO_BIN_EXE_guestright")).unwrap();
    let output = command.args(["ap", "--config", "ap.toml"]).current_dir(desk.path("")).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("no interface \"nowhere0\"") && words.contains("this computer has: br-guest"),
        "{words}"
    );
    assert_eq!(output.status.code(), Some(69));
}

#[test]
fn a_telephone_without_a_sound_card_says_so_before_anybody_calls() {
    let desk = folder();
    let line =
        "call listen --direct --address 127.0.0.1 --key family/alice.key --certificate family/alice.cert";
    // A computer with a sound card has none for this program.
    let mut command = desk.command(line);
    let output = command.env("ALSA_CONFIG_PATH", desk.path("none")).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(69), "{words}");
    assert!(words.contains("--no-sound"), "{words}");
    assert!(
        output.stdout.is_empty(),
        "it does not wait for calls: {}",
        String::from_utf8_lossy(&output.stdout)
    );
}

//! `guestright-lab tunnel wireguard`: two ends from stock configurations, in two network namespaces.

use guestright_netns::{LinkOptions, World};
use guestright_testbed::{Program, inside, until};
use guestright_tunnel::wireguard::PrivateKey;
use rustix::process::Signal;
use std::path::Path;

#[test]
fn runs_two_ends_of_wireguard_from_stock_configurations() {
    if !inside("wireguard::runs_two_ends_of_wireguard_from_stock_configurations") {
        return;
    }
    let mut world = World::new("wg-").unwrap();
    for host in ["one", "two"] {
        world.add_host(host).unwrap();
    }
    world.link(("one", "eth0"), ("two", "eth0"), &LinkOptions::default()).unwrap();
    world.address("one", "eth0", "192.0.2.1/24").unwrap();
    world.address("two", "eth0", "192.0.2.2/24").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let keys = [1, 2].map(|number| PrivateKey::from_random([number; 32]));
    let programs = [("one", 0, 1), ("two", 1, 0)].map(|(host, own, other)| {
        let text = format!(
            "[Interface]\nPrivateKey = {}\nListenPort = 51820\nAddress = 10.98.0.{}/24\n\
             [Peer]\nPublicKey = {}\nAllowedIPs = 10.98.0.{}/32\nEndpoint = 192.0.2.{}:51820\n",
            keys[own].to_base64().as_str(),
            own + 1,
            keys[other].public(),
            other + 1,
            other + 1,
        );
        start(&world, host, &text, folder.path())
    });
    until("a ping comes back", || ping(&world));
    for mut program in programs {
        let log = program.log();
        assert!(keys.iter().all(|key| !log.contains(key.to_base64().as_str())), "no secret is told: {log}");
        program.signal(Signal::INT);
        program.hear_line("to sum up", |line| line.contains(" packets in, "));
        assert!(program.wait().success(), "{}", program.log());
    }
    for host in ["one", "two"] {
        assert!(world.run(host, "ip", &["link", "show", "wg0"]).is_err(), "no interface is left on {host}");
    }
}

#[test]
fn a_configuration_that_cannot_be_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.conf");
    std::fs::write(&file, "[Interface]\nPrivateKey = c2VjcmV0\n").unwrap();
    let output =
        crate::guestright_lab().args(["tunnel", "wireguard", "--config"]).arg(&file).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{stderr}");
    assert!(
        stderr.contains("bad.conf") && stderr.contains("line 2") && !stderr.contains("c2VjcmV0"),
        "{stderr}"
    );
}

fn start(world: &World, host: &str, text: &str, folder: &Path) -> Program {
    let file = folder.join(format!("{host}.conf"));
    std::fs::write(&file, text).unwrap();
    let mut command = world.command(host, crate::PROGRAM).unwrap();
    command.args(["tunnel", "wireguard", "--config"]).arg(file).args(["--interface", "wg0"]);
    let program = Program::start(&mut command, &folder.join(format!("{host}.log")));
    program.hear_line("to be up", |line| line.starts_with("wg0 is up"));
    program
}

fn ping(world: &World) -> bool {
    let mut command = world.command("one", "ping").unwrap();
    command.args(["-n", "-c", "1", "-W", "1", "10.98.0.2"]).output().unwrap().status.success()
}

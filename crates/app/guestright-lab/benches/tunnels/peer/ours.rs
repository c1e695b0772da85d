//! Our own ways, by the program as it is released.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};

use super::wireguard::{CLIENT_INNER, Key, PORT, SERVER_INNER};
use super::{Tunnel, require, wait_until};
use crate::lab::{CLIENT, Lab, Problem, SERVER, SERVER_ADDRESS};
use crate::path::Suite;

/// Built with the profile of the benchmark.
pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_guestright-lab");

const ESP_SERVER_INNER: Ipv4Addr = Ipv4Addr::new(10, 93, 0, 1);
const ESP_CLIENT_INNER: Ipv4Addr = Ipv4Addr::new(10, 93, 0, 2);

/// ESP in UDP, with the keys and the MTU that our own command writes.
pub(super) fn esp(lab: &Lab, suite: Suite) -> Result<Tunnel, Problem> {
    let (name, is_legacy) = match suite {
        Suite::AesGcm => ("aes-128-gcm", false),
        Suite::ChaCha => ("chacha20-poly1305", false),
        Suite::AesMd5 => ("aes-128-cbc+hmac-md5-96", true),
        Suite::TripleDesSha1 => ("3des-cbc+hmac-sha1-96", true),
    };
    let (server, client) = (lab.file("server.toml"), lab.file("client.toml"));
    let outer = format!("{SERVER_ADDRESS}:4500");
    let (server_inner, client_inner) = (format!("{ESP_SERVER_INNER}/24"), format!("{ESP_CLIENT_INNER}/24"));
    #[rustfmt::skip]
    let mut arguments = vec![
        "tunnel", "esp-keys", "--suite", name, "--one", &outer, "--inner-one", &server_inner,
        "--inner-two", &client_inner, &server, &client,
    ];
    if is_legacy {
        arguments.insert(2, "--legacy-paper");
    }
    lab.world.run(SERVER, PROGRAM, &arguments).context("make keys")?;
    // The server learns where the client is, and so comes first.
    let mut daemons = Vec::new();
    for (host, file) in [(SERVER, &server), (CLIENT, &client)] {
        daemons.push(lab.spawn(host, PROGRAM, &["tunnel", "esp", "--config", file], host)?);
        let daemon = daemons.last_mut().expect("just pushed");
        wait_until(daemon, "a word that it is up", |daemon| daemon.output().contains("is up"))?;
    }
    Ok(Tunnel { daemons, server: ESP_SERVER_INNER })
}

/// WireGuard, from files as stock apps read them.
pub(super) fn wireguard(lab: &Lab) -> Result<Tunnel, Problem> {
    require("wg")?;
    let (server, client) = (Key::new()?, Key::new()?);
    let server_file = lab.write(
        "server.conf",
        &format!(
            "[Interface]\nPrivateKey = {}\nAddress = {SERVER_INNER}/24\nListenPort = {PORT}\n\n\
             [Peer]\nPublicKey = {}\nAllowedIPs = {CLIENT_INNER}/32\n",
            server.private, client.public
        ),
    )?;
    let client_file = lab.write(
        "client.conf",
        &format!(
            "[Interface]\nPrivateKey = {}\nAddress = {CLIENT_INNER}/24\n\n\
             [Peer]\nPublicKey = {}\nAllowedIPs = 10.98.0.0/24\nEndpoint = {SERVER_ADDRESS}:{PORT}\n",
            client.private, server.public
        ),
    )?;
    let mut daemons = Vec::new();
    for (host, file) in [(SERVER, &server_file), (CLIENT, &client_file)] {
        let arguments = ["tunnel", "wireguard", "--config", file, "--interface", "gr0"];
        daemons.push(lab.spawn(host, PROGRAM, &arguments, host)?);
        let daemon = daemons.last_mut().expect("just pushed");
        wait_until(daemon, "a word that it is up", |daemon| daemon.output().contains("is up"))?;
    }
    Ok(Tunnel { daemons, server: SERVER_INNER })
}

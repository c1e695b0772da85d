//! OpenVPN between two ends that trust each other's certificate.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};

use super::{Tunnel, require, wait_until};
use crate::lab::{CLIENT, Lab, Problem, SERVER, SERVER_ADDRESS};

const SERVER_INNER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);
const CLIENT_INNER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);

/// The rest is OpenVPN's default, `mssfix` among it.
const COMMON: &str = "--dev tun0 --dev-type tun --proto udp --cipher AES-128-GCM --data-ciphers AES-128-GCM \
                      --auth none --verb 1 --keepalive 10 60 --topology p2p --tls-cert-profile preferred";

pub(super) fn start(lab: &Lab) -> Result<Tunnel, Problem> {
    let program = require("openvpn")?;
    for name in [SERVER, CLIENT] {
        certify(lab, name)?;
    }
    let mut daemons = Vec::new();
    for (host, peer, role) in [
        (SERVER, CLIENT, format!("--tls-server --dh none --port 1194 --local {SERVER_ADDRESS}")),
        (CLIENT, SERVER, format!("--tls-client --remote {SERVER_ADDRESS} 1194 --lport 0")),
    ] {
        let (own, other) = match host {
            SERVER => (SERVER_INNER, CLIENT_INNER),
            _ => (CLIENT_INNER, SERVER_INNER),
        };
        let (certificate, key) = (lab.file(&format!("{host}.crt")), lab.file(&format!("{host}.pem")));
        let foreign = lab.file(&format!("{peer}.crt"));
        let line = format!(
            "{COMMON} {role} --ca {foreign} --cert {certificate} --key {key} --ifconfig {own} {other}"
        );
        let arguments: Vec<&str> = line.split_whitespace().collect();
        daemons.push(lab.spawn(host, &program, &arguments, host)?);
    }
    let client = daemons.last_mut().expect("two were started");
    wait_until(client, "a connection", |client| {
        client.output().contains("Initialization Sequence Completed")
    })?;
    Ok(Tunnel { daemons, server: SERVER_INNER })
}

/// A certificate that signs itself, valid for this day.
fn certify(lab: &Lab, name: &str) -> Result<()> {
    let (key, certificate) = (lab.file(&format!("{name}.pem")), lab.file(&format!("{name}.crt")));
    let subject = format!("/CN={name}");
    #[rustfmt::skip]
    let arguments = [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", &subject, "-keyout", &key, "-out", &certificate,
    ];
    lab.world.run(name, "openssl", &arguments).map(|_| ()).context("make a certificate")
}

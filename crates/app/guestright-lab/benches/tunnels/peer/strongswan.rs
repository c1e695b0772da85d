//! strongSwan with its own data path (kernel-libipsec): tunnel mode in UDP, as its packages in Debian 12 do it.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context as _, Result};
use guestright_netns::Process;

use super::{Tunnel, find, require, wait_until};
use crate::SCRATCH;
use crate::lab::{CLIENT, Lab, Problem, SERVER, SERVER_ADDRESS};
use crate::path::Suite;

const CHARON: &str = "/usr/lib/ipsec/charon";
const PLUGIN: &str = "/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so";
/// libipsec's gateway needs an address of its own inside the network that it offers.
const SERVER_INNER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// What is offered: (ESP, IKE, version of IKE). The old suites are version 1's, as in the papers.
fn proposals(suite: Suite) -> (&'static str, &'static str, u8) {
    match suite {
        Suite::AesGcm => ("aes128gcm16", "aes128-sha256-modp2048", 2),
        Suite::ChaCha => ("chacha20poly1305", "aes128-sha256-modp2048", 2),
        Suite::AesMd5 => ("aes128-md5", "aes128-md5-modp1024", 1),
        Suite::TripleDesSha1 => ("3des-sha1", "3des-sha1-modp1024", 1),
    }
}

pub(super) fn version() -> Option<String> {
    super::first_line(Path::new(CHARON), &["--version"])
}

pub(super) fn start(lab: &Lab, suite: Suite) -> Result<Tunnel, Problem> {
    if !Path::new(CHARON).exists() || !Path::new(PLUGIN).exists() {
        return Err(Problem::Absent("strongSwan with kernel-libipsec is not installed".to_owned()));
    }
    let swanctl = require("swanctl")?;
    let shell = find("sh").context("a shell")?;
    lab.world.address(SERVER, "lo", &format!("{SERVER_INNER}/32"))?;
    let mut daemons = Vec::new();
    for host in [SERVER, CLIENT] {
        let mut daemon = daemon(lab, &shell, host)?;
        let socket = lab.file(&format!("{host}.vici"));
        wait_until(&mut daemon, "a vici socket", |_| Path::new(&socket).exists())?;
        let text = if host == SERVER { home(suite) } else { visitor(suite) };
        let file = lab.write(&format!("{host}.swanctl"), &text)?;
        control(lab, &swanctl, host, &["--load-all", "--file", &file])?;
        daemons.push(daemon);
    }
    control(lab, &swanctl, CLIENT, &["--initiate", "--child", "net", "--timeout", "10"])?;
    Ok(Tunnel { daemons, server: SERVER_INNER })
}

/// charon keeps its process id below `/run`, so that each one gets a `/run` of its own. (`ip netns exec` gave it a
/// mount namespace.)
fn daemon(lab: &Lab, shell: &Path, host: &str) -> Result<Process> {
    let file = lab.write(
        &format!("{host}.strongswan"),
        &format!(
            "charon {{
  load = random nonce openssl aes des md5 sha1 sha2 hmac gmp kdf gcm chapoly kernel-libipsec kernel-netlink \
socket-default vici updown
  port = 500
  port_nat_t = 4500
  install_virtual_ip = yes
  filelog {{ stderr {{ default = 1
    esp = 0 }} }}
  plugins {{ kernel-libipsec {{ allow_peer_ts = yes }}
    vici {{ socket = unix://{} }} }}
}}
",
            lab.file(&format!("{host}.vici"))
        ),
    )?;
    // The files of this measurement stay reachable below the new one.
    let own = lab.file(&format!("{host}.run"));
    let script = format!(
        "mkdir {own} && mount -t tmpfs t {own} && mkdir {own}/tunnels && mount --bind {SCRATCH} {own}/tunnels && \
         mount --rbind {own} /run && exec env STRONGSWAN_CONF={file} {CHARON}"
    );
    lab.spawn(host, shell, &["-c", &script], host)
}

fn control(lab: &Lab, swanctl: &Path, host: &str, arguments: &[&str]) -> Result<()> {
    let uri = format!("unix://{}", lab.file(&format!("{host}.vici")));
    let mut all: Vec<&str> = arguments.to_vec();
    all.extend(["--uri", &uri]);
    let program = swanctl.to_string_lossy();
    lab.world.run(host, &program, &all).map(|_| ()).with_context(|| format!("swanctl {}", arguments[0]))
}

fn home(suite: Suite) -> String {
    let (esp, ike, version) = proposals(suite);
    format!(
        "connections {{ rw {{ version = {version}
  local_addrs = {SERVER_ADDRESS}
  proposals = {ike}
  pools = visitors
  local {{ auth = psk
    id = home.example }}
  remote {{ auth = psk }}
  children {{ net {{ local_ts = 0.0.0.0/0
    esp_proposals = {esp}
    mode = tunnel }} }}
}} }}
pools {{ visitors {{ addrs = 10.99.0.10-10.99.0.200 }} }}
{SECRET}"
    )
}

fn visitor(suite: Suite) -> String {
    let (esp, ike, version) = proposals(suite);
    format!(
        "connections {{ home {{ version = {version}
  remote_addrs = {SERVER_ADDRESS}
  proposals = {ike}
  vips = 0.0.0.0
  local {{ auth = psk
    id = visitor }}
  remote {{ auth = psk
    id = home.example }}
  children {{ net {{ remote_ts = 10.99.0.0/24
    esp_proposals = {esp}
    mode = tunnel }} }}
}} }}
{SECRET}"
    )
}

const SECRET: &str = "secrets { ike-1 { secret = \"known to everybody who reads this\" } }\n";

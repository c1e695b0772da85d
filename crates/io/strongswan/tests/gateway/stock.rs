//! A stock strongSwan as a client: charon with kernel-libipsec and swanctl, as a distribution has them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guestright_netns::testing::PATIENCE;
use guestright_netns::{Process, World};

/// What a client is configured with. The rest is what roaming clients commonly have: a virtual address, and a new
/// connection when the gateway is silent.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings<'a> {
    pub(crate) version: u8,
    pub(crate) ike: &'a str,
    pub(crate) esp: &'a str,
    pub(crate) gateway: &'a str,
    pub(crate) gateway_id: &'a str,
    /// The lines of section `local`, and those of `secrets`.
    pub(crate) local: String,
    pub(crate) secrets: String,
    /// The authentication that it wants of the gateway, with further lines.
    pub(crate) remote: &'a str,
}

impl<'a> ClientSettings<'a> {
    /// IKEv2 with a pre-shared key.
    pub(crate) fn psk(gateway: &'a str, gateway_id: &'a str, name: &str, secret: &str) -> Self {
        Self {
            version: 2,
            ike: "aes128-sha256-modp2048",
            esp: "aes128gcm16",
            gateway,
            gateway_id,
            local: format!("auth = psk\n id = {name}\n"),
            secrets: format!("ike-1 {{ secret = \"{secret}\" }}"),
            remote: "auth = psk",
        }
    }
}

/// A client on a host. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Client {
    directory: PathBuf,
    process: Option<Process>,
}

impl Client {
    /// Starts one in a directory of its own, which must not be below `/run`. It sends a message again after each second
    /// without an answer, so often, and then gives up.
    pub(crate) fn start(world: &World, host: &str, directory: &Path, retransmissions: u32) -> Self {
        std::fs::create_dir_all(directory).unwrap();
        let shown = directory.display();
        let text = format!(
            "charon {{
  load = random nonce openssl aes md5 sha1 sha2 hmac gmp kdf curve25519 gcm ctr chapoly pem pkcs1 x509 pubkey constraints eap-identity eap-mschapv2 kernel-libipsec kernel-netlink socket-default vici
  install_virtual_ip = yes
  retransmit_tries = {retransmissions}
  retransmit_timeout = 1.0
  retransmit_base = 1
  filelog {{ stderr {{ default = 1
    flush_line = yes }} }}
  plugins {{ vici {{ socket = unix://{shown}/vici }} }}
}}
"
        );
        std::fs::write(directory.join("strongswan.conf"), text).unwrap();
        let mut client = Self { directory: directory.to_owned(), process: None };
        client.restart(world, host);
        client
    }

    /// Kills it if it runs, and starts it again.
    pub(crate) fn restart(&mut self, world: &World, host: &str) {
        self.kill();
        let configuration = self.directory.join("strongswan.conf");
        // charon has the place of its process-id file built in.
        let script = "mount -t tmpfs own /run && STRONGSWAN_CONF=\"$0\" exec /usr/lib/ipsec/charon";
        let arguments = ["--mount", "sh", "-c", script, configuration.to_str().unwrap()];
        let log = self.directory.join("log");
        self.process = Some(world.spawn(host, "unshare", arguments, &log).unwrap());
        self.until("the client's charon to answer", || self.swanctl(&["--version", "--daemon"]).is_ok());
    }

    /// Ends it as nobody can expect.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
        }
        let _ = std::fs::remove_file(self.directory.join("vici"));
    }

    pub(crate) fn log(&self) -> String {
        self.process.as_ref().map(Process::output).unwrap_or_default()
    }

    fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < deadline, "waited in vain for {what}: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Loads a configuration in place of the one before.
    pub(crate) fn configure(&self, settings: &ClientSettings<'_>) {
        let ClientSettings { version, ike, esp, gateway, gateway_id, local, secrets, remote } = settings;
        let text = format!(
            "connections {{ home {{
  version = {version}
  remote_addrs = {gateway}
  proposals = {ike}
  vips = 0.0.0.0
  dpd_delay = 2s
  dpd_timeout = 6s
  local {{ {local} }}
  remote {{ {remote}
    id = {gateway_id} }}
  children {{ home {{
    remote_ts = 0.0.0.0/0
    esp_proposals = {esp}
    dpd_action = start
    close_action = start }} }}
}} }}
secrets {{ {secrets} }}
"
        );
        let file = self.directory.join("swanctl.conf");
        std::fs::write(&file, text).unwrap();
        self.swanctl(&["--load-all", "--clear", "--file", file.to_str().unwrap()]).unwrap();
    }

    /// Connects; the log if the gateway refuses.
    pub(crate) fn connect(&self) -> Result<String, String> {
        self.swanctl(&["--initiate", "--child", "home", "--timeout", "60"])
    }

    /// Waits until it would notice that it comes from another port. It does when the gateway's answer to a dead-peer check
    /// says another one than the answer before (RFC 4555 section 3.8). The first answer is only remembered, so a port that
    /// has changed before it is not noticed at all.
    pub(crate) fn until_it_knows_its_port(&self) {
        let is_answer =
            |line: &str| line.contains("parsed INFORMATIONAL response") && line.contains("N(NATD_D_IP)");
        self.until("an answer to the client's dead-peer check", || self.log().lines().any(is_answer));
    }

    /// Disconnects in good order.
    pub(crate) fn disconnect(&self) {
        self.swanctl(&["--terminate", "--ike", "home", "--timeout", "60"]).unwrap();
    }

    fn swanctl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("/usr/sbin/swanctl");
        command.args(arguments).arg("--uri").arg(format!("unix://{}/vici", self.directory.display()));
        command.env("STRONGSWAN_CONF", self.directory.join("strongswan.conf")).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() { Ok(text) } else { Err(text) }
    }
}

//! charon's own configuration file. There is no secret in it.

use crate::{DataPlane, Installation};

/// How charon sees its directory: see [`crate::process`]. The names begin with `charon.` because the access rules that
/// distributions ship for it (AppArmor) allow `/run/charon.*`.
pub(crate) const FILE: &str = "charon.conf";
pub(crate) const SOCKET: &str = "charon.vici";

/// What charon can do without any plugin missing: the algorithms, the socket, the control socket.
const PLUGINS: [&str; 26] = [
    "random",
    "nonce",
    "openssl",
    "aes",
    "des",
    "md4",
    "md5",
    "sha1",
    "sha2",
    "hmac",
    "gmp",
    "kdf",
    "curve25519",
    "gcm",
    "ctr",
    "chapoly",
    "pem",
    "pkcs1",
    "pkcs8",
    "x509",
    "pubkey",
    "constraints",
    "eap-identity",
    "eap-mschapv2",
    "socket-default",
    "vici",
];

/// The text of strongswan.conf.
///
/// What is not a plugin: it logs to standard error, without secrets (level 1), and nowhere else; a half-open handshake
/// is dropped after 15 s, and from the tenth on whoever begins one has to prove its address first (RFC 7296 section
/// 2.6); a client that has gone is noticed after about 26 s of silence.
pub(crate) fn render(installation: &Installation, data_plane: DataPlane) -> String {
    let mut plugins: Vec<&str> = PLUGINS.into_iter().filter(|plugin| installation.has(plugin)).collect();
    if data_plane == DataPlane::Userspace {
        // Before kernel-netlink, so that it is the one that is asked to carry packets.
        plugins.push("kernel-libipsec");
    }
    plugins.push("kernel-netlink");
    let plugins = plugins.join(" ");
    format!(
        "charon {{
  load = {plugins}
  threads = 16
  install_virtual_ip = no
  half_open_timeout = 15
  cookie_threshold = 10
  init_limit_half_open = 500
  retransmit_tries = 4
  retransmit_timeout = 2.0
  retransmit_base = 1.5
  filelog {{
    stderr {{
      default = 1
      flush_line = yes
    }}
  }}
  syslog {{
    daemon {{
      default = -1
    }}
    auth {{
      default = -1
    }}
  }}
  plugins {{
    vici {{
      socket = unix:///run/{SOCKET}
    }}
  }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_what_is_there_and_the_userspace_plugin_first() {
        let directory = tempfile::tempdir().unwrap();
        for plugin in ["vici", "openssl"] {
            let file = directory.path().join(format!("libstrongswan-{plugin}.so"));
            std::fs::write(file, "").unwrap();
        }
        let found = Installation { charon: "/bin/true".into(), plugins: directory.path().to_owned() };
        let line = |plane| render(&found, plane).lines().nth(1).unwrap().to_owned();
        assert_eq!(line(DataPlane::Userspace), "  load = openssl vici kernel-libipsec kernel-netlink");
        assert_eq!(line(DataPlane::Kernel), "  load = openssl vici kernel-netlink");
    }
}

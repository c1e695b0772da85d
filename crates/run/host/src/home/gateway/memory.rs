//! Where members were last heard from, kept so that a gateway that starts again can begin handshakes with them.
//!
//! A stock client notices by itself that its gateway has forgotten it, after 15 seconds (WireGuard's
//! KEEPALIVE_TIMEOUT and REKEY_TIMEOUT), and only if it has something to send. A handshake that begins at the gateway
//! reaches it at once, through its NAT, which still knows the flow.

use crate::private;
use guestright_error::RunError;
use guestright_tunnel::wireguard::PublicKey;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// No such file is longer: 1,024 members of about 100 bytes.
const FILE_MAX: usize = 256 * 1024;

/// The file, and what is in it.
#[derive(Debug)]
pub(super) struct Memory {
    path: PathBuf,
    endpoints: BTreeMap<PublicKey, SocketAddr>,
}

impl Memory {
    /// Reads the file. One that cannot be read is as good as none: members come back by themselves, later.
    pub(super) fn open(path: &Path) -> Self {
        let read = guestright_keys::read_to_limit(path, FILE_MAX).unwrap_or_default();
        let endpoints = parse(&String::from_utf8_lossy(&read));
        Self { path: path.to_owned(), endpoints }
    }

    /// Where a member was last heard from.
    pub(super) fn endpoint(&self, key: &PublicKey) -> Option<SocketAddr> {
        self.endpoints.get(key).copied()
    }

    /// Keeps what is new; writes the file if something is.
    pub(super) fn keep(&mut self, endpoints: BTreeMap<PublicKey, SocketAddr>) -> Result<(), RunError> {
        if endpoints == self.endpoints {
            return Ok(());
        }
        self.endpoints = endpoints;
        let line = |(key, endpoint): (&PublicKey, &SocketAddr)| format!("{key} {endpoint}\n");
        private::replace(&self.path, self.endpoints.iter().map(line).collect::<String>().as_bytes())
    }
}

/// One line each: key, endpoint. Other lines are passed over.
fn parse(text: &str) -> BTreeMap<PublicKey, SocketAddr> {
    let line = |line: &str| {
        let (key, endpoint) = line.split_once(' ')?;
        Some((key.parse().ok()?, endpoint.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn remembers_over_a_restart_and_survives_a_broken_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("endpoints");
        let (known, unknown) = (PublicKey([1; 32]), PublicKey([2; 32]));
        let endpoints: BTreeMap<_, _> = [
            (known, "192.0.2.7:4711".parse().unwrap()),
            (PublicKey([3; 32]), "[2001:db8::1]:9".parse().unwrap()),
        ]
        .into();
        let mut memory = Memory::open(&path);
        assert_eq!(memory.endpoint(&known), None);
        memory.keep(endpoints.clone()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Memory::open(&path);
        assert_eq!(again.endpoints, endpoints);
        assert_eq!(again.endpoint(&unknown), None);
        std::fs::write(&path, b"\xff\xfe garbage\nx y\n").unwrap();
        assert_eq!(Memory::open(&path).endpoints.len(), 0);
    }
}

//! A member's way home for the IKEv2 and L2TP clients that phones and computers have built in.

use crate::directory::gateway;
use guestright_error::RunError;
use guestright_host::gateway_files::{self, GatewayFiles, key_name};
use guestright_host::ike_files::{self, IkeFile};
use guestright_identity::{KeyId, Role};
use std::path::Path;
use zeroize::Zeroizing;

/// What a secret is made of: no two that look alike, 32 in all, so that each stands for 5 bits.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// 120 bits: whoever hears a handshake from its middle can guess at leisure.
const SECRET_LENGTH: usize = 24;

/// The gateway at which a new member will have a place.
#[derive(Debug)]
pub(crate) struct IkeGateway {
    files: GatewayFiles,
}

/// What a member has to enter.
#[derive(Debug)]
pub struct Access {
    pub server: String,
    pub identity: String,
    pub name: String,
    pub secret: Zeroizing<String>,
    pub address: std::net::Ipv4Addr,
}

impl IkeGateway {
    /// Finds the gateway, before anything is written.
    ///
    /// # Errors
    /// It is not for a member, its name cannot be sent, or it has access already.
    pub(crate) fn find(dir: &Path, name: &str, role: Role) -> Result<Self, RunError> {
        if role != Role::Member {
            let error = format!("only a member roams; {name} is to be a {role}");
            return Err(RunError::user(error).with_hint("leave out --ikev2"));
        }
        if !name.is_ascii() {
            let error =
                format!("IKEv2 clients identify themselves in letters of ASCII, and {name:?} has others");
            return Err(RunError::user(error)
                .with_hint("add this device under a name in a to z, or leave out --ikev2"));
        }
        let files = GatewayFiles::open(&dir.join(gateway_files::DIRECTORY))?;
        let path = ike_files::path(&files, name);
        if path.exists() {
            let error = format!("{name} has access already: {}", path.display());
            return Err(RunError::config(error).with_hint("every name is given once; choose another"));
        }
        Ok(Self { files })
    }

    /// Writes the member's file at the gateway.
    ///
    /// # Errors
    /// It cannot be written, or there is no address left.
    pub(crate) fn enrol(self, name: &str, key: KeyId) -> Result<Access, RunError> {
        let seed = Zeroizing::new(guestright_clock::seed().0);
        let letters = seed.iter().take(SECRET_LENGTH).map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
        let secret = Zeroizing::new(letters.collect::<String>());
        // Only now: until a moment ago the lock was held to give the member its address for WireGuard.
        let _lock = self.files.lock()?;
        let address = ike_files::free_address(&self.files)?;
        let file = IkeFile { address, secret: secret.to_string(), key_id: key_name(key), revoked: None };
        ike_files::create(&self.files, name, &file)?;
        self.files.hand_over()?;
        let (server, identity) = (ike_files::host(&self.files), ike_files::identity(&self.files));
        Ok(Access { server, identity, name: name.to_owned(), secret, address })
    }
}

/// Lets a member in no more. Says whether it was let in.
///
/// # Errors
/// Its file cannot be read or written.
pub(crate) fn revoke(dir: &Path, name: &str, since: &str) -> Result<bool, RunError> {
    let Some(files) = gateway(dir)? else { return Ok(false) };
    let _lock = files.lock()?;
    ike_files::revoke(&files, name, since)
}

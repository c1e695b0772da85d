//! Members that come home by IKEv2 or L2TP: `NAME.ike` in the gateway's directory (design note 0003, section 4).

use crate::gateway_files::{GatewayFiles, read_secret, to_toml};
use crate::private::{self, create_private};
use guestright_error::{OrFail as _, RunError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// How the gateway calls itself where its endpoint is an address: clients tell the ways in apart by the identity.
const IDENTITY: &str = "home.guestright";

/// `NAME.ike`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IkeFile {
    /// The member's address in the gateway's network.
    pub address: Ipv4Addr,
    /// Its pre-shared key, and its password.
    pub secret: String,
    /// The name of its key in the team.
    pub key_id: String,
    /// Since when it is let in no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
}

impl Drop for IkeFile {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl std::fmt::Debug for IkeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IkeFile({} at {})", self.key_id, self.address)
    }
}

/// The gateway's identity towards IKE clients: the name in its endpoint.
pub fn identity(files: &GatewayFiles) -> String {
    if files.endpoint.socket_address().is_some() {
        return IDENTITY.to_owned();
    }
    host(files)
}

/// The host in the gateway's endpoint: what a client has to call.
pub fn host(files: &GatewayFiles) -> String {
    let endpoint = files.endpoint.to_string();
    endpoint.rsplit_once(':').map_or(endpoint.clone(), |(host, _)| host.trim_matches(['[', ']']).to_owned())
}

/// Where a member's file is.
pub fn path(files: &GatewayFiles, name: &str) -> PathBuf {
    files.path().join(format!("{name}.ike"))
}

/// Every file, with the member's name, in order of names.
pub fn read_all(files: &GatewayFiles) -> Result<Vec<(String, IkeFile)>, RunError> {
    let directory = || format!("read {}", files.path().display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(files.path()).or_config(directory)? {
        let path = entry.or_config(directory)?.path();
        if path.extension().is_some_and(|extension| extension == "ike") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, read(&path)?));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn read(path: &Path) -> Result<IkeFile, RunError> {
    let text = Zeroizing::new(read_secret(path)?);
    // An error of the parser would show the line, which may be a secret.
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        RunError::config(format!("{}: {}", path.display(), error.message()))
    })
}

/// The highest address that nobody has: WireGuard's members have the low ones.
pub fn free_address(files: &GatewayFiles) -> Result<Ipv4Addr, RunError> {
    let mut taken = BTreeSet::from([files.address()]);
    taken.extend(read_all(files)?.iter().map(|(_, file)| file.address));
    for name in files.names()? {
        taken.extend(files.peer_file(&name)?.map(|peer| peer.address));
    }
    let (first, prefix) = files.network;
    let last = first.to_bits() | (u32::MAX >> prefix);
    let mut free = (first.to_bits() + 1..last).rev().map(Ipv4Addr::from_bits);
    free.find(|address| !taken.contains(address)).ok_or_else(|| {
        RunError::config(format!("every address of {} is taken", files.file.network))
            .with_hint("remove the files of members that are gone from the gateway's directory")
    })
}

/// Writes the file of a new member.
pub fn create(files: &GatewayFiles, name: &str, file: &IkeFile) -> Result<(), RunError> {
    create_private(&path(files, name), Zeroizing::new(to_toml(file)?).as_bytes())
}

/// Lets a member in no more. Says whether it was let in.
pub fn revoke(files: &GatewayFiles, name: &str, since: &str) -> Result<bool, RunError> {
    let path = path(files, name);
    if !path.exists() {
        return Ok(false);
    }
    let mut file = read(&path)?;
    file.revoked.get_or_insert_with(|| since.to_owned());
    private::replace(&path, Zeroizing::new(to_toml(&file)?).as_bytes())?;
    Ok(true)
}

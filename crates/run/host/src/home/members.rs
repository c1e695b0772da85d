//! The gateway's members, as the telephone exchange has to know them.

use super::gateway::Gateway;
use crate::gateway_files::GatewayFiles;
use crate::ike_files;
use guestright_directory::Record;
use guestright_error::{OrFail as _, RunError};
use guestright_exchange::Members;
use guestright_identity::KeyId;
use guestright_signalling::Member;
use guestright_units::TeamId;

/// The members with their keys, those that may come by IKEv2 too at both of their addresses, and their records as far as they have
/// left any.
pub(super) fn read(gateway: &Gateway) -> Result<Members, RunError> {
    let mut members = Members::default();
    // With a secret of the whole team anybody in it passes for any member there, and would call in that one's name.
    let by_ike = if gateway.knows_each_by_ike() { ike_files::read_all(gateway.files())? } else { Vec::new() };
    for (name, address, key) in gateway.members() {
        let other_way = by_ike.iter().find(|(owner, file)| owner == name && file.key_id == key);
        let other_address =
            other_way.filter(|(_, file)| file.revoked.is_none()).map(|(_, file)| file.address);
        let Ok(key) = key.parse::<TeamId>().map(|id| KeyId(id.0)) else {
            tracing::warn!("a member's file names no key: the member cannot be called from elsewhere");
            continue;
        };
        members.records.extend(read_record(gateway.files(), name)?);
        for address in [Some(address), other_address].into_iter().flatten() {
            members.all.push(Member { name: name.to_owned(), key, address: address.into() });
        }
    }
    Ok(members)
}

/// A member's word on where its home is, if it has left one. The file has nothing else in it.
fn read_record(files: &GatewayFiles, name: &str) -> Result<Option<Record>, RunError> {
    let path = files.record_path(name);
    if !path.exists() {
        return Ok(None);
    }
    let read = || -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Record::parse(&guestright_keys::read_to_limit(&path, Record::LEN_MAX)?)?)
    };
    read().map(Some).or_config(|| format!("read {}", path.display()))
}

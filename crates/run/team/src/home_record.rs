//! Members' words on where their home is, for others who call them (design note 0004, section 4).

use crate::directory::{certificates, member_files, revocations};
use guestright_directory::{Address, Record, Statement};
use guestright_error::{OrFail as _, RunError};
use guestright_host::gateway_files::{self, GatewayFiles};
use guestright_identity::{Certificate, Role, SecretKey};
use guestright_units::UnixSeconds;
use std::path::Path;

/// The certificate of the team's home: of several that hold, the newest.
///
/// # Errors
/// Certificates or the list of what is revoked cannot be read.
pub(crate) fn home(dir: &Path) -> Result<Option<Certificate>, RunError> {
    let now = guestright_clock::unix_seconds();
    let revoked = revocations(dir)?;
    let holds = |certificate: &Certificate| {
        let list = revoked.as_ref().map_or(Ok(()), |list| list.check_certificate(certificate, now));
        certificate.check(Role::Home, now).and(list).is_ok()
    };
    let homes = certificates(dir)?.into_iter().map(|(_, certificate)| certificate);
    Ok(homes.filter(holds).max_by_key(Certificate::not_before))
}

/// Signs anew for these members, or for all, as far as they have a tunnel and their keys are still in the team's directory.
/// Returns their names, and until when each record counts.
///
/// # Errors
/// The team has no home, nobody can be signed for, or one of those who were named cannot.
pub fn sign(
    dir: &Path,
    names: &[String],
    addresses: &[Address],
) -> Result<Vec<(String, UnixSeconds)>, RunError> {
    let files = GatewayFiles::open(&dir.join(gateway_files::DIRECTORY))?;
    let Some(home) = home(dir)? else {
        let dir = dir.display();
        return Err(RunError::config(format!("{dir} has no certificate of a home that holds"))
            .with_hint(format!("guestright team member add home --role home --dir {dir}")));
    };
    let mut signed = Vec::new();
    for (name, certificate) in certificates(dir)? {
        let (key, _) = member_files(dir, &name);
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let has_tunnel = certificate.role() == Role::Member && files.peer_file(&name)?.is_some();
        if !has_tunnel || !key.exists() {
            continue;
        }
        let key = guestright_keys::read_secret(&key, || None).map_err(RunError::config)?;
        let until = write(&files, &home, addresses, &name, &key, &certificate)?;
        signed.push((name, until));
    }
    let missing = names.iter().find(|name| !signed.iter().any(|(done, _)| done == *name));
    if signed.is_empty() || missing.is_some() {
        let who = missing.map_or_else(|| "nobody".to_owned(), |name| format!("{name} is no member that"));
        return Err(RunError::config(format!("{who} has both a tunnel and a key in {}", dir.display()))
            .with_hint("`guestright team member add NAME --qr` makes both"));
    }
    Ok(signed)
}

/// Where a member's record says that its home is.
///
/// # Errors
/// It cannot be read.
pub(crate) fn addresses(files: &GatewayFiles, name: &str) -> Result<Vec<Address>, RunError> {
    let path = files.record_path(name);
    let bytes = guestright_keys::read_to_limit(&path, Record::LEN_MAX).map_err(RunError::config)?;
    let record = Record::parse(&bytes).or_config(|| format!("read {}", path.display()))?;
    Ok(record.statement().addresses.clone())
}

/// Signs a member's record and writes it into the gateway's directory; returns the second until which it counts.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(
    files: &GatewayFiles,
    home: &Certificate,
    addresses: &[Address],
    name: &str,
    key: &SecretKey,
    certificate: &Certificate,
) -> Result<UnixSeconds, RunError> {
    let now = guestright_clock::unix_seconds();
    let addresses = if addresses.is_empty() {
        vec![gateway_files::link_address(&files.endpoint).map_err(RunError::config)?]
    } else {
        addresses.to_vec()
    };
    let not_after = now.plus(Record::LIFE_MAX - 1).min(certificate.not_after()).min(home.not_after());
    let statement = Statement {
        home: home.subject_id(),
        home_team: home.team_id(),
        addresses,
        sequence: now.0,
        not_before: now,
        not_after,
    };
    let record = Record::sign(key, certificate, statement)
        .or_config(|| format!("sign where the home of {name} is"))?;
    let path = files.record_path(name);
    guestright_keys::replace_private(&path, record.as_bytes()).map_err(RunError::config)?;
    Ok(not_after)
}

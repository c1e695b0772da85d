//! A connection for NetworkManager: a keyfile, and the two files that it names.
//!
//! Names of settings: `nm-settings-keyfile(5)`. The keyfile goes below `/etc/NetworkManager/system-connections`, where
//! NetworkManager takes it only if root alone can read it.

use std::fmt::{self, Write as _};

use guestright_units::Seed;
use zeroize::Zeroizing;

use crate::text::{check_name, one_line, pem};
use crate::{Phone, ProfileError, Secret, pkcs12};

/// The files of a connection.
pub struct Connection {
    /// Holds the password of the certificate's file.
    pub keyfile: Zeroizing<String>,
    /// `authority.pem` in the directory that was named.
    pub authority: String,
    /// `LABEL.p12` there.
    pub identity: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection(..)")
    }
}

/// The files of a connection whose certificates are in `directory`, an absolute path.
///
/// # Errors
/// What [`Phone::check`] says; or the directory is no absolute path.
pub fn connection(phone: &Phone, directory: &str, seed: &Seed) -> Result<Connection, ProfileError> {
    phone.check()?;
    check_name("a directory", directory)?;
    if !directory.starts_with('/') || directory.ends_with('/') {
        return Err(ProfileError::wrong(
            "a directory",
            directory,
            "an absolute path without a slash at its end",
        ));
    }
    // A file without a password would be refused: the key has to be encrypted, by whatever.
    let password = Secret::password(seed);
    let authority = escape(&format!("{directory}/authority.pem"));
    let identity = escape(&format!("{directory}/{}.p12", phone.label));
    // As numbers any name can stand there.
    let ssid: String = phone.ssid.as_bytes().iter().map(|byte| format!("{byte};")).collect();
    // Of the final length at once: what grows leaves pieces behind that nobody wipes.
    let mut keyfile = Zeroizing::new(String::with_capacity(4_096 + 4 * directory.len()));
    let written = write!(
        keyfile,
        "[connection]\nid={}\nuuid={}\ntype=wifi\nautoconnect=true\n\n\
         [wifi]\nmode=infrastructure\nssid={ssid}\n\n\
         [wifi-security]\nkey-mgmt=wpa-eap\nproto=rsn;\npairwise=ccmp;\npmf=2\n\n\
         [802-1x]\neap=tls;\nidentity={}\nca-cert={authority}\nclient-cert={identity}\nprivate-key={identity}\n\
         private-key-password={}\ndomain-match={}\n\n\
         [ipv4]\nmethod=auto\n\n[ipv6]\nmethod=auto\n",
        escape(&format!("{} (guestright)", one_line(&phone.team))),
        phone.uuid.derive("wifi").to_string().to_lowercase(),
        phone.outer_identity(),
        password.expose(),
        phone.server,
    );
    written.expect("a string takes everything");
    Ok(Connection {
        keyfile,
        authority: pem("CERTIFICATE", &phone.authority),
        identity: pkcs12::encode(&phone.label, &phone.certificate, &phone.key, Some(&password), seed),
    })
}

/// As GKeyFile reads it back: no line ends, no blank in front, and a backslash is two.
fn escape(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
    match escaped.strip_prefix(' ') {
        Some(rest) => format!("\\s{rest}"),
        None => escaped,
    }
}

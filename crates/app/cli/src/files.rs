//! Key files with a passphrase that is asked for, and the passphrase itself.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use guestright_channel::Credentials;
use guestright_identity::SecretKey;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Where a passphrase comes from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PassphraseArgs {
    /// File with the passphrase of the key, on its first line; otherwise it is asked for when it is needed
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// A passphrase from this file, if there is to be one.
    pub fn of_file(passphrase_file: Option<PathBuf>) -> Self {
        Self { passphrase_file }
    }

    fn read_file(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.passphrase_file else { return Ok(None) };
        let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()));
        let text = text.map_err(Failure::config)?;
        let line = text.lines().next().unwrap_or_default().to_owned();
        if line.is_empty() {
            return Err(Failure::config(anyhow!("{} has no passphrase on its first line", path.display())));
        }
        Ok(Some(line))
    }

    /// Whether a file with the passphrase was named.
    pub fn is_given(&self) -> bool {
        self.passphrase_file.is_some()
    }

    /// A passphrase for a new file.
    pub fn new_passphrase(&self) -> Result<String, Failure> {
        if let Some(passphrase) = self.read_file()? {
            return Ok(passphrase);
        }
        let ask = |prompt| {
            rpassword::prompt_password(prompt).map_err(|error| {
                Failure::user(anyhow!(error).context("ask for a passphrase"))
                    .hint("there is no terminal to ask on: give --passphrase-file")
            })
        };
        let (first, second) = (ask("New passphrase: ")?, ask("Again: ")?);
        if first != second || first.is_empty() {
            return Err(Failure::user(anyhow!("the two passphrases differ, or are empty")));
        }
        Ok(first)
    }

    /// What gives the passphrase of a file when it is needed: the file with it, or the person at the terminal.
    ///
    /// # Errors
    /// The file with it cannot be read.
    pub fn asker(&self, path: &Path) -> Result<impl Fn() -> Option<Zeroizing<String>>, Failure> {
        let given = self.read_file()?.map(Zeroizing::new);
        let prompt = format!("Passphrase of {}: ", path.display());
        Ok(move || {
            let ask = || rpassword::prompt_password(&prompt).ok().map(Zeroizing::new);
            given.clone().or_else(|| std::io::stdin().is_terminal().then(ask).flatten())
        })
    }

    /// Reads a key file, asking for its passphrase if it needs one.
    pub fn read_secret(&self, path: &Path) -> Result<SecretKey, Failure> {
        let given = self.read_file()?.map(Zeroizing::new);
        let ask = || {
            let prompt = || rpassword::prompt_password(format!("Passphrase of {}: ", path.display())).ok();
            given.or_else(|| std::io::stdin().is_terminal().then(prompt).flatten().map(Zeroizing::new))
        };
        guestright_keys::read_secret(path, ask).map_err(Failure::config)
    }

    /// The same as [`PassphraseArgs::credentials`] where nobody is there to be asked for a passphrase.
    pub fn credentials_without_asking(&self, key: &Path, certificate: &Path) -> Result<Credentials, Failure> {
        let given = self.read_file()?.map(Zeroizing::new);
        let secret = guestright_keys::read_secret(key, || given).map_err(Failure::config)?;
        belonging(secret, key, certificate)
    }

    /// Reads a key and the certificate that belongs to it.
    pub fn credentials(&self, key: &Path, certificate: &Path) -> Result<Credentials, Failure> {
        belonging(self.read_secret(key)?, key, certificate)
    }
}

/// A key with the certificate that belongs to it.
fn belonging(secret: SecretKey, key: &Path, certificate: &Path) -> Result<Credentials, Failure> {
    let certified = guestright_keys::read_certificate(certificate).map_err(Failure::config)?;
    if certified.subject() != secret.public() {
        let (key, certificate) = (key.display(), certificate.display());
        return Err(Failure::config(anyhow!("{certificate} is not the certificate of {key}"))
            .hint("a key and its certificate are made together by `guestright team member add`"));
    }
    Ok(Credentials { key: secret, certificate: certified })
}

/// The files that show whose member somebody is.
#[derive(Clone, Debug, clap::Args)]
pub struct MemberArgs {
    /// Your secret key
    #[arg(long, default_value = "member.key")]
    key: PathBuf,
    /// Your certificate
    #[arg(long, default_value = "member.cert")]
    certificate: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl MemberArgs {
    pub fn key(&self) -> &Path {
        &self.key
    }

    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// # Errors
    /// A file is missing or wrong, or the two do not belong together.
    pub fn credentials(&self) -> Result<Credentials, Failure> {
        self.passphrase.credentials(&self.key, &self.certificate).map_err(|failure| {
            failure
                .hint("name your files with --key and --certificate; `guestright team member add` makes them")
        })
    }
}

/// `path` as seen from the directory of the settings file.
pub fn beside(settings: &Path, path: &Path) -> PathBuf {
    settings.parent().unwrap_or(Path::new(".")).join(path)
}

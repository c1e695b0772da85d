//! The files of a phone, for each kind of system.

use guestright_error::RunError;
use guestright_profile::{
    Download, Phone, ProfileError, Secret, android, apple, network_manager, onc, pkcs12, supplicant,
};
use guestright_units::Seed;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Where NetworkManager's connection looks for the two files beside it.
const NETWORK_MANAGER: &str = "/etc/NetworkManager/guestright";

/// A file, and what it is called in a directory with the others.
pub(super) type Named = (String, Zeroizing<Vec<u8>>);

/// What a phone or computer imports.
pub(super) struct Files {
    /// For the page.
    pub(super) downloads: BTreeMap<Download, Zeroizing<Vec<u8>>>,
    /// What needs more than one file, or a hand: for a directory.
    pub(super) others: Vec<Named>,
    /// Of the file with the certificate alone.
    pub(super) password: Secret,
}

impl Files {
    /// # Errors
    /// The household's name, or another setting, cannot stand in one of them.
    pub(super) fn make(phone: &Phone, seed: &Seed) -> Result<Self, RunError> {
        Self::try_make(phone, seed).map_err(|error| {
            RunError::config(format!("the phone's files cannot be made: {error}"))
                .with_hint("names of the household and its Wi-Fi are in [phones] of home.toml")
        })
    }

    fn try_make(phone: &Phone, seed: &Seed) -> Result<Self, ProfileError> {
        let bytes = |text: Zeroizing<String>| Zeroizing::new(text.as_bytes().to_vec());
        let password = Secret::password(seed);
        let downloads = [
            (Download::Apple, bytes(apple::mobileconfig(phone, seed)?)),
            (Download::Android, bytes(android::wifi_config(phone, seed)?)),
            (Download::ChromeOs, bytes(onc::configuration(phone, seed)?)),
            (Download::Supplicant, bytes(supplicant::configuration(phone, seed)?)),
            (
                Download::Pkcs12,
                pkcs12::encode(&phone.label, &phone.certificate, &phone.key, Some(&password), seed),
            ),
        ];
        let connection = network_manager::connection(phone, NETWORK_MANAGER, seed)?;
        let others = vec![
            ("network-manager.nmconnection".to_owned(), bytes(connection.keyfile)),
            ("authority.pem".to_owned(), Zeroizing::new(connection.authority.into_bytes())),
            (format!("{}.p12", phone.label), connection.identity),
        ];
        Ok(Self { downloads: downloads.into(), others, password })
    }

    /// Every file by its name.
    pub(super) fn named(self) -> (Vec<Named>, Secret) {
        let name = |kind| match kind {
            Download::Apple => "apple.mobileconfig",
            Download::Android => "android.wifi-config",
            Download::ChromeOs => "chromeos.onc",
            Download::Pkcs12 => "certificate.p12",
            Download::Supplicant => "wpa_supplicant.conf",
            Download::WireGuard => "wireguard.conf",
        };
        let downloads = self.downloads.into_iter().map(|(kind, bytes)| (name(kind).to_owned(), bytes));
        (downloads.chain(self.others).collect(), self.password)
    }
}

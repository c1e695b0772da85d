//! Certificates that no honest authority makes.

use crate::phone::{Phone, Version};
use crate::world::{NOW, realm};
use guestright_eap::{Authority, Certificate, Credential, PrivateKey};
use guestright_units::UnixSeconds;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// Has an authority's name and not its key.
pub(crate) struct Impostor(Authority);

impl Impostor {
    /// The same chance gives the same name; here the name alone is put into another certificate.
    pub(crate) fn of(authority: &Authority) -> Self {
        let mut rng = StdRng::seed_from_u64(99);
        let other = Authority::found(realm(), NOW, &mut rng);
        let (from, to) = (name(other.certificate()), name(authority.certificate()));
        let der = replace(other.certificate().as_der(), &from, &to);
        let certificate = Certificate::from_der(&der).unwrap();
        let key = other.credential().key.clone();
        Self(Authority::restore(realm(), Credential { certificate, key }).unwrap())
    }

    pub(crate) fn client(&self, now: UnixSeconds) -> Credential {
        self.0.issue_client(now, &mut StdRng::seed_from_u64(100)).1
    }
}

/// The number in an authority's name, which is the only part of it that differs.
fn name(certificate: &Certificate) -> Vec<u8> {
    let start = b"guestright Wi-Fi ";
    let at = certificate.as_der().windows(start.len()).position(|window| window == start).unwrap();
    certificate.as_der()[at..at + start.len() + 8].to_vec()
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

/// Shows a certificate whose bytes are none.
pub(crate) struct Garbled(pub(crate) Credential);

impl Garbled {
    pub(crate) fn phone(&self, version: Version, authority: &Certificate) -> Phone {
        let mut der = self.0.certificate.as_der().to_vec();
        // The version of the form becomes one that there is not: 2 is the third and last.
        let at = der.windows(5).position(|window| window == [0xa0, 3, 2, 1, 2]).unwrap();
        der[at + 4] = 9;
        Phone::with_chain(version, authority, der, &self.0.key)
    }
}

/// Shows one certificate, and has the key of another.
pub(crate) struct Thief {
    pub(crate) certificate: Certificate,
    pub(crate) key: PrivateKey,
}

impl Thief {
    pub(crate) fn phone(&self, version: Version, authority: &Certificate) -> Phone {
        Phone::with_chain(version, authority, self.certificate.as_der().to_vec(), &self.key)
    }
}

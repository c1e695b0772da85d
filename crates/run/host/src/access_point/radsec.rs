//! RADIUS inside TLS (RFC 6614), beside that of hostapd on loopback: for radios and controllers elsewhere in the household that
//! speak it themselves, or through a proxy.
//!
//! Off unless the household sets it. TLS proves both sides: whoever connects shows a certificate of the one authority that the
//! household has named for this. What it asks then is as hostapd's, with the same limits and the same share of the loop.

#[cfg(feature = "phones")]
mod door;

#[cfg(feature = "phones")]
pub(super) use door::Door;

use crate::listen::is_of_household;
use guestright_error::RunError;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What the household has set. The files are PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub address: SocketAddr,
    /// What this access point shows, and its key.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Whose certificates are let in.
    pub authority: PathBuf,
}

impl Settings {
    /// # Errors
    /// An address that the Internet could reach, or a program without TLS.
    pub fn check(&self) -> Result<(), RunError> {
        if cfg!(not(feature = "phones")) {
            return Err(RunError::config("[phones] this program is built without TLS: leave radsec out"));
        }
        if !is_of_household(self.address.ip()) {
            let sentence =
                format!("[phones] radsec: {} is no address of a household's own network", self.address);
            return Err(RunError::config(sentence).with_hint(
                "give the one address at which your radios reach this computer, such as 192.168.1.1:2083",
            ));
        }
        if self.address.port() == 0 {
            return Err(RunError::config("[phones] radsec needs a port; 2083 is the usual one"));
        }
        Ok(())
    }

    /// Whether the files can be used.
    ///
    /// # Errors
    /// One of them cannot be read, others may read the key, or they do not belong together.
    #[cfg(feature = "phones")]
    pub fn examine(&self) -> Result<(), RunError> {
        door::config(self).map(drop)
    }

    #[cfg(not(feature = "phones"))]
    pub fn examine(&self) -> Result<(), RunError> {
        self.check()
    }
}

/// Where there is no TLS there is no door.
#[cfg(not(feature = "phones"))]
#[derive(Debug)]
pub(super) struct Door;

#[cfg(not(feature = "phones"))]
impl Door {
    pub(super) fn open(settings: &Settings, _: impl Fn(SocketAddr, Vec<u8>)) -> Result<Self, RunError> {
        settings.check().map(|()| Self)
    }

    pub(super) fn send(&self, _: SocketAddr, _: Vec<u8>) -> bool {
        false
    }

    pub(super) fn close(&self, _: SocketAddr, _: &str) {}

    pub(super) fn read_again(&self) {}

    pub(super) fn status(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_at_one_address_of_the_households_own() {
        let check = |address: &str| {
            let file = PathBuf::from("radsec.pem");
            let address = address.parse().unwrap();
            let settings =
                Settings { address, certificate: file.clone(), key: file.clone(), authority: file };
            settings.check().map_err(|error| error.sentence())
        };
        for good in ["127.0.0.1:2083", "192.168.1.1:2083", "[fd00::1]:2083", "[::1]:1"] {
            assert_eq!(check(good), Ok(()));
        }
        for bad in ["0.0.0.0:2083", "[::]:2083", "203.0.113.2:2083", "[2001:db8::1]:2083"] {
            assert!(check(bad).unwrap_err().contains("no address of a household's own"), "{bad}");
        }
        assert!(check("192.168.1.1:0").unwrap_err().contains("port"));
    }
}

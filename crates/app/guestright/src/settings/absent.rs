//! What an access point is told of phones, where nothing talks with hostapd.

use super::{ApSettings, Failure, Path, Tunnels};
use guestright_host::access_point::phones;

impl ApSettings {
    pub(crate) fn phones_for_loop(&self, path: &Path) -> Result<Option<phones::Settings>, Failure> {
        Ok(self.phones.map(|phones| phones.for_loop(path)).transpose()?)
    }

    pub(super) fn tunnels_for_loop(&self) -> Result<Option<Tunnels>, Failure> {
        Ok(self.tunnels.rules())
    }
}

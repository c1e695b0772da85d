//! Devices that the household does not serve, kept between runs: the home's list, as it said it last.

use crate::private;
use guestright_error::{OrFail as _, RunError};
use guestright_firewall::MacAddress;
use guestright_ordered::OrderedSet;
use guestright_roaming::message::{BlockedDevices, Device};
use std::path::{Path, PathBuf};

/// The list, as it is in its file.
#[derive(Debug)]
pub(super) struct Blocked {
    file: PathBuf,
    devices: OrderedSet<Device>,
}

impl Blocked {
    /// Reads the list of the access point with this state directory.
    ///
    /// # Errors
    /// It is there and cannot be read. The access point does not start then, for it says who is not to be served, also while the home is
    /// away.
    pub(super) fn open(state: &Path) -> Result<Self, RunError> {
        let file = state.join("blocked-devices.json");
        let text = private::read_if_there(&file)?.unwrap_or_else(|| b"[]".to_vec());
        let damaged = || {
            format!(
                "{} is no list of devices; take it away, and the home sends it anew when it is reached",
                file.display()
            )
        };
        let devices: Vec<MacAddress> = serde_json::from_slice(&text).or_config(damaged)?;
        if devices.len() > BlockedDevices::MAX {
            return Err(RunError::config(damaged()));
        }
        Ok(Self { devices: devices.into_iter().map(MacAddress::bytes).collect(), file })
    }

    pub(super) fn devices(&self) -> &OrderedSet<Device> {
        &self.devices
    }

    /// Makes the home's list durable in the place of the one before, and says which devices are in force.
    ///
    /// # Errors
    /// It cannot be written. Then neither the devices of this list nor those of the one before are to be served, and all of them come
    /// with the error.
    pub(super) fn keep(&mut self, list: &BlockedDevices) -> Result<(), (RunError, OrderedSet<Device>)> {
        let devices: OrderedSet<_> = list.iter().collect();
        if devices == self.devices {
            return Ok(());
        }
        // What is no station's address is nobody's: nobody has to be kept out by it.
        let stations: Vec<_> = devices.iter().filter_map(|device| MacAddress::new(*device).ok()).collect();
        let text = serde_json::to_vec_pretty(&stations).map_err(RunError::bug);
        if let Err(error) = text.and_then(|text| private::replace(&self.file, &text)) {
            return Err((error, self.devices.union(&devices).copied().collect()));
        }
        self.devices = stations.into_iter().map(MacAddress::bytes).collect();
        Ok(())
    }
}

/// How many devices the access point with this state directory does not serve, as it has kept it.
///
/// # Errors
/// The list is there and cannot be read, and the access point does not start.
pub fn blocked_devices(state: &Path) -> Result<usize, RunError> {
    Blocked::open(state).map(|blocked| blocked.devices.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn list(devices: &[u8]) -> BlockedDevices {
        BlockedDevices::new(devices.iter().map(|number| [2, 0, 0, 0, 0, *number])).unwrap()
    }

    fn kept(state: &Path) -> Vec<u8> {
        Blocked::open(state).unwrap().devices().iter().map(|device| device[5]).collect()
    }

    #[test]
    fn the_homes_last_list_is_there_at_the_next_start_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut blocked = Blocked::open(folder.path()).unwrap();
        assert!(blocked.devices().is_empty());
        blocked.keep(&list(&[2, 1])).unwrap();
        assert_eq!(kept(folder.path()), [1, 2]);
        let file = folder.path().join("blocked-devices.json");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        blocked.keep(&list(&[3])).unwrap();
        assert_eq!(kept(folder.path()), [3], "it is the whole list each time");
        blocked.keep(&list(&[])).unwrap();
        assert!(kept(folder.path()).is_empty() && file.exists());
    }

    #[test]
    fn a_list_that_cannot_be_read_is_never_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("blocked-devices.json");
        let many: Vec<_> = (0..=BlockedDevices::MAX)
            .map(|number| format!("02:00:00:00:{:02x}:{:02x}", number / 256, number % 256))
            .collect();
        let many = serde_json::to_string(&many).unwrap();
        for text in
            ["", "{}", "[1]", r#"["02:00"]"#, r#"["03:00:00:00:00:01"]"#, r#"["02:00:00:00:00:01"] x"#, &many]
        {
            std::fs::write(&file, text).unwrap();
            let error = Blocked::open(folder.path()).unwrap_err().sentence();
            assert!(error.contains("blocked-devices.json"), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(blocked_devices(folder.path()).unwrap_err().sentence().contains("blocked-devices.json"));
    }

    #[test]
    fn while_a_list_cannot_be_written_neither_its_devices_nor_the_earlier_ones_are_served() {
        let folder = tempfile::tempdir().unwrap();
        let mut blocked = Blocked::open(folder.path()).unwrap();
        blocked.keep(&list(&[1])).unwrap();
        blocked.file = folder.path().join("nowhere/blocked-devices.json");
        let (error, in_force) = blocked.keep(&list(&[2])).unwrap_err();
        assert!(error.sentence().contains("nowhere"), "{error}");
        assert!(in_force.iter().map(|device| device[5]).eq([1, 2]));
        let (_, in_force) = blocked.keep(&list(&[3])).unwrap_err();
        assert!(
            in_force.iter().map(|device| device[5]).eq([1, 3]),
            "of the list that is kept and the latest"
        );
        assert_eq!(kept(folder.path()), [1]);
    }
}

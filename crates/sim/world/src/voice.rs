//! Parallel calls through the access points of paper A: the `voice` testbed (sections 4.2 and 5, Table 2, Figure 4).

mod config;
mod measured;
mod network;
#[cfg(test)]
mod tests;

use config::{Config, VoiceSettings};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed};
use guestright_units::Seed;
use network::Network;

/// Two laptops, each with an access point of its own, call each other over a wire between the access points; or one laptop
/// calls a wired host.
#[derive(Clone, Copy, Debug)]
pub struct Voice;

impl Testbed for Voice {
    fn name(&self) -> &'static str {
        "voice"
    }

    fn describe(&self) -> &'static str {
        "Calls between two laptops, each on an access point of its own with a wire between them, or between one laptop and \
         a wired host: 802.11 radio, one processor in each access point, tunnels, receipts, and the E-model at the ear."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        VoiceSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &measured::METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let config = Config::from_settings(&VoiceSettings::read(settings)?)?;
        Network::new(config, Seed::from_number(0)).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let config = Config::from_settings(&VoiceSettings::read(settings)?)?;
        Ok(measured::outcome(Network::new(config, seed)?.run()))
    }
}

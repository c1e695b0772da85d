//! A town of homes over months: the `town` testbed (design note 0010).
//!
//! Everybody's machines are the real ones: `credit`'s accounts, holds and allowances, and `reciprocity`'s judges. What is
//! simulated is who goes where, how long messages take, and those who cheat.

mod coalition;
mod hints;
mod home;
mod papers;
#[cfg(test)]
mod past;
mod people;
mod search;
mod settings;
mod tally;
mod visit;
mod world;

use guestright_engine::Streams;
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed};
use guestright_units::Seed;
use settings::TownSettings;
use world::World;

/// Homes that serve each other's people, and a coalition that would rather not.
#[derive(Clone, Copy, Debug)]
pub struct Town;

impl Testbed for Town {
    fn name(&self) -> &'static str {
        "town"
    }

    fn describe(&self) -> &'static str {
        "Hundreds of homes over months: people visit each other's access points, and a coalition takes what it can. \
         How much that is, and how the honest fare, under every policy."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        TownSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &tally::METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let settings = TownSettings::read(settings)?;
        if settings.people.newcomers > settings.people.homes / 2 {
            let reason = "at most half of the homes can come later";
            return Err(SettingError::unfit("people.newcomers", reason));
        }
        Ok(())
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let settings = TownSettings::read(settings)?;
        let mut world = World::new(&settings, &Streams::new(seed));
        world.run();
        let events = world.queue.scheduled();
        let outcome = world.tally.outcome(&settings, &world.people, &world.homes);
        Ok(Outcome { events, ..outcome })
    }
}

#[cfg(test)]
mod tests;

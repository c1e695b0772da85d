//! The limits of links.

use guestright_units::Micros;

/// What of its limits a home with links can choose; the others are constants beside what they limit.
#[derive(Clone, Debug)]
pub struct Config {
    /// Frames of one team that are taken within a second; twice as many at once. The others are dropped and counted.
    pub frames_per_second_max: u32,
    /// Frames that wait for one team while it is being called.
    pub held_max: usize,
    /// Teams of which addresses are known.
    pub teams_max: usize,
    /// After so long a team that could not be reached may be called again; after twice as long the next time, and so on.
    pub redial_after: Micros,
    /// After so long the same address may be tried again for a team.
    pub address_rest: Micros,
    /// Whether homes on this computer may be called, which only tests want.
    pub may_call_loopback: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            frames_per_second_max: 50,
            held_max: 32,
            teams_max: 4_096,
            redial_after: Micros::from_seconds(30),
            address_rest: Micros::from_seconds(30),
            may_call_loopback: false,
        }
    }
}

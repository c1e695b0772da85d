use crate::HomeHint;
use guestright_units::Micros;

/// Whose announcements a home takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admit {
    /// Those of the peers that it is told of.
    Peers,
    /// Everybody's who has a link; limits hold all the same.
    Anyone,
    Nobody,
}

/// What a directory is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Homes that are asked for whom a contact names no home that knows, and to which records are handed.
    pub peers: Vec<HomeHint>,
    /// Whose announcements are taken.
    pub admit: Admit,
    /// How long an answer may take.
    pub answer_max: Micros,
    /// How long it may take to make a link.
    pub link_max: Micros,
    /// How long, after an answer of somebody else than the member's own home, others may bring a newer one.
    pub settle: Micros,
    /// How many homes are asked at once for one search.
    pub parallel_max: usize,
    /// How many searches there may be at once.
    pub searches_max: usize,
    /// How long it is remembered that nobody knew.
    pub negative_for: Micros,
    /// How many questions a home may ask at once.
    pub asks_burst: u32,
    /// After how long it may ask one more.
    pub asks_every: Micros,
    /// How many records a home may hand in at once.
    pub offers_burst: u32,
    /// After how long it may hand in one more.
    pub offers_every: Micros,
    /// How many askers are counted at once.
    pub askers_max: usize,
    /// How long before its end a record has to be renewed, in seconds.
    pub renew_before: u64,
    /// How often records are handed to peers again, in case one has lost them.
    pub announce_again: Micros,
    /// How long to wait for a peer that cannot be reached, before its link is wanted again.
    pub peer_again: Micros,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            peers: Vec::new(),
            admit: Admit::Peers,
            answer_max: Micros::from_millis(2_000),
            link_max: Micros::from_millis(4_000),
            settle: Micros::from_millis(150),
            parallel_max: 3,
            searches_max: 64,
            negative_for: Micros::from_seconds(15),
            asks_burst: 64,
            asks_every: Micros::from_millis(200),
            offers_burst: 256,
            offers_every: Micros::from_seconds(2),
            askers_max: 1_024,
            renew_before: 86_400,
            announce_again: Micros::from_seconds(12 * 3_600),
            peer_again: Micros::from_seconds(60),
        }
    }
}

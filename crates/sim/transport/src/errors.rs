//! Errors of a link: which of the packets that it carries it loses.
//!
//! One draw for every packet, from a stream of the link's own: the `n`th packet of a link meets the same chance
//! whatever was sent on other links, so that two transports can be compared over the same errors (common random
//! numbers). The two directions of a cable are two links, each with its own.

use crate::error::SettingsError;
use crate::link_number::LinkNumber;
use guestright_engine::Stream;
use rand::Rng;

/// Which packets a link loses on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Errors {
    #[default]
    None,
    /// Each for itself, with the same chance (paper C, section 4.2).
    Bernoulli {
        /// How many of a million are lost.
        per_million: u32,
    },
    /// In bursts (Gilbert 1960, with no losses in the good state and nothing but losses in the bad one).
    ///
    /// The link is in the good or in the bad state when a packet comes; packets are lost in the bad state. The state
    /// may change from packet to packet: from bad to good with `1 / burst`, from good to bad with
    /// `share / (burst * (1 - share))`. The state of the first packet is drawn with the share. So bursts are geometric
    /// with mean `burst`, and the share of lost packets is what is asked for. Where `burst` is `1 / (1 - share)` this
    /// is [`Errors::Bernoulli`].
    Gilbert {
        /// How many of a million are lost in the long run; below a million.
        per_million: u32,
        /// The mean number of packets lost in a row, in thousandths; at least 1000, and enough for the share.
        burst_thousandths: u32,
    },
    /// Those with these numbers, for traces; the first packet on the wire has the number 0.
    Scripted(Vec<u64>),
}

/// A chance as a share of 2^64.
const CERTAIN: u128 = 1 << 64;
const MILLION: u32 = 1_000_000;
/// The longest mean burst: a million packets.
const BURST_MAX: u32 = 1_000_000_000;
/// The most numbers of a script.
const SCRIPT_MAX: usize = 1 << 20;

impl Errors {
    /// Whether something is lost at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::Bernoulli { per_million } | Self::Gilbert { per_million, .. } => *per_million == 0,
            Self::Scripted(numbers) => numbers.is_empty(),
        }
    }

    /// The model that decides, for link `number` (only to be named in an error).
    ///
    /// # Errors
    ///
    /// If a share is above a million (or is a million, with bursts), a burst is too short for the share or longer than
    /// a million packets, or a script has more than 2^20 numbers.
    pub fn model(&self, number: LinkNumber, chance: Stream) -> Result<ErrorModel, SettingsError> {
        let link = number.0;
        let law = match self {
            Self::None => Law::Scripted(Vec::new()),
            Self::Bernoulli { per_million } => Law::Bernoulli { losing: share(link, *per_million, MILLION)? },
            Self::Gilbert { per_million, burst_thousandths } => {
                gilbert(link, *per_million, *burst_thousandths)?
            }
            Self::Scripted(numbers) => {
                if numbers.len() > SCRIPT_MAX {
                    return Err(SettingsError::Script { link, got: numbers.len(), max: SCRIPT_MAX });
                }
                let mut numbers = numbers.clone();
                // The next one last, each once.
                numbers.sort_unstable_by(|one, other| other.cmp(one));
                numbers.dedup();
                Law::Scripted(numbers)
            }
        };
        Ok(ErrorModel { law, chance, seen: 0 })
    }
}

/// [`Errors`] at work on one link.
#[derive(Clone, Debug)]
pub struct ErrorModel {
    law: Law,
    chance: Stream,
    seen: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Bernoulli { losing: u128 },
    Gilbert { first: u128, entering: u128, leaving: u128, bad: bool },
    Scripted(Vec<u64>),
}

impl ErrorModel {
    /// Whether the next packet is lost.
    pub fn loses(&mut self) -> bool {
        let number = self.seen;
        self.seen += 1;
        match &mut self.law {
            Law::Bernoulli { losing } => u128::from(self.chance.next_u64()) < *losing,
            Law::Gilbert { first, entering, leaving, bad } => {
                let draw = u128::from(self.chance.next_u64());
                *bad = match (number, *bad) {
                    (0, _) => draw < *first,
                    (_, false) => draw < *entering,
                    (_, true) => draw >= *leaving,
                };
                *bad
            }
            Law::Scripted(numbers) => numbers.pop_if(|next| *next == number).is_some(),
        }
    }
}

fn share(link: u32, per_million: u32, max: u32) -> Result<u128, SettingsError> {
    if per_million > max {
        return Err(SettingsError::Loss { link, got_per_million: per_million });
    }
    Ok(CERTAIN * u128::from(per_million) / u128::from(MILLION))
}

fn gilbert(link: u32, per_million: u32, burst_thousandths: u32) -> Result<Law, SettingsError> {
    let first = share(link, per_million, MILLION - 1)?;
    let (lost, kept) = (u128::from(per_million), u128::from(MILLION - per_million));
    // From good to bad with 1 at most: burst >= share / (1 - share).
    let min = u32::try_from((1_000 * lost).div_ceil(kept)).unwrap_or(u32::MAX).max(1_000);
    if burst_thousandths < min || burst_thousandths > BURST_MAX {
        return Err(SettingsError::Burst { link, got: burst_thousandths, min, max: BURST_MAX });
    }
    let burst = u128::from(burst_thousandths);
    Ok(Law::Gilbert {
        first,
        entering: CERTAIN * 1_000 * lost / (burst * kept),
        leaving: CERTAIN * 1_000 / burst,
        bad: false,
    })
}

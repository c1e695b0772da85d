//! What the access point knows of the guest who asks.

use data_encoding::HEXLOWER;
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, TeamId};
use std::fmt;
use subtle::ConstantTimeEq;
use thiserror::Error;

/// Of a chain at most so many debts are shown.
pub(crate) const CHAIN_MAX: usize = 6;

/// A guest, by the lease of its address.
#[derive(Clone, Debug)]
pub struct Guest {
    pub standing: Standing,
    pub trial: Trial,
    /// Of this lease, and of no other.
    pub token: LeaseToken,
}

/// How a guest stands at this access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing has shown yet whose guest this is.
    Stranger,
    /// Its team is known, and would be served.
    Welcome {
        why: WhyServed,
        chain: Vec<Debt>,
    },
    Served {
        class: ServiceClass,
        /// What may still be carried before the home is asked for more.
        left: Option<Bytes>,
        why: WhyServed,
        chain: Vec<Debt>,
    },
    Refused {
        why: WhyRefused,
        chain: Vec<Debt>,
    },
    /// The guest's home does not answer the access point.
    HomeAway,
    /// The access point's own home does not answer, so nobody can decide.
    Undecided,
    /// The household has closed the access point for guests.
    Closed,
}

/// Why a team is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyServed {
    /// It is a member of this household.
    Own,
    /// This household owes the guest's.
    Owed,
    /// A chain of debts leads from this household to the guest's.
    Chain,
    /// The household has set something aside for the guest's household.
    Sponsored,
    /// On what the household gives away.
    Allowance,
    /// The household serves everybody for now.
    Everybody,
}

/// Why a team is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyRefused {
    /// Nothing is owed, and what is given away is used up for now.
    AllowanceUsedUp,
    /// No receipt came for what was carried.
    Unpaid,
    /// There is no room for another session.
    Busy,
    CertificateEnded,
    Revoked,
    /// Anything else: the home's own sentence, in English.
    Other(String),
}

/// One debt of a chain: who owes whom, and how much of it can still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debt {
    pub debtor: TeamId,
    pub creditor: TeamId,
    pub left: Bytes,
}

/// How it stands with the volume that a household may give to anybody who wants to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Not at this household, or not to this guest.
    Closed,
    Offered(Bytes),
    /// It passes, at the moment, and so much is left of it.
    Running {
        left: Bytes,
        seconds_left: u32,
    },
    UsedUp,
}

/// How long a trial runs where a household does not say otherwise.
pub const TRIAL_SECONDS_USUAL: u32 = 600;

/// What proves that a request comes from the page that this guest was shown. Whoever makes it draws it by chance.
#[derive(Clone)]
pub struct LeaseToken([u8; LeaseToken::BYTES]);

/// A token in a form or an address that is none.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a token is {} hexadecimal digits", LeaseToken::BYTES * 2)]
pub struct TokenError;

impl Guest {
    /// Whether this guest's packets go to the Internet.
    pub fn is_online(&self) -> bool {
        matches!(self.standing, Standing::Served { .. }) || matches!(self.trial, Trial::Running { .. })
    }

    /// Whether a press of the button starts a trial. A household that is closed offers none, and whoever is served needs none.
    pub(crate) fn trial_offered(&self) -> Option<Bytes> {
        match (&self.standing, self.trial) {
            (Standing::Closed | Standing::Served { .. }, _) => None,
            (_, Trial::Offered(volume)) => Some(volume),
            (_, Trial::Closed | Trial::Running { .. } | Trial::UsedUp) => None,
        }
    }
}

impl Standing {
    /// The debts that the decision looked at.
    pub(crate) fn chain(&self) -> &[Debt] {
        match self {
            Self::Welcome { chain, .. } | Self::Served { chain, .. } | Self::Refused { chain, .. } => {
                &chain[..chain.len().min(CHAIN_MAX)]
            }
            Self::Stranger | Self::HomeAway | Self::Undecided | Self::Closed => &[],
        }
    }
}

impl LeaseToken {
    pub const BYTES: usize = 16;

    pub fn new(chance: [u8; Self::BYTES]) -> Self {
        Self(chance)
    }

    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| TokenError)?;
        bytes.try_into().map(Self).map_err(|_| TokenError)
    }

    /// As it stands in a form or an address.
    pub fn text(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// In a time that does not depend on how much of it is right.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for LeaseToken {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_is_written_and_is_not_printed() {
        let token = LeaseToken::new([0xa7; 16]);
        assert!(LeaseToken::parse(&token.text()).unwrap().is(&token));
        assert!(!LeaseToken::new([0xa6; 16]).is(&token));
        assert!(!format!("{token:?}").contains("a7"));
        for bad in ["", "a7", "A7A7A7A7A7A7A7A7A7A7A7A7A7A7A7A7", "zz".repeat(16).as_str()] {
            assert_eq!(LeaseToken::parse(bad).err(), Some(TokenError), "{bad}");
        }
    }

    #[test]
    fn a_closed_household_offers_no_trial() {
        let token = LeaseToken::new([1; 16]);
        let guest = |standing| Guest { standing, trial: Trial::Offered(Bytes(5)), token: token.clone() };
        assert_eq!(guest(Standing::Closed).trial_offered(), None);
        assert_eq!(guest(Standing::Undecided).trial_offered(), Some(Bytes(5)));
    }
}

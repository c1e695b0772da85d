//! The home's side: whom it gives another life, and how often.

use super::check_renewing_key;
use guestright_identity::{Certificate, IdentityError, KeyId, RevocationList, SecretKey, Warrant};
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time, UnixSeconds};
use std::fmt;
use thiserror::Error;

/// By what a home renews.
#[derive(Clone, Debug)]
pub struct RenewerConfig {
    /// The renewing key.
    pub key: SecretKey,
    /// The team's word for it.
    pub warrant: Warrant,
}

/// Why a certificate was not renewed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotRenewed {
    /// This home has no renewing key.
    #[error("this home has no renewing key: `guestright team renewal init` makes one")]
    NoKey,
    /// The warrant does not hold, or the certificate.
    #[error("{0}")]
    Identity(#[from] IdentityError),
    /// The warrant is another team's.
    #[error("the warrant of the renewing key is another team's")]
    OtherTeam,
    /// A new one would end no later.
    #[error("a renewed certificate would end at {would_end}, no later than this one")]
    NoLonger { would_end: UnixSeconds },
}

/// Gives the team's certificates another life: those that hold, of keys that are not revoked.
///
/// Whoever asks again soon gets what it got before: the answer may have been lost, and nobody has a signature made for each
/// question.
pub struct Renewer {
    config: RenewerConfig,
    /// By key: what was made for it last, and when.
    made: OrderedMap<KeyId, (Time, Certificate)>,
}

/// How many keys a home remembers; more have none of its team's memory, and are signed for anew.
const MADE_MAX: usize = 4_096;
/// Nobody's certificate is signed anew before such a part of its life is over.
const AGAIN_PARTS: u64 = 12;
/// The clocks of others may be so far behind, in seconds; or such a part of the life.
const BACKDATED_MAX: u64 = 600;
const BACKDATED_PARTS: u64 = 8;

impl Renewer {
    /// A home's, with its key.
    ///
    /// # Errors
    /// [`NotRenewed`]: the key is not the warrant's.
    pub fn new(config: RenewerConfig) -> Result<Self, NotRenewed> {
        if config.key.public() != config.warrant.renewing() {
            return Err(IdentityError::Malformed("the warrant is for another renewing key").into());
        }
        Ok(Self { config, made: OrderedMap::new() })
    }

    /// The team's word for the key.
    pub fn warrant(&self) -> &Warrant {
        &self.config.warrant
    }

    /// Renews the certificate of somebody who has proved its key, and whose certificate holds.
    ///
    /// # Errors
    /// [`NotRenewed`].
    pub fn renew(
        &mut self,
        certificate: &Certificate,
        revocations: Option<&RevocationList>,
        now: Time,
    ) -> Result<Certificate, NotRenewed> {
        certificate.check(certificate.role(), now.unix_seconds())?;
        self.renew_own(certificate, revocations, now)
    }

    /// The same for the home itself, whose own certificate may have ended while it was switched off.
    ///
    /// # Errors
    /// [`NotRenewed`].
    pub fn renew_own(
        &mut self,
        certificate: &Certificate,
        revocations: Option<&RevocationList>,
        now: Time,
    ) -> Result<Certificate, NotRenewed> {
        let (warrant, seconds) = (&self.config.warrant, now.unix_seconds());
        if warrant.team() != certificate.team() {
            return Err(NotRenewed::OtherTeam);
        }
        warrant.check(seconds)?;
        check_renewing_key(revocations, warrant, seconds)?;
        // The key alone: what another renewing key has made, which was revoked, may be made anew on the same original.
        revocations.map_or(Ok(()), |list| list.check(certificate.subject_id(), seconds))?;
        let id = certificate.subject_id();
        if let Some((at, made)) = self.made.get(&id)
            && made.original() == certificate.original()
            && now - *at < Micros(made.life().saturating_mul(1_000_000) / AGAIN_PARTS)
            && made.not_after() > certificate.not_after()
        {
            return Ok(made.clone());
        }
        let life = certificate.original().life().min(warrant.life_max());
        let backdated = BACKDATED_MAX.min(life / BACKDATED_PARTS);
        let earliest = warrant.not_before().max(certificate.original().not_before());
        let not_before = seconds.minus(backdated).max(earliest);
        let not_after = not_before.plus(life).min(warrant.not_after());
        if not_after <= certificate.not_after() {
            return Err(NotRenewed::NoLonger { would_end: not_after });
        }
        let made = certificate.renew(&self.config.key, warrant, not_before, not_after)?;
        if self.made.len() >= MADE_MAX {
            let oldest = self.made.iter().min_by_key(|(_, (at, _))| *at).map(|(id, _)| *id);
            oldest.and_then(|id| self.made.remove(&id));
        }
        self.made.insert(id, (now, made.clone()));
        Ok(made)
    }
}

impl fmt::Debug for Renewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewer").field("warrant", &self.config.warrant).finish_non_exhaustive()
    }
}

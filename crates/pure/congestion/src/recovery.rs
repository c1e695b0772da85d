//! Fast retransmit and fast recovery: Reno (RFC 5681, section 3.2) and NewReno (RFC 6582, section 3.2).
//!
//! Both take the third duplicate acknowledgement for a loss, retransmit the first segment that is not acknowledged, and
//! let a segment go for each further duplicate. Reno's recovery ends with the first new acknowledgement. NewReno's ends
//! when all is acknowledged that had been on its way (`recover`); a *partial* acknowledgement before that tells of the
//! next loss, which is retransmitted at once.
//!
//! The window is the controller's. What fast recovery puts on top or takes off is [`Recovery::inflation`]; it may be
//! below zero after a partial acknowledgement of many segments.
//!
//! RFC 5681 leaves open whether duplicates of data that was sent before a timeout may tell of a loss. Here they may not,
//! in either (RFC 6582, section 3.2, steps 2 and 4, asks it of NewReno).

use crate::settings::{SettingsError, check_segment};

/// Which of the recoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// RFC 5681: over with the first new acknowledgement.
    Reno,
    /// RFC 6582: over when everything is acknowledged that had been on its way.
    NewReno,
}

/// How a sender finds losses without a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// Which recovery.
    pub kind: RecoveryKind,
    /// SMSS: payload of a full segment, in bytes.
    pub segment: u32,
    /// How many duplicate acknowledgements tell of a loss: 3 (RFC 5681).
    pub duplicates: u32,
    /// Whether duplicates of what was on its way when the last loss was found tell of no other one, so that the window is
    /// halved once for a window. NewReno's always do not. RFC 5681 does not say it of Reno; ns-2's Reno has it, and waits
    /// for a timeout then.
    pub once_a_window: bool,
    /// Whether the first two duplicates each let a new segment go (limited transmit, RFC 3042).
    pub limited_transmit: bool,
    /// Whether only the first partial acknowledgement restarts the retransmission timer ("impatient"), so that many
    /// losses in a window end in a timeout; otherwise each does ("slow but steady"). RFC 6582 advises the former.
    pub impatient: bool,
}

impl RecoverySettings {
    /// As RFC 5681 and RFC 6582 advise, with limited transmit.
    #[must_use]
    pub const fn new(kind: RecoveryKind, segment: u32) -> Self {
        Self { kind, segment, duplicates: 3, once_a_window: false, limited_transmit: true, impatient: true }
    }
}

/// What a duplicate acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// Nothing yet, or nothing new.
    Nothing,
    /// A loss: tell the controller, retransmit the first segment that is not acknowledged.
    Loss,
}

/// What a new acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There was no recovery.
    Open,
    /// NewReno goes on: retransmit the first segment that is not acknowledged; restart the timer if so told.
    Partial {
        /// Whether the retransmission timer starts anew.
        restart_timer: bool,
    },
    /// The recovery is over.
    Recovered,
}

/// The recovery of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    settings: RecoverySettings,
    /// Duplicates in a row.
    duplicates: u32,
    /// Offset of what had not been sent yet when the last recovery began (Reno: if so set) or the last timeout came.
    recover: Option<u64>,
    active: bool,
    partials: u32,
    inflation: i64,
}

impl Recovery {
    /// That of a new flow.
    ///
    /// # Errors
    ///
    /// If the segment's size or the number of duplicates cannot be.
    pub const fn new(settings: RecoverySettings) -> Result<Self, SettingsError> {
        if let Err(error) = check_segment(settings.segment) {
            return Err(error);
        }
        if settings.duplicates == 0 || settings.duplicates > 255 {
            return Err(SettingsError::Duplicates { got: settings.duplicates });
        }
        Ok(Self { settings, duplicates: 0, recover: None, active: false, partials: 0, inflation: 0 })
    }

    /// Whether a recovery goes on.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// Bytes to be added to the controller's window: fast recovery's, or limited transmit's.
    #[must_use]
    pub const fn inflation(&self) -> i64 {
        self.inflation
    }

    /// Bytes that have left the network, by what duplicates say, although they are not acknowledged.
    ///
    /// FlightSize, which is halved, is what is in the network (RFC 5681, section 2), so these are not a part of it.
    /// RFC 3042 says so for limited transmit. For a timeout in a recovery the RFCs do not: taking all that is not
    /// acknowledged would set the threshold by segments that have long arrived, far above what the path carries, and the
    /// next slow start would lose a window again, and again. (Linux keeps the threshold of the recovery; ns-2 halves its
    /// window without inflation, which is the same as here.)
    #[must_use]
    pub const fn departed(&self) -> u64 {
        if self.inflation < 0 { 0 } else { self.inflation.unsigned_abs() }
    }

    /// A duplicate acknowledgement of `acknowledged`; `next` is the offset of what was never sent.
    pub fn on_duplicate(&mut self, acknowledged: u64, next: u64) -> Duplicate {
        let segment = i64::from(self.settings.segment);
        if self.active {
            self.inflation += segment;
            return Duplicate::Nothing;
        }
        // Of a time before the last recovery or timeout: says nothing about a new loss.
        if self.recover.is_some_and(|recover| acknowledged <= recover) {
            return Duplicate::Nothing;
        }
        self.duplicates += 1;
        if self.duplicates < self.settings.duplicates {
            if self.settings.limited_transmit && self.duplicates <= 2 {
                self.inflation += segment;
            }
            return Duplicate::Nothing;
        }
        self.active = true;
        self.partials = 0;
        if self.settings.once_a_window || self.settings.kind == RecoveryKind::NewReno {
            self.recover = Some(next);
        }
        self.inflation = i64::from(self.settings.duplicates) * segment;
        self.duplicates = 0;
        Duplicate::Loss
    }

    /// An acknowledgement of `bytes` new bytes, up to `acknowledged`.
    pub fn on_ack(&mut self, acknowledged: u64, bytes: u64) -> Progress {
        self.duplicates = 0;
        if !self.active {
            self.inflation = 0;
            return Progress::Open;
        }
        let whole = match self.settings.kind {
            RecoveryKind::Reno => true,
            RecoveryKind::NewReno => self.recover.is_none_or(|recover| acknowledged >= recover),
        };
        if whole {
            self.stop();
            return Progress::Recovered;
        }
        self.partials = self.partials.saturating_add(1);
        let segment = i64::from(self.settings.segment);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        // Step 3: deflate by what was acknowledged; if that was a segment or more, add one back.
        self.inflation = self.inflation.saturating_sub(bytes);
        if bytes >= segment {
            self.inflation += segment;
        }
        Progress::Partial { restart_timer: self.partials == 1 || !self.settings.impatient }
    }

    /// The retransmission timer went off; `next` is the offset of what was never sent.
    pub const fn on_timeout(&mut self, next: u64) {
        self.stop();
        self.recover = Some(next);
    }

    const fn stop(&mut self) {
        self.active = false;
        self.duplicates = 0;
        self.inflation = 0;
    }
}

#[cfg(test)]
mod tests;

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
//! [`RecoveryKind::Sack`] counts duplicates as they do, but what is lost is read from the receiver's blocks (RFC 6675), and
//! what is on its way is counted segment by segment: the sender's business. Its window is not inflated.
//!
//! [`RecoveryKind::Vegas`] is ns-2's: a loss at any duplicate if the segment is overdue by the fine-grained timeout, and no
//! recovery that begins and ends. Its window is inflated by the controller.
//!
//! RFC 5681 leaves open whether duplicates of data that was sent before a timeout may tell of a loss. Here they may not,
//! in either (RFC 6582, section 3.2, steps 2 and 4, asks it of NewReno).

use crate::settings::{SettingsError, check_segment};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// RFC 5681: over with the first new acknowledgement.
    Reno,
    /// RFC 6582: over when everything is acknowledged that had been on its way.
    NewReno,
    /// RFC 6675: as NewReno, with selective acknowledgements.
    Sack,
    /// The rules of ns-2's Vegas (`tcp-vegas.cc`).
    Vegas,
}

/// How a sender finds losses without a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
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
    /// Whether duplicates are counted as ns-2 does, in its `dupacks_` and `dupwnd_`: those of old data count too, although
    /// they tell of no loss; limited transmit lets one segment go for a duplicate, and nothing else; what a partial
    /// acknowledgement takes back beyond what duplicates had added, it takes off the window itself ([`crate::Ack::deflated`]).
    pub dupwnd: bool,
    /// How many new segments may leave at most for a duplicate or a partial acknowledgement in a recovery; 0: what the
    /// window lets. ns-2's NewReno: 2.
    pub burst_max: u32,
}

impl RecoverySettings {
    /// As RFC 5681 and RFC 6582 advise, with limited transmit.
    #[must_use]
    pub const fn new(kind: RecoveryKind, segment: u32) -> Self {
        Self {
            kind,
            segment,
            duplicates: 3,
            once_a_window: false,
            limited_transmit: true,
            impatient: true,
            dupwnd: false,
            burst_max: 0,
        }
    }

    /// As ns-2.35 has it by default (`bugFix_`, `bugfix_ss_`, `singledup_`, `newreno_changes1_` and
    /// `partial_window_deflation_` on).
    #[must_use]
    pub const fn ns2(kind: RecoveryKind, segment: u32) -> Self {
        Self {
            once_a_window: true,
            limited_transmit: !matches!(kind, RecoveryKind::Vegas),
            dupwnd: !matches!(kind, RecoveryKind::Vegas | RecoveryKind::Sack),
            burst_max: if matches!(kind, RecoveryKind::NewReno) { 2 } else { 0 },
            ..Self::new(kind, segment)
        }
    }
}

/// What a duplicate acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// Nothing yet, or nothing new.
    Nothing,
    /// A loss: tell the controller, retransmit the first segment that is not acknowledged.
    Loss,
    /// Nothing yet, but one new segment may leave for it ([`RecoverySettings::dupwnd`]).
    SendOne,
    /// Nothing, and the controller is not to hear of it.
    Ignore,
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
    /// What the last partial acknowledgement took off the window itself.
    deflated: u64,
    /// Of how many more acknowledgements the first segment that they do not acknowledge may be overdue.
    worried: u32,
    /// Vegas: whether the last thing that happened to the window was a timeout.
    timed_out: bool,
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
        Ok(Self {
            settings,
            duplicates: 0,
            recover: None,
            active: false,
            partials: 0,
            inflation: 0,
            deflated: 0,
            worried: 0,
            timed_out: false,
        })
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

    /// Duplicates in a row, as far as they are counted.
    #[must_use]
    pub const fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// Bytes by which the last partial acknowledgement takes the window itself back: see [`RecoverySettings::dupwnd`].
    #[must_use]
    pub const fn deflated(&self) -> u64 {
        self.deflated
    }

    /// How many new segments may leave now that an acknowledgement was taken; `None`: as many as the window lets.
    #[must_use]
    pub const fn burst(&self) -> Option<u32> {
        let counted = self.settings.dupwnd || matches!(self.settings.kind, RecoveryKind::Vegas);
        if !counted || self.duplicates == 0 {
            None
        } else if self.duplicates < self.settings.duplicates {
            Some(0)
        } else if self.settings.burst_max > 0 {
            Some(self.settings.burst_max)
        } else {
            None
        }
    }

    /// Whether `acknowledged` is behind what was sent before the last recovery or timeout.
    #[must_use]
    pub fn is_past(&self, acknowledged: u64) -> bool {
        self.recover.is_none_or(|recover| acknowledged > recover)
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
        if self.settings.dupwnd {
            return self.count_duplicate(acknowledged, next);
        }
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
        self.begin(next)
    }

    /// A duplicate acknowledgement of `acknowledged` has come, and the segment there is overdue by the fine-grained timeout,
    /// or lost by selective acknowledgements: a loss before the last duplicate is there, unless it is of an earlier time.
    pub fn on_overdue(&mut self, acknowledged: u64, next: u64) -> Duplicate {
        if self.active || self.recover.is_some_and(|recover| acknowledged <= recover) {
            return Duplicate::Nothing;
        }
        self.duplicates += 1;
        self.begin(next)
    }

    fn begin(&mut self, next: u64) -> Duplicate {
        let segment = i64::from(self.settings.segment);
        self.active = true;
        self.partials = 0;
        if self.settings.once_a_window || self.settings.kind != RecoveryKind::Reno {
            self.recover = Some(next);
        }
        self.inflation = i64::from(self.duplicates) * segment;
        self.duplicates = 0;
        self.worried = 2;
        Duplicate::Loss
    }

    /// ns-2's way to count.
    fn count_duplicate(&mut self, acknowledged: u64, next: u64) -> Duplicate {
        let segment = i64::from(self.settings.segment);
        self.duplicates = self.duplicates.saturating_add(1);
        if self.duplicates < self.settings.duplicates {
            return if self.settings.limited_transmit { Duplicate::SendOne } else { Duplicate::Nothing };
        }
        if self.duplicates > self.settings.duplicates {
            if self.active {
                self.inflation += segment;
            }
            return Duplicate::Nothing;
        }
        // Nothing acknowledged but the SYN: always (`bugfix_ss_`).
        if acknowledged > 0 && self.recover.is_some_and(|recover| acknowledged <= recover) {
            return Duplicate::Nothing;
        }
        self.active = true;
        self.partials = 0;
        self.recover = Some(next);
        self.inflation = i64::from(self.settings.duplicates) * segment;
        Duplicate::Loss
    }

    /// A duplicate acknowledgement by the rules of ns-2's Vegas; `overdue`: by the fine-grained timeout; `on_its_way`:
    /// segments from the first that is not acknowledged to the one that would be sent next, this one too.
    pub fn on_vegas_duplicate(
        &mut self,
        acknowledged: u64,
        next: u64,
        overdue: bool,
        on_its_way: u32,
    ) -> Duplicate {
        self.duplicates = self.duplicates.saturating_add(1);
        if !overdue && self.duplicates != self.settings.duplicates {
            return Duplicate::Nothing;
        }
        if self.timed_out && self.recover.is_some_and(|recover| acknowledged <= recover) {
            return Duplicate::Ignore;
        }
        self.timed_out = false;
        self.recover = Some(next);
        self.worried = if on_its_way < 2 { on_its_way } else { 2 };
        Duplicate::Loss
    }

    /// Vegas: the lost segment, which had been sent once until now, is sent again: further duplicates inflate.
    pub const fn on_vegas_resent(&mut self) {
        self.duplicates = self.settings.duplicates;
    }

    /// Whether one of the next acknowledgements of new data may find another loss ([`Self::on_worried_ack`]).
    #[must_use]
    pub const fn is_worried(&self) -> bool {
        self.worried > 0 && !self.active
    }

    /// New data was acknowledged soon after a loss; whether the first segment that is not acknowledged is to be sent again,
    /// `overdue` by the fine-grained timeout as it may be (Vegas).
    pub const fn on_worried_ack(&mut self, overdue: bool) -> bool {
        if self.worried == 0 {
            return false;
        }
        self.worried -= 1;
        if overdue {
            if matches!(self.settings.kind, RecoveryKind::Vegas) {
                self.duplicates = self.settings.duplicates;
            }
        } else {
            self.worried = 0;
        }
        overdue
    }

    /// An acknowledgement of `bytes` new bytes, up to `acknowledged`.
    pub fn on_ack(&mut self, acknowledged: u64, bytes: u64) -> Progress {
        self.deflated = 0;
        if !self.active {
            self.duplicates = 0;
            self.inflation = 0;
            return Progress::Open;
        }
        let whole = match self.settings.kind {
            RecoveryKind::Reno | RecoveryKind::Vegas => true,
            RecoveryKind::NewReno | RecoveryKind::Sack => {
                self.recover.is_none_or(|recover| acknowledged >= recover)
            }
        };
        if whole {
            self.stop();
            return Progress::Recovered;
        }
        self.partials = self.partials.saturating_add(1);
        let segment = i64::from(self.settings.segment);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let restart_timer = self.partials == 1 || !self.settings.impatient;
        if self.settings.dupwnd {
            if self.inflation > bytes {
                self.inflation -= bytes - segment;
            } else {
                self.deflated = bytes.abs_diff(self.inflation);
                self.inflation = segment;
            }
            return Progress::Partial { restart_timer };
        }
        self.duplicates = 0;
        // Step 3: deflate by what was acknowledged; if that was a segment or more, add one back.
        self.inflation = self.inflation.saturating_sub(bytes);
        if bytes >= segment {
            self.inflation += segment;
        }
        Progress::Partial { restart_timer }
    }

    /// The retransmission timer went off; `next` is the offset of what was never sent.
    pub const fn on_timeout(&mut self, next: u64) {
        self.stop();
        self.recover = Some(next);
        self.timed_out = true;
    }

    const fn stop(&mut self) {
        self.active = false;
        self.duplicates = 0;
        self.inflation = 0;
    }
}

#[cfg(test)]
mod tests;

use guestright_receipt::Rules;
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros};

/// The limits by which an access point behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// At the latest after so long the next receipt is asked for (paper A, section 5.3: 5 s).
    pub interval: Micros,
    /// At the latest after so many unsigned bytes the next receipt is asked for.
    pub volume: Bytes,
    /// A visitor with so many unsigned bytes is closed at once.
    pub unpaid_max: Bytes,
    /// How long a visitor has to answer with a receipt; less than `interval`.
    pub receipt_deadline: Micros,
    /// After so long a request for a receipt is sent again.
    pub retry_after: Micros,
    /// Who left without signing is not served again until so many bytes a second have been forgiven, or ten minutes.
    pub unpaid_rate: Bytes,
    /// How long the team server has to decide.
    pub decision_timeout: Micros,
    /// How soon the same visitor may have its case decided again.
    pub question_gap: Micros,
    /// After so long receipts go to the team server, at the latest; at the end of a session at once.
    pub flush_after: Micros,
    /// What a session is assumed to consume, for the decision.
    pub request: Bytes,
    /// How visitors are served while the team server cannot be asked; nothing: not at all.
    pub when_home_is_away: Option<ServiceClass>,
    /// How many visitors are served at a time.
    pub sessions_max: usize,
    /// How many questions to the team server may be open; the oldest gives way.
    pub pending_max: usize,
    /// Which receipts count.
    pub rules: Rules,
}

impl Default for Config {
    /// 5 s or 25 MB, closed after 2.5 s without a receipt or 250 MB unsigned; 256 visitors.
    fn default() -> Self {
        Self {
            interval: Micros::from_seconds(5),
            volume: Bytes(25_000_000),
            unpaid_max: Bytes(250_000_000),
            receipt_deadline: Micros::from_millis(2_500),
            retry_after: Micros::from_millis(500),
            unpaid_rate: Bytes(16_000),
            decision_timeout: Micros::from_seconds(3),
            question_gap: Micros::from_millis(200),
            flush_after: Micros::from_seconds(60),
            request: Bytes(1_000_000),
            when_home_is_away: Some(ServiceClass::Lowest),
            sessions_max: 256,
            pending_max: 256,
            rules: Rules::default(),
        }
    }
}

use super::CreditConfig;
use guestright_directory::Address;
use guestright_receipt::Rules;
use guestright_reciprocity::JudgeConfig;
use guestright_units::Micros;

/// The limits by which a team server behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Credit that is reserved between homes, and an allowance for everybody else. Nothing: visitors are judged as the
    /// papers have it, by `judge`.
    pub credit: Option<CreditConfig>,
    /// Where other homes find this one: visitors take it home.
    pub home_address: Option<Address>,
    /// How visitors are judged.
    pub judge: JudgeConfig,
    /// Which receipts count.
    pub rules: Rules,
    /// For how long a decision that weighed credit and debt holds, in seconds.
    pub decision_seconds: u32,
    /// For how long a decision about a stranger holds, in seconds: a whole visit, or its own first receipts would
    /// turn the stranger into a debtor in the middle of it.
    pub stranger_seconds: u32,
    /// How many receipts of others a team may introduce per day, before what we owe it is considered.
    pub sponsored_max: u32,
    /// How many stored questions may be open.
    pub waiting_max: usize,
    /// How many devices that want to join the Wi-Fi may wait for their homes' answers; others are told that there are too many.
    pub joining_max: usize,
    /// How many messages may wait to be sent; refusals give way first.
    pub transmits_max: usize,
    /// How many events may wait to be fetched. News of refusals and decisions gives way; orders to the store never do, and
    /// have the two limits beside this one.
    pub events_max: usize,
    /// How many teams' revocation lists are kept; each has up to 48 KiB.
    pub revocations_max: usize,
    /// How many teams are remembered as strangers that were served.
    pub strangers_max: usize,
    /// How often the memory of strangers fades.
    pub fade_after: Micros,
}

impl Default for Config {
    /// 5 minutes and an hour; 256 receipts a day per sponsor; the memory fades daily; queues of 1,024 and what waits for the store.
    fn default() -> Self {
        Self {
            credit: None,
            home_address: None,
            judge: JudgeConfig::default(),
            rules: Rules::default(),
            decision_seconds: 300,
            stranger_seconds: 3_600,
            sponsored_max: 256,
            waiting_max: 4_096,
            joining_max: 1_024,
            transmits_max: 1_024,
            events_max: 1_024,
            revocations_max: 256,
            strangers_max: 65_536,
            fade_after: Micros::from_seconds(86_400),
        }
    }
}

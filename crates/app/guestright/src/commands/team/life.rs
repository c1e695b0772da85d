//! How long a certificate holds.

use guestright_team::life::{CERTIFICATE_DAYS, DAY, parse_seconds};

/// The life of a certificate.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LifeArgs {
    /// For how many days the certificate holds; short lives need fewer revocations
    #[arg(long, default_value_t = CERTIFICATE_DAYS, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// The same for less than days, or more finely: 20m, 12h, 90d
    #[arg(long, value_name = "DURATION", conflicts_with = "days", value_parser = parse_seconds)]
    life: Option<u64>,
}

impl LifeArgs {
    pub(super) fn seconds(self) -> u64 {
        self.life.unwrap_or(self.days * DAY)
    }
}

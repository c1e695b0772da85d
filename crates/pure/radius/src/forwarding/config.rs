use crate::secret::Secret;
use guestright_units::Micros;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What a [`ForwardingServer`](crate::ForwardingServer) is to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who may ask, and what each of them shares with us: hostapd, on this computer.
    pub clients: BTreeMap<IpAddr, Secret>,
    /// Whether an Access-Reject has its sentence as Reply-Message. RFC 3579, section 2.6.5, wants none beside EAP-Message,
    /// because a station never gets to see it. Whoever runs the access point does: captures show it. Switch it off for other makers' clients that mind.
    pub reply_message: bool,
    pub limits: Limits,
}

/// See [`Limits::default`] for numbers.
///
/// A conversation is one of a *stranger* until its station has answered something that a home asked; from then on it is
/// *in progress*. Each kind has its own room. A newcomer displaces the oldest stranger, of its own realm if that has its
/// share, and never a conversation in progress. At 1,000 newcomers a second for one realm a stranger has half a second to
/// get an answer from its home and to answer that; for many realms a whole one. Who is in progress is displaced by others
/// that have come as far: the oldest of the realm with the most of them, because an honest conversation is over within
/// seconds and a household has few at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub strangers_max: usize,
    pub realm_strangers_max: usize,
    pub in_progress_max: usize,
    pub realm_in_progress_max: usize,
    /// Conversations of one station, on different radios. On one radio a new one takes the place of the last: the access
    /// point has begun anew.
    pub station_max: usize,
    /// What a station may send in one conversation. EAP-TLS needs about eight of them with a chain of certificates.
    pub rounds_max: u32,
    /// EAP in both directions in one conversation.
    pub eap_bytes_max: usize,
    /// How long a home has for an answer. hostapd repeats its question after 3 s (`RADIUS_CLIENT_FIRST_WAIT`, doubled each
    /// time), and 802.1X gives up on its server after 30 s (IEEE 802.1X-2004, 8.2.9).
    pub home_timeout: Micros,
    /// How long a station has. Phones sleep, and people are asked whether they trust a certificate.
    pub station_timeout: Micros,
    pub decision_timeout: Micros,
    /// How long a conversation has in all.
    pub lifetime: Micros,
    pub answers_max: usize,
    /// How long an answer is kept for whoever repeats its question: 5 to 30 s (RFC 5080, section 2.2.2). hostapd does so
    /// after 3, 9 and 21 s.
    pub answer_kept_for: Micros,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            strangers_max: 1_024,
            realm_strangers_max: 512,
            in_progress_max: 512,
            realm_in_progress_max: 64,
            station_max: 3,
            rounds_max: 40,
            eap_bytes_max: 65_536,
            home_timeout: Micros::from_seconds(8),
            station_timeout: Micros::from_seconds(30),
            decision_timeout: Micros::from_seconds(5),
            lifetime: Micros::from_seconds(60),
            answers_max: 2_048,
            answer_kept_for: Micros::from_seconds(30),
        }
    }
}

//! How a visitor stands that stays on, in one word for programs and one sentence for people.
//!
//! In: what is known of the network, the access point, the tunnel and the home at a moment ([`Facts`]). Out: the one
//! thing that matters ([`Standing`]): what keeps the person offline, or who serves.
//!
//! Invariant: a tunnel that carries is online, whatever else is wrong; a person who is offline gets the cause that is
//! nearest to this computer, since what lies behind it cannot be seen.

use crate::message::Code;
use guestright_reciprocity::ServiceClass;
use guestright_units::TeamId;
use std::fmt;
use std::time::Duration;

/// How often an access point is asked again, by what it said. A "no" holds for a minute there
/// ([`TeamServer`](crate::TeamServer)); whoever asks sooner hears the same.
const AFTER_NO: Duration = Duration::from_secs(60);
/// A certificate does not become better by itself.
const AFTER_CERTIFICATE: Duration = Duration::from_secs(600);
/// Where nobody answers, the first pause, and the longest.
const NOBODY: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(120)];
/// Where there was a session a moment ago, or a place may become free.
const SOON: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(15)];
/// A tunnel that has not come about for so long is worth a word.
const HANDSHAKE_USUAL: Duration = Duration::from_secs(6);

/// What the tunnel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TunnelState {
    /// There is none: nobody has let it through yet.
    #[default]
    Closed,
    /// For so long handshakes have not been answered.
    Handshaking(Duration),
    /// It carries.
    Up,
    /// There was a handshake, and for so long nothing has been answered.
    Silent(Duration),
}

/// What the access point said last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessPointState {
    /// It has not answered yet.
    #[default]
    Asking,
    /// Nobody answers: this is a network like any other.
    Nobody,
    /// It serves.
    Serves {
        /// Whose it is.
        team: TeamId,
        class: ServiceClass,
    },
    /// It does not, and is asked again after a while.
    Refuses {
        code: Code,
        /// What it said, which is not to be trusted.
        reason: String,
        /// In how many seconds it is asked again.
        again_seconds: u64,
    },
}

/// What is known of the home's own program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HomeState {
    /// It was not tried yet, or there is nothing to try.
    #[default]
    Unknown,
    Reached,
    /// It was not reached, for this reason.
    Lost(String),
}

/// What is known at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the person has switched it on.
    pub is_on: bool,
    /// Whether there is a network with a way out.
    pub has_network: bool,
    pub access_point: AccessPointState,
    pub tunnel: TunnelState,
    pub home: HomeState,
    /// Where the network's own page for guests is, if it stands in the way.
    pub portal: Option<String>,
    /// Where the home's end of the tunnel is.
    pub endpoint: String,
}

/// How the visitor stands. The word of each is [`Standing::word`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Switched off.
    Off,
    /// No network, or none with a way out.
    NoNetwork,
    /// A page of the network's has to be seen first.
    Portal { url: String },
    /// The access point was asked and has not answered.
    Asking,
    /// Through the tunnel; who serves, if it is an access point of ours.
    Online {
        served: Option<(TeamId, ServiceClass)>,
        /// Whether the network has an access point of ours. One that does not serve lets a tunnel through for a while.
        is_ours: bool,
    },
    /// The same, but the home's program does not answer.
    HomeNotReached { reason: String },
    /// It is let through, and no handshake comes about.
    NoHandshake {
        endpoint: String,
        seconds: u64,
        /// Whether the access point is of the own household, from whose guests' network its home cannot be reached.
        is_at_home: bool,
    },
    /// The access point says no.
    Refused { reason: String, again_seconds: u64 },
    /// The access point has not got a receipt.
    NotPaid { reason: String, again_seconds: u64 },
    /// It has no room.
    Busy { reason: String, again_seconds: u64 },
    /// It does not take our certificate.
    Certificate { reason: String, again_seconds: u64 },
}

impl Facts {
    /// The one thing that matters.
    pub fn standing(&self) -> Standing {
        if !self.is_on {
            return Standing::Off;
        }
        if !self.has_network {
            return Standing::NoNetwork;
        }
        if self.tunnel == TunnelState::Up {
            return match (&self.home, &self.access_point) {
                (HomeState::Lost(reason), _) => Standing::HomeNotReached { reason: reason.clone() },
                (_, AccessPointState::Serves { team, class }) => {
                    Standing::Online { served: Some((*team, *class)), is_ours: true }
                }
                (_, state) => Standing::Online { served: None, is_ours: *state != AccessPointState::Nobody },
            };
        }
        if let Some(url) = &self.portal {
            return Standing::Portal { url: url.clone() };
        }
        if let AccessPointState::Refuses { code, reason, again_seconds } = &self.access_point {
            let (reason, again_seconds) = (reason.clone(), *again_seconds);
            return match code {
                Code::Unpaid => Standing::NotPaid { reason, again_seconds },
                Code::Busy => Standing::Busy { reason, again_seconds },
                Code::Certificate => Standing::Certificate { reason, again_seconds },
                Code::Refused | Code::Malformed | Code::Receipt | Code::NoSession | Code::Closed => {
                    Standing::Refused { reason, again_seconds }
                }
            };
        }
        match self.tunnel {
            TunnelState::Handshaking(since) | TunnelState::Silent(since) if since >= HANDSHAKE_USUAL => {
                let own = ServiceClass::Own;
                let is_at_home =
                    matches!(self.access_point, AccessPointState::Serves { class, .. } if class == own);
                let (endpoint, seconds) = (self.endpoint.clone(), since.as_secs());
                Standing::NoHandshake { endpoint, seconds, is_at_home }
            }
            TunnelState::Closed | TunnelState::Handshaking(_) | TunnelState::Silent(_) | TunnelState::Up => {
                Standing::Asking
            }
        }
    }
}

impl Standing {
    /// One word, for programs. It is part of our interface.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NoNetwork => "no-network",
            Self::Portal { .. } => "portal",
            Self::Asking => "asking",
            Self::Online { .. } => "online",
            Self::HomeNotReached { .. } => "home-not-reached",
            Self::NoHandshake { .. } => "no-handshake",
            Self::Refused { .. } => "refused",
            Self::NotPaid { .. } => "not-paid",
            Self::Busy { .. } => "busy",
            Self::Certificate { .. } => "certificate",
        }
    }

    /// Whether this computer reaches the Internet.
    pub fn is_online(&self) -> bool {
        matches!(self, Self::Online { .. } | Self::HomeNotReached { .. })
    }

    /// Whether two differ in more than in numbers that grow by themselves.
    pub fn is_news_after(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::NoHandshake { endpoint: now, .. }, Self::NoHandshake { endpoint: then, .. })
            | (Self::Refused { reason: now, .. }, Self::Refused { reason: then, .. })
            | (Self::NotPaid { reason: now, .. }, Self::NotPaid { reason: then, .. })
            | (Self::Busy { reason: now, .. }, Self::Busy { reason: then, .. })
            | (Self::Certificate { reason: now, .. }, Self::Certificate { reason: then, .. })
            | (Self::HomeNotReached { reason: now }, Self::HomeNotReached { reason: then }) => now != then,
            _ => self != earlier,
        }
    }
}

impl fmt::Display for Standing {
    /// What is the matter, and what to do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => {
                f.write_str("switched off: nothing goes through the tunnel, and nothing is held back")
            }
            Self::NoNetwork => f.write_str(
                "offline: there is no network; join one. Nothing leaves this computer in the clear",
            ),
            Self::Portal { url } => write!(
                f,
                "offline: this network wants you to see its own page first, {url}: open it with `guestright portal`; \
                 everything else waits"
            ),
            Self::Asking => {
                f.write_str("asking for service; nothing leaves this computer in the clear meanwhile")
            }
            Self::Online { served: Some((team, class)), .. } => {
                write!(f, "online through your home; team {} serves in class {class}", team.short())
            }
            Self::Online { served: None, is_ours: true } => f.write_str(
                "online through your home; the access point lets a little through, and is asked to serve us",
            ),
            Self::Online { served: None, is_ours: false } => {
                f.write_str("online through your home; this network has no guestright access point")
            }
            Self::HomeNotReached { reason } => write!(
                f,
                "online through the tunnel, but your home's program does not answer ({reason}): receipts wait, and no new \
                 ones come"
            ),
            Self::NoHandshake { endpoint, seconds, is_at_home: true } => write!(
                f,
                "offline: your home at {endpoint} has not answered the tunnel for {seconds} s. This is your own household's \
                 access point: guests never reach the router that they are at, so if your home is there, use the household's \
                 own network and not the guests'"
            ),
            Self::NoHandshake { endpoint, seconds, is_at_home: false } => write!(
                f,
                "offline: your home at {endpoint} has not answered the tunnel for {seconds} s. Is it running, and is that \
                 UDP port open on its router? It goes on trying"
            ),
            Self::Refused { reason, again_seconds } => {
                write!(
                    f,
                    "offline: the access point does not serve us: {reason}. Asking again in {again_seconds} s"
                )
            }
            Self::NotPaid { reason, again_seconds } => write!(
                f,
                "offline: the access point got no receipt in time: {reason}. Asking again in {again_seconds} s"
            ),
            Self::Busy { reason, again_seconds } => {
                write!(f, "offline: the access point is full: {reason}. Asking again in {again_seconds} s")
            }
            Self::Certificate { reason, again_seconds } => write!(
                f,
                "offline: the access point does not take your certificate: {reason}. If it has ended, your team makes a \
                 new one. Asking again in {again_seconds} s"
            ),
        }
    }
}

/// How long to wait before the access point is asked again: after `code`, for the `attempt`-th time in a row in this
/// network, counted from 0. `was_served` is whether it has served us here.
pub fn pause(code: Code, was_served: bool, attempt: u32) -> Duration {
    let doubling = |[first, most]: [Duration; 2]| first.saturating_mul(1 << attempt.min(16)).min(most);
    match code {
        Code::Certificate => AFTER_CERTIFICATE,
        Code::Refused | Code::Malformed | Code::Receipt => AFTER_NO,
        // Whoever has not paid is let in again after a while, and is not heard before.
        Code::Unpaid if was_served && attempt == 0 => SOON[1],
        Code::Unpaid => AFTER_NO,
        Code::Busy => doubling(SOON).max(Duration::from_secs(1)),
        Code::NoSession | Code::Closed if was_served => doubling(SOON),
        Code::NoSession | Code::Closed => doubling(NOBODY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts { is_on: true, has_network: true, endpoint: "203.0.113.5:51820".to_owned(), ..Facts::default() }
    }

    fn refuses(code: Code) -> AccessPointState {
        AccessPointState::Refuses { code, reason: "for a reason".to_owned(), again_seconds: 7 }
    }

    #[test]
    fn the_nearest_cause_is_said() {
        let team = TeamId([7; 24]);
        let serves = AccessPointState::Serves { team, class: ServiceClass::High };
        let long = Duration::from_secs(60);
        let lost = HomeState::Lost("no answer".to_owned());
        let portal = Some("http://10.0.0.1/".to_owned());
        let (silent, handshaking) = (TunnelState::Silent(long), TunnelState::Handshaking(long));
        let up = TunnelState::Up;
        #[rustfmt::skip]
        let cases = [
            (Facts { is_on: false, tunnel: up, ..facts() }, "off"),
            (Facts { has_network: false, tunnel: up, ..facts() }, "no-network"),
            (facts(), "asking"),
            (Facts { tunnel: TunnelState::Handshaking(Duration::from_secs(2)), ..facts() }, "asking"),
            (Facts { tunnel: handshaking, ..facts() }, "no-handshake"),
            (Facts { tunnel: silent, access_point: serves.clone(), ..facts() }, "no-handshake"),
            (Facts { tunnel: up, access_point: serves, ..facts() }, "online"),
            (Facts { tunnel: up, access_point: refuses(Code::Refused), ..facts() }, "online"),
            (Facts { tunnel: up, portal: portal.clone(), ..facts() }, "online"),
            (Facts { tunnel: up, home: lost, ..facts() }, "home-not-reached"),
            (Facts { tunnel: handshaking, portal, ..facts() }, "portal"),
            (Facts { access_point: refuses(Code::Refused), ..facts() }, "refused"),
            (Facts { access_point: refuses(Code::Unpaid), tunnel: silent, ..facts() }, "not-paid"),
            (Facts { access_point: refuses(Code::Busy), ..facts() }, "busy"),
            (Facts { access_point: refuses(Code::Certificate), ..facts() }, "certificate"),
        ];
        for (facts, want) in cases {
            let standing = facts.standing();
            assert_eq!(standing.word(), want, "{facts:?}");
            let sentence = standing.to_string();
            let is_offline =
                sentence.starts_with("offline") || sentence.starts_with("asking") || want == "off";
            assert_eq!(is_offline, !standing.is_online(), "{sentence}");
        }
    }

    #[test]
    fn a_guest_of_its_own_household_learns_why_the_home_does_not_answer() {
        let tunnel = TunnelState::Handshaking(Duration::from_secs(60));
        let sentence = |class| {
            let access_point = AccessPointState::Serves { team: TeamId([7; 24]), class };
            Facts { tunnel, access_point, ..facts() }.standing().to_string()
        };
        assert!(sentence(ServiceClass::Own).contains("the household's own network"));
        assert!(sentence(ServiceClass::High).contains("open on its router"));
    }

    #[test]
    fn numbers_that_grow_are_no_news() {
        let no = |seconds| Standing::NoHandshake { endpoint: "a".to_owned(), seconds, is_at_home: false };
        assert!(!no(7).is_news_after(&no(6)));
        assert!(no(7).is_news_after(&Standing::Asking) && Standing::Asking.is_news_after(&no(7)));
        let refused =
            |reason: &str, again_seconds| Standing::Refused { reason: reason.to_owned(), again_seconds };
        assert!(!refused("a", 5).is_news_after(&refused("a", 60)));
        assert!(refused("a", 5).is_news_after(&refused("b", 5)));
    }

    #[test]
    fn pauses_grow_to_a_limit_and_a_no_is_waited_for() {
        let seconds = |code, was_served, attempt| pause(code, was_served, attempt).as_secs_f64();
        assert_eq!([0, 1, 2, 9, 99].map(|n| seconds(Code::NoSession, false, n)), [5., 10., 20., 120., 120.]);
        assert_eq!([0, 1, 9, u32::MAX].map(|n| seconds(Code::NoSession, true, n)), [0.25, 0.5, 15., 15.]);
        assert_eq!([0, 9].map(|n| seconds(Code::Refused, true, n)), [60., 60.]);
        assert_eq!([0, 1].map(|n| seconds(Code::Unpaid, true, n)), [15., 60.]);
        assert_eq!([0, 9].map(|n| seconds(Code::Busy, false, n)), [1., 15.]);
    }
}

//! The name by which a guest's home is found: `anonymous@<team id>.guestright.alt`.
//!
//! A realm looks like a domain name (RFC 7542, section 2.2: labels with dots, at least two, letters without case). Whoever
//! can register a realm's domain can have requests routed to itself, where servers are found by the DNS (RFC 7585), and a
//! team has no domain. So the zone is one that nobody can register, and none of ours is ever looked up in the DNS:
//!
//! - `.alt` is set apart for names that something other than the DNS resolves (RFC 9476). Ours are resolved by the
//!   directory, which calls use too. A label below it names the system, as section 2 there advises.
//! - `.invalid` (RFC 2606, RFC 6761, section 6.4) is not resolved either, but stands for mistakes: software may refuse it at
//!   sight. `.internal`, `.test` and `home.arpa` mean another thing in each network; a realm is carried between networks.
//!
//! RFC 7542 wants realms registered so that no two are the same. A team id is a digest of the team's key: nobody else has
//! it, and whoever answers for it has to prove it.
//!
//! The label is the team id as it is printed everywhere: 48 hexadecimal digits, of at most 63 octets (RFC 1035, section 2.3.4).

use guestright_units::TeamId;
use std::fmt;
use thiserror::Error;

/// What follows the team's label.
pub const ZONE: &str = "guestright.alt";

/// RFC 7542, section 2.3: what fits into one attribute.
const NAI_BYTES_MAX: usize = 253;

/// The realm of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Realm(pub TeamId);

/// Why a User-Name does not lead to a team. Sentences are for people.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RealmError {
    #[error("This network serves members of guestright teams; the name that your device gave names no team.")]
    NoRealm,
    #[error("This network serves members of guestright teams; your device asked for another provider.")]
    OtherRealm,
    #[error(
        "The name that your device gave is not that of a team: a team has 48 hexadecimal digits. Install the profile again."
    )]
    NoTeam,
}

impl Realm {
    /// Reads a User-Name, which is a network access identifier. What stands before the `@` is nobody's business here: the
    /// home asks for more inside EAP.
    ///
    /// # Errors
    /// [`RealmError`].
    pub fn parse(user_name: &str) -> Result<Self, RealmError> {
        let (user, realm) = user_name.split_once('@').ok_or(RealmError::NoRealm)?;
        if realm.is_empty() || user_name.len() > NAI_BYTES_MAX || user.chars().any(char::is_control) {
            return Err(RealmError::NoRealm);
        }
        let (label, zone) = realm.split_once('.').ok_or(RealmError::OtherRealm)?;
        if !zone.eq_ignore_ascii_case(ZONE) {
            return Err(RealmError::OtherRealm);
        }
        label.parse().map(Self).map_err(|_| RealmError::NoTeam)
    }

    /// What a profile writes as the outer identity. It says which home, and not who (RFC 7542, section 2.4).
    #[must_use]
    pub fn anonymous_identity(&self) -> String {
        format!("anonymous@{self}")
    }
}

impl fmt::Display for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{ZONE}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEAM: TeamId = TeamId([0xab; 24]);

    #[test]
    fn a_realm_has_labels_that_fit() {
        let realm = Realm(TEAM).to_string();
        assert_eq!(realm, format!("{}.guestright.alt", "ab".repeat(24)));
        assert!(realm.split('.').all(|label| (1..=63).contains(&label.len())));
    }

    #[test]
    fn case_does_not_matter_and_the_user_neither() {
        let realm = Realm(TEAM).to_string();
        for name in [
            Realm(TEAM).anonymous_identity(),
            format!("@{realm}"),
            format!("anonymous@{}", realm.to_uppercase()),
            format!("Päivi@{realm}"),
        ] {
            assert_eq!(Realm::parse(&name), Ok(Realm(TEAM)), "{name}");
        }
    }

    #[test]
    fn what_is_not_ours_is_refused_with_a_sentence() {
        let digits = "ab".repeat(24);
        #[rustfmt::skip]
        let cases = [
            (String::new(),                                      RealmError::NoRealm),
            ("bob".to_owned(),                                   RealmError::NoRealm),
            ("bob@".to_owned(),                                  RealmError::NoRealm),
            (format!("bo\nb@{digits}.guestright.alt"),           RealmError::NoRealm),
            (format!("{}@{digits}.guestright.alt", "b".repeat(200)), RealmError::NoRealm),
            ("bob@example.org".to_owned(),                       RealmError::OtherRealm),
            ("bob@localhost".to_owned(),                         RealmError::OtherRealm),
            (format!("bob@{digits}.guestright.alt.example.org"), RealmError::OtherRealm),
            (format!("bob@{digits}.guestright.alt."),            RealmError::OtherRealm),
            (format!("bob@x.{digits}.guestright.alt"),           RealmError::OtherRealm),
            (format!("a@b@{digits}.guestright.alt"),             RealmError::NoTeam),
            (format!("bob@{}.guestright.alt", &digits[1..]),     RealmError::NoTeam),
            ("bob@.guestright.alt".to_owned(),                   RealmError::NoTeam),
        ];
        for (name, want) in cases {
            assert_eq!(Realm::parse(&name), Err(want), "{name}");
            assert!(want.to_string().ends_with('.'));
        }
    }

    proptest! {
        #[test]
        fn parse_inverts_display(team: [u8; 24]) {
            let realm = Realm(TeamId(team));
            prop_assert_eq!(Realm::parse(&realm.anonymous_identity()), Ok(realm));
        }

        #[test]
        fn no_name_panics(name: String) {
            if let Ok(realm) = Realm::parse(&name) {
                prop_assert!(name.to_lowercase().ends_with(&realm.to_string()));
            }
        }
    }
}

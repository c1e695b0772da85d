//! Links that lead somewhere once.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;

use guestright_units::UnixSeconds;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};
use zeroize::Zeroizing;

/// What a set of links is to be.
#[derive(Clone, Copy, Debug)]
pub struct LinksConfig {
    /// At most so many at once.
    pub links_max: usize,
    /// A link that nobody follows ends after this.
    pub life_seconds: u64,
    /// A browser may ask for the same file again, from the same address, for so long after the first time: some hand a
    /// download over to another program of theirs, which asks anew. 0: never.
    pub repeat_seconds: u64,
}

impl Default for LinksConfig {
    fn default() -> Self {
        Self { links_max: 64, life_seconds: 15 * 60, repeat_seconds: 20 }
    }
}

/// Why there is no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinksError {
    #[error("there are {got} links already, which is as many as there may be; wait until some end")]
    Full { got: usize },
}

/// The last part of a link: 256 bits, as 43 letters that need no escape in an URL.
pub struct Token(Zeroizing<String>);

impl Token {
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Links to things of type `T`, each of which leads there once and only for a while.
///
/// In: [`Links::add`] with 32 bytes of chance, [`Links::follow`] with what somebody asks for, [`Links::remove_all`] when what
/// they lead to is no more. Out: a [`Token`], or the thing. Time is an argument. Tokens are not kept, only their digests;
/// each is compared with all of them, in the same time whether or where it is found.
///
/// ```
/// use guestright_profile::{Links, LinksConfig};
/// use guestright_units::UnixSeconds;
///
/// let mut links = Links::new(LinksConfig { repeat_seconds: 0, ..LinksConfig::default() });
/// let token = links.add("a profile", [7; 32], UnixSeconds(0)).unwrap();
/// let phone = "192.0.2.1".parse().unwrap();
/// assert_eq!(links.follow(token.expose(), phone, UnixSeconds(60)), Some(&"a profile"));
/// assert_eq!(links.follow(token.expose(), phone, UnixSeconds(61)), None);
/// ```
#[derive(Clone)]
pub struct Links<T> {
    config: LinksConfig,
    /// In the order in which they end if nobody follows them: all have the same life.
    links: VecDeque<Link<T>>,
}

#[derive(Clone)]
struct Link<T> {
    digest: [u8; 32],
    target: T,
    ends: UnixSeconds,
    /// Who has followed it.
    follower: Option<IpAddr>,
}

impl<T> Links<T> {
    #[must_use]
    pub fn new(config: LinksConfig) -> Self {
        Self { config, links: VecDeque::new() }
    }

    /// A new link.
    ///
    /// # Errors
    /// There are as many as there may be. Old ones do not make room: whoever asks often could push others' out.
    pub fn add(&mut self, target: T, random: [u8; 32], now: UnixSeconds) -> Result<Token, LinksError> {
        self.forget_ended(now);
        let got = self.links.len();
        if got >= self.config.links_max {
            return Err(LinksError::Full { got });
        }
        let token = Token(Zeroizing::new(data_encoding::BASE64URL_NOPAD.encode(&random)));
        let (digest, ends) = (digest(token.expose()), now.plus(self.config.life_seconds));
        self.links.push_back(Link { digest, target, ends, follower: None });
        Ok(token)
    }

    /// What the link leads to. Afterwards it leads there no more, but for a repetition as the configuration says.
    pub fn follow(&mut self, token: &str, who: IpAddr, now: UnixSeconds) -> Option<&T> {
        self.forget_ended(now);
        let presented = digest(token);
        // No end before the last one: how long it takes says only how many there are.
        let (mut found, mut index) = (Choice::from(0), 0_u64);
        for (at, link) in (0_u64..).zip(&self.links) {
            let is_it = link.digest.ct_eq(&presented);
            index.conditional_assign(&at, is_it);
            found |= is_it;
        }
        let link = self.links.get_mut(usize::try_from(index).ok()?).filter(|_| bool::from(found))?;
        match link.follower {
            Some(first) => (first == who).then_some(&link.target),
            None => {
                link.follower = Some(who);
                link.ends = link.ends.min(now.plus(self.config.repeat_seconds));
                Some(&link.target)
            }
        }
    }

    /// Forgets the links to what is no more, such as to a member that was removed.
    pub fn remove_all(&mut self, is_gone: impl Fn(&T) -> bool) {
        self.links.retain(|link| !is_gone(&link.target));
    }

    fn forget_ended(&mut self, now: UnixSeconds) {
        let strict = self.config.repeat_seconds == 0;
        self.links.retain(|link| now < link.ends && !(strict && link.follower.is_some()));
    }
}

impl<T> fmt::Debug for Links<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Links({} of {})", self.links.len(), self.config.links_max)
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn links(repeat_seconds: u64) -> Links<u32> {
        Links::new(LinksConfig { links_max: 3, life_seconds: 100, repeat_seconds })
    }

    #[test]
    fn a_link_leads_there_once() {
        let mut links = links(0);
        let (first, second) = (links.add(1, [1; 32], UnixSeconds(0)), links.add(2, [2; 32], UnixSeconds(0)));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(links.follow(second.expose(), HERE, UnixSeconds(1)), Some(&2));
        assert_eq!(links.follow(second.expose(), HERE, UnixSeconds(1)), None);
        assert_eq!(
            links.follow(first.expose(), HERE, UnixSeconds(99)),
            Some(&1),
            "the other one is untouched"
        );
    }

    #[test]
    fn a_link_ends() {
        let mut links = links(20);
        let token = links.add(1, [1; 32], UnixSeconds(0)).unwrap();
        assert_eq!(links.follow(token.expose(), HERE, UnixSeconds(100)), None);
        let token = links.add(1, [1; 32], UnixSeconds(0)).unwrap();
        assert_eq!(links.follow(token.expose(), HERE, UnixSeconds(99)), Some(&1));
        assert_eq!(
            links.follow(token.expose(), HERE, UnixSeconds(100)),
            None,
            "a repetition makes it no longer"
        );
    }

    #[test]
    fn only_who_followed_first_may_repeat_it_and_not_for_long() {
        let mut links = links(20);
        let token = links.add(1, [1; 32], UnixSeconds(0)).unwrap();
        assert_eq!(links.follow(token.expose(), HERE, UnixSeconds(10)), Some(&1));
        assert_eq!(links.follow(token.expose(), THERE, UnixSeconds(11)), None);
        assert_eq!(links.follow(token.expose(), HERE, UnixSeconds(29)), Some(&1));
        assert_eq!(links.follow(token.expose(), HERE, UnixSeconds(30)), None);
    }

    #[test]
    fn there_are_only_so_many() {
        let mut links = links(0);
        for number in 0..3 {
            links.add(number, [1; 32], UnixSeconds(u64::from(number))).unwrap();
        }
        assert_eq!(links.add(9, [9; 32], UnixSeconds(3)).unwrap_err(), LinksError::Full { got: 3 });
        assert!(links.add(9, [9; 32], UnixSeconds(100)).is_ok(), "one has ended");
        links.remove_all(|target| *target != 9);
        assert!(links.add(10, [10; 32], UnixSeconds(100)).is_ok());
        assert_eq!(format!("{links:?}"), "Links(2 of 3)");
    }

    #[test]
    fn a_token_is_a_token_and_nothing_else() {
        let mut links = links(20);
        let token = links.add(1, [0x5a; 32], UnixSeconds(0)).unwrap();
        let text = token.expose().to_owned();
        assert_eq!((text.len(), format!("{token:?}").as_str()), (43, "Token(..)"));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        for wrong in ["", &text[1..], &format!("{text}="), &text.to_lowercase()] {
            assert_eq!(links.follow(wrong, HERE, UnixSeconds(1)), None, "{wrong}");
        }
        assert_eq!(links.follow(&text, HERE, UnixSeconds(1)), Some(&1));
    }
}

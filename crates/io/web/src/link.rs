//! One-time links: each opens one session, once, within some minutes.

use crate::rate::{self, Rates};
use crate::token::{self, TOKEN_BYTES, TokenDigest};
use crate::{Peer, Refused};
use guestright_units::{Micros, Time};

#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How many are good at once. One more ends the oldest.
    pub links_max: usize,
    pub lifetime: Micros,
    /// How often somebody may be wrong.
    pub guesses: rate::Config,
}

#[derive(Debug)]
struct Link {
    digest: TokenDigest,
    made: Time,
}

/// The links that are good. Of each only a digest is kept.
#[derive(Debug)]
pub struct Links {
    config: Config,
    links: Vec<Link>,
    guesses: Rates,
}

impl Links {
    pub fn new(config: Config) -> Self {
        Self { config, links: Vec::new(), guesses: Rates::new(config.guesses) }
    }

    /// Makes a link's code of `chance`. Nobody can be shown it again.
    pub fn make(&mut self, chance: &[u8; TOKEN_BYTES], now: Time) -> String {
        self.forget(now);
        if self.links.len() >= self.config.links_max {
            self.links.remove(0);
        }
        self.links.push(Link { digest: TokenDigest::of(chance), made: now });
        token::write(chance)
    }

    /// Uses a link up.
    ///
    /// # Errors
    ///
    /// The code is of no link that is good, or the peer was wrong too often.
    pub fn redeem(&mut self, code: &str, peer: Peer, now: Time) -> Result<(), Refused> {
        // Whoever guessed too often is not even compared: else it could go on guessing.
        if !self.guesses.could_ask(peer, now) {
            return Err(Refused::Guessed);
        }
        self.forget(now);
        let found = token::parse(code).and_then(|token| {
            self.links.iter().enumerate().fold(None, |found, (index, link)| {
                if link.digest.is_of(&token) { Some(index) } else { found }
            })
        });
        match found {
            Some(index) => {
                self.links.remove(index);
                Ok(())
            }
            None => {
                self.guesses.admit(peer, now);
                Err(Refused::Link)
            }
        }
    }

    fn forget(&mut self, now: Time) {
        let lifetime = self.config.lifetime;
        self.links.retain(|link| now.since(link.made) < lifetime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GUESSES: rate::Config = rate::Config { burst_max: 5, refill: Micros(60_000_000), peers_max: 64 };
    const CONFIG: Config = Config { links_max: 4, lifetime: Micros(600_000_000), guesses: GUESSES };

    fn peer(number: u8) -> Peer {
        Peer::from(std::net::IpAddr::from([192, 0, 2, number]))
    }

    fn seconds(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    #[test]
    fn a_link_is_good_once_and_for_ten_minutes() {
        let mut links = Links::new(CONFIG);
        let code = links.make(&[1; 16], seconds(0));
        assert_eq!(links.redeem(&code, peer(1), seconds(599)), Ok(()));
        assert_eq!(links.redeem(&code, peer(1), seconds(599)), Err(Refused::Link));
        let code = links.make(&[2; 16], seconds(600));
        assert_eq!(links.redeem(&code, peer(1), seconds(1_200)), Err(Refused::Link));
    }

    #[test]
    fn who_guesses_is_stopped_and_nobody_else_is() {
        let mut links = Links::new(CONFIG);
        let code = links.make(&[1; 16], seconds(0));
        for _ in 0..5 {
            assert_eq!(links.redeem(&"0".repeat(32), peer(1), seconds(0)), Err(Refused::Link));
        }
        assert_eq!(
            links.redeem(&code, peer(1), seconds(0)),
            Err(Refused::Guessed),
            "even if it is right at last"
        );
        assert_eq!(links.redeem(&code, peer(2), seconds(0)), Ok(()));
        let code = links.make(&[2; 16], seconds(60));
        assert_eq!(links.redeem(&code, peer(1), seconds(60)), Ok(()), "a minute later it may again");
    }

    #[test]
    fn a_fifth_link_ends_the_oldest() {
        let mut links = Links::new(CONFIG);
        let codes: Vec<_> = (0..5).map(|number| links.make(&[number; 16], seconds(0))).collect();
        let good: Vec<_> = codes.iter().map(|code| links.redeem(code, peer(1), seconds(1)).is_ok()).collect();
        assert_eq!(good, [false, true, true, true, true]);
    }

    proptest! {
        #[test]
        fn only_what_was_made_opens(code in "[0-9a-f]{32}|[A-Za-z0-9_-]{22}|.{0,40}") {
            let mut links = Links::new(CONFIG);
            let good = links.make(&[1; 16], seconds(0));
            let base64 = data_encoding::BASE64URL_NOPAD.encode(&[1; 16]);
            let result = links.redeem(&code, peer(1), seconds(1));
            prop_assert_eq!(result.is_ok(), code == good || code == base64);
        }
    }
}

//! Pictures that were made for the page: they may hold secrets, so they are few, have names that nobody guesses, and go soon.

use super::tools::MadeCode;
use guestright_overview::Moment;
use guestright_page::Code;
use guestright_units::UnixSeconds;
use rand::Rng as _;
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// One more, and the oldest goes.
const CODES_MAX: usize = 8;

#[derive(Default)]
pub(super) struct Codes(VecDeque<Kept>);

struct Kept {
    name: String,
    svg: Zeroizing<String>,
    until: UnixSeconds,
}

impl Codes {
    /// Keeps a picture for as long as it is good.
    pub(super) fn keep(&mut self, made: MadeCode, now: UnixSeconds) -> Code {
        let mut bits = [0; 16];
        guestright_clock::rng().fill_bytes(&mut bits);
        let name = format!("{:032x}", u128::from_be_bytes(bits));
        let until = now.plus(made.seconds);
        self.forget(now);
        if self.0.len() >= CODES_MAX {
            self.0.pop_front();
        }
        let image = format!("/v1/codes/{name}");
        self.0.push_back(Kept { name, svg: made.svg, until });
        Code { image, link: made.link, until: Moment::from(until) }
    }

    pub(super) fn find(&mut self, name: &str, now: UnixSeconds) -> Option<String> {
        self.forget(now);
        self.0.iter().find(|kept| kept.name == name).map(|kept| kept.svg.to_string())
    }

    fn forget(&mut self, now: UnixSeconds) {
        self.0.retain(|kept| now < kept.until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

    fn code(text: &str) -> MadeCode {
        MadeCode { svg: Zeroizing::new(text.to_owned()), link: None, seconds: 60 }
    }

    fn name(code: &Code) -> &str {
        code.image.strip_prefix("/v1/codes/").unwrap()
    }

    #[test]
    fn a_picture_is_there_until_its_end_or_until_there_are_too_many() {
        let mut codes = Codes::default();
        let first = codes.keep(code("first"), NOW);
        assert_eq!(codes.find(name(&first), NOW).as_deref(), Some("first"));
        assert_eq!(codes.find(name(&first), NOW.plus(60)), None);
        assert_eq!(codes.find(name(&first), NOW), None, "it is gone for good");
        let kept: Vec<_> = (0..=CODES_MAX).map(|_| codes.keep(code("one"), NOW)).collect();
        assert_eq!(codes.find(name(&kept[0]), NOW), None);
        assert!(kept[1..].iter().all(|kept| codes.find(name(kept), NOW).is_some()));
    }
}

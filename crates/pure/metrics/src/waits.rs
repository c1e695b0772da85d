//! When something began, until it ends.

use guestright_units::{Micros, Time};
use std::collections::BTreeMap;

/// Things that have begun; a limited number of them, for a limited time.
#[derive(Clone, Debug)]
pub struct Waits<K> {
    began: BTreeMap<K, Time>,
    waits_max: usize,
    age_max: Micros,
}

impl<K: Ord> Waits<K> {
    /// What is older than `age_max` was given up: when it begins again, that is another one.
    pub fn new(waits_max: usize, age_max: Micros) -> Self {
        Self { began: BTreeMap::new(), waits_max, age_max }
    }

    /// It begins, unless it has begun already. When there are too many, those that were given up go; if that is not enough, this one
    /// is not measured.
    pub fn begin(&mut self, key: K, now: Time) {
        let age_max = self.age_max;
        if self.began.len() >= self.waits_max {
            self.began.retain(|_, at| now - *at <= age_max);
        }
        let has_room = self.began.len() < self.waits_max;
        match self.began.get_mut(&key) {
            Some(at) if now - *at > age_max => *at = now,
            Some(_) => {}
            None if has_room => drop(self.began.insert(key, now)),
            None => {}
        }
    }

    /// It ends, and took so long, if it was seen to begin.
    pub fn end(&mut self, key: &K, now: Time) -> Option<Micros> {
        let took = now - self.began.remove(key)?;
        (took <= self.age_max).then_some(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE_MAX: Micros = Micros::from_seconds(30);

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    #[test]
    fn what_is_asked_again_began_with_the_first_time() {
        let mut waits = Waits::new(2, AGE_MAX);
        waits.begin('a', at(1));
        waits.begin('a', at(3));
        assert_eq!(waits.end(&'a', at(4)), Some(Micros::from_seconds(3)));
        assert_eq!(waits.end(&'a', at(4)), None);
        assert_eq!(waits.end(&'b', at(4)), None);
    }

    #[test]
    fn what_was_given_up_makes_room_and_is_another_one_later() {
        let mut waits = Waits::new(2, AGE_MAX);
        waits.begin('a', at(1));
        waits.begin('b', at(2));
        waits.begin('c', at(3));
        assert_eq!(waits.end(&'c', at(4)), None, "there was no room");
        waits.begin('a', at(100));
        assert_eq!(waits.end(&'a', at(101)), Some(Micros::from_seconds(1)));
        waits.begin('d', at(101));
        assert_eq!(waits.end(&'d', at(200)), None, "it took too long to be the same");
        waits.begin('e', at(300));
        waits.begin('f', at(300));
        assert_eq!(waits.end(&'f', at(301)), Some(Micros::from_seconds(1)), "b has made room");
    }
}

//! Bytes by direction and class, of all whose packets pass.

use crate::PerClass;
use crate::carried::Growing;
use guestright_reciprocity::ServiceClass;
use std::collections::BTreeMap;

/// What passed from guests and to them. Each is looked at when the firewall was read, and when its packets pass no more: what passed
/// since the last time counts in the class of now.
#[derive(Clone, Debug)]
pub struct Directions<K> {
    passing: BTreeMap<K, ServiceClass>,
    bytes: Growing<K>,
}

impl<K: Ord> Default for Directions<K> {
    fn default() -> Self {
        Self { passing: BTreeMap::new(), bytes: Growing::default() }
    }
}

impl<K: Ord + Copy> Directions<K> {
    /// It passes from now on, or goes on in another class.
    pub fn begin(&mut self, key: K, class: ServiceClass) {
        self.passing.insert(key, class);
    }

    /// It has carried so much in all. Of whoever did not begin nothing is counted.
    pub fn look(&mut self, key: &K, up: u64, down: u64) {
        if let Some(class) = self.passing.get(key) {
            self.bytes.look(*key, *class, [up, down]);
        }
    }

    /// It passes no more, with so much in all.
    pub fn end(&mut self, key: &K, up: u64, down: u64) {
        if let Some(class) = self.passing.remove(key) {
            self.bytes.end(key, class, [up, down]);
        }
    }

    /// Bytes from guests to the Internet.
    pub fn up(&self) -> &PerClass {
        &self.bytes.grown[0]
    }

    /// Bytes from the Internet to guests.
    pub fn down(&self) -> &PerClass {
        &self.bytes.grown[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServiceClass::{High, Lowest};

    fn sums(per_class: &PerClass) -> Vec<u64> {
        per_class.each().map(|(_, sum)| sum).collect()
    }

    #[test]
    fn each_byte_is_counted_once_on_its_way_and_in_the_class_of_its_time() {
        let mut directions = Directions::default();
        directions.look(&1, 5, 5);
        directions.begin(1, Lowest);
        directions.look(&1, 10, 100);
        directions.begin(1, High);
        directions.look(&1, 9, 300);
        directions.end(&1, 30, 300);
        directions.end(&1, 40, 400);
        assert_eq!(sums(directions.up()), [10, 0, 0, 20, 0]);
        assert_eq!(sums(directions.down()), [100, 0, 0, 200, 0]);
        directions.begin(1, Lowest);
        directions.end(&1, 1, 2);
        assert_eq!((sums(directions.up())[0], sums(directions.down())[0]), (11, 102), "it begins anew");
    }
}

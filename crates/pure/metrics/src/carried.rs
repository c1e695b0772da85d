//! Bytes by class. A session's class may change: what it carried before stays with the class of that time.

use guestright_reciprocity::ServiceClass;
use guestright_units::Bytes;
use std::collections::BTreeMap;

/// Something for each class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerClass([u64; ServiceClass::ALL.len()]);

impl PerClass {
    pub fn add(&mut self, class: ServiceClass, more: u64) {
        if let Some(sum) = self.sums().find(|(of, _)| *of == class) {
            *sum.1 += more;
        }
    }

    /// All classes, the least first.
    pub fn each(&self) -> impl Iterator<Item = (ServiceClass, u64)> {
        ServiceClass::ALL.into_iter().zip(self.0)
    }

    fn sums(&mut self) -> impl Iterator<Item = (ServiceClass, &mut u64)> {
        ServiceClass::ALL.into_iter().zip(&mut self.0)
    }
}

/// Two numbers of each key that only grow, and by class how much they have grown.
#[derive(Clone, Debug)]
pub(crate) struct Growing<K> {
    seen: BTreeMap<K, [u64; 2]>,
    pub(crate) grown: [PerClass; 2],
}

impl<K: Ord> Default for Growing<K> {
    fn default() -> Self {
        Self { seen: BTreeMap::new(), grown: Default::default() }
    }
}

impl<K: Ord> Growing<K> {
    /// They are so high now; lower ones are passed over.
    pub(crate) fn look(&mut self, key: K, class: ServiceClass, now: [u64; 2]) {
        let seen = self.seen.entry(key).or_default();
        let before = *seen;
        *seen = [0, 1].map(|which| now[which].max(before[which]));
        self.add(class, before, now);
    }

    /// The key begins anew the next time; they were so high at last.
    pub(crate) fn end(&mut self, key: &K, class: ServiceClass, last: [u64; 2]) {
        let before = self.seen.remove(key).unwrap_or_default();
        self.add(class, before, last);
    }

    fn add(&mut self, class: ServiceClass, before: [u64; 2], now: [u64; 2]) {
        for (which, grown) in self.grown.iter_mut().enumerate() {
            grown.add(class, now[which].saturating_sub(before[which]));
        }
    }
}

/// What sessions carried and what was signed of it. Sessions are looked at when somebody asks and when they end, and not between.
#[derive(Clone, Debug)]
pub struct Carried<K>(Growing<K>);

impl<K: Ord> Default for Carried<K> {
    fn default() -> Self {
        Self(Growing::default())
    }
}

impl<K: Ord> Carried<K> {
    /// A session that goes on has carried so much in all, and so much of it was signed for.
    pub fn look(&mut self, session: K, class: ServiceClass, carried: Bytes, signed: Bytes) {
        self.0.look(session, class, [carried.0, signed.0]);
    }

    /// It is over, with so much in all.
    pub fn end(&mut self, session: &K, class: ServiceClass, carried: Bytes, signed: Bytes) {
        self.0.end(session, class, [carried.0, signed.0]);
    }

    /// How much was carried.
    pub fn carried(&self) -> &PerClass {
        &self.0.grown[0]
    }

    /// How much of it was signed for.
    pub fn signed(&self) -> &PerClass {
        &self.0.grown[1]
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
    fn each_byte_is_counted_once_in_the_class_of_its_time() {
        let mut carried = Carried::default();
        carried.look(1, Lowest, Bytes(100), Bytes(0));
        carried.look(1, High, Bytes(250), Bytes(100));
        carried.look(1, High, Bytes(240), Bytes(100));
        carried.end(&1, High, Bytes(300), Bytes(300));
        carried.end(&2, Lowest, Bytes(7), Bytes(5));
        assert_eq!(sums(carried.carried()), [107, 0, 0, 200, 0]);
        assert_eq!(sums(carried.signed()), [5, 0, 0, 300, 0]);
        carried.look(1, Lowest, Bytes(1), Bytes(0));
        assert_eq!(sums(carried.carried())[0], 108, "another session of the same name begins anew");
    }
}

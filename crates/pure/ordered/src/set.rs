use std::borrow::Borrow;
use std::fmt;

use crate::OrderedMap;

/// Elements in order, as in `BTreeSet`; see the crate's page for what it costs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderedSet<T>(OrderedMap<T, ()>);

impl<T> OrderedSet<T> {
    pub const fn new() -> Self {
        Self(OrderedMap::new())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn iter(&self) -> Elements<'_, T> {
        Elements(self.0.iter())
    }

    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(element, ())| element)
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|element, ()| keep(element));
    }
}

impl<T: Ord> OrderedSet<T> {
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(element)
    }

    /// Whether it is new.
    pub fn insert(&mut self, element: T) -> bool {
        self.0.insert(element, ()).is_none()
    }

    /// The elements of both, those of the first before those that only the other has.
    pub fn union<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().chain(other.iter().filter(|element| !self.contains(*element)))
    }

    /// Whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(element).is_some()
    }
}

/// The elements in order.
#[derive(Debug)]
pub struct Elements<'a, T>(crate::Iter<'a, T, ()>);

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, T> Iterator for Elements<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> DoubleEndedIterator for Elements<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(element, ())| element)
    }
}

impl<T> ExactSizeIterator for Elements<'_, T> {}

impl<'a, T> IntoIterator for &'a OrderedSet<T> {
    type Item = &'a T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The elements themselves, in order.
#[derive(Debug)]
pub struct IntoElements<T>(crate::map::IntoIter<T, ()>);

impl<T> Iterator for IntoElements<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> IntoIterator for OrderedSet<T> {
    type Item = T;
    type IntoIter = IntoElements<T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoElements(self.0.into_iter())
    }
}

impl<T: Ord> Extend<T> for OrderedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.0.extend(elements.into_iter().map(|element| (element, ())));
    }
}

impl<T: Ord> FromIterator<T> for OrderedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = Self::new();
        set.extend(elements);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for OrderedSet<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T> Default for OrderedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OrderedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_what_the_standard_librarys_set_is(steps: Vec<(bool, u8)>, odd: bool, wanted: u8) {
            let (mut ours, mut theirs) = (OrderedSet::new(), BTreeSet::new());
            for (inserted, element) in steps {
                if inserted {
                    prop_assert_eq!(ours.insert(element), theirs.insert(element));
                } else {
                    prop_assert_eq!(ours.remove(&element), theirs.remove(&element));
                }
                prop_assert!(ours.iter().eq(theirs.iter()), "{:?} {:?}", ours, theirs);
            }
            prop_assert_eq!(ours.contains(&wanted), theirs.contains(&wanted));
            prop_assert_eq!((ours.first(), ours.last()), (theirs.first(), theirs.last()));
            prop_assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            prop_assert_eq!(ours.pop_first(), theirs.pop_first());
            if odd {
                ours.retain(|element| element & 1 == 1);
                theirs.retain(|element| element & 1 == 1);
            }
            prop_assert_eq!((ours.len(), ours.is_empty()), (theirs.len(), theirs.is_empty()));
            prop_assert!(ours.into_iter().eq(theirs));
        }
    }
}

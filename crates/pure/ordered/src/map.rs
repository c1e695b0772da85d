use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, Index, RangeBounds};

/// Keys in order, each with a value, as in `BTreeMap`; see the crate's page for what it costs.
///
/// ```
/// let mut calls = guestright_ordered::OrderedMap::new();
/// *calls.entry("alice").or_insert(0) += 1;
/// calls.insert("aaron", 7);
/// assert_eq!(calls.iter().next(), Some((&"aaron", &7)));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderedMap<K, V> {
    /// Pointers, so that insertion and removal are the same code for all kinds.
    entries: Vec<Box<(K, V)>>,
}

impl<K, V> OrderedMap<K, V> {
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }

    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.entries.iter_mut())
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|entry| &entry.0)
    }

    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|entry| &entry.1)
    }

    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|entry| &mut entry.1)
    }

    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.entries.into_iter().map(|entry| entry.0)
    }

    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|entry| entry.1)
    }

    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.is_empty()).then(|| *self.entries.remove(0))
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|entry| {
            let (key, value) = &mut **entry;
            keep(key, value)
        });
    }

    /// Removes what is wanted while it is iterated; what was not reached stays.
    pub fn extract_if(
        &mut self,
        mut is_wanted: impl FnMut(&K, &mut V) -> bool,
    ) -> impl Iterator<Item = (K, V)> {
        let wanted = move |entry: &mut Box<(K, V)>| {
            let (key, value) = &mut **entry;
            is_wanted(key, value)
        };
        self.entries.extract_if(.., wanted).map(|entry| *entry)
    }
}

impl<K: Ord, V> OrderedMap<K, V> {
    /// Where a key is, or where it would be.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|entry| entry.0.borrow().cmp(key))
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|index| &self.entries[index].1)
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|index| &mut self.entries[index].1)
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// What the key had before. As in `BTreeMap`, the key that was there stays.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.entry(key) {
            Entry::Occupied(there) => Some(std::mem::replace(there, value)),
            Entry::Vacant(vacant) => {
                vacant.insert(value);
                None
            }
        }
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|index| self.entries.remove(index).1)
    }

    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.find(&key) {
            Ok(index) => Entry::Occupied(&mut self.entries[index].1),
            Err(index) => Entry::Vacant(VacantEntry { map: self, key, index }),
        }
    }

    /// The entries whose keys are in the range; none where it ends before it starts.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let start = match range.start_bound() {
            Bound::Included(key) => self.entries.partition_point(|entry| entry.0.borrow() < key),
            Bound::Excluded(key) => self.entries.partition_point(|entry| entry.0.borrow() <= key),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(key) => self.entries.partition_point(|entry| entry.0.borrow() <= key),
            Bound::Excluded(key) => self.entries.partition_point(|entry| entry.0.borrow() < key),
            Bound::Unbounded => self.len(),
        };
        Iter(self.entries.get(start..end).unwrap_or_default().iter())
    }
}

/// A key's value, or the gap where it would be.
#[derive(Debug)]
pub enum Entry<'a, K, V> {
    Occupied(&'a mut V),
    Vacant(VacantEntry<'a, K, V>),
}

/// The gap where a key would be.
pub struct VacantEntry<'a, K, V> {
    map: &'a mut OrderedMap<K, V>,
    key: K,
    index: usize,
}

impl<K: fmt::Debug, V> fmt::Debug for VacantEntry<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VacantEntry").field(&self.key).finish()
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    pub fn insert(self, value: V) -> &'a mut V {
        let Self { map, key, index } = self;
        map.entries.insert(index, Box::new((key, value)));
        &mut map.entries[index].1
    }
}

impl<'a, K, V> Entry<'a, K, V> {
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(value) => value,
            Self::Vacant(vacant) => vacant.insert(make()),
        }
    }

    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

/// The entries in order.
#[derive(Debug)]
pub struct Iter<'a, K, V>(std::slice::Iter<'a, Box<(K, V)>>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| (&entry.0, &entry.1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|entry| (&entry.0, &entry.1))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<'a, K, V> IntoIterator for &'a OrderedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The entries in order, whose values may be changed.
#[derive(Debug)]
pub struct IterMut<'a, K, V>(std::slice::IterMut<'a, Box<(K, V)>>);

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| {
            let (key, value) = &mut **entry;
            (&*key, value)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}

impl<'a, K, V> IntoIterator for &'a mut OrderedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The entries themselves, in order.
#[derive(Debug)]
pub struct IntoIter<K, V>(std::vec::IntoIter<Box<(K, V)>>);

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| *entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for IntoIter<K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|entry| *entry)
    }
}

impl<K, V> ExactSizeIterator for IntoIter<K, V> {}

impl<K, V> IntoIterator for OrderedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.entries.into_iter())
    }
}

/// Of equal keys the last value counts.
impl<K: Ord, V> Extend<(K, V)> for OrderedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for OrderedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<Q: Ord + ?Sized, K: Ord + Borrow<Q>, V> Index<&Q> for OrderedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is in the map")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, u32),
        Remove(u8),
        Add(u8, u32),
        Change(u8, u32),
        KeepOdd,
        TakeEven,
        PopFirst,
        Extend(Vec<(u8, u32)>),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => any::<(u8, u32)>().prop_map(|(key, value)| Step::Insert(key, value)),
            4 => any::<u8>().prop_map(Step::Remove),
            4 => any::<(u8, u32)>().prop_map(|(key, value)| Step::Add(key, value)),
            2 => any::<(u8, u32)>().prop_map(|(key, value)| Step::Change(key, value)),
            1 => Just(Step::KeepOdd),
            1 => Just(Step::TakeEven),
            2 => Just(Step::PopFirst),
            1 => proptest::collection::vec(any::<(u8, u32)>(), 0..20).prop_map(Step::Extend),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        #[test]
        fn it_is_what_the_standard_librarys_map_is(steps in proptest::collection::vec(step(), 0..200), low: u8, high: u8) {
            let (mut ours, mut theirs) = (OrderedMap::new(), BTreeMap::new());
            for step in steps {
                match step {
                    Step::Insert(key, value) => prop_assert_eq!(ours.insert(key, value), theirs.insert(key, value)),
                    Step::Remove(key) => prop_assert_eq!(ours.remove(&key), theirs.remove(&key)),
                    Step::Add(key, value) => {
                        let (one, other) = (ours.entry(key).or_default(), theirs.entry(key).or_default());
                        *one ^= value;
                        *other ^= value;
                        prop_assert_eq!(one, other);
                    }
                    Step::Change(key, value) => {
                        prop_assert_eq!(ours.get_mut(&key).map(|it| std::mem::replace(it, value)),
                                        theirs.get_mut(&key).map(|it| std::mem::replace(it, value)));
                    }
                    Step::KeepOdd => {
                        ours.retain(|key, value| (u32::from(*key) ^ *value) & 1 == 1);
                        theirs.retain(|key, value| (u32::from(*key) ^ *value) & 1 == 1);
                    }
                    Step::TakeEven => {
                        prop_assert!(ours.extract_if(|_, value| *value & 1 == 0).eq(theirs.extract_if(.., |_, value| *value & 1 == 0)));
                    }
                    Step::PopFirst => prop_assert_eq!(ours.pop_first(), theirs.pop_first()),
                    Step::Extend(entries) => {
                        ours.extend(entries.clone());
                        theirs.extend(entries);
                    }
                    Step::Clear => {
                        ours.clear();
                        theirs.clear();
                    }
                }
                prop_assert!(ours.iter().eq(theirs.iter()), "{:?} {:?}", ours, theirs);
                prop_assert_eq!(ours.len(), theirs.len());
            }
            let key = low;
            let (low, high) = (low.min(high), low.max(high));
            prop_assert!(ours.range(low..high).eq(theirs.range(low..high)));
            prop_assert!(ours.range(low..=high).rev().eq(theirs.range(low..=high).rev()));
            prop_assert!(ours.range(..high).eq(theirs.range(..high)));
            let after = (Bound::Excluded(low), Bound::Unbounded);
            prop_assert!(ours.range(after).eq(theirs.range(after)));
            prop_assert_eq!(ours.get(&key), theirs.get(&key));
            prop_assert_eq!(ours.contains_key(&key), theirs.contains_key(&key));
            prop_assert_eq!(ours.first_key_value(), theirs.first_key_value());
            prop_assert_eq!(ours.last_key_value(), theirs.last_key_value());
            prop_assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            prop_assert!(ours.keys().eq(theirs.keys()) && ours.values().rev().eq(theirs.values().rev()));
            prop_assert!(ours.clone().into_keys().eq(theirs.clone().into_keys()));
            prop_assert!(ours.clone().into_values().eq(theirs.clone().into_values()));
            prop_assert!(ours.into_iter().rev().eq(theirs.into_iter().rev()));
        }
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_empty() {
        let map = OrderedMap::from([(1, ()), (5, ()), (9, ())]);
        let (start, end) = (7, 2);
        assert_eq!(map.range(start..end).count(), 0);
    }
}

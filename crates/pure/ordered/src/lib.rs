//! Maps and sets in order, for programs that have many kinds of them and little flash.
//!
//! The standard library's `BTreeMap` is compiled anew for each kind of key and value: 5,000 to 10,000 bytes for one that is
//! changed, half a megabyte of a router's program (docs/measurements.md). [`OrderedMap`] and [`OrderedSet`] have the part of its
//! interface that we use, and are a list of pointers, whose code is the same for all kinds: only comparison and drop are not.
//!
//! Invariants: keys ascend strictly, by their `Ord`; whatever is iterated comes in that order.
//!
//! A lookup takes logarithmic time. An insertion or removal moves the pointers behind it, so that it is for maps with a limit:
//! of 10,000 entries it moves at most 40 kB on a processor with 32 bits. What may grow with teams of the world stays a `BTreeMap`.

mod map;
mod set;

pub use map::{Entry, IntoIter, Iter, IterMut, OrderedMap, VacantEntry};
pub use set::{Elements, IntoElements, OrderedSet};

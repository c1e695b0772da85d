//! A call's two legs by name.

use std::ops::{Index, IndexMut};

/// One of a call's two legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that the first INVITE came on.
    Caller,
    /// The one that it was forwarded on.
    Callee,
}

impl Side {
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Caller => Self::Callee,
            Self::Callee => Self::Caller,
        }
    }
}

/// Something of each leg of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Legs<T> {
    /// The caller's.
    pub caller: T,
    /// The callee's.
    pub callee: T,
}

impl<T> Legs<T> {
    /// The same for both legs.
    #[must_use]
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Legs<U> {
        Legs { caller: change(self.caller), callee: change(self.callee) }
    }

    /// References to both.
    #[must_use]
    pub const fn as_ref(&self) -> Legs<&T> {
        Legs { caller: &self.caller, callee: &self.callee }
    }

    /// Both, the caller's first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.caller, &self.callee].into_iter()
    }
}

impl<T> Legs<Option<T>> {
    /// Both, if there are both.
    #[must_use]
    pub fn transpose(self) -> Option<Legs<T>> {
        Some(Legs { caller: self.caller?, callee: self.callee? })
    }
}

impl<T> Index<Side> for Legs<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Caller => &self.caller,
            Side::Callee => &self.callee,
        }
    }
}

impl<T> IndexMut<Side> for Legs<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Caller => &mut self.caller,
            Side::Callee => &mut self.callee,
        }
    }
}

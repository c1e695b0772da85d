//! Whole numbers, each with its unit.

use guestright_units::{BitsPerSecond, Bytes, UnixSeconds};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest number of this schema: 2^53 - 1, the largest that a browser's script holds exactly.
///
/// ECMAScript 2025, section 21.1.2.6 (`Number.MAX_SAFE_INTEGER`); RFC 8259, section 6, says the same of JSON.
pub const NUMBER_MAX: u64 = 9_007_199_254_740_991;

/// A number is larger than [`NUMBER_MAX`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{got} is more than {NUMBER_MAX}, the largest number that a browser holds exactly")]
pub struct NumberError {
    /// The number.
    pub got: u64,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $number:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "u64", into = "u64")]
        #[cfg_attr(
            feature = "describe",
            derive(utoipa::ToSchema),
            schema(minimum = 0, maximum = 9007199254740991.0)
        )]
        pub struct $number(u64);

        impl $number {
            /// This number, or [`NUMBER_MAX`] if it is larger.
            pub const fn at_most_max(number: u64) -> Self {
                if number > NUMBER_MAX { Self(NUMBER_MAX) } else { Self(number) }
            }

            /// The number alone.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl TryFrom<u64> for $number {
            type Error = NumberError;

            fn try_from(got: u64) -> Result<Self, NumberError> {
                if got > NUMBER_MAX { Err(NumberError { got }) } else { Ok(Self(got)) }
            }
        }

        impl From<$number> for u64 {
            fn from(number: $number) -> Self {
                number.0
            }
        }
    )*};
}

numbers! {
    /// A sum of bytes, both directions together.
    Sum;
    /// A rate in bits a second, both directions together.
    Rate;
    /// How many there are.
    Count;
    /// A time in whole seconds since 1970-01-01 UTC.
    Moment;
}

impl From<Bytes> for Sum {
    fn from(bytes: Bytes) -> Self {
        Self::at_most_max(bytes.0)
    }
}

impl From<BitsPerSecond> for Rate {
    fn from(rate: BitsPerSecond) -> Self {
        Self::at_most_max(rate.0.get())
    }
}

impl From<usize> for Count {
    fn from(count: usize) -> Self {
        Self::at_most_max(u64::try_from(count).unwrap_or(NUMBER_MAX))
    }
}

impl From<UnixSeconds> for Moment {
    fn from(time: UnixSeconds) -> Self {
        Self::at_most_max(time.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_a_browsers_do() {
        assert_eq!(serde_json::from_str::<Sum>("9007199254740991").unwrap().get(), NUMBER_MAX);
        for text in ["9007199254740992", "18446744073709551615", "-1", "1.5", "\"1\"", "null"] {
            assert!(serde_json::from_str::<Sum>(text).is_err(), "{text}");
        }
        assert_eq!(Count::try_from(NUMBER_MAX + 1), Err(NumberError { got: NUMBER_MAX + 1 }));
    }

    #[test]
    fn what_is_larger_is_shown_as_the_largest() {
        assert_eq!(Sum::from(Bytes(u64::MAX)).get(), NUMBER_MAX);
        assert_eq!(Moment::from(UnixSeconds(NUMBER_MAX + 1)).get(), NUMBER_MAX);
        assert_eq!(Sum::from(Bytes(7)).get(), 7);
    }
}

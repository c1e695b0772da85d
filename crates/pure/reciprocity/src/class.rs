use crate::{Ind, PerMille};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// How well a visitor is served when the line is short.
///
/// That the debt ratio is turned into classes of service is from Efstathiou and others (AccessNets 2006,
/// <https://doi.org/10.1145/1189355.1189374>); how many classes and their weights are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceClass {
    /// Strangers, and those who gave little for what they took.
    Lowest,
    /// The second quarter of the ratio.
    Low,
    /// The third quarter.
    Middle,
    /// Those who gave about as much as they took, or more.
    High,
    /// The household's own members.
    Own,
}

/// Text that names no class of service.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no service class is called {got:?}; the classes are lowest, low, middle, high and own")]
pub struct ParseServiceClassError {
    /// The text.
    pub got: String,
}

impl ServiceClass {
    /// All of them, the least first.
    pub const ALL: [Self; 5] = [Self::Lowest, Self::Low, Self::Middle, Self::High, Self::Own];

    /// The share of the line relative to the other classes.
    pub const fn weight(self) -> u32 {
        match self {
            Self::Lowest => 1,
            Self::Low => 2,
            Self::Middle => 4,
            Self::High => 8,
            Self::Own => 16,
        }
    }

    /// The name in settings and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lowest => "lowest",
            Self::Low => "low",
            Self::Middle => "middle",
            Self::High => "high",
            Self::Own => "own",
        }
    }
}

impl fmt::Display for ServiceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ServiceClass {
    type Err = ParseServiceClassError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|class| class.name() == text);
        named.ok_or_else(|| ParseServiceClassError { got: text.to_owned() })
    }
}

/// Where one class ends and the next begins, as the largest ratio that still falls in the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassBounds {
    /// Up to here [`ServiceClass::Lowest`].
    pub lowest_max: PerMille,
    /// Up to here [`ServiceClass::Low`].
    pub low_max: PerMille,
    /// Up to here [`ServiceClass::Middle`], beyond it [`ServiceClass::High`].
    pub middle_max: PerMille,
}

impl Default for ClassBounds {
    fn default() -> Self {
        Self { lowest_max: PerMille(250), low_max: PerMille(500), middle_max: PerMille(750) }
    }
}

impl ClassBounds {
    /// The class of a ratio, or nothing if the ratio is zero.
    pub fn class(&self, ind: Ind) -> Option<ServiceClass> {
        match ind.per_mille() {
            PerMille(0) => None,
            share if share <= self.lowest_max => Some(ServiceClass::Lowest),
            share if share <= self.low_max => Some(ServiceClass::Low),
            share if share <= self.middle_max => Some(ServiceClass::Middle),
            _ => Some(ServiceClass::High),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_inverts_display() {
        for class in ServiceClass::ALL {
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert!("best".parse::<ServiceClass>().unwrap_err().to_string().contains("\"best\""));
    }

    #[test]
    fn each_class_has_twice_the_share_of_the_one_below_it() {
        assert_eq!(ServiceClass::ALL.map(ServiceClass::weight), [1, 2, 4, 8, 16]);
        assert!(ServiceClass::ALL.is_sorted());
    }

    #[test]
    fn each_quarter_of_the_ratio_has_its_class() {
        #[rustfmt::skip]
        let cases = [
            (0, None), (1, Some(ServiceClass::Lowest)), (250, Some(ServiceClass::Lowest)),
            (251, Some(ServiceClass::Low)), (500, Some(ServiceClass::Low)), (501, Some(ServiceClass::Middle)),
            (750, Some(ServiceClass::Middle)), (751, Some(ServiceClass::High)), (1_000, Some(ServiceClass::High)),
        ];
        for (num, class) in cases {
            assert_eq!(ClassBounds::default().class(Ind::ratio(num, 1_000)), class, "{num}");
        }
    }
}

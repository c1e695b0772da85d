//! How well somebody is served.

use guestright_reciprocity::ServiceClass;
use serde::{Deserialize, Serialize};

/// How well somebody is served when the line is short: each class has twice the share of the one below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum Class {
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

impl From<ServiceClass> for Class {
    fn from(class: ServiceClass) -> Self {
        match class {
            ServiceClass::Lowest => Self::Lowest,
            ServiceClass::Low => Self::Low,
            ServiceClass::Middle => Self::Middle,
            ServiceClass::High => Self::High,
            ServiceClass::Own => Self::Own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_name_that_it_has_in_settings() {
        for class in ServiceClass::ALL {
            assert_eq!(serde_json::to_value(Class::from(class)).unwrap(), class.name());
        }
    }
}

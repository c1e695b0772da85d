//! How good a call is, in one number.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A mean opinion score, 1.00 to 4.50, in steps of a hundredth (ITU-T G.107, annex B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(
    feature = "describe",
    derive(utoipa::ToSchema),
    schema(value_type = f64, minimum = 1, maximum = 4.5)
)]
pub struct Mos(u16); // Hundredths.

/// A number that no mean opinion score can be.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("{got} is no mean opinion score: those are 1 to 4.5")]
pub struct MosError {
    /// The number.
    pub got: f64,
}

impl TryFrom<f64> for Mos {
    type Error = MosError;

    /// The nearest hundredth.
    fn try_from(got: f64) -> Result<Self, MosError> {
        if !(1.0..=4.5).contains(&got) {
            return Err(MosError { got });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 100 to 450")]
        Ok(Self((got * 100.0).round() as u16))
    }
}

impl From<Mos> for f64 {
    fn from(mos: Mos) -> Self {
        Self::from(mos.0) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hundredth_is_read_as_it_is_written() {
        for hundredths in 100..=450 {
            let text = serde_json::to_string(&Mos(hundredths)).unwrap();
            assert_eq!(serde_json::from_str::<Mos>(&text).unwrap(), Mos(hundredths), "{text}");
        }
        assert_eq!(serde_json::from_str::<Mos>("4").unwrap(), Mos(400));
    }

    #[test]
    fn refuses_what_no_score_can_be() {
        for wrong in ["0.99", "4.51", "-3", "1e300", "null", "\"4\""] {
            assert!(serde_json::from_str::<Mos>(wrong).is_err(), "{wrong}");
        }
        assert!(Mos::try_from(f64::NAN).is_err());
    }
}

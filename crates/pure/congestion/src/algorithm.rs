use crate::{
    Aimd, AimdSettings, AnyController, Bbr, BbrSettings, Cubic, CubicSettings, Fixed, Real, RealSettings,
    Reno, RenoSettings, SettingsError, Vegas, VegasSettings, WINDOW_MAX, Westwood, WestwoodSettings,
};

/// A congestion control for QUIC by the name that plans and programs call it: quinn's own, and ours with settings of today
/// (initial window of RFC 6928, bytes are counted, no growth of a window that is not used).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// quinn's NewReno (RFC 9002, section 7).
    QuinnNewReno,
    /// quinn's CUBIC (RFC 8312), its default.
    QuinnCubic,
    /// quinn's BBR (version 1, called experimental).
    QuinnBbr,
    /// No congestion control.
    None,
    /// Ours: RFC 5681.
    Reno,
    /// Ours: TCP(0.3125, 7/8).
    Aimd,
    /// Ours: alpha 1, beta 3, gamma 1.
    Vegas,
    /// Ours: the paper's Algorithm 1.
    Westwood,
    /// Ours: Westwood+.
    WestwoodPlus,
    /// Ours: our reading of TCP-Real, waves measured from acknowledgements.
    Real,
    /// Ours: RFC 9438.
    Cubic,
    /// Ours: BBR version 1, without its pacing.
    Bbr,
}

impl Algorithm {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::QuinnNewReno,
        Self::QuinnCubic,
        Self::QuinnBbr,
        Self::None,
        Self::Reno,
        Self::Aimd,
        Self::Vegas,
        Self::Westwood,
        Self::WestwoodPlus,
        Self::Real,
        Self::Cubic,
        Self::Bbr,
    ];

    /// Its name; those of quinn begin with `quinn-`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QuinnNewReno => "quinn-newreno",
            Self::QuinnCubic => "quinn-cubic",
            Self::QuinnBbr => "quinn-bbr",
            Self::None => "none",
            Self::Reno => "reno",
            Self::Aimd => "aimd",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
            Self::WestwoodPlus => "westwood-plus",
            Self::Real => "real",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl Algorithm {
    /// The controller for segments of `segment` bytes; Reno's stands in for quinn's own.
    ///
    /// # Errors
    ///
    /// There are no such segments.
    pub fn controller(self, segment: u32) -> Result<AnyController, SettingsError> {
        let reno = RenoSettings::modern(segment);
        Ok(match self {
            Self::QuinnNewReno | Self::QuinnCubic | Self::QuinnBbr | Self::Reno => {
                AnyController::Reno(Reno::new(reno)?)
            }
            Self::None => AnyController::Fixed(Fixed::new(WINDOW_MAX, segment)?),
            Self::Aimd => AnyController::Aimd(Aimd::new(AimdSettings::smooth(reno))?),
            Self::Vegas => {
                let paper = VegasSettings::paper(segment);
                AnyController::Vegas(Vegas::new(VegasSettings { initial_window: 10, ..paper })?)
            }
            Self::Westwood => AnyController::Westwood(Westwood::new(WestwoodSettings::algorithm_1(reno))?),
            Self::WestwoodPlus => AnyController::Westwood(Westwood::new(WestwoodSettings::plus(reno))?),
            Self::Real => AnyController::Real(Real::new(RealSettings::new(reno))?),
            Self::Cubic => AnyController::Cubic(Cubic::new(CubicSettings::rfc9438(reno))?),
            Self::Bbr => {
                AnyController::Bbr(Bbr::new(BbrSettings { header: 28, ..BbrSettings::linux(segment, 0) })?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_one_algorithm() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
        }
        assert_eq!(Algorithm::from_name("newreno"), None);
    }
}

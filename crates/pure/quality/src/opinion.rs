//! From R to an opinion: the mean opinion score, its inverse, and how satisfied users are.

use std::fmt;

use serde::Serialize;

/// Below this R the cubic of G.107 gives less than 1: the root of `0.035 + 7e-6 (R − 60)(100 − R)`.
pub const R_OF_MOS_ONE: f64 = 6.515_307_716_504_659;

/// Which curve turns R into a mean opinion score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MosCurve {
    /// G.107 (06/2015), equation B-4, never below 1. The cubic dips to 0.99 between R 0 and R 6.5, where a mean of
    /// scores from 1 to 5 cannot be; there this curve gives 1.
    #[default]
    Itu,
    /// Equation B-4 to the letter, with the dip.
    ItuWithDip,
    /// As paper A prints it, section 4.2: the cubic term multiplied by `7 · 10^6` where `7 · 10^−6` is meant. It
    /// gives nonsense; it is here so that nobody has to guess what the misprint would do.
    PaperAPrinted,
}

impl MosCurve {
    /// The mean opinion score for an R. Below 0 it is 1, above 100 it is 4.5. Not a number stays not a number.
    pub fn mos(self, r: f64) -> f64 {
        if r.is_nan() {
            return f64::NAN;
        }
        if r <= 0.0 {
            return 1.0;
        }
        if r >= 100.0 {
            return 4.5;
        }
        let cubic = r * (r - 60.0) * (100.0 - r);
        match self {
            Self::Itu => (1.0 + 0.035 * r + 7e-6 * cubic).max(1.0),
            Self::ItuWithDip => 1.0 + 0.035 * r + 7e-6 * cubic,
            Self::PaperAPrinted => 1.0 + 0.035 * r + 7e6 * cubic,
        }
    }
}

/// The R at which [`MosCurve::Itu`] gives this mean opinion score; `None` outside 1 to 4.5.
///
/// For 1 it is [`R_OF_MOS_ONE`]: every smaller R gives 1 too. The curve rises strictly above it, so the root is
/// searched by halving. G.107, Appendix I, has a closed form with rounded constants; it agrees within 0.01.
pub fn r_of_mos(mos: f64) -> Option<f64> {
    if !(1.0..=4.5).contains(&mos) {
        return None;
    }
    let (mut low, mut high) = (R_OF_MOS_ONE, 100.0);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if MosCurve::Itu.mos(middle) < mos { low = middle } else { high = middle }
    }
    Some(high)
}

/// How users like it: paper C, Table IV, which is the table of ITU-T G.109 with its scores rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Satisfaction {
    /// R below 50.
    NotRecommended,
    /// R 50 to 60.
    AlmostAllDissatisfied,
    /// R 60 to 70.
    MostDissatisfied,
    /// R 70 to 80. From here on a call counts as acceptable.
    SomeSatisfied,
    /// R 80 to 90.
    Satisfied,
    /// R 90 and more.
    VerySatisfied,
}

impl Satisfaction {
    /// All classes, the worst first.
    pub const ALL: [Self; 6] = [
        Self::NotRecommended,
        Self::AlmostAllDissatisfied,
        Self::MostDissatisfied,
        Self::SomeSatisfied,
        Self::Satisfied,
        Self::VerySatisfied,
    ];

    /// The class of an R; a limit belongs to the better class.
    pub fn of_r(r: f64) -> Self {
        *Self::ALL.iter().rev().find(|class| r >= class.r_range().0).unwrap_or(&Self::NotRecommended)
    }

    /// The class of a mean opinion score by the table's own limits, which are rounded: for a score that came from
    /// an R, use [`Satisfaction::of_r`].
    pub fn of_mos(mos: f64) -> Self {
        *Self::ALL.iter().rev().find(|class| mos >= class.mos_range().0).unwrap_or(&Self::NotRecommended)
    }

    /// The least R of the class, and the R at which the next better one begins.
    pub const fn r_range(self) -> (f64, f64) {
        match self {
            Self::NotRecommended => (0.0, 50.0),
            Self::AlmostAllDissatisfied => (50.0, 60.0),
            Self::MostDissatisfied => (60.0, 70.0),
            Self::SomeSatisfied => (70.0, 80.0),
            Self::Satisfied => (80.0, 90.0),
            Self::VerySatisfied => (90.0, 100.0),
        }
    }

    /// The range of scores as paper C prints it.
    pub const fn mos_range(self) -> (f64, f64) {
        match self {
            Self::NotRecommended => (1.0, 2.6),
            Self::AlmostAllDissatisfied => (2.6, 3.1),
            Self::MostDissatisfied => (3.1, 3.6),
            Self::SomeSatisfied => (3.6, 4.0),
            Self::Satisfied => (4.0, 4.3),
            Self::VerySatisfied => (4.3, 5.0),
        }
    }

    /// The words of the table.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotRecommended => "not recommended",
            Self::AlmostAllDissatisfied => "almost all users dissatisfied",
            Self::MostDissatisfied => "most users dissatisfied",
            Self::SomeSatisfied => "some users satisfied",
            Self::Satisfied => "satisfied",
            Self::VerySatisfied => "very satisfied",
        }
    }
}

impl fmt::Display for Satisfaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// G.107 (06/2015), Annex B, Table B.1: the lower limits of R and of the score that goes with each. The table is
    /// printed with two digits, and for R 80 it has 4.03 where its own equation B-4 gives 4.024.
    #[test]
    fn agrees_with_table_b_1() {
        for (r, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((MosCurve::Itu.mos(r) - mos).abs() < 0.0065, "{r}: {}", MosCurve::Itu.mos(r));
        }
    }

    #[test]
    fn ends_are_one_and_four_and_a_half() {
        for curve in [MosCurve::Itu, MosCurve::ItuWithDip, MosCurve::PaperAPrinted] {
            assert_eq!(curve.mos(-12.0), 1.0);
            assert_eq!(curve.mos(0.0), 1.0);
            assert_eq!(curve.mos(100.0), 4.5);
            assert_eq!(curve.mos(131.0), 4.5);
            assert!(curve.mos(f64::NAN).is_nan());
        }
    }

    #[test]
    fn the_dip_below_one_is_a_choice() {
        assert!(MosCurve::ItuWithDip.mos(3.2) < 0.99);
        assert_eq!(MosCurve::Itu.mos(3.2), 1.0);
        assert!((MosCurve::ItuWithDip.mos(R_OF_MOS_ONE) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_misprint_is_far_off() {
        assert!(MosCurve::PaperAPrinted.mos(70.0) > 1e6);
        assert!((MosCurve::PaperAPrinted.mos(60.0) - 3.1).abs() < 1e-12, "the cubic term is zero at 60");
    }

    #[test]
    fn the_inverse_has_limits() {
        assert_eq!(r_of_mos(0.99), None);
        assert_eq!(r_of_mos(4.51), None);
        assert_eq!(r_of_mos(f64::NAN), None);
        assert!((r_of_mos(1.0).unwrap() - R_OF_MOS_ONE).abs() < 1e-9);
        assert!((r_of_mos(4.5).unwrap() - 100.0).abs() < 1e-9);
        assert!((r_of_mos(3.6).unwrap() - 70.064).abs() < 0.001);
    }

    /// The closed form of G.107, Appendix I.
    fn appendix_i(mos: f64) -> f64 {
        let x = 18_566.0 - 6_750.0 * mos;
        let y = 15.0 * (-903_522.0 + 1_113_960.0 * mos - 202_500.0 * mos * mos).sqrt();
        let h = y.atan2(x) / 3.0;
        20.0 / 3.0 * (8.0 - 226_f64.sqrt() * (h + std::f64::consts::FRAC_PI_3).cos())
    }

    proptest! {
        #[test]
        fn the_inverse_inverts(r in R_OF_MOS_ONE..100.0) {
            let mos = MosCurve::Itu.mos(r);
            prop_assert!((r_of_mos(mos).unwrap() - r).abs() < 1e-6);
        }

        #[test]
        fn the_inverse_agrees_with_appendix_i(mos in 1.0..4.5) {
            prop_assert!((r_of_mos(mos).unwrap() - appendix_i(mos)).abs() < 0.02, "{} {}", r_of_mos(mos).unwrap(), appendix_i(mos));
        }

        #[test]
        fn a_score_is_a_score_and_rises_with_r(r in -50.0..150.0, more in 0.0..50.0) {
            let (low, high) = (MosCurve::Itu.mos(r), MosCurve::Itu.mos(r + more));
            prop_assert!((1.0..=4.5).contains(&low));
            prop_assert!(low <= high);
        }
    }

    #[test]
    fn classes_are_those_of_table_iv() {
        use Satisfaction::*;
        #[rustfmt::skip]
        let cases = [
            (-3.0, NotRecommended), (49.9, NotRecommended), (50.0, AlmostAllDissatisfied), (60.0, MostDissatisfied),
            (69.999, MostDissatisfied), (70.0, SomeSatisfied), (80.0, Satisfied), (93.2, VerySatisfied),
        ];
        for (r, want) in cases {
            assert_eq!(Satisfaction::of_r(r), want, "{r}");
        }
        assert_eq!(Satisfaction::of_mos(3.59), MostDissatisfied);
        assert_eq!(Satisfaction::of_mos(4.41), VerySatisfied);
        assert_eq!(Satisfaction::of_mos(1.0), NotRecommended);
        for pair in Satisfaction::ALL.windows(2) {
            assert_eq!(pair[0].r_range().1, pair[1].r_range().0);
            assert_eq!(pair[0].mos_range().1, pair[1].mos_range().0);
        }
    }
}

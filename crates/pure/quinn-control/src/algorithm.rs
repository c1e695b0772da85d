use crate::adapter::AckGranularity;
use crate::factory::Factory;
use guestright_congestion::{
    Aimd, AimdSettings, Algorithm, AnyController, Bbr, BbrSettings, Cubic, CubicSettings, Fixed, Real,
    RealSettings, Reno, RenoSettings, SettingsError, Vegas, VegasSettings, WINDOW_MAX, Westwood,
    WestwoodSettings,
};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// What makes the controllers of an algorithm; for `quinn_proto::TransportConfig`.
#[must_use]
pub fn factory(algorithm: Algorithm) -> Arc<dyn ControllerFactory + Send + Sync> {
    match algorithm {
        Algorithm::QuinnNewReno => Arc::new(NewRenoConfig::default()),
        Algorithm::QuinnCubic => Arc::new(CubicConfig::default()),
        Algorithm::QuinnBbr => Arc::new(BbrConfig::default()),
        Algorithm::None
        | Algorithm::Reno
        | Algorithm::Aimd
        | Algorithm::Vegas
        | Algorithm::Westwood
        | Algorithm::WestwoodPlus
        | Algorithm::Real
        | Algorithm::Cubic
        | Algorithm::Bbr => {
            let granularity =
                if algorithm == Algorithm::Vegas { AckGranularity::Packets } else { AckGranularity::Frames };
            let factory = Factory::new(move |segment| ours(algorithm, segment));
            Arc::new(factory.expect("today's settings can be for 1200 bytes").granularity(granularity))
        }
    }
}

/// The controller for segments of `segment` bytes; Reno's stands in for quinn's.
fn ours(algorithm: Algorithm, segment: u32) -> Result<AnyController, SettingsError> {
    let reno = RenoSettings::modern(segment);
    Ok(match algorithm {
        Algorithm::QuinnNewReno | Algorithm::QuinnCubic | Algorithm::QuinnBbr | Algorithm::Reno => {
            AnyController::Reno(Reno::new(reno)?)
        }
        Algorithm::None => AnyController::Fixed(Fixed::new(WINDOW_MAX, segment)?),
        Algorithm::Aimd => AnyController::Aimd(Aimd::new(AimdSettings::smooth(reno))?),
        Algorithm::Vegas => {
            let paper = VegasSettings::paper(segment);
            AnyController::Vegas(Vegas::new(VegasSettings { initial_window: 10, ..paper })?)
        }
        Algorithm::Westwood => AnyController::Westwood(Westwood::new(WestwoodSettings::algorithm_1(reno))?),
        Algorithm::WestwoodPlus => AnyController::Westwood(Westwood::new(WestwoodSettings::plus(reno))?),
        Algorithm::Real => AnyController::Real(Real::new(RealSettings::new(reno))?),
        Algorithm::Cubic => AnyController::Cubic(Cubic::new(CubicSettings::rfc9438(reno))?),
        Algorithm::Bbr => {
            AnyController::Bbr(Bbr::new(BbrSettings { header: 28, ..BbrSettings::linux(segment, 0) })?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_with_ten_packets_but_the_one_that_never_ends() {
        let start = crate::adapter::tests::start();
        for algorithm in Algorithm::ALL {
            let controller = factory(algorithm).build(start, 1_200);
            // quinn's BBR begins with 200 packets of 1200 bytes.
            let special = [(Algorithm::None, WINDOW_MAX), (Algorithm::QuinnBbr, 240_000)];
            let want =
                special.iter().find(|(name, _)| *name == algorithm).map_or(12_000, |(_, bytes)| *bytes);
            assert_eq!(controller.initial_window(), want, "{algorithm:?}");
            assert_eq!(controller.window(), want, "{algorithm:?}");
        }
    }
}

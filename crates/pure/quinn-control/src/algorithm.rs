use crate::adapter::AckGranularity;
use crate::factory::Factory;
use guestright_congestion::Algorithm;
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
            let factory = Factory::new(move |segment| algorithm.controller(segment));
            Arc::new(factory.expect("today's settings can be for 1200 bytes").granularity(granularity))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_congestion::WINDOW_MAX;

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

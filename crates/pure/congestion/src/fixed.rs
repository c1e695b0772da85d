use crate::controller::{Ack, Controller, Flight, WINDOW_MAX};
use crate::settings::{SettingsError, check_segment};
use guestright_units::Micros;

/// No congestion control: the window stays as it was set, whatever is lost.
///
/// What a flow does whose window the application or an administrator has fixed, and the measure that congestion
/// control is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    window: u64,
}

impl Fixed {
    /// A window of `window` bytes for segments of `segment` bytes.
    ///
    /// # Errors
    ///
    /// If the segment's size is none, or the window has no room for a segment or is larger than [`WINDOW_MAX`].
    pub fn new(window: u64, segment: u32) -> Result<Self, SettingsError> {
        check_segment(segment)?;
        if window < u64::from(segment) || window > WINDOW_MAX {
            return Err(SettingsError::Window { got: window, min: segment.into(), max: WINDOW_MAX });
        }
        Ok(Self { window })
    }
}

impl Controller for Fixed {
    fn window(&self) -> u64 {
        self.window
    }

    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_loss(&mut self, _flight: &Flight) {}

    fn on_recovered(&mut self, _ack: &Ack) {}

    fn on_timeout(&mut self, _flight: &Flight) {}

    fn on_idle(&mut self, _idle: Micros) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_a_fixed_window() {
        let mut fixed = Fixed::new(10_000, 1_000).unwrap();
        fixed.on_ack(&Ack { bytes: 1_000, window_limited: true, ..Ack::default() });
        fixed.on_loss(&Flight { in_flight: 5_000, ..Flight::default() });
        fixed.on_timeout(&Flight { in_flight: 5_000, ..Flight::default() });
        fixed.on_idle(Micros(1_000_000));
        assert_eq!(fixed.window(), 10_000);
        assert_eq!(fixed.slow_start_threshold(), u64::MAX);
        assert_eq!(fixed.pacing(), None);
    }

    #[test]
    fn refuses_windows_without_room() {
        let window = |got| Err(SettingsError::Window { got, min: 1_000, max: WINDOW_MAX });
        assert_eq!(Fixed::new(999, 1_000), window(999));
        assert_eq!(Fixed::new(WINDOW_MAX + 1, 1_000), window(WINDOW_MAX + 1));
        assert_eq!(Fixed::new(999, 0), Err(SettingsError::Segment { got: 0 }));
    }
}

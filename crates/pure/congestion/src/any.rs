use crate::aimd::Aimd;
use crate::bbr::Bbr;
use crate::controller::{Ack, Controller, Flight, Sent};
use crate::cubic::Cubic;
use crate::fixed::Fixed;
use crate::real::Real;
use crate::reno::Reno;
use crate::vegas::Vegas;
use crate::westwood::Westwood;
use guestright_units::{BitsPerSecond, Micros};

/// Any of the controllers, without a `Box`: for programs that choose one when they run.
///
/// A call costs a branch. It takes the room of the largest.
#[derive(Clone, Debug)]
pub enum AnyController {
    /// No congestion control.
    Fixed(Fixed),
    /// RFC 5681; NewReno too.
    Reno(Reno),
    /// TCP(alpha, beta).
    Aimd(Aimd),
    /// TCP Vegas.
    Vegas(Vegas),
    /// TCP Westwood, Westwood+.
    Westwood(Westwood),
    /// Our reading of TCP-Real.
    Real(Real),
    /// RFC 9438.
    Cubic(Cubic),
    /// BBR, version 1.
    Bbr(Bbr),
}

macro_rules! of_each {
    ($any:expr, $controller:ident => $call:expr) => {
        match $any {
            AnyController::Fixed($controller) => $call,
            AnyController::Reno($controller) => $call,
            AnyController::Aimd($controller) => $call,
            AnyController::Vegas($controller) => $call,
            AnyController::Westwood($controller) => $call,
            AnyController::Real($controller) => $call,
            AnyController::Cubic($controller) => $call,
            AnyController::Bbr($controller) => $call,
        }
    };
}

impl Controller for AnyController {
    #[inline]
    fn window(&self) -> u64 {
        of_each!(self, controller => controller.window())
    }

    fn slow_start_threshold(&self) -> u64 {
        of_each!(self, controller => controller.slow_start_threshold())
    }

    #[inline]
    fn pacing(&self) -> Option<BitsPerSecond> {
        of_each!(self, controller => controller.pacing())
    }

    fn on_late_open(&mut self) {
        of_each!(self, controller => controller.on_late_open());
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        of_each!(self, controller => controller.on_sent(sent));
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        of_each!(self, controller => controller.on_ack(ack));
    }

    fn on_duplicate_ack(&mut self, flight: &Flight) {
        of_each!(self, controller => controller.on_duplicate_ack(flight));
    }

    fn on_loss(&mut self, flight: &Flight) {
        of_each!(self, controller => controller.on_loss(flight));
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        of_each!(self, controller => controller.on_recovery_ack(ack));
    }

    fn on_recovered(&mut self, ack: &Ack) {
        of_each!(self, controller => controller.on_recovered(ack));
    }

    fn on_timeout(&mut self, flight: &Flight) {
        of_each!(self, controller => controller.on_timeout(flight));
    }

    fn on_mark(&mut self, flight: &Flight) {
        of_each!(self, controller => controller.on_mark(flight));
    }

    fn on_idle_timeout(&mut self) {
        of_each!(self, controller => controller.on_idle_timeout());
    }

    fn backs_off(&self) -> bool {
        of_each!(self, controller => controller.backs_off())
    }

    fn goes_back(&self) -> bool {
        of_each!(self, controller => controller.goes_back())
    }

    #[inline]
    fn fine_timeout(&self) -> Option<Micros> {
        of_each!(self, controller => controller.fine_timeout())
    }

    fn wants_rate(&self) -> bool {
        of_each!(self, controller => controller.wants_rate())
    }

    #[inline]
    fn wave(&self) -> Option<u32> {
        of_each!(self, controller => controller.wave())
    }

    fn on_idle(&mut self, idle: Micros) {
        of_each!(self, controller => controller.on_idle(idle));
    }
}

macro_rules! from_each {
    ($($name:ident),*) => {
        $(impl From<$name> for AnyController {
            fn from(controller: $name) -> Self {
                Self::$name(controller)
            }
        })*
    };
}

from_each!(Fixed, Reno, Aimd, Vegas, Westwood, Real, Cubic, Bbr);

#[cfg(test)]
mod tests;

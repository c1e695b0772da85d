use crate::aimd::Aimd;
use crate::bbr::Bbr;
use crate::controller::{Controller, forward};
use crate::cubic::Cubic;
use crate::fixed::Fixed;
use crate::real::Real;
use crate::reno::Reno;
use crate::vegas::Vegas;
use crate::westwood::Westwood;

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

macro_rules! to_each {
    ($any:expr, $($call:tt)+) => {
        match $any {
            AnyController::Fixed(controller) => controller.$($call)+,
            AnyController::Reno(controller) => controller.$($call)+,
            AnyController::Aimd(controller) => controller.$($call)+,
            AnyController::Vegas(controller) => controller.$($call)+,
            AnyController::Westwood(controller) => controller.$($call)+,
            AnyController::Real(controller) => controller.$($call)+,
            AnyController::Cubic(controller) => controller.$($call)+,
            AnyController::Bbr(controller) => controller.$($call)+,
        }
    };
}

impl Controller for AnyController {
    forward!(to_each: all);
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

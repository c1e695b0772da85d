use guestright_units::{BitsPerSecond, Micros, Time};
use std::fmt::Debug;

/// The largest window in bytes that TCP can have: 2^30, with a scale of 14 (RFC 7323, section 2.3).
pub const WINDOW_MAX: u64 = 1 << 30;

/// An acknowledgement of bytes that were not acknowledged before, as its sender sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// How many bytes it acknowledged that no other had.
    pub bytes: u64,
    /// Everything before this offset is acknowledged now.
    pub acknowledged: u64,
    /// The offset that new data would be sent from.
    pub next: u64,
    /// Bytes that are not acknowledged, this acknowledgement taken into account.
    pub in_flight: u64,
    /// A round-trip time, if it gave one: never of a segment that was sent twice (Karn).
    pub round_trip: Option<Micros>,
    /// Whether the window was what had kept the sender from sending more, not the application or the receiver.
    pub window_limited: bool,
}

/// The flight at the time of a loss or a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// When it was noticed.
    pub now: Time,
    /// Bytes in the network, as far as the sender can tell: FlightSize of RFC 5681, equation (4).
    pub in_flight: u64,
    /// The offset that new data would be sent from.
    pub next: u64,
    /// Whether the timeout is another one of a segment that had timed out before; never with a loss.
    pub repeated: bool,
}

/// An algorithm of congestion control: keeps the congestion window of one flow.
///
/// What is lost and what is sent again is not its business: the sender finds losses (see [`crate::Recovery`]) and tells.
/// The sender lets window inflation of fast recovery go on top of [`Controller::window`] by itself.
///
/// Between [`on_loss`](Self::on_loss) and [`on_recovered`](Self::on_recovered) new acknowledgements come as
/// [`on_recovery_ack`](Self::on_recovery_ack), otherwise as [`on_ack`](Self::on_ack). A timeout ends a recovery without
/// [`on_recovered`](Self::on_recovered).
pub trait Controller: Debug {
    /// How many bytes may be on their way; at least one segment.
    fn window(&self) -> u64;

    /// Where slow start ends, in bytes; `u64::MAX` before the first loss, and for algorithms that know no slow start.
    fn slow_start_threshold(&self) -> u64 {
        u64::MAX
    }

    /// The rate at which segments are to leave, IP header and all; `None`: as fast as the window lets them.
    fn pacing(&self) -> Option<BitsPerSecond> {
        None
    }

    /// The connection is open, but its SYN had to be sent again: start with one segment (RFC 5681, section 3.1).
    fn on_late_open(&mut self) {}

    /// New data was acknowledged while nothing was known to be lost.
    fn on_ack(&mut self, ack: &Ack);

    /// A duplicate acknowledgement came: something has left the network, nobody knows what.
    fn on_duplicate_ack(&mut self, _flight: &Flight) {}

    /// A loss was found without a timeout: fast retransmit, a recovery begins.
    fn on_loss(&mut self, flight: &Flight);

    /// New data was acknowledged in a recovery, but not all of what had been on its way when the loss was found.
    fn on_recovery_ack(&mut self, _ack: &Ack) {}

    /// A recovery is over.
    fn on_recovered(&mut self, ack: &Ack);

    /// The retransmission timer went off.
    fn on_timeout(&mut self, flight: &Flight);

    /// Nothing was sent for `idle`, longer than the retransmission timeout, and there is something to send now.
    fn on_idle(&mut self, idle: Micros);
}

impl<C: Controller + ?Sized> Controller for Box<C> {
    fn window(&self) -> u64 {
        (**self).window()
    }

    fn slow_start_threshold(&self) -> u64 {
        (**self).slow_start_threshold()
    }

    fn pacing(&self) -> Option<BitsPerSecond> {
        (**self).pacing()
    }

    fn on_late_open(&mut self) {
        (**self).on_late_open();
    }

    fn on_ack(&mut self, ack: &Ack) {
        (**self).on_ack(ack);
    }

    fn on_duplicate_ack(&mut self, flight: &Flight) {
        (**self).on_duplicate_ack(flight);
    }

    fn on_loss(&mut self, flight: &Flight) {
        (**self).on_loss(flight);
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        (**self).on_recovery_ack(ack);
    }

    fn on_recovered(&mut self, ack: &Ack) {
        (**self).on_recovered(ack);
    }

    fn on_timeout(&mut self, flight: &Flight) {
        (**self).on_timeout(flight);
    }

    fn on_idle(&mut self, idle: Micros) {
        (**self).on_idle(idle);
    }
}

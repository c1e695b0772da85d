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
    /// How many segments it acknowledged that no other had.
    pub segments: u32,
    /// How fast data arrived lately, if the sender measures it.
    pub rate: Option<RateSample>,
    /// What the receiver says of the last wave that it has seen whole, if it says such things (TCP-Real).
    pub wave: Option<WaveReport>,
    /// Bytes of these that met congestion and were marked instead of dropped (ECN).
    pub marked: u64,
    /// In a recovery: by how many bytes this partial acknowledgement takes the window itself back, beyond what duplicates had
    /// put on top of it. Only ns-2's NewReno does ([`crate::RecoverySettings::dupwnd`]).
    pub deflated: u64,
}

/// How much was delivered in a time, seen from one acknowledged segment (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes that were delivered between the sending of that segment and its acknowledgement.
    pub bytes: u64,
    /// The longer of the time in which they were sent and the time in which they were acknowledged.
    pub interval: Micros,
    /// Bytes of the flow that had been delivered when that segment was sent: tells where a round trip ends.
    pub prior_delivered: u64,
    /// Bytes of the flow that are delivered now.
    pub delivered: u64,
    /// Whether the application, not the window, set the pace when that segment was sent.
    pub application_limited: bool,
}

/// The rate at which a wave of segments came in, measured by the receiver (TCP-Real; paper C, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveReport {
    /// Which wave; a later one has a higher number.
    pub number: u32,
    /// Bytes of it that came in.
    pub bytes: u64,
    /// From its first segment to the first one of the next wave.
    pub interval: Micros,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub now: Time,
    /// Its first byte's offset.
    pub offset: u64,
    /// Its payload in bytes.
    pub bytes: u64,
    /// Bytes on their way, this segment among them.
    pub in_flight: u64,
    /// Whether it had been sent before.
    pub again: bool,
    /// Whether the application has nothing more to send after it.
    pub last: bool,
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
    /// When the first segment that is not acknowledged was sent last.
    pub first_sent: Time,
    /// How often that segment was sent; 0: never, there is none.
    pub transmissions: u32,
    /// Duplicate acknowledgements in a row, this one among them.
    pub duplicates: u32,
}

/// An algorithm of congestion control: keeps the congestion window of one flow.
///
/// What is lost and what is sent again is not its business: the sender finds losses (see [`crate::Recovery`]) and tells.
/// The sender lets window inflation of fast recovery go on top of [`Controller::window`] by itself.
///
/// Between [`on_loss`](Self::on_loss) and [`on_recovered`](Self::on_recovered) new acknowledgements come as
/// [`on_recovery_ack`](Self::on_recovery_ack), otherwise as [`on_ack`](Self::on_ack). A timeout ends a recovery without
/// [`on_recovered`](Self::on_recovered), unless the controller does not [go back](Self::goes_back): the recovery goes on then.
pub trait Controller: Debug {
    /// How many bytes may be on their way; at least one segment, but for [`crate::Vegas`] as in ns-2.
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

    /// A segment leaves.
    fn on_sent(&mut self, _sent: &Sent) {}

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

    /// The receiver has seen a mark of congestion (ECN): told once for each window of data, unless the algorithm counts
    /// marks by itself ([`Ack::marked`]).
    fn on_mark(&mut self, _flight: &Flight) {}

    /// The retransmission timer went off with nothing on its way. Only senders whose timer runs on then tell (ns-2's do).
    fn on_idle_timeout(&mut self) {}

    /// Whether a timeout now doubles the next one (RFC 6298, section 5.5).
    fn backs_off(&self) -> bool {
        true
    }

    /// Whether the last timeout tells that all of the flight is lost, so that everything is sent again from the first segment
    /// that is not acknowledged (RFC 5681, section 3.1), and a recovery ends. If not, that segment alone is sent again, and
    /// all else stays as it was. To be asked after [`on_timeout`](Self::on_timeout).
    fn goes_back(&self) -> bool {
        true
    }

    /// The fine-grained timeout of Vegas: a segment that is older than this when a duplicate acknowledgement comes, or one
    /// of the first two acknowledgements after a retransmission, is lost. `None`: only duplicates are counted.
    fn fine_timeout(&self) -> Option<Micros> {
        None
    }

    /// Whether the sender is to measure [`Ack::rate`]: it costs a bit for each segment.
    fn wants_rate(&self) -> bool {
        false
    }

    /// The number of the wave that the segment of the last [`on_sent`](Self::on_sent) belongs to, to be put on it for a
    /// [`crate::WaveMeter`] at the receiver; the latter's reports come back as [`Ack::wave`] (TCP-Real). `None`: no waves.
    fn wave(&self) -> Option<u32> {
        None
    }

    /// Nothing was sent for `idle`, longer than the retransmission timeout, and there is something to send now.
    fn on_idle(&mut self, idle: Micros);
}

/// Writes methods of [`Controller`] that leave all to another controller.
///
/// `with` is a macro that is given `self` and the call: it says who the other one is.
macro_rules! forward {
    ($with:ident: all) => {
        $crate::controller::forward!(
            $with: window slow_start_threshold pacing on_late_open on_sent on_ack
            on_duplicate_ack on_loss on_recovery_ack on_recovered on_timeout
            on_mark on_idle_timeout backs_off goes_back fine_timeout wants_rate wave on_idle
        );
    };
    ($with:ident: $($method:ident)+) => { $($crate::controller::forward!(@ $with $method);)+ };
    (@ $with:ident window) => { #[inline] fn window(&self) -> u64 { $with!(self, window()) } };
    (@ $with:ident slow_start_threshold) => { #[inline] fn slow_start_threshold(&self) -> u64 { $with!(self, slow_start_threshold()) } };
    (@ $with:ident pacing) => { #[inline] fn pacing(&self) -> Option<guestright_units::BitsPerSecond> { $with!(self, pacing()) } };
    (@ $with:ident on_late_open) => { #[inline] fn on_late_open(&mut self) { $with!(self, on_late_open()); } };
    (@ $with:ident on_sent) => { #[inline] fn on_sent(&mut self, sent: &$crate::controller::Sent) { $with!(self, on_sent(sent)); } };
    (@ $with:ident on_ack) => { #[inline] fn on_ack(&mut self, ack: &$crate::controller::Ack) { $with!(self, on_ack(ack)); } };
    (@ $with:ident on_duplicate_ack) => { #[inline] fn on_duplicate_ack(&mut self, flight: &$crate::controller::Flight) { $with!(self, on_duplicate_ack(flight)); } };
    (@ $with:ident on_loss) => { #[inline] fn on_loss(&mut self, flight: &$crate::controller::Flight) { $with!(self, on_loss(flight)); } };
    (@ $with:ident on_recovery_ack) => { #[inline] fn on_recovery_ack(&mut self, ack: &$crate::controller::Ack) { $with!(self, on_recovery_ack(ack)); } };
    (@ $with:ident on_recovered) => { #[inline] fn on_recovered(&mut self, ack: &$crate::controller::Ack) { $with!(self, on_recovered(ack)); } };
    (@ $with:ident on_timeout) => { #[inline] fn on_timeout(&mut self, flight: &$crate::controller::Flight) { $with!(self, on_timeout(flight)); } };
    (@ $with:ident on_mark) => { #[inline] fn on_mark(&mut self, flight: &$crate::controller::Flight) { $with!(self, on_mark(flight)); } };
    (@ $with:ident on_idle_timeout) => { #[inline] fn on_idle_timeout(&mut self) { $with!(self, on_idle_timeout()); } };
    (@ $with:ident backs_off) => { #[inline] fn backs_off(&self) -> bool { $with!(self, backs_off()) } };
    (@ $with:ident goes_back) => { #[inline] fn goes_back(&self) -> bool { $with!(self, goes_back()) } };
    (@ $with:ident fine_timeout) => { #[inline] fn fine_timeout(&self) -> Option<guestright_units::Micros> { $with!(self, fine_timeout()) } };
    (@ $with:ident wants_rate) => { #[inline] fn wants_rate(&self) -> bool { $with!(self, wants_rate()) } };
    (@ $with:ident wave) => { #[inline] fn wave(&self) -> Option<u32> { $with!(self, wave()) } };
    (@ $with:ident on_idle) => { #[inline] fn on_idle(&mut self, idle: guestright_units::Micros) { $with!(self, on_idle(idle)); } };
}

pub(crate) use forward;

/// For [`forward!`], in controllers that are built on Reno.
macro_rules! to_reno {
    ($self:expr, $($call:tt)+) => {
        $self.reno.$($call)+
    };
}

pub(crate) use to_reno;

macro_rules! to_boxed {
    ($self:expr, $($call:tt)+) => {
        (**$self).$($call)+
    };
}

impl<C: Controller + ?Sized> Controller for Box<C> {
    forward!(to_boxed: all);
}

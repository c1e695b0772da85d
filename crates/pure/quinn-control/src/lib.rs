//! Our congestion control as quinn's: the controllers of [`guestright_congestion`] in real QUIC endpoints.
//!
//! - [`Adapter`] is a `quinn_proto::congestion::Controller` around one of ours. In: what quinn tells of packets sent,
//!   acknowledged and lost. Out: a window in bytes of UDP payload.
//! - [`Factory`] makes one for each connection; hand it to `quinn_proto::TransportConfig`. [`factory()`] has one for every
//!   [`Algorithm`], quinn's own among them.
//!
//! - [`Carriage`] names the ways of carrying voice over QUIC.
//!
//! It is a sum: it reads no clock (quinn hands every instant in) and draws no chance.
//!
//! What becomes of the hooks, TCP's words on the left:
//!
//! | ours | of quinn |
//! | --- | --- |
//! | a segment | a UDP payload of the path's MTU at the connection's start: 1200 bytes, before MTU discovery |
//! | an offset in the stream | how many bytes had been sent before: a QUIC packet is never sent twice (RFC 9002, section 4) |
//! | [`on_sent`](Controller::on_sent) | `on_sent`, packets that carry only acknowledgements among them |
//! | [`on_ack`](Controller::on_ack) | all `on_ack` up to `on_end_acks` together: one call for one ACK frame, or one for each packet ([`AckGranularity`]) |
//! | [`on_loss`](Controller::on_loss) | `on_congestion_event` of a packet sent after the last reaction (RFC 9002, section 7.3.2) |
//! | [`on_recovered`](Controller::on_recovered) | the first acknowledgement of a packet sent after it |
//! | [`on_timeout`](Controller::on_timeout) | persistent congestion (RFC 9002, section 7.6) |
//! | [`on_mark`](Controller::on_mark) | `on_congestion_event` without lost bytes |
//! | [`on_idle`](Controller::on_idle) | `on_sent` with nothing on its way, after a pause longer than RFC 6298's timeout |
//!
//! What is lost on the way:
//!
//! - **Duplicate acknowledgements** do not exist: QUIC finds losses by packet numbers and time (RFC 9002, section 6.1).
//!   [`on_duplicate_ack`](Controller::on_duplicate_ack) and [`fine_timeout`](Controller::fine_timeout) (Vegas) are never
//!   asked; quinn's time threshold of 9/8 round-trip times is as fine as Vegas's.
//! - **Timeouts.** quinn's probe timeout is not told to controllers, and does not shrink the window. A retransmission timer
//!   of TCP goes off after one; persistent congestion takes three. [`backs_off`](Controller::backs_off) is never asked.
//! - **Waves** (TCP-Real): nobody stamps packets with them, and no receiver measures their rates. They are measured from
//!   when their acknowledgements come in, which is the receiving rate, coarsened by acknowledgements for every other packet
//!   or after 25 ms, and by what happens to acknowledgements. Without waves our Real would be TCP(alpha, beta): every loss
//!   were congestion.
//! - **Pacing.** quinn paces by itself, 5/4 of the window in a smoothed round-trip time, and asks no controller for a rate.
//!   [`Controller::pacing`] shows up in `metrics` only. So BBR, whose rate and not its window is to limit it, sends faster
//!   here than its authors mean it to.
//! - **Application-limited** is what quinn says when an acknowledgement comes, not what held when the packet was sent:
//!   [`RateSample::application_limited`] is that too.
//! - **MTU discovery** makes the segment larger than the controller knows: its additive increase stays that of the first MTU.
//!   Only the least window follows.
//!
//! quinn sends while `in flight + MTU < window`. So the window that it sees is never below two MTUs (RFC 9002, section 7.2),
//! whatever the controller says: with one, it would wait for ever.
//!
//! [`Controller::pacing`]: guestright_congestion::Controller::pacing
//! [`Controller`]: guestright_congestion::Controller
//! [`RateSample::application_limited`]: guestright_congestion::RateSample::application_limited

mod adapter;
mod algorithm;
mod carriage;
mod factory;
mod sent;

pub use adapter::{AckGranularity, Adapter};
pub use algorithm::factory;
pub use carriage::Carriage;
pub use factory::Factory;
#[doc(no_inline)]
pub use guestright_congestion::{Algorithm, Controller};

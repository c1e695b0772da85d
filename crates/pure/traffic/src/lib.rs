//! The traffic generator and analyser of paper A: parallel voice flows, and what arrived of them.
//!
//! A [`Caller`] asks a [`Listener`] for a run after a [`Plan`]: N calls at the same time, each of them 50 packets a
//! second in both directions, for 90 s in paper A. Both ends send, both analyse what arrives, and the caller fetches
//! what the listener received. The end is an [`Outcome`]: for each direction and each call the loss of the network and
//! of the dejitter buffer, the one-way delay as an interval, jitter by three definitions, and R and MOS by paper A's
//! formula and by ITU-T G.107; the mean over the calls, and the worst call.
//!
//! One-way delay needs to know how far the two clocks are apart. [`ClockSource`] says from where: exchanges during the
//! run, whose bounds hold however unequal the two directions are, or somebody's word.
//!
//! Both are machines without input and output: `handle_datagram`, `handle_timeout`, then `poll_transmit`,
//! `poll_event`, `poll_timeout` until they are empty. The time that is handed to `handle_timeout` is the time that
//! packets carry as "sent", so read the clock right before. Formats of datagrams are in `packet.rs` and `message.rs`;
//! a listener sends voice only to who has shown that it receives there, and nothing that is longer than what it was
//! sent.

mod caller;
pub mod figures;
mod generator;
mod listener;
mod message;
mod offset;
mod packet;
mod plan;
mod receiver;
mod report;
mod session;

pub use caller::{Caller, CallerEvent};
pub use generator::Pacing;
pub use listener::{Listener, ListenerConfig, ListenerEvent};
pub use message::Refusal;
pub use offset::{ClockMeter, ClockSource, ClockSummary, DRIFT_PPM_MAX, Exchange};
pub use packet::VoicePacket;
pub use plan::{CALLS_MAX, DURATION_MAX, PACKET, Phases, Plan, PlanError, Traffic};
pub use receiver::CallRow;
pub use report::{Average, CallFigures, CallResult, DelayFigures, Direction};
pub use session::{Ended, Outcome};

/// For fuzzing: reads a datagram in every way that either end would.
#[doc(hidden)]
pub fn parse_anything(bytes: &[u8]) -> bool {
    let message = message::Message::parse(bytes);
    if let Some(message) = &message {
        assert_eq!(
            message::Message::parse(&message.emit()).as_ref(),
            Some(message),
            "a message is written as it is read"
        );
    }
    let voices = [Traffic::G729, Traffic::G711].map(|traffic| VoicePacket::parse(bytes, traffic));
    message.is_some() || voices.iter().any(Option::is_some) || message::is_other_version(bytes).is_some()
}

//! Parallel voice calls between two computers: what joins the two ends' machines (`guestright-traffic`) with a [`Wire`].

use crate::error::BenchError;
use crate::wire::{Input, Wire};
use guestright_error::{Fault, Kind, RunError};
use guestright_traffic::{Caller, CallerEvent, Ended, Listener, ListenerEvent, Refusal};
use std::net::SocketAddr;
use std::time::Duration;
use thiserror::Error;

/// How long to wait for input when nothing is due.
const IDLE: Duration = Duration::from_secs(1);

/// Why a run came to nothing, or was cut short.
#[derive(Debug, Error)]
pub enum TrafficError {
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Whoever was given the events failed.
    #[error(transparent)]
    Event(#[from] RunError),
    #[error("{peer}: {}", reason.words())]
    Refused { peer: SocketAddr, reason: Refusal },
    #[error("nobody answers at UDP {peer}")]
    NoAnswer { peer: SocketAddr },
    /// Somebody here asked it to stop, before or after the other end had agreed.
    #[error("stopped before {before}")]
    Stopped { before: &'static str },
    #[error("the run was cut short: {0}")]
    CutShort(Ended),
}

impl Fault for TrafficError {
    fn kind(&self) -> Kind {
        match self {
            Self::Bench(error) => error.kind(),
            Self::Event(error) => error.kind(),
            Self::Refused { .. } | Self::Stopped { .. } => Kind::User,
            Self::NoAnswer { .. } | Self::CutShort(_) => Kind::Network,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Bench(error) => return error.hint(),
            Self::Event(error) => return error.hint(),
            Self::Refused { reason: Refusal::Busy, .. } => "wait until it is over",
            Self::Refused { reason: Refusal::TooManyCalls, .. } => {
                "fewer --calls, or a listener with a larger --calls-max"
            }
            Self::Refused { reason: Refusal::TooLong, .. } => {
                "a shorter --duration, or a listener with a longer --duration-max"
            }
            Self::Refused { reason: Refusal::Address, .. } => {
                "start the listener with --from this computer's address, or without"
            }
            Self::Refused { reason: Refusal::Version, .. } => {
                "run the same version of guestright at both ends"
            }
            Self::NoAnswer { .. } => "start `guestright-lab traffic listen` there, and let UDP through to it",
            Self::Stopped { .. } | Self::CutShort(_) => return None,
        };
        Some(hint.to_owned())
    }

    fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Bench(error) => error.is_broken_pipe(),
            Self::Event(error) => error.is_broken_pipe(),
            Self::Refused { .. } | Self::NoAnswer { .. } | Self::Stopped { .. } | Self::CutShort(_) => false,
        }
    }
}

/// Lets others measure the way to this computer, until the listener is done. `on_event` gets each event, and how many
/// datagrams were lost in this computer until then.
///
/// # Errors
/// `on_event` failed.
pub fn listen(
    listener: &mut Listener,
    wire: &mut Wire,
    mut on_event: impl FnMut(ListenerEvent, u64) -> Result<(), RunError>,
) -> Result<(), RunError> {
    while !listener.is_done() {
        listener.handle_timeout(wire.now());
        while let Some((to, bytes)) = listener.poll_transmit() {
            wire.send_to(&bytes, to);
        }
        while let Some(event) = listener.poll_event() {
            on_event(event, wire.dropped())?;
        }
        if listener.is_done() {
            break;
        }
        for input in wire.wait(listener.poll_timeout(), IDLE) {
            match input {
                Input::Datagram { bytes, from, arrival } => listener.handle_datagram(&bytes, from, arrival),
                Input::Stop => listener.stop(wire.now()),
            }
        }
    }
    Ok(())
}

/// Measures the way to `peer`, to which the wire is connected. `on_event` gets each event, and how many datagrams were lost in
/// this computer until then. It never gets [`CallerEvent::Refused`] or [`CallerEvent::NoAnswer`]: those are errors.
///
/// # Errors
/// The other end will not or does not answer, the run was stopped here or fell silent, or `on_event` failed. If the other
/// end stopped it, what was measured until then is what was asked for.
pub fn call(
    caller: &mut Caller,
    wire: &mut Wire,
    peer: SocketAddr,
    mut on_event: impl FnMut(CallerEvent, u64) -> Result<(), RunError>,
) -> Result<(), TrafficError> {
    loop {
        caller.handle_timeout(wire.now());
        send_all(caller, wire);
        while let Some(event) = caller.poll_event() {
            match event {
                CallerEvent::Refused(reason) => return Err(TrafficError::Refused { peer, reason }),
                CallerEvent::NoAnswer => return Err(TrafficError::NoAnswer { peer }),
                CallerEvent::Started | CallerEvent::Row(_) => on_event(event, wire.dropped())?,
                CallerEvent::Finished(ref outcome) => {
                    let ended = outcome.ended;
                    on_event(event, wire.dropped())?;
                    // What is left to say is a goodbye.
                    send_all(caller, wire);
                    return judge(ended);
                }
            }
        }
        let next = caller.poll_timeout();
        let next = next.ok_or(TrafficError::Stopped { before: "the other end had agreed" })?;
        for input in wire.wait(Some(next), IDLE) {
            match input {
                Input::Datagram { bytes, arrival, .. } => caller.handle_datagram(&bytes, arrival),
                Input::Stop => caller.stop(wire.now()),
            }
        }
    }
}

fn send_all(caller: &mut Caller, wire: &Wire) {
    while let Some(bytes) = caller.poll_transmit() {
        wire.send(&bytes);
    }
}

fn judge(ended: Ended) -> Result<(), TrafficError> {
    match ended {
        Ended::AsPlanned | Ended::OtherStopped => Ok(()),
        Ended::Stopped => Err(TrafficError::Stopped { before: "the planned end" }),
        Ended::Silence => Err(TrafficError::CutShort(ended)),
    }
}

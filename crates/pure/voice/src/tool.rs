//! A telephone tool with a wire format of its own, as one machine: no SIP, no RTP, one UDP port.
//!
//! In: encoded sound ([`Tool::handle_frame`]), datagrams ([`Tool::handle_datagram`]), the time. Out: datagrams
//! ([`Tool::poll_transmit`]), what to play ([`Tool::poll_sound`], whenever what it gave last is used up), what has happened
//! ([`Tool::poll_event`]), each packet of sound that came ([`Tool::poll_received`]), and figures ([`Tool::summary`]).
//!
//! BoAT is one (`guestright-boat`); the tools of 2003 that paper D compares with it are others (`guestright-legacy`).
//! A program that runs one runs all: it has the socket, the clock, the codec and the sound.
//!
//! Invariants of every tool, whatever arrives:
//!
//! - Every queue, window and table has a limit; a datagram that is refused changes nothing but a count.
//! - No packet of sound is played twice.
//! - No key is printed, and the tool says who could hear the call ([`Connected::protection`]).

use crate::playout::{Counts, Output};
use crate::session::{Frame, ReceivedPacket};
use guestright_units::{Micros, Time};
use std::fmt::Debug;
use std::net::SocketAddr;
use thiserror::Error;

/// One side of a call. The caller knows the address of the other ([`Side::Caller`]), the callee learns
/// it ([`Side::Callee`]).
pub trait Tool: Debug + Send {
    /// Its name: `pgpfone`.
    fn name(&self) -> &'static str;

    /// Takes the sound of the next packet, also when nobody speaks: time goes on with it. `now` is when it is complete.
    /// Frames that come before [`Tool::is_ready`] are counted and dropped.
    fn handle_frame(&mut self, frame: &Frame<'_>, now: Time);

    /// Takes a datagram, from where it came.
    ///
    /// # Errors
    /// Why it was dropped; it has changed nothing else, and is counted.
    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError>;

    /// Time has passed.
    fn handle_timeout(&mut self, now: Time);

    /// When it wants [`Tool::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time>;

    /// The next datagram to send.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// What to play next. Call it whenever what it gave last is used up.
    fn poll_sound(&mut self, now: Time) -> Output;

    /// Says whether what was played last is speech; see [`Playout::hear`](crate::playout::Playout::hear).
    fn hear(&mut self, is_speech: bool) {
        let _ = is_speech;
    }

    /// What has happened.
    fn poll_event(&mut self) -> Option<Event>;

    /// The next packet of sound that came, as an analyser wants it.
    fn poll_received(&mut self) -> Option<ReceivedPacket>;

    /// Whether sound can be sent.
    fn is_ready(&self) -> bool;

    /// Bytes that the next frame may have, if the tool chooses (BoAT's rate control, section 4.1 of paper D).
    fn frame_bytes(&self) -> Option<usize> {
        None
    }

    /// Says goodbye, if the tool can.
    fn leave(&mut self, now: Time);

    /// The figures of the call so far.
    fn summary(&self) -> Summary;
}

/// Which side of the call a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Speaks first, to this address.
    Caller { to: SocketAddr },
    /// Answers whoever has the right key.
    Callee,
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is somebody, and sound can flow.
    Connected(Connected),
    /// A sentence that the person at the telephone should read; the call goes on.
    Trouble(String),
    /// The call is over; nothing is sent or played any more.
    Ended(Ending),
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    pub peer: SocketAddr,
    /// Who, as far as the tool can tell: the name of a key, or what it calls itself. It may be anybody's lie where
    /// `is_verified` is false.
    pub name: Option<String>,
    /// Whether the name was proved.
    pub is_verified: bool,
    /// To be read aloud and compared; empty where the tool has nothing of the kind.
    pub words: Vec<String>,
    /// Who could hear it, in a sentence that begins with a small letter.
    pub protection: &'static str,
}

/// Why a call is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The other side said goodbye.
    PeerLeft,
    /// Nothing came for a long time.
    Silence,
    /// It could not go on safely, or not at all: what happened, in a sentence.
    Failed(String),
}

/// Why a datagram was dropped.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ToolError {
    /// Not of this tool.
    #[error("not a datagram of this tool: {0}")]
    Malformed(&'static str),
    /// From somebody else than the peer.
    #[error("from another address than the peer's")]
    Stranger,
    /// Sound before there are keys, or a step of the key agreement out of turn.
    #[error("out of turn: {0}")]
    OutOfTurn(&'static str),
    /// Its check failed, or its key is not known.
    #[error("it was forged, changed, or made with another key")]
    Forged,
    /// It came before, or is too old to tell.
    #[error("it was replayed, or is too old")]
    Replayed,
}

/// The figures of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Packets of sound that were sent.
    pub sent: u64,
    /// What the codec made for them, in bytes.
    pub sent_codec_bytes: u64,
    /// Datagrams of any kind that were sent.
    pub datagrams_sent: u64,
    /// UDP payload of all of them, in bytes.
    pub sent_wire_bytes: u64,
    /// Frames that came before there were keys.
    pub withheld: u64,
    /// What became of packets of sound that came.
    pub playout: Counts,
    /// Datagrams that were refused.
    pub refused: u64,
    /// The last measured round trip.
    pub round_trip: Option<Micros>,
    /// From making to playing, without the network: what the buffer added to the packet that was played last.
    pub buffered: Option<Micros>,
    /// What this tool alone counts: a name and a number.
    pub others: Vec<(&'static str, f64)>,
}

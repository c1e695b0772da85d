use super::Seal;
use guestright_units::Time;
use guestright_voice::tool::{ToolError, Transmit};
use std::fmt::Debug;
use std::net::SocketAddr;

/// How two sides come to a [`Seal`], before there is any sound: Noise XX with words to compare, or a pass phrase.
///
/// `Boat` drives it: one call in, then it drains [`Opening::poll_transmit`] and [`Opening::poll_outcome`].
/// An opening that knows its peer's address begins by itself: its first datagram waits in [`Opening::poll_transmit`] right
/// after it was made, or after the first [`Opening::handle_timeout`]. It repeats what is lost by its own timer, and gives
/// up by itself.
///
/// After a good outcome it is kept until the first datagram of the peer was opened with the new seal, and still gets all
/// datagrams that the seal does not open: its last answer may have been lost, and is asked for again.
pub trait Opening: Debug + Send {
    /// Takes a datagram, from where it came.
    ///
    /// # Errors
    /// Why it was dropped; it has changed nothing.
    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError>;

    /// Time has passed. One that waits for nothing leaves this and [`Opening::poll_timeout`] as they are.
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }

    /// When it wants [`Opening::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The next datagram to send.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// How it ended, once: with whom, or why not, in a sentence for the person at the telephone.
    fn poll_outcome(&mut self) -> Option<Result<Introduced, String>>;
}

/// Whom an [`Opening`] has found.
#[derive(Debug)]
pub struct Introduced {
    /// Protects everything from now on.
    pub seal: Box<dyn Seal>,
    /// Where the peer is at present.
    pub peer: SocketAddr,
    /// Who it is, as far as one can tell: the name of a key, or what it calls itself.
    pub name: Option<String>,
    /// Whether the name was proved.
    pub is_verified: bool,
    /// To be read aloud and compared; empty if there is nothing of the kind.
    pub words: Vec<String>,
    /// Who could hear the call, in a sentence that begins with a small letter.
    pub protection: &'static str,
}

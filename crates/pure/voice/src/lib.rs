//! Voice machines: reports of RTCP, SRTP, playout, and keys that two members agree on.
//!
//! No sockets, no clock, no chance of their own: datagrams, encoded sound, the time and seeds come in as arguments. Each
//! module is of use on its own:
//!
//! - [`reports`]: the sums behind the reports of RTCP, when the next is due, the round trip.
//! - [`srtp`]: packets protected and opened, with replay windows and rollover counters; `a=crypto` lines.
//! - [`agreement`]: keys for SRTP agreed on end to end, in the media path, between two members who show their
//!   certificates; four words to read to each other.
//! - [`playout`]: a buffer of bounded delay, and policies for it behind one trait.
//! - [`session`]: all of that put together as one side of a call.
//! - [`tool`]: what telephone tools with a wire format of their own have in common; `guestright-boat` has one of them.
//!
//! ```
//! use guestright_units::{Micros, Seed, Time};
//! use guestright_voice::playout::{Fixed, Sound};
//! use guestright_voice::session::{Config, Frame, Protection, Session};
//!
//! let side = |seed| {
//!     let policy = Box::new(Fixed::new(Micros::from_millis(20)));
//!     Session::new(Config::g711(8, "w1@home"), Protection::None, policy, &Seed::from_number(seed), Time(0))
//! };
//! let (mut talker, mut listener) = (side(1), side(2));
//! let frame = Frame { payload: &[0xd5; 160], duration: Micros::from_millis(20), is_speech: true, noise_level: 60 };
//! talker.handle_frame(&frame, Time(0));
//! let sent = talker.poll_transmit().expect("there is a packet to send");
//! let from = "192.0.2.1:4000".parse()?;
//! listener.handle_datagram(&sent.bytes, from, Time(30_000))?;
//! assert_eq!(listener.poll_sound(Time(30_000)).sound, Sound::Silence, "it is held for 20 ms");
//! assert!(matches!(listener.poll_sound(Time(50_000)).sound, Sound::Play { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: every queue, window and table has a limit; a bad packet changes nothing but a count; no key is printed.
//!
//! Why it is so: `docs/design/0004-voice.md`.

pub mod agreement;
pub mod playout;
pub mod reports;
pub mod session;
pub mod srtp;
pub mod tool;

// The formats are in a crate of their own, because captures and relays read them too.
pub use guestright_wire::rtp;

//! Headers that several crates read and write: IP, UDP, RTP, RTCP, SDP.
//!
//! In: bytes of a packet. Out: its fields, borrowed where that is possible, or why it is none. The other way, fields are
//! written in front of a payload or appended to a buffer. No parser panics, whatever the bytes.
//!
//! - [`ip`], [`udp`]: the headers around and inside a tunnel's packets, read and written in place.
//! - [`name`]: names of hosts and realms.
//! - [`rtp`]: packets read where they lie, counters that do not wrap, and what a datagram is by its first byte.
//! - [`rtcp`]: reports, read and written.
//! - [`sdp`]: session descriptions, read and written.

#![warn(missing_docs)]

pub mod ip;
pub mod name;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod udp;

/// The example of the README is tried as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Packet captures: read, written, and searched for voice.
//!
//! In: bytes of a pcap or pcapng file in pieces of any size ([`Reader`]). Out: packets ([`Frame`]), the datagrams in
//! them ([`decode`]), the streams of RTP among those ([`Finder`]), and how good they were ([`Survey`]). [`Writer`]
//! makes pcapng around datagrams, [`FrameWriter`] around frames of any link.
//!
//! - No bytes make anything here panic; what is damaged is named with its place in the file.
//! - Everything that is remembered has a limit; a file is never held whole.
//! - Only headers of RTP are read, and SRTP is as good as RTP; but for G.711 in the clear, of which the level is measured.

mod error;
mod finder;
mod link;
mod loudness;
mod reader;
mod rtcp;
mod rtp;
mod sdp;
mod stamp;
mod survey;
mod writer;

pub use error::CaptureError;
pub use finder::{Counts, Finder, Flow, Limits, Other, RoundTrip, StreamInfo, StreamPacket};
pub use link::{Datagram, Decoded, decode};
pub use loudness::{SILENT_DBOV, Sounding};
pub use reader::{BLOCK_MAX, Frame, LinkType, Reader};
pub use rtcp::{Reception, Rtcp, SenderReport, VoiceMetrics, is_rtcp};
pub use rtp::{RtpHeader, static_payload_type};
pub use sdp::{Agreements, Mapping, Media};
pub use stamp::Stamp;
pub use survey::{
    Clocks, DelaySource, Departures, DeparturesError, Direction, FileCounts, Part, Report, RowLine, Sound,
    StreamReport, Survey, SurveyConfig, sound,
};
pub use writer::{FRAME_MAX, FrameWriter, PAYLOAD_MAX, WriteError, Writer};

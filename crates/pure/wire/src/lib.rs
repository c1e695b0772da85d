//! Headers that several crates read and write: IP, UDP, RTP, RTCP, SDP

pub mod sdp;

use super::index::{IndexState, Source, Sources};
use super::session_key::{Layout, SessionKey};
use super::{MasterKey, Profile, SrtpError};
use guestright_wire::rtp;
use std::fmt;

/// Protects the packets of one direction.
pub struct Protect {
    profile: Profile,
    rtp: SessionKey,
    rtcp: SessionKey,
    sources: Sources,
}

/// An SRTCP index has 31 bits.
const RTCP_INDEX_MAX: u64 = (1 << 31) - 1;

impl Protect {
    /// Makes the keys ready.
    #[must_use]
    pub fn new(master: &MasterKey) -> Self {
        Self {
            profile: master.profile(),
            rtp: SessionKey::new(master, false),
            rtcp: SessionKey::new(master, true),
            sources: Sources::default(),
        }
    }

    /// Which ciphers it uses.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Protects an RTP packet. `out` is emptied first, keeps its memory, and has the packet at the end.
    ///
    /// The sequence numbers of a source may come in any order within [`WINDOW`](super::WINDOW).
    ///
    /// # Errors
    /// [`SrtpError::Replayed`] and [`SrtpError::TooOld`] if the sequence number was, or may have been, protected
    /// before; [`SrtpError::Rtp`], [`SrtpError::TooManySources`], [`SrtpError::KeyWornOut`].
    #[inline]
    pub fn rtp(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), SrtpError> {
        let packet = rtp::Packet::parse_protected(packet)?;
        let (header, ssrc) = (packet.header(), packet.header().ssrc);
        let source = self.source(ssrc)?;
        let index = source.estimate(header.sequence)?;
        match source.rtp.state(index) {
            IndexState::Fresh => source.rtp.accept(index),
            IndexState::Used => return Err(SrtpError::Replayed { ssrc, index }),
            IndexState::TooOld => return Err(SrtpError::TooOld { ssrc, index }),
        }
        out.clear();
        out.extend_from_slice(packet.as_bytes());
        let (header, tag_len) = (packet.header_len(), self.profile.rtp_overhead());
        self.rtp.seal_rtp(out, &Layout { header, ssrc, index, tag_len });
        Ok(())
    }

    /// Protects a compound RTCP packet, which counts as its first report's source's.
    ///
    /// # Errors
    /// [`SrtpError::TooShort`], [`SrtpError::RtcpVersion`], [`SrtpError::TooManySources`],
    /// [`SrtpError::KeyWornOut`].
    pub fn rtcp(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), SrtpError> {
        let ssrc = rtcp_ssrc(packet)?;
        let tag_len = self.profile.rtcp_overhead() - 4;
        let source = self.source(ssrc)?;
        let index = source.rtcp.highest().map_or(1, |highest| highest + 1);
        if index > RTCP_INDEX_MAX {
            return Err(SrtpError::KeyWornOut);
        }
        source.rtcp.accept(index);
        out.clear();
        out.extend_from_slice(packet);
        let index = u32::try_from(index).expect("an index has 31 bits");
        self.rtcp.seal_rtcp(out, ssrc, index, tag_len);
        Ok(())
    }

    /// How often the sequence number of a source has wrapped; nothing for a source that has sent nothing.
    #[must_use]
    pub fn rollover(&self, ssrc: u32) -> Option<u32> {
        let highest = self.sources.get(ssrc)?.rtp.highest()?;
        u32::try_from(highest >> 16).ok()
    }

    #[inline]
    fn source(&mut self, ssrc: u32) -> Result<&mut Source, SrtpError> {
        if self.sources.get(ssrc).is_none() {
            if self.sources.is_full() {
                return Err(SrtpError::TooManySources { ssrc });
            }
            self.sources.add(Source::new(ssrc, 0));
        }
        Ok(self.sources.find(ssrc).expect("it is there or was added"))
    }
}

/// The source that a compound RTCP packet begins with.
pub(super) fn rtcp_ssrc(packet: &[u8]) -> Result<u32, SrtpError> {
    let Some(&[first, _, _, _, s0, s1, s2, s3]) = packet.first_chunk::<8>() else {
        return Err(SrtpError::TooShort { got: packet.len(), want: 8 });
    };
    if first >> 6 != 2 {
        return Err(SrtpError::RtcpVersion(first >> 6));
    }
    Ok(u32::from_be_bytes([s0, s1, s2, s3]))
}

impl fmt::Debug for Protect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protect({}, ..)", self.profile)
    }
}

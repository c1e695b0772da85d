use super::index::{INDEX_MAX, IndexState, Source, Sources};
use super::protect::rtcp_ssrc;
use super::session_key::{GCM_TAG, Layout, SessionKey};
use super::{MasterKey, Profile, SrtpError};
use guestright_wire::rtp;
use std::fmt;

/// Checks and opens the packets of one direction.
pub struct Unprotect {
    profile: Profile,
    rtp: SessionKey,
    rtcp: SessionKey,
    sources: Sources,
    rollover_start: u32,
}

impl Unprotect {
    /// Makes the keys ready.
    #[must_use]
    pub fn new(master: &MasterKey) -> Self {
        Self::joining(master, 0)
    }

    /// For somebody who joins late, and was told how often the sequence numbers have wrapped.
    #[must_use]
    pub fn joining(master: &MasterKey, rollover_start: u32) -> Self {
        Self {
            profile: master.profile(),
            rtp: SessionKey::new(master, false),
            rtcp: SessionKey::new(master, true),
            sources: Sources::default(),
            rollover_start,
        }
    }

    /// Which ciphers it uses.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Checks and opens an RTP packet. `out` is emptied first, keeps its memory, and has the packet at the end; after
    /// an error it holds nothing.
    ///
    /// Until a source has shown its first good packet, its rollover counter may be one more than the start: then the
    /// first packets were lost, and the sequence number wrapped meanwhile.
    ///
    /// # Errors
    /// [`SrtpError`].
    #[inline]
    pub fn rtp(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), SrtpError> {
        out.clear();
        let parsed = rtp::Packet::parse_protected(packet)?;
        let (header, tag_len) = (parsed.header_len(), self.profile.rtp_overhead());
        if packet.len() < header + tag_len {
            return Err(SrtpError::TooShort { got: packet.len(), want: header + tag_len });
        }
        let (ssrc, sequence) = (parsed.header().ssrc, parsed.header().sequence);
        let full = self.sources.is_full();
        let (index, known) = match self.sources.find(ssrc) {
            Some(source) => {
                let index = source.estimate(sequence)?;
                match source.rtp.state(index) {
                    IndexState::Fresh => (index, source.rtp.highest().is_some()),
                    IndexState::Used => return Err(SrtpError::Replayed { ssrc, index }),
                    IndexState::TooOld => return Err(SrtpError::TooOld { ssrc, index }),
                }
            }
            None if full => return Err(SrtpError::TooManySources { ssrc }),
            None => (u64::from(self.rollover_start) << 16 | u64::from(sequence), false),
        };
        let mut opened = self.open(packet, out, header, ssrc, index);
        let mut index = index;
        if opened.is_err() && !known && index + (1 << 16) <= INDEX_MAX {
            index += 1 << 16;
            opened = self.open(packet, out, header, ssrc, index);
        }
        if let Err(error) = opened {
            out.clear();
            return Err(error);
        }
        self.source(ssrc).rtp.accept(index);
        Ok(())
    }

    #[inline]
    fn open(
        &self,
        packet: &[u8],
        out: &mut Vec<u8>,
        header: usize,
        ssrc: u32,
        index: u64,
    ) -> Result<(), SrtpError> {
        out.clear();
        out.extend_from_slice(packet);
        self.rtp.open_rtp(out, &Layout { header, ssrc, index, tag_len: self.profile.rtp_overhead() })
    }

    /// Checks and opens a compound RTCP packet, like [`Unprotect::rtp`].
    ///
    /// # Errors
    /// [`SrtpError`]; [`SrtpError::NotEncrypted`] for a packet that says it was left in the clear.
    pub fn rtcp(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), SrtpError> {
        out.clear();
        let ssrc = rtcp_ssrc(packet)?;
        let want = 8 + self.profile.rtcp_overhead();
        if packet.len() < want {
            return Err(SrtpError::TooShort { got: packet.len(), want });
        }
        let tag_len = self.profile.rtcp_overhead() - 4;
        // The index is the last thing (GCM), or stands before the check value (HMAC).
        let end = if self.profile.is_gcm() { packet.len() } else { packet.len() - tag_len };
        debug_assert!(!self.profile.is_gcm() || tag_len == GCM_TAG);
        let word: [u8; 4] = packet[end - 4..end].try_into().expect("four bytes");
        if word[0] & 0x80 == 0 {
            return Err(SrtpError::NotEncrypted);
        }
        let index = u64::from(u32::from_be_bytes(word) & 0x7fff_ffff);
        let full = self.sources.is_full();
        match self.sources.find(ssrc).map(|source| source.rtcp.state(index)) {
            Some(IndexState::Used) => return Err(SrtpError::Replayed { ssrc, index }),
            Some(IndexState::TooOld) => return Err(SrtpError::TooOld { ssrc, index }),
            None if full => return Err(SrtpError::TooManySources { ssrc }),
            None | Some(IndexState::Fresh) => {}
        }
        out.extend_from_slice(packet);
        if let Err(error) = self.rtcp.open_rtcp(out, ssrc, word, tag_len) {
            out.clear();
            return Err(error);
        }
        self.source(ssrc).rtcp.accept(index);
        Ok(())
    }

    /// How often the sequence number of a source has wrapped; nothing for a source that has sent nothing.
    #[must_use]
    pub fn rollover(&self, ssrc: u32) -> Option<u32> {
        let highest = self.sources.get(ssrc)?.rtp.highest()?;
        u32::try_from(highest >> 16).ok()
    }

    /// The source of a packet that has passed its check.
    fn source(&mut self, ssrc: u32) -> &mut Source {
        if self.sources.get(ssrc).is_none() {
            self.sources.add(Source::new(ssrc, self.rollover_start));
        }
        self.sources.find(ssrc).expect("it is there or was added")
    }
}

impl fmt::Debug for Unprotect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unprotect({}, ..)", self.profile)
    }
}

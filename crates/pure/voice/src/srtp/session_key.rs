//! One packet's encryption and check value (RFC 3711, section 4; RFC 7714, sections 8 and 9).

use super::derive::{Label, derive};
use super::{MasterKey, Profile, SrtpError};
use aes::Aes128;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit as _};
use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use hmac::{Hmac, Mac as _};
use sha1::Sha1;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// What has to be known of an RTP packet to protect or open it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Bytes that stay readable in front.
    pub(super) header: usize,
    pub(super) ssrc: u32,
    /// Rollover counter and sequence number.
    pub(super) index: u64,
    /// Bytes of the check value behind.
    pub(super) tag_len: usize,
}

/// The keys for RTP, or those for RTCP, made ready. In boxes, because they differ much in size.
pub(super) enum SessionKey {
    Gcm128 { cipher: Box<Aes128Gcm>, salt: Zeroizing<[u8; 12]> },
    Gcm256 { cipher: Box<Aes256Gcm>, salt: Zeroizing<[u8; 12]> },
    CounterMode { cipher: Box<Aes128>, salt: Zeroizing<[u8; 14]>, mac: Box<Hmac<Sha1>> },
}

pub(super) const GCM_TAG: usize = 16;

/// HMAC-SHA-1 gives 20 bytes, of which 4 or 10 are sent.
const MAC_LEN: usize = 20;

impl SessionKey {
    /// For RTP, or for RTCP.
    pub(super) fn new(master: &MasterKey, rtcp: bool) -> Self {
        let (encryption, authentication, salting) = if rtcp {
            (Label::RtcpEncryption, Label::RtcpAuthentication, Label::RtcpSalt)
        } else {
            (Label::RtpEncryption, Label::RtpAuthentication, Label::RtpSalt)
        };
        let length = "the key was made for this cipher";
        let mut key = Zeroizing::new([0; 32]);
        let key = &mut key[..master.profile().key_len()];
        derive(master, encryption, key);
        match master.profile() {
            Profile::AeadAes128Gcm => {
                let salt = derived(master, salting);
                Self::Gcm128 { cipher: Box::new(Aes128Gcm::new_from_slice(key).expect(length)), salt }
            }
            Profile::AeadAes256Gcm => {
                let salt = derived(master, salting);
                Self::Gcm256 { cipher: Box::new(Aes256Gcm::new_from_slice(key).expect(length)), salt }
            }
            Profile::AesCm128HmacSha1_80 | Profile::AesCm128HmacSha1_32 => {
                let authentication: Zeroizing<[u8; MAC_LEN]> = derived(master, authentication);
                let mac = Hmac::new_from_slice(authentication.as_slice()).expect("any length will do");
                let cipher = Box::new(Aes128::new_from_slice(key).expect(length));
                Self::CounterMode { cipher, salt: derived(master, salting), mac: Box::new(mac) }
            }
        }
    }

    /// Encrypts what is behind `header` in an RTP packet, and appends the check value.
    #[inline]
    pub(super) fn seal_rtp(&self, packet: &mut Vec<u8>, layout: &Layout) {
        let Layout { header, ssrc, index, tag_len } = *layout;
        if let Self::CounterMode { cipher, salt, mac } = self {
            apply_counter_mode(cipher, salt, ssrc, index, &mut packet[header..]);
            let tag = tag_of(mac, packet, &rollover(index).to_be_bytes());
            packet.extend_from_slice(&tag[..tag_len]);
        } else {
            let (aad, text) = packet.split_at_mut(header);
            let tag = self.gcm_seal(rtp_nonce(ssrc, index), aad, text);
            packet.extend_from_slice(&tag);
        }
    }

    /// Checks an RTP packet in `packet` and decrypts it in place, without its check value.
    #[inline]
    pub(super) fn open_rtp(&self, packet: &mut Vec<u8>, layout: &Layout) -> Result<(), SrtpError> {
        let Layout { header, ssrc, index, tag_len } = *layout;
        let end = packet.len() - tag_len;
        let (text, tag) = packet.split_at_mut(end);
        if let Self::CounterMode { cipher, salt, mac } = self {
            let want = tag_of(mac, text, &rollover(index).to_be_bytes());
            if !bool::from(want[..tag_len].ct_eq(tag)) {
                return Err(SrtpError::Forged);
            }
            apply_counter_mode(cipher, salt, ssrc, index, &mut text[header..]);
        } else {
            let (aad, text) = text.split_at_mut(header);
            let tag: &[u8; GCM_TAG] = (&*tag).try_into().expect("GCM's check value has 16 bytes");
            self.gcm_open(rtp_nonce(ssrc, index), aad, text, tag)?;
        }
        packet.truncate(end);
        Ok(())
    }

    /// Encrypts an RTCP packet behind its first 8 bytes, and appends check value and index.
    pub(super) fn seal_rtcp(&self, packet: &mut Vec<u8>, ssrc: u32, index: u32, tag_len: usize) {
        let word = (index | 1 << 31).to_be_bytes();
        if let Self::CounterMode { cipher, salt, mac } = self {
            apply_counter_mode(cipher, salt, ssrc, u64::from(index), &mut packet[8..]);
            packet.extend_from_slice(&word);
            let tag = tag_of(mac, packet, &[]);
            packet.extend_from_slice(&tag[..tag_len]);
        } else {
            let aad = rtcp_aad(packet, word);
            let tag = self.gcm_seal(rtcp_nonce(ssrc, index), &aad, &mut packet[8..]);
            packet.extend_from_slice(&tag);
            packet.extend_from_slice(&word);
        }
    }

    /// Checks an SRTCP packet, whose index was read from `word`, and decrypts it in place.
    pub(super) fn open_rtcp(
        &self,
        packet: &mut Vec<u8>,
        ssrc: u32,
        word: [u8; 4],
        tag_len: usize,
    ) -> Result<(), SrtpError> {
        let index = u32::from_be_bytes(word) & 0x7fff_ffff;
        let end = packet.len() - tag_len - 4;
        if let Self::CounterMode { cipher, salt, mac } = self {
            let (signed, tag) = packet.split_at(packet.len() - tag_len);
            let want = tag_of(mac, signed, &[]);
            if !bool::from(want[..tag_len].ct_eq(tag)) {
                return Err(SrtpError::Forged);
            }
            apply_counter_mode(cipher, salt, ssrc, u64::from(index), &mut packet[8..end]);
        } else {
            let aad = rtcp_aad(packet, word);
            let (text, rest) = packet[8..].split_at_mut(end - 8);
            let tag: &[u8; GCM_TAG] = rest.first_chunk().expect("the length was checked");
            self.gcm_open(rtcp_nonce(ssrc, index), &aad, text, tag)?;
        }
        packet.truncate(end);
        Ok(())
    }

    #[inline]
    fn gcm_seal(&self, nonce: [u8; 12], aad: &[u8], text: &mut [u8]) -> [u8; GCM_TAG] {
        let sealed = match self {
            Self::Gcm128 { cipher, salt } => {
                cipher.encrypt_inout_detached(&salted(nonce, salt).into(), aad, text.into())
            }
            Self::Gcm256 { cipher, salt } => {
                cipher.encrypt_inout_detached(&salted(nonce, salt).into(), aad, text.into())
            }
            Self::CounterMode { .. } => unreachable!("only GCM's keys seal so"),
        };
        sealed.expect("a packet is far shorter than the cipher's limit").into()
    }

    #[inline]
    fn gcm_open(
        &self,
        nonce: [u8; 12],
        aad: &[u8],
        text: &mut [u8],
        tag: &[u8; GCM_TAG],
    ) -> Result<(), SrtpError> {
        let tag = (*tag).into();
        let opened = match self {
            Self::Gcm128 { cipher, salt } => {
                cipher.decrypt_inout_detached(&salted(nonce, salt).into(), aad, text.into(), &tag)
            }
            Self::Gcm256 { cipher, salt } => {
                cipher.decrypt_inout_detached(&salted(nonce, salt).into(), aad, text.into(), &tag)
            }
            Self::CounterMode { .. } => unreachable!("only GCM's keys open so"),
        };
        opened.map_err(|_| SrtpError::Forged)
    }
}

fn derived<const N: usize>(master: &MasterKey, label: Label) -> Zeroizing<[u8; N]> {
    let mut out = Zeroizing::new([0; N]);
    derive(master, label, out.as_mut_slice());
    out
}

/// The upper 32 bits of an index of 48.
#[expect(clippy::cast_possible_truncation, reason = "an index has 48 bits")]
fn rollover(index: u64) -> u32 {
    (index >> 16) as u32
}

/// RFC 7714, section 8.1: two zero bytes, source, rollover counter and sequence number.
fn rtp_nonce(ssrc: u32, index: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[2..6].copy_from_slice(&ssrc.to_be_bytes());
    nonce[6..].copy_from_slice(&index.to_be_bytes()[2..]);
    nonce
}

/// RFC 7714, section 9.1: two zero bytes, source, two zero bytes, index.
fn rtcp_nonce(ssrc: u32, index: u32) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[2..6].copy_from_slice(&ssrc.to_be_bytes());
    nonce[8..].copy_from_slice(&index.to_be_bytes());
    nonce
}

/// RFC 7714, section 9.2: the first 8 bytes of the packet and the word with the index.
fn rtcp_aad(packet: &[u8], word: [u8; 4]) -> [u8; 12] {
    let mut aad = [0; 12];
    aad[..8].copy_from_slice(&packet[..8]);
    aad[8..].copy_from_slice(&word);
    aad
}

fn salted(mut nonce: [u8; 12], salt: &[u8; 12]) -> [u8; 12] {
    nonce.iter_mut().zip(salt).for_each(|(byte, salt)| *byte ^= salt);
    nonce
}

#[inline]
fn tag_of(mac: &Hmac<Sha1>, packet: &[u8], rollover: &[u8]) -> [u8; MAC_LEN] {
    let mut mac = mac.clone();
    mac.update(packet);
    mac.update(rollover);
    mac.finalize().into_bytes().into()
}

/// RFC 3711, section 4.1.1. Eight blocks at once keep the processor's AES unit busy.
#[inline]
pub(super) fn apply_counter_mode(cipher: &Aes128, salt: &[u8; 14], ssrc: u32, index: u64, text: &mut [u8]) {
    let mut counter = [0_u8; 16];
    counter[..14].copy_from_slice(salt);
    counter[4..8].iter_mut().zip(ssrc.to_be_bytes()).for_each(|(byte, other)| *byte ^= other);
    counter[8..14].iter_mut().zip(&index.to_be_bytes()[2..]).for_each(|(byte, other)| *byte ^= other);
    let mut number = 0_u16;
    for part in text.chunks_mut(8 * 16) {
        let mut blocks: [Block<Aes128>; 8] = [counter.into(); 8];
        for block in &mut blocks {
            block[14..].copy_from_slice(&number.to_be_bytes());
            number = number.wrapping_add(1);
        }
        let count = part.len().div_ceil(16);
        cipher.encrypt_blocks(&mut blocks[..count]);
        for (chunk, block) in part.chunks_mut(16).zip(&blocks) {
            chunk.iter_mut().zip(block).for_each(|(byte, stream)| *byte ^= stream);
        }
    }
}

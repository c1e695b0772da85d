//! One packet's encryption and check value, for every suite; and where initialization vectors come from.

use aes::Aes128;
use aes::cipher::{
    Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt as _, BlockModeEncrypt as _,
    InnerIvInit as _, KeyInit, inout::InOutBuf,
};
use des::TdesEde3;
use hmac::Hmac;
use md5::Md5;
use sha1::Sha1;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::aead::{AeadKey, Forged, NONCE_LEN, TAG_LEN};
use super::keys::Keys;
use super::suite::{HEADER_LEN, SALT_LEN, Suite};

/// The keys of a suite, made ready. The lengths were checked by [`Keys`].
pub(crate) enum Cipher {
    TripleDes { cipher: Box<TdesEde3>, mac: Box<MacKey> },
    Aes128 { cipher: Box<Aes128>, mac: Box<MacKey> },
    Aead { key: AeadKey, salt: Zeroizing<[u8; SALT_LEN]> },
}

/// A keyed hash whose first block is done; each packet begins with a copy.
pub(crate) enum MacKey {
    Md5(Hmac<Md5>),
    Sha1(Hmac<Sha1>),
}

/// HMAC-MD5-96 and HMAC-SHA-1-96 keep this many bytes (RFC 2403, RFC 2404).
const MAC_LEN: usize = 12;

/// Where the parts of a packet are: behind the header of 8 bytes the vector, then the text up to `text_end`, then the
/// check value to the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) text_start: usize,
    pub(crate) text_end: usize,
}

impl Cipher {
    pub(crate) fn new(keys: &Keys) -> Self {
        let suite = keys.suite();
        let lengths = "the lengths of keys are checked when they are made";
        match suite {
            Suite::TripleDesCbcHmacSha1 => Self::TripleDes {
                cipher: Box::new(TdesEde3::new_from_slice(keys.encryption()).expect(lengths)),
                mac: Box::new(MacKey::sha1(keys)),
            },
            Suite::Aes128CbcHmacMd5 => Self::Aes128 { cipher: aes(keys), mac: Box::new(MacKey::md5(keys)) },
            Suite::Aes128CbcHmacSha1 => Self::Aes128 { cipher: aes(keys), mac: Box::new(MacKey::sha1(keys)) },
            Suite::Aes128Gcm | Suite::Aes256Gcm | Suite::ChaCha20Poly1305 => {
                let (key, salt) = keys.encryption().split_last_chunk::<SALT_LEN>().expect(lengths);
                let key = AeadKey::new(suite, key).expect(lengths);
                Self::Aead { key, salt: Zeroizing::new(*salt) }
            }
        }
    }

    /// Encrypts the text and writes the check value. `high` is the upper half of an extended sequence number.
    #[inline]
    pub(crate) fn seal(&self, packet: &mut [u8], layout: Layout, high: Option<u32>) {
        match self {
            Self::TripleDes { cipher, mac } => {
                encrypt_cbc(cipher.as_ref(), packet, layout);
                mac.write(packet, layout, high);
            }
            Self::Aes128 { cipher, mac } => {
                encrypt_cbc(cipher.as_ref(), packet, layout);
                mac.write(packet, layout, high);
            }
            Self::Aead { key, salt } => {
                let (nonce, aad, aad_len) = aead_inputs(packet, salt, high);
                let tag = key.seal(nonce, &aad[..aad_len], &mut packet[layout.text_start..layout.text_end]);
                packet[layout.text_end..].copy_from_slice(&tag);
            }
        }
    }

    /// Verifies the check value, and decrypts the text if that was right.
    #[inline]
    pub(crate) fn open(&self, packet: &mut [u8], layout: Layout, high: Option<u32>) -> Result<(), Forged> {
        match self {
            Self::TripleDes { cipher, mac } => {
                mac.verify(packet, layout, high)?;
                decrypt_cbc(cipher.as_ref(), packet, layout);
                Ok(())
            }
            Self::Aes128 { cipher, mac } => {
                mac.verify(packet, layout, high)?;
                decrypt_cbc(cipher.as_ref(), packet, layout);
                Ok(())
            }
            Self::Aead { key, salt } => {
                let (nonce, aad, aad_len) = aead_inputs(packet, salt, high);
                let (text, tag) = packet.split_at_mut(layout.text_end);
                let tag: &[u8; TAG_LEN] = (&*tag).try_into().map_err(|_| Forged)?;
                key.open(nonce, &aad[..aad_len], &mut text[layout.text_start..], tag)
            }
        }
    }
}

fn aes(keys: &Keys) -> Box<Aes128> {
    let cipher = Aes128::new_from_slice(keys.encryption());
    Box::new(cipher.expect("the lengths of keys are checked when they are made"))
}

/// The nonce is the salt and the packet's vector (RFC 4106, section 4; RFC 7634, section 2); what is authenticated
/// besides the text is SPI and sequence number, whole if it is extended (RFC 4106, section 5).
#[inline]
fn aead_inputs(
    packet: &[u8],
    salt: &[u8; SALT_LEN],
    high: Option<u32>,
) -> ([u8; NONCE_LEN], [u8; 12], usize) {
    let mut nonce = [0; NONCE_LEN];
    nonce[..SALT_LEN].copy_from_slice(salt);
    nonce[SALT_LEN..].copy_from_slice(&packet[HEADER_LEN..HEADER_LEN + 8]);
    let mut aad = [0; 12];
    aad[..4].copy_from_slice(&packet[..4]);
    let Some(high) = high else {
        aad[4..8].copy_from_slice(&packet[4..8]);
        return (nonce, aad, 8);
    };
    aad[4..8].copy_from_slice(&high.to_be_bytes());
    aad[8..].copy_from_slice(&packet[4..8]);
    (nonce, aad, 12)
}

fn encrypt_cbc<C: BlockCipherEncrypt>(cipher: &C, packet: &mut [u8], layout: Layout) {
    let (head, text) = packet[..layout.text_end].split_at_mut(layout.text_start);
    let iv = <&Block<C>>::try_from(&head[HEADER_LEN..]).expect("the vector is as long as the cipher's block");
    let (blocks, rest) = InOutBuf::from(text).into_chunks();
    debug_assert!(rest.is_empty(), "the text is padded to whole blocks");
    cbc::Encryptor::inner_iv_init(cipher, iv).encrypt_blocks_inout(blocks);
}

fn decrypt_cbc<C: BlockCipherDecrypt>(cipher: &C, packet: &mut [u8], layout: Layout) {
    let (head, text) = packet[..layout.text_end].split_at_mut(layout.text_start);
    let iv = <&Block<C>>::try_from(&head[HEADER_LEN..]).expect("the vector is as long as the cipher's block");
    let (blocks, rest) = InOutBuf::from(text).into_chunks();
    debug_assert!(rest.is_empty(), "what is not whole blocks was refused");
    cbc::Decryptor::inner_iv_init(cipher, iv).decrypt_blocks_inout(blocks);
}

impl MacKey {
    fn md5(keys: &Keys) -> Self {
        Self::Md5(Hmac::new_from_slice(keys.authentication()).expect("HMAC takes keys of every length"))
    }

    fn sha1(keys: &Keys) -> Self {
        Self::Sha1(Hmac::new_from_slice(keys.authentication()).expect("HMAC takes keys of every length"))
    }

    /// Over everything before the check value, and then the upper half of an extended sequence number, which is not
    /// sent (RFC 4303, section 2.2.1).
    fn compute(&self, packet: &[u8], high: Option<u32>) -> [u8; MAC_LEN] {
        match self {
            Self::Md5(key) => authenticate(key.clone(), packet, high),
            Self::Sha1(key) => authenticate(key.clone(), packet, high),
        }
    }

    fn write(&self, packet: &mut [u8], layout: Layout, high: Option<u32>) {
        let value = self.compute(&packet[..layout.text_end], high);
        packet[layout.text_end..].copy_from_slice(&value);
    }

    fn verify(&self, packet: &[u8], layout: Layout, high: Option<u32>) -> Result<(), Forged> {
        let (covered, value) = packet.split_at(layout.text_end);
        let is_equal = self.compute(covered, high).ct_eq(value);
        if bool::from(is_equal) { Ok(()) } else { Err(Forged) }
    }
}

fn authenticate<M: hmac::Mac>(mut mac: M, packet: &[u8], high: Option<u32>) -> [u8; MAC_LEN] {
    mac.update(packet);
    if let Some(high) = high {
        mac.update(&high.to_be_bytes());
    }
    let value = mac.finalize().into_bytes();
    *value.first_chunk().expect("the hashes are longer than what is kept of them")
}

/// Where the vectors of outgoing packets come from.
pub(crate) enum Vectors {
    /// The sequence number: a counter cannot repeat, which is all that these suites ask (RFC 4106, section 3.1;
    /// RFC 7634, section 2).
    Counter,
    /// The counter under a cipher with a key of its own: nobody can tell the next one (RFC 3602, section 3;
    /// RFC 2451, section 3), and none repeats.
    Unpredictable { cipher: Box<Aes128>, whitening: Zeroizing<[u8; 16]> },
}

impl Vectors {
    pub(crate) fn new(suite: Suite, seed: &[u8; 32]) -> Self {
        if !suite.is_legacy() {
            return Self::Counter;
        }
        let (key, whitening) = seed.split_first_chunk::<16>().expect("a seed has 32 bytes");
        let cipher = Aes128::new_from_slice(key).expect("a key of AES-128 has 16 bytes");
        let whitening = whitening.try_into().expect("a seed has 32 bytes");
        Self::Unpredictable { cipher: Box::new(cipher), whitening: Zeroizing::new(whitening) }
    }

    /// Writes the vector of that packet; `iv` has 8 or 16 bytes.
    #[inline]
    pub(crate) fn write(&self, sequence: u64, iv: &mut [u8]) {
        match self {
            Self::Counter => iv.copy_from_slice(&sequence.to_be_bytes()),
            Self::Unpredictable { cipher, whitening } => {
                let block = u128::from_be_bytes(**whitening) ^ u128::from(sequence);
                let mut block = Block::<Aes128>::from(block.to_be_bytes());
                cipher.encrypt_block(&mut block);
                iv.copy_from_slice(&block[..iv.len()]);
            }
        }
    }
}

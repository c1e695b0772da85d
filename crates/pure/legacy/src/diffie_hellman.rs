//! Diffie-Hellman in the multiplicative group of a prime, with generator 2, as Nautilus and PGPfone agree on keys.
//!
//! Two families of primes, all safe ((p-1)/2 is prime too):
//!
//! - [`Prime::Oakley768`] and its like: RFC 2409 (section 6) and RFC 3526, made from the digits of pi.
//! - [`Prime::PgpFone768`] and its like: the numbers that PGPfone 2.1 offers. All are ends of one chain of digits.
//!
//! Exponentiation takes the same time for every exponent (`crypto-bigint`, Montgomery form). Exponents and secrets are
//! wiped when they are dropped; tables within the exponentiation are not, as far as `crypto-bigint` leaves them.
//!
//! 768 and 1024 bits are within reach of those who can pay for it (Adrian et al., "Imperfect forward secrecy", CCS 2015).

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use rand::Rng;
use std::fmt;
use thiserror::Error;
use zeroize::{Zeroize as _, Zeroizing};

#[cfg(test)]
mod tests;

/// A prime that both sides know by name. The generator is 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prime {
    /// RFC 2409, section 6.1: 768 bits.
    Oakley768,
    /// RFC 2409, section 6.2: 1024 bits.
    Oakley1024,
    /// RFC 3526, group 5: 1536 bits.
    Oakley1536,
    /// RFC 3526, group 14: 2048 bits.
    Oakley2048,
    /// RFC 3526, group 15: 3072 bits.
    Oakley3072,
    /// RFC 3526, group 16: 4096 bits.
    Oakley4096,
    /// PGPfone's of 768 bits.
    PgpFone768,
    /// PGPfone's of 1024 bits.
    PgpFone1024,
    /// PGPfone's of 1536 bits.
    PgpFone1536,
    /// PGPfone's of 2048 bits.
    PgpFone2048,
    /// PGPfone's of 3072 bits.
    PgpFone3072,
    /// PGPfone's of 4096 bits.
    PgpFone4096,
}

impl Prime {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Oakley768,
        Self::Oakley1024,
        Self::Oakley1536,
        Self::Oakley2048,
        Self::Oakley3072,
        Self::Oakley4096,
        Self::PgpFone768,
        Self::PgpFone1024,
        Self::PgpFone1536,
        Self::PgpFone2048,
        Self::PgpFone3072,
        Self::PgpFone4096,
    ];

    /// What PGPfone 2.1 knows, the shortest first.
    pub const PGPFONE: [Self; 6] = {
        let [.., a, b, c, d, e, f] = Self::ALL;
        [a, b, c, d, e, f]
    };

    /// Its length in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Oakley768 | Self::PgpFone768 => 768,
            Self::Oakley1024 | Self::PgpFone1024 => 1_024,
            Self::Oakley1536 | Self::PgpFone1536 => 1_536,
            Self::Oakley2048 | Self::PgpFone2048 => 2_048,
            Self::Oakley3072 | Self::PgpFone3072 => 3_072,
            Self::Oakley4096 | Self::PgpFone4096 => 4_096,
        }
    }

    /// Its length in bytes, which is that of public values and of secrets.
    #[must_use]
    pub const fn byte_len(self) -> usize {
        self.bits() as usize / 8
    }

    /// Bits of a secret exponent. PGPfone: 384, 404, 458, as it has them. RFC 3526 (section 8): twice the larger estimate
    /// of the prime's strength, and for the two of RFC 2409 what the next longer one has.
    #[must_use]
    pub const fn exponent_bits(self) -> u32 {
        match self {
            Self::Oakley768 | Self::Oakley1024 | Self::Oakley1536 => 240,
            Self::Oakley2048 => 320,
            Self::Oakley3072 => 420,
            Self::Oakley4096 => 480,
            Self::PgpFone768 | Self::PgpFone1024 | Self::PgpFone1536 | Self::PgpFone2048 => 384,
            Self::PgpFone3072 => 404,
            Self::PgpFone4096 => 458,
        }
    }

    /// The number, the most significant byte first.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Oakley768 => oakley(self.byte_len(), 149_686),
            Self::Oakley1024 => oakley(self.byte_len(), 129_093),
            Self::Oakley1536 => oakley(self.byte_len(), 741_804),
            Self::Oakley2048 => oakley(self.byte_len(), 124_476),
            Self::Oakley3072 => oakley(self.byte_len(), 1_690_314),
            Self::Oakley4096 => oakley(self.byte_len(), 240_904),
            Self::PgpFone768 => pgpfone(self.byte_len(), 0xe92b_1ab3),
            Self::PgpFone1024 => pgpfone(self.byte_len(), 0xe92f_78c7),
            Self::PgpFone1536 => pgpfone(self.byte_len(), 0xe958_7c47),
            Self::PgpFone2048 => pgpfone(self.byte_len(), 0xe932_0b3b),
            Self::PgpFone3072 => pgpfone(self.byte_len(), 0xe94c_326f),
            Self::PgpFone4096 => pgpfone(self.byte_len(), 0xeb3d_d617),
        }
    }

    fn odd(self) -> Odd<BoxedUint> {
        let number = BoxedUint::from_be_slice_truncated(&self.to_bytes(), self.bits());
        Odd::new(number).into_option().expect("all of them end in an odd digit; a test reads each")
    }
}

/// A prime of RFC 2409 and 3526: 2^n - 2^(n-64) - 1 + 2^64 (floor(2^(n-130) pi) + c), with n = 8 `len`.
fn oakley(len: usize, c: u32) -> Vec<u8> {
    let mut bytes = vec![0xff; len];
    let middle = &mut bytes[8..len - 8];
    middle.copy_from_slice(&PI[..len - 16]);
    // All the ones below borrow one from the middle.
    let mut carry = c - 1;
    for byte in middle.iter_mut().rev() {
        let sum = u32::from(*byte) + (carry & 0xff);
        let [low, ..] = sum.to_le_bytes();
        *byte = low;
        carry = (carry >> 8) + (sum >> 8);
    }
    bytes
}

/// A prime of PGPfone: the last `len` bytes of the chain, with both highest bits set and another end.
fn pgpfone(len: usize, end: u32) -> Vec<u8> {
    let mut bytes = CHAIN[CHAIN.len() - len..].to_vec();
    bytes[0] |= 0xc0;
    bytes[len - 4..].copy_from_slice(&end.to_be_bytes());
    bytes
}

/// One side's secret exponent, with the public value that goes with it.
#[derive(Clone)]
pub struct Secret {
    prime: Prime,
    exponent: Zeroizing<Vec<u8>>,
    public: Public,
}

impl Secret {
    /// Draws one.
    pub fn generate(prime: Prime, rng: &mut impl Rng) -> Self {
        let bits = prime.exponent_bits();
        let mut exponent = Zeroizing::new(vec![0; bits.div_ceil(8) as usize]);
        rng.fill_bytes(&mut exponent);
        exponent[0] &= 0xff >> (bits.wrapping_neg() & 7);
        // An exponent of a few bits would be a broken source of chance; the highest bit set costs one bit of it.
        exponent[0] |= 0x80 >> (bits.wrapping_neg() & 7);
        Self::from_exponent(prime, exponent)
    }

    fn from_exponent(prime: Prime, exponent: Zeroizing<Vec<u8>>) -> Self {
        let bytes = power(prime, &[2], &exponent).to_vec();
        Self { prime, public: Public { prime, bytes }, exponent }
    }

    /// What the other side is told.
    #[must_use]
    pub fn public(&self) -> &Public {
        &self.public
    }

    /// What both sides know then, and nobody else.
    ///
    /// # Errors
    /// [`DiffieHellmanError::OtherPrime`].
    pub fn agree(&self, peer: &Public) -> Result<Shared, DiffieHellmanError> {
        if peer.prime != self.prime {
            return Err(DiffieHellmanError::OtherPrime { ours: self.prime, theirs: peer.prime });
        }
        Ok(Shared(power(self.prime, &peer.bytes, &self.exponent)))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("prime", &self.prime).finish_non_exhaustive()
    }
}

/// `base` to the power of `exponent`, as long as the prime. Its time tells the lengths, not the values.
fn power(prime: Prime, base: &[u8], exponent: &[u8]) -> Zeroizing<Vec<u8>> {
    let params = BoxedMontyParams::new_vartime(prime.odd());
    let base = BoxedUint::from_be_slice_truncated(base, prime.bits());
    let bits = u32::try_from(exponent.len() * 8).unwrap_or(u32::MAX);
    let mut exponent = BoxedUint::from_be_slice_truncated(exponent, bits);
    let mut form = BoxedMontyForm::new(base, &params).pow_bounded_exp(&exponent, bits);
    exponent.zeroize();
    let mut number = form.retrieve();
    form.zeroize();
    let bytes = Zeroizing::new(number.to_be_bytes().into_vec());
    number.zeroize();
    bytes
}

/// A public value that was checked: 1 < y < p - 1. Safe primes have no other elements of small order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    prime: Prime,
    bytes: Vec<u8>,
}

impl Public {
    /// Takes what the other side sent, as long as the prime, the most significant byte first.
    ///
    /// # Errors
    /// [`DiffieHellmanError`], where it has another length or would give a secret that everybody knows.
    pub fn parse(prime: Prime, bytes: &[u8]) -> Result<Self, DiffieHellmanError> {
        if bytes.len() != prime.byte_len() {
            return Err(DiffieHellmanError::Length { got: bytes.len(), want: prime.byte_len() });
        }
        let mut below = prime.to_bytes();
        // The primes are odd: their last byte is not 0, and p - 1 differs from p in it alone.
        if let Some(last) = below.last_mut() {
            *last -= 1;
        }
        let is_small = bytes[..bytes.len() - 1].iter().all(|byte| *byte == 0) && bytes[bytes.len() - 1] <= 1;
        // Big-endian numbers of one length compare as their bytes do. Public values are no secret.
        if is_small || bytes >= below.as_slice() {
            return Err(DiffieHellmanError::OutOfRange);
        }
        Ok(Self { prime, bytes: bytes.to_vec() })
    }

    /// As it is sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Under which prime.
    #[must_use]
    pub fn prime(&self) -> Prime {
        self.prime
    }
}

/// What both sides know, as long as the prime, the most significant byte first; wiped when it is dropped.
#[derive(Clone)]
pub struct Shared(Zeroizing<Vec<u8>>);

impl Shared {
    /// All of it. Its first bits are those of a number below p: use a hash, or the last bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)")
    }
}

/// Why there is no secret.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DiffieHellmanError {
    /// A public value has another length than the prime.
    #[error("a public value has {got} bytes, where the prime has {want}")]
    Length {
        /// Bytes that came.
        got: usize,
        /// Bytes of the prime.
        want: usize,
    },
    /// It is 0, 1, p - 1, or not below p.
    #[error(
        "a public value is 0, 1, p - 1 or more: whoever sent it wants a secret that everybody knows; hang up"
    )]
    OutOfRange,
    /// It belongs to another prime.
    #[error("a public value under {theirs:?}, where ours is under {ours:?}")]
    OtherPrime { ours: Prime, theirs: Prime },
}

/// Pi, shifted left by 3,966 binary places: as many as RFC 3526 takes for 4096 bits.
const PI: [u8; 496] = from_hex(
    "\
    c90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404ddef9519b3cd3a431b\
    302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7edee386bfb5a899fa5\
    ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf0598da48361c55d39a69163fa8fd24cf5f83655d23dca3ad96\
    1c62f356208552bb9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3be39e772c180e8603\
    9b2783a2ec07a28fb5c55df06f4c52c9de2bcbf6955817183995497cea956ae515d2261898fa051015728e5a8aaac42d\
    ad33170d04507a33a85521abdf1cba64ecfb850458dbef0a8aea71575d060c7db3970f85a6e1e4c7abf5ae8cdb0933d7\
    1e8c94e04a25619dcee3d2261ad2ee6bf12ffa06d98a0864d87602733ec86a64521f2b18177b200cbbe117577a615d6c\
    770988c0bad946e208e24fa074e5ab3143db5bfce0fd108e4b82d120a92108011a723c12a787e6d788719a10bdba5b26\
    99c327186af4e23c1a946834b6150bda2583e9ca2ad44ce8dbbbc2db04de8ef92e8efc141fbecaa6287c59474e6bc05d\
    99b2964fa090c3a2233ba186515be7ed1f612970cee2d7afb81bdd762170481cd0069127d5b05aa993b4ea988d8fddc1\
    86ffb7dc90a6c08f4df435c934028492",
);

/// The chain of digits of which PGPfone's primes are ends: its prime of 4096 bits.
const CHAIN: [u8; 512] = from_hex(
    "\
    f918a07e5a06617a439095dc056c8786ec61eccd451f0ed8e0a379c6c9dc7a0bace43fe34694b6304a53d77c02164880\
    b515e52999a99f0774d3ffe3a1c596204e9865b8d80dee105dabb6171c51d850ca22574329be95e8562b38785c0bdbf8\
    4c4dd5e3aa46ccfbce17e82a9d1461e384a94fd18384a879b6ef8fa7434608c6cc1d775724384ae2c4f0e88e1367974e\
    921361f6dbeb250e17fdf698f7c87c79b0721d3875fbf6c173c48311262b4360c3e3e8d60afda128260baea9aeb3650f\
    a2005301a07cd6aba3121efa0f2ace1f74844fcaf317f3a440e9d7d277b6422d0236c126cb685e9d7c98090a8d7e2ded\
    e45d79f5d4924f9b188efc2aa74b7c32f64257b7087f081772a2bad6a942f305e8f95311394fb6f16eb94b3820da01a7\
    56a314e98f4055f3d007c6cb43a994adf74c648649f80c83bd65e917d4a1d350f8f5595fdc76524f3d3d8ddbce99e157\
    9259cdfdb8ae744fc5fc76bc83c5473061ce7cc966ff15f9bbfd915ec701aad35b9e8da0a5723ad41af0bf4600582be5\
    f488fd584e49dbcd20b49de49107366b336c380d451d0f7c88b31c7c5b2d8ef6f3c923c043f0a55b188d8ebb558cb85d\
    38d334fd7c175743a31d186cde33212cb52aff3ce1b1294018118d7c84a70a72d686c40319c807297aca950cd9969fab\
    d00a509b0246d3083d66a45d419f9c7cbd894b221926baaba25ec355eb3dd617",
);

const fn from_hex<const N: usize>(text: &str) -> [u8; N] {
    let text = text.as_bytes();
    assert!(text.len() == 2 * N, "two digits are a byte");
    let mut bytes = [0; N];
    let mut index = 0;
    while index < N {
        bytes[index] = digit(text[2 * index]) << 4 | digit(text[2 * index + 1]);
        index += 1;
    }
    bytes
}

const fn digit(letter: u8) -> u8 {
    match letter {
        b'0'..=b'9' => letter - b'0',
        b'a'..=b'f' => letter - b'a' + 10,
        _ => panic!("not a hexadecimal digit"),
    }
}

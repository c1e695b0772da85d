//! Session keys out of the master key (RFC 3711, section 4.3; RFC 7714, section 11). The key derivation rate is 0:
//! they are made once.

use super::MasterKey;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes256};
use zeroize::Zeroizing;

/// What a session key is for (RFC 3711, section 4.3.2).
#[derive(Clone, Copy)]
pub(super) enum Label {
    RtpEncryption = 0,
    RtpAuthentication = 1,
    RtpSalt = 2,
    RtcpEncryption = 3,
    RtcpAuthentication = 4,
    RtcpSalt = 5,
}

/// Fills `out` with the key stream of AES in counter mode under the master key, from the salt with the label in it.
pub(super) fn derive(master: &MasterKey, label: Label, out: &mut [u8]) {
    // A salt of 12 bytes is continued with zeros (RFC 7714, section 11).
    let mut counter = Zeroizing::new([0_u8; 16]);
    counter[..master.salt().len()].copy_from_slice(master.salt());
    counter[7] ^= label as u8;
    let expect = "a master key has its profile's length";
    match master.key().len() {
        16 => fill(&Aes128::new_from_slice(master.key()).expect(expect), *counter, out),
        _ => fill(&Aes256::new_from_slice(master.key()).expect(expect), *counter, out),
    }
}

fn fill<C: BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16>>(
    cipher: &C,
    start: [u8; 16],
    out: &mut [u8],
) {
    for (number, part) in (0_u16..).zip(out.chunks_mut(16)) {
        let mut counter = start;
        counter[14..].copy_from_slice(&number.to_be_bytes());
        let mut block: Block<C> = counter.into();
        cipher.encrypt_block(&mut block);
        part.copy_from_slice(&block[..part.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Profile;
    use super::*;
    use data_encoding::HEXLOWER_PERMISSIVE;

    fn hex(text: &str) -> Vec<u8> {
        HEXLOWER_PERMISSIVE.decode(text.replace(char::is_whitespace, "").as_bytes()).unwrap()
    }

    /// RFC 3711, appendix B.3.
    #[test]
    fn gives_the_keys_of_the_rfc() {
        let key = hex("E1F97A0D3E018BE0D64FA32C06DE4139");
        let salt = hex("0EC675AD498AFEEBB6960B3AABE6");
        let master = MasterKey::new(Profile::AesCm128HmacSha1_80, &key, &salt).unwrap();
        let get = |label, length| {
            let mut out = vec![0; length];
            derive(&master, label, &mut out);
            out
        };
        assert_eq!(get(Label::RtpEncryption, 16), hex("C61E7A93744F39EE10734AFE3FF7A087"));
        assert_eq!(get(Label::RtpSalt, 14), hex("30CBBC08863D8C85D49DB34A9AE1"));
        let mut want = hex("CEBE321F6FF7716B6FD4AB49AF256A156D38BAA48F0A0ACF3C34E2359E6CDBCE");
        want.extend(hex("E049646C43D9327AD175578EF72270986371C10C9A369AC2F94A8C5FBCDDDC25"));
        want.extend(hex("6D6E919A48B610EF17C2041E47403576 6B68642C59BBFC2F34DB60DBDFB2"));
        assert_eq!(get(Label::RtpAuthentication, 94), want);
    }
}

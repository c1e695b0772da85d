use super::unpermuted::{final_permutation, initial_permutation};
use super::{BLOCK, UnpermutedDes, ZERO_IV, cbc_decrypt, cbc_encrypt, cfb_decrypt, cfb_encrypt, pad, phrase};
use blowfish::Blowfish;
use cbc::cipher::consts::U8;
use cbc::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use data_encoding::HEXLOWER_PERMISSIVE;
use des::{Des, TdesEde3};
use idea::Idea;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER_PERMISSIVE.decode(text.replace(char::is_whitespace, "").as_bytes()).unwrap()
}

fn block(text: &str) -> [u8; BLOCK] {
    hex(text).try_into().unwrap()
}

fn blocks(text: &str) -> Vec<[u8; BLOCK]> {
    hex(text).as_chunks().0.to_vec()
}

fn sentence(text: &str) -> Vec<[u8; BLOCK]> {
    let mut data = text.as_bytes().to_vec();
    pad(&mut data);
    data.as_chunks().0.to_vec()
}

fn keyed<C: KeyInit>(key: &str) -> C {
    C::new_from_slice(&hex(key)).unwrap()
}

fn check_block<C>(key: &str, plain: &str, sealed: &str)
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U8>,
{
    let cipher: C = keyed(key);
    let mut one = Array(block(plain));
    cipher.encrypt_block(&mut one);
    assert_eq!(one.0, block(sealed), "{key} {plain}");
    cipher.decrypt_block(&mut one);
    assert_eq!(one.0, block(plain), "{key} {plain}");
}

#[test]
fn the_ciphers_give_the_published_blocks() {
    // Schneier's and Young's for Blowfish; Lai's for IDEA; NBS 500-20 and NIST 800-20 for DES.
    check_block::<Blowfish>("0000000000000000", "0000000000000000", "4EF997456198DD78");
    check_block::<Blowfish>("0123456789ABCDEF", "1111111111111111", "61F9C3802281B096");
    check_block::<Blowfish>("FEDCBA9876543210", "0123456789ABCDEF", "0ACEAB0FC6A0A28D");
    check_block::<Idea>("00010002000300040005000600070008", "0000000100020003", "11FBED2B01986DE5");
    check_block::<Des>("133457799BBCDFF1", "0123456789ABCDEF", "85E813540F0AB405");
    check_block::<Des>("0101010101010101", "8000000000000000", "95F8A5E5DD31D900");
    let key = "0123456789ABCDEF23456789ABCDEF01456789ABCDEF0123";
    check_block::<TdesEde3>(key, "5468652071756663", "A826FD8CE53B855F");
}

#[test]
fn chaining_and_feedback_give_the_published_texts() {
    // FIPS 81, tables C1 and D3.
    let des: Des = keyed("0123456789ABCDEF");
    let iv = block("1234567890ABCDEF");
    let text = sentence("Now is the time for all ");
    let mut chained = text.clone();
    cbc_encrypt(&des, iv, &mut chained);
    assert_eq!(chained, blocks("E5C7CDDE872BF27C43E934008C389C0F683788499A7C05F6"));
    cbc_decrypt(&des, iv, &mut chained);
    assert_eq!(chained, text);
    let mut fed = text.clone();
    cfb_encrypt(&des, iv, &mut fed);
    assert_eq!(fed, blocks("F3096249C7F46E51A69E839B1A92F78403467133898EA622"));
    cfb_decrypt(&des, iv, &mut fed);
    assert_eq!(fed, text);
    // Young's for Blowfish; his text ends with one zero byte within the last block.
    let blowfish: Blowfish = keyed("0123456789ABCDEFF0E1D2C3B4A59687");
    let iv = block("FEDCBA9876543210");
    let mut chained = sentence("7654321 Now is the time for ");
    let mut fed = chained.clone();
    cbc_encrypt(&blowfish, iv, &mut chained);
    assert_eq!(chained, blocks("6B77B4D63006DEE605B156E27403979358DEB9E7154616D959F1652BD5FF92CC"));
    cfb_encrypt(&blowfish, iv, &mut fed);
    assert_eq!(fed[..3], blocks("E73214A2822139CAF26ECF6D2EB9E76E3DA3DE04D1517200"));
    assert_eq!(fed[3][..5], hex("519D57A6C3"), "the published text ends here");
    // The IDEA vectors of SSLeay.
    let idea: Idea = keyed("E1F0C3D2A5B4879669784B5A2D3C0F1E");
    let mut fed = sentence("Now is the time for all ");
    cfb_encrypt(&idea, block("34127856AB90EFCD"), &mut fed);
    assert_eq!(fed, blocks("59D8E26500586C3F2C1725D01A38B72A396137DC79FB9F45"));
}

/// FIPS 46-3: bit `place` of the output is bit `IP[place]` of the input, from 1, highest first.
fn permuted_by_table(input: [u8; BLOCK]) -> [u8; BLOCK] {
    let input = u64::from_be_bytes(input);
    let mut output = 0;
    for first in [58, 60, 62, 64, 57, 59, 61, 63] {
        for row in 0..8 {
            output = output << 1 | (input >> (64 - (first - 8 * row))) & 1;
        }
    }
    u64::to_be_bytes(output)
}

proptest! {
    #[test]
    fn the_permutations_are_those_of_the_standard(input: [u8; BLOCK]) {
        prop_assert_eq!(initial_permutation(input), permuted_by_table(input));
        prop_assert_eq!(final_permutation(initial_permutation(input)), input);
    }

    #[test]
    fn what_is_encrypted_is_decrypted(key: [u8; 16], text: Vec<[u8; BLOCK]>) {
        let (blowfish, idea) = (Blowfish::new_from_slice(&key).unwrap(), Idea::new(&key.into()));
        let mut worked = text.clone();
        cbc_encrypt::<Blowfish>(&blowfish, ZERO_IV, &mut worked);
        cbc_decrypt(&blowfish, ZERO_IV, &mut worked);
        prop_assert_eq!(&worked, &text);
        cfb_encrypt(&idea, ZERO_IV, &mut worked);
        cfb_decrypt(&idea, ZERO_IV, &mut worked);
        prop_assert_eq!(&worked, &text);
        let des = UnpermutedDes::new(key.first_chunk().unwrap());
        des.encrypt(&mut worked);
        des.decrypt(&mut worked);
        prop_assert_eq!(&worked, &text);
    }

    #[test]
    fn the_chain_without_permutations_is_rounds_and_xor(key: [u8; BLOCK], text: [[u8; BLOCK]; 3]) {
        // One block alone is sixteen rounds; by them the chain is made anew, as the tool's source does it.
        let des = UnpermutedDes::new(&key);
        let mut by_hand = text;
        for index in 0..3 {
            if index > 0 {
                let before = by_hand[index - 1];
                by_hand[index].iter_mut().zip(before).for_each(|(byte, other)| *byte ^= other);
            }
            des.encrypt(&mut by_hand[index..=index]);
        }
        let mut chained = text;
        des.encrypt(&mut chained);
        prop_assert_eq!(chained, by_hand);
    }
}

#[test]
fn sixteen_rounds_alone_give_the_known_halves() {
    // The worked example by Grabbe, "The DES Algorithm Illustrated": IP(M), and R16 L16.
    let mut one = [block("CC00CCFFF0AAF0AA")];
    UnpermutedDes::new(&block("133457799BBCDFF1")).encrypt(&mut one);
    assert_eq!(one, [block("0A4CD99543423234")]);
}

#[test]
fn a_phrase_becomes_the_keys_of_the_tool() {
    // MD5("abc") = 900150983CD24FB0 D6963F7D28E17F72 (RFC 1321).
    assert_eq!(phrase::digest("abc")[..], hex("900150983CD24FB0D6963F7D28E17F72"));
    // XOR of the halves is 46976FE5143330C2; the highest bit of each byte goes.
    assert_eq!(phrase::folded("abc")[..], hex("46176F6514333042"));
    // The first 56 bits by sevens are 48 00 2A 09 41 73 24, and 0F of the last; then parity takes the lowest bit.
    assert_eq!(phrase::rtp("abc")[..], hex("49012A084073250E"));
}

#[test]
fn a_phrase_in_rtp_mode_is_read_without_case_and_outer_spaces() {
    assert_eq!(phrase::rtp("  Two \t Words "), phrase::rtp("two words"));
    assert_ne!(phrase::rtp("twowords"), phrase::rtp("two words"));
    assert_ne!(phrase::folded("Two"), phrase::folded("two"), "its own protocol knows case");
}

#[test]
fn only_48_bits_of_the_folded_key_and_45_of_the_other_matter() {
    let (mut ones, mut zeros) = ([0_u8; 8], [0xff_u8; 8]);
    let (mut rtp_ones, mut rtp_zeros) = (ones, zeros);
    for number in 0..1_000 {
        let words = format!("{number}");
        for index in 0..8 {
            ones[index] |= phrase::folded(&words)[index];
            zeros[index] &= phrase::folded(&words)[index];
            rtp_ones[index] |= phrase::rtp(&words)[index] & 0xfe;
            rtp_zeros[index] &= phrase::rtp(&words)[index] & 0xfe;
        }
    }
    // The lowest bit of a byte of a DES key is parity, and not used.
    let varying = |ones: [u8; 8], zeros: [u8; 8]| -> u32 {
        ones.iter().zip(zeros).map(|(one, zero)| ((one & !zero) & 0xfe).count_ones()).sum()
    };
    assert_eq!(varying(ones, zeros), 48);
    assert_eq!(varying(rtp_ones, rtp_zeros), 45);
}

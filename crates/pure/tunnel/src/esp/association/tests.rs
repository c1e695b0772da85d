//! Packets that no honest sender makes, sealed with the right keys.

use super::*;
use crate::esp::DropKind;
use data_encoding::HEXLOWER_PERMISSIVE;

fn parameters(suite: Suite) -> SaParameters {
    let encryption: Vec<u8> = (1..).take(suite.encryption_key_len()).collect();
    let authentication: Vec<u8> = (1..).take(suite.authentication_key_len()).collect();
    SaParameters {
        spi: 0x1234_5678,
        keys: Keys::new(suite, &encryption, &authentication).unwrap(),
        extended_sequence: false,
        lifetime: Lifetime::default(),
        packet_len_max: PACKET_LEN_MAX,
    }
}

/// Seals exactly that text: payload, padding, pad length, next header.
fn sealed(parameters: &SaParameters, sequence: u8, text: &[u8]) -> Vec<u8> {
    let suite = parameters.keys.suite();
    let text_start = suite.payload_offset();
    let text_end = text_start + text.len();
    let mut packet = vec![0; text_end + suite.icv_len()];
    packet[..4].copy_from_slice(&parameters.spi.to_be_bytes());
    packet[7] = sequence;
    packet[text_start..text_end].copy_from_slice(text);
    Cipher::new(&parameters.keys).seal(&mut packet, Layout { text_start, text_end }, None);
    packet
}

#[test]
fn padding_has_to_count_and_to_fit() {
    for suite in Suite::ALL {
        let parameters = parameters(suite);
        let mut receiver = InboundSa::new(&parameters, 64);
        let with = |end: &[u8]| [vec![7; 16 - end.len()], end.to_vec()].concat();
        #[rustfmt::skip]
        let cases = [
            (with(&[0, 4]),                Ok(14)),
            (with(&[1, 1, 4]),             Ok(13)),
            (with(&[1, 2, 3, 3, 4]),       Ok(11)),
            (with(&[0, 1, 4]),             Err(())),
            (with(&[2, 1, 4]),             Err(())),
            (with(&[1, 2, 2, 3, 4]),       Err(())),
            (with(&[1, 2, 4, 3, 4]),       Err(())),
            (with(&[3, 2, 1, 3, 4]),       Err(())),
            (with(&[14, 4]),               Err(())),
            (with(&[15, 4]),               Err(())),
            (with(&[255, 4]),              Err(())),
            ((1..=14).chain([14, 4]).collect(), Ok(0)),
        ];
        for (sequence, (text, want)) in (1..).zip(cases) {
            let opened = receiver.open(&mut sealed(&parameters, sequence, &text));
            match want {
                Ok(length) => assert_eq!(opened.unwrap().payload.len(), length, "{suite} {text:?}"),
                Err(()) => assert_eq!(opened.unwrap_err().kind(), DropKind::WrongPad, "{suite} {text:?}"),
            }
            // Whatever its padding, it was authentic, and does not come twice.
            let again = receiver.open(&mut sealed(&parameters, sequence, &text));
            assert_eq!(again.unwrap_err().kind(), DropKind::Replayed);
        }
    }
}

#[test]
fn the_longest_padding_is_understood() {
    for suite in Suite::ALL {
        let parameters = parameters(suite);
        let text: Vec<u8> = [vec![7; 15], (1..=255).collect(), vec![255, 4]].concat();
        let opened = InboundSa::new(&parameters, 64).open(&mut sealed(&parameters, 1, &text));
        assert_eq!(opened.unwrap().payload.len(), 15);
    }
}

#[test]
fn the_upper_half_is_authenticated_as_the_vector_says() {
    // draft-mcgrew-gcm-test-01, the first case: sequence number 0x8765432100000000.
    let keys =
        [0x4c80_cdef_bb5d_10da_906a_c73c_3613_a634_u128.to_be_bytes().to_vec(), vec![0x2e, 0x44, 0x3b, 0x68]];
    let keys = Keys::new(Suite::Aes128Gcm, &keys.concat(), &[]).unwrap();
    let mut packet = hex(
        "00004321 00000000 4956ed7e3b244cfe fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34\
         cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732\
         459018148f6cbe722fd04796562dfdb4",
    );
    let layout = Layout { text_start: 16, text_end: packet.len() - 16 };
    let cipher = Cipher::new(&keys);
    assert!(cipher.open(&mut packet.clone(), layout, Some(0x8765_4320)).is_err());
    assert!(cipher.open(&mut packet.clone(), layout, None).is_err());
    cipher.open(&mut packet, layout, Some(0x8765_4321)).unwrap();
    let want = hex(
        "45000048699a000080114db7c0a80102c0a801010a9bf15638d301000001000000000000045f736970045f75647003736970\
         0963796265726369747902646b000021000101020201",
    );
    assert_eq!(packet[16..layout.text_end], want);
}

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER_PERMISSIVE.decode(text.replace(char::is_whitespace, "").as_bytes()).unwrap()
}

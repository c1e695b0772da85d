//! What packets grow by: the papers' sums, the table, and packets that were really sealed.

use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::{
    Mode, PAPER_A_VOICE, PAPER_B_AS_COMPUTED, PAPER_B_BY_RFC, Padding, layers, paper_b_layers, table, total,
    wireguard_layers,
};

use crate::support::{inner_packet, keys, seal_whole};

#[test]
fn a_voice_packet_leaves_as_paper_a_says() {
    // Paper A, section 6, in its words and order.
    let (voice, want) = PAPER_A_VOICE;
    let mut bytes = voice;
    for (what, more, sum) in [("PPP", 4, 64), ("L2TP", 8, 72), ("UDP", 8, 80), ("ESP trailer", 2, 82)] {
        bytes += more;
        assert_eq!(bytes, sum, "{what}");
    }
    bytes = bytes.next_multiple_of(16);
    assert_eq!(bytes, 96, "padded to blocks of AES");
    for (what, more, sum) in [
        ("vector", 16, 112),
        ("sequence number", 4, 116),
        ("index", 4, 120),
        ("check value", 12, 132),
        ("IP", 20, 152),
    ] {
        bytes += more;
        assert_eq!(bytes, sum, "{what}");
    }
    assert_eq!(bytes, want);

    let suite = Suite::Aes128CbcHmacMd5;
    let named: Vec<_> = layers(suite, Mode::L2tp, Encapsulation::Raw, voice)
        .into_iter()
        .map(|layer| (layer.name, layer.len))
        .collect();
    #[rustfmt::skip]
    assert_eq!(named, [
        ("IP", 20), ("ESP index", 4), ("ESP sequence number", 4), ("ESP vector", 16), ("UDP", 8), ("L2TP", 8), ("PPP", 4),
        ("packet", 60), ("ESP padding", 14), ("ESP trailer", 2), ("ESP check value", 12),
    ]);

    let sealed = seal_whole(&keys(suite), Mode::L2tp, Encapsulation::Raw, false, 1, &inner_packet(4, voice));
    assert_eq!(sealed.len(), want, "and so does a packet that was really sealed");
}

#[test]
fn paper_b_is_one_vector_short_of_the_rfc() {
    for ((packet, as_computed), (same, by_rfc)) in PAPER_B_AS_COMPUTED.into_iter().zip(PAPER_B_BY_RFC) {
        assert_eq!(packet, same);
        let suite = Suite::TripleDesCbcHmacSha1;
        assert_eq!(total(&layers(suite, Mode::Tunnel, Encapsulation::Raw, packet)), by_rfc);
        assert_eq!(total(&paper_b_layers(packet)), as_computed);
        assert_eq!(by_rfc - as_computed, suite.iv_len());
        let sealed =
            seal_whole(&keys(suite), Mode::Tunnel, Encapsulation::Raw, false, 1, &inner_packet(4, packet));
        assert_eq!(sealed.len(), by_rfc);
    }
}

#[test]
fn a_voice_packet_in_wireguard_is_124_bytes_padded_and_120_unpadded() {
    assert_eq!(total(&wireguard_layers(60, Padding::Sixteen)), 124);
    assert_eq!(total(&wireguard_layers(60, Padding::Nothing)), 120);
}

#[test]
fn every_length_in_the_table_is_that_of_a_sealed_packet() {
    for suite in Suite::ALL {
        for mode in Mode::ALL {
            for encapsulation in Encapsulation::ALL {
                for length in (28..300).chain([1_280, 1_400]) {
                    let sealed =
                        seal_whole(&keys(suite), mode, encapsulation, false, 1, &inner_packet(4, length));
                    let layers = layers(suite, mode, encapsulation, length);
                    assert_eq!(total(&layers), sealed.len(), "{suite} {mode:?} {encapsulation:?} {length}");
                }
            }
        }
    }
}

#[test]
fn the_table_is_this() {
    let mut text = String::new();
    for row in table(&[60, 200, 1_400]) {
        let [voice, large_voice, full] = row.wire_lens.try_into().unwrap();
        let (suite, mode, encapsulation) = (row.suite, row.mode, row.encapsulation);
        text += &format!("{suite:<24} {mode:<9} {encapsulation:<3} {voice:>4} {large_voice:>4} {full:>5}\n");
    }
    assert_eq!(text, include_str!("overhead.txt"), "\n{text}");
}

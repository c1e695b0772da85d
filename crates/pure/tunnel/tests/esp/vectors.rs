//! ESP packets that were published: draft-mcgrew-gcm-test-01, section 4 (for RFC 4106), and RFC 7634, appendix A.

use data_encoding::HEXLOWER_PERMISSIVE;
use guestright_tunnel::esp::{InboundSa, Keys, Lifetime, PACKET_LEN_MAX, SaParameters, Suite};

struct Vector {
    suite: Suite,
    extended: bool,
    /// The key, and the salt behind it.
    key: &'static str,
    spi: u32,
    sequence: u64,
    /// Vector, encrypted part, check value.
    rest: &'static str,
    payload: &'static str,
    next_header: u8,
}

const VECTORS: [Vector; 7] = [
    Vector {
        suite: Suite::Aes128Gcm,
        extended: false,
        key: "feffe9928665731c6d6a8f9467308308 cafebabe",
        spi: 0xa5f8,
        sequence: 10,
        rest: "facedbaddecaf888 deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c\
               3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd1 83b70d3aa8bc6ee4c309e9d85a41ad4a",
        payload: "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d0010000010000000000000373697009\
                  63796265726369747902646b0000010001",
        next_header: 1,
    },
    Vector {
        suite: Suite::Aes256Gcm,
        extended: false,
        key: "abbccddef00112233445566778899aababbccddef00112233445566778899aab 11223344",
        spi: 0x4a2c_bfe3,
        sequence: 2,
        rest: "0102030405060708 ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763\
               748a637985771d347f0545659f14e99def842d8e b335f4eecfdbf831824b4c4915956c96",
        payload: "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000020405b401010402",
        next_header: 1,
    },
    Vector {
        suite: Suite::Aes128Gcm,
        extended: false,
        key: "00000000000000000000000000000000 00000000",
        spi: 0,
        sequence: 1,
        rest: "0000000000000000 4688daf2f973a392732909c331d56d60f694abaa414b5e7ff5fdcdfff5e9a284456476492719ffb6\
               4de7d9dca1e1d894bc3bd57873ed4d181d19d4d5c8c18af3 f821d496eeb096e98ad2b69e4799c71d",
        payload: "4500003c99c500008001cb7a40679318010101010800075c020044006162636465666768696a6b6c6d6e6f7071727374\
                  757677616263646566676869",
        next_header: 1,
    },
    Vector {
        suite: Suite::Aes128Gcm,
        extended: false,
        key: "7d773d00c144c525ac619d18c84a3f47 d9664267",
        spi: 0x3354_67ae,
        sequence: 0xffff_ffff,
        rest: "43457e9182443bc6 437f866b cb3f699fe9b0822bac961c4504bef270",
        payload: "",
        next_header: 1,
    },
    Vector {
        suite: Suite::Aes128Gcm,
        extended: true,
        key: "abbccddef00112233445566778899aab decaf888",
        spi: 0x100,
        sequence: 1,
        rest: "cafedebaceface74 18a6fd42f72cbf4ab2a2ea901f73d814e3e7f243d95412e1c349c1d2fbec168f9190feebaf2cb019\
               84e65863965d7472b79da345e0e780191f0d2f0e0f496c226f2127b27db35724e7845d68 651f57e65f354f75ff17015769623436",
        payload: "4500004933ba00007f119106c3fb1d10c2b1d326c02831ce0035dd7b800302d500004e20001e8c18d75b81dc91baa047\
                  6b91b924b280389d92c963bac046ec959b6266c04722b14923",
        next_header: 1,
    },
    Vector {
        suite: Suite::Aes128Gcm,
        extended: true,
        key: "abbccddef00112233445566778899aab decaf888",
        spi: 0x100,
        sequence: 1,
        rest: "cafedebaceface74 29c9fc69a197d038ccdd14e2ddfcaa0543332164 412503524303ed3c6c5f283843af8c3e",
        payload: "746f016265016f72016e6f7401746f016265",
        next_header: 1,
    },
    Vector {
        suite: Suite::ChaCha20Poly1305,
        extended: false,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f a0a1a2a3",
        spi: 0x0102_0304,
        sequence: 5,
        rest: "1011121314151617 24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c614ee8099d52844eb\
               61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da9165b82829f641e0 \
               76aaa8266b7fb0f7b11b369907e1ad43",
        payload: "45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec100007362708090a0b0c0d0e0f10111213\
                  1415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
        next_header: 4,
    },
];

#[test]
fn published_packets_are_opened() {
    for (number, vector) in VECTORS.iter().enumerate() {
        let parameters = SaParameters {
            spi: vector.spi,
            keys: Keys::new(vector.suite, &hex(vector.key), &[]).unwrap(),
            extended_sequence: vector.extended,
            lifetime: Lifetime::default(),
            packet_len_max: PACKET_LEN_MAX,
        };
        let mut packet = vector.spi.to_be_bytes().to_vec();
        packet.extend_from_slice(&vector.sequence.to_be_bytes()[4..]);
        packet.extend(hex(vector.rest));
        let mut wrong = packet.clone();
        *wrong.last_mut().unwrap() ^= 1;
        let mut receiver = InboundSa::new(&parameters, 1024);
        assert!(receiver.open(&mut wrong).is_err(), "vector {number}");
        let opened = receiver.open(&mut packet).unwrap_or_else(|error| panic!("vector {number}: {error}"));
        assert_eq!(packet[opened.payload], hex(vector.payload), "vector {number}");
        assert_eq!((opened.next_header, opened.sequence), (vector.next_header, vector.sequence));
    }
}

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER_PERMISSIVE.decode(text.replace(char::is_whitespace, "").as_bytes()).expect("digits")
}

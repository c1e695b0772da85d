//! Mutations of the test vectors, with what this program says of each: for another implementation to say the same.
//!
//! Most changed bytes are refused at the first thing that is wrong. To get further, what a known key has signed is also
//! changed inside and signed anew, and messages are changed by lines and words.

use crate::actors::{CONSUMER, NOW, PROVIDER};
use crate::canonical::{head, integer, string};
use crate::negative::sign;
use crate::objects::renewed;
use crate::{files, hex, refusal, unhex};
use ciborium::Value as Cbor;
use guestright_identity::{Certificate, SecretKey, cose};
use guestright_roaming::Message;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// Bytes as what they are to be read.
#[derive(Clone, Debug)]
struct Base {
    name: String,
    object: &'static str,
    bytes: Vec<u8>,
    /// The certificate under which they are read, if they are.
    certificate: Option<Vec<u8>>,
    /// The COSE algorithm of a key.
    algorithm: Option<i64>,
}

/// `count` cases, always the same ones. `legacy` is the file of the suites that no generator can make again.
///
/// # Panics
/// If `legacy` is another file.
pub fn mutations(count: usize, legacy: &Value) -> Value {
    let mut rng = StdRng::seed_from_u64(17);
    let bases = bases(legacy);
    let objects = [
        ("key", 6),
        ("certificate", 20),
        ("revocation list", 10),
        ("delegation", 10),
        ("receipt", 20),
        ("acknowledgement", 10),
        ("bundle", 6),
        ("message", 30),
        ("terms", 4),
        ("hold message", 8),
    ];
    let words: Vec<String> = bases.iter().filter(|base| base.object == "message").flat_map(values).collect();
    let mut cases: Vec<Value> = of_small_order().iter().map(|base| case(base, "as it is")).collect();
    while cases.len() < count {
        let Ok((object, _)) = objects.choose_weighted(&mut rng, |(_, weight)| *weight) else { continue };
        let of_object: Vec<&Base> = bases.iter().filter(|base| base.object == *object).collect();
        let Some(base) = of_object.choose(&mut rng) else { continue };
        let mut base = (*base).clone();
        if base.certificate.is_some() && rng.random_ratio(1, 12) {
            base.certificate =
                Some(certificates().choose(&mut rng).expect("there are some").as_bytes().to_vec());
        }
        let how = if base.object == "message" && rng.random_ratio(4, 5) {
            base.bytes = changed_text(&base.bytes, &words, &mut rng);
            "changed words"
        } else if let Some(bytes) = changed_and_signed(&base, &mut rng).filter(|_| rng.random_ratio(2, 3)) {
            base.bytes = bytes;
            "signed anew"
        } else if rng.random_ratio(1, 40) {
            "as it is"
        } else {
            changed_bytes(&mut base.bytes, &mut rng);
            "changed bytes"
        };
        cases.push(case(&base, how));
    }
    json!({ "now": NOW.0, "legacy_suites": cfg!(feature = "legacy-suites"), "cases": cases })
}

fn case(base: &Base, how: &str) -> Value {
    let mut case = json!({
        "name": format!("{}, {how}", base.name),
        "object": base.object,
        "bytes": hex(&base.bytes),
    });
    if let Some(certificate) = &base.certificate {
        case["certificate"] = json!(hex(certificate));
    }
    if let Some(algorithm) = base.algorithm {
        case["algorithm"] = json!(algorithm);
    }
    case["verdict"] = json!(refusal(&case));
    if base.object == "message"
        && let Ok(message) = Message::parse(&base.bytes)
    {
        case["again"] = json!(hex(&message.emit()));
    }
    case
}

/// Every vector that is read: those that hold, and those that are refused.
fn bases(legacy: &Value) -> Vec<Base> {
    let mut bases = Vec::new();
    let mut add = |list: &Value, object: &'static str, field: &str| {
        for vector in list.as_array().expect("a list of vectors") {
            let certificate = vector.get("certificate").filter(|found| found.is_string());
            bases.push(Base {
                name: vector["name"].as_str().unwrap_or(object).to_owned(),
                object: vector.get("object").and_then(Value::as_str).map_or(object, known_object),
                bytes: super::field(vector, field),
                certificate: certificate.map(|_| super::field(vector, "certificate")),
                algorithm: vector["algorithm"].as_i64(),
            });
        }
    };
    // Several times, since few changes pass the form and meet a limit.
    let renewed = std::iter::repeat_n(renewed(), 6).flatten();
    let renewed = renewed.map(|it| json!({ "name": "renewed", "encoded": hex(it.as_bytes()) }));
    add(&renewed.collect(), "certificate", "encoded");
    for (name, file) in files() {
        match name {
            "keys.json" => add(&file["keys"], "key", "public"),
            "certificates.json" => add(&file["certificates"], "certificate", "encoded"),
            "revocations.json" => add(&file["revocations"], "revocation list", "encoded"),
            "delegations.json" => add(&file["delegations"], "delegation", "encoded"),
            "receipts.json" => add(&file["receipts"], "receipt", "encoded"),
            "bundles.json" => add(&file["bundles"], "bundle", "encoded"),
            "acknowledgements.json" => add(&file["acknowledgements"], "acknowledgement", "encoded"),
            "messages.json" => add(&file["messages"], "message", "bytes"),
            "holds.json" => {
                add(&file["terms"], "terms", "encoded");
                add(&file["messages"], "hold message", "encoded");
            }
            "negative.json" => add(&file["refused"], "", "bytes"),
            other => panic!("nothing reads {other}"),
        }
    }
    for suite in legacy["suites"].as_array().expect("a list of suites") {
        add(&json!([suite["team"], suite["member"]]), "key", "public");
        add(&json!([suite["certificate"]]), "certificate", "encoded");
        // Without these suites there is no certificate to read the receipt under.
        if cfg!(feature = "legacy-suites") {
            add(&json!([suite["receipt"]]), "receipt", "encoded");
        }
    }
    bases
}

fn known_object(name: &str) -> &'static str {
    let objects = [
        "key",
        "certificate",
        "revocation list",
        "delegation",
        "receipt",
        "acknowledgement",
        "bundle",
        "message",
        "terms",
        "hold message",
    ];
    objects
        .into_iter()
        .find(|object| *object == name)
        .unwrap_or_else(|| panic!("there is no object {name:?}"))
}

fn secrets() -> [&'static SecretKey; 8] {
    let of = |household: &'static crate::actors::Household| {
        [&household.team, &household.member.0, &household.access_point.0, &household.home.0]
    };
    let ([a, b, c, d], [e, f, g, h]) = (of(&CONSUMER), of(&PROVIDER));
    [a, b, c, d, e, f, g, h]
}

fn certificates() -> [&'static Certificate; 6] {
    let of = |household: &'static crate::actors::Household| {
        [&household.member.1, &household.access_point.1, &household.home.1]
    };
    let ([a, b, c], [d, e, f]) = (of(&CONSUMER), of(&PROVIDER));
    [a, b, c, d, e, f]
}

/// Certificates of a team whose key is a point of small order: under ZIP 215 anybody can sign for it, in more than one
/// encoding of the same points.
fn of_small_order() -> Vec<Base> {
    let plain = |first: u8| [vec![first], vec![0; 31]].concat();
    // y = 1 as p + 1; y = 1 with the sign of a zero; y = −1; a point of order 8 (as in ZIP 215's test vectors); y = 2,
    // which is no point.
    let over = [vec![0xee], vec![0xff; 30], vec![0x7f]].concat();
    let signed = [vec![1], vec![0; 30], vec![0x80]].concat();
    let minus = [vec![0xec], vec![0xff; 30], vec![0x7f]].concat();
    let eighth = unhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a");
    let points = [plain(1), plain(0), over, signed, minus, eighth, plain(2)];
    let mut bases = Vec::new();
    for team in &points {
        for r in &points {
            let items = vec![
                Cbor::from(1),
                Cbor::Bytes(team.clone()),
                Cbor::from(-19),
                Cbor::Bytes(CONSUMER.member.0.public().as_bytes().to_vec()),
                Cbor::from(0),
                Cbor::from(u64::MAX),
            ];
            let parts = [
                head(4, 4),
                string(&[&[0xa1, 0x01][..], &integer(-19)].concat()),
                head(5, 0),
                string(&cose::encode(items)),
                string(&[&r[..], &[0; 32]].concat()),
            ];
            bases.push(Base {
                name: format!("team {}, R {}", hex(&team[..1]), hex(&r[..1])),
                object: "certificate",
                bytes: parts.concat(),
                certificate: None,
                algorithm: None,
            });
        }
    }
    bases
}

/// The object with other content, signed by who signed it.
fn changed_and_signed(base: &Base, rng: &mut StdRng) -> Option<Vec<u8>> {
    let sealed = cose::open(&base.bytes, base.bytes.len());
    let domain = match base.object {
        "certificate" if sealed.as_ref().is_ok_and(|sealed| sealed.items.len() == 4) => "renewal",
        "certificate" => "certificate",
        "revocation list" => "revocation",
        "delegation" => "delegation",
        "receipt" => "receipt",
        "acknowledgement" => "acknowledgement",
        "bundle" | "terms" | "hold message" => {
            let mut items = cose::decode(&base.bytes).ok()?;
            change_items(&mut items, rng);
            return Some(cose::encode(items));
        }
        _ => return None,
    };
    let certificate = base.certificate.as_ref().and_then(|bytes| Certificate::parse(bytes).ok());
    let context = certificate.map(|certificate| certificate.digest().to_vec()).unwrap_or_default();
    let sealed = sealed.ok()?;
    let is_signer = |key: &&SecretKey| {
        sealed.claim(key.public(), domain, &context).is_ok_and(|claim| claim.verify().is_ok())
    };
    let key = secrets().into_iter().find(is_signer)?;
    let mut items = sealed.items.clone();
    let mut protected = [&[0xa1, 0x01][..], &integer(sealed.suite.algorithm())].concat();
    if rng.random_ratio(4, 5) {
        change_items(&mut items, rng);
    }
    let mut payload = cose::encode(items);
    if rng.random_ratio(1, 5) {
        changed_bytes(&mut payload, rng);
    }
    if rng.random_ratio(1, 12) {
        let algorithm = *[-19, -9, -8, -7, -65_601, -65_604, 0, i64::MIN, i64::MAX].choose(rng)?;
        protected = [&[0xa1, 0x01][..], &integer(algorithm)].concat();
    }
    if rng.random_ratio(1, 12) {
        changed_bytes(&mut protected, rng);
    }
    Some(sign(key, domain, &context, &protected, &payload).concat())
}

/// Changes one item, at the outside or within an array.
fn change_items(items: &mut Vec<Cbor>, rng: &mut StdRng) {
    let others = items.clone();
    if items.is_empty() || rng.random_ratio(1, 10) {
        items.push(odd_item(&others, rng));
        return;
    }
    let index = rng.random_range(0..items.len());
    match rng.random_range(0..10) {
        0 => drop(items.remove(index)),
        1 => items.insert(index, others[index].clone()),
        2 => items.swap(index, 0),
        3..6 if items[index].is_array() => {
            if let Cbor::Array(within) = &mut items[index] {
                change_items(within, rng);
            }
        }
        3..6 => {
            if let Some(number) = items[index].as_integer().map(i128::from) {
                let step = *[-1, 1, -600, 601, 86_400, -400 * 86_400].choose(rng).expect("some");
                let number = (number + step).clamp(i64::MIN.into(), u64::MAX.into());
                items[index] = Cbor::Integer(number.try_into().expect("64 bits and a sign"));
            } else if let Cbor::Bytes(bytes) = &mut items[index] {
                changed_bytes(bytes, rng);
            }
        }
        _ => items[index] = odd_item(&others, rng),
    }
}

fn odd_item(others: &[Cbor], rng: &mut StdRng) -> Cbor {
    let numbers =
        [0, 1, 2, 3, 4, 5, 6, 23, 24, 255, 256, 65_535, 65_536, NOW.0, NOW.0 + 600, NOW.0 + 601, u64::MAX];
    let negative = [-1, -9, -19, -8, -25, -65_601, -65_603, i64::MIN];
    match rng.random_range(0..7) {
        0 => Cbor::from(*numbers.choose(rng).expect("some")),
        1 => Cbor::from(*negative.choose(rng).expect("some")),
        2 => Cbor::Bytes(vec![7; *[0, 15, 16, 17, 23, 24, 25, 31, 32, 33].choose(rng).expect("some")]),
        3 => Cbor::Text((*["", "own", "high", "highest", "member"].choose(rng).expect("some")).to_owned()),
        4 => Cbor::Array(vec![Cbor::from(1); rng.random_range(0..70)]),
        5 => {
            let id = |number: u8| Cbor::Bytes(vec![number; 24]);
            Cbor::Array((0..rng.random_range(0..70)).map(|number| id(number % 66)).collect())
        }
        _ => others.choose(rng).cloned().unwrap_or(Cbor::from(0)),
    }
}

/// Changes bytes here and there, the length too.
fn changed_bytes(bytes: &mut Vec<u8>, rng: &mut StdRng) {
    const ODD: [u8; 20] = [
        0x00, 0x17, 0x18, 0x1b, 0x1f, 0x20, 0x40, 0x58, 0x5f, 0x60, 0x80, 0x84, 0x9f, 0xa0, 0xa1, 0xc0, 0xf6,
        0xf9, 0xff, b'\n',
    ];
    for _ in 0..rng.random_range(1..3) {
        let length = bytes.len();
        let at = rng.random_range(0..=length);
        let end = (at + rng.random_range(1..5)).min(length);
        match rng.random_range(0..9) {
            0 | 1 if at < length => bytes[at] ^= 1 << rng.random_range(0..8),
            2 if at < length => bytes[at] = rng.random(),
            3 if at < length => bytes[at] = *ODD.choose(rng).expect("some"),
            4 if at < length => bytes[at] = bytes[at].wrapping_add(*[1, 255].choose(rng).expect("some")),
            5 => drop(bytes.drain(at..end)),
            6 => bytes.insert(at, *ODD.choose(rng).expect("some")),
            7 => bytes.truncate(at),
            _ => {
                let copy = bytes[at..end].to_vec();
                bytes.extend(copy);
            }
        }
    }
}

/// The values of a message's headers.
fn values(base: &Base) -> Vec<String> {
    let text = String::from_utf8_lossy(&base.bytes).into_owned();
    let value = |line: &str| line.split_once(": ").map(|(_, value)| value.to_owned());
    text.split("\r\n")
        .filter_map(value)
        .filter(|value| value.bytes().all(|byte| byte.is_ascii_graphic()))
        .collect()
}

/// Changes a message by its lines and the words in them.
fn changed_text(bytes: &[u8], words: &[String], rng: &mut StdRng) -> Vec<u8> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let mut body = body.get(4..).unwrap_or_default().to_vec();
    let text = String::from_utf8_lossy(head).into_owned();
    let mut lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
    for _ in 0..rng.random_range(usize::from(body.is_empty())..3) {
        change_lines(&mut lines, words, rng);
    }
    if !body.is_empty() && rng.random_ratio(1, 3) {
        changed_bytes(&mut body, rng);
        if rng.random() {
            lines.retain(|line| !line.starts_with("Content-Length: "));
            lines.push(format!("Content-Length: {}", body.len()));
        }
    }
    [lines.join("\r\n").as_bytes(), b"\r\n\r\n", &body].concat()
}

fn change_lines(lines: &mut Vec<String>, words: &[String], rng: &mut StdRng) {
    const METHODS: [&str; 10] =
        ["CONN", "CACK", "RREQ", "RCPT", "QUER", "QRSP", "UPDT", "ERRO", "conn", "HELO"];
    const NAMES: [&str; 26] = [
        "Session-Started",
        "Weight",
        "Last",
        "Hold",
        "Holds",
        "Tunnel",
        "Reference",
        "Home",
        "Request-Weight",
        "Left",
        "Unpaid",
        "Decision",
        "Qos-Class",
        "Volume",
        "Ind-Permille",
        "Valid-For",
        "Reason",
        "Since",
        "Max",
        "Stored",
        "Refused",
        "Code",
        "Nonce",
        "Acknowledgement",
        "Content-Length",
        "X-Unknown",
    ];
    let index = rng.random_range(0..lines.len());
    let word = odd_value(words, rng);
    match rng.random_range(0..12) {
        0 => drop(lines.remove(index)),
        1 => lines.insert(index, lines[index].clone()),
        2 => {
            let other = rng.random_range(0..lines.len());
            lines.swap(index, other);
        }
        3 => {
            let name = NAMES.choose(rng).expect("some");
            lines.insert(rng.random_range(1..=lines.len()).min(lines.len()), format!("{name}: {word}"));
        }
        4 => {
            let method = METHODS.choose(rng).expect("some");
            lines[0] = format!("{method} P2PWNC/3.0");
        }
        5 if rng.random_ratio(1, 4) => {
            lines.extend((0..rng.random_range(20..34)).map(|number| format!("X-{number}: x")));
        }
        5 => {
            let mut line = lines[index].clone().into_bytes();
            changed_bytes(&mut line, rng);
            lines[index] = String::from_utf8_lossy(&line).into_owned();
        }
        _ => {
            if let Some((name, _)) = lines[index].split_once(": ") {
                lines[index] = format!("{name}: {word}");
            }
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
}

/// Values of headers: numbers, and what nearly is one.
const NUMBERS: [&str; 20] = [
    "",
    "0",
    "1",
    "2",
    "+1",
    "+",
    "-1",
    "007",
    "+0",
    "255",
    "256",
    "65535",
    "65536",
    "65537",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    " 1",
    "1 ",
];
/// Words, right and wrong ones.
const WORDS: [&str; 14] = [
    "grant",
    "deny",
    "lowest",
    "own",
    "High",
    "closed",
    "no-session",
    "oops",
    "AAAA",
    "AAA=",
    "AAB=",
    "====",
    "a:b",
    "two words",
];
/// Where a home may be, and where none is.
const ADDRESSES: [&str; 22] = [
    "192.0.2.1",
    "192.0.2.1:7275",
    "192.0.2.1:0",
    "192.0.2.01:1",
    "0.0.0.0:1",
    "224.0.0.1:1",
    "255.255.255.255:1",
    "2001:db8::1",
    "[2001:db8::1]",
    "[2001:db8::1]:00080",
    "[2001:db8::1]x",
    "[2001:db8:0:0:1::1]:9",
    "[::]:1",
    "[::ffff:192.0.2.1]:1",
    "[fe80::1%1]:1",
    "[ff02::1]:1",
    "Home.Example.",
    "_a-b.example:9",
    "-a.example:1",
    "home.example:+1",
    "1.2.3:4",
    "a..b:1",
];

fn odd_value(words: &[String], rng: &mut StdRng) -> String {
    let hold = |length: usize| data_encoding::BASE64.encode(&vec![7; length]);
    match rng.random_range(0..6) {
        0 | 1 => (*NUMBERS.choose(rng).expect("some")).to_owned(),
        2 => (*WORDS.choose(rng).expect("some")).to_owned(),
        3 => (*ADDRESSES.choose(rng).expect("some")).to_owned(),
        4 => match rng.random_range(0..7) {
            0 => format!("{}/7", hold(24)),
            1 => format!("{}/+07,", hold(24)),
            2 => format!("{}/7", hold(23)),
            3 => vec![format!("{}/1", hold(24)); rng.random_range(2..10)].join(","),
            4 => format!("{0}/1,,{0}/1", hold(24)),
            5 => hold(16),
            _ => "x".repeat(rng.random_range(590..4_100)),
        },
        _ => words.choose(rng).cloned().unwrap_or_default(),
    }
}

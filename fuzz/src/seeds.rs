//! What a fuzzer begins with: valid objects of every kind and suite, and some that just miss.

use guestright_identity::{KeyFile, cose};
use guestright_keys::Label;
use guestright_reciprocity::ServiceClass;
use guestright_vectors::actors::{CONSUMER, NOW, PROVIDER, STARTED};
use guestright_vectors::{field, messages, negative, objects};
use rand::{Rng, SeedableRng};
use serde_json::Value;

/// A seed: the target, a name, the bytes.
pub type Seed = (&'static str, String, Vec<u8>);

/// All seeds. `legacy` is the file of the legacy suites' vectors, which cannot be made again.
pub fn seeds(legacy: Option<&Value>) -> Vec<Seed> {
    let mut seeds = Vec::new();
    identity(&mut seeds);
    receipts(&mut seeds);
    for (index, (_, message)) in messages::all().into_iter().enumerate() {
        let bytes = message.emit();
        seeds.push(("message", format!("good-{index}"), bytes.clone()));
        // What a stream does with a message does not depend on its kind: some will do.
        if index % 3 == 0 {
            seeds.push(("stream", format!("good-{index}"), [&[0][..], &bytes, &bytes].concat()));
        }
    }
    for (index, case) in negative::all().into_iter().enumerate() {
        let target = match case.object {
            "revocation list" => "revocations",
            "key" => {
                seeds.push(("key", format!("near-{index}"), [&[1], &case.bytes[..]].concat()));
                continue;
            }
            "message" => "message",
            "certificate" => "certificate",
            "delegation" => "delegation",
            "receipt" => "receipt",
            "bundle" => "bundle",
            "hold message" => "credit",
            _ => "acknowledgement",
        };
        seeds.push((target, format!("near-{index}"), case.bytes));
    }
    texts(&mut seeds);
    batches(&mut seeds);
    crate::answers::seeds(&mut seeds);
    crate::capture::seeds(&mut seeds);
    crate::channel::seeds(&mut seeds);
    crate::codec::seeds(&mut seeds);
    crate::credit::seeds(&mut seeds);
    crate::tunnel::seeds(&mut seeds);
    crate::directory::seeds(&mut seeds);
    crate::eap::seeds(&mut seeds);
    crate::short_messages::seeds(&mut seeds);
    crate::sdp::seeds(&mut seeds);
    crate::signalling::seeds(&mut seeds);
    crate::voice::seeds(&mut seeds);
    crate::pgpfone::seeds(&mut seeds);
    crate::kernel::seeds(&mut seeds);
    crate::legacy::seeds(&mut seeds);
    crate::machines::seeds(&mut seeds);
    crate::device::seeds(&mut seeds);
    crate::plan::seeds(&mut seeds);
    crate::radius::seeds(&mut seeds);
    crate::splash::seeds(&mut seeds);
    crate::uci::seeds(&mut seeds);
    crate::sound::seeds(&mut seeds);
    crate::tables::seeds(&mut seeds);
    legacy.into_iter().for_each(|legacy| legacy_objects(&mut seeds, legacy));
    seeds
}

/// An object as it is, and its payload: the targets sign payloads themselves.
fn both(seeds: &mut Vec<Seed>, target: &'static str, name: &str, encoded: &[u8]) {
    let payload = cose::open(encoded, encoded.len()).map(|sealed| cose::encode(sealed.items));
    for (what, bytes) in [("object", Some(encoded.to_vec())), ("payload", payload.ok())] {
        let Some(bytes) = bytes else { continue };
        seeds.push((target, format!("{name}-{what}"), bytes.clone()));
        let form = if what == "object" { "sealed" } else { "cbor" };
        // A payload is the same CBOR, whoever signs it.
        if form == "cbor" && name.starts_with("provider") {
            continue;
        }
        seeds.push((form, format!("{target}-{name}"), bytes));
    }
}

fn identity(seeds: &mut Vec<Seed>) {
    for (whose, household) in [("consumer", &*CONSUMER), ("provider", &*PROVIDER)] {
        let suite = if whose == "consumer" { 0 } else { 1 };
        both(seeds, "certificate", whose, household.member.1.as_bytes());
        both(seeds, "certificate", &format!("{whose}-ap"), household.access_point.1.as_bytes());
        for sequence in [0, 1] {
            let list = objects::revocation_list(household, sequence);
            both(seeds, "revocations", &format!("{whose}-{sequence}"), list.as_bytes());
        }
        for (name, delegation) in objects::delegations(household) {
            both(seeds, "delegation", &format!("{whose}-{name}"), delegation.as_bytes());
        }
        let (key, certificate) = &household.access_point;
        let terms = objects::terms(household, ServiceClass::High).seal(key, certificate);
        both(seeds, "acknowledgement", whose, &terms);
        for (what, bytes) in [
            ("public", household.team.public().as_bytes().to_vec()),
            ("secret", household.team.to_bytes().to_vec()),
        ] {
            seeds.push(("key", format!("{whose}-{what}"), [&[suite], &bytes[..]].concat()));
        }
        let plain = KeyFile::plain(&household.team).as_bytes().to_vec();
        seeds.push(("key_file", whose.to_owned(), plain));
    }
    both(seeds, "certificate", "mixed", objects::mixed().as_bytes());
}

fn receipts(seeds: &mut Vec<Seed>) {
    for weight in [0, 24, 50_000_000, u64::MAX] {
        let receipt = objects::consumed(STARTED, weight);
        both(seeds, "receipt", &format!("consumed-{weight}"), receipt.as_bytes());
    }
    let on = Some((guestright_receipt::HoldId([7; 24]), 50_000_000));
    let held = objects::consumed_on(STARTED, 60_000_000, on);
    both(seeds, "receipt", "consumed-on-a-hold", held.as_bytes());
    both(seeds, "receipt", "provided", objects::provided(NOW, 7).as_bytes());
    seeds.push(("bundle", "full".to_owned(), objects::full_bundle().emit()));
    seeds.push(("cbor", "bundle".to_owned(), objects::full_bundle().emit()));
    let mut rising = objects::full_bundle();
    rising.receipts =
        [5, 9, 9, 2].map(|weight| objects::consumed(STARTED, weight).as_bytes().to_vec()).to_vec();
    seeds.push(("bundle", "rising".to_owned(), rising.emit()));
}

fn texts(seeds: &mut Vec<Seed>) {
    let certificate = Label::Certificate.armour(CONSUMER.member.1.as_bytes());
    let list = Label::Revocations.armour(objects::revocation_list(&CONSUMER, 1).as_bytes());
    seeds.push(("armour", "certificate".to_owned(), certificate.into_bytes()));
    seeds.push(("armour", "revocations".to_owned(), list.into_bytes()));
    // Version 2 with costs that nobody minds: 8 KiB, one pass.
    let encrypted = cose::encode(vec![
        2.into(),
        8.into(),
        1.into(),
        ciborium::Value::Bytes(vec![7; 16]),
        ciborium::Value::Bytes(vec![9; 58]),
    ]);
    let encrypted = Label::Certificate.armour(&encrypted).replace("CERTIFICATE", "SECRET KEY");
    seeds.push(("key_file", "encrypted".to_owned(), encrypted.into_bytes()));
    seeds.push(("team_id", "good".to_owned(), CONSUMER.id().to_string().into_bytes()));
    seeds.push(("team_id", "upper".to_owned(), CONSUMER.id().to_string().to_uppercase().into_bytes()));
    seeds.push(("team_id", "letters".to_owned(), "é".repeat(24).into_bytes()));
}

/// Points of small order as keys and as R with s = 0, and honest signatures with one changed byte in some.
fn batches(seeds: &mut Vec<Seed>) {
    let order_8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
    let order_8 = guestright_vectors::unhex(order_8);
    let mut minus_one = [0xff; 32];
    (minus_one[0], minus_one[31]) = (0xec, 0x7f);
    let mut one = [0; 32];
    one[0] = 1;
    let mut one_again = [0xff; 32];
    (one_again[0], one_again[31]) = (0xee, 0x7f);
    let points = [order_8, minus_one.to_vec(), one.to_vec(), one_again.to_vec()];
    let record = |key: &[u8], point: &[u8]| [key, point, &[0; 34]].concat();
    for (index, key) in points.iter().enumerate() {
        let small: Vec<u8> = points.iter().flat_map(|point| record(key, point)).collect();
        let again: Vec<u8> = points.iter().rev().flat_map(|point| record(point, key)).collect();
        seeds.push(("batch", format!("small-order-{index}"), [small, again].concat()));
    }
    let honest = |spoilt: u8, position: u8| [&[0; 96][..], &[spoilt, position]].concat();
    let mixed = [honest(1, 0), honest(0x81, 3), honest(1, 0), record(&points[0], &points[1]), honest(2, 63)];
    seeds.push(("batch", "honest".to_owned(), honest(1, 0).repeat(6)));
    seeds.push(("batch", "mixed".to_owned(), mixed.concat()));
    let mut random = [0; 98 * 4];
    rand::rngs::StdRng::seed_from_u64(1).fill_bytes(&mut random);
    seeds.push(("batch", "random".to_owned(), random.to_vec()));
}

fn legacy_objects(seeds: &mut Vec<Seed>, legacy: &Value) {
    for (index, vector) in legacy["suites"].as_array().into_iter().flatten().enumerate() {
        let number = u8::try_from(index + 2).expect("a few suites");
        let name = format!("legacy-{index}");
        for what in ["public", "secret"] {
            let bytes = [&[number], &field(&vector["member"], what)[..]].concat();
            seeds.push(("key", format!("{name}-{what}"), bytes));
        }
        both(seeds, "certificate", &name, &field(&vector["certificate"], "encoded"));
        both(seeds, "receipt", &name, &field(&vector["receipt"], "encoded"));
    }
}

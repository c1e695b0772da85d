//! Paper A's Table 1, beside what a receipt costs this computer.

use crate::ReceiptCost;
use serde_json::{Value, json};

/// A column of the paper's table, in ms.
struct Published {
    suite: &'static str,
    sign_ms: f64,
    verify_ms: f64,
}

/// Frangoudis and others, Mobimedia 2007, Table 1: "generation" and "verification".
const TABLE_1: [Published; 4] = [
    Published { suite: "rsa-1024", sign_ms: 300.6, verify_ms: 12.3 },
    Published { suite: "ecdsa-secp160r1", sign_ms: 20.3, verify_ms: 114.7 },
    Published { suite: "rsa-2048", sign_ms: 1529.0, verify_ms: 37.9 },
    Published { suite: "ecdsa-secp224r1", sign_ms: 23.4, verify_ms: 135.7 },
];

/// What the paper concludes, as ratios: their name, of which suites, and whether of signing.
const RATIOS: [(&str, &str, &str, bool); 4] = [
    ("verify: ECC-160 to RSA-1024", "ecdsa-secp160r1", "rsa-1024", false),
    ("sign: RSA-1024 to ECC-160", "rsa-1024", "ecdsa-secp160r1", true),
    ("verify: ECC-224 to RSA-2048", "ecdsa-secp224r1", "rsa-2048", false),
    ("sign: RSA-2048 to ECC-224", "rsa-2048", "ecdsa-secp224r1", true),
];

/// How to get the suites that are not there.
const MISSING: &str = "the paper's suites are not in this program: \
    cargo build --release --package guestright-lab --features legacy-suites";

fn cost_of<'a>(costs: &'a [ReceiptCost], suite: &str) -> Option<&'a ReceiptCost> {
    costs.iter().find(|cost| cost.suite.name() == suite)
}

fn published(suite: &str) -> Option<&'static Published> {
    TABLE_1.iter().find(|one| one.suite == suite)
}

/// What the paper has for one of [`RATIOS`], and what this computer has.
fn ratio(
    costs: &[ReceiptCost],
    (_, over, under, signing): (&str, &str, &str, bool),
) -> (Option<f64>, Option<f64>) {
    let theirs = |suite| published(suite).map(|one| if signing { one.sign_ms } else { one.verify_ms });
    let ours = |suite| cost_of(costs, suite).map(|cost| if signing { cost.sign_us } else { cost.verify_us });
    let divide = |(over, under): (f64, f64)| over / under;
    (theirs(over).zip(theirs(under)).map(divide), ours(over).zip(ours(under)).map(divide))
}

/// What a person reads.
pub fn text(costs: &[ReceiptCost]) -> String {
    // Those of the paper first, in its order.
    let of_paper = TABLE_1.iter().filter_map(|one| cost_of(costs, one.suite));
    let others = costs.iter().filter(|cost| published(cost.suite.name()).is_none());
    let mut out = String::from(
        "Receipts (paper A, Table 1): the paper's times in ms on a 200 MHz MIPS, and those of this computer in \u{b5}s\n\n",
    );
    let mut line = |cells: [&str; 9]| {
        let [suite, numbers @ ..] = cells;
        let numbers: String = numbers.iter().map(|cell| format!(" {cell:>11}")).collect();
        out.push_str(format!("  {suite:<16}{numbers}").trim_end());
        out.push('\n');
    };
    line(["", "paper", "paper", "here", "here", "public key", "signature", "receipt", "certificate"]);
    line([
        "suite",
        "sign, ms",
        "verify, ms",
        "sign, \u{b5}s",
        "verify, \u{b5}s",
        "bytes",
        "bytes",
        "bytes",
        "bytes",
    ]);
    for cost in of_paper.chain(others) {
        let theirs = published(cost.suite.name());
        let ms = |time: fn(&Published) -> f64| {
            theirs.map_or_else(|| "-".to_owned(), |one| format!("{:.1}", time(one)))
        };
        let us = |time: f64| if time < 100.0 { format!("{time:.1}") } else { format!("{time:.0}") };
        let ReceiptCost { key_bytes, signature_bytes, receipt_bytes, certificate_bytes, .. } = cost;
        let sizes = [key_bytes, signature_bytes, receipt_bytes, certificate_bytes].map(ToString::to_string);
        let [key, signature, receipt, certificate] = &sizes;
        let (sign, verify) = (ms(|one| one.sign_ms), ms(|one| one.verify_ms));
        let (here_sign, here_verify) = (us(cost.sign_us), us(cost.verify_us));
        line([
            cost.suite.name(),
            &sign,
            &verify,
            &here_sign,
            &here_verify,
            key,
            signature,
            receipt,
            certificate,
        ]);
    }
    out.push_str("\n  ratio                          paper A        here\n");
    for one in RATIOS {
        let (theirs, ours) = ratio(costs, one);
        let words = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        out.push_str(&format!("  {:<27} {:>10} {:>11}\n", one.0, words(theirs), words(ours)));
    }
    if TABLE_1.iter().any(|one| cost_of(costs, one.suite).is_none()) {
        out.push_str(&format!("\n{MISSING}\n"));
    }
    out
}

/// What a program reads.
pub fn in_json(costs: &[ReceiptCost]) -> Value {
    let suite = |cost: &ReceiptCost| {
        let theirs = published(cost.suite.name());
        json!({
            "suite": cost.suite.name(),
            "sign_us": cost.sign_us,
            "verify_us": cost.verify_us,
            "key_bytes": cost.key_bytes,
            "signature_bytes": cost.signature_bytes,
            "receipt_bytes": cost.receipt_bytes,
            "certificate_bytes": cost.certificate_bytes,
            "published_sign_ms": theirs.map(|one| one.sign_ms),
            "published_verify_ms": theirs.map(|one| one.verify_ms),
        })
    };
    let ratio = |one| {
        let (theirs, ours) = ratio(costs, one);
        json!({ "ratio": one.0, "published": theirs, "measured": ours })
    };
    let missing: Vec<&str> =
        TABLE_1.iter().map(|one| one.suite).filter(|suite| cost_of(costs, suite).is_none()).collect();
    json!({
        "suites": costs.iter().map(suite).collect::<Vec<_>>(),
        "ratios": RATIOS.map(ratio),
        "not_built_in": missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_papers_figures_and_all_suites_that_there_are() {
        let costs: Vec<ReceiptCost> =
            crate::suites().iter().map(|suite| crate::measure(*suite, 1).unwrap()).collect();
        let text = text(&costs);
        for cost in &costs {
            assert!(text.contains(&format!("\n  {:<16}", cost.suite.name())), "{text}");
        }
        // What the paper has is known without its suites: 114.7 / 12.3, 300.6 / 20.3, 135.7 / 37.9, 1529 / 23.4.
        for ratio in ["9.33", "14.81", "3.58", "65.34"] {
            assert!(text.contains(ratio), "{ratio} is not in {text}");
        }
        let json = in_json(&costs);
        assert_eq!(json["suites"].as_array().unwrap().len(), costs.len());
        let all = TABLE_1.iter().all(|one| cost_of(&costs, one.suite).is_some());
        assert_eq!(all, cfg!(feature = "legacy-suites"));
        assert_eq!(all, !text.contains("--features legacy-suites"));
        assert_eq!(json["not_built_in"].as_array().unwrap().is_empty(), all);
        if all {
            assert!(text.contains("300.6") && text.contains("135.7"), "{text}");
            let rsa =
                json["suites"].as_array().unwrap().iter().find(|one| one["suite"] == "rsa-2048").unwrap();
            assert_eq!((&rsa["published_sign_ms"], &rsa["signature_bytes"]), (&json!(1529.0), &json!(256)));
        }
    }
}

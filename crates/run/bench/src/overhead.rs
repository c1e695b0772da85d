//! The papers' packets, part by part.

use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::{
    Layer, Mode, PAPER_A_VOICE, PAPER_B_AS_COMPUTED, PAPER_B_BY_RFC, Row, layers, paper_b_layers, total,
};
use serde_json::{Value, json};

/// A packet of a paper: what the paper has, and its parts as they are here.
#[derive(Debug)]
pub struct Example {
    pub paper: &'static str,
    pub says: &'static str,
    pub packet: usize,
    pub paper_has: usize,
    pub parts: Vec<Layer>,
}

impl Example {
    /// "IP 20 + ESP index 4 + … = 152".
    pub fn sum(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().map(|part| format!("{} {}", part.name, part.len)).collect();
        format!("{} = {}", parts.join(" + "), total(&self.parts))
    }

    pub fn json(&self) -> Value {
        let parts: Vec<Value> =
            self.parts.iter().map(|part| json!({ "name": part.name, "bytes": part.len })).collect();
        json!({
            "paper": self.paper,
            "says": self.says,
            "packet": self.packet,
            "paper_has": self.paper_has,
            "parts": parts,
            "total": total(&self.parts),
        })
    }
}

pub fn examples() -> Vec<Example> {
    let paper_a = Example {
        paper: "paper A",
        says: "section 6: L2TP in ESP in transport mode, AES-128-CBC with HMAC-MD5-96",
        packet: PAPER_A_VOICE.0,
        paper_has: PAPER_A_VOICE.1,
        parts: layers(Suite::Aes128CbcHmacMd5, Mode::L2tp, Encapsulation::Raw, PAPER_A_VOICE.0),
    };
    let by_rfc = PAPER_B_BY_RFC.map(|(packet, paper_has)| Example {
        paper: "paper B",
        says: "as its testbed measured and as RFC 4303 has it: ESP in tunnel mode, 3DES-CBC with HMAC-SHA1-96",
        packet,
        paper_has,
        parts: layers(Suite::TripleDesCbcHmacSha1, Mode::Tunnel, Encapsulation::Raw, packet),
    });
    let as_computed = PAPER_B_AS_COMPUTED.map(|(packet, paper_has)| Example {
        paper: "paper B",
        says: "as the upper bounds of its Table 2 take it to be: without the initialization vector",
        packet,
        paper_has,
        parts: paper_b_layers(packet),
    });
    std::iter::once(paper_a).chain(by_rfc).chain(as_computed).collect()
}

pub fn row_json(row: &Row) -> Value {
    json!({
        "suite": row.suite,
        "mode": row.mode,
        "encapsulation": row.encapsulation,
        "wire": row.wire_lens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_papers_packets_add_up_to_what_the_papers_have() {
        for example in examples() {
            assert_eq!(total(&example.parts), example.paper_has, "{}: {}", example.paper, example.sum());
        }
    }

    #[test]
    fn paper_a_counts_its_voice_packet_as_section_6_does() {
        let sum = examples()[0].sum();
        for part in ["UDP 8", "L2TP 8", "PPP 4", "packet 60", "ESP check value 12", "= 152"] {
            assert!(sum.contains(part), "{part} is not in {sum}");
        }
    }
}

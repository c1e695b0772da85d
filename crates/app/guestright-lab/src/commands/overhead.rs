//! `guestright-lab overhead`: what tunnels add to packets, and the papers' packets part by part.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::{
    Layer, Mode, PAPER_A_VOICE, PAPER_B_AS_COMPUTED, PAPER_B_BY_RFC, Row, layers, paper_b_layers, table,
    total,
};
use serde_json::{Value, json};

/// Say how long packets are when they leave a tunnel, and how papers A and B count it
///
/// The lengths are those of IPv4 packets, computed from the suites' own lengths (RFC 4303, 3948, 2661, and section 5.4.6
/// of WireGuard's paper). The tests compare them with packets that were sealed. WireGuard has two lines: its paper and
/// Linux pad packets to multiples of 16 bytes; the end inside this program, used where the kernel has no WireGuard, does
/// not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab overhead
  guestright-lab overhead --packet 60 --packet 200 --packet 1420 --json")]
pub(crate) struct Overhead {
    /// The length of an IPv4 packet before the tunnel, in bytes; as often as wanted. 60 is a packet of G.729, 200 one
    /// of G.711
    #[arg(long = "packet", value_name = "BYTES", default_values_t = [60, 200],
          value_parser = clap::value_parser!(u16).range(20..))]
    packets: Vec<u16>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A packet of a paper: what the paper has, and its parts as they are here.
struct Example {
    paper: &'static str,
    says: &'static str,
    packet: usize,
    paper_has: usize,
    parts: Vec<Layer>,
}

impl Overhead {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let packets: Vec<usize> = self.packets.iter().map(|packet| usize::from(*packet)).collect();
        let rows = table(&packets);
        if self.json {
            let rows: Vec<Value> = rows.iter().map(row_json).collect();
            let papers: Vec<Value> = examples().iter().map(Example::json).collect();
            writeln!(out, "{}", json!({ "packets": packets, "rows": rows, "papers": papers }))?;
            return Ok(());
        }
        writeln!(out, "IPv4 packets on the wire, in bytes, for packets of")?;
        let lengths: String = packets.iter().map(|packet| format!("{packet:>7}")).collect();
        writeln!(out, "  {:<25} {:<10} {:<5}{lengths}", "suite", "mode", "in")?;
        for row in &rows {
            let lengths: String = row.wire_lens.iter().map(|length| format!("{length:>7}")).collect();
            writeln!(out, "  {:<25} {:<10} {:<5}{lengths}", row.suite, row.mode, row.encapsulation)?;
        }
        writeln!(
            out,
            "  WireGuard's paper and Linux pad packets to multiples of 16 bytes; our own end sends them as they are."
        )?;
        writeln!(out, "\nThe papers' packets, part by part:")?;
        for example in examples() {
            let Example { paper, says, packet, paper_has, .. } = example;
            writeln!(out, "  {paper}, {packet} bytes become {paper_has} ({says})\n    {}", example.sum())?;
        }
        Ok(())
    }
}

impl Example {
    /// "IP 20 + ESP index 4 + … = 152".
    fn sum(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().map(|part| format!("{} {}", part.name, part.len)).collect();
        format!("{} = {}", parts.join(" + "), total(&self.parts))
    }

    fn json(&self) -> Value {
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

fn examples() -> Vec<Example> {
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

fn row_json(row: &Row) -> Value {
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

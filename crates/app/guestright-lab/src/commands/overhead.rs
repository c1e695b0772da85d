//! `guestright-lab overhead`: what tunnels add to packets, and the papers' packets part by part.

use guestright_bench::overhead::{Example, examples, row_json};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_tunnel::overhead::table;
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

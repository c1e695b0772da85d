//! `guestright-lab advise`: tries the transports on a live path, and says which voice should take.

use anyhow::anyhow;
use guestright_bench::advise::{
    self as bench, Caller, ListenerConfig, ListenerEvent, Tried, leg, rate_all, transports, words,
};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals;
use guestright_quality::advise;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The port of a listener, TCP and UDP.
const PORT: u16 = 7277;
/// Say which transport voice should take to another computer, and why: tries each on the live path
///
/// The other end runs `guestright-lab advise --listen`. Voice of 64 kb/s goes there and back over UDP, over QUIC in
/// datagrams and as a stream, and over TCP with each congestion control that both kernels offer, one after the other.
/// Each is rated by the E-model at the playout delay that suits it best; the one whose worse direction is best is
/// advised, with reasons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab advise --listen            # on one computer
  guestright-lab advise 192.0.2.7           # on the other: some 15 s for each transport
  guestright-lab advise 192.0.2.7 --seconds 30 --transport udp --transport cubic --json")]
pub(crate) struct Advise {
    /// Who listens: a name or an address, with a port if it is not 7277
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "listen", conflicts_with = "listen")]
    peer: Option<String>,
    /// Let others measure the way to this computer, until Ctrl-C
    #[arg(long)]
    listen: bool,
    /// With --listen: the address, TCP and UDP
    #[arg(long, value_name = "ADDRESS", requires = "listen", default_value_t = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT))]
    bind: SocketAddr,
    /// With --listen: the only address that may measure
    #[arg(long, value_name = "ADDRESS", requires = "listen")]
    from: Option<IpAddr>,
    /// With --listen: end after so many measurements
    #[arg(long, value_name = "N", requires = "listen", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// How long each transport speaks in each direction, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=300))]
    seconds: u32,
    /// What to try: udp, quic-datagrams, quic-stream, or the name of a congestion control of TCP; everything that both
    /// ends have if not given
    #[arg(long, value_name = "NAME")]
    transport: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Advise {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let Some(peer) = &self.peer else {
            return self.listen(out);
        };
        let peer = guestright_cli::address::resolve(peer, PORT)?;
        let mut caller = Caller::connect(peer)?;
        let transports = transports(&self.transport, caller.offered())?;
        let before = caller.round_trip()?;
        let mut tried = Vec::new();
        for (name, carrier, congestion) in transports {
            if !self.json {
                write!(out, "{name} …")?;
                out.flush()?;
            }
            let legs =
                [false, true].map(|back| caller.leg(&leg(carrier, congestion.clone(), back, self.seconds)));
            if !self.json {
                writeln!(out, " {}", words(&legs))?;
            }
            tried.push(Tried { name, carrier, legs });
        }
        let round_trip = before.min(caller.round_trip()?);
        let trials = rate_all(tried, round_trip);
        let advice = advise(&trials);
        if self.json {
            writeln!(out, "{}", bench::in_json(&trials, &advice, round_trip))?;
        } else {
            write!(out, "{}", bench::in_text(&trials, &advice, round_trip))?;
        }
        if advice.recommended.is_none() {
            return Err(Failure::network(anyhow!("no transport works between here and {peer}")));
        }
        Ok(())
    }

    fn listen(&self, out: &mut Output) -> Outcome {
        // Whoever listens is done when somebody says so: there is nothing to undo, and nothing that was not measured.
        signals::watch(|| std::process::exit(0)).map_err(Failure::network)?;
        let from = self.from.map(|address| address.to_canonical());
        let config = ListenerConfig { bind: self.bind, from, runs: self.runs };
        let out: &mut dyn Write = out;
        let on_event = |event| {
            match event {
                ListenerEvent::Listening(local) => writeln!(out, "listening at {local}, TCP and UDP")?,
                ListenerEvent::Measured(peer) => writeln!(out, "{peer} measures")?,
            }
            out.flush()
        };
        Ok(bench::listen(&config, on_event)?)
    }
}

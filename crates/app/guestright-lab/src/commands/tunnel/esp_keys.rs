//! `guestright-lab tunnel esp-keys`: two settings files that belong together.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_ends::esp::keys::{self, Pair};
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::Mode;
use guestright_tunnel::wireguard::Network;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Make the keys of an ESP tunnel: one settings file for each end
///
/// The suites of the papers (3des-cbc+hmac-sha1-96, aes-128-cbc+hmac-md5-96, aes-128-cbc+hmac-sha1-96) need
/// --legacy-paper. With two addresses each end knows where the other is; the second may be left to be learnt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab tunnel esp-keys --suite aes-128-gcm --one 192.0.2.1:4500 --two 198.51.100.2:4500 one.toml two.toml")]
pub(crate) struct EspKeys {
    /// Encryption and authentication
    #[arg(long, value_name = "NAME", default_value = "aes-128-gcm", value_parser = suite())]
    suite: Suite,
    /// Allow the papers' suites, which are no longer safe
    #[arg(long)]
    legacy_paper: bool,
    /// What packets are put into
    #[arg(long, value_enum, default_value_t = ModeName::Tunnel)]
    mode: ModeName,
    /// How ESP packets travel
    #[arg(long, value_enum, default_value_t = EncapsulationName::Udp)]
    encapsulation: EncapsulationName,
    /// Count packets with 64 bits instead of 32
    #[arg(long)]
    extended_sequence: bool,
    /// Where the first end is
    #[arg(long, value_name = "ADDRESS:PORT")]
    one: Option<SocketAddr>,
    /// Where the second end is; left out, the first learns it
    #[arg(long, value_name = "ADDRESS:PORT")]
    two: Option<SocketAddr>,
    /// The first end's address inside, with the length of the network around both
    #[arg(long, value_name = "ADDRESS/LENGTH", default_value = "10.93.0.1/24")]
    inner_one: Network,
    /// The second end's address inside
    #[arg(long, value_name = "ADDRESS/LENGTH", default_value = "10.93.0.2/24")]
    inner_two: Network,
    /// The name of the interface that is made
    #[arg(long, value_name = "NAME", default_value = "esp0")]
    interface: String,
    /// The first end's file
    first: PathBuf,
    /// The second end's file
    second: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// ESP in tunnel mode
    Tunnel,
    /// PPP in L2TP in UDP in ESP in transport mode, as in paper A
    L2tp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EncapsulationName {
    /// In UDP datagrams, which pass NAT
    Udp,
    /// Right behind the IP header
    Raw,
}

/// A suite by its name, all of which the help lists.
fn suite() -> impl TypedValueParser<Value = Suite> {
    PossibleValuesParser::new(Suite::ALL.map(Suite::name)).try_map(|name| name.parse::<Suite>())
}

impl EspKeys {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let pair = Pair {
            suite: self.suite,
            legacy_paper: self.legacy_paper,
            mode: match self.mode {
                ModeName::Tunnel => Mode::Tunnel,
                ModeName::L2tp => Mode::L2tp,
            },
            encapsulation: match self.encapsulation {
                EncapsulationName::Udp => Encapsulation::Udp,
                EncapsulationName::Raw => Encapsulation::Raw,
            },
            extended_sequence: self.extended_sequence,
            interface: self.interface,
            addresses: [self.one, self.two],
            inner: [self.inner_one, self.inner_two],
        };
        for (path, file) in [&self.first, &self.second].into_iter().zip(pair.make()?) {
            keys::write_new(path, &file)?;
            writeln!(out, "{} is secret, and so is the key in it", path.display())?;
        }
        Ok(())
    }
}

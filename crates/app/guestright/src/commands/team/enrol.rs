//! A member's way home: its WireGuard configuration, its place at the gateway, and its word to its home.

pub(super) use guestright_team::way_home::has_tunnel;

use crate::gateway_files::{self, GatewayFiles, create_private};
use crate::qr;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_identity::Role;
use guestright_team::qr::Code;
use guestright_team::way_home::{self, NewMember, Reservation, Terms, config_path};
use guestright_tunnel::wireguard::{Config, Network};
use guestright_units::TeamId;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The tunnel of a new member.
#[derive(Debug, clap::Args)]
pub(super) struct TunnelArgs {
    /// Give it a way home too: print a WireGuard configuration and its QR code for stock apps, write NAME.conf
    #[arg(long)]
    qr: bool,
    #[command(flatten)]
    images: Images,
    /// For how many bytes a day its home may sign in its place, where it has nothing but the tunnel
    #[arg(long, value_name = "BYTES", default_value_t = 1_000_000_000, requires = "qr")]
    bytes_per_day: u64,
    /// The teams at whose access points the home may sign; otherwise at all. To be given for each team
    #[arg(long, value_name = "TEAM", requires = "qr")]
    only_at: Vec<TeamId>,
    /// Its home may not sign in its place
    #[arg(long, requires = "qr", conflicts_with = "only_at")]
    no_delegation: bool,
}

/// Files to draw the QR code into.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Images {
    /// Draw the QR code into a new SVG file as well
    #[arg(long, value_name = "FILE")]
    qr_svg: Option<PathBuf>,
    /// Draw the QR code into a new PNG file as well
    #[arg(long, value_name = "FILE")]
    qr_png: Option<PathBuf>,
}

/// Show a member's WireGuard configuration and its QR code again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member show alice --dir family --qr-png alice.png")]
pub(super) struct Show {
    /// The name under which it was added
    #[arg(value_parser = guestright_team::name::normal)]
    name: String,
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    #[command(flatten)]
    images: Images,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TunnelArgs {
    /// Whether a way home was asked for.
    pub(super) fn is_wanted(&self) -> bool {
        self.qr
    }

    /// A phone has one.
    pub(super) fn want(&mut self) {
        self.qr = true;
    }

    /// For a device that takes the place of another one: with a tunnel if that has one, on the same terms.
    pub(super) fn again(dir: &Path, name: &str, images: Images) -> Result<Self, Failure> {
        let none = Self { qr: false, images, bytes_per_day: 0, only_at: Vec::new(), no_delegation: false };
        let Some(terms) = Terms::of_member(dir, name)? else { return Ok(none) };
        none.images.check()?;
        let no_delegation = terms.is_none();
        let Terms { bytes_per_day, only_at } =
            terms.unwrap_or(Terms { bytes_per_day: 0, only_at: Vec::new() });
        Ok(Self { qr: true, only_at, bytes_per_day, no_delegation, ..none })
    }

    /// What else than a tunnel was asked for.
    pub(super) fn into_images(self) -> Images {
        self.images
    }

    /// Finds a place for `name`, if it gets a tunnel; before anything is written.
    pub(super) fn reserve(&self, dir: &Path, name: &str, role: Role) -> Result<Option<Reservation>, Failure> {
        if !self.qr {
            let image = self.images.qr_svg.is_some() || self.images.qr_png.is_some();
            let wrong =
                || Failure::user(anyhow!("--qr-svg and --qr-png draw what --qr makes")).hint("add --qr");
            return if image { Err(wrong()) } else { Ok(None) };
        }
        let reservation = Reservation::new(dir, name, role)?;
        self.images.check()?;
        Ok(Some(reservation))
    }

    /// Writes the member's configuration, and its file at the gateway.
    pub(super) fn enrol(&self, reservation: Reservation, member: NewMember<'_>) -> Result<Tunnel, Failure> {
        let terms = Terms { bytes_per_day: self.bytes_per_day, only_at: self.only_at.clone() };
        let terms = Some(&terms).filter(|_| !self.no_delegation);
        Ok(Tunnel(reservation.enrol(terms, member)?))
    }

    /// Where the QR code was asked for.
    pub(super) fn images(&self) -> &Images {
        &self.images
    }
}

impl Images {
    /// Refuses files that are there.
    fn check(&self) -> Result<(), Failure> {
        let taken = [&self.qr_svg, &self.qr_png].into_iter().flatten().find(|path| path.exists());
        let refuse = |path: &PathBuf| Failure::config(anyhow!("{} exists already", path.display()));
        taken.map_or(Ok(()), |path| Err(refuse(path).hint("name another file")))
    }

    /// Draws the files that were asked for; only their owner can read them.
    fn draw(&self, code: &Code) -> Outcome {
        if let Some(path) = &self.qr_svg {
            create_private(path, code.svg().as_bytes())?;
        }
        if let Some(path) = &self.qr_png {
            create_private(path, &code.png())?;
        }
        Ok(())
    }
}

/// What a member was given, to be shown.
pub(super) struct Tunnel(way_home::Tunnel);

impl Tunnel {
    /// What JSON output says of it.
    pub(super) fn json(&self) -> Value {
        let Self(it) = self;
        json!({ "address": it.address, "path": it.path, "configuration": it.config.as_str(),
            "delegation": it.delegates, "record": it.is_found })
    }

    /// Prints configuration and code.
    pub(super) fn print(&self, out: &mut Output) -> Outcome {
        writeln!(out, "\n{}", self.0.config.as_str())?;
        qr::print(&code(&self.0.config)?, std::io::stdout().is_terminal(), out)?;
        let path = self.0.path.display();
        writeln!(
            out,
            "scan this with the WireGuard app, or give it {path}: whoever has it comes home as this member"
        )?;
        if self.0.delegates {
            writeln!(out, "where it has nothing but the app, its home signs for it, within its delegation")?;
        }
        if !self.0.is_found {
            writeln!(
                out,
                "nobody can call it yet: once the team has a home, `guestright team member record` lets others find it"
            )?;
        }
        Ok(())
    }

    /// Draws the code into files.
    pub(super) fn draw(&self, images: &Images) -> Outcome {
        images.draw(&code(&self.0.config)?)
    }
}

fn code(config: &str) -> Result<Code, Failure> {
    Code::new(config).map_err(Failure::config)
}

impl Show {
    pub(super) fn of(name: &str, dir: &Path, images: Images, json: bool) -> Self {
        Self { name: name.to_owned(), dir: dir.to_path_buf(), images, json }
    }

    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let path = config_path(&self.dir, &self.name);
        if !path.exists() {
            return Err(Failure::config(anyhow!("{} is not there", path.display()))
                .hint("a member gets a tunnel with `guestright team member add NAME --qr`"));
        }
        self.images.check()?;
        let config = Zeroizing::new(gateway_files::read_secret(&path)?);
        let read = Config::parse(&config)
            .map_err(|error| Failure::config(anyhow!("{}: {error}", path.display())))?;
        let own = read.interface.addresses.first().map(Network::address);
        let Some(IpAddr::V4(address)) = own else {
            return Err(Failure::config(anyhow!("{} has no IPv4 `Address`", path.display())));
        };
        let files = GatewayFiles::open(&self.dir.join(gateway_files::DIRECTORY))?;
        let delegates = files.peer_file(&self.name)?.is_some_and(|peer| peer.delegation.is_some());
        let is_found = files.record_path(&self.name).exists();
        let tunnel = Tunnel(way_home::Tunnel { config, path, address, delegates, is_found });
        if self.json {
            writeln!(out, "{}", tunnel.json())?;
        } else {
            tunnel.print(out)?;
        }
        tunnel.draw(&self.images)
    }
}

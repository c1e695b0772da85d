//! A member's way home: its WireGuard configuration, its place at the gateway, and its word to its home.

use crate::qr;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::private::create_private;
use guestright_team::qr::Code;
use guestright_team::way_home::{BYTES_PER_DAY, Terms, Tunnel, TunnelWish};
use guestright_units::TeamId;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The tunnel of a new member.
#[derive(Debug, clap::Args)]
pub(super) struct TunnelArgs {
    /// Give it a way home too: print a WireGuard configuration and its QR code for stock apps, write NAME.conf
    #[arg(long)]
    qr: bool,
    #[command(flatten)]
    images: Images,
    /// For how many bytes a day its home may sign in its place, where it has nothing but the tunnel
    #[arg(long, value_name = "BYTES", default_value_t = BYTES_PER_DAY, requires = "qr")]
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

    pub(super) fn wish(&self) -> TunnelWish {
        let terms = Terms { bytes_per_day: self.bytes_per_day, only_at: self.only_at.clone() };
        TunnelWish { terms: Some(terms).filter(|_| !self.no_delegation) }
    }

    /// Refuses images of nothing, and files that are there.
    pub(super) fn check_images(&self) -> Outcome {
        self.images.check(self.qr)
    }

    /// Where the QR code was asked for.
    pub(super) fn images(&self) -> &Images {
        &self.images
    }
}

impl Images {
    /// Refuses files that are there, or images where there is no tunnel to draw.
    pub(super) fn check(&self, has_tunnel: bool) -> Outcome {
        let mut files = [&self.qr_svg, &self.qr_png].into_iter().flatten();
        if !has_tunnel {
            let wrong =
                || Failure::user(anyhow!("--qr-svg and --qr-png draw what --qr makes")).hint("add --qr");
            return files.next().map_or(Ok(()), |_| Err(wrong()));
        }
        let refuse = |path: &PathBuf| Failure::config(anyhow!("{} exists already", path.display()));
        let taken = files.find(|path| path.exists());
        taken.map_or(Ok(()), |path| Err(refuse(path).hint("name another file")))
    }

    /// Draws the files that were asked for; only their owner can read them.
    pub(super) fn draw(&self, tunnel: &Tunnel) -> Outcome {
        let code = Code::new(&tunnel.config)?;
        if let Some(path) = &self.qr_svg {
            create_private(path, code.svg().as_bytes())?;
        }
        if let Some(path) = &self.qr_png {
            create_private(path, &code.png())?;
        }
        Ok(())
    }
}

/// What JSON output says of a tunnel.
pub(super) fn json(tunnel: &Tunnel) -> Value {
    json!({ "address": tunnel.address, "path": tunnel.path, "configuration": tunnel.config.as_str(),
        "delegation": tunnel.delegates, "record": tunnel.is_found })
}

/// Prints configuration and code.
pub(super) fn print(tunnel: &Tunnel, out: &mut Output) -> Outcome {
    writeln!(out, "\n{}", tunnel.config.as_str())?;
    qr::print(&Code::new(&tunnel.config)?, out)?;
    let path = tunnel.path.display();
    writeln!(
        out,
        "scan this with the WireGuard app, or give it {path}: whoever has it comes home as this member"
    )?;
    if tunnel.delegates {
        writeln!(out, "where it has nothing but the app, its home signs for it, within its delegation")?;
    }
    if !tunnel.is_found {
        writeln!(
            out,
            "nobody can call it yet: once the team has a home, `guestright team member record` lets others find it"
        )?;
    }
    Ok(())
}

/// Shows the tunnel that somebody has.
pub(super) fn show(name: &str, dir: &Path, images: &Images, json: bool, out: &mut Output) -> Outcome {
    let tunnel = Tunnel::of_member(dir, name)?;
    images.check(true)?;
    if json {
        writeln!(out, "{}", self::json(&tunnel))?;
    } else {
        print(&tunnel, out)?;
    }
    images.draw(&tunnel)
}

impl Show {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        show(&self.name, &self.dir, &self.images, self.json, out)
    }
}

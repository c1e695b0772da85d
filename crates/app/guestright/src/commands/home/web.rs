//! `guestright home web`: links to the household's page.

use crate::commands::team::read_home;
use crate::qr;
use crate::settings::{self, HomeSettings, Source};
use anyhow::anyhow;
use guestright_channel::Credentials;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::home;
use guestright_household::PageTools;
use guestright_team::from_page::Members;
use guestright_team::qr::Code;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;

/// Show who is served and what is owed on a page in a browser: open it in the household's network, for whoever has the link
///
/// The page is of the running home and shows what `guestright status` says; whoever has the link can block teams, end sessions, serve
/// everybody for a while and change the limits of `[credit]`, and members too if home.toml says `[web] team`. Without options: where it
/// is open. A link works once, within ten minutes, and what it opens ends after half an hour without a look. Members see the page
/// without a link through their tunnel, at port 7277 of the gateway's address, and change nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home web --enable --config home.toml
  guestright home web --enable --at 192.168.1.2:7277
  guestright home web --disable")]
pub(super) struct Web {
    /// Open the page, and print a link and its QR code
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Where: an address of this computer in the household's network [default: the one on the way to the Internet, port 7277]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "enable")]
    at: Option<SocketAddr>,
    /// Close the page wherever it is open, and end everybody's look at it
    #[arg(long)]
    disable: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the loop is told, with what the page needs of other parts of the program.
pub(super) fn with_tools(
    mut loop_settings: home::Settings,
    settings: &HomeSettings,
    source: &Source,
    credentials: &Credentials,
) -> home::Settings {
    let dir = settings.web.as_ref().and_then(|web| web.team.as_ref());
    let dir = dir.map(|dir| settings::beside(&source.origin(), dir));
    let members = dir.map(|dir| Members { dir, home: source.file().to_owned(), read_home });
    let (state, team) = (loop_settings.state.clone(), credentials.certificate.team_id());
    loop_settings.page.tools = Some(Arc::new(PageTools { state, team, members }));
    loop_settings
}

impl Web {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        match (self.enable, self.at, self.disable) {
            (true, Some(address), _) => format!("web enable {address}"),
            (true, None, _) => "web enable".to_owned(),
            (false, _, true) => "web disable".to_owned(),
            (false, _, false) => "web".to_owned(),
        }
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        if let Some(error) = answer["error"].as_str() {
            let hint = "name an address of this computer in the household's network: --at 192.168.1.2:7277";
            return Err(Failure::network(anyhow!("{error}")).hint(hint));
        }
        if self.json {
            return Ok(writeln!(out, "{answer}")?);
        }
        if let Some(link) = answer["link"].as_str() {
            writeln!(out, "The page is open. This link works once, within ten minutes:\n\n  {link}\n")?;
            return qr::print(&Code::new(link)?, out);
        }
        let open = answer["open"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let open: Vec<_> = open.map(|address| format!("http://{address}/")).collect();
        match (answer["closed"].as_u64(), open.as_slice()) {
            (Some(closed), _) => writeln!(out, "closed: {closed} pages were open")?,
            (None, []) => writeln!(
                out,
                "The page is not open in the household's network: guestright home web --enable"
            )?,
            (None, open) => writeln!(out, "The page is open at {}", open.join(", "))?,
        }
        Ok(())
    }
}

//! `guestright ap announce`: what a DHCP server has to be told so that phones need not look for the splash page.

use crate::settings::ApSettings;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_splash::announcement::DHCP_OPTION;
use std::net::Ipv4Addr;
use std::path::Path;

/// Print what announces the splash page by DHCP (RFC 8910), where it has a certificate
///
/// For dnsmasq, two lines for its settings; with --openwrt, sections and options for `uci`. Guests have no IPv6 here, so there
/// are no router advertisements that could say it too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap announce >> /etc/dnsmasq.d/guests.conf
  guestright ap announce --openwrt | uci batch")]
pub(super) struct Announce {
    /// Print commands for OpenWrt's `uci batch`
    #[arg(long)]
    openwrt: bool,
    /// OpenWrt's section of /etc/config/dhcp for the guests' network
    #[arg(long, value_name = "SECTION", default_value = "guest", requires = "openwrt")]
    network: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Announce {
    pub(super) fn run(self, settings: &ApSettings, origin: &Path, out: &mut Output) -> Outcome {
        let for_loop = settings.for_loop(origin)?;
        let Some(certificate) = for_loop.splash.as_ref().and_then(|splash| splash.certificate.as_ref())
        else {
            return Err(Failure::user(anyhow!("there is nothing to announce: the page has no certificate that phones trust"))
                .hint("phones find the page by themselves; name, certificate and certificate_key in [splash] announce it"));
        };
        let address = for_loop.rules()?.access_point;
        let machine = for_loop.splash.as_ref().map(|splash| splash.machine(address)).transpose()?;
        let uri =
            machine.map(|machine| machine.announcement(None)).transpose().map_err(Failure::config)?.flatten();
        let uri = uri.ok_or_else(|| Failure::bug(anyhow!("a page with a certificate has an address")))?;
        let name = &certificate.name;
        if self.json {
            let json = serde_json::json!({ "dhcp_option": DHCP_OPTION, "uri": uri.as_str(), "name": name, "address": address });
            return Ok(writeln!(out, "{json}")?);
        }
        if self.openwrt {
            return Ok(write!(out, "{}", openwrt(&self.network, name, uri.as_str(), address)?)?);
        }
        Ok(write!(out, "{}\nhost-record={name},{address}\n", uri.dnsmasq_line())?)
    }
}

/// The name is made known to guests by the router's own resolver.
fn openwrt(section: &str, name: &str, uri: &str, address: Ipv4Addr) -> Result<String, Failure> {
    if section.is_empty() || !section.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(Failure::user(anyhow!("{section:?} is no name of a section of UCI")));
    }
    Ok(format!(
        "add_list dhcp.{section}.dhcp_option='{DHCP_OPTION},{uri}'\nset dhcp.guestright_page=domain\n\
         set dhcp.guestright_page.name='{name}'\nset dhcp.guestright_page.ip='{address}'\ncommit dhcp\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_one_word() {
        let of =
            |section| openwrt(section, "ap.example", "https://ap.example:7281/api", [10, 73, 0, 1].into());
        assert!(
            of("guest")
                .unwrap()
                .starts_with("add_list dhcp.guest.dhcp_option='114,https://ap.example:7281/api'\n")
        );
        for section in ["", "a b", "a'b", "a.b", "a\nb"] {
            assert!(of(section).is_err(), "{section:?}");
        }
    }
}

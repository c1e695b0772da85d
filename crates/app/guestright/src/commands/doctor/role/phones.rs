//! What phones that join by 802.1X need beside the access point.

use super::super::page::Page;
use super::{Look, Port, fault, ports_are_free};
use guestright_cli::failure::Failure;
use guestright_host::access_point::phones::Settings;
use guestright_host::examine::{Finding, is_listening, tool};

/// `runs`: whether the access point does.
pub(super) fn examine(settings: &Settings, runs: bool, page: &mut Page<'_, '_>) -> Result<(), Failure> {
    page.add(tool(
        "phones: hostapd",
        "hostapd",
        "-v",
        "install the package hostapd; on OpenWrt wpad-openssl, for wpad-basic has no 802.1X",
    ))?;
    let ports = [settings.radius, settings.accounting()].map(|address| Port { address, is_tcp: false });
    page.add(Finding::of("phones: ports", true, ports_are_free(&ports, runs)))?;
    if let Some(radsec) = &settings.radsec {
        let port = [Port { address: radsec.address, is_tcp: true }];
        let look = ports_are_free(&port, runs).and_then(|free| {
            radsec
                .examine()
                .map(|()| format!("{free}; its certificates can be used"))
                .map_err(|error| fault(&error))
        });
        page.add(Finding::of("phones: RadSec", true, look))?;
    }
    page.add(Finding::of("phones: secret", true, secret(settings)))?;
    page.add(Finding::of("phones: orders to hostapd", false, orders(settings)))
}

fn secret(settings: &Settings) -> Look {
    let file = settings.secret_file.display();
    if !settings.secret_file.exists() {
        return Ok(format!("{file} is made at the first start"));
    }
    settings.secret().map(|_| file.to_string()).map_err(|error| fault(&error))
}

/// Nobody can be asked there without being ordered to do something; but that somebody listens can be seen.
fn orders(settings: &Settings) -> Look {
    let address = settings.disconnect;
    if is_listening("udp", address.port()) {
        return Ok(format!("somebody listens at UDP {address}"));
    }
    let to_do = "give hostapd what `guestright ap hostapd` prints, and start it: without it no phone joins, and none can be \
                 told to leave";
    Err((format!("nobody listens at UDP {address}"), to_do.to_owned()))
}

//! The way in for L2TP clients: xl2tpd and pppd, with configuration of ours.
//!
//! Who logs in by name and secret (CHAP, RFC 1994) gets its own address. IPsec around it is charon's affair.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use zeroize::Zeroizing;

use crate::charon::{private_directory, write_private};
use crate::probe::find_program;
use crate::process::{Launch, Running};
use crate::{DataPlane, L2tp, Settings, StrongswanError, why_no_ppp};

/// What is left of 1,500 bytes after ESP in UDP, L2TP and PPP, with some room (AES-CBC and HMAC-SHA-256 take most).
const MTU: u16 = 1_380;

/// What pppd runs for every client: members' packets go on from its device, which is new.
const IP_UP: &str = "#!/bin/sh\necho 1 > \"/proc/sys/net/ipv4/conf/$1/forwarding\"\n";

/// What it takes to start xl2tpd, found out once.
#[derive(Debug)]
pub(crate) struct Lns {
    launch: Launch,
}

impl Lns {
    /// Looks for everything that is needed and writes configuration. Nothing if L2TP is not wanted.
    pub(crate) fn prepare(
        settings: &Settings,
        data_plane: DataPlane,
    ) -> Result<Option<Self>, StrongswanError> {
        let Some(l2tp) = &settings.l2tp else { return Ok(None) };
        if data_plane != DataPlane::Kernel {
            let reason = "it has no ESP, and charon by itself cannot do transport mode";
            return Err(StrongswanError::Kernel { reason });
        }
        if let Some(reason) = why_no_ppp() {
            return Err(StrongswanError::Kernel { reason });
        }
        let program = find_program("xl2tpd", "xl2tpd")?;
        find_program("pppd", "ppp")?;
        let run = settings.directory.join("l2tp");
        let ppp = run.join("ppp");
        private_directory(&ppp)?;
        write_private(&run.join("xl2tpd.conf"), &lns_text(l2tp))?;
        write_private(&ppp.join("options"), "")?;
        write_private(&ppp.join("options.guestright"), &ppp_text(settings))?;
        write_private(&ppp.join("chap-secrets"), &secrets_text(settings))?;
        write_private(&ppp.join("ip-up"), IP_UP)?;
        let mode = PermissionsExt::from_mode(0o700);
        let allowed = std::fs::set_permissions(ppp.join("ip-up"), mode);
        allowed
            .map_err(|error| StrongswanError::File { path: ppp.join("ip-up"), reason: error.to_string() })?;
        let arguments = ["-D", "-c", "/run/xl2tpd.conf", "-p", "/run/xl2tpd.pid", "-C", "/run/l2tp-control"];
        let mut arguments: Vec<_> = arguments.iter().map(Into::into).collect();
        arguments.extend(["-s", "/dev/null"].map(Into::into));
        let launch =
            Launch { name: "xl2tpd", program, arguments, environment: Vec::new(), run, ppp: Some(ppp) };
        Ok(Some(Self { launch }))
    }

    pub(crate) fn start(&self, on_end: impl FnOnce() + Send + 'static) -> Result<Running, StrongswanError> {
        self.launch.start(on_end)
    }

    /// Writes the members' secrets anew; pppd reads them for each client.
    pub(crate) fn reload(&self, settings: &Settings) -> Result<(), StrongswanError> {
        let ppp = self.launch.run.join("ppp");
        write_private(&ppp.join("chap-secrets"), &secrets_text(settings))
    }
}

/// pppd takes the client's address from its line of `chap-secrets`.
fn lns_text(l2tp: &L2tp) -> String {
    let L2tp { listen, gateway } = l2tp;
    format!(
        "[global]
listen-addr = {listen}
port = 1701
access control = no

[lns default]
assign ip = no
local ip = {gateway}
require chap = yes
refuse pap = yes
require authentication = yes
name = home
length bit = yes
pppoptfile = /etc/ppp/options.guestright
"
    )
}

/// A client that does not answer for 30 s has gone. No compression: IPsec's packets do not shrink.
fn ppp_text(settings: &Settings) -> String {
    let mut text = format!(
        "require-mschap-v2\nrequire-chap\nmtu {MTU}\nmru {MTU}\nnoccp\nnodefaultroute\nnoproxyarp\n\
         lcp-echo-interval 10\nlcp-echo-failure 3\nipcp-accept-remote\n"
    );
    for resolver in settings.resolvers.iter().filter(|resolver| resolver.is_ipv4()).take(2) {
        let _ = writeln!(text, "ms-dns {resolver}");
    }
    text
}

/// Client, server, secret, addresses that the client may have.
fn secrets_text(settings: &Settings) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::new());
    for member in &settings.members {
        let _ = writeln!(text, "\"{}\" * \"{}\" {}", member.name, member.secret.expose(), member.address);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::settings;

    #[test]
    fn each_member_has_its_own_secret_and_address() {
        let text = secrets_text(&settings());
        let want = "\"alice\" * \"alice-secret-1\" 10.78.0.254\n\"bob\" * \"bob-secret-234\" 10.78.0.253\n";
        assert_eq!(*text, want);
    }

    #[test]
    fn userspace_esp_is_refused_with_a_reason() {
        let l2tp = L2tp { listen: [198, 51, 100, 2].into(), gateway: [10, 78, 0, 1].into() };
        let settings = crate::Settings { l2tp: Some(l2tp), ..settings() };
        let refused = Lns::prepare(&settings, DataPlane::Userspace).unwrap_err().to_string();
        assert!(refused.contains("transport mode"), "{refused}");
    }
}

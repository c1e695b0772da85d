//! What a role needs of its computer: looked at, and what to do where it is not there.

mod finding;
pub mod layers;

use crate::renewal::{SPARE, describe, is_later};
use guestright_error::{Fault as _, RunError};
use guestright_firewall as firewall;
use guestright_identity::{Certificate, Role};
use guestright_portmap::{Reach, Timeouts};
use guestright_roaming::renewal::Notice;
use guestright_units::UnixSeconds;
use guestright_wireguard::{Kernel, Support};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

pub use finding::{Finding, verdict};

/// The bit of `CAP_NET_ADMIN` (capabilities(7)).
const NET_ADMIN: u32 = 12;
/// A certificate that ends within so many seconds is worth a word.
const SOON: u64 = 30 * 86_400;
/// Whoever is asked something on a network nearby has so long to answer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What is there, or what is wrong and what to do about it.
pub type Look = Result<String, (String, String)>;

/// A DHCP server listens at UDP port 67. Which interfaces it serves only its own settings say.
pub fn dhcp(interface: &str) -> Look {
    if is_listening("udp", 67) {
        return Ok("a server listens at UDP port 67".to_owned());
    }
    let to_do = format!(
        "guests need addresses: for example `dnsmasq --interface={interface} --bind-interfaces \
         --dhcp-range=10.73.0.10,10.73.0.200,1h`"
    );
    Err(("nobody listens at UDP port 67".to_owned(), to_do))
}

/// Asks the resolver that guests are given, for the root: whatever it answers, it answers.
pub fn dns(address: Ipv4Addr) -> Look {
    // RFC 1035, section 4.1: a header with one question, for the root's name servers.
    const QUESTION: [u8; 17] = [0x67, 0x72, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1];
    let ask = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.connect((address, 53))?;
        socket.send(&QUESTION)?;
        socket.recv(&mut [0; 512])
    };
    match ask() {
        Ok(_) => Ok(format!("a resolver answers at {address}")),
        Err(error) => Err((
            format!("no resolver answers at {address}: {error}"),
            "guests ask the router for names: let dnsmasq or another resolver listen there".to_owned(),
        )),
    }
}

/// Whether the way to the Internet is there.
pub fn uplink(interface: &str) -> Look {
    firewall::require_interface(interface).map(|()| interface.to_owned()).map_err(|error| {
        let known = firewall::interfaces().join(", ");
        (error.to_string(), format!("name one of those that this computer has: {known}"))
    })
}

/// Whether the kernel carries WireGuard.
pub fn wireguard_of_kernel() -> Look {
    match Kernel::probe() {
        Support::Yes => Ok("the kernel has it, and `wg` is there".to_owned()),
        Support::No(reason) => {
            let to_do = "this program carries the tunnel itself then, which is slower: install wireguard-tools, for a kernel \
                         that has WireGuard";
            Err((reason, to_do.to_owned()))
        }
    }
}

/// Whether a TUN device can be made.
pub fn tun_device() -> Look {
    let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    device.map(|_| "it can be opened".to_owned()).map_err(|error| {
        let to_do = "load the module: modprobe tun; in a container, let it have the device".to_owned();
        (format!("/dev/net/tun: {error}"), to_do)
    })
}

/// A computer that thinks that it is earlier than this program was built has lost its time: certificates seem to be of the
/// future to it.
pub fn clock() -> Look {
    let now = guestright_clock::unix_seconds();
    let built = std::env::current_exe().and_then(|program| program.metadata()?.modified());
    let built = built.ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let built = UnixSeconds(built.map_or(0, |built| built.as_secs()));
    let to_do = "set it, best by a time service: timedatectl set-ntp true".to_owned();
    if now >= built {
        Ok(format!("it is {now}"))
    } else {
        Err((format!("it is {now}, before {built}"), to_do))
    }
}

/// Whether this process may change the network.
pub fn rights() -> Look {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    if effective >> NET_ADMIN & 1 == 1 {
        return Ok("the network may be changed".to_owned());
    }
    let to_do = "run as root, or with CAP_NET_ADMIN, as the units in docs/systemd do".to_owned();
    Err(("this user may not change the network".to_owned(), to_do))
}

/// A port that a program wants to have.
#[derive(Debug)]
pub struct Port {
    pub address: SocketAddr,
    pub is_tcp: bool,
}

impl Port {
    pub fn tcp(ip: IpAddr, port: u16) -> Self {
        Self { address: SocketAddr::new(ip, port), is_tcp: true }
    }

    pub fn udp(ip: IpAddr, port: u16) -> Self {
        Self { address: SocketAddr::new(ip, port), is_tcp: false }
    }

    fn try_out(&self) -> std::io::Result<()> {
        if self.is_tcp {
            TcpListener::bind(self.address).map(drop)
        } else {
            UdpSocket::bind(self.address).map(drop)
        }
    }

    fn name(&self) -> String {
        format!("{} {}", if self.is_tcp { "TCP" } else { "UDP" }, self.address)
    }
}

/// Whether nobody else has them; a program of ours that runs has them itself.
pub fn ports_are_free(ports: &[Port], runs: bool) -> Look {
    let names: Vec<_> = ports.iter().map(Port::name).collect();
    let names = names.join(", ");
    if runs {
        return Ok(format!("{names}: the program runs and has them"));
    }
    match ports.iter().find_map(|port| Some((port, port.try_out().err()?))) {
        None => Ok(format!("{names} are free")),
        Some((port, error)) => {
            let to_do = "end what listens there (`ss -lnp` names it), or set another port".to_owned();
            Err((format!("{}: {error}", port.name()), to_do))
        }
    }
}

/// Whether anything in this network listens at a port, by the kernel's own table (proc(5), `/proc/net`).
pub fn is_listening(protocol: &str, port: u16) -> bool {
    let tables = [format!("/proc/net/{protocol}"), format!("/proc/net/{protocol}6")];
    tables.iter().any(|table| has_port(&std::fs::read_to_string(table).unwrap_or_default(), port))
}

fn has_port(table: &str, port: u16) -> bool {
    let local = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)?.rsplit_once(':'));
    local.map(|(_, port)| port).any(|found| u16::from_str_radix(found, 16) == Ok(port))
}

/// What is to be said of a certificate's file: whether it is in order, and a sentence.
#[derive(Debug)]
pub struct CertificateFile {
    pub path: PathBuf,
    pub good: bool,
    pub says: String,
}

/// The certificates in these directories. Below those of `states` lie what programs have renewed and could not put in the
/// place of the old one.
pub fn certificate_files(directories: &[&str], states: &[&str]) -> Vec<CertificateFile> {
    let renewed = renewed(states);
    let mut found = Vec::new();
    for directory in directories {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "cert"));
        paths.sort();
        found.extend(paths.into_iter().map(|path| examine_file(path, &renewed)));
    }
    found
}

/// What programs have renewed, in their state directories.
fn renewed(states: &[&str]) -> Vec<Certificate> {
    let directories = states.iter().filter_map(|states| std::fs::read_dir(states).ok()).flatten();
    let below = directories.filter_map(|entry| Some(entry.ok()?.path()));
    let all = states.iter().map(PathBuf::from).chain(below);
    all.filter_map(|state| guestright_keys::read_certificate(&state.join(SPARE)).ok()).collect()
}

fn examine_file(path: PathBuf, renewed: &[Certificate]) -> CertificateFile {
    let now = guestright_clock::unix_seconds();
    match guestright_keys::read_certificate(&path) {
        Ok(certificate) => {
            let later = renewed.iter().filter(|it| is_later(it, &certificate));
            let certificate = later.max_by_key(|it| it.not_after()).unwrap_or(&certificate);
            let status = describe(&Notice::of(certificate, now));
            let warning = status["warning"].as_str();
            let holds = format!("{} until {}", certificate.role(), certificate.not_after());
            CertificateFile { good: warning.is_none(), says: warning.map_or(holds, str::to_owned), path }
        }
        Err(error) => CertificateFile { good: false, says: error.to_string(), path },
    }
}

/// A program of others, and what it says of itself.
pub fn tool(what: &'static str, program: &str, argument: &str, to_do: &'static str) -> Finding {
    let output = Command::new(program).arg(argument).stdin(Stdio::null()).output();
    let says = output.as_ref().map_or_else(ToString::to_string, |output| {
        let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        String::from_utf8_lossy(&text).lines().next().unwrap_or_default().chars().take(40).collect()
    });
    Finding { what, good: output.is_ok(), needed: true, says, to_do: to_do.into() }
}

/// Whether an access point can tell one connection from another: it needs that for guests with stock apps.
pub fn connections() -> Finding {
    let connections = firewall::check_connections();
    Finding {
        what: "guests with stock apps",
        good: connections.is_ok(),
        needed: false,
        says: connections
            .map_or_else(|error| error.to_string(), |()| "connections can be looked up".to_owned()),
        to_do: "run as root, with the kernel's nf_conntrack; without /proc/net/nf_conntrack install the package conntrack"
            .into(),
    }
}

/// Whether a home on this computer could be reached through the household's router. A router that does not answer takes some
/// seconds.
pub fn port_mapping() -> Finding {
    let what = "home: the household's router";
    let examined = match guestright_portmap::examine(Timeouts::default()) {
        Ok(examined) => examined,
        Err(error) => {
            let to_do = "a home needs a connection to the Internet; everything else works without".into();
            return Finding { what, good: false, needed: false, says: error.to_string(), to_do };
        }
    };
    let answers = examined.answers.iter().map(|answer| match &answer.outcome {
        Ok(Some(address)) => format!("{}: yes, {address} is {}", answer.method, Reach::of(*address)),
        Ok(None) => format!("{}: yes", answer.method),
        Err(error) => format!("{}: {error}", answer.method),
    });
    let own = examined.uplink.own;
    let says = if Reach::of(own) == Reach::Public {
        format!("{own} is an address of the Internet: nothing has to be mapped")
    } else {
        answers.collect::<Vec<_>>().join("; ")
    };
    let advice = examined.advice();
    Finding { what, good: advice.is_none(), needed: false, says, to_do: advice.unwrap_or_default().into() }
}

/// Whether a certificate is for this role, and if so, for how long. `what` is the first finding's name.
pub fn certificate(what: &'static str, certificate: &Certificate, role: Role) -> Vec<Finding> {
    let now = guestright_clock::unix_seconds();
    let to_do = "ask whoever keeps the team's key for a certificate for this role".to_owned();
    let look =
        certificate.check(role, now).map(|()| format!("a {role} of team {}", certificate.team_id().short()));
    let is_valid = look.is_ok();
    let first = Finding::of(what, true, look.map_err(|error| (error.to_string(), to_do)));
    if !is_valid {
        return vec![first];
    }
    let ends = certificate.not_after();
    let seconds = ends.0.saturating_sub(now.0);
    let days = seconds / 86_400;
    let look = if seconds >= SOON {
        Ok(format!("until {ends}, {days} days more"))
    } else {
        let to_do = "have it renewed before that: guestright team member renew NAME; or let the home renew it: guestright \
                     team renewal init"
            .to_owned();
        Err((format!("it ends on {ends}, in {days} days"), to_do))
    };
    vec![first, Finding::of("its last day", false, look)]
}

/// What is to be said of certificates' files: the first that is not in order is named.
pub fn certificates(found: &[CertificateFile]) -> Finding {
    let what = "certificates";
    let to_do =
        "ask your team for a new one: guestright team member renew NAME; or set this computer's clock";
    let wrong: Vec<_> = found.iter().filter(|each| !each.good).collect();
    let says = match (found, wrong.as_slice()) {
        ([], _) => "there are none here or in /etc/guestright".to_owned(),
        (all, []) => {
            let names = all.iter().map(|each| format!("{}: {}", each.path.display(), each.says));
            names.take(3).collect::<Vec<_>>().join("; ")
        }
        (_, [first, ..]) => {
            let others = wrong.len() - 1;
            let more = if others == 0 { String::new() } else { format!(" (and {others} more)") };
            format!("{}: {}{more}", first.path.display(), first.says)
        }
    };
    Finding { what, good: wrong.is_empty(), needed: false, says, to_do: to_do.into() }
}

/// How many devices a home or an access point serves no more. A list that cannot be read keeps it from starting.
pub fn blocked_devices(kept: Result<usize, RunError>) -> Finding {
    let look = kept.map(|count| match count {
        0 => "none".to_owned(),
        1 => "1 device is not served".to_owned(),
        count => format!("{count} devices are not served"),
    });
    Finding::of("blocked devices", true, look.map_err(|error| fault(&error)))
}

/// An error, as what is wrong and what to do about it.
pub fn fault(error: &RunError) -> (String, String) {
    (error.sentence(), error.hint().unwrap_or_else(|| "correct the setting".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
                     100: 00000000:0043 00000000:0000 07 00000000\n\
                     101: 0100007F:0035 00000000:0000 07 00000000\n";
        assert!(has_port(table, 67) && has_port(table, 53) && !has_port(table, 68));
        assert!(!has_port("", 67));
    }
}

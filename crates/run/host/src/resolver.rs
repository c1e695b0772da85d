//! Who answers questions for names in the network that this computer is in.

use std::net::Ipv4Addr;
use std::path::Path;

/// What programs read, and what systemd-resolved knows behind it (systemd-resolved.service(8)).
const FILES: [&str; 2] = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
/// No such file is longer.
const FILE_MAX: usize = 64 * 1024;

/// The network's resolver; `None` if there is none but one on this computer.
pub(crate) fn upstream() -> Option<Ipv4Addr> {
    FILES.iter().find_map(|file| {
        let bytes = guestright_keys::read_to_limit(Path::new(file), FILE_MAX).ok()?;
        first(&String::from_utf8_lossy(&bytes))
    })
}

/// The first IPv4 resolver of a resolv.conf(5) that others can be sent to.
fn first(text: &str) -> Option<Ipv4Addr> {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok()).flatten()
    });
    servers.into_iter().find(|server: &Ipv4Addr| !server.is_loopback() && !server.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_resolver_that_is_not_on_this_computer() {
        #[rustfmt::skip]
        let cases = [
            ("nameserver 192.168.1.1\nnameserver 9.9.9.9\n",             Some(Ipv4Addr::new(192, 168, 1, 1))),
            ("# nameserver 192.168.1.1\nsearch lan\nnameserver\t9.9.9.9 # far\n", Some(Ipv4Addr::new(9, 9, 9, 9))),
            ("nameserver 127.0.0.53\nnameserver ::1\noptions edns0\n",   None),
            ("nameserver 0.0.0.0\n",                                     None),
            ("nameserver fd00::1\nnameserver 10.0.0.1",                  Some(Ipv4Addr::new(10, 0, 0, 1))),
            ("nameserver\n; x\nnameserver 10.0.0.256\n",                 None),
            ("",                                                         None),
        ];
        for (text, want) in cases {
            assert_eq!(first(text), want, "{text:?}");
        }
    }
}

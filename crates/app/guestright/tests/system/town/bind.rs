//! A DNS server with a zone that a key may change: Debian's BIND.

use super::{Program, Town, until};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// It listens at every address of its host.
pub(crate) const PORT: u16 = 5_353;
pub(crate) const ZONE: &str = "members.example";
pub(crate) const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// Starts it on a host.
pub(crate) fn start(town: &Town, host: &str) -> Program {
    let folder = town.path("bind");
    std::fs::create_dir(&folder).unwrap();
    let directory = folder.display();
    let settings = format!(
        r#"options {{ directory "{directory}"; pid-file none; session-keyfile none; lock-file none;
             listen-on port {PORT} {{ any; }}; listen-on-v6 {{ none; }};
             recursion no; dnssec-validation no; notify no; }};
           controls {{ }};
           key "home" {{ algorithm hmac-sha256; secret "{SECRET}"; }};
           zone "{ZONE}" {{ type primary; file "zone"; update-policy {{ grant home zonesub ANY; }}; }};"#
    );
    let zone = "$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 198.18.40.1\n";
    std::fs::write(folder.join("named.conf"), settings).unwrap();
    std::fs::write(folder.join("zone"), zone).unwrap();
    let mut command = town.world.command(host, "/usr/sbin/named").unwrap();
    command.args(["-g", "-4", "-n", "1", "-c"]).arg(folder.join("named.conf"));
    let program = Program::start(&mut command, &town.path("named.log"));
    until("BIND (Debian's bind9) to run", || program.log().contains(" running"));
    program
}

/// The key for updates, in a file of its owner's alone.
pub(crate) fn write_key(file: &Path) {
    let key = format!("key \"home\" {{\n\talgorithm hmac-sha256;\n\tsecret \"{SECRET}\";\n}};\n");
    std::fs::write(file, key).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// What it says to whoever asks on a host.
pub(crate) fn dig(town: &Town, host: &str, server: &str, kind: &str, name: &str) -> String {
    let mut command = town.world.command(host, "dig").unwrap();
    command.args([&format!("@{server}"), "-p", &PORT.to_string(), "+short", kind, name]);
    String::from_utf8(command.output().expect("dig (Debian's bind9-dnsutils)").stdout).unwrap()
}

//! Radios that ask inside TLS: stock proxies, Debian's radsecproxy and FreeRADIUS, between `eapol_test` and the real programs.
//! `eapol_test`, and hostapd, speak no TLS to a server of RADIUS themselves.

use crate::credit::region::{Household, Region, Terms};
use crate::town::{Program, inside, succeeded, until};
use serde_json::Value;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const STATION: &str = "02:00:00:00:00:31";
/// What `eapol_test` and a proxy share.
const SECRET: &str = "between-radio-and-proxy";
/// Where the access point awaits RadSec.
const DOOR: &str = "127.0.0.1:2083";

/// One household with a phone of its own.
struct House {
    region: Region,
    profile: String,
    _household: Household,
}

impl House {
    fn open() -> Self {
        let mut region = Region::build(&[Terms::new("p", 1_000_000_000)]);
        region.log_level = "info";
        region.make_gateway("p");
        region.append(
            "p",
            "ap.toml",
            &format!(
                "[phones]\nradsec = \"{DOOR}\"\nradsec_certificate = \"ap.pem\"\nradsec_key = \"ap.key\"\n\
                 radsec_authority = \"radios.pem\"\n"
            ),
        );
        for authority in ["radios", "others"] {
            openssl(
                &region,
                &["req", "-x509", "-subj", &format!("/CN={authority}"), "-days", "30"],
                authority,
            );
        }
        certificate(&region, "radios", "ap", "serverAuth");
        certificate(&region, "radios", "proxy", "clientAuth");
        certificate(&region, "others", "stranger", "clientAuth");
        let household = region.open("p");
        region.run("p", &["team", "member", "add", "carol", "--phone", "--dir", "."]);
        let profile = std::fs::read_to_string(region.path("p", "carol-phone/wpa_supplicant.conf")).unwrap();
        Self { region, profile, _household: household }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.region.path("p", name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.region.world.command("p", program).unwrap();
        command.current_dir(self.file("")).stdin(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let output = self.command(program).args(arguments).output();
        output.unwrap_or_else(|error| panic!("`{program}`: {error}: sh scripts/setup.sh test"))
    }

    fn phones(&self) -> Value {
        self.region.ask("p", "ap", &["status"])["phones"].clone()
    }

    /// radsecproxy at UDP 11812, for questions and reports, with this certificate.
    fn start_radsecproxy(&self, certificate: &str) -> Program {
        let settings = format!(
            "ListenUDP 127.0.0.1:11812\n\
             tls default {{\n CACertificateFile radios.pem\n CertificateFile {certificate}.pem\n \
             CertificateKeyFile {certificate}.key\n}}\n\
             client radio {{\n host 127.0.0.1\n type udp\n secret {SECRET}\n}}\n\
             server ap {{\n host 127.0.0.1\n port 2083\n type tls\n secret radsec\n statusServer on\n}}\n\
             realm * {{\n server ap\n accountingServer ap\n}}\n"
        );
        let path = self.write("radsecproxy.conf", &settings);
        let mut command = self.command("radsecproxy");
        Program::start(command.args(["-f", "-d", "2", "-c"]).arg(path), &self.file("radsecproxy.log"))
    }

    /// FreeRADIUS at UDP 21812, which carries everything on.
    fn start_freeradius(&self) -> Program {
        let here = self.file("freeradius");
        std::fs::create_dir(&here).unwrap();
        let (here, files) = (here.display(), self.file(""));
        let files = files.display();
        let settings = format!(
            "prefix = /usr\nlibdir = /usr/lib/freeradius\nlogdir = {here}\nrun_dir = {here}\npidfile = {here}/pid\n\
             max_request_time = 30\nproxy_requests = yes\nsecurity {{\n reject_delay = 0\n}}\n\
             home_server ap {{\n type = auth+acct\n ipaddr = 127.0.0.1\n port = 2083\n proto = tcp\n secret = radsec\n \
             response_window = 30\n tls {{\n  certificate_file = {files}/proxy.pem\n  private_key_file = {files}/proxy.key\n  \
             ca_file = {files}/radios.pem\n  tls_min_version = \"1.2\"\n  tls_max_version = \"1.3\"\n }}\n}}\n\
             home_server_pool ap {{\n home_server = ap\n}}\nrealm guestright {{\n pool = ap\n nostrip\n}}\n\
             client radio {{\n ipaddr = 127.0.0.1\n secret = {SECRET}\n}}\nmodules {{\n}}\n\
             server default {{\n listen {{\n  type = auth\n  ipaddr = 127.0.0.1\n  port = 21812\n }}\n \
             authorize {{\n  update control {{\n   Proxy-To-Realm := \"guestright\"\n  }}\n }}\n}}\n"
        );
        std::fs::write(self.file("freeradius/radiusd.conf"), settings).unwrap();
        let mut command = self.command("freeradius");
        command.args(["-X", "-d"]).arg(self.file("freeradius"));
        let program = Program::start(&mut command, &self.file("freeradius.log"));
        program.hear_line("to be ready", |line| line.contains("Ready to process requests"));
        program
    }

    /// The phone, asked about at this port. Whether it is in, and what `eapol_test` says.
    fn join(&self, port: &str) -> (bool, String) {
        self.write("eapol.conf", &self.profile);
        let arguments =
            ["-c", "eapol.conf", "-a", "127.0.0.1", "-p", port, "-s", SECRET, "-M", STATION, "-t", "30"];
        let output = self.run("eapol_test", &arguments);
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn until_connected(&self) {
        until("the proxy to be connected", || self.phones()["radsec"]["connections"][0].is_string());
    }
}

/// A key on P-256 and a certificate, as NAME.key and NAME.pem.
fn openssl(region: &Region, arguments: &[&str], name: &str) {
    let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
    let mut command = Command::new("openssl");
    command.args(arguments).args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    command.args(["-keyout", &key, "-out", &certificate]).current_dir(region.path("p", ""));
    succeeded(&command.output().unwrap());
}

fn certificate(region: &Region, authority: &str, name: &str, purpose: &str) {
    let directory = region.path("p", "");
    openssl(region, &["req", "-new", "-subj", &format!("/CN={name}")], name);
    let request = format!("{name}.csr");
    std::fs::rename(directory.join(format!("{name}.pem")), directory.join(&request)).unwrap();
    let more = format!("subjectAltName=DNS:{name},IP:127.0.0.1\nextendedKeyUsage={purpose}\n");
    std::fs::write(directory.join("extensions"), more).unwrap();
    let mut command = Command::new("openssl");
    command.args([
        "x509",
        "-req",
        "-days",
        "30",
        "-CAcreateserial",
        "-extfile",
        "extensions",
        "-in",
        &request,
    ]);
    command.args(["-CA", &format!("{authority}.pem"), "-CAkey", &format!("{authority}.key")]);
    command.args(["-out", &format!("{name}.pem")]).current_dir(directory);
    succeeded(&command.output().unwrap());
}

#[test]
fn a_phone_joins_through_radsecproxy_and_is_reported_on_the_same_connection() {
    if !inside("phones::radsec::a_phone_joins_through_radsecproxy_and_is_reported_on_the_same_connection") {
        return;
    }
    let house = House::open();
    let _proxy = house.start_radsecproxy("proxy");
    house.until_connected();
    let (is_in, log) = house.join("11812");
    assert!(is_in && log.contains("MPPE keys OK: 1  mismatch: 0"), "{log}");
    let phones = house.phones();
    assert_eq!((&phones["counters"]["opened"], &phones["joined"][0]["mac"]), (&1.into(), &STATION.into()));
    let user = "User-Name = \"anonymous@example.org\"\nAcct-Session-Id = \"1\"\nAcct-Status-Type = Stop\n";
    house.write("stop", &format!("{user}Calling-Station-Id = \"{STATION}\"\n"));
    let report = house.run("radclient", &["-x", "-f", "stop", "127.0.0.1:11812", "acct", SECRET]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains("Received Accounting-Response"), "{report}");
    until("the phone to have gone", || house.phones()["joined"] == serde_json::json!([]));
    assert_eq!(house.phones()["radsec"]["connections"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_phone_joins_through_freeradius() {
    if !inside("phones::radsec::a_phone_joins_through_freeradius") {
        return;
    }
    let house = House::open();
    let _proxy = house.start_freeradius();
    let (is_in, log) = house.join("21812");
    assert!(is_in && log.contains("MPPE keys OK: 1  mismatch: 0"), "{log}");
    let phones = house.phones();
    assert_eq!(phones["counters"]["opened"], 1, "{phones:#}");
    assert_eq!(phones["radsec"]["connections"].as_array().map(Vec::len), Some(1), "{phones:#}");
}

#[test]
fn a_proxy_of_another_authority_is_refused_and_the_household_sees_why() {
    if !inside("phones::radsec::a_proxy_of_another_authority_is_refused_and_the_household_sees_why") {
        return;
    }
    let house = House::open();
    let _stranger = house.start_radsecproxy("stranger");
    let reason = || house.phones()["radsec"]["last_refusal"].as_str().unwrap_or_default().to_owned();
    until("the stranger to be refused", || reason().contains("UnknownIssuer"));
    // Whoever has no certificate at all, by another program.
    house.run("openssl", &["s_client", "-connect", DOOR, "-CAfile", "radios.pem", "-tls1_2", "-brief"]);
    until("whoever shows nothing to be refused", || reason().contains("sent no certificates"));
    let phones = house.phones();
    assert_eq!(phones["radsec"]["connections"], serde_json::json!([]), "{phones:#}");
    assert_eq!(phones["counters"], serde_json::json!({}), "nothing of theirs was looked at: {phones:#}");
}

/// From this computer, and so from the proxy's address: nobody else could be in its way as much.
#[test]
fn connections_without_end_do_not_keep_phones_out() {
    if !inside("phones::radsec::connections_without_end_do_not_keep_phones_out") {
        return;
    }
    let house = House::open();
    let _proxy = house.start_radsecproxy("proxy");
    house.until_connected();
    let connect = || (0..500).map(|_| TcpStream::connect(DOOR).unwrap()).collect::<Vec<_>>();
    let flood = house.region.world.within("p", connect).unwrap();
    let (is_in, log) = house.join("11812");
    assert!(is_in, "{log}");
    until("all of them to be refused", || house.phones()["radsec"]["refused"] == flood.len());
    let radsec = house.phones()["radsec"].clone();
    assert_eq!(radsec["handshakes"], 0, "{radsec:#}");
    assert_eq!(radsec["connections"].as_array().map(Vec::len), Some(1), "{radsec:#}");
}

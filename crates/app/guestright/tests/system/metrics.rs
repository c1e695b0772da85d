//! The metrics, as Prometheus fetches them from the programs: the board's queries, and the alerts.

mod prometheus;

use crate::page::{Answer, ask, request};
use crate::town::client::{Client, Member, Transport};
use crate::town::{Program, Rules, Town, WEB, inside, succeeded, until};
use guestright_receipt::Bundle;
use prometheus::Prometheus;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

const HOME: &str = "127.0.0.1:7278";
const AP: &str = "192.168.1.1:7279";
const CARRIED: usize = 300_000;
/// What the household gives away in a day: a slice is never smaller than what is left of it, if that is little.
const ALLOWANCE: u64 = 1_000_000;
const STORE_BYTES: u64 = 16 << 20;

fn packaging(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/metrics")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(packaging(name)).unwrap()
}

/// A household whose programs have ports for metrics, and whose store is small.
fn household() -> Town {
    let town = Town::build(Rules { interval_ms: 2_000, ..Rules::default() });
    town.serve_tcp("net", WEB, &crate::town::services::AccessLog::default());
    for (program, address) in [("home", HOME), ("ap", AP)] {
        let file = town.path(&format!("house/{program}.toml"));
        let settings = std::fs::read_to_string(&file).unwrap();
        let given = format!("allowance_bytes_per_day = {ALLOWANCE}\nfounding_bytes = 0");
        let settings = settings.replace("allowance_bytes_per_day = 1000000000000", &given);
        std::fs::write(&file, format!("{settings}[metrics]\nlisten = \"{address}\"\n")).unwrap();
    }
    let state = town.path("house/home-state");
    std::fs::create_dir(&state).unwrap();
    let size = format!("mode=700,size={STORE_BYTES}");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "small"]).arg(&state).status();
    assert!(mounted.unwrap().success());
    town
}

fn scrape(town: &Town, host: &str, address: &str) -> Answer {
    ask(town, host, address, &request("GET", "/metrics", address, &[], ""))
}

/// The names of the metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types.map(|(name, _)| name.to_owned()).collect()
}

fn documented(title: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(packaging("../../docs/metrics.md")).unwrap();
    let after = page.split_once(&format!("\n## {title}\n")).unwrap().1;
    let rows = after.split("\n## ").next().unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

fn names_of_alerts() -> BTreeSet<String> {
    read("alerts.yml")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .map(str::to_owned)
        .collect()
}

fn promtool(arguments: &[&str]) -> Output {
    Command::new("promtool").args(arguments).current_dir(packaging("")).output().unwrap()
}

#[test]
fn each_alert_is_documented_and_tested_by_prometheus_own_tool() {
    let names = names_of_alerts();
    assert_eq!(documented("The board and the alerts"), names);
    for arguments in [&["check", "rules", "alerts.yml"][..], &["check", "config", "prometheus.yml"]] {
        let output = promtool(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let output = promtool(&["test", "rules", "alerts.test.yml"]);
    let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{words}");
    let tests = read("alerts.test.yml");
    for name in names {
        assert!(tests.contains(&format!("alertname=\"{name}\"")), "nothing shows that {name} fires");
        assert!(tests.contains(&format!("\"{name} is silent\"")), "nothing shows that {name} can be silent");
    }
}

#[test]
fn the_board_asks_for_nothing_that_is_not_exported() {
    let exported = &documented("Of a home") | &documented("Of an access point");
    let alerts = read("alerts.yml");
    let alerts = alerts.lines().filter(|line| !line.contains(": \"")).map(str::to_owned);
    for query in prometheus::queries(&read("guestright.json")).into_iter().chain(alerts) {
        let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for word in words.filter(|word| word.starts_with("guestright_") || word.starts_with("process_")) {
            let name = word.strip_suffix("_bucket").unwrap_or(word);
            assert!(exported.contains(name), "{name} in {query}");
        }
    }
}

#[test]
fn the_metrics_are_for_the_household_and_name_nobody() {
    if !inside("metrics::the_metrics_are_for_the_household_and_name_nobody") {
        return;
    }
    let town = household();
    let (_home, _ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let (home, ap) = (scrape(&town, "router", HOME), scrape(&town, "pc", AP));
    for (answer, title) in [(&home, "Of a home"), (&ap, "Of an access point")] {
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(names(&answer.body), documented(title), "{title}");
        let certificate = guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap();
        let (team, member) = (certificate.team_id(), certificate.subject_id());
        for secret in [team.to_string(), team.short(), member.to_string(), town.address_of("member")] {
            assert!(!answer.body.contains(&secret), "{secret} is in:\n{}", answer.body);
        }
    }
    let rebound = request("GET", "/metrics", "router.example:7279", &[], "");
    assert_eq!(ask(&town, "pc", AP, &rebound).status, 421);
    let foreign = request("GET", "/metrics", AP, &["sec-fetch-site: cross-site"], "");
    assert_eq!(ask(&town, "pc", AP, &foreign).status, 403);
    // A guest with a session and a stranger without one reach neither port at any of the router's addresses.
    for guest in ["member", "hostile"] {
        for ip in ["10.11.0.1", "192.168.1.1", "203.0.113.1", "198.51.100.2"] {
            for port in [7_278, 7_279] {
                let address = SocketAddr::new(ip.parse().unwrap(), port);
                let short = Duration::from_millis(300);
                let reached =
                    town.world.within(guest, || TcpStream::connect_timeout(&address, short)).unwrap();
                assert!(reached.is_err(), "{guest} has reached {address}");
            }
        }
    }
    let sockets =
        ["house/home-state/metrics.sock", "house/home-state/page.sock", "house/ap-state/metrics.sock"];
    for socket in sockets {
        let mut stream = UnixStream::connect(town.path(socket)).unwrap();
        stream.write_all(request("GET", "/metrics", "localhost", &[], "").as_bytes()).unwrap();
        let answer = Answer::read(stream);
        assert!(
            answer.status == 200 && answer.head.contains("content-type: text/plain"),
            "{socket}: {}",
            answer.head
        );
        let want = if socket.contains("ap-state") { &ap } else { &home };
        assert_eq!(names(&answer.body), names(&want.body), "{socket}");
    }
}

#[test]
fn every_panel_of_the_board_has_data_and_alerts_fire() {
    if !inside("metrics::every_panel_of_the_board_has_data_and_alerts_fire") {
        return;
    }
    let town = household();
    let (mut home, mut ap) = town.open();
    let prometheus = Prometheus::start(&town, &[("guestright-home", HOME), ("guestright-ap", AP)]);
    prometheus
        .until("both programs to be fetched twice", "min(count_over_time(up[1h])) >= 2 and sum(up) == 2");
    // The store has little room from the beginning on; nothing else is wrong.
    prometheus.until_firing(&["GuestrightStoreFull"]);

    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", CARRIED).unwrap(), CARRIED);
    town.until_home_is_owed(CARRIED as u64);
    let carried = format!(
        "sum(guestright_carried_bytes_total) >= {CARRIED} and sum(guestright_signed_bytes_total) >= {CARRIED}"
    );
    prometheus.until("what was carried to be counted", &carried);
    for query in prometheus::queries(&read("guestright.json")) {
        prometheus.until("each panel to have data", &query.replace("$__rate_interval", "1m"));
    }
    prometheus.until_firing(&["GuestrightAllowanceUsedUp", "GuestrightStoreFull"]);

    // Strangers are refused, and much more often than before.
    for number in 0..24 {
        let stranger = Member::new(100 + number, 200 + number);
        let mut client = Client::new(&town, "hostile", Transport::Tcp);
        let refused = client.ask_again(&stranger.certificate, 1, Bundle::default()).unwrap_err();
        assert!(refused.contains("has given away"), "{refused}");
    }
    prometheus
        .until("refusals to be counted", "guestright_refusals_total{reason=\"allowance-used-up\"} >= 24");
    prometheus.until_also("GuestrightRefusalsRise");

    // Somebody changes the firewall, and goes on doing so.
    for times in 1..=4 {
        town.world.run("router", "ip", &["route", "flush", "table", "7274"]).unwrap();
        let mended = format!("guestright_firewall_mended_total{{part=\"routing rules\"}} >= {times}");
        prometheus.until("the routing rules to be put back", &mended);
    }
    prometheus.until_also("GuestrightFirewallChanged");
    town.world.run("router", "ip", &["address", "del", "10.11.0.1/24", "dev", "guests"]).unwrap();
    prometheus.until_also("GuestrightFirewallLayerDown");
    town.world.run("router", "ip", &["address", "add", "10.11.0.1/24", "dev", "guests"]).unwrap();
    prometheus.until("the firewall to be in order", "guestright_firewall_trouble == 0");
    drop(visit);

    // Few descriptors are left.
    let open = prometheus.value("process_open_fds{job=\"guestright-home\"}");
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let few = Rlimit { current: Some(open + open / 8 + 1), maximum };
    let before = prlimit(Some(home.pid()), Resource::Nofile, few).unwrap();
    prometheus.until_also("GuestrightDescriptorsLow");
    prlimit(Some(home.pid()), Resource::Nofile, before).unwrap();

    // The disk is full.
    let filler = town.path("house/home-state/filler");
    let filled = std::fs::write(&filler, vec![0; usize::try_from(STORE_BYTES).unwrap()]);
    assert!(filled.is_err());
    let (sponsor, guests) = (["home", "sponsor"], team_of_guests(&town));
    let more = ["--megabytes", "5", "--config", "house/home.toml"];
    town.run_on("router", &[&sponsor[..], &[&guests], &more].concat());
    prometheus.until_also("GuestrightStoreFails");
    std::fs::remove_file(filler).unwrap();

    // One program goes, and then the other.
    ap.kill();
    prometheus.until_also("GuestrightAccessPointDown");
    prometheus.until_also("GuestrightAccessPointGone");
    let _ap = town.start("ap");
    prometheus.until("the access point to be back", "guestright_home_up == 1");
    home.kill();
    prometheus.until_also("GuestrightHomeDown");
    prometheus.until_also("GuestrightHomeUnreachable");

    // It comes back with a clock that is two minutes ahead.
    let ahead = [
        ("LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1"),
        ("FAKETIME", "+2m"),
        ("DONT_FAKE_MONOTONIC", "1"),
    ];
    let _home = town.start_with("home", &ahead);
    prometheus.until_also("GuestrightClockWrong");
}

#[test]
fn alerts_of_certificates_near_their_end_fire() {
    if !inside("metrics::alerts_of_certificates_near_their_end_fire") {
        return;
    }
    let town = household();
    // The home's certificate, and one of a member's tunnel, end within the week.
    succeeded(&town.run(&["team", "member", "renew", "home", "--days", "5", "--dir", "house"]));
    let endpoint = ["--endpoint", "198.51.100.2:51820", "--network", "10.73.5.0/24"];
    succeeded(&town.run(&[&["team", "gateway", "init", "--dir", "house"], &endpoint[..]].concat()));
    succeeded(&town.run(&["team", "member", "add", "ida", "--qr", "--days", "5", "--dir", "house"]));
    succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
    let file = town.path("house/home.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let gateway = "[gateway]\nuplink_interface = \"uplink\"\n";
    std::fs::write(&file, format!("revocations = \"revocations\"\n{settings}{gateway}")).unwrap();
    let (_home, _ap) = town.open();
    let prometheus = Prometheus::start(&town, &[("guestright-home", HOME), ("guestright-ap", AP)]);
    prometheus.until("both programs to be fetched twice", "min(count_over_time(up[1h])) >= 2");
    prometheus.until_firing(&[
        "GuestrightCertificateEnds",
        "GuestrightDeviceCertificateEnds",
        "GuestrightStoreFull",
    ]);
}

/// strace(1) on a running program: each time that it waits for its disk takes so much longer. Ends when it is dropped.
fn slow_disk(town: &Town, program: &Program, delay: Duration) -> Program {
    let delay = format!("inject=fsync,fdatasync:delay_enter={}", delay.as_micros());
    let mut strace = Command::new("strace");
    strace.args(["--follow-forks", "--trace=fsync,fdatasync", "-e", &delay, "--attach"]);
    strace.arg(program.pid().as_raw_nonzero().to_string());
    let tracer = Program::start(&mut strace, &town.path("strace.log"));
    until("strace to be attached", || tracer.log().contains(" attached"));
    tracer
}

#[test]
fn alerts_of_guests_who_wait_fire() {
    if !inside("metrics::alerts_of_guests_who_wait_fire") {
        return;
    }
    let town = household();
    let (home, _ap) = town.open();
    let prometheus = Prometheus::start(&town, &[("guestright-home", HOME), ("guestright-ap", AP)]);
    prometheus.until("both programs to be fetched twice", "min(count_over_time(up[1h])) >= 2");
    prometheus.until_firing(&["GuestrightStoreFull"]);

    // What the access point asks its home is lost on the way: the guest waits until the access point decides alone.
    let lossy = "chain in {\ntype filter hook input priority -300\ntcp dport 7274 drop\n}";
    town.nft(&format!("table inet lossy {{\n{lossy}\n}}\n"));
    let (visit, _) = town.arrive("member", "guests", "member");
    prometheus.until_also("GuestrightSetupSlow");
    town.nft("delete table inet lossy");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    drop(visit);

    // The home's disk takes more than half a second until something is durable, and no grant is given before.
    let _tracer = slow_disk(&town, &home, Duration::from_millis(700));
    let (_visit, _) = town.arrive("resident", "guests", "second");
    prometheus.until_also("GuestrightDecisionsSlow");
}

fn team_of_guests(town: &Town) -> String {
    guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap().team_id().to_string()
}

#[test]
fn a_port_that_the_internet_reaches_is_refused_and_so_is_one_that_is_taken() {
    if !inside("metrics::a_port_that_the_internet_reaches_is_refused_and_so_is_one_that_is_taken") {
        return;
    }
    let town = household();
    let file = town.path("house/home.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let run = |address: &str| {
        std::fs::write(&file, settings.replace(HOME, address)).unwrap();
        let output = town.run_on("router", &["home", "--json", "--config", "house/home.toml"]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let words = run("198.51.100.2:7278");
    assert!(words.contains("no address within a household") && words.contains("[metrics]"), "{words}");
    let _taken = town.world.within("router", || std::net::TcpListener::bind(HOME)).unwrap().unwrap();
    let words = run(HOME);
    assert!(words.contains("no door can be opened at 127.0.0.1:7278"), "{words}");
    let shown: Value = {
        std::fs::write(&file, &settings).unwrap();
        let shown = succeeded(
            &town.run_on("router", &["home", "--show-config", "--json", "--config", "house/home.toml"]),
        );
        serde_json::from_str(&shown).unwrap()
    };
    assert_eq!(shown["metrics"]["listen"], HOME);
}

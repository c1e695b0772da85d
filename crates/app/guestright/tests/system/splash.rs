//! Stock HTTP clients at an access point with a splash page: before a session, in one, and after a trial.

use crate::town::services::AccessLog;
use crate::town::{Program, Rules, Town, WEB, closed, guestright, inside, session, succeeded, until};
use guestright_splash::{Online, PROBES};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const PAGE: &str = "http://10.11.0.1:7280/";
const TRIAL: u64 = 2_000_000;

/// What curl got.
#[derive(Debug)]
struct Answer {
    status: String,
    location: String,
    body: String,
    /// curl's own code: 7 is a connection that was refused.
    code: Option<i32>,
    took: Duration,
}

fn curl(town: &Town, host: &str, arguments: &[&str]) -> Answer {
    let began = Instant::now();
    let mut command = town.world.command(host, "curl").unwrap();
    command.args(["--silent", "--max-time", "20", "--write-out", "\n%{http_code} %{redirect_url}"]);
    let output = command.args(arguments).output().expect("curl, of the group `test` in scripts/setup.sh");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, last) = text.rsplit_once('\n').unwrap();
    let (status, location) = last.split_once(' ').unwrap();
    let [status, location, body] = [status, location, body].map(str::to_owned);
    Answer { status, location, body, code: output.status.code(), took: began.elapsed() }
}

/// A page of the Internet, by its name.
fn ask(town: &Town, host: &str, name: &str, path: &str) -> Answer {
    let resolve = format!("{name}:80:192.0.2.1");
    curl(town, host, &["--resolve", &resolve, &format!("http://{name}{path}")])
}

fn town(more: &str) -> Town {
    let town = Town::build(Rules { splash: true, ..Rules::default() });
    let path = town.path("house/ap.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}terms = \"Be kind.\"\n{more}")).unwrap();
    town
}

/// The Internet's own answer to whatever page.
fn serve_pages(town: &Town) {
    let listener = town.world.within("net", || TcpListener::bind(WEB)).unwrap().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            // Whoever has gone does not get it.
            let _ = stream.read(&mut [0; 4_096]);
            let _ =
                stream.write_all(b"HTTP/1.1 299 Outside\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
    });
}

fn token(page: &str) -> &str {
    page.split("name=\"token\" value=\"").nth(1).expect("the page has a button").split('"').next().unwrap()
}

fn press(town: &Town, host: &str, token: &str, more: &[&str]) -> Answer {
    let form = format!("token={token}&language=en");
    curl(town, host, &[&["--data", &form], more, &[&format!("{PAGE}trial")]].concat())
}

#[test]
fn every_probe_leads_to_the_page_until_there_is_a_session_and_again_after_it() {
    if !inside("splash::every_probe_leads_to_the_page_until_there_is_a_session_and_again_after_it") {
        return;
    }
    let town = town("");
    serve_pages(&town);
    let (_home, _ap) = town.open();
    for probe in PROBES {
        let answer = ask(&town, "member", probe.host, probe.path);
        assert_eq!((answer.status.as_str(), answer.location.as_str()), ("302", PAGE), "{probe:?}");
        assert_eq!(answer.body, "", "{probe:?}: an empty redirect");
    }
    let page = curl(
        &town,
        "member",
        &["--location", "--resolve", "captive.apple.com:80:192.0.2.1", "http://captive.apple.com/"],
    );
    assert!(page.body.contains("The Rivers") && page.body.contains("Be kind."), "{page:?}");
    assert!(page.body.contains("You are not online yet") && !page.body.contains("<button"), "{page:?}");
    for url in ["https://192.0.2.1/", "https://10.11.0.1/", "http://10.11.0.1/"] {
        let refused = curl(&town, "member", &["--insecure", "--connect-timeout", "3", url]);
        assert_eq!(refused.code, Some(if url.contains("192") { 7 } else { 28 }), "{url}: {refused:?}");
        assert!(url.contains("10.11") || refused.took < Duration::from_secs(1), "{url}: {refused:?}");
    }

    let (visit, class) = town.arrive("member", "guests", "member");
    for probe in PROBES.iter().filter(|probe| probe.online != Online::Page) {
        let answer = ask(&town, "member", probe.host, probe.path);
        assert_eq!(answer.status, "299", "{probe:?}: it goes past us");
    }
    let page = curl(&town, "member", &[PAGE]);
    assert!(page.body.contains("You are online"), "{class}: {page:?}");
    assert_eq!(ask(&town, "resident", "captive.apple.com", "/").status, "302", "somebody else's session");
    let ended = town.leave(visit);
    assert_eq!(ended["code"], "closed", "{ended}");
    until("the page to be in the way again", || {
        ask(&town, "member", "captive.apple.com", "/").status == "302"
    });
}

#[test]
fn a_name_that_is_not_ours_gets_nothing_of_the_guest() {
    if !inside("splash::a_name_that_is_not_ours_gets_nothing_of_the_guest") {
        return;
    }
    let town = town("trial = \"2 MB\"\n");
    serve_pages(&town);
    let (_home, _ap) = town.open();
    let page = curl(&town, "member", &[PAGE]);
    let own = token(&page.body);
    // A page of somebody else's whose name was made to point at us, and one that a person wanted to see.
    for arguments in [
        ["--resolve", "evil.example:7280:10.11.0.1", "http://evil.example:7280/"],
        ["--resolve", "evil.example:80:192.0.2.1", "http://evil.example/"],
        ["--header", "Host: 192.0.2.1", PAGE],
        ["--header", "Host: 10.11.0.1:80", PAGE],
    ] {
        let answer = curl(&town, "member", &arguments);
        assert_eq!(answer.status, "421", "{arguments:?}: {answer:?}");
        assert!(answer.body.contains(PAGE) && !answer.body.contains("token"), "{arguments:?}: {answer:?}");
    }
    for (more, want) in [
        (vec!["--header", "Origin: http://evil.example"], "403"),
        (vec!["--header", "Sec-Fetch-Site: cross-site"], "403"),
        (vec!["--header", "Host: evil.example"], "421"),
    ] {
        assert_eq!(press(&town, "member", own, &more).status, want, "{more:?}");
    }
    assert_eq!(press(&town, "resident", own, &[]).status, "403", "another station's token");
    let trials = &town.status()["splash"]["trials"];
    assert_eq!((&trials["begun"], &trials["running"]), (&0.into(), &0.into()), "{trials}");
}

#[test]
fn a_trial_carries_what_it_offers_and_nobody_elses_packets() {
    if !inside("splash::a_trial_carries_what_it_offers_and_nobody_elses_packets") {
        return;
    }
    let town = town("trial = \"2 MB\"\ntrials_per_day = \"3 MB\"\n");
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let page = curl(&town, "member", &[PAGE]);
    let answer = press(&town, "member", token(&page.body), &[]);
    assert_eq!((answer.status.as_str(), answer.location.as_str()), ("303", "http://10.11.0.1:7280/en"));
    let page = curl(&town, "member", &[&answer.location]);
    assert!(page.body.contains("You are online"), "it runs when the answer is there: {page:?}");
    assert_eq!(ask(&town, "resident", "captive.apple.com", "/").status, "302", "it is one station's");
    // A second one would be more than there is for all in a day.
    assert!(!curl(&town, "resident", &[PAGE]).body.contains("<button"));
    let half = usize::try_from(TRIAL / 2).unwrap();
    assert_eq!(town.download("member", half).unwrap(), half);
    let rest = town.download_within("member", half * 4, Duration::from_secs(3)).unwrap_or_default();
    let status =
        town.until_status("the trial to be over", |status| status["splash"]["trials"]["running"] == 0);
    let trials = &status["splash"]["trials"];
    let carried = trials["carried"].as_u64().unwrap();
    assert!((TRIAL - 131_072..=TRIAL).contains(&carried), "{trials}, {rest} more were downloaded");
    let page = curl(&town, "member", &[PAGE]);
    assert!(!page.body.contains("You are online") && !page.body.contains("<button"), "one a day: {page:?}");
    assert!(status["sessions"].as_array().unwrap().is_empty());
    let printed =
        guestright().args(["ap", "status", "--config"]).arg(town.path("house/ap.toml")).output().unwrap();
    assert!(succeeded(&printed).contains("trials    0 running, 1 since the start"), "{printed:?}");
    // The household's other guests are served as ever.
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    town.leave(visit);
}

#[test]
fn a_session_that_begins_in_a_trial_counts_its_own_bytes() {
    if !inside("splash::a_session_that_begins_in_a_trial_counts_its_own_bytes") {
        return;
    }
    let town = town("trial = \"20 MB\"\n");
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let page = curl(&town, "member", &[PAGE]);
    press(&town, "member", token(&page.body), &[]);
    assert_eq!(town.download("member", 5_000_000).unwrap(), 5_000_000);
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 1_000_000).unwrap(), 1_000_000);
    let ended = town.leave(visit);
    let ip = town.address_of("member");
    let status = town.until_status("the session to be over", |status| closed(status, &ip)["end"] == "closed");
    let session = closed(&status, &ip);
    let counted = session["counted"].as_u64().unwrap();
    assert!((1_000_000..1_200_000).contains(&counted), "{session}, {ended}");
    assert_eq!(session["signed"], session["counted"], "{ended}");
    let trials = &status["splash"]["trials"];
    let carried = trials["carried"].as_u64().unwrap();
    assert!(trials["running"] == 0 && (5_000_000..5_700_000).contains(&carried), "{trials}");
}

#[test]
fn there_is_no_trial_while_the_home_is_away_and_a_restart_brings_no_second_day() {
    if !inside("splash::there_is_no_trial_while_the_home_is_away_and_a_restart_brings_no_second_day") {
        return;
    }
    let town = town("trial = \"20 MB\"\n");
    let home_settings = town.path("house/home.toml");
    let text = std::fs::read_to_string(&home_settings).unwrap();
    std::fs::write(
        &home_settings,
        text.replace(
            "allowance_bytes_per_day = 1000000000000",
            "allowance_bytes_per_day = 30000000\nfounding_bytes = 0",
        ),
    )
    .unwrap();
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (mut home, mut ap) = town.open();
    let page = curl(&town, "member", &[PAGE]);
    press(&town, "member", token(&page.body), &[]);
    let (left, half) = (town.ask("home")["credit"]["allowance"]["left"].as_u64(), Some(15_000_000));
    assert!(left >= half, "guests that sign find half of the allowance: {left:?}, {}", town.ask("home"));
    assert!(curl(&town, "member", &[PAGE]).body.contains("You are online"), "with what the other half has");
    ap.kill();
    let ap = town.start("ap");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let page = curl(&town, "member", &[PAGE]);
    press(&town, "member", token(&page.body), &[]);
    assert!(
        !curl(&town, "member", &[PAGE]).body.contains("You are online"),
        "the home remembers what was given"
    );
    home.kill();
    town.until_status("the home to be missed", |status| status["home_up"] == false);
    let page = curl(&town, "resident", &[PAGE]);
    assert!(!page.body.contains("<button") && page.status == "200", "{page:?}");
    drop(ap);
}

/// Opens a connection to the page from a host.
fn connect(town: &Town, host: &str) -> std::io::Result<TcpStream> {
    let address = "10.11.0.1:7280".parse().unwrap();
    town.world.within(host, || TcpStream::connect_timeout(&address, Duration::from_secs(2))).unwrap()
}

#[test]
fn clients_that_are_slow_huge_or_many_take_nobody_elses_page_or_session() {
    if !inside("splash::clients_that_are_slow_huge_or_many_take_nobody_elses_page_or_session") {
        return;
    }
    let town = town("");
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, ap) = town.open();
    // Many that say nothing, or a letter at a time.
    let mut slow: Vec<TcpStream> = (0..40).filter_map(|_| connect(&town, "hostile").ok()).collect();
    let page = curl(&town, "member", &[PAGE]);
    assert!(page.status == "200" && page.took < Duration::from_secs(3), "{page:?}");
    let connections = town.status()["splash"]["connections"].as_u64().unwrap();
    assert!(connections <= 9, "a station has eight at a time: {connections}");
    thread::scope(|scope| {
        scope.spawn(|| {
            for letter in b"GET / HTTP/1.1\r\nHost: 10.11.0.1:7280\r\nX: ".iter().chain([b'x'; 40].iter()) {
                slow.iter_mut().for_each(|stream| drop(stream.write_all(&[*letter])));
                thread::sleep(Duration::from_millis(100));
            }
        });
        let (visit, _) = town.arrive("member", "guests", "member");
        assert_eq!(town.download("member", 1_000_000).unwrap(), 1_000_000);
        town.leave(visit);
    });
    until("slow ones to be given up", || town.status()["splash"]["connections"] == 0);
    // Heads and bodies without end: an answer and the end, or the end alone.
    for head in [
        "GET /",
        "GET / HTTP/1.1\r\nHost: a\r\nX: ",
        "POST /trial HTTP/1.1\r\nHost: 10.11.0.1:7280\r\nContent-Length: 999999999\r\n\r\n",
    ] {
        let mut stream = connect(&town, "hostile").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&[b'a'; 60_000]);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{head}: {text}");
    }
    // As many requests as one likes: the others' page comes all the same.
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let Ok(mut stream) = connect(&town, "hostile") else { continue };
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
                    let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: 10.11.0.1:7280\r\n\r\n");
                    let _ = stream.read(&mut [0; 16_384]);
                }
            });
        }
        for _ in 0..5 {
            let page = ask(&town, "member", "captive.apple.com", "/");
            assert!(page.status == "302" && page.took < Duration::from_secs(4), "{page:?}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(town.status()["sessions"].as_array().unwrap().len(), 0);
    drop::<Program>(ap);
}

#[test]
fn the_page_takes_new_texts_while_it_is_served_and_dry_run_shows_its_rules() {
    if !inside("splash::the_page_takes_new_texts_while_it_is_served_and_dry_run_shows_its_rules") {
        return;
    }
    let town = town("");
    let settings = town.path("house/ap.toml");
    let rules = town.run_on("router", &["ap", "--dry-run", "--config", settings.to_str().unwrap()]);
    assert!(succeeded(&rules).contains("tcp dport 80 ether saddr . ip saddr != @served goto redirection"));
    let (_home, _ap) = town.open();
    let edit = |before: &str, now: &str| {
        let text = std::fs::read_to_string(&settings).unwrap();
        std::fs::write(&settings, text.replace(before, now)).unwrap();
        guestright().args(["ap", "reload", "--config"]).arg(&settings).output().unwrap()
    };
    let answer = succeeded(&edit(
        "household = \"The Rivers\"",
        "household = \"The Brooks\"\nport = 7299\ntrial = \"2 MB\"",
    ));
    assert!(
        answer.contains("splash.household") && answer.contains("after a restart: splash.port"),
        "{answer}"
    );
    let page = curl(&town, "member", &["--header", "Accept-Language: fr", PAGE]);
    assert!(
        page.body.contains("The Brooks")
            && page.body.contains("<button")
            && page.body.contains("lang=\"fr\""),
        "{page:?}"
    );
    assert_eq!(edit("household = \"The Brooks\"", "household = \" \"").status.code(), Some(78));
    assert!(curl(&town, "member", &[PAGE]).body.contains("The Brooks"), "what is wrong changes nothing");
    assert!(session(&town.status(), "10.11.0.21").is_null());
}

#[test]
fn with_a_certificate_there_is_the_api_and_dhcp_can_announce_it() {
    if !inside("splash::with_a_certificate_there_is_the_api_and_dhcp_can_announce_it") {
        return;
    }
    let town = town(
        "trial = \"2 MB\"\nname = \"ap.rivers.example\"\ncertificate = \"chain.pem\"\ncertificate_key = \"key.pem\"\n",
    );
    let (chain, key) = (town.path("house/chain.pem"), town.path("house/key.pem"));
    let settings = town.path("house/ap.toml");
    let refused = town.run_on("router", &["ap", "--config", settings.to_str().unwrap()]);
    assert!(!refused.status.success(), "there is no certificate yet");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("chain.pem"), "{refused:?}");
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args([
            "-subj",
            "/CN=ap.rivers.example",
            "-addext",
            "subjectAltName=DNS:ap.rivers.example",
            "-keyout",
        ])
        .args([&key, std::path::Path::new("-out"), &chain])
        .output()
        .expect("openssl, of the group `test` in scripts/setup.sh");
    assert!(made.status.success(), "{made:?}");
    let announced = town.run_on("router", &["ap", "announce", "--config", settings.to_str().unwrap()]);
    assert_eq!(
        succeeded(&announced),
        "dhcp-option=114,https://ap.rivers.example:7281/api\nhost-record=ap.rivers.example,10.11.0.1\n"
    );
    let (_home, _ap) = town.open();
    town.serve_tcp("net", WEB, &AccessLog::default());
    let ask = |path: &str, more: &[&str]| {
        let url = format!("https://ap.rivers.example:7281{path}");
        let own = ["--cacert", chain.to_str().unwrap(), "--resolve", "ap.rivers.example:7281:10.11.0.1"];
        curl(&town, "member", &[own.as_slice(), more, &[&url]].concat())
    };
    let captive = || -> Value { serde_json::from_str(&ask("/api", &[]).body).unwrap() };
    let state = captive();
    assert_eq!(
        (&state["captive"], &state["user-portal-url"]),
        (&true.into(), &"https://ap.rivers.example:7281/".into())
    );
    assert_eq!(curl(&town, "member", &[&format!("{PAGE}api")]).status, "404", "not without TLS");
    let page = ask("/", &[]);
    let form = format!("token={}&language=en", token(&page.body));
    assert_eq!(ask("/trial", &["--data", &form]).status, "303");
    let state = captive();
    let (left, seconds) =
        (state["bytes-remaining"].as_u64().unwrap(), state["seconds-remaining"].as_u64().unwrap());
    assert!(state["captive"] == false && left > 1_900_000 && (500..=600).contains(&seconds), "{state}");
    let (visit, _) = town.arrive("member", "guests", "member");
    let state = captive();
    assert!(state["captive"] == false && state["seconds-remaining"].is_null(), "{state}");
    town.leave(visit);
    until("the API to say that it is over", || captive()["captive"] == true);
}

#[test]
fn a_blocked_device_tries_nothing_and_reads_why() {
    if !inside("splash::a_blocked_device_tries_nothing_and_reads_why") {
        return;
    }
    let town = town("trial = \"20 MB\"\n");
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let before = curl(&town, "member", &[PAGE]).body;
    press(&town, "member", token(&before), &[]);
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    let mac = town.world.run("member", "cat", &["/sys/class/net/wlan0/address"]).unwrap();
    let block = |verb: &str| {
        let arguments = ["home", verb, "--device", mac.trim(), "--config", "house/home.toml"];
        succeeded(&town.run(&arguments))
    };
    let printed = block("block");
    assert!(printed.ends_with("has the list; sessions that ended by it: 1\n"), "{printed}");
    let trials = |what: &str| town.status()["splash"]["trials"][what].clone();
    town.until_status("the trial to be over", |status| status["splash"]["trials"]["running"] == 0);
    assert_eq!(ask(&town, "member", "captive.apple.com", "/").status, "302");
    let page = curl(&town, "member", &[PAGE]).body;
    assert!(page.contains("does not serve this device") && !page.contains("<button"), "{page}");
    // The button of a page from before, and a guest who is not meant.
    assert_eq!(press(&town, "member", token(&before), &[]).status, "303");
    assert_eq!(trials("begun"), 1);
    press(&town, "resident", token(&curl(&town, "resident", &[PAGE]).body), &[]);
    assert_eq!(trials("begun"), 2);
    block("unblock");
    assert!(!curl(&town, "member", &[PAGE]).body.contains("does not serve this device"));
}

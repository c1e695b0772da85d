//! Certificates that renew themselves while a guest is served, and what everybody is told when they do not.
//!
//! ```text
//!   member ══ guests ── router (access point and home of `house`) ── net (home of `guests`)
//! ```

use crate::town::client::{Client, Transport, conn};
use crate::town::services::AccessLog;
use crate::town::{PATIENCE, Program, Rules, Town, desk, inside, look, session, succeeded, until};
use guestright_identity::Certificate;
use guestright_receipt::Bundle;
use guestright_testbed::inside_within;
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long certificates hold, in seconds: long enough for a busy computer, short enough for a test. An environment
/// variable makes it longer.
fn life() -> u64 {
    std::env::var("GUESTRIGHT_LIFE_SECONDS").map_or(30, |seconds| seconds.parse().unwrap())
}

/// How often certificates are renewed in a usual test. An environment variable says more.
fn renewals() -> u64 {
    std::env::var("GUESTRIGHT_RENEWALS").map_or(1, |times| times.parse().unwrap())
}

/// Where a test of so many lives runs; with the usual life it takes minutes.
fn inside_for(lives: u64, name: &str) -> bool {
    inside_within(name, Duration::from_secs(300 + lives * life()))
}

/// Two teams whose certificates hold for [`life`], each with a home that renews them; the guests' is on the Internet.
struct Short {
    town: Town,
}

impl Short {
    fn build() -> Self {
        // Several in the shortest life, so that receipts name certificates of before and after; and half of it, which a
        // receipt may take, is enough on any computer.
        let town = Town::build(Rules::SHORT);
        town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
        let life = format!("{}s", life());
        let run = |line: &str| succeeded(&town.run(&line.split(' ').collect::<Vec<_>>()));
        run("team member add keeper --role home --dir guests");
        for (team, names) in [("house", "router home"), ("guests", "member keeper")] {
            run(&format!("team member renew {names} --life {life} --dir {team}"));
            run(&format!("team renewal init --longest {life} --dir {team}"));
        }
        let own = std::fs::read_to_string(town.path("house/home.toml")).unwrap();
        std::fs::write(town.path("house/home.toml"), format!("renewal = \"renewal\"\n{own}")).unwrap();
        let theirs =
            "key = \"keeper.key\"\ncertificate = \"keeper.cert\"\nrenewal = \"renewal\"\nstate = \"state\"\n";
        std::fs::write(town.path("guests/home.toml"), theirs).unwrap();
        Self { town }
    }

    fn start_keeper(&self) -> Program {
        let mut command = self.town.world.command("net", env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(["--log", "info", "home", "--config"]).arg(self.town.path("guests/home.toml"));
        let program = Program::start(&mut command, &self.town.path("keeper.log"));
        program.hear_line("to say that it is ready", |_| true);
        program
    }

    fn certificate(&self, name: &str) -> Certificate {
        guestright_keys::read_certificate(&self.town.path(&format!("{name}.cert"))).unwrap()
    }

    fn keeper_status(&self) -> Value {
        look::ask("home", &self.town.path("guests/home.toml"), "status")
    }

    fn visit_status(&self) -> Value {
        look::at(&self.town.path("member-state/visit.sock"), "status")
    }

    /// Waits for as long as a certificate may take to be renewed so often, or to end.
    fn wait(&self, what: &str, lives: u64, done: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE + Duration::from_secs(lives * life());
        while !done() {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            // Some 150 looks in a life.
            std::thread::sleep(Duration::from_secs(life()) / 150);
        }
    }

    /// A guest is served while the certificates of its team and of the household's are renewed so often.
    fn renew(&self, times: u64) -> (Program, Program, Program, Program) {
        let town = &self.town;
        let keeper = self.start_keeper();
        let (home, ap) = town.open();
        let visit = town.visit("member", "guests", "member", &["--home", "192.0.2.1:7274", "--no-tunnel"]);
        visit.hear("to be granted service", |event| event["event"] == "granted");
        let ip = town.address_of("member");
        let status = town.until_status("the firewall to open", |status| session(status, &ip)["open"] == true);
        let started = session(&status, &ip)["started"].clone();
        let renewals = || {
            let all = [self.visit_status(), town.ask("ap"), town.ask("home"), self.keeper_status()];
            all.map(|status| status["certificate"]["renewals"].as_u64().unwrap_or_default())
        };
        self.wait("all four to be renewed", times, || {
            let downloaded = town.download("member", 10_000);
            let log = || format!("{}\n{}\n{}", town.status(), visit.log(), ap.log());
            assert!(
                matches!(downloaded, Ok(10_000)),
                "it is not served all the time: {downloaded:?}\n{}",
                log()
            );
            renewals().iter().all(|&count| count >= times)
        });
        println!("renewed: visit, ap, home, keeper {:?} times", renewals());
        let status = town.status();
        assert_eq!(session(&status, &ip)["started"], started, "it is one session: {status}");
        assert_eq!(status["closed"].as_array().unwrap().len(), 0, "{status}");
        for name in ["house/router", "house/home", "guests/member", "guests/keeper"] {
            let certificate = self.certificate(name);
            assert!(
                certificate.warrant().is_some() && certificate.life() <= life() + 4,
                "{name}: {certificate:?}"
            );
        }
        for status in [self.visit_status(), town.ask("ap"), town.ask("home"), self.keeper_status()] {
            assert_eq!(status["certificate"]["warning"], Value::Null, "{status}");
        }
        (keeper, home, ap, visit)
    }
}

#[test]
fn a_guest_is_served_while_everybodys_certificate_is_renewed() {
    let times = renewals();
    if !inside_for(times, "renewal::a_guest_is_served_while_everybodys_certificate_is_renewed") {
        return;
    }
    let short = Short::build();
    let (_keeper, _home, _ap, visit) = short.renew(times);
    let ended = short.town.leave(visit);
    assert_eq!(ended["code"], "closed", "what was signed before and after is paid: {ended}");
}

#[test]
#[ignore = "takes four minutes: ten renewals, then the end of each certificate"]
fn ten_renewals_pass_unattended_and_each_end_has_its_sentence_on_both_sides() {
    // Ten renewals, and three certificates that end.
    if !inside_for(20, "renewal::ten_renewals_pass_unattended_and_each_end_has_its_sentence_on_both_sides") {
        return;
    }
    let short = Short::build();
    let town = &short.town;
    let (mut keeper, mut home, ap, mut visit) = short.renew(10);

    // Nobody renews any more: a member first.
    keeper.signal(Signal::TERM);
    keeper.wait();
    let of = |status: Value| status["certificate"]["expired"] == true;
    let (expired, member_key) = ("expired at", town.path("guests/member.key"));
    short.wait("the member's certificate to end", 2, || of(short.visit_status()));
    let warning = short.visit_status()["certificate"]["warning"].to_string();
    for words in ["this member's certificate", expired, "team member renew", "clock is wrong"] {
        assert!(warning.contains(words), "{warning}");
    }
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000, "an open session goes on");
    until("the member's log to say so", || visit.log().contains("this member's certificate expired"));
    visit.signal(Signal::INT);
    visit.wait();
    let arguments = ["visit", "--key", member_key.to_str().unwrap(), "--certificate"];
    let certificate = town.path("guests/member.cert");
    let again = town.run_on("member", &[&arguments[..], &[certificate.to_str().unwrap()]].concat());
    let words = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(78), "{words}");
    assert!(words.contains("this member's certificate expired") && words.contains("clock"), "{words}");
    // Whoever asks nevertheless is told, and so is the household.
    let mut client = Client::new(town, "hostile", Transport::Tcp);
    client.send(&conn(&short.certificate("guests/member"), 1, Bundle::default()).emit());
    let (code, reason) = client.receive_error().unwrap();
    assert!(code.to_string() == "certificate" && reason.contains(expired), "{code} {reason}");
    until("the access point's log to say so", || ap.log().contains("refused a visitor for its certificate"));
    assert!(town.status()["certificate_refused"].to_string().contains(expired));

    // Then the access point, whose home is gone.
    home.signal(Signal::TERM);
    home.wait();
    short.wait("the access point's certificate to end", 2, || of(town.ask("ap")));
    until("its log to say so", || ap.log().contains("this access point's certificate expired"));
    let shown = succeeded(&town.run(&["ap", "status", "--config", "house/ap.toml"]));
    assert!(shown.contains("WARNING: this access point's certificate expired"), "{shown}");
    let late = town.visit("member", "guests", "second", &[]);
    let ended = late.hear("to give up", |event| event["event"] == "ended");
    let reason = ended["reason"].to_string();
    assert!(reason.contains("this access point may not serve") && reason.contains(expired), "{ended}");

    // Then a home: nothing renews it, and it says so; its access point says why it does not reach it.
    let settings = std::fs::read_to_string(town.path("house/home.toml")).unwrap();
    std::fs::write(town.path("house/home.toml"), settings.replace("renewal = \"renewal\"\n", "")).unwrap();
    let mut home = town.start("home");
    until("the home's log to say so", || home.log().contains("this home's certificate expired"));
    let shown = succeeded(&town.run(&["home", "status", "--config", "house/home.toml"]));
    assert!(shown.contains("WARNING: this home's certificate expired"), "{shown}");
    until("the access point to say why", || {
        let reason = town.ask("ap")["home_reason"].to_string();
        reason.contains("the home with the key") && reason.contains(expired)
    });
    assert!(ap.log().contains("the home with the key"));

    // The founder renews the home by hand: it takes the new one up by itself, and refuses the access point in as many words.
    succeeded(&town.run(&["team", "member", "renew", "home", "--dir", "house"]));
    short.wait("the home to take it up", 2, || town.ask("home")["certificate"]["expired"] == false);
    until("the home's log to name the access point", || home.log().contains("the access point with the key"));
    assert!(town.ask("home")["certificate_refused"].to_string().contains(expired));
    // And the access point: everything works again, and nothing was restarted.
    succeeded(&town.run(&["team", "member", "renew", "router", "--dir", "house"]));
    // A home that refuses it lets it believe for a moment that it is there, so the certificate is waited for first.
    town.until_status("the access point to take it up", |status| status["certificate"]["expired"] == false);
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (visit, _) = town.arrive("member", "guests", "second");
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000);
    town.leave(visit);
    home.signal(Signal::TERM);
    home.wait();
}

#[test]
fn a_revoked_member_is_turned_away_by_an_access_point_whose_home_is_away() {
    if !inside("renewal::a_revoked_member_is_turned_away_by_an_access_point_whose_home_is_away") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let settings = std::fs::read_to_string(town.path("house/home.toml")).unwrap();
    std::fs::write(town.path("house/home.toml"), format!("revocations = \"revocations\"\n{settings}"))
        .unwrap();
    succeeded(&town.run(&["team", "member", "add", "lost", "--dir", "house"]));
    succeeded(&town.run(&["team", "member", "revoke", "lost", "--dir", "house"]));
    let (mut home, _ap) = town.open();
    let (visit, class) = town.arrive("resident", "house", "resident");
    assert_eq!(class, "own");
    // Revoked while it is served: nobody restarts anything.
    succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
    succeeded(&town.run(&["home", "reload", "--config", "house/home.toml"]));
    let ended = visit.hear("to be turned away", |event| event["event"] == "ended");
    assert_eq!(ended["code"], "refused", "{ended}");
    home.signal(Signal::TERM);
    home.wait();
    town.until_status("the home to be lost", |status| status["home_up"] == false);
    for name in ["resident", "lost"] {
        let again = town.visit("resident", "house", name, &[]);
        let ended = again.hear("to be refused", |event| event["event"] == "ended");
        assert_eq!(ended["code"], "certificate", "{ended}");
        assert!(ended["reason"].to_string().contains("revoked this key"), "{ended}");
    }
}

#[test]
fn a_reload_takes_up_certificates_that_were_put_in_place_by_hand() {
    if !inside("renewal::a_reload_takes_up_certificates_that_were_put_in_place_by_hand") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let (mut home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let ends = |program: &str| town.ask(program)["certificate"]["not_after"].to_string();
    // They are fresh, so nobody looks at the files before months have passed.
    succeeded(&town.run(&["team", "member", "renew", "router", "home", "--days", "700", "--dir", "house"]));
    let wanted = |name: &str| {
        let path = town.path(&format!("house/{name}.cert"));
        format!("\"{}\"", guestright_keys::read_certificate(&path).unwrap().not_after())
    };
    for (program, name) in [("ap", "router"), ("home", "home")] {
        assert_ne!(ends(program), wanted(name), "it uses the one that it began with");
        let settings = format!("house/{program}.toml");
        succeeded(&town.run(&[program, "reload", "--config", &settings]));
        until("the new certificate to be in use", || ends(program) == wanted(name));
    }
    // The home's renewing key and its directory are taken as well.
    assert_eq!(town.ask("home")["renewing_key"], Value::Null);
    succeeded(&town.run(&["team", "renewal", "init", "--dir", "house"]));
    let settings = std::fs::read_to_string(town.path("house/home.toml")).unwrap();
    std::fs::write(town.path("house/home.toml"), format!("renewal = \"renewal\"\n{settings}")).unwrap();
    let answer = succeeded(&town.run(&["home", "reload", "--config", "house/home.toml"]));
    assert!(answer.starts_with("in force now: renewal\n"), "{answer}");
    assert!(town.ask("home")["renewing_key"]["not_after"].is_string());
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000, "nobody was cut off");
    assert!(home.is_running() && ap.is_running());
    let ended = town.leave(visit);
    assert_eq!(ended["code"], "closed", "{ended}");
}

#[test]
fn the_commands_of_the_readme_work_in_its_order() {
    let desk = desk();
    desk.run("team init --dir family");
    desk.run("team member add alice --dir family");
    let before = desk.read("family/alice.cert");
    desk.run("team gateway init --dir family --endpoint home.example.org:51820");
    let given = desk.run("team member add alice --qr --dir family");
    assert!(
        given.contains("alice keeps its key") && given.contains(&desk.read("family/alice.conf")),
        "{given}"
    );
    assert_eq!(desk.read("family/alice.cert"), before);
    let config = desk.read("family/alice.conf");
    let again = desk.run("team member add alice --qr --dir family --qr-svg alice.svg");
    assert!(again.contains(&config), "asked again, it is shown again: {again}");
    assert_eq!(desk.read("family/alice.conf"), config);
    assert!(desk.read("alice.svg").starts_with("<svg"));
    // Without --qr a name is still given once, and the hint says what else there is.
    let (code, words) = desk.fail("team member add alice --dir family");
    assert!(
        code == 78 && words.contains("team member renew alice") && words.contains("replace alice"),
        "{words}"
    );
    desk.run("team member add router --role access-point --dir family");
    assert!(desk.fail("team member add router --qr --dir family").1.contains("only a member roams"));
    desk.run("team member add bob --dir family");
    std::fs::rename(desk.path("family/bob.key"), desk.path("bob.key")).unwrap();
    assert!(desk.fail("team member add bob --qr --dir family").1.contains("put bob's key back"));
    assert!(!desk.path("family/bob.conf").exists() && !desk.path("family/gateway/bob.toml").exists());
}

#[test]
fn a_member_is_renewed_replaced_and_removed() {
    let desk = desk();
    desk.run("team init --dir family");
    desk.run("team gateway init --dir family --endpoint home.example.org:51820");
    desk.run("team member add alice --dir family --qr --life 20m");
    let read =
        |name: &str| guestright_keys::read_certificate(&desk.path(&format!("family/{name}.cert"))).unwrap();
    let list = |name: &str| -> Value {
        let all = desk.json("team member list --dir family --json");
        all.as_array().unwrap().iter().find(|row| row["name"] == name).cloned().unwrap_or_default()
    };
    let (first, delegate) = (read("alice"), read("gateway/alice"));
    assert_eq!(first.life(), 1_200 + 150, "20 minutes, and an eighth of them before now");
    let renewed = desk.json("team member renew alice --dir family --days 90 --json");
    assert_eq!(renewed[0]["gateway"], true);
    let second = read("alice");
    assert_eq!(second.subject(), first.subject());
    assert!(second.not_after() > first.not_after().plus(80 * 86_400));
    assert_eq!(read("gateway/alice").subject(), delegate.subject());
    assert_eq!(read("gateway/alice").not_after(), second.not_after());
    let config = desk.read("family/alice.conf");

    let output = desk.run("team member replace alice --dir family");
    let third = read("alice");
    assert!(third.subject() != first.subject() && output.contains("revoked the old key"), "{output}");
    assert_ne!(desk.read("family/alice.conf"), config, "another way home");
    assert!(list("alice")["valid"] == true && list("alice")["address"].is_string());
    let revoked = guestright_keys::read_revocations(&desk.path("family/revocations")).unwrap();
    assert!(revoked.revoked().contains_key(&first.subject_id()));
    assert!(!revoked.revoked().contains_key(&third.subject_id()));

    desk.run("team member revoke alice --dir family");
    let (code, words) = desk.fail("team member renew alice --dir family");
    assert!(code == 78 && words.contains("was revoked") && words.contains("replace alice"), "{words}");
    desk.run("team member remove alice --dir family");
    assert!(list("alice").is_null());
    for gone in ["alice.key", "alice.cert", "alice.conf", "gateway/alice.toml", "gateway/alice.key"] {
        assert!(!desk.path(&format!("family/{gone}")).exists(), "{gone}");
    }
    desk.run("team member add alice --dir family");
    assert!(list("alice")["valid"] == true, "the name is free");
    for line in ["renew nobody", "remove nobody", "replace nobody", "remove ../team", "renew gateway"] {
        let (code, words) = desk.fail(&format!("team member {line} --dir family"));
        assert!(code == 78 && words.contains("nobody was added"), "{line}: {words}");
    }
}

#[test]
fn a_renewing_key_is_made_once_extended_and_revoked() {
    let desk = desk();
    desk.run("team init --dir family");
    let made = desk.json("team renewal init --dir family --life 10d --longest 2d --json");
    let warrant = || guestright_keys::read_warrant(&desk.path("family/renewal/warrant")).unwrap();
    let first = warrant();
    assert_eq!(made["id"].as_str(), Some(first.renewing().id().to_string().as_str()));
    assert_eq!(first.life_max(), 2 * 86_400);
    let (code, words) = desk.fail("team renewal init --dir family");
    assert!(code == 78 && words.contains("--extend") && words.contains("renewal revoke"), "{words}");
    assert_eq!(warrant(), first, "nothing was changed");
    desk.run("team renewal init --extend --dir family --days 400");
    assert_eq!(warrant().renewing(), first.renewing());
    assert!(warrant().not_after() > first.not_after());
    assert!(desk.run("team renewal revoke --dir family").contains("does not count"));
    let revoked = guestright_keys::read_revocations(&desk.path("family/revocations")).unwrap();
    assert!(revoked.revoked().contains_key(&first.renewing().id()));
    assert!(!desk.path("family/renewal").exists());
    assert!(desk.fail("team renewal revoke --dir family").1.contains("no renewing key to revoke"));
    desk.run("team renewal init --dir family");
    assert_ne!(warrant().renewing(), first.renewing());
}

#[test]
fn the_doctor_names_a_certificate_that_is_about_to_end() {
    let desk = desk();
    desk.run("team init --dir .");
    desk.run("team member add alice --dir .");
    let finding = || -> Value {
        let output = desk.try_run("doctor --json");
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        all.as_array().unwrap().iter().find(|row| row["what"] == "certificates").cloned().unwrap()
    };
    let good = finding();
    assert!(good["good"] == true && good["says"].to_string().contains("alice.cert"), "{good}");
    // Six days are left of 365: made by hand, as the command backdates by no more than ten minutes.
    let team = guestright_keys::read_secret(&desk.path("team.key"), || None).unwrap();
    let own = guestright_keys::read_certificate(&desk.path("alice.cert")).unwrap();
    let now = own.not_before().plus(600);
    let old =
        Certificate::issue(&team, own.subject(), own.role(), now.minus(359 * 86_400), now.plus(6 * 86_400));
    guestright_keys::write_certificate(&desk.path("alice.cert"), &old).unwrap();
    let bad = finding();
    assert!(bad["good"] == false && bad["says"].to_string().contains("expires in 5 days"), "{bad}");
}

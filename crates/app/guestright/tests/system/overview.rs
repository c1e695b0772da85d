//! The household's overview, as `guestright status` prints it.

use crate::town::client::{Client, Member, Transport};
use crate::town::{Rules, Town, desk, inside, session, succeeded, until};
use guestright_channel::{Channel, Credentials, connect};
use guestright_identity::Role;
use guestright_overview::{Class, Key, Overview, RefusedBy, ServedBy, State, Team};
use guestright_receipt::Bundle;
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const CARRIED: usize = 300_000;

fn overview(town: &Town) -> Overview {
    let printed = succeeded(&town.run_on("router", &["status", "--json", "--home", "house/home.toml"]));
    let overview = Overview::from_json(printed.as_bytes()).unwrap();
    let fields: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(serde_json::to_value(&overview).unwrap(), fields, "the schema has all that is printed");
    overview
}

fn team(id: &Value) -> Team {
    serde_json::from_value(id.clone()).unwrap()
}

/// A household that gives nothing away.
fn thrifty() -> Town {
    let town = Town::build(Rules { interval_ms: 2_000, ..Rules::default() });
    town.serve_tcp("net", crate::town::WEB, &crate::town::services::AccessLog::default());
    let file = town.path("house/home.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let thrifty = settings.replace(
        "allowance_bytes_per_day = 1000000000000",
        "allowance_bytes_per_day = 0\nfounding_bytes = 0",
    );
    assert_ne!(settings, thrifty);
    std::fs::write(&file, thrifty).unwrap();
    town
}

#[test]
fn who_is_served_and_who_is_not_stand_in_the_overview() {
    if !inside("overview::who_is_served_and_who_is_not_stand_in_the_overview") {
        return;
    }
    let town = thrifty();
    let (_home, _ap) = town.open();
    let certificate = guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap();
    let guests = certificate.team_id().to_string();
    let sponsor = ["home", "sponsor", &guests, "--megabytes", "500", "--config", "house/home.toml"];
    succeeded(&town.run_on("router", &sponsor));

    let (_visit, class) = town.arrive("member", "guests", "member");
    assert_eq!(class, "lowest");
    assert_eq!(town.download("member", CARRIED).unwrap(), CARRIED);
    town.until_home_is_owed(CARRIED as u64);
    let stranger = Member::new(7, 8);
    let mut client = Client::new(&town, "hostile", Transport::Tcp);
    let refused = client.ask(&stranger.certificate, 1, Bundle::default()).unwrap_err();
    assert!(refused.contains("has given away"), "{refused}");

    let overview = overview(&town);
    let session = session(&town.status(), &town.address_of("member"));
    let [guest] = &overview.guests[..] else { panic!("{:?}", overview.guests) };
    assert_eq!(guest.team, Some(team(&session["team"])));
    assert_eq!((guest.class, guest.open, guest.served_by), (Class::Lowest, true, ServedBy::Sponsored));
    assert_eq!(guest.ip.as_ref().unwrap().as_str(), town.address_of("member"));
    assert!(guest.counted.get() >= CARRIED as u64 && guest.signed.get() >= CARRIED as u64, "{guest:?}");
    assert_eq!(overview.standing.says.as_str(), "Your Wi-Fi is shared, and 1 guest is served.");
    assert_eq!((overview.standing.state, overview.standing.on), (State::Serving, true));
    let [access_point] = &overview.access_points[..] else { panic!("{:?}", overview.access_points) };
    assert!(access_point.up && access_point.home_up == Some(true) && access_point.trouble.is_none());

    let [refusal] = &overview.refusals[..] else { panic!("{:?}", overview.refusals) };
    assert_eq!(refusal.team, Some(Team(stranger.certificate.team_id())));
    assert_eq!(refusal.refused_by, RefusedBy::AllowanceUsedUp);
    assert!(refusal.reason.as_str().starts_with("This household has given away"), "{}", refusal.reason);
    assert!(refusal.to_do.is_some());

    let balance = overview.balances.iter().find(|balance| balance.team == guest.team.unwrap()).unwrap();
    assert!(balance.they_owe.get() >= CARRIED as u64, "{balance:?}");
    assert!((1..500_000_000).contains(&balance.sponsored.get()), "{balance:?}");
    let served: u64 = overview.hours.iter().map(|hour| hour.served.get()).sum();
    assert!(served >= CARRIED as u64, "{:?}", overview.hours);
    let refused: u64 = overview.hours.iter().flat_map(|hour| hour.refused.values()).map(|it| it.get()).sum();
    assert_eq!(refused, 1, "{:?}", overview.hours);
    assert!(overview.findings.iter().all(|finding| finding.good), "{:?}", overview.findings);

    let in_words = succeeded(&town.run_on("router", &["status", "--home", "house/home.toml"]));
    let short = guest.team.unwrap().0.short();
    for sentence in [
        "Your Wi-Fi is shared, and 1 guest is served.".to_owned(),
        format!("A member of {short} has had "),
        format!("{short} owes your household "),
        "Refused in the last 24 hours: 1. The last one: This household has given away".to_owned(),
    ] {
        assert!(in_words.contains(&sentence), "{sentence} is not in:\n{in_words}");
    }
}

/// A program of the house that is connected as an access point and answers nothing, as one that is older than the question does.
fn silent_access_point(town: &Town) -> (Runtime, Channel, Key) {
    succeeded(&town.run(&["team", "member", "add", "old", "--role", "access-point", "--dir", "house"]));
    let certificate = guestright_keys::read_certificate(&town.path("house/old.cert")).unwrap();
    let key = guestright_keys::read_secret(&town.path("house/old.key"), || None).unwrap();
    let subject = Key(certificate.subject_id().0);
    let team = certificate.team_id();
    let credentials = Credentials { key, certificate };
    let open = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let channel = runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect("127.0.0.1:7274").await.unwrap();
            let (channel, home) =
                connect(stream, &credentials, team, crate::town::client::now()).await.unwrap();
            assert_eq!(home.role(), Role::Home);
            channel
        });
        (runtime, channel)
    };
    let (runtime, channel) = town.world.within("router", open).unwrap();
    (runtime, channel, subject)
}

#[test]
fn an_access_point_that_does_not_know_the_question_stands_as_not_answering() {
    if !inside("overview::an_access_point_that_does_not_know_the_question_stands_as_not_answering") {
        return;
    }
    let town = Town::build(Rules::default());
    let _home = town.start("home");
    let none = overview(&town);
    assert_eq!((none.standing.state, none.access_points.len()), (State::HomeAway, 0));
    let (_runtime, _channel, old) = silent_access_point(&town);
    until("the home to know it", || town.ask("home")["peers"].as_array().map(Vec::len) == Some(1));

    until("the round before to be over", || !overview(&town).access_points.is_empty());
    let began = Instant::now();
    let silent = overview(&town);
    assert!(began.elapsed() < Duration::from_secs(5), "it holds nobody up: {:?}", began.elapsed());
    let [access_point] = &silent.access_points[..] else { panic!("{:?}", silent.access_points) };
    assert_eq!((access_point.key, access_point.up, access_point.answered), (old, false, None));
    assert!(access_point.trouble.as_ref().unwrap().as_str().contains("update it"), "{access_point:?}");
    assert_eq!((silent.standing.state, silent.standing.on), (State::Trouble, true));

    let _ap = town.start("ap");
    until("the other one to answer", || {
        overview(&town).access_points.iter().map(|it| it.up).collect::<Vec<_>>().contains(&true)
    });
    let both = overview(&town);
    assert_eq!(both.access_points.iter().filter(|it| it.up).count(), 1, "{:?}", both.access_points);
    assert_eq!(both.standing.state, State::Nobody);
}

#[test]
fn a_home_that_does_not_run_says_so_and_what_to_do() {
    if !inside("overview::a_home_that_does_not_run_says_so_and_what_to_do") {
        return;
    }
    let town = Town::build(Rules::default());
    let stopped = overview(&town);
    assert_eq!((stopped.standing.state, stopped.standing.on), (State::HomeAway, false));
    let in_words = succeeded(&town.run_on("router", &["status", "--home", "house/home.toml"]));
    assert!(in_words.starts_with("The home does not run"), "{in_words}");
    assert!(in_words.contains("guestright home --config"), "{in_words}");
    {
        let _home = town.start("home");
        assert_eq!(overview(&town).team, stopped.team);
    }
}

#[test]
fn a_computer_without_a_home_speaks_of_its_visitor() {
    let desk = desk();
    let (_, error) = desk.fail("status");
    assert!(error.contains("the visitor's program does not run"), "{error}");
    let (_, error) = desk.fail("status --home nowhere.toml");
    assert!(error.contains("nowhere.toml"), "{error}");
}

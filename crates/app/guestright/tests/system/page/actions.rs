//! What the page asks for, and what the household's programs do then.

use super::{ANSWER_MAX, Answer, overview, request};
use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, inside, succeeded, until};
use guestright_overview::{Member, Overview, ServedBy, Team};
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::net::UnixStream;

/// The page, as the program's user has it.
struct Page<'a>(&'a Town);

impl Page<'_> {
    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = UnixStream::connect(self.0.path("house/home-state/page.sock")).unwrap();
        stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
        let more = ["x-guestright: 1", "content-type: application/json"];
        stream.write_all(request(method, path, "localhost", &more, body).as_bytes()).unwrap();
        Answer::read(stream)
    }

    fn overview(&self) -> Overview {
        overview(&self.ask("GET", "/v1/overview", ""))
    }

    fn settings(&self) -> Value {
        let answer = self.ask("GET", "/v1/settings", "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Has it done, and returns what it says.
    fn act(&self, path: &str, body: Value) -> Value {
        let answer = self.ask("POST", path, &body.to_string());
        assert!(answer.status < 300, "{path} {body}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    /// Why it is not done.
    fn refused(&self, path: &str, body: Value) -> String {
        let answer = self.ask("POST", path, &body.to_string());
        assert!((400..500).contains(&answer.status), "{path} {body}: {} {}", answer.status, answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()["says"].as_str().unwrap().to_owned()
    }
}

fn guests(town: &Town) -> Team {
    Team(guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap().team_id())
}

#[test]
fn a_team_is_blocked_on_the_page_and_stays_so_until_the_page_serves_it_again() {
    if !inside("page::actions::a_team_is_blocked_on_the_page_and_stays_so_until_the_page_serves_it_again") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (home, _ap) = town.open();
    let page = Page(&town);
    let team = guests(&town);
    let block = |blocked| json!({ "team": team, "mac": null, "blocked": blocked });
    page.act("/v1/block", block(true));
    let is_refused = || {
        let visit = town.run_on("member", &["ask", "--certificate", "guests/member.cert", "--json"]);
        serde_json::from_str::<Value>(&succeeded(&visit)).unwrap()["would_serve"] == false
    };
    assert!(is_refused());
    assert_eq!(page.settings()["blocked"][0]["team"], json!(team));
    let own =
        page.refused("/v1/block", json!({ "team": page.overview().team, "mac": null, "blocked": true }));
    assert!(own.contains("own team"), "{own}");
    drop(home);
    let _home = town.start("home");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    assert!(is_refused(), "after the home's restart");
    page.act("/v1/block", block(false));
    assert!(!is_refused());
    assert_eq!(page.settings()["blocked"], json!([]));
}

#[test]
fn limits_are_tried_and_set_on_the_page_and_home_toml_has_the_last_word() {
    if !inside("page::actions::limits_are_tried_and_set_on_the_page_and_home_toml_has_the_last_word") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (home, _ap) = town.open();
    let page = Page(&town);
    let (visit, _) = town.arrive("member", "guests", "member");
    town.download("member", 3_000_000).unwrap();
    town.leave(visit);
    town.until_home_is_owed(3_000_000);

    let before = page.settings()["settings"].clone();
    let mut tried = before.clone();
    (tried["allowance_bytes_per_day"], tried["founding_bytes"], tried["days"]) =
        (0.into(), 0.into(), 30.into());
    let mut result = Value::Null;
    until("the past to be decided again", || {
        result = page.act("/v1/settings/dry-run", tried.clone());
        result["state"] == "done"
    });
    let bytes = |when: &str, is_refused: bool| -> u64 {
        let rows = result["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["class"].is_null() == is_refused)
            .map(|row| row[when]["bytes"].as_u64().unwrap())
            .sum()
    };
    assert!(bytes("before", false) >= 3_000_000 && bytes("after", false) == 0, "{result}");
    assert_eq!(bytes("after", true), bytes("before", false), "{result}");
    assert_eq!(page.settings()["settings"], before, "nothing was changed");

    let mut set = before.clone();
    (set["allowance_bytes_per_day"], set["hold"]) = (7_000_000.into(), false.into());
    page.act("/v1/settings", set.clone());
    assert_eq!(page.settings()["settings"], set);
    assert_eq!(town.ask("home")["credit"]["allowance"]["per_day"], 7_000_000);
    let mut wrong = set.clone();
    wrong["lend_bytes_max"] = 2_000_000_000_000_000_u64.into();
    assert!(page.refused("/v1/settings", wrong).contains("No limit is higher"));
    drop(home);
    let _home = town.start("home");
    assert_eq!(page.settings()["settings"], set, "after the home's restart");

    // Somebody changes the settings file: it counts, all of it.
    let file = town.path("house/home.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("allowance_bytes_per_day = 1000000000000", "allowance_bytes_per_day = 9000000");
    std::fs::write(&file, text).unwrap();
    succeeded(&town.run_on("router", &["home", "reload", "--config", "house/home.toml"]));
    let now = page.settings()["settings"].clone();
    assert_eq!((&now["allowance_bytes_per_day"], &now["hold"]), (&9_000_000.into(), &before["hold"]));
}

#[test]
fn everybody_is_served_while_the_page_says_so() {
    if !inside("page::actions::everybody_is_served_while_the_page_says_so") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let file = town.path("house/home.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let nothing = "allowance_bytes_per_day = 0\nfounding_bytes = 0";
    std::fs::write(&file, text.replace("allowance_bytes_per_day = 1000000000000", nothing)).unwrap();
    let (home, _ap) = town.open();
    let page = Page(&town);
    let would_serve = || {
        let answer = town.run_on("member", &["ask", "--certificate", "guests/member.cert", "--json"]);
        serde_json::from_str::<Value>(&succeeded(&answer)).unwrap()
    };
    assert_eq!(would_serve()["would_serve"], false);
    let end = page.overview().at.get() + 3_600;
    assert!(page.refused("/v1/everybody", json!({ "until": end + 8 * 86_400 })).contains("a week"));
    assert!(page.refused("/v1/everybody", json!({ "until": end - 3_600 })).contains("over already"));
    page.act("/v1/everybody", json!({ "until": end }));
    assert_eq!(page.overview().everybody_until.map(|until| until.get()), Some(end));
    drop(home);
    let _home = town.start("home");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);

    let (visit, class) = town.arrive("member", "guests", "member");
    assert_eq!(class, "lowest");
    assert_eq!(town.download("member", 6_000_000).unwrap(), 6_000_000);
    let seen = page.overview();
    assert_eq!(seen.guests[0].served_by, ServedBy::Everybody, "{:?}", seen.guests[0]);
    assert!(seen.guests[0].reason.as_str().contains("everybody"), "{:?}", seen.guests[0]);
    let socket = town.path("house/ap-state/metrics.sock");
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(request("GET", "/metrics", "localhost", &[], "").as_bytes()).unwrap();
    let metrics = Answer::read(stream).body;
    assert!(metrics.contains("\nguestright_guests_for_everybody 1\n"), "{metrics}");
    let why = ["home", "why", &seen.guests[0].team.unwrap().0.to_string(), "--config", "house/home.toml"];
    let why = succeeded(&town.run_on("router", &why));
    assert!(why.contains("this household serves everybody until"), "{why}");
    town.leave(visit);
    town.until_home_is_owed(6_000_000);
    let stop = ["home", "everybody", "--stop", "--config", "house/home.toml"];
    assert!(succeeded(&town.run_on("router", &stop)).contains("as ever"));
    let until = ["home", "everybody", "--json", "--config", "house/home.toml"];
    assert_eq!(succeeded(&town.run_on("router", &until)).trim(), "{\"until\":null}");
    assert_eq!(would_serve()["would_serve"], false);
}

#[test]
fn members_are_added_shown_and_revoked_where_the_home_has_the_teams_key() {
    if !inside("page::actions::members_are_added_shown_and_revoked_where_the_home_has_the_teams_key") {
        return;
    }
    let town = Town::build(Rules::default());
    let endpoint = ["--endpoint", "198.51.100.2:51820", "--network", "10.73.5.0/24"];
    succeeded(&town.run(&[&["team", "gateway", "init", "--dir", "house"], &endpoint[..]].concat()));
    succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
    let file = town.path("house/home.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = format!("revocations = \"revocations\"\n{text}[gateway]\nuplink_interface = \"uplink\"\n");
    std::fs::write(&file, &text).unwrap();
    let home = town.start("home");
    let page = Page(&town);
    let add = json!({ "name": "ida", "kind": "tunnel" });
    let refused = page.refused("/v1/members/add", add.clone());
    assert!(refused.contains("terminal") && refused.contains("[web] team"), "{refused}");
    drop(home);

    std::fs::write(&file, format!("{text}[web]\nteam = \".\"\n")).unwrap();
    let _home = town.start("home");
    let code = page.act("/v1/members/add", add.clone());
    let image = page.ask("GET", code["image"].as_str().unwrap(), "");
    assert!(image.status == 200 && image.body.starts_with("<svg"), "{} {}", image.status, image.head);
    assert!(image.head.contains("no-store"), "{}", image.head);
    assert_eq!(page.ask("GET", "/v1/codes/00000000000000000000000000000000", "").status, 404);
    assert!(page.refused("/v1/members/add", add).contains("ida"));
    let member = || page.overview().members.into_iter().find(|member| member.name.as_str() == "ida");
    let ida = member().unwrap();
    assert_eq!((ida.devices.len(), ida.revoked), (1, None));
    let key = json!({ "key": ida.key });
    page.act("/v1/members/renew", key.clone());
    let again = page.act("/v1/members/code", json!({ "key": ida.key, "kind": "tunnel" }));
    assert_ne!(again["image"], code["image"]);
    page.act("/v1/members/revoke", key.clone());
    let gone = member();
    let is_revoked =
        |ida: &Member| ida.revoked.is_some() || ida.devices.iter().all(|it| it.revoked.is_some());
    assert!(gone.as_ref().is_none_or(is_revoked), "{gone:?}");
    assert!(page.refused("/v1/members/renew", key).contains("revoked"));
    let list = succeeded(&town.run(&["team", "member", "list", "--dir", "house"]));
    let line = list.lines().find(|line| line.contains("ida")).unwrap();
    assert!(line.contains("revoked"), "{line}");
}

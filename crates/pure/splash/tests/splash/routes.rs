//! What is answered to whom.

use crate::states::{
    HOST, NAME, ORIGIN, TRIAL, all, ask, ask_plain, get, good_form, good_headers, guest, press, settings,
    splash, token,
};
use guestright_splash::{Action, Language, Online, PROBES, Settings, Splash, Standing, Transport, Trial};
use guestright_units::Bytes;

fn running() -> Trial {
    Trial::Running { left: Bytes(1), seconds_left: 1 }
}

#[test]
fn before_the_grant_each_probe_is_led_to_our_address_and_carries_nothing_of_the_guest() {
    for probe in PROBES {
        for host in [probe.host.to_owned(), format!("{}:80", probe.host), format!("{}.", probe.host)] {
            let request = get(probe.path, &host, "User-Agent: CaptiveNetworkSupport-443.120.2 wispr\r\n");
            let read = ask_plain(&request, &guest(Standing::Stranger, TRIAL));
            assert_eq!((read.status, read.body.as_str()), (302, ""), "{probe:?}");
            assert_eq!(read.header("Location"), Some("http://10.73.0.1/"), "{probe:?}");
        }
    }
}

#[test]
fn a_probe_that_was_under_way_at_the_grant_sees_the_internet() {
    for probe in PROBES {
        let read = ask_plain(&get(probe.path, probe.host, ""), &guest(Standing::Stranger, running()));
        let manager = read.header("X-NetworkManager-Status");
        let want = match probe.online {
            Online::NoContent => (204, "", None),
            Online::Html(text) | Online::Text(text) => (200, text, None),
            Online::NetworkManager(text) => (200, text, Some("online")),
            Online::NetworkManagerNoContent => (204, "", Some("online")),
            Online::Page => (421, "", None),
        };
        assert_eq!((read.status, read.body.as_str(), manager), want, "{probe:?}");
    }
    let other = ask_plain(&get("/search", "www.google.com", ""), &guest(Standing::Stranger, running()));
    assert_eq!(other.status, 421);
}

#[test]
fn the_button_starts_the_trial_once_and_leads_to_a_whole_page() {
    let request = press(HOST, &good_headers(), &good_form());
    let read = ask_plain(&request, &guest(Standing::Stranger, TRIAL));
    assert_eq!((read.status, read.action), (303, Some(Action::StartTrial)));
    assert_eq!(read.header("Location"), Some("http://10.73.0.1/de"));
    for trial in [Trial::Closed, Trial::UsedUp, running()] {
        let read = ask_plain(&request, &guest(Standing::Stranger, trial));
        assert_eq!((read.status, read.action), (303, None));
    }
    assert_eq!(ask_plain(&request, &guest(Standing::Closed, TRIAL)).action, None);
}

#[test]
fn every_link_and_form_of_every_page_is_answered() {
    for (state, guest) in all() {
        for language in Language::ALL {
            let page = ask_plain(&get(&format!("/{}", language.tag()), HOST, ""), &guest);
            assert_eq!(page.status, 200);
            let links: Vec<_> =
                attributes(&page.body, "href").into_iter().filter(|it| *it != "data:,").collect();
            assert!(links.len() > Language::ALL.len(), "{state}: {links:?}");
            for link in links {
                let read = ask_plain(&get(link, HOST, ""), &guest);
                assert_eq!((read.status, read.action), (200, None), "{state}: {link}");
            }
            for action in attributes(&page.body, "action") {
                assert_eq!(action, "/trial");
                let read = ask_plain(&press(HOST, &good_headers(), &good_form()), &guest);
                assert_eq!((read.status, read.action), (303, Some(Action::StartTrial)), "{state}");
            }
            assert!(attributes(&page.body, "src").is_empty());
        }
    }
}

fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn the_language_is_that_of_the_route_else_the_wished_one_else_the_first() {
    let stranger = guest(Standing::Stranger, Trial::Closed);
    let language = |path, header| {
        let read = ask_plain(&get(path, HOST, header), &stranger);
        read.header("Content-Language").map(str::to_owned)
    };
    assert_eq!(language("/", "Accept-Language: ar-EG,en;q=0.8\r\n").as_deref(), Some("ar"));
    assert_eq!(language("/", "Accept-Language: nl\r\n").as_deref(), Some("en"));
    assert_eq!(language("/fr", "Accept-Language: ar\r\n").as_deref(), Some("fr"));
    assert_eq!(language("/nl", "Accept-Language: ar\r\n"), None);
    let few = Splash::new(Settings { languages: vec![Language::German], ..settings() }).unwrap();
    assert_eq!(ask(&few, &get("/fr", HOST, ""), Transport::Plain, &stranger).status, 404);
    let read = ask(&few, &get("/", HOST, "Accept-Language: fr\r\n"), Transport::Plain, &stranger);
    assert_eq!(read.header("Content-Language"), Some("de"));
}

#[test]
fn a_head_has_the_length_of_the_page_and_not_the_page() {
    let stranger = guest(Standing::Stranger, Trial::Closed);
    let page = ask_plain(&get("/en", HOST, ""), &stranger);
    let head = ask_plain(format!("HEAD /en HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes(), &stranger);
    assert_eq!((head.status, head.header("Content-Length")), (200, page.header("Content-Length")));
}

#[test]
fn the_api_answers_over_tls_alone_for_every_state_and_to_its_own_lease() {
    let splash = splash();
    let own = format!("/api/{}", token().text());
    let api = |guest: &_, path: &str| ask(&splash, &get(path, NAME, ""), Transport::Secured, guest);
    let stranger = guest(Standing::Stranger, TRIAL);
    let read = api(&stranger, "/api");
    assert_eq!((read.status, read.header("Content-Type")), (200, Some("application/captive+json")));
    assert_eq!(
        read.body,
        r#"{"captive":true,"user-portal-url":"https://ap.rivers.example/","venue-info-url":"https://ap.rivers.example/","can-extend-session":false}"#
    );
    let trial = Trial::Running { left: Bytes(4_200_000), seconds_left: 541 };
    assert!(
        api(&guest(Standing::Stranger, trial), &own).body.contains(
            r#""captive":false,"user-portal-url":"https://ap.rivers.example/","venue-info-url":"https://ap.rivers.example/","seconds-remaining":541,"bytes-remaining":4200000"#
        )
    );
    for (state, guest) in all() {
        assert_eq!(api(&guest, "/api").body.contains(r#""captive":false"#), guest.is_online(), "{state}");
    }
    assert_eq!(api(&stranger, "/api/5a").status, 404);
    assert_eq!(api(&stranger, &format!("/api/{}", "1f".repeat(16))).status, 404);
    assert_eq!(api(&stranger, "/apis").status, 404);
    assert_eq!(ask_plain(&get("/api", HOST, ""), &stranger).status, 404);
    // The name is ours over TLS and nobody's without.
    assert_eq!(ask_plain(&get("/", NAME, ""), &stranger).status, 421);
    assert_eq!(ask(&splash, &get("/", HOST, ""), Transport::Secured, &stranger).status, 421);
    let none = Splash::new(Settings { secured: None, ..settings() }).unwrap();
    assert_eq!(ask(&none, &get("/api", NAME, ""), Transport::Secured, &stranger).status, 421);
    assert_eq!(none.announcement(None), Ok(None));
    assert_eq!(splash.announcement(None).unwrap().unwrap().as_str(), "https://ap.rivers.example/api");
}

#[test]
fn over_tls_the_button_works_from_that_origin_and_leads_back_to_it() {
    let splash = splash();
    let headers = good_headers().replace(ORIGIN, "https://ap.rivers.example");
    let stranger = guest(Standing::Stranger, TRIAL);
    let read = ask(&splash, &press(NAME, &headers, &good_form()), Transport::Secured, &stranger);
    assert_eq!((read.status, read.action), (303, Some(Action::StartTrial)));
    assert_eq!(read.header("Location"), Some("https://ap.rivers.example/de"));
    let read = ask(&splash, &press(NAME, &good_headers(), &good_form()), Transport::Secured, &stranger);
    assert_eq!((read.status, read.action), (403, None));
}

#[test]
fn another_port_is_part_of_our_address() {
    let address = "10.73.0.1:2080".parse().unwrap();
    let splash = Splash::new(Settings { address, ..settings() }).unwrap();
    let stranger = guest(Standing::Stranger, TRIAL);
    let status = |host| ask(&splash, &get("/", host, ""), Transport::Plain, &stranger).status;
    assert_eq!([status("10.73.0.1:2080"), status("10.73.0.1"), status("10.73.0.1:80")], [200, 421, 421]);
    let read = ask(&splash, &get("/", "captive.apple.com", ""), Transport::Plain, &stranger);
    assert_eq!(read.header("Location"), Some("http://10.73.0.1:2080/"));
}

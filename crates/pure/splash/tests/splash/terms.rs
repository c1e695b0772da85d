//! The page of terms.

use crate::states::{HOST, TRIAL, all, ask, ask_plain, get, guest, read_long, settings, token};
use guestright_splash::{
    Language, Received, Settings, Splash, Standing, TERMS_RESPONSE_BYTES_MAX, Transport, Trial,
};
use std::collections::BTreeSet;

fn terms(settings: Settings, language: Language) -> String {
    let splash = Splash::new(settings).unwrap();
    let request = get(&format!("/terms/{}", language.tag()), HOST, "");
    let Received::Whole(answer) =
        splash.handle_request(&request, Transport::Plain, &guest(Standing::Stranger, TRIAL))
    else {
        panic!("it is whole");
    };
    assert!(answer.response.len() <= TERMS_RESPONSE_BYTES_MAX, "{} bytes", answer.response.len());
    let read = read_long(&answer, false);
    assert_eq!((read.status, read.header("Content-Language")), (200, Some(language.tag())));
    let policy = read.header("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!read.body.contains("<script") && !read.body.contains("style=\""), "{}", read.body);
    read.body
}

#[test]
fn each_language_says_for_how_long_addresses_are_kept_or_that_they_are_not() {
    let with = |hours| Settings { addresses_kept_hours: hours, ..settings() };
    let mut sentences = BTreeSet::new();
    for language in Language::ALL {
        let [week, day, off] = [Some(168), Some(24), None].map(|hours| terms(with(hours), language));
        assert!(week.contains("<bdi>168</bdi>") && day.contains("<bdi>24</bdi>"), "{week}");
        assert_eq!(week.replace("168", "24"), day, "nothing but the number differs");
        assert!(!off.contains("<bdi>24</bdi>"), "{off}");
        let of = |page: &str| page.split("<p>").map(str::to_owned).collect::<BTreeSet<_>>();
        let differ: Vec<_> = of(&off).difference(&of(&week)).cloned().collect();
        assert_eq!(differ.len(), 1, "one sentence says that nothing is kept: {differ:?}");
        sentences.extend(differ);
    }
    assert_eq!(sentences.len(), Language::ALL.len(), "each in its language");
}

#[test]
fn the_page_is_as_it_was() {
    for language in Language::ALL {
        let html = terms(settings(), language);
        let (_, main) = html.split_once("<main>").unwrap();
        let text = main.replace("<p", "\n<p").replace("<section", "\n<section").replace("<nav", "\n<nav");
        insta::assert_snapshot!(format!("terms-{}", language.tag()), text);
    }
}

#[test]
fn what_the_household_has_written_is_shown_as_text_and_fits() {
    let text = "First <b>rule</b> & \"quotes\".\n\n<script>alert(1)</script>\n".to_owned();
    let html = terms(Settings { terms_text: Some(text), ..settings() }, Language::Arabic);
    assert!(
        html.contains("<p dir=\"auto\">First &lt;b&gt;rule&lt;/b&gt; &amp; &quot;quotes&quot;.</p>"),
        "{html}"
    );
    assert!(html.contains("&lt;script&gt;"), "{html}");
    for longest in ["a".repeat(32_768), "\"".repeat(10_000), "a\n".repeat(3_000)] {
        for language in Language::ALL {
            terms(Settings { terms_text: Some(longest.clone()), ..settings() }, language);
        }
    }
}

#[test]
fn it_says_nothing_of_the_guest_and_every_page_leads_there() {
    let stranger = guest(Standing::Stranger, Trial::Closed);
    for (state, guest) in all() {
        let page = ask_plain(&get("/en", HOST, ""), &guest).body;
        assert!(page.contains("href=\"/terms/en\""), "{state}");
        let [its, other] =
            [&guest, &stranger].map(|guest| ask_plain(&get("/terms/en", HOST, ""), guest).body);
        assert_eq!(its, other, "{state}");
        assert!(!its.contains(&token().text()), "{state}");
    }
}

#[test]
fn its_language_is_that_of_the_route_else_the_wished_one() {
    let splash =
        Splash::new(Settings { languages: vec![Language::German, Language::French], ..settings() }).unwrap();
    for (path, want) in [
        ("/terms", Some("fr")),
        ("/terms/", Some("fr")),
        ("/terms/de", Some("de")),
        ("/terms/en", None),
        ("/terms/de/", None),
        ("/termsde", None),
    ] {
        let request = get(path, HOST, "Accept-Language: fr\r\n");
        let read = ask(&splash, &request, Transport::Plain, &guest(Standing::Stranger, Trial::Closed));
        assert_eq!(read.header("Content-Language"), want, "{path}");
        assert_eq!(read.status, if want.is_some() { 200 } else { 404 }, "{path}");
    }
    let foreign = ask_plain(&get("/terms", "evil.example", ""), &guest(Standing::Stranger, Trial::Closed));
    assert_eq!(foreign.status, 421);
}

//! What stands in the page.

use crate::states::{HOST, TRIAL, all, ask, ask_plain, get, guest, settings, token};
use guestright_splash::{Debt, Guest, Language, Settings, Splash, Standing, Transport, WhyRefused};
use guestright_units::{Bytes, TeamId};

fn page(language: Language, guest: &Guest) -> String {
    ask_plain(&get(&format!("/{}", language.tag()), HOST, ""), guest).body
}

/// A page with a line for each block, and without its style.
fn lines(html: &str) -> String {
    let (before, rest) = html.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let mut text = format!("{before}<style></style>{after}");
    for start in [
        "<html",
        "<head>",
        "<meta",
        "<title",
        "<link",
        "<style",
        "<body",
        "<header",
        "<h1",
        "<h2",
        "<main",
        "<section",
        "<p",
        "<ol",
        "<ul",
        "<li",
        "<form",
        "<input",
        "<button",
        "<details",
        "<nav",
        "</main",
        "</section",
        "</form",
    ] {
        text = text.replace(start, &format!("\n{start}"));
    }
    text
}

fn state_of(html: &str) -> &str {
    let (_, rest) = html.split_once("<section class=\"state ").unwrap();
    rest.split_once("</section>").unwrap().0
}

#[test]
fn the_whole_page_is_as_it_was() {
    let stranger = guest(Standing::Stranger, TRIAL);
    for language in Language::ALL {
        insta::assert_snapshot!(format!("page-{}", language.tag()), lines(&page(language, &stranger)));
    }
}

#[test]
fn the_first_part_of_each_state_is_as_it_was() {
    for language in Language::ALL {
        let mut text = String::new();
        for (name, guest) in all() {
            let html = page(language, &guest);
            let state = lines(&format!("<style></style>{}", state_of(&html))).replace("<style></style>", "");
            text += &format!("== {name}: {}\n\n", state.trim());
        }
        insta::assert_snapshot!(format!("states-{}", language.tag()), text);
    }
}

#[test]
fn no_two_states_read_the_same() {
    for language in Language::ALL {
        let mut pages: Vec<_> = all().iter().map(|(_, guest)| page(language, guest)).collect();
        pages.sort();
        pages.dedup();
        assert_eq!(pages.len(), all().len());
    }
}

#[test]
fn the_longest_page_fits_the_first_flight_of_a_connection() {
    let debt = Debt { debtor: TeamId([0xdd; 24]), creditor: TeamId([0xcc; 24]), left: Bytes(u64::MAX) };
    let why = WhyRefused::Other("&\u{202e}".repeat(5_000));
    let worst = guest(Standing::Refused { why, chain: vec![debt; 99] }, TRIAL);
    let mut longest = 0;
    for terms in ["\"".repeat(333), "a\n".repeat(100)] {
        let long = Settings {
            household: "&".repeat(20),
            contact: Some("<".repeat(50)),
            terms: Some(terms),
            member_page: Some("&".repeat(40)),
            ..settings()
        };
        let splash = Splash::new(long).unwrap();
        for guest in all().into_iter().map(|(_, guest)| guest).chain([worst.clone()]) {
            for language in Language::ALL {
                // Reading it fails if it is longer than may be.
                let request = get(&format!("/{}", language.tag()), HOST, "");
                let read = ask(&splash, &request, Transport::Plain, &guest);
                assert_eq!(read.status, 200);
                longest = longest.max(read.body.len());
            }
        }
    }
    println!("the longest page has {longest} bytes");
}

#[test]
fn what_others_wrote_is_shown_as_text() {
    let other = WhyRefused::Other("<script>alert(1)</script>\r\n\u{202e}&\"'".to_owned());
    let html = page(Language::Arabic, &guest(Standing::Refused { why: other, chain: vec![] }, TRIAL));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;'"));
    assert!(!html.contains("<script") && !html.contains('\u{202e}'));
    assert!(html.contains("<bdi>The Rivers &amp; Sons</bdi>"));
}

#[test]
fn the_token_is_in_the_form_and_nowhere_else() {
    for (name, guest) in all() {
        let html = page(Language::English, &guest);
        let has_form = html.contains("<form");
        assert_eq!(html.matches(&token().text()).count(), usize::from(has_form), "{name}");
        assert_eq!(has_form, ["stranger-trial", "refused-allowance"].contains(&name), "{name}");
    }
}

#[test]
fn a_page_allows_nothing_but_its_own_style_and_form() {
    let read = ask_plain(&get("/en", HOST, ""), &guest(Standing::Stranger, TRIAL));
    let policy = read.header("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("script"), "{policy}");
    assert!(!read.body.contains("style=\""), "inline style");
    let is_handler =
        |rest: &str| rest.trim_start_matches(|it: char| it.is_ascii_lowercase()).starts_with('=');
    assert!(!read.body.split(" on").skip(1).any(is_handler), "an inline handler");
    assert_eq!(read.header("Access-Control-Allow-Origin"), None);
}

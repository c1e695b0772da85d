//! The page. All of it is one response: no script, no picture, no second request.

use crate::guest::{Debt, Guest, Standing, Trial, WhyRefused, WhyServed};
use crate::language::{Around, Language, Texts};
use crate::settings::{Settings, escaped_length, is_shown};
use guestright_reciprocity::ServiceClass;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

pub(crate) const STYLE: &str = include_str!("page/style.css");
/// Of a sentence that the home or another household wrote, as it stands in the page.
const SENTENCE_BYTES_MAX: usize = 400;

/// How the state looks. Each has a sign of its own, so that colour alone says nothing.
#[derive(Clone, Copy)]
enum Look {
    Good,
    Wait,
    No,
}

/// What the first part of the page says.
struct State {
    look: Look,
    heading: &'static str,
    /// Sentences, one in a paragraph.
    lines: Vec<Markup>,
    /// What stands behind "Why?".
    why: Option<Markup>,
}

pub(crate) fn page(settings: &Settings, guest: &Guest, language: Language) -> String {
    let texts = language.texts();
    let state = state(guest, texts);
    let main = html! {
        (first(&state, guest, language))
        section {
            p { (around(texts.shares, name(&settings.household))) }
            p { (texts.no_company) }
        }
        (membership(settings, texts))
        (household(settings, texts))
        section {
            h2 { (texts.privacy_heading) }
            p { (texts.privacy) }
            p { a href={ "/terms/" (language.tag()) } { (texts.terms_page) } }
        }
    };
    document(settings, language, "/", state.heading, &main)
}

/// A page around what it says; `path` is where it stands in each language.
fn document(settings: &Settings, language: Language, path: &str, title: &str, main: &Markup) -> String {
    let texts = language.texts();
    let page = html! {
        (DOCTYPE)
        html lang=(language.tag()) dir=(language.direction()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) " – " (settings.household) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.soft { (texts.title) }
                    h1 { (name(&settings.household)) }
                }
                main { (main) }
                (languages(settings, language, path))
            }
        }
    };
    page.into_string()
}

/// The terms, and what is kept of guests. It says nothing of the guest who reads it.
pub(crate) fn terms_page(settings: &Settings, language: Language) -> String {
    let texts = language.texts();
    let main = html! {
        section {
            h2 { (texts.terms_heading) }
            @match &settings.terms_text {
                Some(text) => @for paragraph in paragraphs(text) { p dir="auto" { (paragraph) } },
                None => @for paragraph in texts.terms_usual { p { (paragraph) } },
            }
        }
        section {
            h2 { (texts.kept_heading) }
            p { (texts.kept_receipts) }
            @match settings.addresses_kept_hours {
                Some(hours) => {
                    p { (texts.kept_addresses) }
                    p { (around(texts.kept_hours, name(&hours.to_string()))) }
                }
                None => p { (texts.kept_no_addresses) },
            }
        }
        @if let Some(contact) = &settings.contact {
            section { h2 { (texts.contact_heading) } p dir="auto" { (contact) } }
        }
        p { a.again href={ "/" (language.tag()) } { (texts.back) } }
    };
    document(settings, language, "/terms/", texts.terms_page, &main)
}

/// Lines of a text, without those that are empty.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// How the guest stands, and what can be done about it.
fn first(state: &State, guest: &Guest, language: Language) -> Markup {
    let texts = language.texts();
    let (class, sign) = match state.look {
        Look::Good => ("good", "✓"),
        Look::Wait => ("wait", "…"),
        Look::No => ("no", "✕"),
    };
    html! {
        section.state.(class) {
            h2 { span.icon aria-hidden="true" { (sign) } span { (state.heading) } }
            @for line in &state.lines { p { (line) } }
            @if let Some(why) = &state.why { details { summary { (texts.why) } (why) } }
            @if let Some(volume) = guest.trial_offered() {
                form method="post" action="/trial" {
                    input type="hidden" name="token" value=(guest.token.text());
                    input type="hidden" name="language" value=(language.tag());
                    p { (texts.trial) }
                    button { (around(texts.trial_button, name(&texts.volume(volume.0)))) }
                }
            }
            @if guest.trial == Trial::UsedUp && !guest.is_online() && guest.standing != Standing::Closed {
                p { (texts.trial_used_up) }
            }
            p { a.again href={ "/" (language.tag()) } { (texts.again) } }
        }
    }
}

fn state(guest: &Guest, texts: &Texts) -> State {
    let line = |text: &'static str| html! { (text) };
    let plain = |look, heading, text| State { look, heading, lines: vec![line(text)], why: None };
    let chain = guest.standing.chain();
    if let (Trial::Running { left, seconds_left }, false) =
        (guest.trial, matches!(guest.standing, Standing::Served { .. }))
    {
        let minutes = seconds_left.div_ceil(60).to_string();
        let lines = vec![
            around(texts.volume_left, name(&texts.volume(left.0))),
            around(texts.minutes_left, name(&minutes)),
            line(texts.trial_running),
        ];
        return State { look: Look::Good, heading: texts.trial_heading, lines, why: None };
    }
    match &guest.standing {
        Standing::Stranger => plain(Look::Wait, texts.stranger_heading, texts.stranger),
        Standing::Welcome { why, .. } => State {
            why: Some(html! { p { (why_served(*why, texts)) } (debts(chain, texts)) }),
            ..plain(Look::Good, texts.welcome_heading, texts.welcome)
        },
        Standing::Served { class, left, why, .. } => {
            let mut lines = vec![line(class_sentence(*class, texts))];
            lines.extend(left.map(|left| around(texts.volume_left, name(&texts.volume(left.0)))));
            let why = html! { p { (why_served(*why, texts)) } (debts(chain, texts)) };
            State { look: Look::Good, heading: texts.served_heading, lines, why: Some(why) }
        }
        Standing::Refused { why, .. } => State {
            look: Look::No,
            heading: texts.refused_heading,
            lines: vec![why_refused(why, texts)],
            why: is_of_debts(why).then(|| {
                html! {
                    @if chain.is_empty() { p { (texts.no_chain) } }
                    (debts(chain, texts))
                    p { (texts.no_debts) }
                }
            }),
        },
        Standing::HomeAway => plain(Look::No, texts.home_away_heading, texts.home_away),
        Standing::Undecided => plain(Look::Wait, texts.undecided_heading, texts.undecided),
        Standing::Closed => plain(Look::No, texts.closed_heading, texts.closed),
    }
}

/// The chain, one debt in a line.
fn debts(chain: &[Debt], texts: &Texts) -> Markup {
    let [before, owes, volume, end] = texts.debt;
    html! {
        @if !chain.is_empty() {
            p { (texts.chain) }
            ol {
                @for debt in chain {
                    li {
                        (before) (name(&debt.debtor.short())) (owes) (name(&debt.creditor.short())) (volume)
                        (name(&texts.volume(debt.left.0))) (end)
                    }
                }
            }
        }
    }
}

fn class_sentence(class: ServiceClass, texts: &Texts) -> &'static str {
    match class {
        ServiceClass::Lowest => texts.class_lowest,
        ServiceClass::Low => texts.class_low,
        ServiceClass::Middle => texts.class_middle,
        ServiceClass::High => texts.class_high,
        ServiceClass::Own => texts.class_own,
    }
}

fn why_served(why: WhyServed, texts: &Texts) -> &'static str {
    match why {
        WhyServed::Own => texts.why_own,
        WhyServed::Owed => texts.why_owed,
        WhyServed::Chain => texts.why_chain,
        WhyServed::Sponsored => texts.why_sponsored,
        WhyServed::Allowance => texts.why_allowance,
        WhyServed::Everybody => texts.why_everybody,
    }
}

fn why_refused(why: &WhyRefused, texts: &Texts) -> Markup {
    let text = match why {
        WhyRefused::AllowanceUsedUp => texts.not_allowance,
        WhyRefused::Unpaid => texts.not_unpaid,
        WhyRefused::Busy => texts.not_busy,
        WhyRefused::CertificateEnded => texts.not_certificate,
        WhyRefused::Revoked => texts.not_revoked,
        WhyRefused::Other(sentence) => {
            return html! { (texts.not_other) span.quote lang="en" dir="ltr" { (shown(sentence)) } };
        }
    };
    html! { (text) }
}

/// Whether debts had a part in it.
fn is_of_debts(why: &WhyRefused) -> bool {
    match why {
        WhyRefused::AllowanceUsedUp | WhyRefused::Other(_) => true,
        WhyRefused::Unpaid | WhyRefused::Busy | WhyRefused::CertificateEnded | WhyRefused::Revoked => false,
    }
}

fn membership(settings: &Settings, texts: &Texts) -> Markup {
    html! {
        section {
            h2 { (texts.member_heading) }
            ol { @for step in texts.member_steps { li { (step) } } }
            // No link: nothing outside can be opened from here by whoever is not online.
            @if let Some(page) = &settings.member_page { p { (around(texts.member_page, name(page))) } }
        }
    }
}

fn household(settings: &Settings, texts: &Texts) -> Markup {
    html! {
        @if let Some(terms) = &settings.terms {
            section {
                h2 { (texts.terms_heading) }
                @for paragraph in paragraphs(terms) { p dir="auto" { (paragraph) } }
            }
        }
        @if let Some(contact) = &settings.contact {
            section { h2 { (texts.contact_heading) } p dir="auto" { (contact) } }
        }
    }
}

/// Links to the same page in other languages; `before` stands before their tags.
fn languages(settings: &Settings, own: Language, before: &str) -> Markup {
    html! {
        nav aria-label=(own.texts().languages) {
            ul {
                @for language in &settings.languages {
                    li {
                        a href={ (before) (language.tag()) } lang=(language.tag()) hreflang=(language.tag())
                            aria-current=[(*language == own).then_some("page")] { (language.own_name()) }
                    }
                }
            }
        }
    }
}

/// Something of another direction and language, which does not turn what is around it.
fn name(text: &str) -> Markup {
    html! { bdi { (text) } }
}

fn around([before, after]: Around, inside: impl Render) -> Markup {
    html! { (before) (inside) (after) }
}

/// A sentence of somebody else, without what would not be shown or would turn the rest, and not too long.
fn shown(sentence: &str) -> String {
    let mut text = String::new();
    let mut bytes = 0;
    for character in sentence.chars().filter(|it| is_shown(*it)) {
        bytes += escaped_length(character.encode_utf8(&mut [0; 4]));
        if bytes > SENTENCE_BYTES_MAX {
            return text + "…";
        }
        text.push(character);
    }
    text
}

//! The page without a script: all that an overview says, written here.

mod parts;

use guestright_overview::{May, Overview, State, Team};
use maud::{DOCTYPE, Markup, html};
use parts::time;

pub(crate) const STYLE: &str = include_str!("plain/style.css");
pub(crate) const STYLE_PATH: &str = "/plain.css";

/// For whoever has no session: the one form that this page has. A browser keeps what is behind `#` to itself, so a person has to
/// carry it over.
pub(crate) fn sign_in() -> String {
    let page = document(
        "Your household",
        html! {
            section.state.wait {
                h1 { "Enter the code of your link" }
                p { "It stands behind the " code { "#" } " in the address that you opened. A link works once, within ten minutes." }
                form method="post" action="/v1/session" {
                    label for="link" { "Code" }
                    input #link name="link" required autocomplete="off" autocapitalize="none" spellcheck="false"
                        minlength="22" maxlength="32";
                    button { "Look" }
                }
                p { "Without a link, make one on the home's computer: " code { "guestright home web --enable" } }
            }
        },
    );
    page.into_string()
}

/// All that an overview says.
pub(crate) fn page(overview: &Overview) -> String {
    let page = document(
        overview.standing.says.as_str(),
        html! {
            (standing(overview))
            (parts::access_points(overview))
            (parts::guests(overview))
            (parts::calls(overview))
            (parts::credit(overview))
            (parts::balances(overview))
            (parts::why(overview))
            (parts::refusals(overview))
            (parts::members(overview))
            (parts::findings(overview))
            (parts::hours(overview))
            footer {
                p { "As of " (time(overview.at)) ". guestright " (overview.version) "." }
                @match overview.may {
                    May::Look => p { "You may look here, and change nothing." },
                    May::Change => p { "To change something, use " code { "guestright" } " on the home's computer." },
                }
            }
        },
    );
    page.into_string()
}

fn document(title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) " – guestright" }
                link rel="stylesheet" href=(STYLE_PATH);
            }
            body { main { (content) } }
        }
    }
}

/// How the household stands. Each state has a sign of its own, so that colour alone says nothing.
fn standing(overview: &Overview) -> Markup {
    let standing = &overview.standing;
    let (class, sign) = match standing.state {
        State::Serving | State::Nobody => ("good", "✓"),
        State::HomeAway => ("wait", "…"),
        State::Trouble | State::StoreLocked | State::ClockWrong => ("no", "✕"),
    };
    html! {
        section.state.(class) {
            p.soft { "Household " (name(overview, overview.team)) }
            h1 { span.icon aria-hidden="true" { (sign) } " " (standing.says) }
            @if !standing.on { p { "A guest who comes now cannot be served." } }
            @if let Some(to_do) = &standing.to_do { p { strong { (to_do) } } }
            @if let Some(since) = standing.since { p.soft { "Since " (time(since)) } }
            @if let Some(until) = overview.everybody_until {
                p { "Everybody is served in the lowest class until " (time(until)) "." }
            }
            p { a.again href="/" { "Look again" } }
        }
    }
}

/// What the household calls a team, or the first eight digits of its id.
fn name(overview: &Overview, team: Team) -> String {
    overview.names.get(&team).map_or_else(|| String::from(team)[..8].to_owned(), ToString::to_string)
}

/// A team, with a way to ask why it would be served.
fn team(overview: &Overview, team: Team) -> Markup {
    html! { a href={ "/?why=" (String::from(team)) "#why" } { (name(overview, team)) } }
}

/// Teams one after the other, as a debt runs.
fn chain(overview: &Overview, teams: &[Team]) -> String {
    teams.iter().map(|team| name(overview, *team)).collect::<Vec<_>>().join(" → ")
}

fn nothing(text: &str) -> Markup {
    html! { p.soft { (text) } }
}

fn left_out(count: guestright_overview::Count) -> Markup {
    html! { @if count.get() > 0 { p.soft { (count.get()) " more are not shown." } } }
}

#[cfg(test)]
mod tests;

use super::{page, sign_in};
use guestright_overview::{Name, Overview, Sentence};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The recorded overviews, one for each state.
fn recorded() -> Vec<(String, Overview)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pure/overview/tests/fixtures");
    let mut recorded: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, Overview::from_json(&fs::read(path).unwrap()).unwrap())
        })
        .collect();
    recorded.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(recorded.len(), 7);
    recorded
}

/// Every text of an overview that is meant for people.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_shown = matches!(
                    name.as_str(),
                    "says" | "to_do" | "reason" | "trouble" | "name" | "label" | "what" | "ip" | "mac"
                );
                match field {
                    Value::String(text) if is_shown => found.push(text.clone()),
                    Value::String(_)
                    | Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => {
                        texts(field, found);
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn escaped(text: &str) -> String {
    maud::html! { (text) }.into_string()
}

#[test]
fn all_that_an_overview_says_is_on_the_page() {
    for (state, overview) in recorded() {
        let page = page(&overview);
        let mut found = Vec::new();
        texts(&serde_json::to_value(&overview).unwrap(), &mut found);
        assert!(found.len() > 5, "{state}");
        for text in found {
            assert!(page.contains(&escaped(&text)), "{state}: {text}");
        }
        for (team, name) in &overview.names {
            let is_named = page.contains(&escaped(name.as_str()));
            let is_used = overview.balances.iter().any(|balance| balance.team == *team);
            assert!(is_named || !is_used, "{state}: {name}");
        }
        for balance in &overview.balances {
            assert!(
                page.contains(&super::parts::bytes(balance.we_owe))
                    && page.contains(&super::parts::bytes(balance.they_owe))
            );
        }
    }
}

#[test]
fn what_others_wrote_is_text_and_nothing_is_inline() {
    let (_, mut overview) = recorded().into_iter().find(|(state, _)| state == "serving").unwrap();
    let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    overview.standing.says = Sentence::shortened(hostile);
    overview.guests[0].reason = Sentence::shortened(hostile);
    overview.guests[0].mac = Some(Name::shortened(hostile));
    for name in overview.names.values_mut() {
        *name = Name::shortened(hostile);
    }
    for page in [page(&overview), sign_in()] {
        for inline in ["<script", "<style", " style=", "<img", "javascript:", "<base", "http-equiv"] {
            assert!(!page.contains(inline), "{inline}");
        }
        let handlers = page.split('<').filter(|tag| tag.split('>').next().unwrap().contains(" on"));
        assert_eq!(handlers.count(), 0);
    }
}

#[test]
fn the_largest_overview_is_written() {
    let (_, mut overview) = recorded().into_iter().find(|(state, _)| state == "serving").unwrap();
    overview.guests = vec![overview.guests[0].clone(); 256];
    overview.balances = vec![overview.balances[0]; 256];
    let page = page(&overview.shortened());
    assert!(page.ends_with("</html>") && page.len() < 1 << 20, "{}", page.len());
}

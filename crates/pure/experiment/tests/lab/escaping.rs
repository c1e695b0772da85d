//! Whatever a plan writes where it may choose its words stays text in the page.

use crate::testbed::{plan, run, small};
use guestright_experiment::{Evaluation, Files, Platform, Provenance, Value, evaluate, report_html};

/// Breaks out of an element, of an attribute in either kind of quotes and of an entity; short enough for a unit.
fn hostile(number: usize) -> String {
    format!("<b x=\\\"'>&{number};</td></svg>")
}

/// The fields of a plan that take any text, each with a number of its own in `@`.
const FIELDS: &str = r#"
[settings]
remark = "@1"

[[case]]
name = "a"
title = "@2"
about = "@3"
settings = { duration_s = 60.0 }

[[case]]
name = "b"
title = "@4"
about = "@5"
settings = { duration_s = 80.0 }

[base]
case = "a"
at = { calls = 5, cpu.nat_us = 100.0 }

[[measure]]
id = "room"
title = "@6"
unit = "@7"
about = "@8"
kind = "largest"
of = "load"
over = "calls"
at_most = 1.0
otherwise = 0

[[claim]]
id = "c"
text = "@9"
source = "@10"
of = "room"
published = 3
within = 0.5

[[claim]]
id = "p"
text = "@11"
source = "@12"
of = "room"
cases = ["a", "b"]
order = "increasing"

[[map]]
id = "m"
title = "@13"
x = "calls"
y = "cpu.nat_us"
x_label = "@14"
y_label = "@15"
note = "@16"
panel = "case"
of = "load"

[[figure]]
id = "f"
title = "@17"
x = "calls"
y = "load"
x_label = "@18"
y_label = "@19"
note = "@20"
at = { cpu.nat_us = 100.0 }

[[figure.thresholds]]
name = "@21"
y = 0.5

[[figure.published]]
name = "@22"
case = "a"
points = [[1, 0.2], [8, 0.9]]

[[table]]
id = "t"
title = "@23"
rows = "case"
note = "@24"
at = { calls = 5, cpu.nat_us = 100.0 }

[[table.column]]
title = "@25"
of = "load"

[[table.column]]
title = "@26"
setting = "remark"

[[assumption]]
text = "@27"
why = "@28"
settings = ["remark"]
varied = "cpu.nat_us"

[[assumption]]
text = "@29"
why = "@30"
varied = ["a", "b"]

[[note]]
title = "@31"
text = "@32 {load}\n\n@33"

[[fit]]
settings = ["remark"]
how = "@34"
on = ["c"]

[paper]
name = "@35"
title = "@36"
authors = "@37"
published = "@38"
"#;

const COUNT: usize = 38;

fn evaluation(word: impl Fn(usize) -> String) -> Evaluation {
    let head = small("").replace("seeds = 4", "seeds = 2").replace("[1, 2, 5, 6, 7, 8]", "[1, 5, 8]");
    let mut text = format!("{head}cpu.nat_us = [100.0, 900.0]\n{FIELDS}");
    // From the last: `@1` begins `@10`.
    for number in (1..=COUNT).rev() {
        text = text.replace(&format!("@{number}"), &word(number));
    }
    let text = text
        .replace("title = \"Small\"", &format!("title = \"{}\"\nsource = \"{}\"", word(40), word(41)))
        .replace("Does it?", &word(42));
    let plan = plan(&text);
    evaluate(&plan, &run(&plan), Platform::Sim)
}

fn provenance() -> Provenance {
    let plain = |number| hostile(number).replace("\\\"", "\"");
    Provenance {
        title: plain(50),
        head: vec![(plain(54), plain(55))],
        facts: vec![(plain(51), plain(52))],
        files: vec![Files { csv: plain(53), parquet: plain(56), figures: plain(57), rows: plain(58) }],
    }
}

/// The tags of a page as a browser reads them: an attribute's text may hold `<` and `>`.
fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let mut quote = None;
        let end = after.find(|c: char| match (quote, c) {
            (None, '>') => true,
            (None, '"' | '\'') => {
                quote = Some(c);
                false
            }
            (Some(open), c) => {
                if open == c {
                    quote = None;
                }
                false
            }
            (None, _) => false,
        });
        let end = end.unwrap_or_else(|| panic!("a tag without an end: {after:.200}"));
        tags.push(&after[..end]);
        rest = &after[end..];
    }
    tags
}

#[test]
fn a_hostile_plan_makes_the_same_elements_as_a_tame_one() {
    let shape = |page: &str| -> Vec<String> {
        let page = page.split_once("</style>").unwrap().1;
        let names = tags(page).into_iter().map(|tag| tag.split([' ', '\n']).next().unwrap().to_owned());
        // Pictures break long labels into lines; what is in them has a test of its own.
        let mut inside = false;
        names
            .filter(|name| {
                let was = inside;
                inside = if name == "svg" { true } else { inside && name != "/svg" };
                !(was || inside)
            })
            .collect()
    };
    let tame = report_html(
        &[evaluation(|number| format!("word {number}"))],
        &Provenance {
            title: "t".into(),
            head: vec![("a".into(), "b".into())],
            facts: vec![("a".into(), "b".into())],
            files: vec![Files {
                csv: "c".into(),
                parquet: "d".into(),
                figures: "e".into(),
                rows: "f".into(),
            }],
        },
    );
    let wild = report_html(&[evaluation(hostile)], &provenance());
    assert_eq!(shape(&wild), shape(&tame));
    for raw in ["<b x", "x=\"'", "&1;", "</td></svg>"] {
        assert!(!wild.contains(raw), "{raw}: {}", around(&wild, raw));
    }
}

#[test]
fn every_ampersand_of_a_page_begins_an_entity() {
    let page = report_html(&[evaluation(hostile)], &provenance());
    let page = page.split_once("</style>").unwrap().1;
    for rest in page.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(
            known.iter().any(|entity| rest.starts_with(entity)),
            "&{}",
            rest.chars().take(40).collect::<String>()
        );
    }
}

#[test]
fn every_word_of_a_plan_is_in_its_page() {
    // An apostrophe ends nothing within double quotation marks; pictures write it as an entity, the page does not.
    let page = report_html(&[evaluation(hostile)], &provenance()).replace("&#39;", "'");
    // What a measure and a case are about is said in the JSON and in the table of cases only.
    for number in (1..=COUNT).chain(40..=42).chain(50..=57).filter(|number| *number != 8) {
        let want = format!("&lt;b x=&quot;'&gt;&amp;{number};&lt;/td&gt;&lt;/svg&gt;");
        assert!(page.contains(&want), "{number}");
    }
}

#[test]
fn an_assumption_says_the_unit_of_a_measure_as_text() {
    let page = report_html(&[evaluation(hostile)], &provenance());
    let assumptions = page.split("id=\"p1-assumptions\"").nth(1).unwrap();
    let assumptions = assumptions.split("<h3").next().unwrap();
    let unit = "&lt;b x=&quot;'&gt;&amp;7;&lt;/td&gt;&lt;/svg&gt;";
    assert!(assumptions.contains(&format!("{unit}</td>")), "{assumptions}");
}

/// The same plan's text for the terminal: no line of it may be torn, whatever the words.
#[test]
fn the_text_has_the_words_as_they_are() {
    let text = evaluation(hostile).text();
    for number in [9, 11, 13, 23, 24, 25, 26, 27, 29, 31, 40] {
        assert!(text.contains(&format!("<b x=\"'>&{number};</td></svg>")), "{number}: {text}");
    }
}

#[test]
fn a_measures_unit_and_the_values_of_cases_are_text_in_the_json_too() {
    let one = evaluation(hostile);
    assert_eq!(Evaluation::from_json(&one.json()).unwrap(), one);
    assert_eq!(one.measures[0].unit, "<b x=\"'>&7;</td></svg>");
    assert_eq!(one.measures[0].about, "<b x=\"'>&8;</td></svg>");
    let at = &one.measures[0].numbers[0].at;
    assert_eq!(at.get("cpu.nat_us"), Some(&Value::Float(100.0)));
}

fn around(page: &str, raw: &str) -> String {
    let at = page.find(raw).unwrap_or(0);
    page.chars().skip(page[..at].chars().count().saturating_sub(120)).take(240).collect()
}

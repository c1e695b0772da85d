//! Every mistake is told with its line and column, and what to do.

use crate::testbed::{TESTBEDS, example, plan, small, where_example};
use guestright_experiment::Plan;
use std::fmt::Write;

/// Mistakes that are made by replacing something in the document's example.
#[rustfmt::skip]
const REPLACED: &[(&str, &str, &str)] = &[
    ("not TOML",                   "[sweep]", "[sweep"),
    ("a key twice",                "seeds = 20", "seeds = 20\nseeds = 21"),
    ("no name",                    "name = \"voice-capacity\"\n", ""),
    ("a name that is a path",      "name = \"voice-capacity\"", "name = \"../voice\""),
    ("an unknown key",             "question =", "qestion ="),
    ("no seeds",                   "seeds = 20                  #", "# "),
    ("too many seeds",             "seeds = 20 ", "seeds = 20_000 "),
    ("seeds misspelt",             "seeds = 20 ", "seedz = 20 "),
    ("an infinite condition",      "at_least = 3.6", "at_least = inf"),
    ("a setting that is not a number", "cpu.nat_us = 100.0", "cpu.nat_us = nan"),
    ("seeds in words",             "seeds = 20 ", "seeds = \"many\" "),
    ("an unknown testbed",         "\"voice\"", "\"voise\""),
    ("an unknown platform",        "[\"sim\"]", "[\"sim\", \"netn\"]"),
    ("an unknown setting",         "cpu.nat_us = 100.0", "cpu.nat_ms = 0.1"),
    ("a setting out of range",     "duration_s = 90", "duration_s = 0.0"),
    ("a setting of another kind",  "duration_s = 90", "duration_s = true"),
    ("a setting that is a list",   "duration_s = 90", "duration_s = [90]"),
    ("an infinite setting",        "duration_s = 90", "duration_s = inf"),
    ("a whole number with a dot",  "from = 1, to = 9", "from = 1.0, to = 9.0"),
    ("a word that is none",        "\"rsa-1024\"", "\"rsa-1025\""),
    ("swept and set",              "duration_s = 90", "calls = 3"),
    ("a sweep that is empty",      "calls = { from = 1, to = 9 }", "calls = []"),
    ("a sweep with a value twice", "calls = { from = 1, to = 9 }", "calls = [1, 2, 1]"),
    ("a range without an end",     "from = 1, to = 9", "from = 1"),
    ("a range that goes down",     "from = 1, to = 9", "from = 9, to = 1"),
    ("a range without end",        "from = 1, to = 9", "from = 1, to = 900000"),
    ("a range with another key",   "from = 1, to = 9", "from = 1, too = 9"),
    ("a sweep of nothing known",   "calls = { from = 1, to = 9 }", "cals = [1]"),
    ("a case's own axis",          "sweep = { calls = { from = 1, to = 8 } }", "sweep = { cpu.nat_us = [1.0] }"),
    ("a point that is refused",    "sweep = { calls = { from = 1, to = 8 } }", ""),
    ("a quick point that is",      "calls = [1, 3, 5, 6, 7, 8] }", "calls = [1, 3, 5, 6, 7, 9] }"),
    ("a case twice",               "name = \"rsa\"", "name = \"plain\""),
    ("a measure without kind",     "kind = \"largest\"            # The largest x up to which the metric holds without a gap.\n", ""),
    ("a kind that is none",        "kind = \"largest\"", "kind = \"lagrest\""),
    ("an unknown metric",          "of = \"mos_mean\"             #", "of = \"mos_men\" #"),
    ("an axis that is none",       "over = \"calls\"", "over = \"call\""),
    ("no condition",               "at_least = 3.6\notherwise", "otherwise"),
    ("both conditions",            "otherwise = 0", "at_most = 4.0\notherwise = 0"),
    ("a measure named as a metric", "id = \"capacity\"\ntitle = \"Calls of", "id = \"load\"\ntitle = \"Calls of"),
    ("a measure that comes later", "of = \"capacity\"\nto = \"capacity\"", "of = \"later\"\nto = \"capacity\""),
    ("a case that is none",        "to_case = \"plain\"", "to_case = \"plane\""),
    ("a curve of a measure",       "y = \"mos_mean\"", "y = \"capacity\""),
    ("a band that is none",        "band = \"interval\"", "band = \"sd\""),
    ("ends the wrong way round",   "y_to = 4.5", "y_to = 0.5"),
    ("a published point of three", "[[7, 3.6]]", "[[7, 3.6, 3.5]]"),
    ("published points in words",  "[[7, 3.6]]", "[[7, \"3.6\"]]"),
    ("rows of nothing known",      "rows = [\"case\"]", "rows = [\"cases\"]"),
    ("a published row that is none", "{ plain = 7,", "{ plan = 7,"),
    ("a claim about nothing",      "of = \"capacity\"\ncases = [\"plain\", \"rsa\", \"ecdsa\"]\npublished", "of = \"capacities\"\npublished"),
    ("published numbers for others", "published = [7, 7, 6]", "published = [7, 7]"),
    ("nothing to judge by",        "within = 1\n", ""),
    ("judged in two ways",         "within = 1\n", "within = 1\nat_least = 3\n"),
    ("near nothing",               "published = [7, 7, 6]\n", ""),
    ("a point outside the sweep",  "at = { calls = 6 }", "at = { calls = 10 }"),
    ("a point that quick has not", "at = { calls = 6 }", "at = { calls = 4 }"),
    ("a point left open",          "at = { calls = 6 }\n", ""),
    ("an order of one",            "cases = [\"plain\", \"rsa\", \"ecdsa\"]\norder", "case = \"rsa\"\norder"),
    ("an order that is none",      "\"non-increasing\"", "\"falling\""),
    ("fitted on no claim",         "on = [\"calls\"]", "on = [\"cals\"]"),
    ("a fit of no setting",        "settings = [\"cpu.nat_us\"]", "settings = [\"cpu.nat\"]"),
    ("a number in a text",         "{capacity case=plain}", "{capacity}"),
    ("an open bracket",            "{capacity case=plain}", "{capacity case=plain"),
    ("a place that is none",       "calls=8}", "calls=80}"),
    ("a list where a table is",    "[quick]\nseeds = 5\nsettings = { duration_s = 30 }\nsweep = { calls = [1, 3, 5, 6, 7, 8] }", "[[quick]]\nseeds = 5"),
];

/// Mistakes in the document's second example.
#[rustfmt::skip]
const REPLACED_IN_MAPS: &[(&str, &str, &str)] = &[
    ("a base that is no case",     "case = \"rsa\"\nat", "case = \"rsaa\"\nat"),
    ("a base off the sweep",       "cpu.spread = 0.1 }", "cpu.spread = 0.2 }"),
    ("a base in a list",           "[base]", "[[base]]"),
    ("a base that leaves an axis", "at = { cpu.nat_us = 100.0, cpu.spread = 0.1 }", "at = { cpu.nat_us = 100.0 }"),
    ("an empty list of places",    "calls = [2, 6] }", "calls = [] }"),
    ("a place off the sweep",      "calls = [2, 6] }", "calls = [2, 7] }"),
    ("an order of two lists",      "calls = [2, 6] }     # A list: two numbers.\nat_least = 3.6", "calls = [2, 6], cpu.spread = [0.0, 0.1] }\norder = \"increasing\""),
    ("an order of one number",     "at = { calls = [2, 6] }     # A list: two numbers.\nat_least = 3.6", "at = { calls = [6] }\norder = \"increasing\""),
    ("compared with no such place", "to_case = \"plain\"", "to_case = \"plain\"\nto_at = { calls = 3 }"),
    ("compared with an axis that is gone", "to_case = \"plain\"", "to_at = { cals = 2 }"),
    ("a map of nothing",           "claim = \"acceptable\"", ""),
    ("a map of two things",        "claim = \"acceptable\"", "claim = \"acceptable\"\nof = \"cost\""),
    ("a map of no claim",          "claim = \"acceptable\"", "claim = \"acceptible\""),
    ("a claim's map with a place", "claim = \"acceptable\"", "claim = \"acceptable\"\nat = { calls = 2 }"),
    ("a map along what the claim varies", "y = \"cpu.spread\"", "y = \"calls\""),
    ("a map without y",            "y = \"cpu.spread\"\n", ""),
    ("a map over one axis twice",  "y = \"cpu.spread\"", "y = \"cpu.nat_us\""),
    ("a map over no axis",         "x = \"cpu.nat_us\"\ny = \"cpu.spread\"", "x = \"cpu.nat\"\ny = \"cpu.spread\""),
    ("a claim's map by case",      "claim = \"acceptable\"", "claim = \"acceptable\"\npanel = \"case\""),
    ("three panels",               "panel = [\"case\", \"cpu.spread\"]", "panel = [\"case\", \"cpu.spread\", \"calls\"]"),
    ("a map of several cases",     "panel = [\"case\", \"cpu.spread\"]", "panel = \"cpu.spread\""),
    ("a map with a misspelt key",  "panel = [\"case\"", "pannel = [\"case\""),
    ("a held axis that is drawn",  "cases = [\"rsa\", \"ecdsa\"]", "at = { calls = 2 }"),
    ("a map twice",                "id = \"cost\"\ntitle = \"What", "id = \"where\"\ntitle = \"What"),
    ("a map of a number that is gone", "of = \"cost\"\ncases", "of = \"costs\"\ncases"),
    ("an assumption without a reason", "why = \"The source names the processor and no time.\"\n", ""),
    ("an assumption of no setting", "settings = [\"cpu.nat_us\"]", "settings = [\"cpu.nat\"]"),
    ("varied along no axis",       "varied = \"cpu.nat_us\"", "varied = \"cpu.nat\""),
    ("varied along what claims vary", "varied = \"cpu.nat_us\"", "varied = \"calls\""),
    ("varied in one case",         "varied = [\"rsa\", \"ecdsa\"]", "varied = [\"rsa\"]"),
    ("varied in no case",          "varied = [\"rsa\", \"ecdsa\"]", "varied = [\"rsa\", \"ecdsas\"]"),
    ("varied in a case twice",     "varied = [\"rsa\", \"ecdsa\"]", "varied = [\"rsa\", \"rsa\"]"),
    ("a claim about another case", "varied = [\"rsa\", \"ecdsa\"]", "varied = [\"plain\", \"ecdsa\"]"),
    ("an assumption of no claim",  "claims = [\"acceptable\"]", "claims = [\"acceptible\"]"),
    ("claims of what is not varied", "varied = [\"rsa\", \"ecdsa\"]       # … or other cases than the first.\n", ""),
];

#[test]
fn every_mistake_has_its_place_and_its_remedy() {
    insta::assert_snapshot!("mistakes", told(example(), REPLACED));
}

#[test]
fn every_mistake_in_maps_and_assumptions_too() {
    insta::assert_snapshot!("mistakes_in_maps", told(where_example(), REPLACED_IN_MAPS));
}

/// What is said of each mistake, and of the place that it is said of.
fn told(example: &str, replaced: &[(&str, &str, &str)]) -> String {
    let mut all = String::new();
    for (name, from, to) in replaced {
        assert_eq!(example.matches(from).count().min(1), 1, "the example has `{from}` ({name})");
        let text = example.replacen(from, to, 1);
        match Plan::parse(&text, TESTBEDS) {
            Ok(_) => panic!("not refused: {name}"),
            Err(error) => {
                let mut lines = text.lines();
                writeln!(all, "{name}:").unwrap();
                for mistake in &error.mistakes {
                    let line = lines.clone().nth(mistake.line - 1).unwrap_or_default();
                    let rest: String = line.chars().skip(mistake.column - 1).take(24).collect();
                    writeln!(all, "  {mistake}\n    > {rest}").unwrap();
                }
                lines.next();
            }
        }
    }
    all
}

#[test]
fn what_is_wrong_in_one_place_does_not_hide_the_next() {
    let text = example()
        .replace("seeds = 20 ", "seedz = 20 ")
        .replace("at_least = 3.6", "at_lest = 3.6")
        .replace("y_from", "y_form")
        .replace("case = \"rsa\"", "case = \"rsaa\"");
    let error = Plan::parse(&text, TESTBEDS).unwrap_err();
    let lines: Vec<usize> = error.mistakes.iter().map(|mistake| mistake.line).collect();
    assert!(lines.windows(2).all(|two| two[0] <= two[1]), "in the order of the text: {lines:?}");
    let all = error.to_string();
    assert!(!all.contains("is wanted"), "what is misspelt is not missing: {all}");
    for part in
        ["did you mean `seeds`", "did you mean `at_least`", "did you mean `y_from`", "did you mean `rsa`"]
    {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn more_than_the_limits_is_refused() {
    let cases = |count: usize| (0..count).map(|n| format!("[[case]]\nname = \"c{n}\"\n")).collect::<String>();
    assert_eq!(plan(&small(&cases(100))).run_count(), 100 * 6 * 4);
    #[rustfmt::skip]
    let too_much = [
        (small(&cases(101)),                                          "101 cases; at most 100 are allowed"),
        (small("").replace("Does it?", &"x".repeat(4_001)),           "text of at most 4000 bytes is wanted"),
        (format!("#{}\n{}", "x".repeat(Plan::TEXT_MAX), small("")),   "at most 262144 are allowed"),
        (small("cpu.nat_us = { from = 1, to = 1000 }\ncpu.spread = { from = 0, to = 1, step = 0.01 }"), "2424000 runs; at most 200000 are allowed"),
        (small("cpu.nat_us = [1]\ncpu.spread = [1]\nduration_s = [1]\nremark = [\"a\"]\nreceipts.suite = [\"none\"]\nbroken = [false]"), "7 axes; at most 6 are allowed"),
        (small("[settings]\nremark = \"\"\nduration_s = 9223372036854775807"), "is 9223372036854775807"),
    ];
    for (text, want) in too_much {
        let error = Plan::parse(&text, TESTBEDS).unwrap_err().to_string();
        assert!(error.contains(want), "{want}: {error}");
    }
}

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
    insta::assert_snapshot!("mistakes", messages(example(), REPLACED));
}

#[test]
fn every_mistake_in_maps_and_assumptions_too() {
    insta::assert_snapshot!("mistakes_in_maps", messages(where_example(), REPLACED_IN_MAPS));
}

/// What is said of each mistake, and of the place that it is said of.
fn messages(example: &str, replaced: &[(&str, &str, &str)]) -> String {
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
    let limit = format!("at most {} are allowed", Plan::TEXT_MAX);
    let own = format!("bytes without the texts of files; at most {} are allowed", Plan::OWN_TEXT_MAX);
    let file = guestright_experiment::with_files("", &[("a".to_owned(), "x".repeat(2 * Plan::OWN_TEXT_MAX))]);
    assert!(Plan::parse(&(small("") + &file), TESTBEDS).is_ok(), "a file does not count");
    #[rustfmt::skip]
    let too_much: [(String, &str); 8] = [
        (small(&cases(101)),                                          "101 cases; at most 100 are allowed"),
        (small("").replace("Does it?", &"x".repeat(4_001)),           "text of at most 4000 bytes is wanted"),
        (format!("#{}\n{}", "x".repeat(Plan::TEXT_MAX), small("")),   &limit),
        (format!("#{}\n{}", "x".repeat(Plan::OWN_TEXT_MAX), small("")), &own),
        (format!("#{}\n{}{file}", "x".repeat(Plan::OWN_TEXT_MAX), small("")), &own),
        (small("cpu.nat_us = { from = 1, to = 1000 }\ncpu.spread = { from = 0, to = 1, step = 0.01 }"), "2424000 runs; at most 200000 are allowed"),
        (small("cpu.nat_us = [1]\ncpu.spread = [1]\nduration_s = [1]\nremark = [\"a\"]\nreceipts.suite = [\"none\"]\nbroken = [false]"), "7 axes; at most 6 are allowed"),
        (small("[settings]\nremark = \"\"\nduration_s = 9223372036854775807"), "is 9223372036854775807"),
    ];
    for (text, want) in too_much {
        let error = Plan::parse(&text, TESTBEDS).unwrap_err().to_string();
        assert!(error.contains(want), "{want}: {error}");
    }
}

/// A plan with a little of everything, two cases and two axes, one of words.
pub(crate) const OF_EVERYTHING: &str = r#"name = "all"
title = "All"
question = "What is said?"
testbed = "voice"
seeds = 2

[sweep]
calls = [1, 2, 4]
receipts.suite = ["none", "rsa-1024"]

[[case]]
name = "slow"
settings = { cpu.nat_us = 900.0 }

[[case]]
name = "fast"
settings = { cpu.nat_us = 10.0 }

[[measure]]
id = "most"
kind = "max"
of = "mos_mean"
over = "calls"

[[measure]]
id = "ratio"
kind = "ratio"
of = "load"
to = "load"
to_case = "slow"

[[figure]]
id = "curve"
title = "A curve"
x = "calls"
y = ["mos_mean"]
at = { receipts.suite = "none" }

[[table]]
id = "table"
title = "A table"
rows = ["case"]
at = { receipts.suite = "none" }
[[table.column]]
of = "most"

[[claim]]
id = "near"
text = "It is near."
of = "most"
at = { receipts.suite = "none" }
published = [4.0, 4.1]
within = 1

[[claim]]
id = "order"
text = "It falls."
of = "mos_mean"
case = "fast"
at = { receipts.suite = "none" }
along = "calls"
order = "non-increasing"

[[note]]
title = "A note"
text = "It was {most case=fast receipts.suite=none}."
"#;

/// Mistakes in it.
#[rustfmt::skip]
const REPLACED_IN_EVERYTHING: &[(&str, &str, &str)] = &[
    ("a date",                      "title = \"All\"", "title = 2006-11-29"),
    ("an empty title",              "title = \"All\"", "title = \" \""),
    ("a long name",                 "name = \"all\"", "name = \"a-name-of-more-than-sixty-letters-which-is-more-than-a-file-can-do-with\""),
    ("a hidden name",               "name = \"all\"", "name = \".all\""),
    ("a key that moves the cursor", "seeds = 2", "seeds = 2\n\"a\\nb\" = 1"),
    ("a key of a hundred letters",  "seeds = 2", "seeds = 2\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx = 1"),
    ("no testbed",                  "testbed = \"voice\"\n", ""),
    ("a sweep by steps of 0",       "calls = [1, 2, 4]", "calls = { from = 1, to = 4, step = 0 }"),
    ("a sweep between words",       "calls = [1, 2, 4]", "calls = { from = \"one\", to = \"four\" }"),
    ("a range that is too fine",    "calls = [1, 2, 4]", "calls = [1, 2]\ncpu.spread = { from = 0.0, to = 1.0, step = 0.0001 }"),
    ("a list in a list",            "calls = [1, 2, 4]", "calls = [[1], 2, 4]"),
    ("a table in place of a list",  "[[claim]]\nid = \"order\"", "[claim.order]\nid = \"order\""),
    ("a case without a name",       "name = \"slow\"\n", ""),
    ("a case named twice",          "rows = [\"case\"]", "rows = [\"case\"]\ncases = [\"fast\", \"fast\"]"),
    ("max along words",             "over = \"calls\"", "over = \"receipts.suite\""),
    ("max between no points",       "over = \"calls\"", "over = \"calls\"\nfrom = 10"),
    ("a curve that is left open",   "over = \"calls\"\n", ""),
    ("a measure of one kind and a key of another", "over = \"calls\"", "over = \"calls\"\nlevel = 3"),
    ("no height to cross",          "kind = \"max\"", "kind = \"crossing\""),
    ("no x to be at",               "kind = \"max\"", "kind = \"at\""),
    ("two of other axes",           "to = \"load\"", "to = \"most\""),
    ("a relation that holds what is gone", "of = \"load\"\nto = \"load\"", "of = \"most\"\nto = \"most\"\nto_at = { calls = 1 }"),
    ("a measure of a case that is none", "kind = \"ratio\"", "kind = \"ratio\"\ncases = [\"slw\"]"),
    ("an empty figure",             "y = [\"mos_mean\"]", "y = []"),
    ("a figure of nothing",         "y = [\"mos_mean\"]\n", ""),
    ("too many curves",             "y = [\"mos_mean\"]\nat = { receipts.suite = \"none\" }", "y = [\"mos_mean\", \"delay_ms\", \"load\", \"ratio\"]"),
    ("a curve over cases",          "y = [\"mos_mean\"]", "y = [\"mos_mean\"]\nx_of = \"load\"\ny_from = 5\ny_to = 5"),
    ("what is drawn over the cases", "x = \"calls\"", "x = \"case\"\nx_of = \"load\""),
    ("a figure over what is gone",  "y = [\"mos_mean\"]", "y = [\"most\"]"),
    ("a logarithm of 0",            "x = \"calls\"", "x = \"calls\"\nx_scale = \"log\"\nx_from = 0"),
    ("a scale that is none",        "x = \"calls\"", "x = \"calls\"\nx_scale = \"logarithmic\""),
    ("a threshold without height",  "x = \"calls\"", "x = \"calls\"\nthresholds = [{ name = \"here\" }]"),
    ("a published series without points", "[[table]]\nid", "[[figure.published]]\nname = \"theirs\"\n[[table]]\nid"),
    ("a table without rows",        "rows = [\"case\"]\n", ""),
    ("a table without columns",     "[[table.column]]\nof = \"most\"\n", ""),
    ("a column of two things",      "[[table.column]]\nof = \"most\"", "[[table.column]]\nof = \"most\"\nsetting = \"cpu.nat_us\""),
    ("a column of nothing",         "[[table.column]]\nof = \"most\"", "[[table.column]]\ntitle = \"Most\""),
    ("a column of no setting",      "[[table.column]]\nof = \"most\"", "[[table.column]]\nsetting = \"cpu.nat_ms\""),
    ("too many decimals",           "[[table.column]]\nof = \"most\"", "[[table.column]]\nof = \"most\"\ndecimals = 10"),
    ("a number for each case in one row", "rows = [\"case\"]", "rows = [\"calls\"]"),
    ("a published pair of three",   "[[table.column]]\nof = \"most\"", "[[table.column]]\nof = \"most\"\npublished = [[\"slow\", 1, 2]]"),
    ("a published pair of words",   "[[table.column]]\nof = \"most\"", "[[table.column]]\nof = \"most\"\npublished = [[\"slow\", \"much\"]]"),
    ("published in a row of several", "rows = [\"case\"]\nat = { receipts.suite = \"none\" }\n[[table.column]]\nof = \"most\"", "rows = [\"case\"]\ncolumns = \"receipts.suite\"\n[[table.column]]\nof = \"most\"\npublished = { slow = 1 }"),
    ("`case` and `cases`",          "case = \"fast\"\nat", "case = \"fast\"\ncases = [\"slow\"]\nat"),
    ("ends of nothing",             "published = [4.0, 4.1]", "from = 1\npublished = [4.0, 4.1]"),
    ("along what is gone",          "of = \"mos_mean\"\ncase", "of = \"most\"\ncase"),
    ("along words",                 "at = { receipts.suite = \"none\" }\nalong = \"calls\"", "at = { calls = 1 }\nalong = \"receipts.suite\""),
    ("along no points",             "along = \"calls\"", "along = \"calls\"\nfrom = 5\nto = 9"),
    ("published for each along",    "order = \"non-increasing\"", "published = [1, 2]\nwithin = 1"),
    ("an empty list of published",  "published = [4.0, 4.1]", "published = []"),
    ("a tolerance below 0",         "within = 1", "within = -1"),
    ("percent of nothing",          "published = [4.0, 4.1]\nwithin = 1", "within_percent = 1"),
    ("slack without an order",      "within = 1", "within = 1\nslack = 1"),
    ("slack below 0",               "order = \"non-increasing\"", "order = \"non-increasing\"\nslack = -0.1"),
    ("between three",               "within = 1", "between = [1, 2, 3]"),
    ("between the wrong way round", "within = 1", "between = [2, 1]"),
    ("between and another end",     "within = 1", "between = [1, 2]\nabove = 0"),
    ("two lower ends",              "within = 1", "at_least = 1\nabove = 0"),
    ("two upper ends",              "within = 1", "at_most = 1\nbelow = 0"),
    ("a flag that is a number",     "text = \"It is near.\"", "text = \"It is near.\"\nfitted = 1"),
    ("a claim without a text",      "text = \"It is near.\"\n", ""),
    ("a claim twice",               "id = \"order\"", "id = \"near\""),
    ("a claim by no number",        "within = 1", "within = 1\nby = \"average\""),
    ("a point without a value",     "at = { receipts.suite = \"none\" }\npublished", "published"),
    ("a note with a word alone",    "{most case=fast receipts.suite=none}", "{most fast}"),
    ("a note that leaves an axis",  "{most case=fast receipts.suite=none}", "{most case=fast}"),
    ("a note about nothing",        "{most case=fast receipts.suite=none}", "{}"),
    ("a note with no such axis",    "{most case=fast receipts.suite=none}", "{most case=fast receipts.suit=none}"),
    ("a note without a title",      "title = \"A note\"\n", ""),
    ("a fit of nothing",            "[[note]]", "[[fit]]\nhow = \"By eye.\"\n[[note]]"),
    ("a fit without a way",         "[[note]]", "[[fit]]\nsettings = [\"cpu.nat_us\"]\non = [\"near\"]\n[[note]]"),
];

#[test]
fn every_mistake_in_a_plan_of_everything() {
    assert!(Plan::parse(OF_EVERYTHING, TESTBEDS).is_ok());
    insta::assert_snapshot!("mistakes_in_everything", messages(OF_EVERYTHING, REPLACED_IN_EVERYTHING));
}

/// Fifteen slips at once are fifteen lines, each with its own remedy.
#[test]
fn many_mistakes_are_told_in_one_go() {
    let slips = [
        ("name = \"all\"", "name = \"a b\""),
        ("title = \"All\"", "titel = \"All\""),
        ("question = ", "questoin = "),
        ("seeds = 2", "seeds = 0"),
        ("[[measure]]\nid = \"most\"\n", "[[measure]]\nid = \"most\"\nunitt = \"x\"\n"),
        ("to_case = \"slow\"", "to_case = \"slwo\""),
        ("x = \"calls\"", "x = \"cals\""),
        ("title = \"A table\"", "title = 1"),
        ("rows = [\"case\"]", "rows = [\"caes\"]"),
        ("within = 1", "witin = 1"),
        ("text = \"It is near.\"", "text = \"\""),
        ("case = \"fast\"\nat", "case = \"fats\"\nat"),
        ("order = \"non-increasing\"", "order = \"nonincreasing\""),
        ("title = \"A note\"", "ttile = \"A note\""),
        ("{most case", "{mots case"),
    ];
    let text = slips.iter().fold(OF_EVERYTHING.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
    insta::assert_snapshot!("many_mistakes", Plan::parse(&text, TESTBEDS).unwrap_err().to_string());
}

/// In TOML `codec.interval_ms` is a key within `codec`, which then is no value.
#[test]
fn a_name_that_begins_with_another_needs_quotes_and_the_mistake_says_so() {
    let longer = "`receipts.suite` begins with the name of another setting and has to be in quotes: \"receipts.suite\" = …";
    let plans = [
        "[settings]\nreceipts = 1\nreceipts.suite = \"none\"",
        "[settings]\nreceipts.suite = \"none\"\nreceipts = 1",
        "[[case]]\nname = \"a\"\nsettings = { receipts = 1, receipts.suite = \"none\" }",
    ];
    for text in plans {
        let error = Plan::parse(&small(text), TESTBEDS).unwrap_err().to_string();
        assert!(error.contains("not TOML") && error.contains(longer), "{text}\n{error}");
    }
    let twice = Plan::parse(&small("[settings]\nremark = \"a\"\nremark = \"b\""), TESTBEDS).unwrap_err();
    assert!(!twice.to_string().contains("quotes"), "{twice}");
}

/// What does not fit may have its default: then a setting of its group is shown, not the first line.
#[test]
fn a_setting_that_is_not_written_is_shown_at_one_of_its_group() {
    let testbed_refuses =
        "[settings]\nremark = \"\"\n[[case]]\nname = \"a\"\nsettings = { cpu.nat_us = 99_999.5 }";
    let error = Plan::parse(&small(testbed_refuses), TESTBEDS).unwrap_err();
    let [mistake] = &error.mistakes[..] else { panic!("{error}") };
    let text = small(testbed_refuses);
    let line = text.lines().nth(mistake.line - 1).unwrap();
    assert!(line.contains("cpu.nat_us") && error.to_string().contains("cpu.spread"), "{error}\n{line}");
}

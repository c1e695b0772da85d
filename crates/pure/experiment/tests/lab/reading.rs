//! The reader of plans: kinds of values, lengths, positions in the text, and how many mistakes are told.

use crate::mistakes::OF_EVERYTHING;
use crate::testbed::{TESTBEDS, plan, small};
use guestright_experiment::{Mistake, Plan, Problem};
use proptest::prelude::*;

fn mistakes(text: &str) -> Vec<Mistake> {
    Plan::parse(text, TESTBEDS).err().map(|error| error.mistakes).unwrap_or_default()
}

/// The only mistake of a text: its position_of and its words.
fn only(text: &str) -> (usize, usize, String) {
    let all = mistakes(text);
    let [one] = all.as_slice() else { panic!("{} mistakes: {all:?}", all.len()) };
    (one.line, one.column, one.problem.to_string())
}

/// Line and column of the first character of `part`, both from 1.
fn position_of(text: &str, part: &str) -> (usize, usize) {
    let before = text.split_once(part).unwrap().0;
    let line = before.rsplit('\n').next().unwrap();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// A value of each kind, and how a mistake calls it.
const KINDS: [(&str, &str); 7] = [
    ("7", "7"),
    ("1.5", "1.5"),
    ("true", "true"),
    ("\"no-such\"", "\"no-such\""),
    ("2006-11-29", "a date"),
    ("[[7]]", "a list"),
    ("{ a = 7 }", "a table"),
];

#[test]
fn a_value_of_another_kind_is_told_with_what_it_is_and_what_is_wanted() {
    let text = OF_EVERYTHING.replace("text = \"It is near.\"", "text = \"It is near.\"\nfitted = true");
    #[rustfmt::skip]
    let keys: [(&str, &str, &str, &[&str]); 12] = [
        ("title = ",     "\"All\"",          "text of at most 200 bytes",                &["\"no-such\""]),
        ("question = ",  "\"What is said?\"", "text of at most 4000 bytes",              &["\"no-such\""]),
        ("seeds = ",     "2",                "a whole number from 1 to 1000",            &["7"]),
        ("kind = ",      "\"max\"",          "one of \"largest\", \"smallest\", \"crossing\"", &[]),
        ("of = ",        "\"mos_mean\"",     "text of at most 100 bytes",                &["\"no-such\""]),
        ("to_case = ",   "\"slow\"",         "text of at most 100 bytes",                &["\"no-such\""]),
        ("y = ",         "[\"mos_mean\"]",   "a list of names",                          &["\"no-such\"", "[[7]]"]),
        ("at = ",        "{ receipts.suite = \"none\" }", "a table",                     &["{ a = 7 }"]),
        ("within = ",    "1",                "a number",                                 &["7", "1.5"]),
        ("fitted = ",    "true",             "true or false",                            &["true"]),
        ("published = ", "[4.0, 4.1]",       "a number",                                 &["7", "1.5", "[[7]]"]),
        ("order = ",     "\"non-increasing\"", "one of \"increasing\", \"decreasing\"",  &[]),
    ];
    for (key, value, want, fits) in keys {
        let line = format!("{key}{value}");
        assert!(text.contains(&line), "{line}");
        for (given, got) in KINDS.iter().filter(|(given, _)| !fits.contains(given)) {
            let other = text.replacen(&line, &format!("{key}{given}"), 1);
            let (line, column) = position_of(&text, &line);
            let column = column + key.len();
            let start = format!("`{}` is {got}; {want}", key.trim_end_matches(" = "));
            let found = mistakes(&other);
            let there = found.iter().any(|mistake| {
                (mistake.line, mistake.column) == (line, column)
                    && mistake.problem.to_string().starts_with(&start)
            });
            assert!(there, "{start} at {line}:{column}, but {found:?}");
        }
    }
}

#[test]
fn what_is_in_a_list_is_told_one_by_one() {
    let text = OF_EVERYTHING.replace("y = [\"mos_mean\"]", "y = [1, \"mos_mean\", true, 2006-11-29]");
    let (line, column) = position_of(&text, "[1, \"mos_mean\"");
    let found: Vec<(usize, usize, String)> =
        mistakes(&text).iter().map(|one| (one.line, one.column, one.problem.to_string())).collect();
    let want = |got: &str| format!("`y` is {got}; text of at most 200 bytes is wanted");
    assert_eq!(
        found,
        [
            (line, column + 1, want("1")),
            (line, column + 16, want("true")),
            (line, column + 22, want("a date"))
        ]
    );
}

#[test]
fn tables_and_lists_of_tables_are_told_apart() {
    let with = |line: &str| small("").replace("[sweep]", &format!("{line}\n\n[sweep]"));
    for key in ["case", "measure", "figure", "table", "claim", "map", "assumption", "fit", "note"] {
        for (given, got) in KINDS.iter().filter(|(given, _)| !given.starts_with('[')) {
            let text = with(&format!("{key} = {given}"));
            let words = format!("`{key}` is {got}; a list of tables, `[[{key}]]` is wanted");
            let column = key.len() + " = ".len() + 1;
            assert_eq!(only(&text), (7, column, words), "{text}");
        }
        let (line, column, words) = only(&with(&format!("{key} = [7]")));
        assert_eq!((line, column, words), (7, key.len() + 5, format!("`{key}` is 7; a table is wanted")));
    }
    for key in ["settings", "quick", "base"] {
        for (given, got) in KINDS.iter().filter(|(given, _)| !given.starts_with('{')) {
            let (line, column, words) = only(&with(&format!("{key} = {given}")));
            assert_eq!((line, column), (7, key.len() + 4), "{key} = {given}");
            assert_eq!(words, format!("`{key}` is {got}; a table is wanted"));
        }
    }
}

#[test]
fn numbers_that_are_too_large_are_refused_and_those_that_just_fit_are_not() {
    let seeds = |number: &str| small("").replace("seeds = 4", &format!("seeds = {number}"));
    assert_eq!(plan(&seeds("1000")).seeds(), 1_000);
    assert_eq!(plan(&seeds("0x3e8")).seeds(), 1_000);
    assert_eq!(plan(&seeds("1_0")).seeds(), 10);
    for number in ["0", "-1", "1001", "9007199254740993", "99999999999999999999999", "0xffffffffffffffffff"] {
        let (line, column, words) = only(&seeds(number));
        assert_eq!((line, column), (5, 9), "{number}");
        assert!(words.ends_with("a whole number from 1 to 1000 is wanted"), "{words}");
    }
    let limit = |number: &str| {
        small(&format!("[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"max\"\nto = {number}"))
    };
    for number in ["1e308", "9007199254740992", "-0.0", "0b111"] {
        let all = mistakes(&limit(&format!("{number}\nfrom = -1e308")));
        assert!(
            all.iter().all(|one| one.problem.to_string().contains("no point between")),
            "{number}: {all:?}"
        );
    }
    for (number, want) in [
        ("1e309", "a finite number"),
        ("-1e400", "a finite number"),
        ("inf", "a finite number"),
        ("nan", "a finite number"),
        ("9007199254740993", "a number"),
        ("-99999999999999999999", "a number"),
    ] {
        let (line, column, words) = only(&limit(number));
        assert_eq!((line, column), (14, 6), "{number}");
        assert_eq!(words, format!("`to` is {number}; {want} is wanted"));
    }
    let chance = |number: &str| small("").replace("seeds = 4", &format!("seeds = 4\nchance = {number}"));
    assert!(Plan::parse(&chance("4294967295"), TESTBEDS).is_ok());
    assert!(only(&chance("4294967296")).2.ends_with("a whole number from 0 to 4294967295 is wanted"));
}

#[test]
fn a_column_counts_characters_and_a_line_ends_at_its_newline() {
    let line = "settings = { remark = \"grüße – 漢字 👪\", cals = 1 }";
    let text = small("").replace("[sweep]", &format!("{line}\n\n[sweep]"));
    let (row, column, words) = only(&text);
    let before = line.split_once("cals").unwrap().0;
    assert_eq!((row, column), (7, before.chars().count() + 1), "{words}");
    assert!(words.contains("`cals`") && words.contains("did you mean `calls`"), "{words}");
    assert!(before.len() > before.chars().count() + 8, "bytes and characters differ");
    // The same with the line ends of another system.
    let other = text.replace('\n', "\r\n");
    assert_eq!(only(&other), (row, column, words));
    let good = small("");
    assert_eq!(plan(&good).digest(), plan(&good.replace('\n', "\r\n")).digest());
    // A key that is no ASCII is told as it is, and long ones up to their sixtieth character.
    let key = "ü".repeat(61);
    let text = small("").replace("seeds = 4", &format!("seeds = 4\n\"{key}\" = 1"));
    let shown = "ü".repeat(60);
    assert_eq!(only(&text), (6, 1, format!("the plan has no key `{shown}…`")));
    let text = text.replace(&key, &shown);
    assert_eq!(only(&text).2, format!("the plan has no key `{shown}`"));
}

#[test]
fn what_is_not_toml_is_one_mistake_on_its_line() {
    #[rustfmt::skip]
    let cases = [
        ("seeds = 4",     "seeds = ",          5),
        ("seeds = 4",     "seeds = 4 5",       5),
        ("seeds = 4",     "seeds 4",           5),
        ("\"Does it?\"",  "\"Does it?",        3),
        ("\"Does it?\"",  "\"Does \\q it?\"",  3),
        ("[1, 2, 5, ",    "[1, 2, , 5, ",      8),
        ("[sweep]",       "[sweep]\n[sweep]",  8),
        ("title = ",      "name = ",           2),
        ("seeds = 4",     "seeds = 4\nseeds.x = 1", 6),
    ];
    for (from, to, line) in cases {
        let text = small("").replacen(from, to, 1);
        let (at, _, words) = only(&text);
        assert_eq!(at, line, "{to}: {words}");
        assert!(words.starts_with("not TOML: ") && !words.contains('\n'), "{to}: {words}");
    }
    // An empty text is a plan without anything.
    let missing: Vec<String> = mistakes("").iter().map(ToString::to_string).collect();
    assert_eq!(missing.len(), 4, "name, title, question, testbed: {missing:?}");
    assert!(
        missing.iter().all(|words| words.starts_with("line 1, column 1: the plan has no `")),
        "{missing:?}"
    );
}

#[test]
fn texts_and_names_have_their_lengths() {
    let title = |text: &str| small("").replace("\"Small\"", &format!("\"{text}\""));
    // 200 bytes are allowed; an umlaut has two.
    assert!(mistakes(&title(&"x".repeat(200))).is_empty());
    assert!(mistakes(&title(&"ü".repeat(100))).is_empty());
    for long in ["x".repeat(201), "ü".repeat(101)] {
        assert!(only(&title(&long)).2.ends_with("text of at most 200 bytes is wanted"));
    }
    let name = |name: &str| small("").replace("\"small\"", &format!("\"{name}\""));
    let longest = "n".repeat(60);
    for fine in ["a", "A-b_c.9", "-", "_.", "9", longest.as_str()] {
        assert_eq!(plan(&name(fine)).name(), fine);
    }
    for bad in ["a b", "a/b", "ä", ".", ".a", "a\\n", "a\u{200b}", &"n".repeat(61)] {
        assert!(only(&name(bad)).2.contains("at most 60 letters, digits"), "{bad}");
    }
    for empty in ["", " ", "\\t \\n"] {
        assert!(only(&name(empty)).2.ends_with("text that is not empty is wanted"));
        assert!(only(&title(empty)).2.ends_with("text that is not empty is wanted"));
    }
}

#[test]
fn no_more_than_forty_mistakes_are_told_and_those_are_the_first() {
    let keys: String = (0..60).map(|number| format!("strange-key-{number:02} = 1\n")).collect();
    let text = small("").replace("[sweep]", &format!("{keys}\n[sweep]"));
    let all = mistakes(&text);
    assert_eq!(all.len(), 40);
    for (index, mistake) in all.iter().enumerate() {
        assert_eq!((mistake.line, mistake.column), (7 + index, 1));
        assert_eq!(mistake.problem.to_string(), format!("the plan has no key `strange-key-{index:02}`"));
    }
    let text = Plan::parse(&text, TESTBEDS).unwrap_err().to_string();
    assert_eq!(text.lines().count(), 40, "a line for each");
}

#[test]
fn a_slip_of_the_fingers_is_told_and_a_word_far_off_is_not() {
    let claim = |of: &str| {
        only(&small(&format!(
            "[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"{of}\"\nat = {{ calls = 5 }}\nat_least = 1"
        )))
        .2
    };
    #[rustfmt::skip]
    let cases = [
        ("laod",      Some("load")),     ("lod",        Some("load")), ("loads",   Some("load")),
        ("delay_m",   Some("delay_ms")), ("dleay_ms",   Some("delay_ms")), ("mos_maen", Some("mos_mean")),
        ("throughput", None),            ("x",          None),
    ];
    for (word, meant) in cases {
        let hint = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        assert_eq!(claim(word), format!("there is no metric or measure `{word}`{hint}"));
    }
}

#[test]
fn who_uses_what_is_wrong_is_not_to_blame() {
    let text = small(
        "[[measure]]\nid = \"room\"\nof = \"load\"\nkind = \"largest\"\nat_lest = 1\n\
         [[measure]]\nid = \"more\"\nof = \"room\"\nkind = \"ratio\"\nto = \"room\"\n\
         [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"room\"\nat_least = 1\n\
         [[map]]\nid = \"m\"\ntitle = \"t\"\nx = \"calls\"\ny = \"calls\"\nclaim = \"d\"\n",
    );
    let all: Vec<String> = mistakes(&text).iter().map(ToString::to_string).collect();
    assert!(all[0].contains("did you mean `at_least`"), "{all:?}");
    assert!(!all.iter().any(|words| words.contains("`room`")), "{all:?}");
    assert!(all.iter().any(|words| words.contains("there is no claim `d`")), "{all:?}");
}

#[test]
fn the_kinds_of_problems_carry_what_is_to_be_said() {
    let problem = |text: &str| mistakes(text).remove(0).problem;
    let twice = "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"max\"\n".repeat(2);
    assert_eq!(problem(&small(&twice)), Problem::Twice { what: "measure", name: "m".to_owned(), line: 11 });
    let seven = "[[case]]\nname = \"a\"\n".repeat(101);
    assert_eq!(problem(&small(&seven)), Problem::TooMany { what: "cases", got: 101, max: 100 });
    let unknown = problem(&small("").replace("title", "titel"));
    let meant = Some("title".to_owned());
    assert_eq!(unknown, Problem::UnknownKey { table: "the plan".to_owned(), key: "titel".to_owned(), meant });
    let missing = problem(&small("[[note]]\ntitle = \"t\""));
    let table = "[[note]]".to_owned();
    assert_eq!(missing, Problem::MissingKey { table, key: "text", want: "text".to_owned() });
}

#[test]
fn a_point_that_the_testbed_refuses_is_told_with_its_case() {
    // With this suite at most 8 calls are possible.
    let cases =
        "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\nsettings = { receipts.suite = \"ecdsa-160\" }\n";
    let text = small(cases).replace("7, 8]", "7, 9]");
    let (line, _, words) = only(&text);
    assert_eq!(line, 8, "the sweep of the calls");
    assert!(words.contains("(case `b`, calls = 9)"), "{words}");
    // What [quick] sweeps is asked about too.
    let text = small(&format!("{cases}[quick]\nsweep = {{ calls = [9] }}\n"));
    let (line, _, words) = only(&text);
    assert_eq!(line, position_of(&text, "sweep = {").0);
    assert!(words.contains("(case `b`, calls = 9)"), "{words}");
}

#[test]
fn ranges_have_the_values_between_their_ends() {
    let calls = |range: &str| {
        let text = small("").replace("[1, 2, 5, 6, 7, 8]", range);
        let runs = plan(&text).runs();
        runs.iter().step_by(4).map(|run| run.settings.whole::<i64>("calls").unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(calls("{ from = 3, to = 3 }"), [3]);
    assert_eq!(calls("{ from = 1, to = 8, step = 3 }"), [1, 4, 7]);
    assert_eq!(calls("{ from = 1, to = 7, step = 3 }"), [1, 4, 7], "the end is inside");
    let spread = |range: &str| {
        let text = small(&format!("cpu.spread = {range}")).replace("[1, 2, 5, 6, 7, 8]", "[1]");
        let runs = plan(&text).runs();
        runs.iter().step_by(4).map(|run| run.settings.float("cpu.spread").unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(spread("{ from = 0.1, to = 0.5, step = 0.1 }"), [0.1, 0.2, 0.3, 0.4, 0.5]);
    assert_eq!(spread("{ from = 0, to = 1.25, step = 0.5 }"), [0.0, 0.5, 1.0]);
    let wrong = |range: &str| only(&small("").replace("[1, 2, 5, 6, 7, 8]", range)).2;
    assert!(wrong("{ from = 2, to = 1 }").ends_with("does not go from 2 up to 1 in steps of 1"));
    assert!(wrong("{ from = 1, to = 2, step = -1 }").ends_with("in steps of -1"));
    assert!(wrong("{ from = 1, to = 1001 }").ends_with("more than 1000 values; make the step larger"));
    assert!(wrong("{ from = 1, to = 60, step = 0.5 }").contains("calls"), "half a call");
    assert!(wrong("{ to = 3 }").contains("list"), "without `from` it is a table");
}

/// Any TOML value, well formed.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-1e9..1e9_f64).prop_map(|number| format!("{number:?}")),
        any::<bool>().prop_map(|flag| flag.to_string()),
        "[a-zé漢 {}=.-]{0,12}".prop_map(|text| format!("\"{text}\"")),
        Just("1979-05-27T07:32:00Z".to_owned()),
        Just("nan".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(", "))),
            proptest::collection::vec(inner, 0..3).prop_map(|list| {
                let pairs = list.iter().enumerate().map(|(index, value)| format!("k{index} = {value}"));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands behind a key: the plan is read or every mistake has its position_of, in the order of the text.
    #[test]
    fn any_value_behind_any_key_is_read_or_told(line in 0_usize..80, value in value(), drop in any::<bool>()) {
        let keys: Vec<usize> = OF_EVERYTHING
            .lines()
            .enumerate()
            .filter_map(|(index, line)| line.contains(" = ").then_some(index))
            .collect();
        let chosen = keys[line % keys.len()];
        let lines = OF_EVERYTHING.lines().enumerate().filter_map(|(index, line)| match line.split_once(" = ") {
            Some(_) if index == chosen && drop => None,
            Some((key, _)) if index == chosen => Some(format!("{key} = {value}")),
            _ => Some(line.to_owned()),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        if let Err(error) = Plan::parse(&text, TESTBEDS) {
            prop_assert!(!error.mistakes.is_empty());
            let positions: Vec<_> = error.mistakes.iter().map(|one| (one.line, one.column)).collect();
            prop_assert!(positions.windows(2).all(|two| two[0] <= two[1]), "{:?}", positions);
            for (line, column) in positions {
                let there = text.split('\n').nth(line - 1).map(|line| line.chars().count());
                prop_assert!(there.is_some_and(|count| (1..=count + 1).contains(&column)), "{}:{}", line, column);
            }
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// Two lines that change their positions within a table change nothing but the order of what says nothing.
    #[test]
    fn the_order_of_keys_within_a_table_changes_no_runs(table in 0_usize..12, turn in 1_usize..5) {
        let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
        for line in OF_EVERYTHING.lines().filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                parts.push(vec![line]);
            } else {
                parts.last_mut().unwrap().push(line);
            }
        }
        // The order of the axes says which varies fastest.
        let movable: Vec<usize> = (0..parts.len()).filter(|index| parts[*index].first() != Some(&"[sweep]")).collect();
        let chosen = movable[table % movable.len()];
        let head = usize::from(chosen > 0);
        let keys = &mut parts[chosen][head..];
        let count = keys.len();
        keys.rotate_left(turn % count);
        let turned = plan(&parts.concat().join("\n"));
        let first = plan(OF_EVERYTHING);
        prop_assert_eq!(first.digest(), turned.digest());
        prop_assert_eq!(first.claims(), turned.claims());
    }
}

//! Claims about several cases, places and quantities.

use crate::testbed::{plan, small};
use guestright_experiment::{Evaluation, Judged, Outcome, Platform, Results, Run, Verdict, evaluate};

use Judged::{CannotBeComputed as Open, DoesNotReproduce as No, Reproduces as Yes};

const CASES: &str = "[[case]]\nname = \"a\"\ntitle = \"A\"\n[[case]]\nname = \"b\"\ntitle = \"B\"\nsweep = { calls = [5, 6] }\n\
    [[case]]\nname = \"c\"\ntitle = \"C\"\n";

/// A plan of three cases, of which B sweeps 5 and 6 calls only; the load of each run is given.
fn of(rest: &str, load: impl Fn(&Run, f64) -> Option<f64>) -> Evaluation {
    let plan = plan(&small(&format!("{CASES}{rest}")));
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let calls = f64::from(run.settings.whole::<u32>("calls").unwrap());
        results.record(&plan, &run, &Outcome::default().with("load", load(&run, calls))).unwrap();
    }
    evaluate(&plan, &results, Platform::Sim)
}

fn claim(rest: &str) -> String {
    format!("[[claim]]\nid = \"x\"\ntext = \"t\"\n{rest}\n")
}

/// The load is the number of calls, ten more in case B and twenty in C.
fn plain(run: &Run, calls: f64) -> Option<f64> {
    let more = match run.case.as_str() {
        "a" => 0.0,
        "b" => 10.0,
        _ => 20.0,
    };
    Some(calls + more)
}

fn judged(rest: &str) -> Verdict {
    of(&claim(rest), plain).claims.remove(0)
}

fn ours(verdict: &Verdict) -> Vec<(&str, &str, Option<f64>)> {
    verdict.parts.iter().map(|part| (part.case.as_str(), part.point.as_str(), part.ours)).collect()
}

#[test]
fn a_claim_about_cases_has_a_number_of_each_in_their_order() {
    let verdict = judged(
        "of = \"load\"\ncases = [\"c\", \"a\"]\nat = { calls = 5 }\npublished = [25, 6]\nwithin = 0.5",
    );
    assert_eq!(ours(&verdict), [("C", "calls = 5", Some(25.0)), ("A", "calls = 5", Some(5.0))]);
    let published: Vec<Option<f64>> = verdict.parts.iter().map(|part| part.published).collect();
    assert_eq!(published, [Some(25.0), Some(6.0)]);
    let each: Vec<Judged> = verdict.parts.iter().map(|part| part.judged).collect();
    assert_eq!((verdict.judged, each), (No, vec![Yes, No]), "the worst decides");
    assert_eq!(verdict.reason, "A, calls = 5: measured 5, expected 5.5 to 6.5: 0.5 too low");
    // Without `cases` it is about all.
    let verdict = judged("of = \"load\"\nat = { calls = 6 }\nat_least = 6");
    assert_eq!(verdict.parts.len(), 3);
    assert_eq!(verdict.judged, Yes);
}

#[test]
fn a_list_of_places_goes_through_each_of_them_for_each_case() {
    let verdict = judged("of = \"load\"\ncases = [\"a\", \"b\"]\nat = { calls = [6, 5] }\nbetween = [5, 16]");
    let want = [
        ("A", "calls = 6", 6.0),
        ("A", "calls = 5", 5.0),
        ("B", "calls = 6", 16.0),
        ("B", "calls = 5", 15.0),
    ];
    assert_eq!(ours(&verdict), want.map(|(case, point, number)| (case, point, Some(number))));
    assert_eq!(verdict.judged, Yes);
}

#[test]
fn an_order_goes_from_term_to_term_as_they_are_written() {
    let term = |case: &str, calls: u32| {
        format!("[[claim.terms]]\nof = \"load\"\ncase = \"{case}\"\nat = {{ calls = {calls} }}\n")
    };
    let order = |terms: &[String]| judged(&format!("order = \"increasing\"\n{}", terms.concat()));
    let up = order(&[term("a", 8), term("b", 5), term("c", 1)]);
    assert_eq!((up.judged, up.parts.len(), up.reason.as_str()), (Yes, 3, ""));
    let down = order(&[term("b", 5), term("a", 8), term("c", 1)]);
    assert_eq!(down.judged, No);
    assert_eq!(down.reason, "B, calls = 5 and A, calls = 8: measured 15, then 8; expected increasing");
    let each: Vec<Judged> = down.parts.iter().map(|part| part.judged).collect();
    assert_eq!(each, [Yes, No, Yes]);
    // Equal numbers are in order only if it is not strict.
    let same = [term("a", 5), term("a", 5)];
    let loose = judged(&format!("order = \"non-increasing\"\n{}", same.concat()));
    assert_eq!((order(&same).judged, loose.judged), (No, Yes));
}

#[test]
fn along_an_axis_each_case_has_its_own_points_and_its_own_order() {
    let verdict = judged("of = \"load\"\ncases = [\"a\", \"b\"]\nalong = \"calls\"\norder = \"increasing\"");
    // From 8 calls of A to 5 of B nothing is claimed.
    assert_eq!((verdict.judged, verdict.parts.len(), verdict.reason.as_str()), (Yes, 6 + 2, ""));
    let falls = |run: &Run, calls: f64| plain(run, if run.case == "b" { -calls } else { calls });
    let text = claim(
        "of = \"load\"\ncases = [\"a\", \"b\", \"c\"]\nalong = \"calls\"\nfrom = 5\nto = 6\norder = \"increasing\"",
    );
    let verdict = of(&text, falls).claims.remove(0);
    assert_eq!(verdict.parts.len(), 6);
    assert_eq!(verdict.reason, "B, calls = 5 and B, calls = 6: measured 5, then 4; expected increasing");
    let failing = verdict.parts.iter().position(|part| part.judged == No);
    assert_eq!((verdict.judged, failing), (No, Some(3)));
}

#[test]
fn a_claim_about_several_quantities_names_them() {
    let measures = "[[measure]]\nid = \"most\"\ntitle = \"The most\"\nunit = \"s\"\nof = \"load\"\nkind = \"max\"\n\
        [[measure]]\nid = \"least\"\nof = \"load\"\nkind = \"min\"\n";
    let terms =
        "[[claim.terms]]\nof = \"least\"\ncase = \"a\"\n[[claim.terms]]\nof = \"most\"\ncase = \"a\"\n";
    let text = format!("{measures}{}{terms}", claim("order = \"increasing\""));
    let evaluation = of(&text, plain);
    let parts: Vec<(&str, &str, Option<f64>)> = evaluation.claims[0]
        .parts
        .iter()
        .map(|part| (part.quantity.as_str(), part.unit.as_str(), part.ours))
        .collect();
    assert_eq!(parts, [("least", "", Some(1.0)), ("The most", "s", Some(8.0))]);
    assert_eq!(evaluation.claims[0].judged, Yes);
    // A measure without dimensions has one number for each case.
    let numbers: Vec<(&str, Option<f64>)> = evaluation.measures[0]
        .numbers
        .iter()
        .map(|number| (number.case.as_str(), number.estimate.mean))
        .collect();
    assert_eq!(numbers, [("a", Some(8.0)), ("b", Some(16.0)), ("c", Some(28.0))]);
}

#[test]
fn a_base_gives_what_a_claim_leaves_open() {
    let base = "[base]\ncase = \"b\"\nat = { calls = 5 }\n";
    let verdict = |rest: &str| of(&format!("{base}{}", claim(rest)), plain).claims.remove(0);
    assert_eq!(ours(&verdict("of = \"load\"\nat_least = 0")), [("B", "calls = 5", Some(15.0))]);
    assert_eq!(ours(&verdict("of = \"load\"\ncase = \"c\"\nat_least = 0")), [("C", "calls = 5", Some(25.0))]);
    assert_eq!(
        ours(&verdict("of = \"load\"\nat = { calls = 6 }\nat_least = 0")),
        [("B", "calls = 6", Some(16.0))]
    );
    let along = verdict("of = \"load\"\nalong = \"calls\"\nat_least = 0");
    assert_eq!(ours(&along), [("B", "calls = 5", Some(15.0)), ("B", "calls = 6", Some(16.0))]);
}

#[test]
fn a_claim_that_was_used_to_fit_says_so_and_is_judged_all_the_same() {
    let fit = "[[fit]]\nsettings = [\"cpu.nat_us\"]\nhow = \"By eye.\"\non = [\"x\"]\n";
    for (test, want) in
        [("at_least = 5", Yes), ("at_least = 6", No), ("prediction = true", Judged::Prediction)]
    {
        let rest = format!("of = \"load\"\ncase = \"a\"\nat = {{ calls = 5 }}\n{test}");
        let plain_verdict = of(&claim(&rest), plain).claims.remove(0);
        let fitted = of(&claim(&format!("{rest}\nfitted = true")), plain).claims.remove(0);
        let listed = of(&format!("{}{fit}", claim(&rest)), plain);
        assert_eq!(
            [plain_verdict.fitted, fitted.fitted, listed.claims[0].fitted],
            [false, true, true],
            "{test}"
        );
        assert_eq!([plain_verdict.judged, fitted.judged, listed.claims[0].judged], [want; 3], "{test}");
        assert_eq!(listed.fits[0].settings, [("cpu.nat_us".to_owned(), "100 µs".to_owned())]);
        assert_eq!((listed.fits[0].how.as_str(), listed.fits[0].on.join(" ")), ("By eye.", "x".to_owned()));
    }
}

#[test]
fn what_is_missing_in_one_case_opens_the_claim_and_hides_no_other_number() {
    let gone = |run: &Run, calls: f64| if run.case == "b" { None } else { plain(run, calls) };
    let verdict = of(&claim("of = \"load\"\nat = { calls = 5 }\nat_most = 20"), gone).claims.remove(0);
    let each: Vec<Judged> = verdict.parts.iter().map(|part| part.judged).collect();
    assert_eq!((verdict.judged, each), (Open, vec![Yes, Open, No]));
    let want =
        "B, calls = 5: it was not measured\nC, calls = 5: measured 25, expected at most 20: 5 too high";
    assert_eq!(verdict.reason, want);
}

#[test]
fn a_tie_for_the_most_frequent_is_the_least_of_them() {
    let text = claim("of = \"load\"\ncase = \"a\"\nat = { calls = 5 }\nby = \"mode\"\nat_most = 1");
    let seeds = |values: [f64; 4]| {
        let load = |run: &Run, _: f64| Some(values[run.replication as usize]);
        let verdict = of(&text, load).claims.remove(0);
        (verdict.judged, verdict.parts[0].ours)
    };
    assert_eq!(seeds([3.0, 1.0, 3.0, 1.0]), (Yes, Some(1.0)));
    assert_eq!(seeds([3.0, 3.0, 3.0, 1.0]), (No, Some(3.0)));
    assert_eq!(seeds([0.0, 1.0, 2.0, 3.0]), (Open, None));
}

#[test]
fn an_evaluation_says_what_ran() {
    let text = "[settings]\ncpu.nat_us = 50\n[quick]\nseeds = 2\nsweep = { calls = [5] }\n";
    let plan = plan(&small(&format!("{CASES}{text}"))).quick();
    let mut results = Results::new(&plan);
    for run in plan.runs().into_iter().skip(1) {
        let outcome = Outcome { packets: 3, events: 5, ..Outcome::default() };
        results.record(&plan, &run, &outcome.with("load", 1.0)).unwrap();
    }
    let one = evaluate(&plan, &results, Platform::Netns);
    assert_eq!(
        (one.name.as_str(), one.title.as_str(), one.question.as_str()),
        ("small", "Small", "Does it?")
    );
    assert_eq!(
        (one.testbed.as_str(), one.platform, one.quick, one.seeds),
        ("voice", Platform::Netns, true, 2)
    );
    assert_eq!((one.runs, one.missing, one.packets, one.events), (6, 1, 15, 25));
    assert_eq!((one.chance.as_str(), one.is_complete()), ("small 0", false));
    let cases: Vec<(&str, &str)> =
        one.cases.iter().map(|case| (case.name.as_str(), case.title.as_str())).collect();
    assert_eq!(cases, [("a", "A"), ("b", "B"), ("c", "C")]);
    let standing = |name: &str| {
        let line = one.settings.iter().find(|line| line.name == name).unwrap();
        (format!("{:?}", line.standing), line.value.clone())
    };
    assert_eq!(standing("calls"), ("Swept".to_owned(), "5".to_owned()));
    assert_eq!(standing("cpu.nat_us"), ("Set".to_owned(), "50".to_owned()));
    assert_eq!(standing("cpu.spread"), ("Default".to_owned(), "0.1".to_owned()));
}

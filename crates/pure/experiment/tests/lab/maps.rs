//! Maps and assumptions: claims that are judged again somewhere else.

use crate::testbed::{plan, run, small, where_example};
use guestright_experiment::{
    Evaluation, Judged, Outcome, Platform, Provenance, Results, compare, evaluate, report_html,
};

fn evaluation() -> Evaluation {
    let plan = plan(where_example());
    evaluate(&plan, &run(&plan), Platform::Sim)
}

/// A claim about the load over two axes of three values, with two seeds; the base is given, and so are the rows.
pub(crate) fn evaluate_loads(base: &str, load: impl Fn(usize, usize, usize) -> Option<f64>) -> Evaluation {
    let text = small(&format!(
        "[base]\nat = {{ {base} }}\n[[claim]]\nid = \"c\"\ntext = \"It is so\"\nof = \"load\"\nat_most = 1.0\n\
         [[map]]\nid = \"m\"\ntitle = \"Where\"\nx = \"cpu.nat_us\"\ny = \"cpu.spread\"\nclaim = \"c\"\n\
         [[assumption]]\ntext = \"One\"\nwhy = \"Nobody says.\"\nvaried = \"cpu.nat_us\"\n"
    ));
    let sweep = "cpu.nat_us = [1.0, 2.0, 3.0]\ncpu.spread = [0.0, 0.1, 0.5]";
    let text = text.replace("calls = [1, 2, 5, 6, 7, 8]", sweep).replace("seeds = 4", "seeds = 2");
    let plan = plan(&text);
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let point = run.index / 2;
        let outcome = Outcome::default().with("load", load(point / 3, point % 3, run.index % 2));
        results.record(&plan, &run, &outcome).unwrap();
    }
    evaluate(&plan, &results, Platform::Sim)
}

#[test]
fn a_claim_is_judged_at_every_cell() {
    // Loads grow with both axes; both seeds are alike but for the last cell, whose interval reaches across the edge.
    let load = |nat: usize, spread: usize, seed: usize| match (nat, spread) {
        (0, 0) => None,
        (2, 2) => Some([0.8, 1.3][seed]),
        (2, _) => Some(2.0),
        _ => Some((nat + spread) as f64 / 4.0),
    };
    let evaluation = evaluate_loads("cpu.nat_us = 2.0, cpu.spread = 0.1", load);
    assert_eq!(evaluation.claims[0].judged, Judged::Reproduces, "at the base");
    let map = &evaluation.maps[0];
    let (yes, no, open) = (Judged::Reproduces, Judged::DoesNotReproduce, Judged::CannotBeComputed);
    let judged: Vec<Judged> = map.panels[0].cells.iter().filter_map(|cell| cell.judged).collect();
    assert_eq!(judged, [open, yes, no, yes, yes, no, yes, yes, no]);
    let unclear: Vec<bool> = map.panels[0].cells.iter().map(|cell| cell.unclear).collect();
    assert_eq!(unclear, [false, false, false, false, false, false, false, false, true]);
    assert_eq!(map.panels[0].cells[3].point, "cpu.nat_us = 1, cpu.spread = 0.1");
    assert_eq!(map.panels[0].cells[4].text, "0.5");
    assert_eq!(
        map.where_held.as_ref().unwrap().words(),
        "Holds in 5 of 9 cells (56 %), in 1 it cannot be computed, in 1 it is not sure at 95 %. Everywhere with \
         cpu.nat_us = 2. Nowhere with cpu.nat_us = 3."
    );
    let effect = &evaluation.assumptions[0].effects[0];
    assert_eq!((effect.base, &effect.judged), (1, &vec![yes, yes, no]));
    assert_eq!((effect.range, effect.changes), (Some((0.25, 2.0)), true));
    let svg = map.svg().unwrap();
    assert_eq!(svg.matches("class=\"gf-sign\"").count(), 9 + 3, "a sign for each cell, and the legend's");
    assert!(
        map.csv()
            .contains("\"cpu.nat_us = 1, cpu.spread = 0\",cannot be computed,,true,it was not measured\n")
    );
}

#[test]
fn what_does_not_matter_changes_nothing() {
    let evaluation =
        evaluate_loads("cpu.nat_us = 2.0, cpu.spread = 0.1", |_, _, seed| Some(0.5 + seed as f64 / 100.0));
    let held = evaluation.maps[0].where_held.as_ref().unwrap();
    assert_eq!(held.words(), "Holds in 9 of 9 cells (100 %).");
    let effect = &evaluation.assumptions[0].effects[0];
    assert!(!effect.changes && effect.range == Some((0.505, 0.505)));
}

#[test]
fn several_numbers_are_said_by_the_one_that_decides() {
    let evaluation = evaluation();
    let (claim, map) = (&evaluation.claims[0], &evaluation.maps[0]);
    // With 100 µs and a spread of 0.1 the map says what the claim says: six calls decide.
    let cell =
        map.panels[0].cells.iter().find(|cell| cell.point == "cpu.nat_us = 100, cpu.spread = 0.1").unwrap();
    let worst = claim.parts.iter().filter_map(|part| part.ours).fold(f64::INFINITY, f64::min);
    assert_eq!((cell.number, cell.judged), (Some(worst), Some(claim.judged)));
    assert_eq!(claim.parts.len(), 2);
    let suites = &evaluation.assumptions[1];
    assert_eq!(
        (suites.varied.as_str(), suites.values.as_slice()),
        ("case", &["RSA 1024".to_owned(), "ECDSA 160".into()][..])
    );
    assert!(suites.effects[0].of[0].contains("calls = 6"), "{:?}", suites.effects[0]);
}

/// The example has a third case, with another value: nothing is said of it.
#[test]
fn an_assumption_tells_of_the_cases_that_it_varies_and_of_no_other() {
    let text = where_example();
    let changed = text.replace("varied = [\"rsa\"", "settings = [\"receipts.suite\"]\nvaried = [\"rsa\"");
    assert_ne!(text, changed);
    let plan = plan(&changed);
    let evaluation = evaluate(&plan, &run(&plan), Platform::Sim);
    let settings = &evaluation.assumptions[1].settings;
    let suites = "RSA 1024: rsa-1024; ECDSA 160: ecdsa-160".to_owned();
    assert_eq!(settings[..], [("receipts.suite".to_owned(), suites)]);
}

#[test]
fn panels_go_across_and_down() {
    let map = &evaluation().maps[1];
    let titles: Vec<&str> = map.panels.iter().map(|panel| panel.title.as_str()).collect();
    let [across, down] = [["RSA 1024", "ECDSA 160"], ["0.1", "0.5"]];
    assert_eq!(titles[..2], across.map(|case| format!("{case}, cpu.spread = 0")));
    assert_eq!(
        titles[2..],
        [down[0], down[1]].map(|value| across.map(|case| format!("{case}, cpu.spread = {value}"))).concat()
    );
    assert_eq!((map.columns, map.xs.join(" "), map.ys.join(" ")), (2, "100 800 1600".into(), "2 6".into()));
    assert!(map.panels.iter().all(|panel| panel.cells.len() == 6));
    let estimate = map.panels[0].cells[5].estimate.as_ref().unwrap();
    assert_eq!((estimate.mean, estimate.values.len()), (map.panels[0].cells[5].number, 5));
}

#[test]
fn the_report_has_them_and_so_has_the_comparison() {
    let one = evaluation();
    insta::assert_snapshot!("where_text", one.text());
    let page = report_html(std::slice::from_ref(&one), &Provenance::default());
    for part in [
        "id=\"p1-map-where\"",
        "href=\"#p1-map-cost\"",
        "id=\"p1-assumptions\"",
        "<strong>Holds in ",
        "Forwarding a packet takes 100 µs",
        "The rows behind this map",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(Evaluation::from_json(&one.json()).unwrap(), one);
    // What an earlier version wrote has neither.
    let mut old: serde_json::Value = serde_json::from_str(&one.json()).unwrap();
    old.as_object_mut().unwrap().retain(|key, _| key != "maps" && key != "assumptions");
    let old = Evaluation::from_json(&old.to_string()).unwrap();
    assert!(old.maps.is_empty() && old.assumptions.is_empty());
    let comparison = compare(&old, &one);
    assert!(comparison.claims.iter().any(|claim| claim.id.starts_with("map where, acceptable at ")));
    let slower = plan(
        &where_example()
            .replace("receipts.suite = \"rsa-1024\"", "receipts.suite = \"rsa-1024\", duration_s = 5"),
    );
    let same = compare(&one, &evaluate(&slower, &run(&slower), Platform::Sim));
    assert!(same.numbers.iter().any(|number| number.of.starts_with("map cost, ")));
    assert!(same.claims_same > one.claims.len(), "cells and variations are compared");
}

#[test]
fn what_a_case_does_not_sweep_is_blank_and_counts_nowhere() {
    let text = small(
        "cpu.nat_us = [1.0, 2.0]\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\nsweep = { calls = [5, 6] }\n\
         [base]\ncase = \"b\"\nat = { calls = 5, cpu.nat_us = 1.0 }\n\
         [[claim]]\nid = \"c\"\ntext = \"It is so\"\nof = \"load\"\ncases = [\"a\", \"b\"]\norder = \"non-decreasing\"\n\
         [[map]]\nid = \"m\"\ntitle = \"Where\"\nx = \"calls\"\ny = \"cpu.nat_us\"\nclaim = \"c\"\n\
         [[map]]\nid = \"n\"\ntitle = \"Loads\"\nx = \"calls\"\ny = \"cpu.nat_us\"\npanel = \"case\"\nof = \"load\"\n",
    );
    let plan = plan(&text);
    let evaluation = evaluate(&plan, &run(&plan), Platform::Sim);
    let [claim, loads] = evaluation.maps.as_slice() else { panic!("two maps") };
    assert_eq!(claim.where_held.as_ref().unwrap().all.cells(), 4, "5 and 6 calls, twice");
    assert_eq!(claim.panels[0].cells.iter().filter(|cell| cell.absent).count(), 8);
    let absent = |panel: usize| loads.panels[panel].cells.iter().filter(|cell| cell.absent).count();
    assert_eq!([absent(0), absent(1)], [0, 8]);
    let svg = loads.svg().unwrap();
    assert!(!svg.contains("cannot be computed") && svg.matches("class=\"gf-none\"").count() == 8);
}

#[test]
fn a_map_of_a_number_says_its_ends_and_has_a_line_for_each_seed() {
    let text = small(
        "[[map]]\nid = \"m\"\ntitle = \"M\"\nx = \"cpu.nat_us\"\ny = \"cpu.spread\"\nof = \"delay_ms\"\n",
    )
    .replace("calls = [1, 2, 5, 6, 7, 8]", "cpu.nat_us = [3.0, 1.0]\ncpu.spread = [0.0, 0.5]")
    .replace("seeds = 4", "seeds = 2");
    let plan = plan(&text);
    let delays = |given: [Option<f64>; 8]| {
        let mut results = Results::new(&plan);
        for run in plan.runs() {
            let outcome = Outcome::default().with("delay_ms", given[run.index]);
            results.record(&plan, &run, &outcome).unwrap();
        }
        evaluate(&plan, &results, Platform::Sim).maps.remove(0)
    };
    // Point by point: 3 µs without and with spread, then 1 µs; two seeds each.
    let map = delays([Some(1.0), Some(3.0), Some(4.0), Some(4.0), None, None, Some(6.0), None]);
    assert_eq!(
        (map.xs.join(" "), map.ys.join(" ")),
        ("1 3".to_owned(), "0 0.5".to_owned()),
        "from the least"
    );
    let cells: Vec<(&str, &str, &str)> = map.panels[0]
        .cells
        .iter()
        .map(|cell| (cell.point.as_str(), cell.text.as_str(), cell.reason.as_str()))
        .collect();
    assert_eq!(
        cells,
        [
            ("cpu.nat_us = 1, cpu.spread = 0", "", "it was not measured"),
            ("cpu.nat_us = 3, cpu.spread = 0", "2", ""),
            ("cpu.nat_us = 1, cpu.spread = 0.5", "6", ""),
            ("cpu.nat_us = 3, cpu.spread = 0.5", "4", ""),
        ]
    );
    assert_eq!(
        map.description(),
        "delay_ms (ms): from 2 at cpu.nat_us = 3, cpu.spread = 0 to 6 at cpu.nat_us = 1, cpu.spread = 0.5."
    );
    let lines: Vec<String> = map.csv().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 1 + 4 * 2);
    assert_eq!(lines[0], "point,replication,number");
    assert_eq!(lines[1], "\"cpu.nat_us = 1, cpu.spread = 0\",0,");
    assert_eq!(lines[4], "\"cpu.nat_us = 3, cpu.spread = 0\",1,3.0");
    assert!(map.where_held.is_none() && map.claim.is_none() && map.columns == 0);
    assert_eq!(delays([None; 8]).description(), "delay_ms (ms): no number is known.");
    // Of equal numbers the first is said.
    assert_eq!(
        delays([Some(2.0); 8]).description(),
        "delay_ms (ms): from 2 at cpu.nat_us = 1, cpu.spread = 0 to 2 at cpu.nat_us = 1, cpu.spread = 0."
    );
}

#[test]
fn an_assumption_bears_only_on_claims_at_one_value_of_its_axis() {
    let claim =
        |id: &str, rest: &str| format!("[[claim]]\nid = \"{id}\"\ntext = \"t\"\nof = \"load\"\n{rest}\n");
    let text = small(
        &[
            "cpu.nat_us = [1.0, 2.0]\n[base]\nat = { calls = 5, cpu.nat_us = 2.0 }\n".to_owned(),
            claim("at-base", "at_most = 1.0"),
            claim("elsewhere", "at = { cpu.nat_us = 1.0 }\nat_most = 1.0"),
            claim("along", "along = \"cpu.nat_us\"\norder = \"increasing\""),
            claim("both", "at = { cpu.nat_us = [1.0, 2.0] }\norder = \"increasing\""),
            claim("open", "along = \"calls\"\nprediction = true"),
            "[[assumption]]\ntext = \"a\"\nwhy = \"b\"\nvaried = \"cpu.nat_us\"\n".to_owned(),
            "[[assumption]]\ntext = \"a\"\nwhy = \"b\"\nvaried = \"cpu.nat_us\"\nclaims = [\"elsewhere\"]\n"
                .to_owned(),
            "[[assumption]]\ntext = \"a\"\nwhy = \"b\"\n".to_owned(),
        ]
        .concat(),
    );
    let plan = plan(&text);
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        // Twice the time: twice the load for each call, 0.3 with 5 calls and 1 µs at least.
        let (calls, nat) = (run.settings.whole::<u32>("calls").unwrap(), 1 + run.index / 4 % 2);
        let load = if nat == 1 { 0.1 } else { 0.3 } * f64::from(calls);
        results.record(&plan, &run, &Outcome::default().with("load", load)).unwrap();
    }
    let evaluation = evaluate(&plan, &results, Platform::Sim);
    let [all, named, none] = evaluation.assumptions.as_slice() else { panic!("three assumptions") };
    let effects: Vec<(&str, usize)> =
        all.effects.iter().map(|effect| (effect.claim.as_str(), effect.base)).collect();
    assert_eq!(effects, [("at-base", 1), ("elsewhere", 0), ("open", 1)]);
    assert_eq!(all.untouched, ["along", "both"]);
    let (yes, no) = (Judged::Reproduces, Judged::DoesNotReproduce);
    for effect in &all.effects[..2] {
        assert_eq!((&effect.judged, effect.changes), (&vec![yes, no], true), "{}", effect.claim);
        assert_eq!((&effect.numbers, effect.range), (&vec![Some(0.5), Some(1.5)], Some((0.5, 1.5))));
    }
    // Of a prediction the number that moves most: 8 calls, from 0.8 to 2.4.
    let moved = &all.effects[2];
    assert!(moved.of[0].contains("calls = 8") && !moved.changes, "{:?}", moved.of);
    assert_eq!(moved.numbers[0], Some(0.8));
    assert_eq!(all.surviving(), (1, vec![1, 0]), "one reproduces as assumed, and only with 1 µs");
    assert_eq!((named.effects.len(), named.untouched.len()), (1, 4));
    assert!(none.effects.is_empty() && none.values.is_empty() && none.varied.is_empty());
}

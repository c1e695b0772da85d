//! The parts of the page, one by one.

use crate::testbed::{plan, run, small, with_loads};
use guestright_experiment::{
    Evaluation, Files, Judged, PaperText, Platform, Provenance, evaluate, report_html,
};

fn page(evaluation: &Evaluation) -> String {
    report_html(std::slice::from_ref(evaluation), &Provenance::default())
}

/// What stands between two marks, the first of them included.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let start = page.find(from).unwrap_or_else(|| panic!("{from} is not in {page}"));
    let rest = &page[start..];
    &rest[..rest[from.len()..].find(to).map_or(rest.len(), |end| from.len() + end)]
}

const CLAIM: &str = "[[claim]]\nid = \"c\"\ntext = \"It is so\"\nof = \"load\"\n";

fn plain(calls: usize, _: usize) -> Option<f64> {
    Some(calls as f64)
}

#[test]
fn the_head_names_the_page_and_each_experiment_has_its_place_in_the_list() {
    let one = with_loads(&format!("{CLAIM}at = {{ calls = 5 }}\nat_least = 0\n"), plain);
    let real = Evaluation { platform: Platform::Real, quick: true, missing: 3, ..one.clone() };
    let both = [one, real];
    let untitled = report_html(&both, &Provenance::default());
    assert!(untitled.starts_with("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"));
    assert!(untitled.contains("<title>Laboratory report</title>"));
    let titled = report_html(&both, &Provenance { title: "A & B".to_owned(), ..Provenance::default() });
    assert!(titled.contains("<title>A &amp; B</title>") && titled.contains("<h1 id=\"top\">A &amp; B</h1>"));
    let list = between(&titled, "<nav class=\"side\">", "</nav>");
    assert!(list.contains("<a href=\"#p1\">Small</a>") && list.contains("<a href=\"#p2\">Small (real)</a>"));
    assert!(list.contains("<a href=\"#p1-claims\">Claims one by one</a>") && !list.contains("Assumptions"));
    let top = between(&titled, "<nav class=\"top\">", "</nav>");
    assert_eq!(list.matches("<li>").count(), top.matches("<li>").count(), "the same list twice");
    let table = between(&titled, "<th>Experiment</th>", "</table>");
    assert!(table.contains("Small (real)</a><small>quick</small></td>"), "{table}");
    assert!(table.contains("24<small>3 missing</small></td>") && table.contains("24</td>"), "{table}");
    let second = between(&titled, "<h2 id=\"p2\">", "<h3");
    assert!(second.contains("; the quick version; 3 runs are missing.</p>"), "{second}");
    assert!(!between(&titled, "<h2 id=\"p1\">", "<h2").contains("quick"));
}

#[test]
fn links_to_rows_are_there_for_who_has_rows() {
    let text = "[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n";
    let two = [with_loads(text, plain), with_loads(text, plain), with_loads(text, plain)];
    let all = Files {
        csv: "a/rows.csv?x=\"1\"&y".to_owned(),
        parquet: "a/rows.parquet".to_owned(),
        figures: "a/figures".to_owned(),
        rows: "run,case\n".to_owned(),
    };
    let files = vec![all.clone(), Files::default()];
    let facts = vec![("host".to_owned(), "<b>".to_owned()), ("commit".to_owned(), "abc".to_owned())];
    let head = vec![("Command".to_owned(), "run <x>".to_owned())];
    let page = report_html(&two, &Provenance { title: String::new(), head, facts, files });
    let rows = between(&page, "base64,cnVuLGNhc2UK\">", "</p>");
    assert_eq!(
        rows,
        "base64,cnVuLGNhc2UK\">All rows</a> (CSV, in this page); <a href=\"a/rows.csv?x=&quot;1&quot;&amp;y\">CSV</a> \
         and <a href=\"a/rows.parquet\">Parquet</a> beside this page"
    );
    assert_eq!(page.matches("All rows").count(), 1);
    let pictures = "; the picture as <a href=\"a/figures/f.svg\">SVG</a> and <a href=\"a/figures/f.png\">PNG</a> (beside this page)";
    assert_eq!(page.matches(pictures).count(), 1);
    assert_eq!(page.matches("Every seed of this figure</a> (CSV, in this page)").count(), 3);
    let below = between(&page, "<h1", "<h2");
    assert!(below.contains("<dt>Command</dt><dd>run &lt;x&gt;</dd>"), "{below}");
    // What is too long for the page is only beside it.
    let long = Files { rows: "x".repeat((1 << 20) + 1), ..all };
    let page = report_html(&two[..1], &Provenance { files: vec![long], ..Provenance::default() });
    assert!(page.contains("All rows: 1048577 bytes, too many for this page; <a href=\"a/rows.csv"), "{page}");
    let page = report_html(&two[..1], &Provenance::default());
    assert!(!page.contains("All rows") && !page.contains("beside this page"));
    let page = report_html(
        &two,
        &Provenance {
            facts: vec![("host".into(), "<b>".into()), ("commit".into(), "abc".into())],
            ..Provenance::default()
        },
    );
    let last = between(&page, "<h2 id=\"provenance\">", "</html>");
    assert!(
        last.contains("<dt>host</dt><dd>&lt;b&gt;</dd>") && last.contains("<dt>commit</dt><dd>abc</dd>"),
        "{last}"
    );
}

#[test]
fn rows_that_are_too_many_for_the_page_are_counted_instead() {
    let text = "[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n";
    let mut one = with_loads(text, plain);
    let fits = page(&one);
    assert!(fits.contains("download=\"f.csv\"") && !fits.contains("too many for this page"));
    // A line of a name of 100 letters for each of 6 points and 4 seeds.
    one.figures[0].series[0].name = "n".repeat(100);
    let name = one.figures[0].series[0].clone();
    one.figures[0].series = vec![name; 400];
    let bytes = one.figures[0].csv().len();
    assert!(bytes > 1 << 19);
    let page = page(&one);
    assert!(page.contains(&format!("Every seed of this figure: {bytes} bytes, too many for this page")));
    assert!(!page.contains("download=\"f.csv\""));
}

#[test]
fn a_claim_says_what_it_is_and_folds_many_numbers_away() {
    let claim = |rest: &str| {
        let page = page(&with_loads(&format!("{CLAIM}{rest}\n"), plain));
        between(&page, "<details class=\"claim\">", "</details>").to_owned()
    };
    let one = claim("source = \"p. 4.\"\nat = { calls = 5 }\npublished = 6\nwithin = 0.5\nfitted = true");
    assert!(one.contains("<span class=\"verdict does-not-reproduce\">✗ does not reproduce</span> <span class=\"tag\">used to fit"));
    assert!(one.contains(
        "Claim c; p. 4.; expected: within ±0.5 of what is published; measured: load, the mean of the seeds.</p>"
    ));
    let head = between(&one, "<thead>", "</thead>");
    assert!(
        head.contains("Published")
            && head.contains("Point")
            && !head.contains("Number")
            && !head.contains("Verdict")
    );
    assert!(one.contains(
        "<td class=\"number published\">6</td><td class=\"number\">5</td><td>5 … 5</td><td>5 in every seed</td>"
    ));
    assert!(one.contains("<p>measured 5, expected 5.5 to 6.5: 0.5 too low</p>"), "{one}");
    assert!(!one.contains("not sure at 95 %") && !one[1..].contains("<details"));
    let prediction = claim("at = { calls = 5 }\nprediction = true");
    assert!(
        prediction.contains("→ prediction</span> It is so</summary>") && !prediction.contains("expected"),
        "{prediction}"
    );
    // With several verdicts each number has its own.
    let several = claim("along = \"calls\"\nat_most = 6");
    assert!(
        several.contains("<th>Verdict</th>") && several.matches("<td><span class=\"verdict").count() == 6
    );
    let terms = |count: usize| {
        let term = |calls: &usize| format!("[[claim.terms]]\nof = \"load\"\nat = {{ calls = {calls} }}\n");
        let terms: String = [1, 2, 5, 6, 7, 8, 1, 2, 5].iter().take(count).map(term).collect();
        let text = format!("[[claim]]\nid = \"c\"\ntext = \"t\"\nat_least = 0\n{terms}");
        page(&with_loads(&text, plain))
            .contains("<div class=\"wide\"><table><thead><tr><th>Case</th><th>Point</th>")
    };
    assert_eq!([terms(8), terms(9)], [false, true]);
}

#[test]
fn a_claim_of_several_quantities_has_a_column_for_them() {
    let measures = "[[measure]]\nid = \"m\"\ntitle = \"The <most>\"\nunit = \"s\"\nof = \"load\"\nkind = \"max\"\n\
        [[measure]]\nid = \"n\"\nof = \"load\"\nkind = \"min\"\n";
    let claim = "[[claim]]\nid = \"c\"\ntext = \"t\"\norder = \"increasing\"\n[[claim.terms]]\nof = \"n\"\n[[claim.terms]]\nof = \"m\"\n";
    let page = page(&with_loads(&format!("{measures}{claim}"), plain));
    let claim = between(&page, "id=\"p1-claim-c\"", "</details>");
    assert!(
        claim.contains("<th>Number</th>")
            && !claim.contains("<th>Point</th>")
            && !claim.contains("Published")
    );
    assert!(claim.contains("<td>The &lt;most&gt; (s)</td>") && claim.contains("<td>n</td>"), "{claim}");
    assert!(claim.contains("; measured: the mean of the seeds.</p>"), "no one quantity is named: {claim}");
    let rows = between(&page, "Every number made from the curves", "</details>");
    assert!(
        rows.contains("<td>The &lt;most&gt; (s)</td><td>ours</td><td></td><td class=\"number\">8</td>"),
        "{rows}"
    );
}

#[test]
fn numbers_made_from_curves_are_printed_up_to_a_limit() {
    let text = "[[measure]]\nid = \"room\"\nkind = \"largest\"\nof = \"load\"\nat_most = 6.0\n";
    let mut one = with_loads(text, plain);
    let number = one.measures[0].numbers[0].clone();
    let rows = |one: &Evaluation| page(one).matches("<td>room</td>").count();
    assert_eq!(rows(&one), 1);
    one.measures[0].numbers = vec![number.clone(); 2_000];
    assert_eq!(rows(&one), 2_000);
    one.measures[0].numbers.push(number);
    assert_eq!(rows(&one), 0);
    assert!(page(&one).contains("2001 numbers were made from the curves, too many for this page."));
    one.measures.clear();
    assert!(!page(&one).contains("made from the curves"));
}

#[test]
fn what_does_not_fit_is_listed_above_with_its_first_reason() {
    let claims = format!(
        "{CLAIM}along = \"calls\"\nat_most = 6\n{}at = {{ calls = 5 }}\nat_least = 9\n",
        CLAIM.replace("\"c\"", "\"d\"")
    );
    let one = with_loads(&claims, plain);
    let page_of = page(&one);
    let list = between(&page_of, "<summary>What does not fit (2)</summary>", "</ul>");
    assert_eq!(list.matches("<li>").count(), 2);
    assert!(list.contains("</span> Small: <a href=\"#p1-claim-c\">It is so</a><small>2 of 6 numbers; ours, calls = 7: measured 7, expected at most 6: 1 too high</small>"));
    assert!(
        list.contains(
            "<a href=\"#p1-claim-d\">It is so</a><small>measured 5, expected at least 9: 4 too low</small>"
        ),
        "{list}"
    );
    let fine = with_loads(&format!("{CLAIM}along = \"calls\"\nat_most = 8\n"), plain);
    assert!(!page(&fine).contains("What does not fit"));
    let guess = with_loads(&format!("{CLAIM}along = \"calls\"\nprediction = true\n"), plain);
    assert!(!page(&guess).contains("What does not fit"), "nothing was to be met");
}

#[test]
fn a_fit_names_its_settings_and_parts_the_claims() {
    let claim = |id: &str, rest: &str| {
        CLAIM.replace("\"c\"", &format!("\"{id}\"")) + "at = { calls = 5 }\n" + rest + "\n"
    };
    let fit = "[[fit]]\nsettings = [\"cpu.nat_us\", \"cpu.spread\"]\nhow = \" By eye. \"\non = [\"a\"]\n";
    let text = [
        claim("a", "at_least = 1"),
        claim("b", "at_least = 1"),
        claim("d", "prediction = true"),
        fit.to_owned(),
    ];
    let all = page(&with_loads(&text.concat(), plain));
    let list = between(&all, "<h3>What was fitted, and what is prediction</h3>", "</ul>");
    assert!(
        list.contains(
            "<strong>cpu.nat_us = 100 µs, cpu.spread = 0.1</strong>: By eye.<small>used: a</small>"
        ),
        "{list}"
    );
    for words in ["Claims used to fit: a", "Claims not used to fit: b", "Predictions: d"] {
        assert!(list.contains(&format!("<li>{words}</li>")), "{words}: {list}");
    }
    assert!(all.contains("<td>cpu.spread</td><td>0.1</td><td></td><td>default, fitted</td>"), "{all}");
    let none =
        page(&with_loads(&[claim("a", "at_least = 1"), claim("d", "prediction = true")].concat(), plain));
    assert!(!none.contains("What was fitted"));
    let alone = page(&with_loads(&claim("a", "at_least = 1\nfitted = true"), plain));
    let list = between(&alone, "<h3>What was fitted", "</ul>");
    assert!(
        list.contains("Claims used to fit: a") && !list.contains("not used") && !list.contains("Predictions"),
        "{list}"
    );
}

#[test]
fn a_captions_words_are_those_of_the_marks_that_are_there() {
    let caption = |rest: &str, load: fn(usize, usize) -> Option<f64>| {
        let text = format!("[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n{rest}");
        let page = page(&with_loads(&text, load));
        let caption = between(&page, "<figcaption>", "</figcaption>");
        caption.trim_start_matches("<figcaption>").to_owned()
    };
    let spread = |calls: usize, seed: usize| Some((calls + seed) as f64);
    assert_eq!(caption("", spread), "Shaded: 95 % interval of the mean.");
    assert_eq!(caption("band = \"range\"", spread), "Shaded: from the least to the most of the seeds.");
    assert_eq!(caption("band = \"none\"", spread), "");
    assert_eq!(caption("", plain), "", "without a spread nothing is shaded");
    assert_eq!(caption("band = \"range\"", plain), "");
    let published = "note = \" A word. \"\n[[figure.published]]\nname = \"P\"\npoints = [[1, 2]]\n";
    assert_eq!(caption(published, plain), "A word. Hollow and dashed: published.");
    let page_of = |rest: &str| {
        page(&with_loads(
            &format!("[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n{rest}"),
            plain,
        ))
    };
    let rows = page_of("[[figure.published]]\nname = \"P\"\npoints = [[1, 2], [5, 3, 2.5, 4]]\n");
    let row = |x: &str, y: &str, ends: &str| {
        format!(
            "<td class=\"published\">P</td><td class=\"number published\">{x}</td><td class=\"number published\">{y}</td>\
             <td>{ends}</td><td></td><td>published</td>"
        )
    };
    assert!(rows.contains(&row("1", "2", "")) && rows.contains(&row("5", "3", "2.5 … 4")), "{rows}");
    assert!(rows.contains("<td>ours</td><td class=\"number\">5</td><td class=\"number\">5</td><td>5 … 5</td><td>5 in every seed</td><td>4 of 4</td>"));
}

#[test]
fn a_tables_cells_are_told_apart_by_their_class() {
    let text = "[[table]]\nid = \"t\"\ntitle = \"A <table>\"\nrows = \"calls\"\nnote = \"One.\\n\\n \\n\\nTwo.\"\n\
        [[table.column]]\nof = \"load\"\ntitle = \"Load\"\nshow = \"spread\"\npublished = [[5, 0.25]]\n";
    let page = page(&with_loads(text, plain));
    let table = between(&page, "<h3 id=\"p1-table-t\">", "<h3>");
    assert!(table.starts_with("<h3 id=\"p1-table-t\">A &lt;table&gt;</h3>"));
    assert!(table.contains("<th>calls</th><th>Load</th><th>Load, published</th>"));
    let row = |published: &str| {
        format!("<tr><td>5</td><td class=\"number\">5<small>in all 4 seeds</small></td>{published}</tr>")
    };
    assert!(table.contains(&row("<td class=\"number published\">0.25</td>")), "{table}");
    assert!(
        table.contains("<small>in all 4 seeds</small></td><td class=\"published\"></td></tr>"),
        "{table}"
    );
    assert!(
        table.contains("<p>One.</p>") && table.contains("<p>Two.</p>") && !table.contains("<p></p>"),
        "{table}"
    );
}

#[test]
fn an_assumption_has_the_assumed_number_in_bold_and_tells_what_stays() {
    let text = small(
        "cpu.nat_us = [100.0, 900.0]\n[base]\nat = { calls = 5, cpu.nat_us = 100.0 }\n\
         [[claim]]\nid = \"c\"\ntext = \"It fits\"\nof = \"load\"\nat_most = 1.0\n\
         [[claim]]\nid = \"d\"\ntext = \"It grows\"\nof = \"load\"\nalong = \"cpu.nat_us\"\norder = \"increasing\"\n\
         [[assumption]]\ntext = \"Some time\"\nwhy = \"Nobody says.\"\nsettings = [\"cpu.nat_us\"]\nvaried = \"cpu.nat_us\"\n",
    );
    let plan = plan(&text);
    let one = evaluate(&plan, &run(&plan), Platform::Sim);
    assert_eq!(one.claims[0].judged, Judged::Reproduces);
    let page = page(&one);
    let part = between(&page, "<h3 id=\"p1-assumptions\">", "<summary>Settings");
    assert!(part.contains("<th class=\"number\">100</th><th class=\"number\">900</th>"), "{part}");
    assert!(part.contains("<a href=\"#p1-claim-c\">c</a><small>It fits</small>"), "{part}");
    assert_eq!(part.matches("\"><strong>").count(), 1, "the assumed number alone: {part}");
    assert!(part.contains("Does not bear on, or is said by: d.</p>"), "{part}");
    let summary = between(&page, "<h3>What was assumed</h3>", "</details>");
    assert!(summary.contains("<a href=\"#p1-assumptions\">Small</a>"), "{summary}");
    let effect = &one.assumptions[0].effects[0];
    let (stays, changes) = if effect.changes { (0, 1) } else { (1, 0) };
    assert!(
        summary.contains(&format!("<td class=\"number\">{stays}</td><td class=\"number\">{changes}</td>")),
        "{summary}"
    );
}

/// Claims of every kind.
fn of_all_kinds() -> String {
    let claim = |id: &str, rest: &str| CLAIM.replace("\"c\"", &format!("\"{id}\"")) + rest + "\n";
    [
        claim("one", "at = { calls = 5 }\npublished = 5\nwithin = 1"),
        claim("band", "at = { calls = 5 }\nat_least = 9"),
        claim("three", "at = { calls = [1, 2, 5] }\norder = \"increasing\""),
        claim("many", "along = \"calls\"\nat_most = 6"),
        claim("missing", "at = { calls = 8 }\nat_least = 0\nby = \"every\""),
        claim("guess", "at = { calls = 5 }\nprediction = true"),
    ]
    .concat()
}

#[test]
fn every_claim_has_a_line_at_the_top_that_leads_to_its_card() {
    // One of the seeds has no number with 8 calls.
    let one = with_loads(&of_all_kinds(), |calls, seed| Some(calls as f64).filter(|_| calls < 8 || seed > 0));
    let whole = page(&one);
    let table = between(&whole, "<section class=\"claims\">", "</section>");
    assert!(whole.find("<section class=\"claims\">") < whole.find("<h2 id=\"p1\">"), "above everything else");
    assert!(
        table.contains("<p>5 claims: 2 reproduce, 2 do not, 1 cannot be judged; 1 prediction.</p>"),
        "{table}"
    );
    let line = |id: &str| -> Vec<String> {
        let from = format!("<a href=\"#p1-claim-{id}\">It is so</a></div></td>");
        assert!(whole.contains(&format!("<div id=\"p1-claim-{id}\">")), "its card");
        let cells = between(table, &from, "</tr>").strip_prefix(&from).unwrap().split("</td>");
        cells.map(|cell| cell.trim_start_matches("<td>").to_owned()).collect()
    };
    assert_eq!(line("one")[..3], ["5", "5", "5 … 5"]);
    assert_eq!(line("band")[..3], ["at least 9", "5", "5 … 5"]);
    assert_eq!(line("three")[..3], ["increasing", "1; 2; 5", "1 … 1; 2 … 2; 5 … 5"]);
    assert_eq!(line("many")[..3], ["at most 6", "6 numbers, 2 outside", ""]);
    assert_eq!(line("guess")[..2], ["–", "5"]);
    assert!(line("band")[3].contains("✗ does not reproduce"), "{:?}", line("band"));
    assert_eq!(table.matches("<tr class=\"is-").count(), 6);
}

/// The style sheet finds the buttons by their ids and the lines by their classes: the names have to be the same.
#[test]
fn a_reader_chooses_among_the_verdicts_that_there_are_without_a_script() {
    let one = with_loads(&of_all_kinds(), plain);
    let whole = page(&one);
    let style = between(&whole, "<style>", "</style>");
    let filter = between(&whole, "<fieldset", "</fieldset>");
    assert!(filter.contains("<input id=\"show-all\" type=\"radio\" name=\"show\" checked>"), "{filter}");
    for (verdict, words) in [
        ("reproduces", "✓ 3 reproduced"),
        ("does-not-reproduce", "✗ 2 not reproduced"),
        ("prediction", "→ 1 predicted"),
    ] {
        assert!(filter.contains(&format!("<label for=\"show-{verdict}\">{words}</label>")), "{filter}");
        let rule = format!(
            ".claims:has(#show-{verdict}:checked) :is(tr[class^='is-']:not(.is-{verdict}),tbody:not(:has(.is-{verdict})))"
        );
        assert!(style.contains(&rule), "{verdict}");
        assert!(whole.contains(&format!("<tr class=\"is-{verdict}\">")), "{verdict}");
    }
    assert!(!filter.contains("cannot be computed"), "there is none: {filter}");
    let alone = page(&with_loads(&format!("{CLAIM}at = {{ calls = 5 }}\nat_least = 0\n"), plain));
    assert!(!alone.contains("<fieldset"), "there is nothing to choose");
    assert!(!page(&with_loads("", plain)).contains("<section class=\"claims\">"), "nothing is claimed");
    let two = report_html(&[one.clone(), one], &Provenance::default());
    assert_eq!(two.matches("<tr class=\"of\">").count(), 2, "each experiment has its part");
}

#[test]
fn a_paper_is_the_heading_with_its_authors() {
    let text = "[paper]\nname = \"Paper Z\"\ntitle = \"On <things>\"\nauthors = \"A. B., C. D.\"\npublished = \"Proc. Things, 2007\"\n";
    let one = with_loads(text, plain);
    let paper = PaperText {
        name: "Paper Z".into(),
        title: "On <things>".into(),
        authors: "A. B., C. D.".into(),
        published: "Proc. Things, 2007".into(),
    };
    assert_eq!(one.paper, Some(paper.clone()));
    let whole = report_html(&[one.clone(), one.clone()], &Provenance::default());
    assert!(whole.contains("<h1 id=\"top\">Paper Z: On &lt;things&gt;</h1>"));
    assert_eq!(whole.matches("<p class=\"lead\">A. B., C. D. Proc. Things, 2007.</p>").count(), 1);
    // With another paper beside it neither is the heading, and both are named.
    let other = Evaluation { paper: Some(PaperText { name: "Paper Y".into(), ..paper }), ..one.clone() };
    let whole = report_html(&[one.clone(), other], &Provenance::default());
    assert!(whole.contains("<h1 id=\"top\">Laboratory report</h1>"));
    assert!(
        whole.contains("<p class=\"lead\">Paper Y: On &lt;things&gt;. A. B., C. D. Proc. Things, 2007.</p>")
    );
    let none = Evaluation { paper: None, ..one };
    assert!(page(&none).contains("<h1 id=\"top\">Small</h1>"), "a question of our own is its own heading");
}

#[test]
fn a_setting_that_means_nothing_in_a_row_is_a_dash() {
    let rest = "[[case]]\nname = \"a\"\nsettings = { receipts.suite = \"rsa-1024\", remark = \"x\" }\n[[case]]\nname = \"b\"\n\
        [[table]]\nid = \"t\"\ntitle = \"T\"\nrows = \"case\"\n[[table.column]]\nsetting = \"remark\"\n\
        when = { receipts.suite = [\"rsa-1024\", \"ecdsa-160\"] }\n[[table.column]]\nsetting = \"duration_s\"\nwhen = { duration_s = 90 }\n";
    let cells = |text: &str| -> Vec<Vec<String>> {
        let rows = with_loads(text, plain).tables.remove(0).rows;
        rows.into_iter().map(|row| row.into_iter().map(|cell| cell.text).collect()).collect()
    };
    assert_eq!(cells(rest), [["a", "x", "90"], ["b", "–", "90"]]);
    let other = rest.replace("when = { duration_s = 90 }", "when = { duration_s = 91 }");
    assert_eq!(cells(&other)[0], ["a", "x", "–"]);
    let wrong = |from: &str, to: &str| {
        let text = small(&rest.replace(from, to));
        guestright_experiment::Plan::parse(&text, crate::testbed::TESTBEDS).unwrap_err().to_string()
    };
    assert!(wrong("ecdsa-160", "ecdsa-161").contains("ecdsa-161"));
    assert!(wrong("when = { duration_s", "when = { duration_").contains("duration_s"), "the nearest name");
    let of = wrong("setting = \"duration_s\"", "of = \"load\"\nat = { calls = 5 }");
    assert!(of.contains("`when` goes with `setting`"), "{of}");
}

#[test]
fn tables_for_the_terminal_say_once_what_is_the_same_in_every_row() {
    let rest = "[[table]]\nid = \"t\"\ntitle = \"T\"\nrows = \"calls\"\n[[table.column]]\nof = \"load\"\ntitle = \"Load\"\n\
        [[table.column]]\nsetting = \"duration_s\"\ntitle = \"Call, s\"\n";
    let one = with_loads(rest, plain);
    assert_eq!(
        one.tables_text(2),
        "\nT\n  calls  Load\n  -----  ----\n  1      1\n  2      2\n  in every row: Call, s 90\n  4 more rows"
    );
    assert!(!one.tables_text(6).contains("more rows"));
}

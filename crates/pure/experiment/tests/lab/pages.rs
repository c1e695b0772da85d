//! The parts of the page, one by one.

use crate::testbed::{plan, run, small, with_loads};
use guestright_experiment::{Evaluation, Judged, Platform, Provenance, evaluate, report_html};

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
    assert!(list.contains("<a href=\"#p1-claims\">Claims</a>") && !list.contains("Assumptions"));
    let top = between(&titled, "<nav class=\"top\">", "</nav>");
    assert_eq!(list.matches("<li>").count(), top.matches("<li>").count(), "the same list twice");
    let table = between(&titled, "<th>Experiment</th>", "</table>");
    assert!(table.contains("Small (real)</a><small>quick</small></td>"), "{table}");
    assert!(table.contains("24<small>3 missing</small></td>") && table.contains("24</td>"), "{table}");
    let second = between(&titled, "<h2 id=\"p2\">", "<h3");
    assert!(second.contains("; the quick version; 3 runs are missing.</p>"), "{second}");
    assert!(!between(&titled, "<h2 id=\"p1\">", "<h3").contains("quick"));
}

#[test]
fn links_to_rows_are_there_for_who_has_rows() {
    let text = "[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n";
    let two = [with_loads(text, plain), with_loads(text, plain), with_loads(text, plain)];
    let rows = vec!["a/rows.csv?x=\"1\"&y".to_owned(), String::new()];
    let facts = vec![("host".to_owned(), "<b>".to_owned()), ("commit".to_owned(), "abc".to_owned())];
    let page = report_html(&two, &Provenance { title: String::new(), facts, rows });
    let link = "href=\"a/rows.csv?x=&quot;1&quot;&amp;y\"";
    assert_eq!(page.matches(link).count(), 2, "of the experiment and beside its figure");
    assert_eq!(page.matches(">All rows</a>").count(), 1);
    assert_eq!(page.matches("all rows of the experiment").count(), 1);
    assert_eq!(page.matches("Every seed of this figure</a> (CSV, in this page)").count(), 3);
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
        between(&page, "<div class=\"claim\" id=\"p1-claim-c\">", "<h3>").to_owned()
    };
    let one = claim("source = \"p. 4.\"\nat = { calls = 5 }\npublished = 6\nwithin = 0.5\nfitted = true");
    assert!(one.contains("<span class=\"verdict does-not-reproduce\">✗ does not reproduce</span> <span class=\"tag\">used to fit"));
    assert!(one.contains(
        "Claim c; p. 4.; wanted: within ±0.5 of what is published; ours: load, the mean of the seeds.</p>"
    ));
    let head = between(&one, "<thead>", "</thead>");
    assert!(
        head.contains("Published")
            && head.contains("Point")
            && !head.contains("Number")
            && !head.contains("Verdict")
    );
    assert!(one.contains(
        "<td class=\"number published\">6</td><td class=\"number\">5</td><td>5 … 5</td><td>all 5</td>"
    ));
    assert!(one.contains("<p>5 is 0.5 below what is wanted, 5.5 … 6.5</p>"), "{one}");
    assert!(!one.contains("not sure at 95 %") && !one.contains("<details"));
    let prediction = claim("at = { calls = 5 }\nprediction = true");
    assert!(prediction.contains("→ prediction</span></p>") && !prediction.contains("wanted"), "{prediction}");
    // With several verdicts each number has its own.
    let several = claim("along = \"calls\"\nat_most = 6");
    assert!(
        several.contains("<th>Verdict</th>") && several.matches("<td><span class=\"verdict").count() == 6
    );
    let terms = |count: usize| {
        let term = |calls: &usize| format!("[[claim.terms]]\nof = \"load\"\nat = {{ calls = {calls} }}\n");
        let terms: String = [1, 2, 5, 6, 7, 8, 1, 2, 5].iter().take(count).map(term).collect();
        let text = format!("[[claim]]\nid = \"c\"\ntext = \"t\"\nat_least = 0\n{terms}");
        page(&with_loads(&text, plain)).contains(&format!("<summary>{count} numbers</summary>"))
    };
    assert_eq!([terms(8), terms(9)], [false, true]);
}

#[test]
fn a_claim_of_several_quantities_has_a_column_for_them() {
    let measures = "[[measure]]\nid = \"m\"\ntitle = \"The <most>\"\nunit = \"s\"\nof = \"load\"\nkind = \"max\"\n\
        [[measure]]\nid = \"n\"\nof = \"load\"\nkind = \"min\"\n";
    let claim = "[[claim]]\nid = \"c\"\ntext = \"t\"\norder = \"increasing\"\n[[claim.terms]]\nof = \"n\"\n[[claim.terms]]\nof = \"m\"\n";
    let page = page(&with_loads(&format!("{measures}{claim}"), plain));
    let claim = between(&page, "id=\"p1-claim-c\"", "<details");
    assert!(
        claim.contains("<th>Number</th>")
            && !claim.contains("<th>Point</th>")
            && !claim.contains("Published")
    );
    assert!(claim.contains("<td>The &lt;most&gt; (s)</td>") && claim.contains("<td>n</td>"), "{claim}");
    assert!(claim.contains("; ours: the mean of the seeds.</p>"), "no one quantity is named: {claim}");
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
    let list = between(&page_of, "<h3>What does not fit</h3>", "</ul>");
    assert_eq!(list.matches("<li>").count(), 2);
    assert!(list.contains("</span> Small: <a href=\"#p1-claim-c\">It is so</a><small>2 of 6 numbers; ours, calls = 7: 7 is 1 above"));
    assert!(
        list.contains(
            "<a href=\"#p1-claim-d\">It is so</a><small>5 is 4 below what is wanted, at least 9</small>"
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
    assert!(rows.contains("<td>ours</td><td class=\"number\">5</td><td class=\"number\">5</td><td>5 … 5</td><td>all 5</td><td>4 of 4</td>"));
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
    let part = between(&page, "<h3 id=\"p1-assumptions\">", "<h3>");
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

//! Cells of tables, and the series of figures, from rows that are given.

use crate::testbed::with_loads;
use guestright_experiment::{Evaluation, Provenance, TableNumbers, report_html};

const LARGEST: &str = "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"largest\"\nat_most = 1.0\n";

fn column(column: &str, load: impl Fn(usize, usize) -> Option<f64>) -> TableNumbers {
    let text = format!(
        "{LARGEST}[[table]]\nid = \"t\"\ntitle = \"T\"\nrows = \"calls\"\n[[table.column]]\nof = \"load\"\n{column}\n"
    );
    with_loads(&text, load).tables.remove(0)
}

fn cell_text(table: &TableNumbers, row: usize) -> (&str, &str) {
    let cell = &table.rows[row][1];
    (&cell.text, &cell.spread)
}

/// Seeds 1, 2, 2, 3: mean 2, deviation √(2/3), half an interval 3.182 · 0.40825 = 1.2992.
#[test]
fn a_cell_says_its_number_and_what_is_asked_for() {
    let seeds = |_: usize, seed: usize| Some([1.0, 2.0, 2.0, 3.0][seed]);
    #[rustfmt::skip]
    let cases = [
        ("show = \"value\"",                  ("2", "")),
        ("show = \"interval\"",               ("2", "0.701 … 3.3")),
        ("show = \"interval\"\ndecimals = 1", ("2.0", "0.7 … 3.3")),
        ("show = \"interval\"\ndecimals = 0", ("2", "1 … 3")),
        ("show = \"spread\"",                 ("2", "1 … 3 in 4 seeds, mostly 2, mean 2")),
        ("show = \"spread\"\ndecimals = 2",   ("2.00", "1.00 … 3.00 in 4 seeds, mostly 2.00, mean 2")),
    ];
    for (rest, want) in cases {
        let table = column(rest, seeds);
        assert_eq!(cell_text(&table, 3), want, "{rest}");
        assert_eq!(table.rows[3][1].number, Some(2.0));
    }
    let alike = column("show = \"spread\"", |_, _| Some(2.0));
    assert_eq!(cell_text(&alike, 0), ("2", "in all 4 seeds"));
    let differ = column("show = \"spread\"", |_, seed| Some(seed as f64));
    assert_eq!(cell_text(&differ, 0), ("1.5", "0 … 3 in 4 seeds, mean 1.5"), "no value is more frequent");
    let one = column("show = \"spread\"", |_, seed| (seed == 1).then_some(2.0));
    assert_eq!(cell_text(&one, 0), ("2", "1 seed"));
    let none = column("show = \"spread\"", |_, _| None);
    assert_eq!(cell_text(&none, 0), ("–", "it was not measured"));
    assert_eq!(none.rows[0][1].number, None);
}

#[test]
fn rows_are_the_values_of_the_axis_in_their_order_and_the_head_says_what_they_are() {
    let table = column("title = \"Load\"", |calls, _| Some(calls as f64));
    assert_eq!(table.head, ["calls", "Load"]);
    assert_eq!(table.csv(), "calls,Load\n1,1.0\n2,2.0\n5,5.0\n6,6.0\n7,7.0\n8,8.0\n");
}

#[test]
fn published_numbers_stand_beside_ours_in_the_row_that_they_name() {
    let table = column("title = \"Load\"\ndecimals = 1\npublished = [[5, 0.25], [8, 3]]", |_, _| Some(2.0));
    assert_eq!(table.head, ["calls", "Load", "Load, published"]);
    let published: Vec<(&str, Option<f64>)> =
        table.rows.iter().map(|row| (row[2].text.as_str(), row[2].number)).collect();
    let none = ("", None);
    assert_eq!(published, [none, none, ("0.2", Some(0.25)), none, none, ("3.0", Some(3.0))]);
    assert!(table.rows.iter().all(|row| row[2].published && !row[1].published));
    assert_eq!(table.csv().lines().nth(3), Some("5,2.0,0.25"), "every digit of what is published");
}

fn room(load: impl Fn(usize, usize) -> Option<f64>, kind: &str) -> (String, String, String) {
    let text = format!(
        "{}[[table]]\nid = \"t\"\ntitle = \"T\"\nrows = \"case\"\n[[table.column]]\nof = \"m\"\ntitle = \"Room\"\n",
        LARGEST.replace("largest", kind)
    );
    let table = with_loads(&text, load).tables.remove(0);
    let cell = &table.rows[0][1];
    (cell.text.clone(), cell.spread.clone(), table.csv().lines().nth(1).unwrap().to_owned())
}

#[test]
fn a_bound_has_its_sign_and_a_coarse_sweep_its_next_point() {
    let strings = |text: &str, spread: &str, csv: &str| (text.to_owned(), spread.to_owned(), csv.to_owned());
    let ends = "a bound: the sweep ends here";
    assert_eq!(room(|_, _| Some(0.5), "largest"), strings("≥ 8", ends, "ours,≥ 8"));
    assert_eq!(room(|_, _| Some(0.5), "smallest"), strings("≤ 1", ends, "ours,≤ 1"));
    let coarse = |calls: usize, _| Some(if calls > 2 { 2.0 } else { 0.5 });
    assert_eq!(room(coarse, "largest"), strings("2", "5 fails", "ours,2.0"));
    let near = |calls: usize, _| Some(if calls > 6 { 2.0 } else { 0.5 });
    assert_eq!(room(near, "largest"), strings("6", "", "ours,6.0"));
    assert_eq!(room(|_, _| Some(2.0), "largest"), strings("–", "the condition fails already at 1", "ours,–"));
}

fn figure(rest: &str, load: impl Fn(usize, usize) -> Option<f64>) -> Evaluation {
    with_loads(&format!("[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n{rest}\n"), load)
}

#[test]
fn a_figure_has_a_point_for_each_value_and_its_csv_a_line_for_each_seed() {
    let evaluation =
        figure("", |calls, seed| (calls != 2 || seed != 1).then_some((calls * 10 + seed) as f64));
    let figure = &evaluation.figures[0];
    assert_eq!((figure.series.len(), figure.series[0].name.as_str()), (1, "ours"));
    let means: Vec<(f64, Option<f64>)> =
        figure.series[0].points.iter().map(|point| (point.x, point.estimate.mean)).collect();
    // The mean of 0 to 3 is 1.5; without 1 it is 5/3.
    let by_hand = [(1.0, 11.5), (2.0, 20.0 + 5.0 / 3.0), (5.0, 51.5), (6.0, 61.5), (7.0, 71.5), (8.0, 81.5)];
    for ((x, mean), (want_x, want)) in means.iter().zip(by_hand) {
        assert!(*x == want_x && (mean.unwrap() - want).abs() < 1e-12, "{x}: {mean:?}");
    }
    let csv = figure.csv();
    assert_eq!(csv.lines().count(), 1 + 6 * 4);
    assert_eq!(csv.lines().nth(1), Some("ours,load,1,0,10.0"));
    assert_eq!(csv.lines().nth(6), Some("ours,load,2,1,"), "what was not measured is empty");
}

#[test]
fn a_figures_description_says_its_ends() {
    let of = |load: fn(usize, usize) -> Option<f64>| figure("", load).figures[0].chart().description;
    assert_eq!(of(|calls, _| Some(calls as f64)), "ours: from 1 at 1 to 8 at 8.");
    assert_eq!(of(|calls, _| (calls != 8).then_some(0.5)), "ours: from 0.5 at 1 to not known at 8.");
}

#[test]
fn published_series_have_the_colour_of_their_case() {
    let rest = "band = \"range\"\n[[figure.published]]\nname = \"P\"\ncase = \"b\"\npoints = [[1, 2], [5, 3, 2, 4]]\nline = true\n\
        [[figure.published]]\nname = \"Q\"\npoints = [[1, 2]]\n[[figure.thresholds]]\nname = \"Limit\"\ny = 1.5\n\
        [[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\nsettings = { duration_s = 5.0 }\n";
    let evaluation = figure(rest, |calls, _| Some(calls as f64));
    let figure = &evaluation.figures[0];
    let names: Vec<(&str, Option<&str>)> =
        figure.series.iter().map(|series| (series.name.as_str(), series.case.as_deref())).collect();
    assert_eq!(names, [("a", Some("a")), ("b", Some("b"))]);
    let published: Vec<(&str, Option<usize>, bool)> =
        figure.published.iter().map(|one| (one.name.as_str(), one.like, one.line)).collect();
    assert_eq!(published, [("P", Some(1), true), ("Q", None, false)]);
    assert_eq!((figure.band.as_str(), &figure.thresholds), ("range", &vec![("Limit".to_owned(), 1.5)]));
    let chart = figure.chart();
    let colours: Vec<Option<usize>> = chart.series.iter().map(|series| series.colour).collect();
    assert_eq!(colours, [Some(0), Some(1), Some(1), Some(3)], "a colour of its own where none is meant");
    assert_eq!(chart.series[2].points.len(), 2);
}

#[test]
fn a_small_plans_text_and_page_are_as_printed() {
    let rest = format!(
        "{LARGEST}[[claim]]\nid = \"c\"\ntext = \"Six calls fit\"\nsource = \"Table 1\"\nof = \"m\"\npublished = 6\nwithin = 0\n\
         [[claim]]\nid = \"d\"\ntext = \"The load falls, <b>always</b> & 'everywhere'\"\nof = \"load\"\nalong = \"calls\"\nfrom = 5\nto = 7\norder = \"decreasing\"\n\
         [[table]]\nid = \"t\"\ntitle = \"Loads\"\nrows = \"calls\"\nnote = \"A word.\"\n[[table.column]]\nof = \"load\"\ntitle = \"Load\"\nshow = \"interval\"\n"
    );
    let evaluation = with_loads(&rest, |calls, _| Some(calls as f64 / 6.0));
    insta::assert_snapshot!("small_text", evaluation.text());
    let page = report_html(&[evaluation], &Provenance::default());
    insta::assert_snapshot!("small_page", page.split_once("</style>").unwrap().1);
}

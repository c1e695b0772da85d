//! One plan on two platforms, as one evaluation: every figure with the curves of both, every table with the numbers of
//! both and what lies between them.

use crate::evaluate::{Cell, Evaluation, FigureNumbers, FigureSeries, TableNumbers};
use crate::statistics::Estimate;
use guestright_figure::short;

/// Puts two evaluations of one plan side by side, to be reported behind them. Nothing if they are of different plans,
/// of other seeds, or of the same platform.
///
/// Differences are taken seed by seed: replication `k` has the same seed on every platform. What only one of them has
/// is left out, be it a figure, a curve, a table, a column or a row. Claims stand with the evaluations themselves.
pub fn beside(first: &Evaluation, second: &Evaluation) -> Option<Evaluation> {
    let same_runs =
        first.name == second.name && first.testbed == second.testbed && first.chance == second.chance;
    if !same_runs || first.platform == second.platform {
        return None;
    }
    let names = [first.platform.name(), second.platform.name()];
    let figures = first.figures.iter().filter_map(|one| {
        let other = second.figures.iter().find(|other| other.id == one.id)?;
        figure(one, other, names)
    });
    let tables = first.tables.iter().filter_map(|one| {
        let other = second.tables.iter().find(|other| other.id == one.id)?;
        table(one, other, names)
    });
    Some(Evaluation {
        name: format!("{}-beside", first.name),
        title: format!("{}: {} and {} side by side", first.title, names[0], names[1]),
        question: format!(
            "The same plan on {} and on {}: the same arrivals, from the same seeds. What lies between them is what the \
             one does and the other does not.",
            names[0], names[1]
        ),
        source: String::new(),
        runs: first.runs + second.runs,
        missing: first.missing + second.missing,
        packets: first.packets.saturating_add(second.packets),
        events: first.events.saturating_add(second.events),
        seeds: first.seeds.min(second.seeds),
        quick: first.quick || second.quick,
        digest: format!("{} {}", first.digest, second.digest),
        platform: second.platform,
        figures: figures.collect(),
        tables: tables.collect(),
        settings: Vec::new(),
        measures: Vec::new(),
        claims: Vec::new(),
        maps: Vec::new(),
        assumptions: Vec::new(),
        fits: Vec::new(),
        notes: Vec::new(),
        ..first.clone()
    })
}

/// For each of ours the place of its equal among theirs: of several equal ones the first is the first's, and so on.
fn partners<K: PartialEq>(ours: &[K], theirs: &[K]) -> Vec<Option<usize>> {
    let partner = |index: usize| {
        let before = ours[..index].iter().filter(|other| **other == ours[index]).count();
        (0..theirs.len()).filter(|other| theirs[*other] == ours[index]).nth(before)
    };
    (0..ours.len()).map(partner).collect()
}

/// Nothing if no series is in both, or if the places on the x axis have other names.
fn figure(first: &FigureNumbers, second: &FigureNumbers, names: [&str; 2]) -> Option<FigureNumbers> {
    if first.x_names != second.x_names {
        return None;
    }
    let named = |series: &FigureSeries, name: &str| {
        let words = if series.name.is_empty() { name.to_owned() } else { format!("{}, {name}", series.name) };
        FigureSeries { name: words, ..series.clone() }
    };
    let keys = |figure: &FigureNumbers| -> Vec<(String, Option<String>, String)> {
        let key = |one: &FigureSeries| (one.name.clone(), one.case.clone(), one.quantity.clone());
        figure.series.iter().map(key).collect()
    };
    let mut series = Vec::new();
    // Where each of the first's series has gone, for published points that have its colour.
    let mut positions = Vec::new();
    for (one, other) in first.series.iter().zip(partners(&keys(first), &keys(second))) {
        positions.push(other.map(|_| series.len()));
        if let Some(other) = other {
            series.extend([named(one, names[0]), named(&second.series[other], names[1])]);
        }
    }
    if series.is_empty() {
        return None;
    }
    let mut merged = FigureNumbers { series, ..first.clone() };
    for published in &mut merged.published {
        published.like = published.like.and_then(|like| positions.get(like).copied().flatten());
    }
    Some(merged)
}

/// Nothing if no row is in both.
fn table(first: &TableNumbers, second: &TableNumbers, names: [&str; 2]) -> Option<TableNumbers> {
    let columns: Vec<(usize, usize)> = partners(&first.head, &second.head)
        .into_iter()
        .enumerate()
        .filter_map(|(one, other)| Some((one, other?)))
        .collect();
    let has_seeds = |table: &TableNumbers, column: usize| {
        table.rows.iter().filter_map(|row| row.get(column)).any(|cell| cell.estimate.is_some())
    };
    // What names a row, a setting and what is published are the same for both, and stand there once.
    let is_measured: Vec<bool> =
        columns.iter().map(|(one, other)| has_seeds(first, *one) || has_seeds(second, *other)).collect();
    let mut head = Vec::new();
    for ((column, _), is_measured) in columns.iter().zip(&is_measured) {
        let name = &first.head[*column];
        if *is_measured {
            let [one, other] = names.map(|platform| format!("{name}, {platform}"));
            head.extend([one, other, "difference".to_owned()]);
        } else {
            head.push(name.clone());
        }
    }
    let labels = is_measured.iter().take_while(|is_measured| !**is_measured).count();
    let keys = |table: &TableNumbers, column: fn(&(usize, usize)) -> usize| -> Vec<Vec<String>> {
        let text =
            |row: &[Cell], index| row.get(index).map(|cell: &Cell| cell.text.clone()).unwrap_or_default();
        let key = |row: &Vec<Cell>| columns[..labels].iter().map(|pair| text(row, column(pair))).collect();
        table.rows.iter().map(key).collect()
    };
    let partners = partners(&keys(first, |pair| pair.0), &keys(second, |pair| pair.1));
    let mut rows = Vec::new();
    for (row, other) in first.rows.iter().zip(partners) {
        let Some(other) = other.map(|other| &second.rows[other]) else { continue };
        let mut cells = Vec::new();
        for (pair, is_measured) in columns.iter().zip(&is_measured) {
            let (Some(one), Some(other)) = (row.get(pair.0), other.get(pair.1)) else { continue };
            cells.push(one.clone());
            if *is_measured {
                cells.extend([other.clone(), difference(one, other)]);
            }
        }
        rows.push(cells);
    }
    if rows.is_empty() {
        return None;
    }
    let note = format!("{} Differences: {} less {}, seed by seed.", first.note, names[1], names[0]);
    Some(TableNumbers { head, rows, note: note.trim().to_owned(), ..first.clone() })
}

/// Second less first, where both say a number: of means seed by seed, of what the mean curves give the one less the
/// other. What lies between a bound and anything else is not known.
fn difference(first: &Cell, second: &Cell) -> Cell {
    let nothing = |why: &str| Cell { text: "–".to_owned(), spread: why.to_owned(), ..Cell::default() };
    let (Some(one), Some(other)) = (first.number, second.number) else { return nothing("") };
    let (Some(ours), Some(theirs)) = (&first.estimate, &second.estimate) else { return nothing("") };
    let is_mean = |cell: &Cell, estimate: &Estimate| cell.number == estimate.mean;
    let is_bound = |cell: &Cell, estimate: &Estimate| {
        if is_mean(cell, estimate) { estimate.beyond > 0 } else { estimate.curve_beyond }
    };
    if is_bound(first, ours) || is_bound(second, theirs) {
        return nothing("of a bound");
    }
    let pairs = ours.values.iter().zip(&theirs.values).map(|(one, other)| Some((*other)? - (*one)?));
    let paired = Estimate::of(pairs.collect());
    if !(is_mean(first, ours) && is_mean(second, theirs)) {
        let number = other - one;
        let estimate = Estimate { curve: Some(number), ..paired };
        return Cell {
            text: short(number),
            number: Some(number),
            estimate: Some(estimate),
            ..Cell::default()
        };
    }
    let Some(number) = paired.mean else { return nothing("no seed has both") };
    let interval = paired.interval.map(|(low, high)| format!("{} … {}", short(low), short(high)));
    Cell {
        text: short(number),
        spread: interval.unwrap_or_default(),
        number: Some(number),
        published: false,
        estimate: Some(paired),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::PublishedSeries;

    const NAMES: [&str; 2] = ["sim", "netns"];

    fn seeds(values: &[Option<f64>]) -> Cell {
        let estimate = Estimate::of(values.to_vec());
        let text = estimate.mean.map_or_else(|| "–".to_owned(), short);
        Cell { text, number: estimate.mean, estimate: Some(estimate), ..Cell::default() }
    }

    fn cell(values: &[f64]) -> Cell {
        seeds(&values.iter().copied().map(Some).collect::<Vec<_>>())
    }

    fn label(text: &str) -> Cell {
        Cell { text: text.to_owned(), ..Cell::default() }
    }

    fn published(number: f64) -> Cell {
        Cell { text: short(number), number: Some(number), published: true, ..Cell::default() }
    }

    fn of(head: &[&str], rows: Vec<Vec<Cell>>) -> TableNumbers {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        TableNumbers { id: "t".to_owned(), title: String::new(), head, rows, note: String::new() }
    }

    fn numbers(rows: Vec<Vec<Cell>>) -> TableNumbers {
        of(&["transport", "loss"], rows)
    }

    /// What the rows say, cell by cell.
    fn texts(table: &TableNumbers) -> Vec<Vec<&str>> {
        table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_table_has_both_numbers_and_what_lies_between() {
        let first =
            numbers(vec![vec![label("udp"), cell(&[1.0, 2.0])], vec![label("reno"), cell(&[5.0, 5.0])]]);
        let second = numbers(vec![vec![label("udp"), cell(&[2.0, 5.0])]]);
        let merged = table(&first, &second, NAMES).unwrap();
        assert_eq!(merged.head, ["transport", "loss, sim", "loss, netns", "difference"]);
        assert_eq!(merged.rows.len(), 1, "what only one has is left out");
        let got: Vec<_> = merged.rows[0].iter().map(|cell| cell.number).collect();
        assert_eq!(got, [None, Some(1.5), Some(3.5), Some(2.0)]);
        let values = &merged.rows[0][3].estimate.as_ref().unwrap().values;
        assert_eq!(values, &[Some(1.0), Some(3.0)], "seed by seed");
        // Differences 1 and 3: a standard error of 1, times 12.706.
        assert_eq!(merged.rows[0][3].spread, "-10.71 … 14.71");
        assert_eq!(merged.note, "Differences: netns less sim, seed by seed.");
        let noted = TableNumbers { note: "A word.".to_owned(), ..first };
        let merged = table(&noted, &second, NAMES).unwrap();
        assert_eq!(merged.note, "A word. Differences: netns less sim, seed by seed.");
    }

    #[test]
    fn rows_are_matched_by_their_labels_in_the_order_of_the_first() {
        let row = |name: &str, number: f64| vec![label(name), cell(&[number])];
        let first = numbers(vec![row("a", 1.0), row("b", 2.0), row("c", 3.0)]);
        let second = numbers(vec![row("c", 13.0), row("x", 9.0), row("a", 11.5)]);
        let merged = table(&first, &second, NAMES).unwrap();
        assert_eq!(texts(&merged), [["a", "1", "11.5", "10.5"], ["c", "3", "13", "10"]]);
        // The other way round the order is the other's, and so are the signs.
        let merged = table(&second, &first, NAMES).unwrap();
        assert_eq!(texts(&merged), [["c", "13", "3", "-10"], ["a", "11.5", "1", "-10.5"]]);
    }

    #[test]
    fn of_rows_with_the_same_labels_the_first_goes_with_the_first() {
        let row = |number: f64| vec![label("same"), cell(&[number])];
        let (first, second) =
            (numbers(vec![row(1.0), row(2.0)]), numbers(vec![row(5.0), row(7.0), row(9.0)]));
        let merged = table(&first, &second, NAMES).unwrap();
        assert_eq!(texts(&merged), [["same", "1", "5", "4"], ["same", "2", "7", "5"]]);
        let merged = table(&second, &first, NAMES).unwrap();
        assert_eq!(
            texts(&merged),
            [["same", "5", "1", "-4"], ["same", "7", "2", "-5"]],
            "the third has no partner"
        );
    }

    #[test]
    fn without_a_row_in_both_there_is_no_table() {
        let some = numbers(vec![vec![label("a"), cell(&[1.0])]]);
        let other = numbers(vec![vec![label("b"), cell(&[1.0])]]);
        let none = numbers(Vec::new());
        for (first, second) in [(&some, &other), (&some, &none), (&none, &some), (&none, &none)] {
            assert_eq!(table(first, second, NAMES), None);
        }
    }

    #[test]
    fn a_setting_and_what_is_published_stand_there_once() {
        let setting = |number: f64| Cell { text: short(number), number: Some(number), ..Cell::default() };
        let head = ["transport", "rate", "loss", "loss, published", "buffer"];
        let row = |loss: f64| vec![label("udp"), setting(2.0), cell(&[loss]), published(0.5), setting(50.0)];
        let merged = table(&of(&head, vec![row(1.0)]), &of(&head, vec![row(4.0)]), NAMES).unwrap();
        let want =
            ["transport", "rate", "loss, sim", "loss, netns", "difference", "loss, published", "buffer"];
        assert_eq!(merged.head, want);
        assert_eq!(texts(&merged), [["udp", "2", "1", "4", "3", "0.5", "50"]]);
        assert!(merged.rows[0][5].published);
    }

    #[test]
    fn columns_are_matched_by_their_heads() {
        let first = of(
            &["case", "load", "delay", "gone"],
            vec![vec![label("a"), cell(&[1.0]), cell(&[10.0]), cell(&[0.0])]],
        );
        let second = of(
            &["case", "new", "delay", "load"],
            vec![vec![label("a"), cell(&[7.0]), cell(&[30.0]), cell(&[2.0])]],
        );
        let merged = table(&first, &second, NAMES).unwrap();
        let want =
            ["case", "load, sim", "load, netns", "difference", "delay, sim", "delay, netns", "difference"];
        assert_eq!(merged.head, want);
        assert_eq!(texts(&merged), [["a", "1", "2", "1", "10", "30", "20"]]);
        // Two columns of one head: the first goes with the first.
        let twice =
            |a: f64, b: f64| of(&["case", "load", "load"], vec![vec![label("a"), cell(&[a]), cell(&[b])]]);
        let merged = table(&twice(1.0, 2.0), &twice(5.0, 8.0), NAMES).unwrap();
        assert_eq!(texts(&merged), [["a", "1", "5", "4", "2", "8", "6"]]);
    }

    #[test]
    fn a_case_without_the_number_leaves_the_others_theirs() {
        let rows = |loss: f64| numbers(vec![vec![label("a"), label("–")], vec![label("b"), cell(&[loss])]]);
        let merged = table(&rows(1.0), &rows(3.0), NAMES).unwrap();
        assert_eq!(texts(&merged), [["a", "–", "–", "–"], ["b", "1", "3", "2"]]);
        // A column that only the second has measured is one of numbers too.
        let none = numbers(vec![vec![label("a"), label("–")]]);
        let some = numbers(vec![vec![label("a"), cell(&[3.0])]]);
        for (first, second, want) in
            [(&none, &some, ["a", "–", "3", "–"]), (&some, &none, ["a", "3", "–", "–"])]
        {
            let merged = table(first, second, NAMES).unwrap();
            assert_eq!((texts(&merged), merged.head.len()), (vec![want.to_vec()], 4));
        }
    }

    #[test]
    fn seeds_without_a_partner_are_in_no_difference() {
        let cell_text = |first: &Cell, second: &Cell| {
            let cell = difference(first, second);
            (cell.text, cell.spread, cell.number)
        };
        // Seed 1 alone is in both; the means are 1.5 and 9.
        let gap = seeds(&[None, Some(9.0)]);
        assert_eq!(cell_text(&cell(&[1.0, 2.0]), &gap), ("7".to_owned(), String::new(), Some(7.0)));
        // The second had fewer seeds.
        let got = cell_text(&cell(&[1.0, 2.0, 60.0]), &cell(&[2.0, 5.0]));
        assert_eq!((got.0.as_str(), got.2), ("2", Some(2.0)));
        let other = seeds(&[Some(1.0), None]);
        assert_eq!(cell_text(&other, &gap), ("–".to_owned(), "no seed has both".to_owned(), None));
        assert_eq!(cell_text(&seeds(&[None]), &gap), ("–".to_owned(), String::new(), None));
        // Runs are missing: the cell says no number, although one seed has one.
        let missing = Cell { text: "–".to_owned(), number: None, ..cell(&[1.0, 2.0]) };
        assert_eq!(cell_text(&missing, &gap), ("–".to_owned(), String::new(), None));
        assert_eq!(cell_text(&gap, &missing), ("–".to_owned(), String::new(), None));
    }

    #[test]
    fn numbers_of_mean_curves_are_taken_from_each_other_as_they_are_shown() {
        let curve_cell = |curve: f64, values: &[f64]| {
            let estimate = Estimate { curve: Some(curve), ..cell(values).estimate.unwrap() };
            Cell { text: short(curve), number: Some(curve), estimate: Some(estimate), ..Cell::default() }
        };
        let got = difference(&curve_cell(6.0, &[6.0, 7.0]), &curve_cell(4.0, &[3.0, 4.0]));
        assert_eq!((got.text.as_str(), got.number, got.spread.as_str()), ("-2", Some(-2.0), ""));
        let estimate = got.estimate.unwrap();
        assert_eq!((estimate.curve, estimate.values), (Some(-2.0), vec![Some(-3.0), Some(-3.0)]));
    }

    #[test]
    fn a_bound_has_no_difference_to_anything() {
        let number = cell(&[8.0, 8.0]);
        let estimate = || number.estimate.clone().unwrap();
        let seeds = Cell { estimate: Some(Estimate { beyond: 1, ..estimate() }), ..number.clone() };
        let curve = Estimate { curve: Some(9.0), curve_beyond: true, ..estimate() };
        let curve = Cell { number: Some(9.0), estimate: Some(curve), ..number.clone() };
        for bound in [&seeds, &curve] {
            for (first, second) in [(bound, &number), (&number, bound), (bound, bound)] {
                let got = difference(first, second);
                assert_eq!((got.text.as_str(), got.spread.as_str(), got.number), ("–", "of a bound", None));
            }
        }
        // That single seeds end at a bound says nothing of a number from the mean curve.
        let own = Estimate { curve: Some(9.0), beyond: 1, ..estimate() };
        let own = Cell { number: Some(9.0), estimate: Some(own), ..number.clone() };
        assert_eq!(difference(&own, &own).number, Some(0.0));
    }

    fn drawn(names: &[(&str, &str)], like: Option<usize>) -> FigureNumbers {
        let series = |(name, quantity): &(&str, &str)| FigureSeries {
            name: (*name).to_owned(),
            case: None,
            quantity: (*quantity).to_owned(),
            points: Vec::new(),
        };
        FigureNumbers {
            id: "f".to_owned(),
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            x_log: false,
            y_log: false,
            x_range: (None, None),
            y_range: (None, None),
            x_names: Vec::new(),
            band: "none".to_owned(),
            series: names.iter().map(series).collect(),
            published: vec![PublishedSeries {
                name: "paper".to_owned(),
                like,
                points: Vec::new(),
                line: false,
            }],
            thresholds: Vec::new(),
            note: String::new(),
        }
    }

    fn names(figure: &FigureNumbers) -> Vec<String> {
        figure.series.iter().map(|series| format!("{}: {}", series.name, series.quantity)).collect()
    }

    #[test]
    fn a_figure_has_both_curves_and_published_points_keep_their_colour() {
        let first = drawn(&[("udp", "loss"), ("reno", "loss")], Some(1));
        let second = drawn(&[("reno", "loss"), ("udp", "loss")], None);
        let merged = figure(&first, &second, NAMES).unwrap();
        assert_eq!(
            names(&merged),
            ["udp, sim: loss", "udp, netns: loss", "reno, sim: loss", "reno, netns: loss"]
        );
        assert_eq!(merged.published[0].like, Some(2));
        let unnamed = drawn(&[("", "loss")], Some(7));
        let merged = figure(&unnamed, &unnamed, NAMES).unwrap();
        assert_eq!(names(&merged), ["sim: loss", "netns: loss"]);
        assert_eq!(merged.published[0].like, None, "there is no such curve");
    }

    #[test]
    fn a_curve_of_one_of_them_is_left_out_and_so_is_its_colour() {
        let first = drawn(&[("gone", "loss"), ("udp", "loss"), ("udp", "delay")], Some(0));
        let second = drawn(&[("udp", "delay"), ("new", "loss"), ("udp", "loss")], None);
        let merged = figure(&first, &second, NAMES).unwrap();
        assert_eq!(
            names(&merged),
            ["udp, sim: loss", "udp, netns: loss", "udp, sim: delay", "udp, netns: delay"]
        );
        assert_eq!(merged.published[0].like, None);
        let like = |like| figure(&drawn(&[("gone", "loss"), ("udp", "loss")], like), &second, NAMES).unwrap();
        assert_eq!(like(Some(1)).published[0].like, Some(0));
        assert_eq!(figure(&drawn(&[("gone", "loss")], None), &second, NAMES), None);
        // Bars stand at the places of their names: with other names they would stand elsewhere.
        let named = FigureNumbers { x_names: vec!["a".to_owned()], ..second.clone() };
        assert_eq!(figure(&first, &named, NAMES), None);
    }

    #[test]
    fn of_curves_with_the_same_name_the_first_goes_with_the_first() {
        let at =
            |x: f64| crate::evaluate::FigurePoint { x, label: String::new(), estimate: Estimate::default() };
        let two = |a: f64, b: f64| {
            let mut figure = drawn(&[("udp", "loss"), ("udp", "loss")], None);
            figure.series[0].points.push(at(a));
            figure.series[1].points.push(at(b));
            figure
        };
        let merged = figure(&two(1.0, 2.0), &two(3.0, 4.0), NAMES).unwrap();
        let xs: Vec<f64> = merged.series.iter().map(|series| series.points[0].x).collect();
        assert_eq!(xs, [1.0, 3.0, 2.0, 4.0]);
    }
}

//! One plan on two platforms, as one evaluation: every figure with the curves of both, every table with the numbers of
//! both and what lies between them.

use crate::evaluate::{Cell, Evaluation, FigureNumbers, FigureSeries, TableNumbers};
use crate::statistics::Estimate;
use guestright_figure::short;

/// Puts two evaluations of one plan side by side, to be reported behind them. Nothing if they are of different plans, or
/// of the same platform.
///
/// Differences are taken seed by seed: replication `k` has the same seed on every platform. What only one of them has is
/// left out. Claims stand with the evaluations themselves.
pub fn beside(first: &Evaluation, second: &Evaluation) -> Option<Evaluation> {
    if first.name != second.name || first.testbed != second.testbed || first.platform == second.platform {
        return None;
    }
    let names = [first.platform.name(), second.platform.name()];
    let figures = first.figures.iter().filter_map(|one| {
        let other = second.figures.iter().find(|other| other.id == one.id)?;
        Some(figure(one, other, names))
    });
    let tables = first.tables.iter().filter_map(|one| {
        let other = second.tables.iter().find(|other| other.id == one.id)?;
        Some(table(one, other, names))
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

fn figure(first: &FigureNumbers, second: &FigureNumbers, names: [&str; 2]) -> FigureNumbers {
    let named = |series: &FigureSeries, name: &str| {
        let words = if series.name.is_empty() { name.to_owned() } else { format!("{}, {name}", series.name) };
        FigureSeries { name: words, ..series.clone() }
    };
    let mut series = Vec::new();
    // Where each of the first's series has gone, for published points that have its colour.
    let mut places = Vec::new();
    for one in &first.series {
        places.push(series.len());
        series.push(named(one, names[0]));
        let same = |other: &&FigureSeries| {
            other.name == one.name && other.case == one.case && other.quantity == one.quantity
        };
        series.extend(second.series.iter().find(same).map(|other| named(other, names[1])));
    }
    let mut merged = FigureNumbers { series, ..first.clone() };
    for published in &mut merged.published {
        published.like = published.like.and_then(|like| places.get(like).copied());
    }
    merged
}

fn table(first: &TableNumbers, second: &TableNumbers, names: [&str; 2]) -> TableNumbers {
    let is_label = |column: usize| first.rows.iter().all(|row| row.get(column).is_none_or(Cell::is_label));
    let labels: Vec<bool> = (0..first.head.len()).map(is_label).collect();
    let mut head = Vec::new();
    for (name, is_label) in first.head.iter().zip(&labels) {
        if *is_label {
            head.push(name.clone());
        } else {
            head.extend([
                format!("{name}, {}", names[0]),
                format!("{name}, {}", names[1]),
                "difference".to_owned(),
            ]);
        }
    }
    let texts = |row: &[Cell]| -> Vec<String> {
        row.iter()
            .zip(&labels)
            .filter(|(_, is_label)| **is_label)
            .map(|(cell, _)| cell.text.clone())
            .collect()
    };
    let rows = first.rows.iter().filter_map(|row| {
        let other = second.rows.iter().find(|other| texts(other) == texts(row))?;
        let cells = row.iter().zip(other).zip(&labels).flat_map(|((one, other), is_label)| {
            if *is_label {
                vec![one.clone()]
            } else {
                vec![one.clone(), other.clone(), difference(one, other)]
            }
        });
        Some(cells.collect())
    });
    let rows = rows.collect();
    let note = format!("{} Differences: {} less {}, seed by seed.", first.note, names[1], names[0]);
    TableNumbers { head, rows, note: note.trim().to_owned(), ..first.clone() }
}

/// Second less first: seed by seed where both have the seeds' numbers.
fn difference(first: &Cell, second: &Cell) -> Cell {
    let paired = first.estimate.as_ref().zip(second.estimate.as_ref()).map(|(one, other)| {
        let pairs = one.values.iter().zip(&other.values).map(|(one, other)| Some((*other)? - (*one)?));
        Estimate::of(pairs.collect())
    });
    let number = match &paired {
        Some(estimate) => estimate.mean,
        None => first.number.zip(second.number).map(|(one, other)| other - one),
    };
    let interval = paired.as_ref().and_then(|estimate| estimate.interval);
    Cell {
        text: number.map_or_else(|| "-".to_owned(), short),
        spread: interval.map_or_else(String::new, |(low, high)| format!("{} … {}", short(low), short(high))),
        number,
        published: false,
        estimate: paired,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(values: &[f64]) -> Cell {
        let estimate = Estimate::of(values.iter().copied().map(Some).collect());
        Cell { text: "x".to_owned(), number: estimate.mean, estimate: Some(estimate), ..Cell::default() }
    }

    fn label(text: &str) -> Cell {
        Cell { text: text.to_owned(), ..Cell::default() }
    }

    fn numbers(rows: Vec<Vec<Cell>>) -> TableNumbers {
        let head = vec!["transport".to_owned(), "loss".to_owned()];
        TableNumbers { id: "t".to_owned(), title: String::new(), head, rows, note: String::new() }
    }

    #[test]
    fn a_table_has_both_numbers_and_what_lies_between() {
        let first =
            numbers(vec![vec![label("udp"), cell(&[1.0, 2.0])], vec![label("reno"), cell(&[5.0, 5.0])]]);
        let second = numbers(vec![vec![label("udp"), cell(&[2.0, 5.0])]]);
        let merged = table(&first, &second, ["sim", "netns"]);
        assert_eq!(merged.head, ["transport", "loss, sim", "loss, netns", "difference"]);
        assert_eq!(merged.rows.len(), 1, "what only one has is left out");
        let got: Vec<_> = merged.rows[0].iter().map(|cell| cell.number).collect();
        assert_eq!(got, [None, Some(1.5), Some(3.5), Some(2.0)]);
        let values = &merged.rows[0][3].estimate.as_ref().unwrap().values;
        assert_eq!(values, &[Some(1.0), Some(3.0)], "seed by seed");
    }

    #[test]
    fn a_figure_has_both_curves_and_published_points_keep_their_colour() {
        let series = |name: &str| FigureSeries {
            name: name.to_owned(),
            case: None,
            quantity: "loss".to_owned(),
            points: Vec::new(),
        };
        let published = crate::evaluate::PublishedSeries {
            name: "paper".to_owned(),
            like: Some(1),
            points: Vec::new(),
            line: false,
        };
        let first = FigureNumbers {
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
            series: vec![series("udp"), series("reno")],
            published: vec![published],
            thresholds: Vec::new(),
            note: String::new(),
        };
        let second = FigureNumbers { series: vec![series("reno"), series("udp")], ..first.clone() };
        let merged = figure(&first, &second, ["sim", "netns"]);
        let names: Vec<&str> = merged.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["udp, sim", "udp, netns", "reno, sim", "reno, netns"]);
        assert_eq!(merged.published[0].like, Some(2));
    }
}

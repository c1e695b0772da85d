//! What figures and maps hand to the one who draws them.

use crate::maps::evaluate_loads;
use crate::testbed::{plan, run, small, with_loads};
use guestright_experiment::{FigureNumbers, Judged, Platform, evaluate};
use guestright_figure::{Chart, Fill, Marks, Range, Scale, Work};

fn figure(rest: &str, load: impl Fn(usize, usize) -> Option<f64>) -> FigureNumbers {
    let text = format!("[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = \"load\"\n{rest}\n");
    with_loads(&text, load).figures.remove(0)
}

/// The load is the number of calls, the same for all seeds.
fn chart(rest: &str) -> Chart {
    figure(rest, |calls, _| Some(calls as f64)).chart()
}

#[test]
fn an_axis_ends_where_the_plan_says_and_else_where_the_numbers_do() {
    let whole = |from: f64, to: f64| Range::From(from, to);
    #[rustfmt::skip]
    let cases = [
        ("",                        Range::Numbers,    Range::Zero),
        ("x_from = 0\nx_to = 10",   whole(0.0, 10.0),  Range::Zero),
        ("x_from = 2",              whole(2.0, 8.0),   Range::Zero),
        // From where the numbers end there is nothing to be seen.
        ("x_from = 8",              Range::Numbers,    Range::Zero),
        ("x_from = 9",              Range::Numbers,    Range::Zero),
        ("x_to = 5",                whole(1.0, 5.0),   Range::Zero),
        ("x_to = 1",                Range::Numbers,    Range::Zero),
        ("x_to = 0",                Range::Numbers,    Range::Zero),
        ("y_from = -1\ny_to = 1",   Range::Numbers,    whole(-1.0, 1.0)),
        ("y_from = 3",              Range::Numbers,    whole(3.0, 8.0)),
        ("y_to = 3",                Range::Numbers,    whole(1.0, 3.0)),
        ("y_from = 8",              Range::Numbers,    Range::Zero),
        ("y_to = 1",                Range::Numbers,    Range::Zero),
    ];
    for (rest, x, y) in cases {
        let chart = chart(rest);
        assert_eq!((chart.x.range, chart.y.range), (x, y), "{rest}");
        assert_eq!((chart.x.scale, chart.y.scale), (Scale::Linear, Scale::Linear));
    }
    let chart = chart("x_scale = \"log\"\ny_scale = \"log\"");
    assert_eq!((chart.x.scale, chart.y.scale), (Scale::Log, Scale::Log));
    assert_eq!((chart.x.range, chart.y.range), (Range::Numbers, Range::Numbers), "0 is on no such axis");
    // Without a number there are no ends; what one end of the plan means is then said from 0 to 1.
    let empty = figure("y_from = -1\nx_to = 5", |_, _| None).chart();
    assert_eq!((empty.x.range, empty.y.range), (whole(1.0, 5.0), whole(-1.0, 1.0)));
}

/// Seeds 0 to 3 are added to the calls: the mean lies 1.5 above, and half an interval is 3.182 · √(5/3) / 2 = 2.054.
fn spread(rest: &str) -> Chart {
    figure(rest, |calls, seed| Some((calls + seed) as f64)).chart()
}

#[test]
fn around_a_curve_is_what_the_plan_asks_for() {
    let first = |rest: &str| {
        let series = spread(rest).series.remove(0);
        assert_eq!((series.marks, series.work, series.colour), (Marks::LineAndPoints, Work::Ours, Some(0)));
        assert_eq!((series.points.len(), series.band.len()), (6, 6));
        assert_eq!((series.points[0].x, series.points[0].y, series.points[0].error), (1.0, 2.5, None));
        series.band[0]
    };
    assert_eq!(first("band = \"range\""), (1.0, 1.0, 4.0));
    let (x, low, high) = first("");
    assert!(x == 1.0 && (low - 0.446).abs() < 1e-3 && (high - 4.554).abs() < 1e-3, "{low} {high}");
    assert_eq!(first("band = \"interval\""), (x, low, high), "what is not said");
    let (x, low, high) = first("band = \"none\"");
    assert!(x == 1.0 && low.is_nan() && high.is_nan());
}

#[test]
fn over_words_there_are_bars_with_whiskers() {
    let draw = |band: &str| {
        let text = small(&format!(
            "receipts.suite = [\"rsa-1024\", \"none\"]\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n\
             sweep = {{ receipts.suite = [\"none\", \"ecdsa-160\"] }}\n\
             [[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"receipts.suite\"\ny = \"load\"\nat = {{ calls = 5 }}\nband = \"{band}\"\n"
        ));
        let plan = plan(&text);
        evaluate(&plan, &run(&plan), Platform::Sim).figures.remove(0)
    };
    let figure = draw("range");
    assert_eq!(figure.x_names, ["rsa-1024", "none", "ecdsa-160"], "each name once, in the order of the plan");
    let xs = |series: usize| figure.series[series].points.iter().map(|point| point.x).collect::<Vec<_>>();
    assert_eq!((xs(0), xs(1)), (vec![0.0, 1.0], vec![1.0, 2.0]));
    let chart = figure.chart();
    assert_eq!(chart.x.names, figure.x_names);
    for series in &chart.series {
        assert_eq!((series.marks, series.band.len()), (Marks::Bars, 0));
        let inside = |point: &guestright_figure::Point| {
            point.error.is_some_and(|(low, high)| low < point.y && point.y < high)
        };
        assert!(series.points.iter().all(inside), "{series:?}");
    }
    let error = draw("none").chart().series[0].points[0].error;
    assert_eq!(error, None);
}

#[test]
fn a_series_is_named_by_what_tells_it_from_the_others() {
    let names = |sweep: &str, cases: &str, y: &str, at: &str| {
        let figure =
            format!("[[figure]]\nid = \"f\"\ntitle = \"F\"\nx = \"calls\"\ny = {y}\nat = {{ {at} }}\n");
        let plan = plan(&small(&format!("{sweep}\n{cases}{figure}")));
        let figure = evaluate(&plan, &run(&plan), Platform::Sim).figures.remove(0);
        figure.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>()
    };
    let two = "[[case]]\nname = \"a\"\ntitle = \"A\"\n[[case]]\nname = \"b\"\ntitle = \"B\"\n";
    assert_eq!(names("", "", "\"load\"", ""), ["ours"]);
    assert_eq!(names("", "", "[\"load\", \"delay_ms\"]", ""), ["load", "delay_ms"]);
    assert_eq!(names("", two, "\"load\"", ""), ["A", "B"]);
    assert_eq!(
        names("", two, "[\"load\", \"delay_ms\"]", ""),
        ["A, load", "A, delay_ms", "B, load", "B, delay_ms"]
    );
    // An axis that is neither drawn nor held: a series for each of its values.
    let (times, spreads) = ("cpu.nat_us = [1.0, 2.0]", "cpu.spread = [0.0, 0.5]");
    assert_eq!(names(times, "", "\"load\"", ""), ["ours, cpu.nat_us = 1 µs", "ours, cpu.nat_us = 2 µs"]);
    assert_eq!(names(spreads, "", "\"load\"", ""), ["ours, cpu.spread = 0", "ours, cpu.spread = 0.5"]);
    assert_eq!(names(spreads, "", "\"load\"", "cpu.spread = 0.5"), ["ours"], "what is held is not said");
    let suites = "receipts.suite = [\"none\", \"rsa-1024\"]";
    assert_eq!(names(suites, two, "\"load\"", ""), ["A, none", "A, rsa-1024", "B, none", "B, rsa-1024"]);
}

#[test]
fn published_points_have_their_ends_and_their_marks() {
    let rest = "[[figure.published]]\nname = \"P\"\npoints = [[1, 2], [5, 3, 2, 4]]\nline = true\n\
        [[figure.published]]\nname = \"Q\"\npoints = [[1, 2]]\n[[figure.thresholds]]\nname = \"Limit\"\ny = 1.5\n";
    let chart = chart(rest);
    let [ours, line, points] = chart.series.as_slice() else { panic!("{} series", chart.series.len()) };
    assert_eq!((ours.work, line.work, points.work), (Work::Ours, Work::Published, Work::Published));
    assert_eq!((line.marks, points.marks), (Marks::LineAndPoints, Marks::Points));
    let errors: Vec<_> = line.points.iter().map(|point| (point.x, point.y, point.error)).collect();
    assert_eq!(errors, [(1.0, 2.0, None), (5.0, 3.0, Some((2.0, 4.0)))]);
    assert_eq!((line.colour, points.colour), (Some(1), Some(2)), "neither has ours");
    assert_eq!((chart.thresholds[0].name.as_str(), chart.thresholds[0].y), ("Limit", 1.5));
}

#[test]
fn a_picture_has_the_figures_words() {
    let figure = figure("x_label = \"Calls\"\ny_label = \"Share\"", |calls, _| (calls != 5).then_some(0.5));
    let (chart, svg) = (figure.chart(), figure.svg().unwrap());
    assert_eq!(
        (chart.title.as_str(), chart.x.label.as_str(), chart.y.label.as_str()),
        ("F", "Calls", "Share")
    );
    for word in ["<svg", ">F<", ">Calls<", ">Share<"] {
        assert!(svg.contains(word), "{word}: {svg}");
    }
    assert!(chart.series[0].points[2].y.is_nan(), "a gap, not 0");
}

#[test]
fn a_cell_of_a_claims_map_has_the_colour_of_its_verdict() {
    // Seeds 0.5 and 1.3 are not sure to be below 1; the middle row is not measured.
    let load = |nat: usize, spread: usize, seed: usize| match (nat, spread) {
        (_, 1) => None,
        (0, _) => Some(0.5),
        (1, _) => Some(2.0),
        _ => Some([0.5, 1.3][seed]),
    };
    let map = evaluate_loads("cpu.nat_us = 1.0, cpu.spread = 0.0", load).maps.remove(0);
    let heat = map.heat_map();
    let fills: Vec<Fill> = heat.panels[0].cells.iter().map(|cell| cell.fill).collect();
    let row = [Fill::Holds, Fill::Fails, Fill::Holds];
    assert_eq!(fills, [row, [Fill::Unknown; 3], row].concat());
    let unsure: Vec<usize> = (0..9).filter(|index| heat.panels[0].cells[*index].unsure).collect();
    assert_eq!(unsure, [2, 8]);
    assert_eq!(
        (heat.of.as_str(), heat.x.label.as_str(), heat.y.label.as_str()),
        ("", "cpu.nat_us (µs)", "cpu.spread")
    );
    assert_eq!(
        (heat.x.names.join(" "), heat.y.names.join(" ")),
        ("1 2 3".to_owned(), "0 0.1 0.5".to_owned())
    );
    let about = |index: usize| heat.panels[0].cells[index].about.as_str();
    assert_eq!(about(0), "cpu.nat_us = 1, cpu.spread = 0; reproduces; 0.5");
    assert_eq!(about(3), "cpu.nat_us = 1, cpu.spread = 0.1; cannot be computed; it was not measured");
    assert!(
        about(1).ends_with("does not reproduce; 2; measured 2, expected at most 1: 1 too high"),
        "{}",
        about(1)
    );
    assert!(heat.description.starts_with("It is so Holds in 4 of 9 cells"), "{}", heat.description);
    let csv = map.csv();
    assert_eq!(csv.lines().next(), Some("point,verdict,number,sure,reason"));
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(lines[0], "\"cpu.nat_us = 1, cpu.spread = 0\",reproduces,0.5,true,");
    assert!(
        lines[2].starts_with("\"cpu.nat_us = 3, cpu.spread = 0\",reproduces,0.9,false,\"the 95 %"),
        "{}",
        lines[2]
    );
    let held = map.where_held.as_ref().unwrap();
    assert_eq!((held.all.holds, held.all.fails, held.all.unknown, held.unclear), (4, 2, 3, 2));
}

#[test]
fn a_cell_of_a_numbers_map_has_the_number_and_its_interval() {
    let text = small(
        "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\nsweep = { cpu.nat_us = [1.0] }\n\
         [[map]]\nid = \"m\"\ntitle = \"M\"\nx = \"cpu.nat_us\"\ny = \"cpu.spread\"\nof = \"delay_ms\"\npanel = \"case\"\nnote = \"n\"\n",
    )
    .replace("calls = [1, 2, 5, 6, 7, 8]", "cpu.nat_us = [1.0, 3.0]\ncpu.spread = [0.0, 0.5]");
    let plan = plan(&text);
    let map = evaluate(&plan, &run(&plan), Platform::Sim).maps.remove(0);
    let heat = map.heat_map();
    assert_eq!((heat.of.as_str(), heat.title.as_str(), heat.columns), ("delay_ms (ms)", "M", 0));
    assert_eq!(heat.panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    for (panel, drawn) in map.panels.iter().zip(&heat.panels) {
        for (cell, drawn) in panel.cells.iter().zip(&drawn.cells) {
            let want = if cell.absent { Fill::Blank } else { Fill::Number(cell.number.unwrap()) };
            assert_eq!((drawn.fill, &drawn.text, drawn.unsure), (want, &cell.text, false));
            let has_interval = drawn.about.contains("; 95 % ");
            assert_eq!(has_interval, !cell.absent, "{}", drawn.about);
        }
    }
    let absent: Vec<bool> = map.panels[1].cells.iter().map(|cell| cell.absent).collect();
    assert_eq!(absent, [false, true, false, true]);
    assert_eq!(map.panels[1].cells[1].reason, "the case has no such point");
    assert!(map.svg().unwrap().starts_with("<svg"));
}

#[test]
fn a_predictions_map_shows_its_numbers() {
    let text = small(
        "[base]\nat = { cpu.nat_us = 1.0, cpu.spread = 0.0 }\n\
         [[claim]]\nid = \"c\"\ntext = \"It may be\"\nof = \"load\"\nprediction = true\n\
         [[map]]\nid = \"m\"\ntitle = \"M\"\nx = \"cpu.nat_us\"\ny = \"cpu.spread\"\nclaim = \"c\"\n",
    )
    .replace("calls = [1, 2, 5, 6, 7, 8]", "cpu.nat_us = [1.0, 3.0]\ncpu.spread = [0.0, 0.5]");
    let plan = plan(&text);
    let map = evaluate(&plan, &run(&plan), Platform::Sim).maps.remove(0);
    assert_eq!((map.claim.as_deref(), map.wanted.as_str()), (Some("c"), "nothing is published"));
    let fills = map.heat_map().panels.remove(0).cells;
    assert!(fills.iter().all(|cell| matches!(cell.fill, Fill::Number(_))), "{fills:?}");
    assert!(map.panels[0].cells.iter().all(|cell| cell.judged == Some(Judged::Prediction)));
    assert_eq!(map.where_held.unwrap().all.unknown, 4);
}

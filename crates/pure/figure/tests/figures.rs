//! Whole pictures: what is in them, that they are well formed, and that a foreign program can draw them.

use guestright_figure::{
    Axis, Band, Chart, FigureError, Fill, Grid, HeatCell, HeatMap, Labels, Marks, Panel, Point, Range, Scale,
    Series, Threshold, Work,
};
use std::io::Write;
use std::process::{Command, Stdio};

/// A second by second course of a call, with an unknown stretch.
fn course() -> Chart {
    let second = |n: i32| f64::from(n);
    let mos = |n: i32| if (40..46).contains(&n) { f64::NAN } else { 4.1 - f64::from(n % 9) / 8.0 };
    Chart {
        title: "MOS, second by second".into(),
        description: "Between 3.1 and 4.1; not known from second 40 to 45.".into(),
        x: Axis { label: "time in s".into(), ..Axis::default() },
        y: Axis { label: "MOS".into(), range: Range::From(1.0, 5.0), ..Axis::default() },
        series: vec![Series {
            name: "192.0.2.1:4000 → 198.51.100.2:5000".into(),
            marks: Marks::Step,
            points: (0..90).map(|n| Point::new(second(n), mos(n))).collect(),
            ..Series::default()
        }],
        bands: vec![Band {
            name: "between no delay and the round trip".into(),
            points: (0..90).map(|n| (second(n), mos(n) - 0.4, mos(n))).collect(),
        }],
        thresholds: vec![Threshold { name: "3.6: most are content".into(), y: 3.6 }],
        ..Chart::default()
    }
}

/// Published numbers beside ours, with errors.
fn paper() -> Chart {
    let ours = [4.05, 4.03, 4.0, 3.97, 3.9, 3.75, 3.62, 2.4];
    let theirs = [4.05, 4.04, 4.01, 3.95, 3.91, 3.8, 3.6, 2.1];
    let point = |(n, y): (usize, f64)| Point::between(n as f64 + 1.0, y, y - 0.1, y + 0.12);
    let series = |name: &str, work, numbers: [f64; 8]| Series {
        name: name.into(),
        marks: Marks::LineAndPoints,
        work,
        points: numbers.into_iter().enumerate().map(point).collect(),
        ..Series::default()
    };
    Chart {
        title: "Calls at one access point".into(),
        x: Axis { label: "calls at once".into(), ..Axis::default() },
        y: Axis { label: "MOS".into(), range: Range::AtLeast(1.0, 4.5), ..Axis::default() },
        series: vec![series("measured here", Work::Ours, ours), series("published", Work::Published, theirs)],
        width: 480,
        height: 300,
        ..Chart::default()
    }
}

fn bars() -> Chart {
    let series = |name: &str, work, numbers: [f64; 3]| Series {
        name: name.into(),
        marks: Marks::Bars,
        work,
        points: numbers.into_iter().enumerate().map(|(n, y)| Point::new(n as f64, y)).collect(),
        ..Series::default()
    };
    Chart {
        title: "Most calls with MOS 3.6".into(),
        y: Axis { label: "calls".into(), range: Range::Zero, ..Axis::default() },
        x: Axis { names: vec!["plain".into(), "ECDSA".into(), "VPN".into()], ..Axis::default() },
        series: vec![
            series("here", Work::Ours, [7.0, 6.0, 2.0]),
            series("published", Work::Published, [7.0, 7.0, 2.0]),
        ],
        width: 480,
        height: 300,
        ..Chart::default()
    }
}

fn scatter() -> Chart {
    let loss = |n: u32| f64::from(n % 97 + 1).powi(3) / 1e6;
    let points = |k: u32| {
        (1..=400)
            .map(|n| Point::new(loss(n * k), 100.0 / (1.0 + loss(n * k) * 30.0) + f64::from(n % 11)))
            .collect()
    };
    let series = |name: &str, k| Series {
        name: name.into(),
        marks: Marks::Points,
        points: points(k),
        ..Series::default()
    };
    Chart {
        title: "R over loss".into(),
        x: Axis { label: "loss".into(), scale: Scale::Log, ..Axis::default() },
        y: Axis { label: "R".into(), range: Range::Zero, ..Axis::default() },
        series: vec![series("G.711", 1), series("G.729", 3)],
        width: 480,
        height: 300,
        ..Chart::default()
    }
}

fn grid() -> Grid {
    let charts = vec![paper(), bars(), scatter(), Chart { width: 480, ..course() }];
    Grid { title: "Small multiples".into(), description: "Four charts.".into(), columns: 2, charts }
}

#[test]
fn the_same_numbers_give_the_same_text() {
    assert_eq!(grid().svg(), grid().svg());
    let text = course().svg().unwrap();
    assert!(
        text.contains("<title>MOS, second by second</title>") && text.contains("<desc>Between 3.1"),
        "{text}"
    );
    assert!(
        text.contains("192.0.2.1:4000 → 198.51.100.2:5000") && text.contains("prefers-color-scheme:dark")
    );
    for absent in ["<script", "http://www.w3.org/1999", "NaN", "inf", "href"] {
        assert!(!text.contains(absent), "{absent}");
    }
}

#[test]
fn what_is_not_known_is_a_gap() {
    let text = course().svg().unwrap();
    let line = text.lines().find(|line| line.contains("gf-line\" d=") && line.contains("H")).unwrap();
    assert_eq!(line.matches('M').count(), 2, "{line}");
    let band = text.lines().filter(|line| line.contains("gf-band gf-0\" d=")).count();
    assert_eq!(band, 2);
}

#[test]
fn a_long_call_is_a_short_text() {
    let points = (0..1_000_000).map(|n| Point::new(f64::from(n), f64::from(n * 37 % 1_000))).collect();
    let chart = Chart { series: vec![Series { points, ..Series::default() }], ..course() };
    let chart = Chart { bands: vec![], y: Axis::default(), ..chart };
    assert!(chart.svg().unwrap().len() < 200_000);
}

#[test]
fn hostile_words_and_numbers_stay_inside() {
    let evil = "</text><script>alert(1)</script>\u{0}".to_owned();
    let mut chart = course();
    chart.title.clone_from(&evil);
    chart.series[0].name.clone_from(&evil);
    chart.x.label.clone_from(&evil);
    chart.thresholds[0].name = evil;
    chart.series[0].points.extend([Point::new(f64::INFINITY, 2.0), Point::new(3.0, f64::NEG_INFINITY)]);
    let text = chart.svg().unwrap();
    assert!(!text.contains("<script>") && !text.contains('\0'));
    drawn_by_another_program("hostile", &text);
}

#[test]
fn says_why_there_is_no_picture() {
    let empty = Chart { title: "t".into(), ..Chart::default() };
    assert_eq!(empty.svg(), Err(FigureError::Empty { chart: "t".into(), axis: "x" }));
    let mut down = course();
    down.y.range = Range::From(5.0, 1.0);
    assert!(matches!(down.svg(), Err(FigureError::Range { axis: "y", .. })));
    let mut log = course();
    (log.y.scale, log.y.range) = (Scale::Log, Range::From(0.0, 1.0));
    assert!(matches!(log.svg(), Err(FigureError::Range { axis: "y", .. })));
    for work in [Work::Ours, Work::Published] {
        let many = Chart { series: vec![Series { work, ..Series::default() }; 9], ..course() };
        assert_eq!(many.svg(), Err(FigureError::Series { chart: many.title.clone(), got: 9, max: 8 }));
    }
}

/// Three curves with what they may be, and published points with the colours of two of them.
fn banded() -> Chart {
    let height = |curve: usize, x: usize| 4.0 - (x * (curve + 1)) as f64 / 10.0;
    let ours = (0..3).map(|curve| Series {
        name: format!("case {curve}"),
        marks: Marks::LineAndPoints,
        points: (0..9).map(|x| Point::new(x as f64, height(curve, x))).collect(),
        band: (0..9).map(|x| (x as f64, height(curve, x) - 0.3, height(curve, x) + 0.2)).collect(),
        ..Series::default()
    });
    let theirs = [2, 0].map(|curve| Series {
        name: format!("case {curve}, published"),
        marks: Marks::Points,
        work: Work::Published,
        colour: Some(curve),
        points: vec![Point::new(5.0, height(curve, 5) + 0.1)],
        ..Series::default()
    });
    Chart { title: "Bands".into(), series: ours.chain(theirs).collect(), ..Chart::default() }
}

#[test]
fn a_series_has_its_band_and_what_is_published_the_colour_of_its_like() {
    let chart = banded();
    let text = chart.svg().unwrap();
    let offset_of = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
    for colour in 0..3 {
        let band = offset_of(&format!("<path class=\"gf-band gf-{colour}\""));
        let last_line = text.rfind(&format!("<path class=\"gf-{colour} gf-line\"")).unwrap();
        assert!(band < last_line, "bands are behind lines");
    }
    assert_eq!(text.matches("class=\"gf-2 gf-hollow\"").count(), 2, "on the chart and in the legend");
    assert_eq!(text.matches("class=\"gf-0 gf-hollow\"").count(), 2);
    assert!(text.rfind("gf-hollow\"") > text.rfind("gf-dot\""), "what is published lies on top");
    drawn_by_another_program("banded", &text);
    // A band counts when the axis is fitted, and a gap in it is a gap.
    let mut high = chart.clone();
    high.series[0].band[8] = (8.0, 1.0, 40.0);
    assert!(high.svg().unwrap().contains(">40<"));
    high.series[0].band[4].1 = f64::NAN;
    let gap = high.svg().unwrap();
    assert_eq!(gap.matches("class=\"gf-band gf-0\"").count(), 2);
}

#[test]
fn areas_end_at_the_frame_and_marks_do_not() {
    let mut chart = banded();
    chart.y.range = guestright_figure::Range::From(3.0, 4.0);
    let text = chart.svg().unwrap();
    let boxes: Vec<Vec<f64>> = text
        .split("viewBox=\"")
        .skip(2)
        .map(|rest| rest.split('"').next().unwrap().split(' ').map(|n| n.parse().unwrap()).collect())
        .collect();
    let [areas, marks] = boxes.as_slice() else { panic!("two: {boxes:?}") };
    let axis =
        text.split("class=\"gf-axis\" d=\"M").find(|rest| rest.contains('V') && rest.contains('H')).unwrap();
    assert!(axis.starts_with(&format!(
        "{} {}V{}H{}",
        areas[0],
        areas[1],
        areas[1] + areas[3],
        areas[0] + areas[2]
    )));
    assert_eq!((marks[0], marks[3]), (areas[0] - 5.0, areas[3] + 10.0));
    let (first, _) = text.split_once("</svg>").unwrap();
    assert_eq!(first.matches("class=\"gf-band").count(), 3, "all areas are in the first");
}

#[test]
fn names_of_lines_do_not_lie_on_each_other() {
    let mut chart = banded();
    let limit = |name: &str, y: f64| guestright_figure::Threshold { name: name.into(), y };
    chart.y.range = guestright_figure::Range::From(0.0, 5.0);
    chart.thresholds = vec![limit("low", 3.55), limit("high", 3.6), limit("lower", 3.5), limit("far", 1.0)];
    let text = chart.svg().unwrap();
    let y_of = |name: &str| -> f64 {
        let before = text.split(&format!(">{name}</text>")).next().unwrap();
        before.rsplit(" y=\"").next().unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let positions = ["high", "low", "lower", "far"].map(y_of);
    assert!(positions.windows(2).all(|two| two[1] - two[0] >= 12.0), "{positions:?}");
    drawn_by_another_program("lines", &text);
}

#[test]
fn another_program_draws_them() {
    drawn_by_another_program("grid", &grid().svg().unwrap());
    drawn_by_another_program("course", &course().svg().unwrap());
}

/// librsvg must take it; the picture lies in the folder of the tests for whoever wants to look at it.
fn drawn_by_another_program(name: &str, svg: &str) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join(format!("{name}.svg")), svg).expect("the folder is there");
    let picture = folder.join(format!("{name}.png"));
    let child = Command::new("rsvg-convert")
        .args(["--background-color", "white", "-o"])
        .arg(&picture)
        .stdin(Stdio::piped())
        .spawn();
    let mut child = child.expect("rsvg-convert has to be installed: sh scripts/setup.sh test");
    child.stdin.take().expect("it is piped").write_all(svg.as_bytes()).expect("it reads all");
    assert!(child.wait().expect("it ends").success(), "{name}: rsvg-convert refused it");
    assert!(std::fs::metadata(picture).expect("it wrote one").len() > 2_000);
}

fn labels(label: &str, names: &[&str]) -> Labels {
    Labels { label: label.into(), names: names.iter().map(|name| (*name).to_owned()).collect() }
}

/// Numbers over two axes, in three panels; one is not known, one is not there.
fn heat() -> HeatMap {
    let number = |panel: usize, index: usize| 0.1 + (panel * 12 + index) as f64 / 40.0;
    let cell = |panel: usize, index: usize| {
        let number = if (panel, index) == (1, 5) { f64::NAN } else { number(panel, index) };
        let fill = if (panel, index) == (2, 11) { Fill::Blank } else { Fill::Number(number) };
        let text =
            if number.is_finite() && fill != Fill::Blank { format!("{number:.2}") } else { String::new() };
        HeatCell { fill, text, about: format!("panel {panel}, cell {index}"), unsure: index == 3 }
    };
    let panel = |panel: usize| Panel {
        title: format!("second.ratio = {}", panel + 1),
        cells: (0..12).map(|index| cell(panel, index)).collect(),
    };
    HeatMap {
        title: "Index of real-time performance".into(),
        description: "Grows with the rate.".into(),
        x: labels("first.rate_mbps (Mb/s)", &["1", "1.5", "2", "3"]),
        y: labels("first.buffer (packets)", &["10", "50", "500"]),
        of: "index".into(),
        panels: (0..3).map(panel).collect(),
        ..HeatMap::default()
    }
}

/// Verdicts in six panels, some unsure, some that cannot be computed.
fn verdicts() -> HeatMap {
    let fills = [Fill::Holds, Fill::Fails, Fill::Unknown];
    let cell = |panel: usize, index: usize| HeatCell {
        fill: fills[(panel * 7 + index * index) % 3],
        text: if index.is_multiple_of(4) { "3/4".into() } else { format!("{}", index * 3) },
        about: "number and interval".into(),
        unsure: index.is_multiple_of(5),
    };
    let panel = |panel: usize| Panel {
        title: format!("second.ratio = {}, profile = {}", panel / 2, ["ns2-2006", "corrected"][panel % 2]),
        cells: (0..20).map(|index| cell(panel, index)).collect(),
    };
    HeatMap {
        title: "Where it holds: UDP does not yield satisfactory performance, especially during increased contention, \
                which is why the buffers remain overflowed"
            .into(),
        x: labels("first.rate_mbps (Mb/s)", &["1", "1.5", "2", "3", "5"]),
        y: labels("first.buffer", &["10", "50", "200", "500"]),
        panels: (0..6).map(panel).collect(),
        ..HeatMap::default()
    }
}

#[test]
fn a_map_prints_every_number_and_draws_every_sign() {
    let text = heat().svg().unwrap();
    assert_eq!(heat().svg().unwrap(), text, "the same numbers give the same text");
    for number in ["0.10", "0.50", "0.95"] {
        assert!(text.contains(&format!(">{number}</text>")), "{number}: {text}");
    }
    assert!(text.contains("<title>panel 1, cell 5</title>") && text.contains("cannot be computed"));
    // The least and the most have the ends of the scale, on the map and in the bar.
    assert!(text.matches("#440154").count() == 2 && text.contains("#fde725"), "{text}");
    assert_eq!(text.matches("class=\"gf-none\"").count(), 2, "one is not there, and the legend's");
    assert_eq!(text.matches("class=\"gf-sign\"").count(), 2, "the unknown one, and the legend's");
    assert_eq!(text.matches("class=\"gf-unsure").count(), 4);
    let text = verdicts().svg().unwrap();
    for class in ["gf-holds", "gf-fails", "gf-open"] {
        assert!(text.contains(&format!("class=\"{class}\"")), "{class}");
    }
    let cells = 6 * 20 + 3;
    assert_eq!(text.matches("class=\"gf-sign\"").count(), cells, "no verdict by colour alone");
    for absent in ["<script", "NaN", "inf\"", "href", " id="] {
        assert!(!text.contains(absent), "{absent}");
    }
    drawn_by_another_program("heat", &heat().svg().unwrap());
    drawn_by_another_program("verdicts", &text);
}

#[test]
fn the_first_row_of_a_map_is_at_the_bottom() {
    let text = heat().svg().unwrap();
    let y_of = |about: &str| -> f64 {
        let before = text.split(&format!("<title>{about}</title>")).next().unwrap();
        before
            .rsplit("<g><rect")
            .next()
            .unwrap()
            .split(" y=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(y_of("panel 0, cell 0") > y_of("panel 0, cell 4"));
    assert!((y_of("panel 0, cell 0") - y_of("panel 0, cell 3")).abs() < 1e-9);
}

#[test]
fn a_map_of_many_cells_stays_readable_and_words_stay_inside() {
    let evil = "</text><script>alert(1)</script>";
    let names: Vec<String> = (0..40).map(|n| format!("{evil}{n}")).collect();
    let cell = |n: usize| HeatCell {
        fill: Fill::Number(n as f64),
        text: evil.into(),
        about: evil.into(),
        unsure: false,
    };
    let mut map = HeatMap {
        title: evil.into(),
        description: evil.into(),
        x: Labels { label: evil.into(), names: names.clone() },
        y: Labels { label: evil.into(), names: names[..3].to_vec() },
        of: evil.into(),
        panels: vec![Panel { title: evil.into(), cells: (0..120).map(cell).collect() }],
        ..HeatMap::default()
    };
    let text = map.svg().unwrap();
    assert!(!text.contains("<script"));
    drawn_by_another_program("narrow", &text);
    map.panels[0].cells.pop();
    let error = map.svg().unwrap_err();
    assert!(
        error.to_string().ends_with("119 cells in a panel; 120, one for each pair of names, are wanted"),
        "{error}"
    );
    map.panels = vec![Panel { title: String::new(), cells: vec![HeatCell::default(); 120] }; 84];
    assert!(map.svg().unwrap_err().to_string().contains("at most 10000"));
    assert!(HeatMap::default().svg().is_err());
}

/// Three curves of the same numbers, one that leaves them in its second half, and one of its own.
fn coinciding(marks: Marks) -> Chart {
    let series = |name: &str, y: fn(i32) -> f64| Series {
        name: name.into(),
        marks,
        points: (0..8).map(|n| Point::new(f64::from(n), y(n))).collect(),
        ..Series::default()
    };
    Chart {
        title: "Calls".into(),
        series: vec![
            series("first", f64::from),
            series("second", f64::from),
            series("alone", |n| 9.0 - f64::from(n) / 2.0),
            series("third", |n| f64::from(n) + 1e-6),
            series("half", |n| if n < 4 { f64::from(n) } else { 0.0 }),
        ],
        ..Chart::default()
    }
}

#[test]
fn curves_that_coincide_are_told_apart() {
    let text = coinciding(Marks::LineAndPoints).svg().unwrap();
    for name in [
        ">second (coincides with first)<",
        ">third (coincides with first)<",
        ">half (coincides in part with first)<",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(text.contains(">first<") && text.contains(">alone<"), "{text}");
    // The key and the line: half of the first is seen through the second, and the third shows parts of both.
    for (class, dashes) in [(1, "8 8"), (3, "4 12"), (4, "2 14")] {
        let line = format!("class=\"gf-{class} gf-line\" stroke-dasharray=\"{dashes}\" d=");
        assert_eq!(text.matches(&line).count(), 2, "{line}: {text}");
    }
    assert_eq!(text.matches("stroke-dasharray=\"").count(), 6, "the others are drawn whole");
    // Each point has the mark of another series on top.
    let marks = |name: &str| -> Vec<usize> {
        let has = |n: &usize| text.contains(&format!("<title>{name}: {n}, {n}</title>"));
        (0..8).filter(has).collect()
    };
    assert_eq!(
        (marks("first"), marks("second"), marks("third")),
        ((0..8).collect(), vec![1, 4, 7], vec![2, 5])
    );
}

#[test]
fn bars_and_published_numbers_hide_nothing() {
    let bars = coinciding(Marks::Bars).svg().unwrap();
    assert!(!bars.contains("coincides"), "{bars}");
    let mut chart = coinciding(Marks::LineAndPoints);
    chart.series[1].work = Work::Published;
    chart.series.truncate(2);
    assert!(!chart.svg().unwrap().contains("coincides"), "hollow on top of ours");
    let one = Series { points: vec![Point::new(1.0, 1.0)], ..chart.series[0].clone() };
    let chart = Chart { series: vec![one.clone(), one], ..chart };
    assert!(!chart.svg().unwrap().contains("coincides"), "one point says too little");
}

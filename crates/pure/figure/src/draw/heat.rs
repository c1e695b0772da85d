//! Maps: rectangles of cells.

use super::{open, width_of};
use crate::error::FigureError;
use crate::map::{Fill, HeatCell, HeatMap, Panel};
use crate::number::{escape, pixels, short};
use std::fmt::Write;

/// The width of a picture, in pixels; wider only if its cells would be too narrow.
const WIDTH: f64 = 720.0;
/// What is free on the left and on the right.
const EDGE: f64 = 14.0;
/// Between panels.
const GAP: f64 = 18.0;
const CELL_HEIGHT: f64 = 30.0;
/// Cells are as wide as there is room, between these.
const CELL_WIDTH: (f64, f64) = (22.0, 88.0);
/// As many panels stand side by side as leave their cells this wide.
const CELL_WIDTH_GOOD: f64 = 46.0;
/// How high a line of text is.
const LINE: f64 = 17.0;
/// Steps of the bar that explains the colours.
const STEPS: u32 = 32;

/// From least to most: the five stops of viridis, <https://bids.github.io/colormap/>, which stay apart in grey and for the
/// colour-blind.
const COLOURS: [[u8; 3]; 5] = [[68, 1, 84], [59, 82, 139], [33, 144, 140], [93, 201, 99], [253, 231, 37]];

/// Light grounds with dark signs: told apart by the sign, and by blue and orange for whoever sees them.
const STYLE: &str = "<style>.gf .gf-holds{fill:#cfe6f5}.gf .gf-fails{fill:#f9d3b4}.gf .gf-open{fill:#dfe2e6}\
.gf .gf-none{fill:none;stroke:currentColor;stroke-opacity:.13}.gf .gf-sign{fill:none;stroke:#1b1f24;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}\
.gf text.gf-dark{fill:#1b1f24}.gf text.gf-light{fill:#fff}.gf .gf-unsure{fill:none;stroke:#1b1f24;stroke-dasharray:3 3}.gf .gf-unsure.gf-light{stroke:#fff}\
.gf .gf-in{font-size:11px;font-variant-numeric:tabular-nums}</style>";

/// Where everything is.
struct Layout {
    width: f64,
    height: f64,
    /// The title, broken into lines.
    title: Vec<String>,
    legend: f64,
    /// The top of the first panel's cells, the left end of the first column's.
    top: f64,
    left: f64,
    cell: f64,
    columns: usize,
    /// How high a row of panels is, with its names.
    row: f64,
}

/// How numbers become colours.
#[derive(Clone, Copy)]
struct Colours {
    least: f64,
    most: f64,
}

pub(crate) fn heat(map: &HeatMap) -> Result<String, FigureError> {
    check(map)?;
    let layout = lay_out(map);
    let colours = Colours::of(map);
    let mut out = open(&map.title, &map.description, layout.width, layout.height);
    let _ = writeln!(out, "{STYLE}");
    for (index, line) in layout.title.iter().enumerate() {
        let y = pixels(20.0 + LINE * count(index));
        let _ = writeln!(out, "<text class=\"gf-title\" x=\"{EDGE}\" y=\"{y}\">{}</text>", escape(line));
    }
    legend(map, colours, layout.legend, &mut out);
    for (index, panel) in map.panels.iter().enumerate() {
        let (column, row) = (index % layout.columns, index / layout.columns);
        let x = layout.left + count(column) * (layout.cell * count(map.x.names.len()) + GAP);
        let y = layout.top + count(row) * layout.row;
        draw_panel(map, panel, colours, &layout, (x, y, column == 0), &mut out);
    }
    axis_names(map, &layout, &mut out);
    out.push_str("</svg>\n");
    Ok(out)
}

fn check(map: &HeatMap) -> Result<(), FigureError> {
    let want = map.x.names.len() * map.y.names.len();
    let wrong = |got, want: String| {
        Err(FigureError::Cells { map: map.title.clone(), got, want: format!("{want} are wanted") })
    };
    if want == 0 || map.panels.is_empty() {
        return wrong(0, "names on both sides and at least one panel".to_owned());
    }
    if want.saturating_mul(map.panels.len()) > HeatMap::CELLS_MAX {
        return wrong(want, format!("at most {} in all panels", HeatMap::CELLS_MAX));
    }
    match map.panels.iter().find(|panel| panel.cells.len() != want) {
        Some(panel) => wrong(panel.cells.len(), format!("{want}, one for each pair of names,")),
        None => Ok(()),
    }
}

fn lay_out(map: &HeatMap) -> Layout {
    let title = wrap(&map.title, WIDTH - 2.0 * EDGE);
    let names = map.y.names.iter().map(|name| width_of(name)).fold(0.0, f64::max);
    let left = EDGE + if map.y.label.is_empty() { 0.0 } else { 20.0 } + names + 8.0;
    let across = count(map.x.names.len());
    let needed = |columns: usize, cell: f64| {
        left + count(columns) * cell * across + count(columns.saturating_sub(1)) * GAP + EDGE
    };
    let most = map.panels.len().clamp(1, 12);
    // Names of columns are to have room, too.
    let longest = map.x.names.iter().map(|name| width_of(name)).fold(CELL_WIDTH_GOOD - 4.0, f64::max) + 4.0;
    let fits = |columns: &usize| needed(*columns, longest) <= WIDTH;
    let columns =
        if map.columns == 0 { (1..=most).rev().find(fits).unwrap_or(1) } else { map.columns.clamp(1, most) };
    let room = WIDTH - needed(columns, 0.0);
    let cell = (room / (count(columns) * across)).clamp(CELL_WIDTH.0, CELL_WIDTH.1);
    let legend = 23.0 + LINE * count(title.len());
    let has_titles = map.panels.iter().any(|panel| !panel.title.is_empty());
    let head = if has_titles { 20.0 } else { 6.0 };
    let row = head + CELL_HEIGHT * count(map.y.names.len()) + 26.0;
    let rows = count(map.panels.len().div_ceil(columns));
    let top = legend + 14.0 + head;
    let foot = if map.x.label.is_empty() { 0.0 } else { 20.0 };
    Layout {
        width: needed(columns, cell).max(WIDTH),
        height: top - head + row * rows + foot,
        title,
        legend,
        top,
        left,
        cell,
        columns,
        row,
    }
}

/// Breaks a text into lines that are about as wide.
fn wrap(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(word) + 7.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Colours {
    fn of(map: &HeatMap) -> Self {
        if let Some((least, most)) =
            map.range.filter(|(least, most)| least < most && (most - least).is_finite())
        {
            return Self { least, most };
        }
        let numbers = map.panels.iter().flat_map(|panel| &panel.cells).filter_map(|cell| match cell.fill {
            Fill::Number(number) if number.is_finite() => Some(number),
            Fill::Number(_) | Fill::Blank | Fill::Holds | Fill::Fails | Fill::Unknown => None,
        });
        let ends = numbers.fold(None, |ends: Option<(f64, f64)>, number| {
            let (least, most) = ends.unwrap_or((number, number));
            Some((least.min(number), most.max(number)))
        });
        let (least, most) = ends.unwrap_or((0.0, 1.0));
        Self { least, most }
    }

    fn of_number(self, number: f64) -> [u8; 3] {
        let span = self.most - self.least;
        let share = if span > 0.0 { ((number - self.least) / span).clamp(0.0, 1.0) } else { 0.5 };
        let at = share * 4.0;
        let below = (0..4_u8).rev().find(|stop| f64::from(*stop) <= at).unwrap_or(0);
        let part = at - f64::from(below);
        let (from, to) = (COLOURS[usize::from(below)], COLOURS[usize::from(below) + 1]);
        std::array::from_fn(|channel| {
            let mixed = f64::from(from[channel]) * (1.0 - part) + f64::from(to[channel]) * part;
            (0..=u8::MAX).find(|value| f64::from(*value) + 0.5 > mixed).unwrap_or(u8::MAX)
        })
    }
}

/// Whether dark text is the easier one to read on a colour.
fn wants_dark_text([red, green, blue]: [u8; 3]) -> bool {
    let light = |channel: u8| (f64::from(channel) / 255.0) * (f64::from(channel) / 255.0);
    // Relative luminance with a gamma of 2; black and white stand out alike at 0.18.
    0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue) > 0.18
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn legend(map: &HeatMap, colours: Colours, y: f64, out: &mut String) {
    let cells = || map.panels.iter().flat_map(|panel| &panel.cells);
    let has = |fill: fn(Fill) -> bool| cells().any(|cell| fill(cell.fill));
    let mut x = EDGE;
    if has(|fill| matches!(fill, Fill::Number(number) if number.is_finite())) {
        x = bar(map, colours, (x, y), out);
    }
    let unknown = |fill: Fill| match fill {
        Fill::Number(number) => !number.is_finite(),
        Fill::Unknown => true,
        Fill::Blank | Fill::Holds | Fill::Fails => false,
    };
    let signs = [
        (has(|fill| fill == Fill::Holds), Fill::Holds, false, "holds"),
        (has(|fill| fill == Fill::Fails), Fill::Fails, false, "does not hold"),
        (cells().any(|cell| unknown(cell.fill)), Fill::Unknown, false, "cannot be computed"),
        (cells().any(|cell| cell.unsure), Fill::Blank, true, "not sure at 95 %"),
    ];
    for (_, fill, unsure, words) in signs.into_iter().filter(|sign| sign.0) {
        let cell = HeatCell { fill, unsure, ..HeatCell::default() };
        draw_cell(&cell, colours, (x, y - 13.0, 22.0, 18.0), out);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{words}</text>", pixels(x + 28.0), pixels(y));
        x += 28.0 + width_of(words) + 14.0;
    }
}

/// The bar that says which colour is which number; gives the place behind it.
fn bar(map: &HeatMap, colours: Colours, (left, y): (f64, f64), out: &mut String) -> f64 {
    let mut x = left;
    let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", pixels(x), pixels(y), escape(&map.of));
    x += width_of(&map.of) + if map.of.is_empty() { 0.0 } else { 12.0 };
    let (least, most) = (short(colours.least), short(colours.most));
    let _ = writeln!(out, "<text class=\"gf-soft\" x=\"{}\" y=\"{}\">{least}</text>", pixels(x), pixels(y));
    x += width_of(&least) + 5.0;
    for step in 0..STEPS {
        let share = f64::from(step) / f64::from(STEPS - 1);
        let fill = hex(colours.of_number(colours.least + share * (colours.most - colours.least)));
        let at = pixels(x + 4.0 * f64::from(step));
        let _ = write!(
            out,
            "<rect x=\"{at}\" y=\"{}\" width=\"4.4\" height=\"12\" fill=\"{fill}\"/>",
            pixels(y - 10.0)
        );
    }
    x += 4.0 * f64::from(STEPS) + 6.0;
    let _ = writeln!(out, "\n<text class=\"gf-soft\" x=\"{}\" y=\"{}\">{most}</text>", pixels(x), pixels(y));
    x + width_of(&most) + 18.0
}

fn draw_panel(
    map: &HeatMap,
    panel: &Panel,
    colours: Colours,
    layout: &Layout,
    (left, top, first): (f64, f64, bool),
    out: &mut String,
) {
    let (across, down) = (map.x.names.len(), map.y.names.len());
    if !panel.title.is_empty() {
        let wide = layout.cell * count(across) + GAP - 4.0;
        let title = cut(&panel.title, wide);
        let at = pixels(top - 7.0);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{at}\">{}</text>", pixels(left), escape(&title));
    }
    for (index, cell) in panel.cells.iter().enumerate() {
        let (column, row) = (index % across, down - 1 - index / across);
        let x = left + layout.cell * count(column);
        let y = top + CELL_HEIGHT * count(row);
        draw_cell(cell, colours, (x, y, layout.cell, CELL_HEIGHT), out);
    }
    let below = top + CELL_HEIGHT * count(down) + 15.0;
    // Long names would run into each other: every second, third … is said.
    let longest = map.x.names.iter().map(|name| width_of(name)).fold(0.0, f64::max);
    let every = (1..64).find(|every| longest + 4.0 <= layout.cell * count(*every)).unwrap_or(64);
    for (index, name) in map.x.names.iter().enumerate().step_by(every) {
        let x = pixels(left + layout.cell * (count(index) + 0.5));
        let (y, name) = (pixels(below), escape(name));
        let _ =
            writeln!(out, "<text class=\"gf-soft\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>");
    }
    if first {
        for (index, name) in map.y.names.iter().enumerate() {
            let y = pixels(top + CELL_HEIGHT * (count(down - 1 - index) + 0.5) + 4.0);
            let (x, name) = (pixels(left - 7.0), escape(name));
            let _ = writeln!(
                out,
                "<text class=\"gf-soft\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{name}</text>"
            );
        }
    }
}

/// The start of a text that has room.
fn cut(text: &str, width: f64) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        if width_of(&short) + 14.2 > width {
            break;
        }
        short.push(character);
    }
    format!("{}…", short.trim_end())
}

fn draw_cell(cell: &HeatCell, colours: Colours, (x, y, wide, high): (f64, f64, f64, f64), out: &mut String) {
    let (class, colour, sign, dark) = match cell.fill {
        Fill::Blank => ("gf-none", None, Sign::Nothing, true),
        Fill::Number(number) if number.is_finite() => {
            let colour = colours.of_number(number);
            ("", Some(hex(colour)), Sign::Nothing, wants_dark_text(colour))
        }
        Fill::Holds => ("gf-holds", None, Sign::Check, true),
        Fill::Fails => ("gf-fails", None, Sign::Cross, true),
        Fill::Number(_) | Fill::Unknown => ("gf-open", None, Sign::Question, true),
    };
    let colour = colour.map_or_else(|| format!("class=\"{class}\""), |colour| format!("fill=\"{colour}\""));
    let _ = write!(
        out,
        "<g><rect {colour} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        pixels(x + 0.5),
        pixels(y + 0.5),
        pixels(wide - 1.0),
        pixels(high - 1.0)
    );
    if cell.unsure {
        let light = if dark { "" } else { " gf-light" };
        let _ = write!(
            out,
            "<rect class=\"gf-unsure{light}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            pixels(x + 2.5),
            pixels(y + 2.5),
            pixels(wide - 5.0),
            pixels(high - 5.0)
        );
    }
    let text_width = width_of(&cell.text) * 0.89;
    let sign_width = if sign == Sign::Nothing { 0.0 } else { 12.0 };
    let between = if sign_width > 0.0 && !cell.text.is_empty() { 4.0 } else { 0.0 };
    let fits = !cell.text.is_empty() && text_width + sign_width + between + 4.0 <= wide;
    let all = sign_width + if fits { between + text_width } else { 0.0 };
    let (left, middle) = (x + (wide - all) / 2.0, y + high / 2.0);
    draw_sign(sign, (left + 6.0, middle), out);
    if fits {
        let class = if dark { "gf-dark" } else { "gf-light" };
        let at = pixels(left + sign_width + between + text_width / 2.0);
        let _ = write!(
            out,
            "<text class=\"gf-in {class}\" x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            pixels(middle + 4.0),
            escape(&cell.text)
        );
    }
    if !cell.about.is_empty() {
        let _ = write!(out, "<title>{}</title>", escape(&cell.about));
    }
    out.push_str("</g>\n");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Nothing,
    Check,
    Cross,
    Question,
}

/// Signs are drawn, so that no font has to have them.
fn draw_sign(sign: Sign, (x, y): (f64, f64), out: &mut String) {
    let path = match sign {
        Sign::Nothing => return,
        Sign::Check => "m-5 0l3.5 4l6.5 -8",
        Sign::Cross => "m-4 -4l8 8m0 -8l-8 8",
        Sign::Question => "m-3 -2.6c0 -4 6.4 -4 6.2 0c0 2.4 -3.1 2.2 -3.1 4.8m0 3.4v.2",
    };
    let _ = write!(out, "<path class=\"gf-sign\" d=\"M{} {}{path}\"/>", pixels(x), pixels(y));
}

fn axis_names(map: &HeatMap, layout: &Layout, out: &mut String) {
    let columns = count(layout.columns.min(map.panels.len()));
    let right = layout.left + columns * layout.cell * count(map.x.names.len()) + (columns - 1.0) * GAP;
    if !map.x.label.is_empty() {
        let (middle, y) = (pixels(f64::midpoint(layout.left, right)), pixels(layout.height - 9.0));
        let label = escape(&map.x.label);
        let _ = writeln!(out, "<text x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>");
    }
    if !map.y.label.is_empty() {
        let rows = map.panels.len().div_ceil(layout.columns);
        let bottom = layout.top + layout.row * count(rows - 1) + CELL_HEIGHT * count(map.y.names.len());
        let (middle, label) = (pixels(f64::midpoint(layout.top, bottom)), escape(&map.y.label));
        let _ = writeln!(
            out,
            "<text transform=\"translate({} {middle}) rotate(-90)\" text-anchor=\"middle\">{label}</text>",
            pixels(EDGE + 2.0)
        );
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_the_least_to_the_most_and_text_stands_out() {
        let colours = Colours { least: 2.0, most: 4.0 };
        let got: Vec<String> = [1.0, 2.0, 2.5, 3.0, 4.0, 9.0].map(|n| hex(colours.of_number(n))).to_vec();
        assert_eq!(got, ["#440154", "#440154", "#3b528b", "#21908c", "#fde725", "#fde725"]);
        assert_eq!(hex(colours.of_number(2.25)), "#402a70", "half way: 63.5, 41.5, 111.5");
        let dark: Vec<bool> = COLOURS.map(wants_dark_text).to_vec();
        assert_eq!(dark, [false, false, true, true, true]);
        let one = Colours { least: 3.0, most: 3.0 };
        assert_eq!(hex(one.of_number(3.0)), "#21908c", "a single number is in the middle");
    }

    #[test]
    fn long_titles_are_broken_and_long_names_cut() {
        assert_eq!(wrap("one two three", 60.0), ["one two", "three"]);
        assert_eq!(wrap("", 60.0), Vec::<String>::new());
        assert_eq!(wrap("averyveryverylongword b", 30.0), ["averyveryverylongword", "b"]);
        assert_eq!(cut("second ratio = 5", 80.0), "second rat…");
        assert_eq!(cut("short", 80.0), "short");
    }
}

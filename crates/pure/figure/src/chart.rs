use crate::draw;
use crate::error::FigureError;

/// One picture: axes, and what is drawn between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// A line above it.
    pub title: String,
    /// What it shows, for those who do not see it.
    pub description: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The axis along the side.
    pub y: Axis,
    /// What is drawn, in the order of the legend.
    pub series: Vec<Series>,
    /// Areas behind it.
    pub bands: Vec<Band>,
    /// Lines across, such as "good enough".
    pub thresholds: Vec<Threshold>,
    /// Width in pixels; 720 if 0.
    pub width: u32,
    /// Height in pixels; 300 if 0.
    pub height: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it counts, with its unit.
    pub label: String,
    /// How numbers become places.
    pub scale: Scale,
    /// From where to where; as far as the numbers go, if not given.
    pub range: Range,
    /// Names for 0, 1, 2 and so on, instead of numbers.
    pub names: Vec<String>,
}

/// How far an axis goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Range {
    /// As far as the numbers, and on to the next round number.
    #[default]
    Numbers,
    /// As the numbers, and to 0.
    Zero,
    /// From here to there, whatever the numbers.
    From(f64, f64),
    /// From here to there at least, and as far as the numbers.
    AtLeast(f64, f64),
}

/// How numbers become places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Linear,
    /// Each decade as long as the other; what is not above 0 is left out.
    Log,
}

/// Numbers that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub marks: Marks,
    /// Whose numbers they are.
    pub work: Work,
    pub points: Vec<Point>,
    /// An area around it, in its colour, such as a confidence interval: place, lower end, upper end. Ends that are not
    /// numbers make a gap.
    pub band: Vec<(f64, f64, f64)>,
    /// Which of the colours it has, below [`Chart::SERIES_MAX`]; its own place if not given. What is published gets the
    /// colour of what it is compared with.
    pub colour: Option<usize>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// From point to point.
    #[default]
    Line,
    /// Level until the next point.
    Step,
    Points,
    /// Points, and a line through them.
    LineAndPoints,
    /// Bars from 0; several series stand side by side.
    Bars,
}

/// Whose numbers a series has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    #[default]
    Ours,
    /// Printed elsewhere: hollow and dashed.
    Published,
}

/// One number, with how far it may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    /// How much; not a number: not known.
    pub y: f64,
    /// From where to where it may lie, if that is known.
    pub error: Option<(f64, f64)>,
}

impl Point {
    /// A number without a statement of how wrong it may be.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, error: None }
    }

    /// A number that lies somewhere between two.
    pub const fn between(x: f64, y: f64, low: f64, high: f64) -> Self {
        Self { x, y, error: Some((low, high)) }
    }
}

/// An area from one curve to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Its name in the legend; none there if it is empty.
    pub name: String,
    /// Place, lower end, upper end; ends that are not numbers make a gap.
    pub points: Vec<(f64, f64, f64)>,
}

/// A line across the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Threshold {
    /// What it means.
    pub name: String,
    pub y: f64,
}

impl Chart {
    /// The most series of one work that a chart has: as many of ours, and as many published ones.
    pub const SERIES_MAX: usize = 8;

    /// The picture, as the text of an SVG element that can stand in a file or within HTML.
    ///
    /// # Errors
    ///
    /// When there is nothing to draw, or its ranges make no sense.
    pub fn svg(&self) -> Result<String, FigureError> {
        let (width, height) = self.size();
        let mut out = draw::open(&self.title, &self.description, width, height);
        draw::chart(self, (0.0, 0.0), &mut out)?;
        out.push_str("</svg>\n");
        Ok(out)
    }

    /// Its width and height in pixels.
    pub fn size(&self) -> (f64, f64) {
        let or =
            |given: u32, usual: f64| if given == 0 { usual } else { f64::from(given.clamp(160, 10_000)) };
        (or(self.width, 720.0), or(self.height, 300.0))
    }
}

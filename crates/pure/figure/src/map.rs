use crate::draw;
use crate::error::FigureError;

/// A number or a verdict for each pair of values: a rectangle of coloured cells, or several side by side.
///
/// Colour is never alone: a number is printed in its cell, a verdict has a sign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// A line above it.
    pub title: String,
    /// What it shows, for those who do not see it.
    pub description: String,
    /// What the columns of cells are.
    pub x: Labels,
    /// What the rows of cells are; the first is at the bottom.
    pub y: Labels,
    /// What the colours of numbers stand for, with its unit.
    pub of: String,
    /// Where the colours of numbers begin and end; as far as the numbers go, if not given.
    pub range: Option<(f64, f64)>,
    /// The rectangles, row by row.
    pub panels: Vec<Panel>,
    /// How many stand side by side; as many as have room, if 0.
    pub columns: usize,
}

/// Names along one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// What is named, with its unit.
    pub label: String,
    /// One for each column or row.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What is the same in all of its cells; may be empty.
    pub title: String,
    /// Row by row from the bottom, from the left: as many as there are pairs of names. What is not there is left blank.
    pub cells: Vec<HeatCell>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatCell {
    /// Its colour, and its sign.
    pub fill: Fill,
    /// What is printed in it; left out where it has no room.
    pub text: String,
    /// More about it, for the pointer.
    pub about: String,
    /// Whether it might as well be another: with a broken line around it.
    pub unsure: bool,
}

/// What colours a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fill {
    /// Nothing is there.
    #[default]
    Blank,
    /// A number; what is not finite counts as not known.
    Number(f64),
    /// Something holds here.
    Holds,
    /// It does not.
    Fails,
    /// Nobody can say.
    Unknown,
}

impl HeatMap {
    /// The most cells of a map, in all panels.
    pub const CELLS_MAX: usize = 10_000;

    /// The picture, as the text of an SVG element that can stand in a file or within HTML.
    ///
    /// # Errors
    ///
    /// When there are no cells, too many, or another number of them than there are pairs of names.
    pub fn svg(&self) -> Result<String, FigureError> {
        draw::heat(self)
    }
}

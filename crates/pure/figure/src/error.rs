use thiserror::Error;

/// Why a chart cannot be drawn.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FigureError {
    /// Neither a number to draw nor a range to draw it in.
    #[error(
        "the {axis} axis of \"{chart}\" has no number to show; give it a range, or say instead why there is nothing"
    )]
    Empty {
        /// The chart's title.
        chart: String,
        /// `x` or `y`.
        axis: &'static str,
    },
    /// A range that is none, or one that a logarithmic axis cannot have.
    #[error(
        "the {axis} axis of \"{chart}\" cannot go from {from} to {to}; give a range that goes up, and above 0 if it is logarithmic"
    )]
    Range {
        /// The chart's title.
        chart: String,
        /// `x` or `y`.
        axis: &'static str,
        /// Its lower end.
        from: f64,
        /// Its upper end.
        to: f64,
    },
    /// Too many series to be told apart.
    #[error("\"{chart}\" has {got} series; more than {max} cannot be told apart: draw several charts")]
    Series {
        /// The chart's title.
        chart: String,
        /// How many it has.
        got: usize,
        /// How many there may be.
        max: usize,
    },
    /// Cells that are none, too many, or not one for each pair of names.
    #[error("the map \"{map}\" has {got} cells in a panel; {want}")]
    Cells {
        /// The map's title.
        map: String,
        /// How many there are.
        got: usize,
        /// How many there should be.
        want: String,
    },
}

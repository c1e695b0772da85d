//! Figures: curves and tables as SVG, without input or output.
//!
//! In: numbers ([`Chart`], several in a [`Grid`], or a [`HeatMap`]). Out: the text of one SVG picture. The same numbers give the same
//! text, on every computer.
//!
//! - A picture follows the reader's light or dark setting, and is told apart by shape and dashes, not by colour alone.
//! - It has a title and a description for those who do not see it. It needs no script, no font file, no network.
//! - A number that is not known (`f64::NAN`) is a gap, never a zero.
//! - However many points there are, a picture has at most a few for each column of its pixels.

mod chart;
mod draw;
mod error;
mod grid;
mod map;
mod number;
mod scale;
mod thin;

pub use chart::{Axis, Band, Chart, Marks, Point, Range, Scale, Series, Threshold, Work};
pub use error::FigureError;
pub use grid::Grid;
pub use map::{Fill, HeatCell, HeatMap, Labels, Panel};
pub use number::{escape, short};

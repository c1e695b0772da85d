use crate::chart::Chart;
use crate::draw;
use crate::error::FigureError;
use std::fmt::Write;

/// Several charts in one picture, to be compared: small multiples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// A line above all.
    pub title: String,
    /// What they show, for those who do not see them.
    pub description: String,
    /// How many stand side by side; 1 if 0.
    pub columns: usize,
    /// Row by row.
    pub charts: Vec<Chart>,
}

impl Grid {
    /// The picture, as the text of an SVG element.
    ///
    /// # Errors
    ///
    /// As [`Chart::svg`], for the first chart that cannot be drawn.
    pub fn svg(&self) -> Result<String, FigureError> {
        let columns = self.columns.clamp(1, 12);
        let sizes: Vec<(f64, f64)> = self.charts.iter().map(Chart::size).collect();
        let row_width = |row: &[(f64, f64)]| row.iter().map(|size| size.0).sum::<f64>();
        let row_height = |row: &[(f64, f64)]| row.iter().map(|size| size.1).fold(0.0, f64::max);
        let width = sizes.chunks(columns).map(row_width).fold(160.0, f64::max);
        let head = if self.title.is_empty() { 0.0 } else { 30.0 };
        let height = head + sizes.chunks(columns).map(row_height).sum::<f64>();
        let mut out = draw::open(&self.title, &self.description, width, height);
        if !self.title.is_empty() {
            let title = crate::number::escape(&self.title);
            let _ = writeln!(out, "<text class=\"gf-head\" x=\"14\" y=\"21\">{title}</text>");
        }
        let mut y = head;
        for (charts, row) in self.charts.chunks(columns).zip(sizes.chunks(columns)) {
            let mut x = 0.0;
            for (chart, size) in charts.iter().zip(row) {
                draw::chart(chart, (x, y), &mut out)?;
                x += size.0;
            }
            y += row_height(row);
        }
        out.push_str("</svg>\n");
        Ok(out)
    }
}

//! Pictures of points, from pictures of lines.

use crate::ResultsError;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// The family of the letters that we bring along.
const FAMILY: &str = "Noto Sans";
/// The most points of a picture: 64 megabytes in memory.
const PIXELS_MAX: f32 = 16e6;

/// Draws a picture on white paper, as PNG. The letters are always the same ones, whatever fonts the picture names and
/// this computer has.
///
/// # Errors
///
/// When it is no SVG, or has too many points.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, ResultsError> {
    let tree = Tree::from_str(svg, &options()).map_err(|error| refused(error.to_string()))?;
    let (width, height) = ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    if !(width >= 1.0 && height >= 1.0 && width * height <= PIXELS_MAX) {
        return Err(refused(format!("{width} x {height} points are not between 1 and {PIXELS_MAX}")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 16 million")]
    let paper = Pixmap::new(width as u32, height as u32);
    let mut paper = paper.ok_or_else(|| refused("there is no memory for it".to_owned()))?;
    paper.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut paper.as_mut());
    paper.encode_png().map_err(|error| refused(error.to_string()))
}

fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(ttf_noto_sans::REGULAR.to_vec());
    fonts.set_serif_family(FAMILY);
    fonts.set_sans_serif_family(FAMILY);
    fonts.set_monospace_family(FAMILY);
    Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() }
}

fn refused(reason: String) -> ResultsError {
    ResultsError::Picture { reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_figure::{Axis, Chart, Marks, Point, Series, Threshold, Work};

    fn chart() -> String {
        let series = |name: &str, work, marks, points: &[f64]| Series {
            name: name.to_owned(),
            work,
            marks,
            points: points
                .iter()
                .enumerate()
                .map(|(x, y)| Point::between(x as f64, *y, y - 0.3, y + 0.3))
                .collect(),
            ..Series::default()
        };
        let chart = Chart {
            title: "Loss by the number of calls".to_owned(),
            x: Axis { label: "calls at the same time".to_owned(), ..Axis::default() },
            y: Axis { label: "loss, % (±95 %)".to_owned(), ..Axis::default() },
            series: vec![
                series("simulated", Work::Ours, Marks::LineAndPoints, &[0.5, 1.0, 4.0, 9.0]),
                series("paper A", Work::Published, Marks::Points, &[0.4, 1.2, 3.0, 9.5]),
            ],
            thresholds: vec![Threshold { name: "good enough".to_owned(), y: 5.0 }],
            ..Chart::default()
        };
        chart.svg().unwrap()
    }

    fn pixels(png: &[u8]) -> Pixmap {
        Pixmap::decode_png(png).unwrap()
    }

    fn dark(picture: &Pixmap, (left, top): (u32, u32), (right, bottom): (u32, u32)) -> usize {
        let points = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
        points.filter(|(x, y)| picture.pixel(*x, *y).unwrap().red() < 128).count()
    }

    #[test]
    fn a_figure_has_its_curves_and_its_words_on_white_paper() {
        let png = png(&chart(), 2.0).unwrap();
        if let Ok(path) = std::env::var("GUESTRIGHT_PICTURE") {
            std::fs::write(path, &png).unwrap();
        }
        let picture = pixels(&png);
        assert_eq!((picture.width(), picture.height()), (1440, 600));
        let corner = picture.pixel(0, 0).unwrap();
        assert_eq!((corner.red(), corner.alpha()), (255, 255), "white and not transparent");
        assert!(dark(&picture, (28, 10), (400, 50)) > 300, "the title is written");
        assert!(dark(&picture, (0, 100), (34, 500)) > 100, "the side is written on");
        let blue = picture.pixels().iter().filter(|pixel| pixel.blue() > 150 && pixel.red() < 60);
        assert!(blue.count() > 500, "the curve has its colour of the light style");
    }

    /// Without the words of a text fewer points are dark: it is letters that are drawn, not boxes or nothing.
    #[test]
    fn letters_differ_and_need_no_font_of_this_computer() {
        let word = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\">\
                 <text x=\"2\" y=\"15\" font-family=\"No Such Font, system-ui, serif\">{text}</text></svg>"
            );
            pixels(&png(&svg, 1.0).unwrap())
        };
        let (l, w, nothing) = (word("lll"), word("WWW"), word(""));
        let count = |picture: &Pixmap| dark(picture, (0, 0), (60, 20));
        assert_eq!(count(&nothing), 0);
        assert!(count(&w) > count(&l) && count(&l) > 10, "{} {}", count(&w), count(&l));
        for symbol in ["µ", "±", "×", "≤", "≥", "–", "…", "é", "σ", "²"] {
            assert!(count(&word(symbol)) > 0, "{symbol} is there");
            assert_ne!(word(symbol).data(), word("\u{10ffff}").data(), "{symbol} is no box");
        }
    }

    #[test]
    fn what_is_no_picture_or_too_large_is_refused() {
        assert!(matches!(png("<svg", 1.0), Err(ResultsError::Picture { .. })));
        assert!(matches!(png(&chart(), 1e4), Err(ResultsError::Picture { .. })));
        assert!(matches!(png(&chart(), 0.0), Err(ResultsError::Picture { .. })));
    }
}

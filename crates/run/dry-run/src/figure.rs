//! Bytes by class, under both policies.

use crate::Report;
use guestright_error::RunError;
use guestright_figure::{Axis, Chart, Marks, Point, Range, Series};
use guestright_reciprocity::ServiceClass;
use guestright_replay::{Row, Sum};

const MB: f64 = 1e6;

pub(crate) fn draw(report: &Report) -> Result<String, RunError> {
    let rows = &report.summary.rows;
    let series = |name: &str, of: fn(&Row) -> Sum| Series {
        name: name.to_owned(),
        marks: Marks::Bars,
        points: rows.iter().zip(0_u32..).map(|(row, x)| Point::new(x.into(), megabytes(of(row)))).collect(),
        ..Series::default()
    };
    let names = rows.iter().map(|row| row.class.map_or("refused", ServiceClass::name).to_owned());
    let chart = Chart {
        title: format!("What was served since {}, and would have been", report.since),
        description:
            "Megabytes in each class: one bar under the policy in force, one under the other policy."
                .to_owned(),
        x: Axis { label: "class".to_owned(), names: names.collect(), ..Axis::default() },
        y: Axis { label: "served, MB".to_owned(), range: Range::Zero, ..Axis::default() },
        series: vec![
            series("policy in force", |row| row.before),
            series("the other policy", |row| row.after),
        ],
        ..Chart::default()
    };
    chart.svg().map_err(RunError::bug)
}

#[expect(clippy::cast_precision_loss, reason = "nobody sees single bytes in a picture")]
fn megabytes(sum: Sum) -> f64 {
    sum.bytes.0 as f64 / MB
}

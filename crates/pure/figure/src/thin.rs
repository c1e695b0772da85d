//! Fewer points that look the same.

/// For each column of a pixel the first, lowest, highest and last point; in the order that they came. Gaps stay.
pub(crate) fn thin(points: Vec<Option<(f64, f64)>>, width: f64) -> Vec<Option<(f64, f64)>> {
    if points.len() < 1_000 || count(points.len()) < width * 4.0 {
        return points;
    }
    let mut kept = Vec::new();
    let mut column: Vec<(f64, f64)> = Vec::new();
    for point in points {
        match point {
            Some(point) => {
                if column.first().is_some_and(|first| first.0.floor() != point.0.floor()) {
                    flush(&mut column, &mut kept);
                }
                column.push(point);
            }
            None => {
                flush(&mut column, &mut kept);
                if kept.last().is_some_and(Option::is_some) {
                    kept.push(None);
                }
            }
        }
    }
    flush(&mut column, &mut kept);
    kept
}

/// At most one point for each half of a pixel, for points without a line.
pub(crate) fn scatter(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut seen = std::collections::BTreeSet::new();
    let cell = |value: f64| (value.clamp(-1e6, 1e6) * 2.0).round();
    let bits = |point: &(f64, f64)| (cell(point.0).to_bits(), cell(point.1).to_bits());
    points.into_iter().filter(|point| seen.insert(bits(point))).collect()
}

fn flush(column: &mut Vec<(f64, f64)>, kept: &mut Vec<Option<(f64, f64)>>) {
    let by_height = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
    let (Some(low), Some(high)) = ((0..column.len()).min_by(by_height), (0..column.len()).max_by(by_height))
    else {
        return;
    };
    let mut wanted = [0, low, high, column.len() - 1].to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    kept.extend(wanted.into_iter().map(|index| Some(column[index])));
    column.clear();
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_ends_of_every_column_and_the_gaps() {
        let mut points: Vec<_> =
            (0..100_000).map(|n| Some((f64::from(n) / 1_000.0, f64::from(n % 7)))).collect();
        points[50_500] = Some((50.5, 99.0));
        points[70_000] = None;
        let thinned = thin(points, 100.0);
        assert!(thinned.len() < 500, "{}", thinned.len());
        assert!(thinned.contains(&Some((50.5, 99.0))), "a lone peak stays");
        assert_eq!(thinned.iter().filter(|point| point.is_none()).count(), 1);
    }

    #[test]
    fn points_on_top_of_each_other_are_drawn_once() {
        let points = (0..10_000).map(|n| (f64::from(n % 10), 1.0)).collect();
        assert_eq!(scatter(points).len(), 10);
    }
}

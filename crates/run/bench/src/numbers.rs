//! Numbers as they stand in sentences.

/// "1 run", "2 runs".
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// "1.5 million".
pub fn scaled(number: f64) -> String {
    match number {
        0.0..1e4 => format!("{number:.0}"),
        1e4..1e6 => format!("{:.0} thousand", number / 1e3),
        _ => format!("{:.1} million", number / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_said_in_words() {
        let formatted = [7.0, 9_999.0, 12_345.0, 1_500_000.0].map(scaled);
        assert_eq!(formatted, ["7", "9999", "12 thousand", "1.5 million"]);
    }
}

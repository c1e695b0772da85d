//! "Did you mean …?"

/// The name of `names` that is least far from `word`, if one is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(80).collect();
    let allowed = (word.len() / 3).clamp(1, 3);
    let distances = names.into_iter().map(|name| (distance(&word, name), name));
    let best = distances.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= allowed).then_some(best.1)
}

/// How many characters must be added, taken away, replaced or swapped with their neighbour (Damerau and Levenshtein's
/// distance in its restricted form).
fn distance(word: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().take(80).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (i, a) in word.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in name.iter().enumerate() {
            let changed = row[j] + usize::from(a != b);
            let mut least = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == name[j - 1] && word[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = row;
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["calls", "codec", "cpu.plain_us", "seeds", "title"];
        #[rustfmt::skip]
        let cases = [
            ("cals", Some("calls")), ("clals", Some("calls")), ("seed", Some("seeds")), ("tilte", Some("title")),
            ("cpu.plain_ms", Some("cpu.plain_us")), ("banana", None), ("", None), ("x", None),
        ];
        for (word, want) in cases {
            assert_eq!(nearest(word, names), want, "{word}");
        }
    }
}

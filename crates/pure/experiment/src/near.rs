//! "Did you mean …?"

/// The name of `names` that is least far from `word`, if one is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = short(word);
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let distances = names.into_iter().map(|name| (strsim::osa_distance(word, short(name)), name));
    let best = distances.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= allowed).then_some(best.1)
}

/// The time that a distance takes grows with the product of the lengths, and a word may come from anywhere.
fn short(text: &str) -> &str {
    text.char_indices().nth(80).map_or(text, |(end, _)| &text[..end])
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

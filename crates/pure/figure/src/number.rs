//! Numbers and words as text.

/// A number with as many digits as help: `0.001`, `12.5`, `1200`, `3e-7`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    if !(1e-4..1e7).contains(&size) {
        return exponent(value);
    }
    let decimals = match size {
        _ if size >= 100.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ => 5,
    };
    trimmed(&format!("{value:.decimals$}"))
}

/// A place in a picture, to a hundredth of a pixel.
pub(crate) fn pixels(value: f64) -> String {
    trimmed(&format!("{value:.2}"))
}

fn exponent(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
        None => text,
    }
}

fn trimmed(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as it can stand in XML and HTML; characters that XML forbids are left out.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => {}
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_as_many_digits_as_help() {
        #[rustfmt::skip]
        let cases = [
            (0.0, "0"), (-0.0, "0"), (1.0, "1"), (12.5, "12.5"), (1234.56, "1234.6"), (0.001, "0.001"), (-2.25, "-2.25"),
            (3e-7, "3e-7"), (2.5e9, "2.5e9"), (0.3, "0.3"), (f64::NAN, "?"), (1e6, "1000000"),
        ];
        for (value, want) in cases {
            assert_eq!(short(value), want);
        }
        assert_eq!((pixels(1.005), pixels(-0.001), pixels(20.0)), ("1".into(), "0".into(), "20".into()));
    }

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escape("<a b=\"c\">&'\u{0}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39; ");
    }
}

//! Text in XML.

/// Text between tags. Quotation marks need no escape there; the closing bracket has one because of `]]>`.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A reader makes one line feed of it (XML 1.0, section 2.11).
            '\r' => escaped.push_str("&#13;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_ends_text() {
        assert_eq!(escape("a & <b>]]> \"c\"\r\n"), "a &amp; &lt;b&gt;]]&gt; \"c\"&#13;\n");
    }
}

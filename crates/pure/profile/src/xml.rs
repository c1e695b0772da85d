//! Text in XML.

/// Text between tags. Quotation marks need no escape there; the closing bracket has one because of `]]>`.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    escape_into(&mut escaped, text);
    escaped
}

/// The same, without a copy in between that nobody wipes.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A reader makes one line feed of it (XML 1.0, section 2.11).
            '\r' => out.push_str("&#13;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_ends_text() {
        assert_eq!(escape("a & <b>]]> \"c\"\r\n"), "a &amp; &lt;b&gt;]]&gt; \"c\"&#13;\n");
    }
}

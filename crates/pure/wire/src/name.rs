//! Names of hosts and realms.

/// The longest name (RFC 1035, section 2.3.4, as text).
const BYTES_MAX: usize = 253;

/// Whether this is a domain name as certificates and realms have it: at least two labels of small letters, digits and dashes
/// (RFC 1123, section 2.1), no dot at its end.
#[must_use]
pub fn is_domain(text: &str) -> bool {
    text.len() <= BYTES_MAX && text.contains('.') && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_has_two_labels_or_more() {
        let label = "a".repeat(63);
        let longest = [label.as_str(), &label, &label, &label[2..]].join(".");
        assert_eq!(longest.len(), 253);
        for good in ["a.b", "home.7f3a.guestright.alt", "xn--bcher-kva.example", &longest] {
            assert!(is_domain(good), "{good}");
        }
        let long_label = format!("{label}a.example");
        for bad in [
            "",
            "a",
            "a..b",
            ".a",
            "a.",
            "A.b",
            "a_b.c",
            "-a.b",
            "a-.b",
            "ä.org",
            &long_label,
            &format!("{longest}a"),
        ] {
            assert!(!is_domain(bad), "{bad}");
        }
    }
}

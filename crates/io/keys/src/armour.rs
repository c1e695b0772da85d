//! Signed bytes as text that survives mail and copying: base64 (RFC 4648 §4) between two lines that say what it is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

/// What an armoured text holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Certificate,
    /// A revocation list.
    Revocations,
    /// The team's word for a renewing key.
    Warrant,
}

/// Why a text is not the armour that was expected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ArmourError {
    /// The first line is another one.
    #[error("it does not begin with `-----BEGIN GUESTRIGHT {}-----`", want.name())]
    Begin {
        /// What it should hold.
        want: Label,
    },
    /// The last line is missing.
    #[error("it does not end with `-----END GUESTRIGHT {}-----`", want.name())]
    End {
        /// What it should hold.
        want: Label,
    },
    /// What is between the lines is not base64.
    #[error("what is between its first and last line is not base64: {0}")]
    Digits(String),
}

impl Label {
    /// How its first and last line call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Certificate => "CERTIFICATE",
            Self::Revocations => "REVOCATION LIST",
            Self::Warrant => "RENEWAL WARRANT",
        }
    }

    /// `bytes` as text.
    pub fn armour(self, bytes: &[u8]) -> String {
        let digits = STANDARD.encode(bytes);
        let mut text = self.line("BEGIN");
        text.push('\n');
        let mut rest = digits.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(64));
            text.push_str(line);
            text.push('\n');
            rest = after;
        }
        text.push_str(&self.line("END"));
        text.push('\n');
        text
    }

    /// The bytes in a text; white space around it and between the lines does not matter.
    ///
    /// # Errors
    /// [`ArmourError`].
    pub fn unarmour(self, text: &str) -> Result<Vec<u8>, ArmourError> {
        let text = text.trim();
        let text = text.strip_prefix(&self.line("BEGIN")).ok_or(ArmourError::Begin { want: self })?;
        let text = text.strip_suffix(&self.line("END")).ok_or(ArmourError::End { want: self })?;
        let digits: String = text.split_whitespace().collect();
        STANDARD.decode(digits).map_err(|error| ArmourError::Digits(error.to_string()))
    }

    /// No text of so many bytes is longer, with lines that end in two characters.
    pub(crate) const fn text_len_max(bytes_max: usize) -> usize {
        let digits = bytes_max.div_ceil(3) * 4;
        digits + 2 * digits.div_ceil(64) + 128
    }

    fn line(self, which: &str) -> String {
        format!("-----{which} GUESTRIGHT {}-----", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unarmour_inverts_armour_for_every_length() {
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length).collect();
            let text = Label::Certificate.armour(&bytes);
            assert_eq!(Label::Certificate.unarmour(&text), Ok(bytes.clone()));
            let mailed = format!("\r\n  {}", text.replace('\n', "\r\n"));
            assert_eq!(Label::Certificate.unarmour(&mailed), Ok(bytes.clone()));
            assert!(text.replace('\n', "\r\n").len() <= Label::text_len_max(bytes.len()));
        }
    }

    #[test]
    fn other_text_is_refused_with_the_line_that_is_missing() {
        let (certificate, list) = (Label::Certificate, Label::Revocations);
        let text = certificate.armour(b"bytes");
        #[rustfmt::skip]
        let cases = [
            (list,        text.clone(),              "it does not begin with `-----BEGIN GUESTRIGHT REVOCATION LIST-----`"),
            (certificate, String::new(),             "it does not begin with `-----BEGIN GUESTRIGHT CERTIFICATE-----`"),
            (certificate, text[..40].to_owned(),     "it does not end with `-----END GUESTRIGHT CERTIFICATE-----`"),
            (certificate, text.replace("Yn", "?!"),  "what is between its first and last line is not base64: Invalid symbol 63, offset 0."),
        ];
        for (label, text, want) in cases {
            assert_eq!(label.unarmour(&text).unwrap_err().to_string(), want);
        }
    }
}

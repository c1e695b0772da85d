//! Texts with a limit.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A text that is too long, or that could be seen as another.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TextError {
    /// There is more of it than may be.
    #[error("a text of {got} characters where at most {max} are allowed")]
    Length {
        /// How many characters it has.
        got: usize,
        /// How many it may have.
        max: usize,
    },
    /// It has a character that breaks the line, or turns the direction of what is around it.
    #[error("the character U+{:04X} is not allowed in a text", *.0 as u32)]
    Character(char),
}

/// Whether a text may have this character: no control character (a new line is one), and none of those that turn the direction
/// of writing (Unicode Standard Annex 9, section 2).
fn is_allowed(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check(text: &str, max: usize) -> Result<(), TextError> {
    let got = text.chars().count();
    if got > max {
        return Err(TextError::Length { got, max });
    }
    text.chars()
        .find(|&character| !is_allowed(character))
        .map_or(Ok(()), |bad| Err(TextError::Character(bad)))
}

/// As much of a text as is allowed. What is cut off leaves `…`, and what is not allowed a space.
fn shorten(text: &str, max: usize) -> String {
    let mut shown: String = text
        .chars()
        .map(|character| if is_allowed(character) { character } else { ' ' })
        .take(max + 1)
        .collect();
    if let Some((end, _)) = shown.char_indices().nth(max) {
        let last = shown[..end].char_indices().next_back().map_or(0, |(index, _)| index);
        shown.truncate(last);
        shown.push('…');
    }
    shown
}

macro_rules! texts {
    ($($(#[$doc:meta])* $text:ident $max:tt;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        #[cfg_attr(
            feature = "describe",
            derive(utoipa::ToSchema),
            schema(max_length = $max, pattern = r"^[^\p{Cc}\u202a-\u202e\u2066-\u2069]*$")
        )]
        pub struct $text(String);

        impl $text {
            /// How many characters it has at most.
            pub const CHARACTERS_MAX: usize = $max;

            /// As much of a text as is allowed: what is cut off leaves `…`, and what is not allowed a space.
            pub fn shortened(text: &str) -> Self {
                Self(shorten(text, Self::CHARACTERS_MAX))
            }

            /// The text alone.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $text {
            type Error = TextError;

            fn try_from(text: String) -> Result<Self, TextError> {
                check(&text, Self::CHARACTERS_MAX)?;
                Ok(Self(text))
            }
        }

        impl From<$text> for String {
            fn from(text: $text) -> Self {
                text.0
            }
        }

        impl fmt::Display for $text {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )*};
}

texts! {
    /// What somebody or something is called: at most 64 characters.
    Name 64;
    /// A sentence or two for people: at most 512 characters.
    Sentence 512;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_is_too_long_or_could_be_seen_as_another_text() {
        #[rustfmt::skip]
        let cases = [
            ("é".repeat(64),           Ok(())),
            ("é".repeat(65),           Err(TextError::Length { got: 65, max: 64 })),
            ("two\nlines".to_owned(),  Err(TextError::Character('\n'))),
            ("\u{202e}exe".to_owned(), Err(TextError::Character('\u{202e}'))),
            ("a\u{2069}".to_owned(),   Err(TextError::Character('\u{2069}'))),
            ("\u{7f}".to_owned(),      Err(TextError::Character('\u{7f}'))),
            (String::new(),            Ok(())),
        ];
        for (text, want) in cases {
            assert_eq!(Name::try_from(text.clone()).map(|_| ()), want, "{text:?}");
        }
        assert_eq!(TextError::Character('\n').to_string(), "the character U+000A is not allowed in a text");
    }

    #[test]
    fn what_is_cut_off_leaves_a_mark() {
        assert_eq!(Name::shortened(&"é".repeat(64)).as_str(), "é".repeat(64));
        assert_eq!(Name::shortened(&"é".repeat(65)).as_str(), format!("{}…", "é".repeat(63)));
        assert_eq!(Name::shortened("two\nlines").as_str(), "two lines");
    }

    proptest! {
        #[test]
        fn what_is_shortened_is_allowed(text in any::<String>(), times in 1_usize..40) {
            let shown = Sentence::shortened(&text.repeat(times));
            prop_assert_eq!(Sentence::try_from(String::from(shown.clone())), Ok(shown));
        }

        #[test]
        fn what_is_allowed_is_not_changed(text in any::<String>()) {
            if let Ok(name) = Name::try_from(text.clone()) {
                prop_assert_eq!(Name::shortened(&text), name);
            }
        }
    }
}

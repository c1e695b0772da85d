//! Licence expressions: `MIT OR (Apache-2.0 AND ISC)`.
//!
//! `WITH` binds tighter than `AND`, and `AND` tighter than `OR`. The slash of older manifests means `OR`.
//!
//! Source: SPDX 2.3 annex D, <https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/>.

use std::collections::BTreeSet;

/// Whether the expression leaves us a choice that is allowed. A name with its exception counts as one name.
pub(crate) fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { words: spaced.split_whitespace().collect(), at: 0, allowed };
    let verdict = parser.any_of()?;
    match parser.peek() {
        None => Ok(verdict),
        Some(word) => Err(format!("`{word}` where the end should be")),
    }
}

struct Parser<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a BTreeSet<&'a str>,
}

impl<'a> Parser<'a> {
    fn any_of(&mut self) -> Result<bool, String> {
        let mut verdict = self.all_of()?;
        while self.take("OR") {
            verdict |= self.all_of()?;
        }
        Ok(verdict)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Ok(verdict)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let verdict = self.any_of()?;
            return if self.take(")") { Ok(verdict) } else { Err("a parenthesis stays open".to_owned()) };
        }
        let name = self.name()?;
        if self.take("WITH") {
            let exception = self.name()?;
            return Ok(self.allowed.contains(format!("{name} WITH {exception}").as_str()));
        }
        Ok(self.allowed.contains(name))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        match self.peek() {
            None => Err("it ends where a name should be".to_owned()),
            Some(word @ ("(" | ")" | "AND" | "OR" | "WITH")) => {
                Err(format!("`{word}` where a name should be"))
            }
            Some(word) => {
                self.at += 1;
                Ok(word)
            }
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_allowed_if_one_choice_is() {
        #[rustfmt::skip]
        let cases = [
            ("MIT",                                          true),
            ("GPL-3.0-only",                                 false),
            ("MIT OR GPL-3.0-only",                          true),
            ("MIT AND GPL-3.0-only",                         false),
            ("GPL-3.0-only OR MIT AND ISC",                  true),
            ("MIT AND ISC OR GPL-3.0-only",                  true),
            ("MIT AND (ISC OR GPL-3.0-only)",                true),
            ("(MIT OR ISC) AND GPL-3.0-only",                false),
            ("((MIT))",                                      true),
            ("MIT/Apache-2.0",                               true),
            ("Apache-2.0 WITH LLVM-exception",               true),
            ("MIT WITH LLVM-exception",                      false),
            ("GPL-2.0 WITH LLVM-exception OR MIT",           true),
        ];
        for (expression, want) in cases {
            assert_eq!(is_allowed(expression, &allowed()), Ok(want), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for expression in
            ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "()", "MIT WITH (ISC)"]
        {
            assert!(is_allowed(expression, &allowed()).is_err(), "{expression}");
        }
    }

    fn allowed() -> BTreeSet<&'static str> {
        ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].into()
    }
}

//! What was found, and the verdict on all of it.

use super::Look;
use serde_json::{Value, json};
use std::borrow::Cow;

/// One thing that was looked at.
#[derive(Debug)]
pub struct Finding {
    pub what: &'static str,
    pub good: bool,
    /// Whether its lack counts.
    pub needed: bool,
    pub says: String,
    /// What to do where it is not good.
    pub to_do: Cow<'static, str>,
}

impl Finding {
    /// What a look has come to: what is there, or what is wrong and what to do about it.
    pub fn of(what: &'static str, needed: bool, look: Look) -> Self {
        let good = look.is_ok();
        let (says, to_do) = look.map_or_else(|wrong| wrong, |says| (says, String::new()));
        Self { what, good, needed, says, to_do: to_do.into() }
    }

    /// As a program reads it.
    pub fn in_json(&self) -> Value {
        json!({ "what": self.what, "good": self.good, "needed": self.needed, "says": self.says,
            "to_do": if self.good { None } else { Some(&self.to_do) } })
    }
}

/// What a computer can, where so many things that are needed are missing, and so many others lacking. `role` says what it is
/// to be. Never "everything" beside a "no".
pub fn verdict(role: Option<&str>, missing: usize, lacking: usize) -> String {
    let can = role.map_or_else(|| "do".to_owned(), |role| format!("be {role}"));
    match (role, missing, lacking) {
        (Some(_), 0, 0) => format!("this computer can {can}"),
        (None, 0, 0) => "this computer can do everything".to_owned(),
        (Some(_), 0, _) => format!("this computer can {can}, without what is marked \"no\""),
        (None, 0, _) => "this computer can do what is needed, without what is marked \"no\"".to_owned(),
        (Some(_), ..) => format!("this computer cannot {can} yet: what is marked \"NO\" is missing"),
        (None, ..) => "something is missing: what is marked \"NO\"".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_never_said_beside_a_no() {
        for role in [None, Some("an access point")] {
            for (missing, lacking) in [(0, 0), (0, 1), (1, 0), (2, 3)] {
                let answer = verdict(role, missing, lacking);
                assert_eq!(
                    answer.contains("everything"),
                    role.is_none() && missing + lacking == 0,
                    "{answer}"
                );
                assert_eq!(answer.contains("\"no\""), missing == 0 && lacking > 0, "{answer}");
                assert_eq!(answer.contains("NO"), missing > 0, "{answer}");
            }
        }
    }
}

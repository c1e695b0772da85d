//! What people copy: armoured certificates and names of teams.

use guestright_keys::Label;
use guestright_units::TeamId;

/// Armoured text of either label.
pub fn armour(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for label in [Label::Certificate, Label::Revocations] {
        if let Ok(content) = label.unarmour(&text) {
            let again = label.armour(&content);
            assert_eq!(label.unarmour(&again).as_ref(), Ok(&content));
        }
        let content = label.armour(bytes);
        assert_eq!(label.unarmour(&content).as_deref(), Ok(bytes));
    }
}

/// The name of a team.
pub fn team_id(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match text.parse::<TeamId>() {
        Ok(id) => {
            assert_eq!(id.to_string(), text.to_ascii_lowercase());
            assert!(id.to_string().starts_with(&id.short()));
        }
        Err(error) => {
            assert_eq!(error.got, text.chars().count());
            assert!(text.len() != 48 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()));
        }
    }
}

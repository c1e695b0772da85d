//! What people copy: armoured certificates, names of teams, and WireGuard configurations.

use guestright_keys::Label;
use guestright_tunnel::wireguard::Config;
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

/// A WireGuard configuration: what is accepted means the same when it is written again, and then stays as it is.
pub fn wireguard(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Config::parse(text) {
        Ok(mut config) => {
            config.ignored.clear();
            let emitted = config.emit();
            // Short addresses are written with the length of their network.
            if emitted.len() <= Config::LEN_MAX {
                let again = Config::parse(&emitted).expect("our own text");
                assert_eq!(again, config);
                assert_eq!(*again.emit(), *emitted);
            }
        }
        Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}"),
    }
}

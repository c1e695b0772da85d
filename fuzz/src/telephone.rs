use guestright_sip::agent::Description;

/// What a telephone says about a session is read or refused, and reads the same when we write it.
pub fn description(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(description) = Description::parse(text) {
        let again = Description::parse(&description.emit());
        assert_eq!(again.as_ref(), Ok(&description), "what was written reads differently");
    }
}

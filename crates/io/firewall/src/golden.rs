//! Rendered rulesets against the files that they should equal.

/// Compares with the file of this name; `GUESTRIGHT_BLESS=1` writes it anew.
pub(crate) fn assert_is_golden(name: &str, rendered: &str) {
    let golden = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("GUESTRIGHT_BLESS").is_some() {
        std::fs::write(&golden, rendered).unwrap();
    }
    let wanted = std::fs::read_to_string(&golden).unwrap();
    assert!(
        rendered == wanted,
        "differs from {golden}; if meant so, GUESTRIGHT_BLESS=1 writes it anew:\n{rendered}"
    );
}

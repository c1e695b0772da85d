//! What a phone, or an access point, cannot be.

/// What is wrong. Secrets are not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("{what} is {got:?}; it has to be {want}")]
    Wrong { what: &'static str, got: String, want: &'static str },
    #[error(
        "the server is called {server:?}, which is not below the realm {realm:?}; Android would not believe it"
    )]
    ServerOutsideRealm { server: String, realm: String },
    #[error("{what} has {got} entries, and may have {want}")]
    TooMany { what: &'static str, got: usize, want: usize },
    #[error("{what} has an apostrophe, which OpenWrt's file cannot have here")]
    Apostrophe { what: &'static str },
    #[error("{what} has a control character, such as a line break, which OpenWrt's file cannot have")]
    ControlCharacter { what: &'static str },
    #[error("{what} is no DER")]
    NotDer { what: &'static str },
    #[error("the certificate ends at {ends}, which is not after {begins}, when it begins")]
    Ended { begins: String, ends: String },
}

impl ProfileError {
    pub(crate) fn wrong(what: &'static str, got: &str, want: &'static str) -> Self {
        Self::Wrong { what, got: got.to_owned(), want }
    }
}

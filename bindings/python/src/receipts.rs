//! Keys, certificates and receipts: made, signed and verified.

use crate::errors::refused;
use guestright_identity::{self as identity, IdentityError, PublicKey, Role, SecretKey, Suite};
use guestright_receipt::{self as receipt, ReceiptError, Rules, Service, UncheckedReceipt};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fmt::Write as _;

/// A key pair. Its secret is given out by `secret` alone.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Key(pub(crate) SecretKey);

/// A certificate whose signatures were checked.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Certificate(pub(crate) identity::Certificate);

/// A receipt that was checked, or that was signed here.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Receipt(pub(crate) receipt::Receipt);

#[pymethods]
impl Key {
    /// The key pair with this secret, of 32 bytes.
    #[new]
    #[pyo3(signature = (secret, suite = "ed25519"))]
    fn new(py: Python<'_>, secret: &[u8], suite: &str) -> PyResult<Self> {
        let key = SecretKey::from_bytes(suite_of(suite)?, secret);
        key.map(Self).map_err(|error| identity_refused(py, error))
    }

    #[getter]
    fn suite(&self) -> &'static str {
        self.0.public().suite().name()
    }

    #[getter]
    fn public<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.public().as_bytes())
    }

    #[getter]
    fn secret<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The name of the team that has this key.
    #[getter]
    fn team_id(&self) -> String {
        self.0.public().team_id().to_string()
    }

    /// Certifies another key: `role` is member, access-point or home; times are seconds since 1970.
    #[pyo3(signature = (public, *, not_before, not_after, role = "member", suite = "ed25519"))]
    fn certify(
        &self,
        py: Python<'_>,
        public: &[u8],
        not_before: u64,
        not_after: u64,
        role: &str,
        suite: &str,
    ) -> PyResult<Certificate> {
        let subject =
            PublicKey::parse(suite_of(suite)?, public).map_err(|error| identity_refused(py, error))?;
        let (from, until) = (UnixSeconds(not_before), UnixSeconds(not_after));
        Ok(Certificate(identity::Certificate::issue(&self.0, &subject, role_of(role)?, from, until)))
    }

    /// Signs, as the member that `certificate` is for, that the team `provider` has served `weight` bytes since `started`.
    fn sign_receipt(
        &self,
        certificate: &Certificate,
        provider: &str,
        started: u64,
        weight: u64,
    ) -> PyResult<Receipt> {
        if self.0.public() != certificate.0.subject() {
            return Err(PyValueError::new_err("the certificate is for another key"));
        }
        let provider = team_of(provider)?;
        let (started, weight) = (UnixSeconds(started), Bytes(weight));
        let service = Service { provider, started, weight, hold: None, on_holds: Bytes(0) };
        Ok(Receipt(receipt::Receipt::sign_service(&self.0, &certificate.0, service)))
    }

    fn __repr__(&self) -> String {
        format!("<Key {} of {}>", self.suite(), self.0.public().team_id().short())
    }
}

#[pymethods]
impl Certificate {
    /// Reads a certificate and checks its signatures.
    #[new]
    fn new(py: Python<'_>, encoded: &[u8]) -> PyResult<Self> {
        identity::Certificate::parse(encoded).map(Self).map_err(|error| identity_refused(py, error))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    #[getter]
    fn role(&self) -> String {
        self.0.role().to_string()
    }

    #[getter]
    fn team_id(&self) -> String {
        self.0.team_id().to_string()
    }

    #[getter]
    fn not_before(&self) -> u64 {
        self.0.not_before().0
    }

    #[getter]
    fn not_after(&self) -> u64 {
        self.0.not_after().0
    }

    /// By which receipts point at it, as hexadecimal digits.
    #[getter]
    fn reference(&self) -> String {
        hexadecimal(&self.0.reference().0)
    }

    fn __repr__(&self) -> String {
        format!("<Certificate of a {} of {}>", self.0.role(), self.0.team_id().short())
    }
}

#[pymethods]
impl Receipt {
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    #[getter]
    fn consumer(&self) -> String {
        self.0.consumer().to_string()
    }

    #[getter]
    fn provider(&self) -> String {
        self.0.provider().to_string()
    }

    #[getter]
    fn started(&self) -> u64 {
        self.0.started().0
    }

    #[getter]
    fn weight(&self) -> u64 {
        self.0.weight().0
    }

    fn __repr__(&self) -> String {
        let (consumer, provider) = (self.0.consumer().short(), self.0.provider().short());
        format!("<Receipt: {consumer} owes {provider} {} bytes>", self.0.weight().0)
    }
}

/// Checks a receipt whole: form, dates, certificate, signature.
#[pyfunction]
#[pyo3(signature = (encoded, certificate, *, now))]
pub(crate) fn verify_receipt(
    py: Python<'_>,
    encoded: &[u8],
    certificate: &Certificate,
    now: u64,
) -> PyResult<Receipt> {
    let receipt = UncheckedReceipt::parse(encoded)
        .and_then(|receipt| Rules::default().verify(receipt, &certificate.0, UnixSeconds(now)));
    receipt.map(Receipt).map_err(|error| refused(py, &error, error.kind()))
}

/// A refusal by the kind that the vectors in docs/vectors give it.
fn identity_refused(py: Python<'_>, error: IdentityError) -> PyErr {
    let kind = if matches!(error, IdentityError::BadKey(_)) {
        "bad-key"
    } else if matches!(error, IdentityError::UnknownSuite { .. }) {
        "unknown-suite"
    } else {
        ReceiptError::from(error.clone()).kind()
    };
    refused(py, &error, kind)
}

fn suite_of(name: &str) -> PyResult<Suite> {
    let suite = Suite::ALL.iter().find(|suite| suite.name() == name && !suite.is_legacy());
    suite.copied().ok_or_else(|| {
        PyValueError::new_err(format!("there is no suite `{name}`; there are ed25519 and ecdsa-p256"))
    })
}

fn role_of(name: &str) -> PyResult<Role> {
    let all = [Role::Member, Role::AccessPoint, Role::Home];
    let role = all.into_iter().find(|role| role.to_string().replace(' ', "-") == name.replace(' ', "-"));
    role.ok_or_else(|| {
        PyValueError::new_err(format!("there is no role `{name}`; there are member, access-point and home"))
    })
}

fn team_of(text: &str) -> PyResult<TeamId> {
    text.parse().map_err(|error: guestright_units::ParseTeamIdError| PyValueError::new_err(error.to_string()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

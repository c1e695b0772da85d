//! The page over TLS, under a name with a certificate that somebody else renews.

use super::CertificateFiles;
use guestright_error::{OrFail as _, RunError};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

#[derive(Clone)]
pub(super) struct Certificate {
    files: CertificateFiles,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Certificate {
    /// # Errors
    /// A file cannot be read, or they do not belong together.
    pub(super) fn read(files: CertificateFiles) -> Result<Self, RunError> {
        let config = Arc::new(RwLock::new(Arc::new(config(&files)?)));
        Ok(Self { files, config })
    }

    /// The files may have been renewed; what cannot be read leaves everything as it is.
    pub(super) fn read_again(&self) {
        match config(&self.files) {
            Ok(config) => *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config),
            Err(error) => tracing::error!(%error, "the splash page keeps the certificate that it has"),
        }
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner));
        TlsAcceptor::from(config).accept(stream).await
    }
}

fn config(files: &CertificateFiles) -> Result<ServerConfig, RunError> {
    let (chain, own_key) = (certificates(&files.chain)?, key(&files.key)?);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, own_key))
        .or_config(|| format!("use the certificate in {}", files.chain.display()))
}

/// The certificates in a file of PEM; there may be none.
pub(in crate::access_point) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, RunError> {
    CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(|error| not_read(file, &error))
}

/// The first key in a file of PEM.
pub(in crate::access_point) fn key(file: &Path) -> Result<PrivateKeyDer<'static>, RunError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| not_read(file, &error))
}

fn not_read(path: &Path, error: &rustls::pki_types::pem::Error) -> RunError {
    RunError::config(format!("read {}: {error:?}", path.display()))
}

//! What a visitor keeps between visits: receipts to show, receipts of its own to hand in at home, its last session.

use guestright_error::{OrFail as _, RunError};
use guestright_identity::Certificate;
use guestright_receipt::{Bundle, Receipt, SessionKey};
use guestright_units::{TeamId, UnixSeconds};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files in the visitor's state directory.
#[derive(Debug)]
pub(super) struct Memory {
    shown: PathBuf,
    signed: PathBuf,
    session: PathBuf,
    own: BTreeMap<SessionKey, Receipt>,
    certificate: Certificate,
}

impl Memory {
    /// What is in `state`; receipts under another certificate are left alone.
    pub(super) fn new(state: &Path, certificate: Certificate) -> Self {
        let [shown, signed, session] =
            ["shown.bundle", "signed.bundle", "last-session"].map(|name| state.join(name));
        let kept = read(&signed).receipts.into_iter();
        let own = kept.filter_map(|bytes| Receipt::from_kept(&bytes, &certificate).ok());
        let own = own.map(|receipt| (receipt.session(), receipt)).collect();
        Self { shown, signed, session, own, certificate }
    }

    /// The receipts that were fetched from home last. A file that cannot be read is none.
    pub(super) fn to_show(&self) -> Bundle {
        read(&self.shown)
    }

    pub(super) fn keep_to_show(&self, bundle: &Bundle) -> Result<(), RunError> {
        write(&self.shown, &bundle.emit())
    }

    /// Keeps a receipt of ours until our home has it: of each session the latest, of the sessions the last ones.
    pub(super) fn signed(&mut self, receipt: Receipt) -> Result<(), RunError> {
        self.own.insert(receipt.session(), receipt);
        while self.own.len() > Bundle::RECEIPTS_MAX / 2 {
            self.own.pop_first();
        }
        write(&self.signed, &self.to_hand_in().emit())
    }

    /// The receipts that our home may not have yet, those of earlier visits among them.
    pub(super) fn to_hand_in(&self) -> Bundle {
        Bundle {
            certificates: vec![self.certificate.as_bytes().to_vec()],
            receipts: self.own.values().map(|receipt| receipt.as_bytes().to_vec()).collect(),
            revocations: Vec::new(),
        }
    }

    pub(super) fn last_session(&self) -> Option<(TeamId, UnixSeconds)> {
        let text = std::fs::read_to_string(&self.session).ok()?;
        let (team, started) = text.trim().split_once(' ')?;
        Some((team.parse().ok()?, UnixSeconds(started.parse().ok()?)))
    }

    pub(super) fn keep_session(&self, provider: TeamId, started: UnixSeconds) -> Result<(), RunError> {
        write(&self.session, format!("{provider} {}\n", started.0).as_bytes())
    }
}

fn read(path: &Path) -> Bundle {
    let bytes = guestright_keys::read_to_limit(path, Bundle::LEN_MAX).unwrap_or_default();
    Bundle::parse(&bytes).unwrap_or_default()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let new = path.with_extension("new");
    std::fs::write(&new, bytes)
        .and_then(|()| std::fs::rename(&new, path))
        .or_config(|| format!("write {}", path.display()))
}

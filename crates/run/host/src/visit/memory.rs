//! What a visitor keeps between visits: receipts to show, receipts of its own to hand in at home and where their providers'
//! homes are, its last session, and what it counted and signed for today.

use crate::private;
use guestright_directory::Address;
use guestright_error::{OrFail as _, RunError};
use guestright_identity::{Certificate, CertificateRef};
use guestright_receipt::{Bundle, Receipt, SessionKey};
use guestright_roaming::Ledger;
use guestright_units::{TeamId, Time, UnixSeconds};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A line for each provider of the receipts that are kept: a team and an address, which has 260 bytes at most.
const HOMES_LEN_MAX: usize = 512 * Bundle::RECEIPTS_MAX;

/// So many certificates are remembered even if no receipt needs them: an open session may be under an old one.
const CERTIFICATES_MAX: usize = 16;

/// The files in the visitor's state directory.
#[derive(Debug)]
pub(super) struct Memory {
    shown: PathBuf,
    signed: PathBuf,
    session: PathBuf,
    homes_file: PathBuf,
    ledger_file: PathBuf,
    /// Of each session the last receipt.
    own: BTreeMap<SessionKey, Receipt>,
    /// Where the homes of providers await other homes, as their access points said.
    homes: BTreeMap<TeamId, Address>,
    /// Under which receipts that are kept were signed: the one in use, and those that it has renewed.
    certificates: BTreeMap<CertificateRef, Certificate>,
}

impl Memory {
    /// What is in `state`; receipts under another key's certificate are left alone.
    pub(super) fn new(state: &Path, certificate: Certificate) -> Self {
        let [shown, signed, session, homes_file, ledger_file] =
            ["shown.bundle", "signed.bundle", "last-session", "provider-homes", "ledger"]
                .map(|name| state.join(name));
        let Bundle { certificates: before, receipts, .. } = read(&signed);
        let before = before.iter().filter_map(|bytes| Certificate::parse(bytes).ok());
        let own = certificate.member_id();
        let before = before.filter(|before| before.member_id() == own);
        let certificates = before.chain([certificate]).map(|each| (each.reference(), each));
        let certificates: BTreeMap<_, _> = certificates.collect();
        let read = |bytes: &Vec<u8>| certificates.values().find_map(|it| Receipt::from_kept(bytes, it).ok());
        let own = receipts.iter().filter_map(read).map(|receipt| (receipt.session(), receipt)).collect();
        let homes = read_homes(&homes_file);
        Self { shown, signed, session, homes_file, ledger_file, own, homes, certificates }
    }

    /// Receipts are signed under this certificate, too, from now on.
    pub(super) fn renewed(&mut self, certificate: Certificate) {
        self.certificates.insert(certificate.reference(), certificate);
        while self.certificates.len() > CERTIFICATES_MAX {
            let is_needed =
                |it: &Certificate| self.own.values().any(|own| own.certificate() == it.reference());
            let unneeded = self.certificates.values().filter(|it| !is_needed(it));
            let Some(oldest) = unneeded.min_by_key(|it| it.not_after()).map(Certificate::reference) else {
                return;
            };
            self.certificates.remove(&oldest);
        }
    }

    /// What was counted and signed for today. If nobody knows that, nothing is signed for ahead of the count until tomorrow.
    pub(super) fn ledger(&self, now: Time) -> Ledger {
        if !self.ledger_file.exists() {
            return Ledger::default();
        }
        let bytes = guestright_keys::read_to_limit(&self.ledger_file, Ledger::LEN_MAX).ok();
        let ledger = bytes.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
        ledger.unwrap_or_else(|| {
            tracing::warn!(file = %self.ledger_file.display(), "what was signed for today cannot be read");
            Ledger::used_up(now)
        })
    }

    /// Keeps the ledger, for good when this returns.
    pub(super) fn keep_ledger(&self, ledger: &Ledger) -> Result<(), RunError> {
        private::replace(&self.ledger_file, ledger.to_string().as_bytes())
    }

    /// Keeps where a provider's home is, for as long as there are receipts to hand in that name it.
    pub(super) fn keep_home(&mut self, provider: TeamId, home: Option<Address>) -> Result<(), RunError> {
        let Some(home) = home.filter(|home| self.homes.get(&provider) != Some(home)) else { return Ok(()) };
        let own = &self.own;
        self.homes.retain(|team, _| own.keys().any(|session| session.provider == *team));
        self.homes.insert(provider, home);
        let text: String = self.homes.iter().map(|(team, home)| format!("{team} {home}\n")).collect();
        private::replace(&self.homes_file, text.as_bytes())
    }

    /// The receipts that were fetched from home last. A file that cannot be read is none.
    pub(super) fn to_show(&self) -> Bundle {
        read(&self.shown)
    }

    pub(super) fn keep_to_show(&self, bundle: &Bundle) -> Result<(), RunError> {
        write(&self.shown, &bundle.emit())
    }

    /// Keeps a receipt of ours until our home has it: of each session the last, which says all.
    pub(super) fn signed(&mut self, receipt: Receipt) -> Result<(), RunError> {
        self.own.insert(receipt.session(), receipt);
        while self.own.len() > Bundle::RECEIPTS_MAX / 2 {
            self.own.pop_first();
        }
        write(&self.signed, &self.bundle(self.own.values()).emit())
    }

    /// The receipts that our home may not have yet, those of earlier visits among them: by provider, and those of providers
    /// whose home is not known together.
    pub(super) fn to_hand_in(&self) -> Vec<(Option<Address>, Bundle)> {
        let mut of = BTreeMap::<Option<TeamId>, Vec<&Receipt>>::new();
        for receipt in self.own.values() {
            let provider = Some(receipt.provider()).filter(|provider| self.homes.contains_key(provider));
            of.entry(provider).or_default().push(receipt);
        }
        let home = |provider: Option<TeamId>| self.homes.get(&provider?).cloned();
        of.into_iter().map(|(provider, receipts)| (home(provider), self.bundle(receipts))).collect()
    }

    fn bundle<'a>(&self, receipts: impl IntoIterator<Item = &'a Receipt>) -> Bundle {
        let receipts: Vec<_> = receipts.into_iter().collect();
        let used: BTreeSet<_> = receipts.iter().map(|receipt| receipt.certificate()).collect();
        let certificates = used.iter().filter_map(|reference| self.certificates.get(reference));
        Bundle {
            certificates: certificates.map(|certificate| certificate.as_bytes().to_vec()).collect(),
            receipts: receipts.into_iter().map(|receipt| receipt.as_bytes().to_vec()).collect(),
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

/// A line that cannot be read is none: then the home asks around.
fn read_homes(path: &Path) -> BTreeMap<TeamId, Address> {
    let bytes = guestright_keys::read_to_limit(path, HOMES_LEN_MAX).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    let line = |line: &str| {
        let (team, home) = line.split_once(' ')?;
        Some((team.parse().ok()?, home.parse().ok()?))
    };
    text.lines().filter_map(line).take(Bundle::RECEIPTS_MAX).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::{Role, SecretKey, Suite};
    use guestright_receipt::{HoldId, HoldUse, Service};
    use guestright_units::Bytes;

    const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

    fn memory(directory: &Path) -> (Memory, SecretKey) {
        let key = |number| SecretKey::from_bytes(Suite::Ed25519, &[number; 32]).unwrap();
        let (team, member) = (key(1), key(2));
        let certificate = Certificate::issue(&team, member.public(), Role::Member, NOW, NOW.plus(9));
        (Memory::new(directory, certificate), member)
    }

    #[test]
    fn receipts_are_handed_in_by_provider_and_with_its_home() {
        let directory = tempfile::tempdir().unwrap();
        let (mut memory, key) = memory(directory.path());
        let certificate = memory.certificates.values().next().unwrap().clone();
        let home = |name: &str| Some(name.parse::<Address>().unwrap());
        for number in 1..=4 {
            let provider = TeamId([number; 24]);
            let address = if number > 2 { home(&format!("home{number}.example:7273")) } else { None };
            memory.keep_home(provider, address).unwrap();
            for second in 0..2 {
                let receipt = Receipt::sign(&key, &certificate, provider, NOW.plus(second), Bytes(9));
                memory.signed(receipt).unwrap();
            }
        }
        memory.keep_home(TeamId([3; 24]), home("moved.example:1")).unwrap();
        for memory in [&memory, &self::memory(directory.path()).0] {
            let handed_in: Vec<_> = memory
                .to_hand_in()
                .into_iter()
                .map(|(home, bundle)| (home.map(|home| home.to_string()), bundle.receipts.len()))
                .collect();
            let home = |name: &str| Some(name.to_owned());
            let want = [(None, 4), (home("moved.example:1"), 2), (home("home4.example:7273"), 2)];
            assert_eq!(handed_in, want);
        }
        std::fs::write(&memory.homes_file, "x\n0 y\n\u{ff}").unwrap();
        assert_eq!(read_homes(&memory.homes_file), BTreeMap::new());
    }

    #[test]
    fn receipts_are_handed_in_under_the_certificate_of_their_session_whatever_was_renewed_since() {
        let directory = tempfile::tempdir().unwrap();
        let (mut memory, key) = memory(directory.path());
        let team = SecretKey::from_bytes(Suite::Ed25519, &[1; 32]).unwrap();
        let issue = |end| Certificate::issue(&team, key.public(), Role::Member, NOW, NOW.plus(end));
        for number in 0..40 {
            let certificate = issue(10 + number);
            memory.renewed(certificate.clone());
            if number % 8 == 0 {
                let provider = TeamId([1; 24]);
                memory
                    .signed(Receipt::sign(&key, &certificate, provider, NOW.plus(number), Bytes(9)))
                    .unwrap();
            }
        }
        assert!(memory.certificates.len() <= CERTIFICATES_MAX);
        let renewed = Memory::new(directory.path(), issue(99));
        for memory in [&memory, &renewed] {
            let bundle = memory.to_hand_in().remove(0).1;
            assert_eq!((bundle.receipts.len(), bundle.certificates.len()), (5, 5));
        }
    }

    #[test]
    fn the_last_receipt_of_a_session_is_kept_whatever_hold_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let (mut memory, key) = memory(directory.path());
        let certificate = memory.certificates.values().next().unwrap().clone();
        let provider = TeamId([1; 24]);
        for (weight, hold, on_holds) in [(1, None, 0), (5, Some((7, 4)), 4), (6, Some((8, 1)), 5)] {
            let hold = hold.map(|(id, on)| HoldUse { id: HoldId([id; 24]), weight: Bytes(on) });
            let (weight, on_holds) = (Bytes(weight), Bytes(on_holds));
            let service = Service { provider, started: NOW, weight, hold, on_holds };
            memory.signed(Receipt::sign_service(&key, &certificate, service)).unwrap();
        }
        for memory in [&memory, &self::memory(directory.path()).0] {
            let handed_in = memory.to_hand_in().remove(0).1.receipts;
            let read = handed_in.iter().map(|it| Receipt::from_kept(it, &certificate).unwrap());
            let sums: Vec<_> = read.map(|it| (it.weight().0, it.on_holds().0)).collect();
            assert_eq!(sums, [(6, 5)]);
        }
    }

    #[test]
    fn a_ledger_that_cannot_be_read_leaves_nothing_ahead_of_the_count() {
        let directory = tempfile::tempdir().unwrap();
        let (memory, _) = memory(directory.path());
        let (now, provider) = (NOW.time(), TeamId([7; 24]));
        let mut ledger = memory.ledger(now);
        ledger.count(provider, Bytes(1_000), now);
        assert!(ledger.sign(provider, Bytes(2_000), now));
        memory.keep_ledger(&ledger).unwrap();
        assert_eq!(memory.ledger(now), ledger);
        for spoiled in ["", "guestright ledger 1\n", "\u{ff}"] {
            std::fs::write(&memory.ledger_file, spoiled).unwrap();
            assert_eq!(memory.ledger(now).room(provider, now), Bytes(0), "{spoiled:?}");
        }
    }
}

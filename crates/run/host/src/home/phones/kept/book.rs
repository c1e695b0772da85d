//! The list of phones: `phones.json` in the state directory's `phones/`.
//!
//! What is not in it is nobody's: a certificate of this authority that is not listed is refused, so that a home whose list is
//! older than its authority forgets phones and never revocations.

use guestright_error::{OrFail as _, RunError};
use guestright_units::UnixSeconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Phones of one household, and certificates of one phone that have not ended.
const PHONES_MAX: usize = 512;
const CERTIFICATES_MAX: usize = 8;
const FILE_BYTES_MAX: usize = 2 * 1_024 * 1_024;
/// What has ended is shown for so long: 30 days, in seconds.
const SHOWN_AFTER_END: u64 = 30 * 86_400;
/// A certificate that ends within this time is to be made anew: 30 days, in seconds.
const ENDS_SOON: u64 = 30 * 86_400;

/// A phone of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phone {
    /// As the household calls its owner; nobody else learns it.
    pub(super) member: String,
    /// The member's key in the team, in hexadecimal digits: revoking it revokes the phone.
    pub(super) key: String,
    /// What its profiles are known by: a new one takes the place of the old one.
    pub(super) uuid: [u8; 16],
    pub(super) certificates: Vec<Issued>,
}

/// A certificate of a phone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Issued {
    pub(super) label: String,
    pub(super) serial: String,
    pub(super) not_before: u64,
    pub(super) not_after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revoked: Option<u64>,
}

impl Issued {
    pub(super) fn ends(&self) -> UnixSeconds {
        UnixSeconds(self.not_after)
    }

    /// Whether it lets its phone in.
    pub(super) fn holds(&self, now: UnixSeconds) -> bool {
        self.revoked.is_none() && now.0 <= self.not_after
    }
}

impl Phone {
    /// The certificate that ends last, of those that count.
    pub(super) fn current(&self, now: UnixSeconds) -> Option<&Issued> {
        self.certificates.iter().filter(|issued| issued.holds(now)).max_by_key(|issued| issued.not_after)
    }

    /// What a person has to do, if anything.
    pub(super) fn warning(&self, now: UnixSeconds) -> Option<String> {
        let member = &self.member;
        let again = format!("make it anew: guestright team member add {member} --phone");
        if self.certificates.iter().all(|issued| issued.revoked.is_some()) {
            return None;
        }
        match self.current(now) {
            None => Some(format!("the certificate of {member}'s phone has ended; {again}")),
            Some(issued) if issued.not_after.saturating_sub(now.0) < ENDS_SOON => {
                Some(format!("the certificate of {member}'s phone ends at {}; {again}", issued.ends()))
            }
            Some(_) => None,
        }
    }
}

/// All phones, in memory as on the disk.
#[derive(Debug)]
pub(super) struct Book {
    file: PathBuf,
    phones: Vec<Phone>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    phones: Vec<Phone>,
}

impl Book {
    pub(super) fn open(file: &Path) -> Result<Self, RunError> {
        let mut phones = Vec::new();
        if file.exists() {
            let what = || format!("read {}", file.display());
            let bytes = guestright_keys::read_to_limit(file, FILE_BYTES_MAX).or_config(what)?;
            phones = serde_json::from_slice::<File>(&bytes).or_config(what)?.phones;
        }
        Ok(Self { file: file.to_path_buf(), phones })
    }

    pub(super) fn phones(&self) -> &[Phone] {
        &self.phones
    }

    pub(super) fn of(&self, member: &str) -> Option<&Phone> {
        self.phones.iter().find(|phone| phone.member == member)
    }

    /// The phone with a certificate of this number, if it lets its phone in.
    pub(super) fn holder(&self, serial: &str, now: UnixSeconds) -> Option<(&Phone, &Issued)> {
        let of = |phone: &'_ Phone| phone.certificates.iter().position(|issued| issued.serial == serial);
        let (phone, index) = self.phones.iter().find_map(|phone| Some((phone, of(phone)?)))?;
        let issued = &phone.certificates[index];
        issued.holds(now).then_some((phone, issued))
    }

    pub(super) fn revoked(&self) -> BTreeSet<&str> {
        let issued = self.phones.iter().flat_map(|phone| &phone.certificates);
        issued.filter(|issued| issued.revoked.is_some()).map(|issued| issued.serial.as_str()).collect()
    }

    /// Notes a certificate, durably before it is given to anybody. Another key under the same name is another device of the
    /// same person: what the old one had counts no longer.
    ///
    /// # Errors
    /// There are too many, or the file cannot be written; then nothing has changed.
    pub(super) fn add(
        &mut self,
        (member, key, uuid): (&str, &str, [u8; 16]),
        issued: Issued,
        now: UnixSeconds,
    ) -> Result<(), RunError> {
        let mut phones = self.phones.clone();
        forget_ended(&mut phones, now);
        if let Some(phone) = phones.iter_mut().find(|phone| phone.member == member) {
            if phone.key != key {
                for old in &mut phone.certificates {
                    old.revoked.get_or_insert(now.0);
                }
            }
            let count = phone.certificates.iter().filter(|old| old.holds(now)).count();
            if count >= CERTIFICATES_MAX {
                let sentence = format!("{member}'s phone has {count} certificates that have not ended");
                let hint = format!("end them: guestright team member add {member} --phone --anew");
                return Err(RunError::user(sentence).with_hint(hint));
            }
            phone.key = key.to_owned();
            phone.certificates.push(issued);
        } else {
            if phones.len() >= PHONES_MAX {
                return Err(RunError::user(format!(
                    "this home has {PHONES_MAX} phones, and no room for more"
                )));
            }
            let (member, key) = (member.to_owned(), key.to_owned());
            phones.push(Phone { member, key, uuid, certificates: vec![issued] });
        }
        self.write(phones)
    }

    /// Revokes the phones for which this says so. How many certificates counted until now.
    pub(super) fn revoke(
        &mut self,
        is_gone: impl Fn(&Phone) -> bool,
        now: UnixSeconds,
    ) -> Result<usize, RunError> {
        let mut phones = self.phones.clone();
        let gone = phones.iter_mut().filter(|phone| is_gone(phone));
        let mut count = 0;
        for issued in gone.flat_map(|phone| &mut phone.certificates).filter(|old| old.revoked.is_none()) {
            issued.revoked = Some(now.0);
            count += usize::from(now.0 <= issued.not_after);
        }
        if phones != self.phones {
            self.write(phones)?;
        }
        Ok(count)
    }

    fn write(&mut self, phones: Vec<Phone>) -> Result<(), RunError> {
        let file = File { phones };
        let bytes = serde_json::to_vec_pretty(&file).map_err(RunError::bug)?;
        guestright_keys::replace_private(&self.file, &bytes).map_err(RunError::config)?;
        self.phones = file.phones;
        Ok(())
    }
}

/// A certificate that has ended needs no revocation. A clock that is ahead forgets nothing for 30 days.
fn forget_ended(phones: &mut Vec<Phone>, now: UnixSeconds) {
    for phone in phones.iter_mut() {
        phone.certificates.retain(|issued| now.0 <= issued.not_after.saturating_add(SHOWN_AFTER_END));
    }
    phones.retain(|phone| !phone.certificates.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR: u64 = 366 * 86_400;

    fn issued(serial: &str, not_after: u64) -> Issued {
        let (label, serial) = (format!("label-{serial}"), serial.to_owned());
        Issued { label, serial, not_before: 0, not_after, revoked: None }
    }

    #[test]
    fn what_is_written_is_read_and_only_its_owner_can() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phones.json");
        let mut book = Book::open(&file).unwrap();
        book.add(("alice", "aa", [1; 16]), issued("01", YEAR), UnixSeconds(5)).unwrap();
        book.add(("bob", "bb", [2; 16]), issued("02", YEAR), UnixSeconds(5)).unwrap();
        assert_eq!(book.revoke(|phone| phone.member == "bob", UnixSeconds(6)).unwrap(), 1);
        let again = Book::open(&file).unwrap();
        assert_eq!(again.phones(), book.phones());
        assert_eq!(again.revoked(), BTreeSet::from(["02"]));
        assert_eq!(again.holder("01", UnixSeconds(7)).map(|(phone, _)| phone.member.as_str()), Some("alice"));
        for (serial, now) in [("02", 7), ("03", 7), ("01", YEAR + 1)] {
            assert!(again.holder(serial, UnixSeconds(now)).is_none(), "{serial} at {now}");
        }
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_new_certificate_leaves_the_old_one_until_it_ends_but_not_beside_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = Book::open(&folder.path().join("phones.json")).unwrap();
        book.add(("alice", "aa", [1; 16]), issued("01", YEAR), UnixSeconds(5)).unwrap();
        book.add(("alice", "aa", [9; 16]), issued("02", 2 * YEAR), UnixSeconds(YEAR - 5)).unwrap();
        assert_eq!(book.of("alice").unwrap().uuid, [1; 16], "it is the same phone");
        assert!(book.holder("01", UnixSeconds(YEAR)).is_some() && book.revoked().is_empty());
        book.add(("alice", "cc", [9; 16]), issued("03", 2 * YEAR), UnixSeconds(YEAR - 4)).unwrap();
        assert_eq!(book.revoked(), BTreeSet::from(["01", "02"]));
        assert!(book.holder("03", UnixSeconds(YEAR)).is_some());
        // What has ended since long is forgotten.
        let late = UnixSeconds(2 * YEAR + SHOWN_AFTER_END + 1);
        book.add(("bob", "bb", [2; 16]), issued("04", 3 * YEAR), late).unwrap();
        assert!(book.of("alice").is_none());
    }

    #[test]
    fn a_phone_whose_certificate_ends_soon_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = Book::open(&folder.path().join("phones.json")).unwrap();
        book.add(("alice", "aa", [1; 16]), issued("01", YEAR), UnixSeconds(5)).unwrap();
        let warning = |book: &Book, now| book.of("alice").unwrap().warning(UnixSeconds(now));
        assert_eq!(warning(&book, YEAR - ENDS_SOON), None);
        assert!(warning(&book, YEAR - ENDS_SOON + 1).unwrap().contains("team member add alice --phone"));
        assert!(warning(&book, YEAR + 1).unwrap().contains("has ended"));
        book.add(("alice", "aa", [1; 16]), issued("02", 2 * YEAR), UnixSeconds(YEAR)).unwrap();
        assert_eq!(warning(&book, YEAR), None);
        book.revoke(|_| true, UnixSeconds(YEAR)).unwrap();
        assert_eq!(warning(&book, YEAR), None);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = Book::open(&folder.path().join("phones.json")).unwrap();
        let mut add = |number: usize| {
            book.add(("alice", "aa", [1; 16]), issued(&number.to_string(), YEAR), UnixSeconds(5))
        };
        assert!((0..CERTIFICATES_MAX).all(|number| add(number).is_ok()));
        assert!(add(99).is_err());
    }
}

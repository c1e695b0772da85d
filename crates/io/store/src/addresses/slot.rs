//! A record as it stands in the file: always as long, so that it is overwritten where it is.

use super::{AddressHolder, AddressRecord};
use guestright_identity::KeyId;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use sha2::{Digest as _, Sha256};
use std::net::Ipv4Addr;

/// Flags, address, hardware address, team, key, five numbers, and eight bytes of a digest of all that.
pub(super) const SLOT_BYTES: usize = 1 + 4 + 6 + 24 + 24 + 5 * 8 + DIGEST_BYTES;
const DIGEST_BYTES: usize = 8;
/// Nobody is in it.
pub(super) const EMPTY: [u8; SLOT_BYTES] = [0; SLOT_BYTES];

const TAKEN: u8 = 1;
const HAS_MAC: u8 = 2;
const HAS_TEAM: u8 = 4;
const HAS_MEMBER: u8 = 8;
const BY_TUNNEL: u8 = 16;
const ENDED: u8 = 32;
const CUT: u8 = 64;

/// A record, and what is needed to remove it in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) holder: AddressHolder,
    pub(super) began: UnixSeconds,
    /// When it ended, or was last seen.
    pub(super) until: UnixSeconds,
    /// The same by the clock that nobody sets.
    pub(super) until_steady: u64,
    pub(super) is_open: bool,
    pub(super) is_cut: bool,
    pub(super) carried: Bytes,
    /// Which record it is since the file was made.
    pub(super) sequence: u64,
}

impl Slot {
    pub(super) fn emit(&self) -> [u8; SLOT_BYTES] {
        let AddressHolder { ip, mac, team, member, by_tunnel } = self.holder;
        let flags = [
            (TAKEN, true),
            (HAS_MAC, mac.is_some()),
            (HAS_TEAM, team.is_some()),
            (HAS_MEMBER, member.is_some()),
            (BY_TUNNEL, by_tunnel),
            (ENDED, !self.is_open),
            (CUT, self.is_cut),
        ];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).fold(0, |all, (flag, _)| all | flag);
        let numbers = [self.began.0, self.until.0, self.until_steady, self.carried.0, self.sequence];
        let mut bytes = vec![flags];
        bytes.extend(ip.octets());
        bytes.extend(mac.unwrap_or_default());
        bytes.extend(team.unwrap_or(TeamId([0; 24])).0);
        bytes.extend(member.unwrap_or(KeyId([0; 24])).0);
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes.extend(digest(&bytes));
        bytes.try_into().expect("its parts have this length")
    }

    /// What stands in a slot; nothing if nobody does.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, SlotError> {
        let bytes: &[u8; SLOT_BYTES] = bytes.try_into().map_err(|_| SlotError)?;
        if *bytes == EMPTY {
            return Ok(None);
        }
        let (content, found) = bytes.split_at(SLOT_BYTES - DIGEST_BYTES);
        if digest(content) != found {
            return Err(SlotError);
        }
        let mut rest = content;
        let [flags] = part(&mut rest)?;
        let ip = Ipv4Addr::from(part::<4>(&mut rest)?);
        let (mac, team, member) = (part::<6>(&mut rest)?, part::<24>(&mut rest)?, part::<24>(&mut rest)?);
        let mut number = || part::<8>(&mut rest).map(u64::from_be_bytes);
        let has = |flag: u8| flags & flag != 0;
        let slot = Self {
            holder: AddressHolder {
                ip,
                mac: has(HAS_MAC).then_some(mac),
                team: has(HAS_TEAM).then_some(TeamId(team)),
                member: has(HAS_MEMBER).then_some(KeyId(member)),
                by_tunnel: has(BY_TUNNEL),
            },
            began: UnixSeconds(number()?),
            until: UnixSeconds(number()?),
            until_steady: number()?,
            carried: Bytes(number()?),
            sequence: number()?,
            is_open: !has(ENDED),
            is_cut: has(CUT),
        };
        if slot.emit() == *bytes { Ok(Some(slot)) } else { Err(SlotError) }
    }

    pub(super) fn record(&self) -> AddressRecord {
        AddressRecord {
            holder: self.holder,
            began: self.began,
            ended: (!self.is_open).then_some(self.until),
            is_cut: self.is_cut,
            carried: self.carried,
        }
    }
}

/// The bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotError;

fn part<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], SlotError> {
    let (part, behind) = rest.split_first_chunk::<N>().ok_or(SlotError)?;
    *rest = behind;
    Ok(*part)
}

fn digest(content: &[u8]) -> [u8; DIGEST_BYTES] {
    *Sha256::digest(content).first_chunk().expect("a digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parse_inverts_emit(
            ip: u32, mac: Option<[u8; 6]>, team: Option<[u8; 24]>, member: Option<[u8; 24]>, flags: [bool; 3],
            numbers: [u64; 5], bit in 0..SLOT_BYTES * 8,
        ) {
            let [by_tunnel, is_open, is_cut] = flags;
            let [began, until, until_steady, carried, sequence] = numbers;
            let (team, member) = (team.map(TeamId), member.map(KeyId));
            let holder = AddressHolder { ip: Ipv4Addr::from_bits(ip), mac, team, member, by_tunnel };
            let slot = Slot {
                holder, began: UnixSeconds(began), until: UnixSeconds(until), until_steady, is_open, is_cut,
                carried: Bytes(carried), sequence,
            };
            let mut bytes = slot.emit();
            prop_assert_eq!(Slot::parse(&bytes), Ok(Some(slot)));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Slot::parse(&bytes), Err(SlotError), "one bit is another");
        }
    }

    #[test]
    fn an_empty_slot_is_nobody() {
        assert_eq!(Slot::parse(&EMPTY), Ok(None));
        assert_eq!(Slot::parse(&EMPTY[1..]), Err(SlotError));
    }
}

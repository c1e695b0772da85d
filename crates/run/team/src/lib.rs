//! A team's directory and what is done with it: keys and certificates, members and their phones, ways home, revocations,
//! invitations, backups.
//!
//! In: the directory, the team's secret key where something is signed, names. Out: files in the directory and in its
//! gateway's, or what the files say.
//!
//! Invariants: nothing that is there is overwritten unless it is what was to be renewed; what is revoked is written down
//! before anything is removed; a secret key is in files that only their owner can read.

pub mod backup;
pub mod directory;
#[cfg(feature = "page")]
pub mod from_page;
pub mod gateway;
pub mod home_record;
pub mod ike_access;
pub mod invitation;
pub mod life;
pub mod member;
pub mod name;
pub mod own_key;
pub mod phone;
pub mod qr;
pub mod renewal;
pub mod way_home;

//! A strongSwan of our own, driven over vici.

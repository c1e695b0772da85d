//! IEEE 802.11 in virtual time.

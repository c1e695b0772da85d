//! The papers' testbeds in virtual time.

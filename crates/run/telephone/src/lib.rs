//! A member's telephone

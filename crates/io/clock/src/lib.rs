//! The clock and the entropy of this computer

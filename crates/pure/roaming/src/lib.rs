//! The P2PWNC messages and the visitor, access point and team server machines

//! The loops of an access point, a home and a visitor

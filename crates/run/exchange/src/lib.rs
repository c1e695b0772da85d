//! The telephone exchange of a home

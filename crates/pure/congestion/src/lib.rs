//! Congestion control without I/O.

//! WireGuard as an endpoint, or the kernel's.

//! Key files on disk: owner-only, encrypted on request

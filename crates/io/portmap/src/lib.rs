//! Port mappings in the household's NAT.

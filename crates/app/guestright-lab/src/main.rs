//! `guestright-lab`: experiments, tunnels measured, and the telephone tools of paper D.

fn main() {}

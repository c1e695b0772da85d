//! The telephone tools that paper D compares, as machines that speak over real sockets: BoAT as printed, Nautilus, Speak
//! Freely, PGPfone.
//!
//! All of it is **insecure**, as it was, and is here to be studied. Nothing in the product uses it unless somebody says
//! `--insecure-for-study`.

pub mod boat;
pub mod nautilus;
pub mod pgpfone;
pub mod speak_freely;

//! The telephone tools that paper D compares, as machines that speak over real sockets: BoAT as printed, Nautilus, Speak
//! Freely, PGPfone.
//!
//! All of it is **insecure**, as it was, and is here to be studied. Nothing in the product uses it unless somebody says
//! `--insecure-for-study`.

pub mod boat;
pub mod ciphers;
pub mod cost;
pub mod diffie_hellman;
pub mod nautilus;
pub mod pgpfone;
pub mod speak_freely;

#[cfg(test)]
mod testing;

/// What a program prints before it runs any of these, followed by what [`boat::INSECURE`] and its like say of one tool.
pub const BANNER: &str = "INSECURE, for study only: anybody between the two ends can do what the next line says. Say \
                          nothing here that others may not hear or change.";

/// The whole banner of one tool: [`BANNER`], its name, and why it is broken.
pub fn banner(name: &str, why: &str) -> String {
    format!("{BANNER}\n{name}: {why}")
}

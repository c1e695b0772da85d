//! What the cipher alone would carry on one core: `openssl speed`, blocks of 1,408 bytes, processor time.

use std::process::Command;

use serde::Serialize;

use crate::path::{Suite, Way};

const BLOCK: &str = "1408";

/// One suite, ciphers and hash one after the other.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Limit {
    /// In OpenSSL's words.
    pub(crate) suite: &'static str,
    pub(crate) mbit: f64,
    #[serde(skip)]
    pub(crate) ways: &'static [Way],
}

type Part = (&'static str, &'static str);

const SUITES: [(&str, &[Part], &[Way]); 4] = [
    (
        "aes-128-gcm",
        &[("-evp", "aes-128-gcm")],
        &[Way::OurEsp(Suite::AesGcm), Way::Libipsec(Suite::AesGcm), Way::OpenVpn],
    ),
    (
        "chacha20-poly1305",
        &[("-evp", "chacha20-poly1305")],
        &[
            Way::OurEsp(Suite::ChaCha),
            Way::OurWireGuard,
            Way::Boringtun,
            Way::WireGuardGo,
            Way::WireGuardGo2022,
        ],
    ),
    (
        "aes-128-cbc, then hmac-md5",
        &[("-evp", "aes-128-cbc"), ("-hmac", "md5")],
        &[Way::OurEsp(Suite::AesMd5), Way::Libipsec(Suite::AesMd5)],
    ),
    (
        "des-ede3-cbc, then hmac-sha1",
        &[("-evp", "des-ede3-cbc"), ("-hmac", "sha1")],
        &[Way::OurEsp(Suite::TripleDesSha1), Way::Libipsec(Suite::TripleDesSha1)],
    ),
];

/// Measures every suite; those that this computer's OpenSSL does not have are left out.
pub(crate) fn measure(seconds: u32) -> Vec<Limit> {
    let of = |&(suite, parts, ways): &(&'static str, &[Part], &'static [Way])| {
        // Megabits take 1/a of a second in one part and 1/b in the next.
        let seconds_per_mbit: Option<f64> =
            parts.iter().map(|&part| Some(1.0 / speed(part, seconds)?)).sum::<Option<f64>>();
        Some(Limit { suite, mbit: 1.0 / seconds_per_mbit?, ways })
    };
    SUITES.iter().filter_map(of).collect()
}

/// Megabits a second. A line of `-mr` ends with bytes a second: `+F:25:AES-128-GCM:2848592929.03`.
fn speed((option, algorithm): Part, seconds: u32) -> Option<f64> {
    let seconds = seconds.to_string();
    let arguments = ["speed", "-mr", "-seconds", &seconds, "-bytes", BLOCK, option, algorithm];
    let output = Command::new("openssl").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with("+F:"))?;
    let bytes: f64 = line.rsplit(':').next()?.trim().parse().ok()?;
    // On an overloaded computer it may get no processor time at all, and says `inf`.
    Some(bytes * 8.0 / 1e6).filter(|mbit| mbit.is_finite() && *mbit > 0.0)
}

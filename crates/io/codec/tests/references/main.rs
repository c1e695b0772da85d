//! What our codecs make of speech, beside what other people's make of it: Debian's spandsp, libgsm and libopus, opened
//! while the tests run. `scripts/setup.sh test` installs them.
#![expect(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests fail where they are wrong")]

mod bit_exact;
mod hostile;
mod losses;
mod peers;
mod quality;
mod speech;

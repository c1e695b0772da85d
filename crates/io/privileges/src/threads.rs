//! What other threads of this process have.

use std::fs;
use std::io::ErrorKind;

use rustix::thread::CapabilitySet;

use crate::{PrivilegesError, refused};

const THREADS: &str = "/proc/self/task";

/// How many threads besides this one have more capabilities than `needed`, or could get some.
///
/// # Errors
/// The system does not say.
pub(crate) fn with_more(needed: CapabilitySet) -> Result<usize, PrivilegesError> {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let failed = |error: std::io::Error| refused("say what threads there are", &error);
    let mut count = 0;
    for thread in fs::read_dir(THREADS).map_err(failed)? {
        let thread = thread.map_err(failed)?;
        if thread.file_name() == own.as_str() {
            continue;
        }
        match fs::read_to_string(thread.path().join("status")) {
            Ok(status) => count += usize::from(has_more(&status, needed)),
            // It has ended.
            Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(count)
}

/// Reading about a thread that ends meanwhile (proc(5)).
const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// By the status of a thread in proc(5). What is not there is taken for the worst.
fn has_more(status: &str, needed: CapabilitySet) -> bool {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let permitted = field("CapPrm:").and_then(|bits| u64::from_str_radix(bits, 16).ok());
    let is_within = permitted.is_some_and(|bits| needed.contains(CapabilitySet::from_bits_retain(bits)));
    // Otherwise a program that it starts may have more.
    !(is_within && field("NoNewPrivs:") == Some("1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_more_than_is_needed_or_may_get_it_is_counted() {
        let network = CapabilitySet::NET_ADMIN;
        let table = [
            ("CapPrm:\t0000000000000000\nNoNewPrivs:\t1\n", false),
            ("CapPrm:\t0000000000001000\nNoNewPrivs:\t1\n", false),
            ("CapPrm:\t0000000000001000\nNoNewPrivs:\t0\n", true),
            ("CapPrm:\t0000000000003000\nNoNewPrivs:\t1\n", true),
            ("CapPrm:\t8000000000001000\nNoNewPrivs:\t1\n", true),
            ("CapPrm:\t0000000000000000\n", true),
            ("NoNewPrivs:\t1\n", true),
            ("CapPrm:\tnone\nNoNewPrivs:\t1\n", true),
            ("", true),
        ];
        for (status, wanted) in table {
            assert_eq!(has_more(status, network), wanted, "{status:?}");
        }
    }
}

//! On processors whose system call numbers nobody has put together here.

use crate::{Needs, PrivilegesError};

/// Installs nothing.
#[expect(clippy::unnecessary_wraps, reason = "the signature is that of the other processors")]
pub(crate) fn install(_needs: Needs) -> Result<bool, PrivilegesError> {
    Ok(false)
}

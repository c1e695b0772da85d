//! The capabilities of this thread, and of all that begin later (capabilities(7)).

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

use crate::{PrivilegesError, refused};

/// strongSwan's charon: mounting a `/run` of its own, interfaces, routes and the kernel's ESP, UDP port 500.
pub(crate) const STRONGSWAN: CapabilitySet =
    CapabilitySet::SYS_ADMIN.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::NET_BIND_SERVICE);

/// xl2tpd and pppd, besides: pppd(8) takes over devices and changes users around what it opens and starts.
pub(crate) const L2TP: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Gives up all capabilities but those of `wanted` that this thread has, in all five sets, and returns what is left.
///
/// Children are `nft`, `tc`, `ip` and the like, which need what we keep. Root's get the bounding set when they start,
/// so that is what shrinks; another user's get the ambient set.
pub(crate) fn keep(wanted: CapabilitySet) -> Result<CapabilitySet, PrivilegesError> {
    let failed = |what| move |error: Errno| refused(what, &error.into());
    let before = capabilities(None).map_err(failed("say which capabilities there are"))?;
    let kept = before.permitted & wanted;
    // Without this capability nobody may shrink the bounding set. Who has none is not root, or a unit has shrunk it
    // already; and with no_new_privs a child never gets more than we have.
    if before.effective.contains(CapabilitySet::SETPCAP) {
        bound(wanted).map_err(failed("shrink the bounding set"))?;
    }
    let is_root = rustix::process::geteuid().is_root();
    let inheritable = if is_root { CapabilitySet::empty() } else { kept };
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })
        .map_err(failed("give up capabilities"))?;
    clear_ambient_capability_set().map_err(failed("clear the ambient set"))?;
    for one in inheritable.iter() {
        configure_capability_in_ambient_set(one, true).map_err(failed("let children have capabilities"))?;
    }
    Ok(kept)
}

/// Removes from the bounding set what is not wanted, also capabilities that are newer than this program.
fn bound(wanted: CapabilitySet) -> Result<(), Errno> {
    for one in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        match capability_is_in_bounding_set(one) {
            Ok(true) if !wanted.contains(one) => remove_capability_from_bounding_set(one)?,
            Ok(_) => {}
            Err(Errno::INVAL) => return Ok(()), // The kernel's last one was before it.
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

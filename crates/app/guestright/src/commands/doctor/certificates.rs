//! What `doctor` finds of certificates that are about to end, or have.

use super::page::Finding;
use crate::commands::validity;

/// All certificates where programs of ours look for them; the first that is not in order is named.
pub(super) fn finding() -> Finding {
    let what = "certificates";
    let to_do =
        "ask your team for a new one: guestright team member renew NAME; or set this computer's clock";
    let found = validity::examine();
    let wrong: Vec<_> = found.iter().filter(|each| !each.good).collect();
    let says = match (found.as_slice(), wrong.as_slice()) {
        ([], _) => "there are none here or in /etc/guestright".to_owned(),
        (all, []) => {
            let names = all.iter().map(|each| format!("{}: {}", each.path.display(), each.says));
            names.take(3).collect::<Vec<_>>().join("; ")
        }
        (_, [first, ..]) => {
            let others = wrong.len() - 1;
            let more = if others == 0 { String::new() } else { format!(" (and {others} more)") };
            format!("{}: {}{more}", first.path.display(), first.says)
        }
    };
    Finding { what, good: wrong.is_empty(), needed: false, says, to_do: to_do.into() }
}

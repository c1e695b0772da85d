//! Queues: one HTB tree on the visitors' interface (download) and one on the uplink (upload).
//!
//! Under a parent class capped to the configured rate, each visitor has a leaf: a guaranteed share and a
//! ceiling by service class, spare rate divided by weight. What carries no mark of ours (the household's own
//! traffic, the access point's answers) passes without a queue.
//!
//! Packets are counted before these queues, so what a full queue drops was counted. The queues are therefore
//! long: half a second at the leaf's ceiling. A TCP flow that fills one loses a few packets each time it
//! probes for more; the price of the length is delay for a visitor who competes with himself.

use std::fmt;

use serde_json::Value;

use crate::{Class, FirewallError, Settings, tool};

/// Our queues' handle, "GR" in ASCII: chosen so that neither an administrator's `1:` nor a distribution's
/// queue is taken for ours.
const HANDLE: &str = "4752:";
const HANDLE_MAJOR: u32 = 0x4752;
const PARENT: &str = "4752:1";
/// The first leaf's minor number.
const FIRST_LEAF: u32 = 0x100;
/// The largest frame on an Ethernet, without its check sequence.
const FRAME_BYTES: u64 = 1_514;
/// Guaranteed rates add up to no more than the parent's as long as the weights of all visitors do not exceed
/// this.
const WEIGHTS_MAX: u64 = 64;

/// Something that is not as it was asked for, but not worth stopping for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// An interface has a queue that somebody configured, so we leave it alone and shape nothing there.
    ForeignQueue {
        interface: String,
        /// The queue's kind, such as `cake`.
        kind: String,
    },
    /// The static filter is not in force.
    NoStaticFilter {
        /// The system's words.
        reason: String,
    },
    /// The table can be changed by other programs.
    NoOwner {
        /// The system's words.
        reason: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignQueue { interface, kind } => write!(
                f,
                "no shaping on {interface}: it has a {kind} queue that is not ours; remove that with \
                 `tc qdisc del dev {interface} root` if visitors are to be shaped there"
            ),
            Self::NoStaticFilter { reason } => write!(
                f,
                "without nftables the router's own ports would be open to guests: the filter on their interface \
                 could not be put in force ({reason}); install the kernel's cls_bpf, on OpenWrt kmod-sched-bpf"
            ),
            Self::NoOwner { reason } => write!(
                f,
                "other programs can flush our nftables table, and it is then put back: it could not be made ours \
                 alone ({reason}); that needs Linux 6.9"
            ),
        }
    }
}

/// One direction's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) interface: String,
    bits_per_second: u64,
}

/// What is at the root of an interface's queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// The kernel's own choice.
    Default,
    Ours,
    Foreign(String),
}

/// The trees of both directions, as far as they are wanted and nothing stands in the way.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    /// Download: at the visitors' interface.
    pub(crate) down: Option<Tree>,
    /// Upload: at the uplink.
    pub(crate) up: Option<Tree>,
}

impl Trees {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tree> {
        [&self.down, &self.up].into_iter().flatten()
    }
}

/// The trees to build, and what stands in the way of the others.
pub(crate) fn plan(settings: &Settings) -> Result<(Trees, Vec<Warning>), FirewallError> {
    let Some(shaping) = settings.shaping else {
        return Ok((Trees::default(), Vec::new()));
    };
    let mut warnings = Vec::new();
    let mut tree = |interface: &String, bits_per_second| match root(interface)? {
        Root::Default | Root::Ours => {
            Ok::<_, FirewallError>(Some(Tree { interface: interface.clone(), bits_per_second }))
        }
        Root::Foreign(kind) => {
            warnings.push(Warning::ForeignQueue { interface: interface.clone(), kind });
            Ok(None)
        }
    };
    let down = tree(&settings.visitor_interface, shaping.down_bits_per_second)?;
    let up = tree(&settings.uplink_interface, shaping.up_bits_per_second)?;
    Ok((Trees { down, up }, warnings))
}

impl Tree {
    /// Builds the tree without leaves.
    pub(crate) fn up(&self) -> Result<(), FirewallError> {
        let Self { interface, bits_per_second: rate } = self;
        let burst = burst_bytes(*rate);
        tool::tc(&format!(
            "qdisc add dev {interface} root handle {HANDLE} htb default 0
class add dev {interface} parent {HANDLE} classid {PARENT} htb rate {rate}bit burst {burst} cburst {burst} quantum 60000
"
        ))
    }

    /// Whether the tree is there.
    pub(crate) fn is_up(&self) -> Result<bool, FirewallError> {
        Ok(root(&self.interface)? == Root::Ours)
    }

    /// Adds a visitor's leaf, in the place of one that could not be removed.
    pub(crate) fn add(&self, slot: u16, class: Class) -> Result<(), FirewallError> {
        let (interface, id) = (&self.interface, class_id(slot));
        let limit = (self.ceiling(class) / 8 / 2 / FRAME_BYTES).clamp(100, 10_000);
        let terms = self.terms(class);
        tool::tc(&format!(
            "class replace dev {interface} parent {PARENT} classid {id} htb {terms}
qdisc replace dev {interface} parent {id} pfifo limit {limit}
"
        ))
    }

    /// Moves a visitor's leaf to another class.
    pub(crate) fn change(&self, slot: u16, class: Class) -> Result<(), FirewallError> {
        let (interface, id) = (&self.interface, class_id(slot));
        let terms = self.terms(class);
        tool::tc(&format!("class change dev {interface} parent {PARENT} classid {id} htb {terms}\n"))
    }

    /// Removes a visitor's leaf and what waits in it.
    pub(crate) fn remove(&self, slot: u16) -> Result<(), FirewallError> {
        let (interface, id) = (&self.interface, class_id(slot));
        tool::tc(&format!("class del dev {interface} classid {id}\n"))
    }

    fn ceiling(&self, class: Class) -> u64 {
        self.bits_per_second / class.ceiling_divisor()
    }

    fn terms(&self, class: Class) -> String {
        let ceiling = self.ceiling(class);
        let rate = (self.bits_per_second * class.weight() / WEIGHTS_MAX).clamp(8, ceiling);
        let (burst, ceiling_burst) = (burst_bytes(rate), burst_bytes(ceiling));
        let quantum = FRAME_BYTES * class.weight();
        format!("rate {rate}bit ceil {ceiling}bit burst {burst} cburst {ceiling_burst} quantum {quantum}")
    }
}

/// The class that a slot's packets are marked with.
pub(crate) fn class_id(slot: u16) -> String {
    format!("{HANDLE}{:x}", FIRST_LEAF + u32::from(slot))
}

/// The same as the kernel's number.
pub(crate) fn class_handle(slot: u16) -> u32 {
    HANDLE_MAJOR << 16 | (FIRST_LEAF + u32::from(slot))
}

/// What is at the root of an interface's queues.
pub(crate) fn root(interface: &str) -> Result<Root, FirewallError> {
    let found = tool::json("tc", &["-j", "qdisc", "show", "dev", interface])?;
    let root = found.as_array().into_iter().flatten().find(|queue| queue["root"] == Value::Bool(true));
    let Some(root) = root else {
        return Ok(Root::Default);
    };
    let (kind, handle) =
        (root["kind"].as_str().unwrap_or("unknown"), root["handle"].as_str().unwrap_or("0:"));
    Ok(match handle {
        // The kernel numbers only queues that somebody asked for.
        "0:" => Root::Default,
        HANDLE if kind == "htb" => Root::Ours,
        _ => Root::Foreign(kind.to_owned()),
    })
}

/// Removes our tree from an interface, if it is there; the kernel then puts its own choice back.
pub(crate) fn clear(interface: &str) -> Result<(), FirewallError> {
    match root(interface)? {
        Root::Ours => tool::tc(&format!("qdisc del dev {interface} root handle {HANDLE}\n")),
        Root::Default | Root::Foreign(_) => Ok(()),
    }
}

/// Two milliseconds' worth, at least two frames: timers are not finer on slow routers.
fn burst_bytes(bits_per_second: u64) -> u64 {
    (bits_per_second / 8 / 500).max(2 * FRAME_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_sets_share_and_ceiling() {
        let tree = Tree { interface: "br0".to_owned(), bits_per_second: 64_000_000 };
        #[rustfmt::skip]
        let cases = [
            (Class::Lowest, "rate 1000000bit ceil 8000000bit burst 3028 cburst 3028 quantum 1514"),
            (Class::Low,    "rate 2000000bit ceil 16000000bit burst 3028 cburst 4000 quantum 3028"),
            (Class::Middle, "rate 4000000bit ceil 32000000bit burst 3028 cburst 8000 quantum 6056"),
            (Class::High,   "rate 8000000bit ceil 64000000bit burst 3028 cburst 16000 quantum 12112"),
            (Class::Own,    "rate 16000000bit ceil 64000000bit burst 4000 cburst 16000 quantum 24224"),
        ];
        for (class, terms) in cases {
            assert_eq!(tree.terms(class), terms, "{class:?}");
        }
    }

    #[test]
    fn slots_have_class_ids_of_their_own() {
        assert_eq!(class_id(0), "4752:100");
        assert_eq!(class_id(32_767), "4752:80ff");
    }
}

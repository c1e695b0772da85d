//! Queues: one HTB tree on the visitors' interface (download) and one on the uplink (upload).
//!
//! Under a parent class capped to the configured rate, each visitor has a leaf: a guaranteed share and a
//! ceiling by service class, spare rate divided by weight. All visitors of the lowest class share one parent of
//! their own, which has that class's share and ceiling: names are free, so more of them get no more. What carries
//! no mark of ours (the household's own traffic, the access point's answers) passes without a queue.
//!
//! Packets are counted before these queues, so what a full queue drops was counted. The queues are therefore
//! long: half a second at the leaf's ceiling. A TCP flow that fills one loses a few packets each time it
//! probes for more; the price of the length is delay for a visitor who competes with himself.

use std::fmt;

use crate::traffic_control::{TC_H_ROOT, Terms, TrafficControl};
use crate::{Class, FirewallError, Settings, tool};

/// Our queues' handle, "GR" in ASCII: chosen so that neither an administrator's `1:` nor a distribution's
/// queue is taken for ours.
const HANDLE: &str = "4752:";
const HANDLE_MAJOR: u32 = 0x4752;
const PARENT: &str = "4752:1";
const PARENT_HANDLE: u32 = HANDLE_MAJOR << 16 | 1;
/// Above the leaves of the lowest class.
const LOWEST: &str = "4752:2";
const LOWEST_HANDLE: u32 = HANDLE_MAJOR << 16 | 2;
/// The first leaf's minor number.
const FIRST_LEAF: u32 = 0x100;
/// How many slots there can be.
pub(crate) const SLOTS_MAX: u16 = 0xff00;
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

/// One visitor's queue in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) slot: u16,
    pub(crate) class: Class,
    /// However good its class, it passes no more bits a second than this.
    pub(crate) pace: u64,
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

    /// Bits per second, down and up; nothing where there is no tree.
    pub(crate) fn rates(&self) -> [u64; 2] {
        [&self.down, &self.up].map(|tree| tree.as_ref().map_or(0, |tree| tree.bits_per_second))
    }

    /// What [`Tree::change_rate`] tells the kernel, where there is a tree.
    pub(crate) fn set_rates(&mut self, rates: [u64; 2]) {
        for (tree, rate) in [&mut self.down, &mut self.up].into_iter().zip(rates) {
            if let Some(tree) = tree {
                tree.bits_per_second = rate;
            }
        }
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
        let queue = format!("qdisc add dev {} root handle {HANDLE} htb default 0\n", self.interface);
        tool::tc(&(queue + &self.parents("add")))
    }

    /// Tells the kernel the tree's rate anew. Its leaves have to be changed after it.
    pub(crate) fn change_rate(&self) -> Result<(), FirewallError> {
        tool::tc(&self.parents("change"))
    }

    /// Orders to `add` or to `change` what the leaves are below.
    fn parents(&self, order: &str) -> String {
        let Self { interface, bits_per_second: rate } = self;
        let burst = burst_bytes(*rate);
        let share = self.share(Class::Lowest).max(8);
        let ceiling = self.ceiling(Class::Lowest).max(share);
        let (share_burst, ceiling_burst) = (burst_bytes(share), burst_bytes(ceiling));
        format!(
            "class {order} dev {interface} parent {HANDLE} classid {PARENT} htb rate {rate}bit burst {burst} cburst {burst} quantum 60000
class {order} dev {interface} parent {PARENT} classid {LOWEST} htb rate {share}bit ceil {ceiling}bit burst {share_burst} cburst {ceiling_burst} quantum {FRAME_BYTES}
"
        )
    }

    /// Whether the tree is there.
    pub(crate) fn is_up(&self) -> Result<bool, FirewallError> {
        Ok(root(&self.interface)? == Root::Ours)
    }

    /// Adds a visitor's leaf, in the place of one that could not be removed.
    pub(crate) fn add(&self, control: &mut TrafficControl, leaf: Leaf) -> Result<(), FirewallError> {
        // That one may be below another parent, where it would stay. Mostly there is none.
        let _ = self.remove(control, leaf.slot);
        self.change(control, leaf)?;
        let packets = (self.ceiling(leaf.class) / 8 / 2 / FRAME_BYTES).clamp(100, 10_000);
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        control.put_queue(&self.interface, class_handle(leaf.slot), packets)
    }

    /// Gives a visitor's leaf another pace, or another class below the same parent.
    pub(crate) fn change(&self, control: &mut TrafficControl, leaf: Leaf) -> Result<(), FirewallError> {
        let terms = self.terms(leaf);
        control.put_class(&self.interface, parent(leaf.class), class_handle(leaf.slot), &terms)
    }

    /// Removes a visitor's leaf and what waits in it.
    pub(crate) fn remove(&self, control: &mut TrafficControl, slot: u16) -> Result<(), FirewallError> {
        control.delete_class(&self.interface, class_handle(slot))
    }

    fn ceiling(&self, class: Class) -> u64 {
        self.bits_per_second / class.ceiling_divisor()
    }

    /// What a class has in any case: all visitors of the lowest together, of the others each.
    fn share(&self, class: Class) -> u64 {
        self.bits_per_second * class.weight() / WEIGHTS_MAX
    }

    fn terms(&self, Leaf { class, pace, .. }: Leaf) -> Terms {
        let ceiling = self.ceiling(class).min(pace).max(8);
        // What a leaf has by itself it need not share.
        let own = if class == Class::Lowest { 8 } else { self.share(class) };
        let rate = own.clamp(8, ceiling);
        Terms {
            rate,
            ceiling,
            burst: burst_bytes(rate),
            ceiling_burst: burst_bytes(ceiling),
            quantum: FRAME_BYTES * class.weight(),
        }
    }
}

/// Whether a leaf of one class can get the other. The kernel moves no leaf to another parent.
pub(crate) fn same_parent(one: Class, other: Class) -> bool {
    parent(one) == parent(other)
}

fn parent(class: Class) -> u32 {
    if class == Class::Lowest { LOWEST_HANDLE } else { PARENT_HANDLE }
}

/// The class that a slot's packets are marked with.
pub(crate) fn class_handle(slot: u16) -> u32 {
    HANDLE_MAJOR << 16 | (FIRST_LEAF + u32::from(slot))
}

/// What is at the root of an interface's queues.
pub(crate) fn root(interface: &str) -> Result<Root, FirewallError> {
    let found = TrafficControl::open()?.queues(interface)?;
    let Some(root) = found.into_iter().find(|queue| queue.parent == TC_H_ROOT) else {
        return Ok(Root::Default);
    };
    Ok(match root.handle {
        // The kernel numbers only queues that somebody asked for.
        0 => Root::Default,
        handle if handle == HANDLE_MAJOR << 16 && root.kind == "htb" => Root::Ours,
        _ => Root::Foreign(root.kind),
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
            (Class::Lowest, [8,           8_000_000, 3_028,  3_028,  1_514]),
            (Class::Low,    [2_000_000,  16_000_000, 3_028,  4_000,  3_028]),
            (Class::Middle, [4_000_000,  32_000_000, 3_028,  8_000,  6_056]),
            (Class::High,   [8_000_000,  64_000_000, 3_028, 16_000, 12_112]),
            (Class::Own,    [16_000_000, 64_000_000, 4_000, 16_000, 24_224]),
        ];
        for (class, [rate, ceiling, burst, ceiling_burst, quantum]) in cases {
            let terms = Terms { rate, ceiling, burst, ceiling_burst, quantum };
            assert_eq!(tree.terms(Leaf { slot: 0, class, pace: u64::MAX }), terms, "{class:?}");
        }
    }

    #[test]
    fn a_pace_below_its_share_is_all_that_a_leaf_has() {
        let tree = Tree { interface: "br0".to_owned(), bits_per_second: 64_000_000 };
        let rates = |class, pace| {
            let Terms { rate, ceiling, .. } = tree.terms(Leaf { slot: 0, class, pace });
            (rate, ceiling)
        };
        assert_eq!(rates(Class::High, 32_000_000), (8_000_000, 32_000_000));
        assert_eq!(rates(Class::High, 2_000_000), (2_000_000, 2_000_000));
        assert_eq!(rates(Class::Lowest, 0), (8, 8), "a class of no rate at all cannot be");
    }

    #[test]
    fn slots_have_classes_of_their_own() {
        assert_eq!(class_handle(0), 0x4752_0100);
        assert_eq!(class_handle(32_767), 0x4752_80ff);
    }
}

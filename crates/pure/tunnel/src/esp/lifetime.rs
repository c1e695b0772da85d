//! How much an association may carry before it wants new keys (RFC 4301, section 4.4.2.1).

/// What an association may carry. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetime {
    /// Bytes of payload after which new keys should be made.
    pub bytes_soft: Option<u64>,
    /// Bytes of payload after which nothing is carried any more.
    pub bytes_hard: Option<u64>,
    /// Packets after which new keys should be made.
    pub packets_soft: Option<u64>,
    /// Packets after which nothing is carried any more.
    pub packets_hard: Option<u64>,
}

/// Something that the program around an association should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeEvent {
    /// A soft limit was reached: make new keys.
    SoftReached,
    /// A hard limit was reached: nothing is carried any more.
    HardReached,
}

/// What an association has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Packets sealed, or opened and found good.
    pub packets: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
}

/// Counts and compares. Each event is told once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    lifetime: Lifetime,
    usage: Usage,
    is_soft_reported: bool,
    is_hard_reported: bool,
}

impl Meter {
    pub(crate) fn new(lifetime: Lifetime) -> Self {
        Self { lifetime, ..Self::default() }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Whether one more packet with that many bytes would pass a hard limit.
    #[inline]
    pub(crate) fn would_expire(&self, bytes: usize) -> bool {
        let passes = |limit: Option<u64>, after: u64| limit.is_some_and(|limit| after > limit);
        passes(self.lifetime.packets_hard, self.usage.packets.saturating_add(1))
            || passes(self.lifetime.bytes_hard, self.usage.bytes.saturating_add(bytes as u64))
    }

    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) {
        self.usage.packets = self.usage.packets.saturating_add(1);
        self.usage.bytes = self.usage.bytes.saturating_add(bytes as u64);
    }

    pub(crate) fn poll_event(&mut self) -> Option<LifetimeEvent> {
        let reaches = |limit: Option<u64>, now: u64| limit.is_some_and(|limit| now >= limit);
        let (lifetime, usage) = (self.lifetime, self.usage);
        let is_soft =
            reaches(lifetime.packets_soft, usage.packets) || reaches(lifetime.bytes_soft, usage.bytes);
        let is_hard =
            reaches(lifetime.packets_hard, usage.packets) || reaches(lifetime.bytes_hard, usage.bytes);
        if is_soft && !self.is_soft_reported {
            self.is_soft_reported = true;
            return Some(LifetimeEvent::SoftReached);
        }
        if is_hard && !self.is_hard_reported {
            self.is_hard_reported = true;
            return Some(LifetimeEvent::HardReached);
        }
        None
    }
}

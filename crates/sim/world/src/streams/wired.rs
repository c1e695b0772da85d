use guestright_engine::{Instant, Nanos};

/// Preamble and start of frame, addresses and type, frame check sequence (IEEE 802.3, clause 3.1), in bytes.
const FRAME: u32 = 8 + 14 + 4;
/// Between frames (clause 4.4.2), in bytes.
const GAP: u32 = 12;
/// The least payload of a frame (clause 3.2.8), in bytes.
const PAYLOAD_MIN: u32 = 46;

/// Something that takes packets one after the other, each for the same time. No queue here ever fills: what comes over
/// the radio is slower than any of them.
#[derive(Clone, Copy, Debug)]
struct Server {
    free_at: Instant,
}

impl Server {
    const IDLE: Self = Self { free_at: Instant::START };

    /// When it begins with a packet that comes at `at`, if it then needs `busy`.
    fn begin(&mut self, at: Instant, busy: Nanos) -> Instant {
        let begin = at.max(self.free_at);
        self.free_at = begin + busy;
        begin
    }
}

/// One direction of an Ethernet cable, for frames of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    frame: Nanos,
    gap: Nanos,
    server: Server,
}

impl Wire {
    /// A cable of this rate, for IP packets of so many bytes.
    pub(super) const fn new(bits_per_second: u64, bytes: u32) -> Self {
        let payload = if bytes < PAYLOAD_MIN { PAYLOAD_MIN } else { bytes };
        Self {
            frame: Nanos::of_bits((payload + FRAME) as u64 * 8, bits_per_second),
            gap: Nanos::of_bits(GAP as u64 * 8, bits_per_second),
            server: Server::IDLE,
        }
    }

    /// When a packet that comes at `at` is at the other end, down to its last bit.
    pub(super) fn carry(&mut self, at: Instant) -> Instant {
        self.server.begin(at, self.frame + self.gap) + self.frame
    }
}

/// A computer on the way: it takes its time for each packet, and encrypts or decrypts them one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    delay: Nanos,
    crypto: Nanos,
    server: Server,
}

impl Machine {
    /// With so much delay, and so much work for each packet.
    pub(super) const fn new(delay: Nanos, crypto: Nanos) -> Self {
        Self { delay, crypto, server: Server::IDLE }
    }

    /// When a packet that comes at `at` leaves it.
    pub(super) fn pass(&mut self, at: Instant) -> Instant {
        self.server.begin(at, self.crypto) + self.crypto + self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_with_their_gap() {
        // 60 bytes are 86 on the wire: 68.8 µs at 10 Mb/s, and 9.6 µs of gap.
        let mut wire = Wire::new(10_000_000, 60);
        assert_eq!(wire.carry(Instant(1_000)), Instant(69_800));
        assert_eq!(wire.carry(Instant(1_000)), Instant(1_000 + 78_400 + 68_800));
        assert_eq!(wire.carry(Instant(1_000_000)), Instant(1_068_800));
        // The shortest frame has 46 bytes of payload.
        assert_eq!(Wire::new(10_000_000, 41).carry(Instant(0)), Instant(57_600));
    }

    #[test]
    fn a_machine_delays_all_but_works_on_one_at_a_time() {
        let mut machine = Machine::new(Nanos(100), Nanos(10));
        assert_eq!(machine.pass(Instant(0)), Instant(110));
        assert_eq!(machine.pass(Instant(4)), Instant(120));
        assert_eq!(machine.pass(Instant(50)), Instant(160));
    }
}

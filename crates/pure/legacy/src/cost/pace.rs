/// Whole packets for each second of conversation, where a second is no whole number of them: a few more in one, a few
/// fewer in the next, so that over many seconds none is too many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    packet_samples: usize,
    rate_hz: usize,
    due: usize,
}

impl Pace {
    /// Of packets of so many samples, at so many samples a second.
    pub(crate) fn new(packet_samples: usize, rate_hz: usize) -> Self {
        Self { packet_samples, rate_hz, due: 0 }
    }

    /// How many packets the next second has.
    pub(crate) fn packets(&mut self) -> usize {
        self.due += self.rate_hz;
        let packets = self.due / self.packet_samples;
        self.due %= self.packet_samples;
        packets
    }

    /// So many bytes in each packet, to the second, rounded.
    pub(crate) fn bytes(&self, in_packet: usize) -> usize {
        (in_packet * self.rate_hz + self.packet_samples / 2) / self.packet_samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_packet_is_lost_or_won_over_many_seconds() {
        let mut pace = Pace::new(972, 8_000);
        let packets: Vec<usize> = (0..972).map(|_| pace.packets()).collect();
        assert_eq!(packets.iter().sum::<usize>(), 8_000);
        assert!(packets.iter().all(|packets| (8..=9).contains(packets)));
        assert_eq!(pace.bytes(972), 8_000);
        assert_eq!(Pace::new(1_600, 8_000).bytes(336), 1_680);
    }
}

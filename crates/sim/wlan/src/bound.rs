//! How many voice streams or calls a cell carries, by the formulas of the literature.
//!
//! All of them count the time of one packet on the air, with a mean backoff and without collisions, and divide. They
//! differ in their constants, which is what [`Exchange`] has.

/// The time that one packet takes on the air, ACK and mean backoff with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// DIFS, in µs.
    pub difs_us: f64,
    /// Mean backoff, in slots.
    pub backoff_slots: f64,
    /// A slot, in µs.
    pub slot_us: f64,
    /// Preamble and header of the data frame, in µs.
    pub preamble_us: f64,
    /// What the MPDU has more than the IP packet, in bytes.
    pub overhead_bytes: u32,
    /// Rate of data, in Mb/s.
    pub rate_mbps: f64,
    /// SIFS, in µs.
    pub sifs_us: f64,
    /// Preamble and header of the ACK, in µs.
    pub ack_preamble_us: f64,
    /// Rate of the ACK's 14 bytes, in Mb/s.
    pub ack_rate_mbps: f64,
}

/// The constants of paper B (Sung and Lin, "IPsec-based VoIP performance in WLAN environments", section on the capacity
/// bound): header and FCS without LLC and SNAP, ACKs at 11 Mb/s, long preambles. They give [`PRINTED_BOUNDS`].
pub const PAPER_B: Exchange = Exchange {
    difs_us: 50.0,
    backoff_slots: 15.5,
    slot_us: 20.0,
    preamble_us: 192.0,
    overhead_bytes: 28,
    rate_mbps: 11.0,
    sifs_us: 10.0,
    ack_preamble_us: 192.0,
    ack_rate_mbps: 11.0,
};

/// The constants of Garg and Kappes, "Can I add a VoIP call?", ICC 2003. The mean backoff of 8.5 slots is inferred from
/// their results.
pub const GARG_KAPPES: Exchange = Exchange { backoff_slots: 8.5, overhead_bytes: 34, ..PAPER_B };

/// The constants of Wang, Liew and Li, "Solutions to performance problems in VoIP over a 802.11 wireless LAN", IEEE
/// Transactions on Vehicular Technology 54(1), 2005, table I: MAC header 34 bytes, ACK 248 µs.
pub const WANG_LIEW_LI: Exchange = Exchange { overhead_bytes: 34, ack_rate_mbps: 2.0, ..PAPER_B };

impl Exchange {
    /// `T(L) = DIFS + backoff + preamble + 8 (L + overhead) / rate + SIFS + preamble + 8 · 14 / ACK rate`, in µs, for an
    /// IP packet of `bytes`. Nothing is rounded to whole microseconds, unlike on the air.
    #[must_use]
    pub fn time_us(&self, bytes: u32) -> f64 {
        self.difs_us
            + self.backoff_slots * self.slot_us
            + self.preamble_us
            + f64::from((bytes + self.overhead_bytes) * 8) / self.rate_mbps
            + self.sifs_us
            + self.ack_preamble_us
            + 14.0 * 8.0 / self.ack_rate_mbps
    }

    /// How many one-way streams fit, with so many packets of `bytes` in a second each.
    #[must_use]
    pub fn streams(&self, bytes: u32, packets_per_second: f64) -> f64 {
        1e6 / (packets_per_second * self.time_us(bytes))
    }

    /// How many calls fit, each with a stream both ways.
    #[must_use]
    pub fn calls(&self, bytes: u32, packets_per_second: f64) -> f64 {
        self.streams(bytes, packets_per_second) / 2.0
    }

    /// How many whole calls fit: `⌊1 / (2 R T)⌋`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, never negative")]
    pub fn whole_calls(&self, bytes: u32, packets_per_second: f64) -> u32 {
        self.calls(bytes, packets_per_second) as u32
    }
}

/// RTP, UDP and IPv4 around the sound in a packet.
pub const RTP_UDP_IP_BYTES: u32 = 12 + 8 + 20;

/// An IP packet with 20 ms of G.729.
pub const G729_BYTES: u32 = 20 + RTP_UDP_IP_BYTES;

/// An IP packet with 20 ms of G.711.
pub const G711_BYTES: u32 = 160 + RTP_UDP_IP_BYTES;

/// Length of an IP packet of `bytes` in ESP, tunnel mode, 3DES-CBC and HMAC-SHA1-96.
///
/// Outer header 20, SPI and sequence number 8, IV 8, packet with two bytes of trailer padded to 8, ICV 12 (RFC 4303
/// section 2, RFC 2451, RFC 2404).
#[must_use]
pub const fn esp_bytes(bytes: u32) -> u32 {
    20 + 8 + 8 + (bytes + 2).next_multiple_of(8) + 12
}

/// The same as the bound of paper B has it: 8 bytes less. With 44 and 48 bytes more than the plain packets, and with no
/// other number of bytes, its four figures come out; one field of 8 bytes is missing, as is the IV here.
#[must_use]
pub const fn esp_bytes_as_printed(bytes: u32) -> u32 {
    esp_bytes(bytes) - 8
}

/// The bound as paper B prints it, table 2: G.729, G.729 in ESP, G.711, G.711 in ESP.
pub const PRINTED_BOUNDS: [f64; 4] = [24.1, 23.2, 21.5, 20.7];

/// Cuts a number off behind its first decimal, as the printed bounds are.
#[must_use]
pub fn cut(value: f64) -> f64 {
    (value * 10.0).floor() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64, digits: f64) -> bool {
        (got - want).abs() <= 0.5 * digits + 1e-9
    }

    #[test]
    fn the_bound_has_the_figures_of_its_table() {
        let sizes = [60, 104, 112, 200, 248, 256];
        let with = |overhead_bytes, ack_rate_mbps| Exchange { overhead_bytes, ack_rate_mbps, ..PAPER_B };
        #[rustfmt::skip]
        let rows = [
            (with(28, 11.0), [24.149, 23.251, 23.095, 21.505, 20.727, 20.603]),
            (with(30, 11.0), [24.107, 23.212, 23.056, 21.472, 20.696, 20.572]),
            (with(36, 11.0), [23.981, 23.095, 22.941, 21.372, 20.603, 20.480]),
            (with(28, 2.0),  [22.883, 22.075, 21.934, 20.496, 19.788, 19.674]),
            (WANG_LIEW_LI,   [22.770, 21.969, 21.830, 20.404, 19.703, 19.590]),
            (with(28, 1.0),  [21.505, 20.790, 20.665, 19.383, 18.749, 18.647]),
            (with(36, 1.0),  [21.372, 20.665, 20.542, 19.275, 18.647, 18.547]),
        ];
        for (exchange, row) in rows {
            for (bytes, want) in sizes.into_iter().zip(row) {
                let got = exchange.streams(bytes, 50.0);
                assert!(near(got, want, 1e-3), "{bytes} bytes: {got}, not {want}, with {exchange:?}");
            }
        }
        assert!(near(PAPER_B.time_us(60), 828.18, 1e-2));
    }

    #[test]
    fn the_printed_figures_are_cut_off_and_have_8_bytes_too_few() {
        let sizes = |esp: fn(u32) -> u32| [G729_BYTES, esp(G729_BYTES), G711_BYTES, esp(G711_BYTES)];
        assert_eq!(sizes(esp_bytes_as_printed), [60, 104, 200, 248]);
        assert_eq!(sizes(esp_bytes), [60, 112, 200, 256]);
        let bounds = |sizes: [u32; 4]| sizes.map(|bytes| cut(PAPER_B.streams(bytes, 50.0)));
        assert_eq!(bounds(sizes(esp_bytes_as_printed)), PRINTED_BOUNDS);
        assert_eq!(bounds(sizes(esp_bytes)), [24.1, 23.0, 21.5, 20.6]);
    }

    #[test]
    fn calls_are_those_of_garg_and_kappes() {
        let slow = Exchange { rate_mbps: 1.0, ack_rate_mbps: 1.0, ..GARG_KAPPES };
        let cases = [(GARG_KAPPES, 60, 14.44, 14), (GARG_KAPPES, 200, 12.59, 12), (slow, 200, 3.85, 3)];
        for (exchange, bytes, calls, whole) in cases {
            let got = exchange.calls(bytes, 50.0);
            assert!(near(got, calls, 1e-2), "{got}, not {calls}");
            assert_eq!(exchange.whole_calls(bytes, 50.0), whole);
        }
    }

    #[test]
    fn calls_are_those_of_wang_liew_and_li() {
        #[rustfmt::skip]
        let cases = [
            // codec, sound in a packet, packets/s, calls
            ("GSM 06.10", 33,  50.0, 11.26),
            ("G.711",     160, 50.0, 10.20),
            ("G.723.1",   20,  33.0, 17.25),
            ("G.726-32",  80,  50.0, 10.85),
            ("G.729",     20,  50.0, 11.38),
        ];
        for (codec, sound, packets, want) in cases {
            let got = WANG_LIEW_LI.calls(sound + RTP_UDP_IP_BYTES, packets);
            assert!(near(got, want, 1.01e-2), "{codec}: {got}, not {want}");
        }
    }
}

use super::{Config, Legacy, SharedKey};
use guestright_boat::{Audio, Content, Message, Seal as _, Step};
use guestright_units::{Seed, Time};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;

/// One of 850 bytes a second, 25 times a second.
const PAYLOAD: usize = 34;
const PACKETS_PER_SECOND: u64 = 25;

/// What became of packets of sound on a way that loses some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survival {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that the way did not lose.
    pub arrived: u64,
    /// Of them, opened to what was sent.
    pub opened: u64,
    /// Of them, opened to something else.
    pub garbled: u64,
    /// Keys that the talker came to use; it tries one a second.
    pub keys: u64,
}

impl Survival {
    /// The share of the packets that arrived and could be played, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52 packets")]
    pub fn share(&self) -> f64 {
        if self.arrived == 0 { 0.0 } else { self.opened as f64 / self.arrived as f64 }
    }
}

/// Sends `seconds` of sound through one direction, a key a second, while each packet of sound is lost with a chance of
/// `loss_per_mille`. Handshake messages are not lost, so that only the keystream is to blame for what does not open.
pub fn survival(config: Config, loss_per_mille: u32, seconds: u64, seed: u64) -> Survival {
    let shared = SharedKey::from_pass_phrase("survival");
    let [talker_seed, listener_seed] =
        [0, 1].map(|side| Seed::from_number(seed.wrapping_mul(2).wrapping_add(side)));
    let mut talker = Legacy::new(config, shared.clone(), true, &talker_seed);
    let mut listener = Legacy::new(config, shared, false, &listener_seed);
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut counts = Survival::default();
    let mut datagram = Vec::new();
    for second in 0..seconds {
        let phase = u32::try_from(second).unwrap_or(u32::MAX);
        counts.keys += u64::from(change_key(&mut talker, &mut listener, phase, second));
        for packet in 0..PACKETS_PER_SECOND {
            let now = Time(second * 1_000_000 + packet * 1_000_000 / PACKETS_PER_SECOND);
            let mut payload = vec![0; PAYLOAD];
            rng.fill(&mut payload[..]);
            let timestamp = u32::try_from(now.0 / 1_000).unwrap_or(u32::MAX);
            let sound = Content::Audio(Audio { timestamp, starts_talkspurt: false, silence: 0, payload });
            if talker.seal(&sound, PAYLOAD, now, &mut datagram).is_err() {
                continue; // Worn out: no new key has come for long.
            }
            counts.sent += 1;
            if rng.random_range(0..1_000) < loss_per_mille {
                continue;
            }
            counts.arrived += 1;
            match listener.open(&datagram, now) {
                Ok(opened) if opened.content == sound => counts.opened += 1,
                Ok(_) => counts.garbled += 1,
                Err(_) => {}
            }
        }
    }
    counts
}

/// The second half of a phase, without losses; whether it worked.
fn change_key(talker: &mut Legacy, listener: &mut Legacy, phase: u32, second: u64) -> bool {
    let now = Time(second * 1_000_000);
    let Ok(key) = talker.install(phase, &[]) else { return false };
    let install = Content::Message(Message { phase, step: Step::Install { round_trip: 100 }, key });
    let mut datagram = Vec::new();
    if talker.seal(&install, PAYLOAD, now, &mut datagram).is_err() {
        return false;
    }
    let Ok(opened) = listener.open(&datagram, now) else {
        talker.abandon(phase);
        return false;
    };
    let Content::Message(message) = opened.content else { return false };
    listener.ack(phase, &message.key).is_ok() && talker.complete(phase, &[]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Keystream, Mac};
    use super::*;

    fn run(keystream: Keystream, mac: Mac, loss_per_mille: u32) -> Survival {
        survival(Config::new(keystream, mac), loss_per_mille, 200, 7)
    }

    #[test]
    fn all_open_where_nothing_is_lost() {
        for keystream in Keystream::ALL {
            for mac in [Mac::EncryptedDigest, Mac::Hmac] {
                let counts = run(keystream, mac, 0);
                let all = Survival { sent: 5_000, arrived: 5_000, opened: 5_000, garbled: 0, keys: 200 };
                assert_eq!(counts, all, "{keystream:?} {mac:?}");
            }
        }
    }

    #[test]
    fn places_and_keys_of_their_own_survive_any_loss() {
        for keystream in [Keystream::Seekable, Keystream::PerPacket] {
            for mac in [Mac::EncryptedDigest, Mac::Hmac] {
                let counts = run(keystream, mac, 200);
                assert_eq!((counts.opened, counts.garbled), (counts.arrived, 0), "{keystream:?} {mac:?}");
                assert!(counts.arrived < 4_200, "some were lost");
            }
        }
    }

    #[test]
    fn as_printed_one_lost_packet_costs_the_rest_of_its_second() {
        // Of 25 packets the k-th opens if none of the first k was lost: sum of 0.95^k / 25 for k = 1 to 25.
        let wanted: f64 = (1..=25).map(|k| 0.95_f64.powi(k)).sum::<f64>() / 25.0;
        let counts = survival(Config::new(Keystream::Running, Mac::EncryptedDigest), 50, 2_000, 7);
        let opened = counts.opened as f64 / counts.sent as f64;
        assert!((opened - wanted).abs() < 0.02, "{opened} of all opened, {wanted} were expected");
        assert_eq!(counts.keys, 2_000, "the handshakes are not under that keystream");
    }

    #[test]
    fn as_printed_a_hidden_handshake_goes_with_the_rest_and_the_call_never_recovers() {
        let config = Config { is_hidden: true, ..Config::new(Keystream::Running, Mac::EncryptedDigest) };
        let counts = survival(config, 50, 200, 7);
        assert!(counts.keys < 10, "{counts:?}");
        assert!(counts.share() < 0.2, "{counts:?}");
    }

    #[test]
    fn as_printed_a_mac_over_the_ciphertext_does_not_even_notice() {
        let counts = run(Keystream::Running, Mac::Hmac, 50);
        assert!(counts.garbled > 0, "{counts:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_counts() {
        assert_eq!(run(Keystream::Running, Mac::Hmac, 100), run(Keystream::Running, Mac::Hmac, 100));
    }
}
